"""Loops within programs of large arrays run compiled: in-place updates of large arrays, while loops, ragged steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cpu.run import target

from .whole_support import Ran
from .whole_support import ran as ran

pytestmark = pytest.mark.skipif(not target.available(), reason="there is no LLVM here")

N = 280  # N * N numbers are shared by threads


def recursive(x: Any, k: Any) -> Any:
    """A filter along rows: each step writes a row and reads two."""
    y = np.zeros_like(x)
    y[0] = k * x[0]
    for i in range(2, x.shape[0]):
        y[i] = k * x[i] + 0.5 * y[i - 1] - 0.25 * y[i - 2]
    return y


def columns(x: Any, k: Any) -> Any:
    """The same along columns."""
    y = np.zeros_like(x)
    for j in range(1, x.shape[1]):
        y[:, j] = np.tanh(k * x[:, j] * y[:, j - 1]) + x[:, j - 1]
    return y


def halved(x: Any, k: Any) -> Any:
    """A while loop on a number, within a program of large arrays."""
    s = np.sum(x * x) * k
    while s > 1.0:
        s = 0.5 * s + 0.1 * np.sin(s)
    return x * s


@pytest.mark.parametrize("fn", [recursive, columns, halved])
def test_loops_beside_large_arrays_are_compiled(fn: Any, ran: Ran) -> None:
    rng = np.random.default_rng(5)
    x, k = rng.normal(size=(N, N)), 0.7
    w, dx, dk = rng.normal(size=(N, N)), rng.normal(size=(N, N)), 0.3
    f = ct.function(fn)

    def both() -> Any:
        y, back = ct.vjp(f, x, k)
        return y, *back(w)

    with ct.use_engine("cpu"):
        both()
        ran.compiled = ran.instead = 0
        got = both()
    assert ran.compiled >= (1 if fn is halved else 2) and not ran.instead
    with ct.use_engine("reference"):
        want = both()
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)
    h = 1e-7
    slope = np.vdot(w, fn(x + h * dx, k + h * dk) - fn(x - h * dx, k - h * dk)) / (2 * h)
    np.testing.assert_allclose(np.vdot(got[1], dx) + got[2] * dk, slope, rtol=1e-4)


def flagged(x: Any, on: Any) -> Any:
    """A step that spreads truth values: a copy of them is no product."""
    s = np.zeros(len(x))
    for i in range(len(x)):
        seen = np.broadcast_to(on[i], (len(x),)) & (x > 0.0)
        s = np.where(seen, s * 0.5 + x[i], s)
    return s


def test_spread_truth_values_are_compiled(ran: Ran) -> None:
    rng = np.random.default_rng(6)
    x, on = rng.normal(size=40), rng.random(40) < 0.5
    f = ct.function(flagged)
    with ct.use_engine("whole"):
        f(x, on)
        ran.compiled = ran.instead = 0
        got = f(x, on)
    assert ran.compiled == 1 and not ran.instead
    assert got.tobytes() == flagged(x, on).tobytes()
