"""`x[0, 0, ...]` is an array without axes that shows a number of x: what is written into it stands in x."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct


def added(m: Any) -> Any:
    z = m[0, 0, ...]
    z += 0.25
    return m


def in_a_loop(m: Any) -> Any:
    for k in range(3):
        z = m[k, 0, ...]
        z -= m[0, k]
    return m


def as_a_row(m: Any) -> Any:
    u = m[0, 1, ...].reshape(1)
    u *= 0.0
    return m


def as_three_axes(m: Any) -> Any:
    u = m[:1, 1].reshape(1, 1, 1)
    u += 2.0
    return m, u


def of_a_transposition(m: Any) -> Any:
    u = m.T[2:, 1].reshape(())
    u += 2.0
    return m, u


def of_a_vector(m: Any) -> Any:
    z = m[2][1, ...]
    z **= 2.0
    return m[2]


def a_number(m: Any) -> Any:
    z = m[0, 0]
    z += 0.25
    return m, z


def read_later(m: Any) -> Any:
    z = m[0, 0, ...]
    y = z + 1.0
    m[0, 0] = 5.0
    return y, z * 1.0


FUNCTIONS: list[Callable[[Any], Any]] = [
    added, in_a_loop, as_a_row, as_three_axes, of_a_transposition, of_a_vector, a_number, read_later
]  # fmt: skip


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
def test_as_in_numpy(fn: Callable[[Any], Any]) -> None:
    ct.testing.check_function(fn, np.random.default_rng(1).normal(size=(3, 3)), order=1)


def test_an_index_that_is_data() -> None:
    def fn(m: Any, k: Any) -> Any:
        z = m[k, k, ...]
        z += 1.0
        return m

    made = ct.function(fn)(np.zeros((3, 3)), np.int64(1))
    assert np.array_equal(made, np.diag([0.0, 1.0, 0.0]))
