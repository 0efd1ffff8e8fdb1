"""Boxes that read one array as two arguments: what one of them changes in place is not what the other one reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct

X = np.arange(9.0).reshape(3, 3) * 0.1 + 0.1
W = np.array([0.5, 0.1, 0.6])
AT = np.array([2, 1, 1])


def rows_of_the_state(w: Any, m: Any) -> Any:
    m = m + 1
    for r in m:
        m = np.outer(r, w)
    return m, m * 2


def rows_added_to_the_state(w: Any, m: Any) -> Any:
    m = m + 1
    for r in m:
        m = m * 2 + r
    return m * 2


def a_state_beside_its_start(w: Any, m: Any) -> Any:
    m = m + 1
    n = m
    for _ in range(5):
        n = n * 0.5 + m[::-1]
    return n * 1


def two_states_of_one_start(w: Any, m: Any) -> Any:
    m = m + 1
    a = b = m
    for _ in range(5):
        a, b = a * 0.5 + b[::-1], b * 0.9 + 0.1
    return a * 1, b * 1


def rows_written_with_others(w: Any, m: Any) -> Any:
    m = m + 1
    n = m.copy()
    n[AT] = m[::-1]
    n[1:] += m[:-1]
    np.add.at(n, AT, m)
    return n * 1


def before_a_loop_on_data(w: Any, m: Any) -> Any:
    m = m + 1
    for r in m:
        m = np.outer(r, w)
    total, k = 0.0, 0
    while k < 3 and w[0] > 0:
        k, total = k + 1, total + m[0, 0]
    return m, total


@pytest.mark.parametrize("engine", ["auto", "cpu"])
@pytest.mark.parametrize(
    "fn",
    [rows_of_the_state, rows_added_to_the_state, a_state_beside_its_start, two_states_of_one_start, rows_written_with_others,
     before_a_loop_on_data],
    ids=lambda fn: fn.__name__,
)  # fmt: skip
def test_an_array_that_is_two_arguments_of_a_box_stays_what_it_is(fn: Any, engine: Any) -> None:
    f = ct.function(fn, unroll=0)
    with ct.use_engine(engine):
        got = f(W, X)
        _, pull = ct.vjp(f, W, X)
        pulled = pull(got)
    expected = fn(W, X)
    with ct.use_engine("reference"):
        wanted = ct.vjp(f, W, X)[1](got)
    for a, b in zip((*_flat(got), *_flat(pulled)), (*_flat(expected), *_flat(wanted)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-14)


def _flat(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def test_what_others_read_is_still_made_where_it_is_added_to() -> None:
    """A part of zeros that is a result, too, beside one that only the sum reads."""

    one, other = [ct.linearize(ct.index[part], np.ones(33))[1].T for part in (slice(30, None), slice(3))]
    f = ct.cross(ct.lift(one), ct.lift(other)) >> ct.fork(ct.add, ct.exl)
    x, y = np.arange(1.0, 4.0), np.arange(5.0, 8.0)
    with ct.use_engine("cpu"):
        total, part = f((x, y))
    assert np.array_equal(part, np.pad(x, (30, 0))) and np.array_equal(total, part + np.pad(y, (0, 30)))
