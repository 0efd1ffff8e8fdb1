"""Loops over arithmetic progressions, whose numbers compiled code computes: beside plain loops of NumPy and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct

from .whole_support import Ran, ran

__all__ = ["ran"]

N = 48
RANGES = [range(1, N - 1), range(N - 2, 0, -1), range(2, N - 1, 2), range(N - 2, 0, -2), range(-N + 1, -1), range(-2, -N, -1)]


def relaxed(steps: range) -> Any:
    """Each element in place, from its neighbours: the next step reads what this one has written."""

    def f(x: Any) -> Any:
        y = x.copy()
        for i in steps:
            y[i] = 0.3 * (y[i - 1] + y[i] * y[i + 1]) + 0.1
        return y

    return f


def wrong_from(f: Any) -> float:
    """How far value and pullback are from a plain loop and its central differences."""
    rng = np.random.default_rng(3)
    x, w, v = rng.standard_normal((3, N))
    with ct.use_engine("cpu"):
        value, pullback = ct.vjp(ct.function(f), x)
        pulled = pullback(w)
    difference = np.vdot(w, f(x + 1e-6 * v) - f(x - 1e-6 * v)) / 2e-6
    return max(float(np.max(np.abs(value - f(x)))), abs(float(np.vdot(pulled, v) - difference)))


@pytest.mark.parametrize("steps", RANGES, ids=str)
def test_steps_of_a_progression(ran: Ran, steps: range) -> None:
    assert wrong_from(relaxed(steps)) < 1e-7
    assert ran.compiled and not ran.instead


def test_steps_that_are_no_progression(ran: Ran) -> None:
    order = np.random.default_rng(4).permutation(np.arange(1, N - 1))

    def f(x: Any) -> Any:
        y = x.copy()
        for i in order:
            y[i] = 0.3 * (y[i - 1] + y[i] * y[i + 1]) + 0.1
        return y

    assert wrong_from(f) < 1e-7


@pytest.mark.parametrize("bad", [0, 25, 2 * N - 1])
@pytest.mark.parametrize("where", [N, -N - 1, 2**40])
def test_an_index_out_of_range_at_any_step(ran: Ran, bad: int, where: int) -> None:
    """One step of many: the note of it stays, nothing is written elsewhere, and the arguments are as they were."""

    def f(x: Any, at: Any) -> Any:
        y = x.copy()
        for k in range(2 * N):
            y[at[k]] = 0.5 * y[at[k]] + 1
        return y

    x, at = np.linspace(0, 1, N), np.arange(2 * N) % N
    program = ct.function(f).at(ct.space_of((x, at)))
    with ct.use_engine("cpu"):
        np.testing.assert_array_equal(program(x, at), f(x, at))
        at[bad] = where
        with pytest.raises(ct.IndexRangeError):
            program(x, at)
        at[bad] = -1
        np.testing.assert_array_equal(program(x, at), f(x, at))
    np.testing.assert_array_equal(x, np.linspace(0, 1, N))
    assert ran.instead == 2  # the loop, and the step that is wrong


def test_a_matrix_by_two_loops(ran: Ran) -> None:
    """Both indices in both directions, in place, bit for bit as the reference engine."""

    def f(A: Any) -> Any:
        for i in range(22, 0, -1):
            for j in range(1, 23):
                A[i, j] = 0.2 * (A[i, j] + A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1])
        return A

    A = np.random.default_rng(5).standard_normal((24, 24))
    with ct.use_engine("cpu"):
        found = ct.function(f)(A)
    with ct.use_engine("reference"):
        np.testing.assert_array_equal(found, ct.function(f)(A))
    np.testing.assert_array_equal(found, f(A.copy()))
    assert ran.compiled
