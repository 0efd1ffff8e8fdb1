"""Loops within programs of large arrays run compiled: in-place updates of large arrays, while loops, ragged steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cpu.run import target
from catad.linear.families.reindex import axis, whole
from catad.vector.indexing.overwrite import Added

from .whole_support import Ran, compare
from .whole_support import ran as ran

pytestmark = [pytest.mark.skipif(not target.available(), reason="there is no LLVM here"), pytest.mark.full_code]

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


def borders(x: Any, k: Any) -> Any:
    """Each step writes at places that are known."""
    y = x.copy()
    for _ in range(40):
        y[0] = k * y[1] + 0.1 * y[-1]
        y[-1, 3:] = np.sin(y[0, 3:])
        y[1] = 0.5 * y[0]
    return y


@pytest.mark.parametrize("fn", [recursive, columns, halved, borders])
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


def test_another_number_of_steps_beside_large_arrays(ran: Ran) -> None:
    rng = np.random.default_rng(5)
    x, f = rng.normal(size=(N, N)), ct.function(halved)
    for k in (0.7, 0.7, 1e6, 1e-9, 3.0):
        with ct.use_engine("cpu"):
            y, back = ct.vjp(f, x, k)
            got = back(x)
        np.testing.assert_allclose(y, halved(x, k), rtol=1e-11)
        with ct.use_engine("reference"):
            want = ct.vjp(f, x, k)[1](x)
        for one, other in zip(got, want, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10)
    assert ran.compiled and not ran.instead


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
    with ct.use_engine("cpu"):
        f(x, on)
        ran.compiled = ran.instead = 0
        got = f(x, on)
    assert ran.compiled == 1 and not ran.instead
    assert got.tobytes() == flagged(x, on).tobytes()


def parts(x: Any, w: Any) -> Any:
    """Reads of parts, from the end, with steps, of rows and columns; the state and what is given are read."""
    s = x[0] * 1.0
    for i in range(30):
        s[1:4] = np.sin(s[3:0:-1]) * w[2, 1:4]
        s[::5] += 0.5 * x[1, ::5] * w[0, 3] - s[-1]
        s = s * 0.9 + x[i % 3, -2] + np.sum(x[2, ::-4])
    return s


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_parts_are_added_to_in_place(dtype: Any, ran: Ran) -> None:
    rng = np.random.default_rng(8)
    x, w = (rng.normal(size=(4, 31)).astype(dtype) for _ in range(2))
    compare(ct.function(parts).at(ct.space_of((x, w))), (x, w), ran)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
@pytest.mark.parametrize("size", [0, 1, 7])
def test_a_part_that_is_added(dtype: Any, size: int) -> None:
    rng = np.random.default_rng(9)
    x, v = rng.integers(0, 9, (3, 20)).astype(dtype), rng.integers(0, 9, (3, 9)).astype(dtype)
    box = Added((whole(3), axis(9, 20, 8, -1, 2, 2, size)))
    want = x.copy()
    want[:, 2 : 2 + 2 * size : 2] += v[:, ::-1][:, :size]
    assert np.array_equal(box.evaluate(np, x, v), want)
    for engine in ("reference", "cpu"):
        with ct.use_engine(engine):
            assert np.array_equal(box(x, v), want)
    if np.dtype(dtype).kind == "f" and np.dtype(dtype).itemsize == 8:
        ct.testing.check_grads(box, x, v)
