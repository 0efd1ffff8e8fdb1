"""Slices of traced length in loops: masks share a pass with what reads them, and the loops are compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cpu.run import target

from .cpu_support import on
from .whole_support import Ran
from .whole_support import ran as ran

pytestmark = pytest.mark.skipif(not target.available(), reason="there is no LLVM here")

DTYPES = (np.bool_, np.int8, np.uint16, np.int64, np.float32, np.float64)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shapes", [((), ()), ((5,), (5,)), ((3, 1), (3, 4)), ((1, 4), (3, 4)), ((0,), (0,)), ((1, 1), (2, 3))])
def test_zeros_by_a_mask_share_a_pass(dtype: Any, shapes: Any) -> None:
    rng = np.random.default_rng(3)
    mask = np.asarray(rng.random(shapes[0]) < 0.5)
    x = np.asarray(rng.integers(1, 100, shapes[1])).astype(dtype)
    if x.dtype.kind == "f" and x.size > 2:
        x.flat[:3] = np.nan, -np.inf, -0.0
    f = ct.primitive.ClearedWhere() >> ct.map(lambda v: (v, v))
    want = np.where(mask, x, np.zeros((), dtype))
    for engine in ("reference", "cpu"):
        for got in on(engine, f, (mask, x)):
            assert got.dtype == want.dtype and got.tobytes() == want.tobytes(), engine


def trmm(alpha: Any, a: Any, b: Any) -> Any:
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] += np.dot(a[i + 1 :, i], b[i + 1 :, j])
    return b * alpha


def prefixes(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        s = s * 0.5 + np.sum(np.sin(x[:i])) - np.max(x[: i + 1])
    return s


def symmetric(a: Any, b: Any) -> Any:
    c = np.zeros_like(b)
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            c[:i, j] += b[i, j] * a[i, :i]
            c[i, j] += b[:i, j] @ a[i, :i]
    return c


def given(fn: Any, rng: np.random.Generator) -> tuple[Any, ...]:
    if fn is trmm:
        return 1.5, rng.normal(size=(20, 20)), rng.normal(size=(20, 18))
    if fn is symmetric:
        return rng.normal(size=(20, 20)), rng.normal(size=(20, 18))
    return (rng.normal(size=40),)


@pytest.mark.parametrize("fn", [trmm, prefixes, symmetric])
def test_loops_over_slices_of_traced_length_are_compiled(fn: Any, ran: Ran) -> None:
    rng = np.random.default_rng(4)
    x = given(fn, rng)
    f = ct.function(fn)
    want = fn(*[np.array(a) if isinstance(a, np.ndarray) else a for a in x])
    with ct.use_engine("cpu"):
        f(*x), ct.vjp(f, *x)  # the laws of a maximum are checked by the first calls
        ran.compiled = ran.instead = 0
        y, back = ct.vjp(f, *x)
        w = rng.normal(size=np.shape(y))
        got = back(w)
    assert ran.compiled == 2 and not ran.instead
    assert np.allclose(y, want, rtol=1e-12, atol=1e-12)
    with ct.use_engine("reference"):
        _, plain = ct.vjp(f, *x)
        for one, other in zip(got, plain(w), strict=True):
            assert np.allclose(one, other, rtol=1e-11, atol=1e-11)
