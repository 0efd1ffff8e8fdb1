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


def in_loops(m: Any) -> Any:
    z = m[0, 0, ...]
    for _ in range(30):
        z += 0.25
    w = m[1, 0, ...]
    for row in m:
        w += row[1]
    return m, z, w


def in_a_while_loop(m: Any) -> Any:
    z = m[0, 1, ...]
    while z < 9.0:
        z += 0.75
    return m


def bound_in_a_loop(m: Any) -> Any:
    z = m[0, 0, ...]
    for k in range(3):
        z = m[k, 1, ...]
        z *= 2.0
    z += 1.0
    return m


def an_array_and_then_numbers(m: Any) -> Any:
    s = np.zeros(())
    t = s
    for k in range(40):
        s = s + m[k % 3, 0]
    s += 1.0
    return s, t


def with_another_name(m: Any) -> Any:
    s = np.zeros(())
    t = s
    for k in range(40):
        s += m[k % 3, 0]
        s = s * 0.5
    return s, t


def made_without_axes(m: Any) -> Any:
    a, b, c, d = np.zeros(()), np.full((), 2.0), np.array(3.0), np.ones_like(m[0, 0])
    names = a, b, c, d
    a += m[0, 0]
    b *= m[0, 1]
    c -= m[1, 0]
    d /= m[1, 1]
    return names


def chosen(m: Any) -> Any:
    z = m[0, 0, ...] if m[1, 1] > 0.0 else m[0, 1, ...]
    z += 5.0
    w = m[2, 1, ...]
    if m[2, 2] > 0.0:
        w = m[2, 2, ...]
    w -= 3.0
    return m


@pytest.mark.parametrize("unroll", [0, 16])
@pytest.mark.parametrize(
    "program",
    [in_loops, in_a_while_loop, bound_in_a_loop, an_array_and_then_numbers, with_another_name, chosen, made_without_axes],
    ids=lambda program: program.__name__,
)
def test_in_loops_and_branches(program: Callable[[Any], Any], unroll: int) -> None:
    m = np.arange(9.0).reshape(3, 3) + 0.5
    got, want = ct.function(program, unroll=unroll)(m.copy()), program(m.copy())
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)


def test_an_array_that_a_loop_may_leave_as_a_number() -> None:
    def f(c: Any, written: bool) -> Any:
        s = t = np.zeros(())
        while s < c:
            s = s + 1.0
        if written:
            s += 0.5
        return s * 2.0, t

    made = ct.function(f, static="written")
    for c in (-1.0, 2.5):
        assert made(c, False) == f(c, False)
        with pytest.raises(ct.TraceError, match=r"x op= y writes into an array without axes, or gives a new number"):
            made(c, True)
