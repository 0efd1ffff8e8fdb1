"""Linear algebra on arrays of other libraries: strict ones always, those of CuPy where there is a GPU."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import catad as ct

from ..test_array_libraries import LIBRARIES, library

if "cupyx.scipy.linalg" not in sys.modules:  # the stand-in for strict arrays stands where there is no CuPy
    LIBRARIES = LIBRARIES[1:]
rng = np.random.default_rng(0)


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("shape", [(3, 3), (12, 12), (2, 12, 12), (5, 2, 2)], ids=str)
def test_values_and_pullbacks(name: str, shape: tuple[int, ...]) -> None:
    xp = library(name)
    a = rng.normal(size=shape) + 5 * np.eye(shape[-1])
    S, right = a @ np.swapaxes(a, -1, -2), rng.normal(size=(*shape[:-1], 2))
    for f, args in (
        (ct.linalg.solve(), (a, right)), (ct.linalg.solve("pos"), (S, right)), (ct.linalg.solve("sym"), (S, right)),
        (ct.linalg.solve("lower triangular"), (a, right)), (ct.linalg.solve("upper triangular"), (a, right)),
        (ct.linalg.inv, (a,)), (ct.linalg.det, (a,)), (ct.linalg.cholesky(), (S,)),
    ):  # fmt: skip
        y, pullback = ct.vjp(f, *args)
        there, pullback_there = ct.vjp(f, *[xp.asarray(arg) for arg in args])
        w = rng.normal(size=np.shape(y))
        pairs = [(y, there), *zip(pullback(w), pullback_there(xp.asarray(w)), strict=True)]
        for one, other in pairs:
            assert type(other) is type(xp.asarray(a))
            np.testing.assert_allclose(other.get(), one, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", LIBRARIES)
def test_decompositions(name: str) -> None:
    """Signs of vectors are the library's own, so what they make is compared, and derivatives of what signs do not change."""
    xp, a = library(name), rng.normal(size=(2, 5, 3))

    def turned(x: Any) -> Any:
        return np.swapaxes(x, -1, -2)

    def eigh(a: Any) -> Any:
        w, v = np.linalg.eigh(turned(a) @ a)
        return w, v**2, (v * w[..., None, :]) @ turned(v)

    def svd(a: Any) -> Any:
        u, s, vt = np.linalg.svd(a, full_matrices=False)
        return s, u**2, (u * s[..., None, :]) @ vt

    def qr(a: Any) -> Any:
        q, r = np.linalg.qr(a)
        return q**2, q @ r

    for f in (eigh, svd, qr):
        for fn in (ct.function(f), ct.function(lambda a, f=f: np.concatenate([np.ravel(one) for one in f(a)]))):
            y, pullback = ct.vjp(fn, a)
            there, pullback_there = ct.vjp(fn, xp.asarray(a))
            for one, other in zip(y, there, strict=True):
                np.testing.assert_allclose(other.get(), one, rtol=1e-9, atol=1e-10)
        w = rng.normal(size=np.shape(y))
        np.testing.assert_allclose(pullback_there(xp.asarray(w))[0].get(), pullback(w)[0], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("n", [3, 12])
def test_what_is_refused(name: str, n: int) -> None:
    xp = library(name)
    stack: Any = np.array([np.eye(n), np.eye(n)])
    stack[1, -1, -1] = 0.0
    ones = xp.asarray(np.ones((2, n, 1)))
    with pytest.raises(ct.SolveError, match=rf"pivot {n - 1}(.|\n)*matrix \[1\] of \(2,\)"):
        ct.linalg.solve()(xp.asarray(stack), ones)
    stack[1, -1, -1] = -1.0
    with pytest.raises(ct.SolveError, match=rf"pivot {n - 1}(.|\n)*matrix \[1\] of \(2,\)"):
        ct.linalg.cholesky()(xp.asarray(stack))
