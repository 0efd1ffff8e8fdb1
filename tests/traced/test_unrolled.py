"""`ct.unrolled()` takes the steps of loops one by one, and changes no value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from tests.traced.harness import check

X = np.array([1.5137, 0.7071, -0.2236])


def helper(x: Any) -> Any:
    y = x
    for _ in range(20):
        y = y * 0.9 + x
    return y


def plain(x: Any) -> Any:
    with ct.unrolled():
        return helper(x)


def restored(x: Any) -> Any:
    with ct.unrolled():
        y = helper(x)
    return helper(y)


def restored_after_an_exception(x: Any) -> Any:
    try:
        with ct.unrolled():
            raise ValueError
    except ValueError:
        pass
    return helper(x)


def within_a_loop(x: Any) -> Any:
    y = x
    for _ in range(30):
        with ct.unrolled():
            for k in range(17):
                y = y * 0.9 + x * k
    return y


def inside_itself(x: Any) -> Any:
    with ct.unrolled():
        with ct.unrolled():
            y = helper(x)
        return helper(y)


def around_a_loop_on_data(x: Any) -> Any:
    y = x
    with ct.unrolled():
        while y.sum() > 0.5:
            y = y * 0.5
            for _ in range(17):
                y = y * 0.99
    return y


def in_one_side(x: Any) -> Any:
    if x[0] > 0:
        with ct.unrolled():
            y = helper(x)
    else:
        y = helper(-x)
    return y


def rows(x: Any) -> Any:
    total = 0.0
    with ct.unrolled():
        for k, (row, w) in enumerate(zip(np.outer(np.arange(18.0), x), np.linspace(0, 1, 18), strict=False)):
            if row.sum() > 20:
                break
            total = total * 0.5 + (row * w).sum() * k
    return total


PROGRAMS = [plain, restored, restored_after_an_exception, within_a_loop, inside_itself, around_a_loop_on_data, in_one_side, rows]


@pytest.mark.parametrize("fn", PROGRAMS)
def test_values_and_derivatives_are_the_same(fn: Callable[..., Any]) -> None:
    check(fn, X)


def loops(fn: Callable[..., Any]) -> int:
    """The loops among the lines of a program."""
    return sum("sweep" in str(line.term) for line in ct.function(fn).at(X).lines)


def test_steps_are_lines() -> None:
    assert loops(helper) == 1 and loops(plain) == 0
    assert len(ct.function(plain).at(X).lines) >= 20
    assert loops(restored) == 1 and loops(restored_after_an_exception) == 1 and loops(inside_itself) == 0


def test_outside_of_a_trace_it_does_nothing() -> None:
    with ct.unrolled():
        assert loops(helper) == 1
    np.testing.assert_allclose(plain(X), helper(X))


def test_a_short_loop_of_a_long_step_is_recorded_once() -> None:
    """Its text would grow with its trips; that of a short step may."""

    def relaxed(n: int) -> Callable[..., Any]:
        def fn(x: Any) -> Any:
            for _ in range(n):
                y = x.copy()
                for k in (1, 2, 3, 4, 5):  # in Python: five parts of a long step
                    x[k:-k] = (y[2 * k :] + y[: -2 * k]) * 0.4 + np.sin(y[k:-k]) * 0.1 * k
                x[0] = x[1]
            return x

        return fn

    def recorded(n: int) -> int:
        return len(ct.function(relaxed(n)).at(ct.f64[15]).lines)

    long, few = recorded(12), recorded(2)
    assert few > recorded(1) and long < few
    check(relaxed(12), np.linspace(0.1, 1.0, 15))
    assert len(ct.function(relaxed(12), unroll=50).at(ct.f64[15]).lines) > 5 * few  # the limit grows with that of the steps
