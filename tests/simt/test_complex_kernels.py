"""Kernels on complex arrays and numbers: the numbers of the same Python in threads, and derivatives by differences."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.testing import check_grads, check_races, threads

RNG = np.random.default_rng(5)


def drawn(*shape: int) -> Any:
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


@ct.kernel
def mandelbrot(c, n, z):
    i = ct.simt.grid(1)
    if i < len(c):
        s, k = 0j, 0
        while abs(s) < 2.0 and k < 30:
            s = s * s + c[i]
            k += 1
        n[i], z[i] = k, s


@ct.kernel
def axpy(a, x, y):
    i = ct.simt.grid(1)
    if i < len(y):
        y[i] = a * x[i] + y[i].conjugate()


@ct.kernel
def products(a, x, y):
    i = ct.simt.grid(1)
    if i < a.shape[0]:
        s = 0
        for j in range(a.shape[1]):
            s += a[i, j] * x[j]
        y[i] = s


@ct.kernel
def totals(x, y):
    i = ct.simt.grid(1)
    if i < len(x):
        ct.simt.atomic.add(y, i % 2, x[i] * 1j)
        ct.simt.atomic.sub(y, 2, x[i].real)


@ct.kernel
def blocks(x, y):
    t = ct.simt.threadIdx.x
    s = ct.simt.shared.array(8, x.dtype)
    s[t] = x[t]
    ct.simt.syncthreads()
    y[t] = s[7 - t] + ct.simt.shfl_xor_sync(-1, x[t], 1)


@ct.kernel
def rows(m, y):
    i = ct.simt.grid(1)
    if i < m.shape[0]:
        row = m[i]
        y[i] = row[0] * row[1]
        y[i] *= 2j
        y.real[i] = y.imag[i] + m.real[i, 2]


@ct.kernel
def shortened(z, o):
    i = ct.simt.grid(1)
    if i < len(z):
        s = 1.0
        for _ in range(20):
            s = s * z[i]
        o[i] = s


A, X, Y = drawn(6, 8), drawn(8), drawn(8)
LAUNCHES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "mandelbrot": (mandelbrot[3, 4], (1.5 * drawn(12), np.zeros(12, np.int64), np.zeros(12, complex))),
    "axpy": (axpy[2, 4], (2 + 1j, X, Y)),
    "a real number": (axpy[2, 4], (2.0, X, Y)),
    "real arrays beside": (axpy[2, 4], (1j, X.real.copy(), Y)),
    "products": (products[1, 8].returning("y", like="x"), (A, X)),
    "totals": (totals[1, 8], (X, np.zeros(3, complex))),
    "blocks": (blocks[1, 8].returning("y", like="x"), (X,)),
    "rows": (rows[1, 8], (A, np.zeros(6, complex))),
    "a loop of numbers": (shortened[1, 8], (0.9 * X / abs(X), np.zeros(8, complex))),
}  # fmt: skip


@pytest.mark.parametrize("name", LAUNCHES)
def test_numbers_are_those_of_threads(name: str) -> None:
    launch, args = LAUNCHES[name]
    got, want = launch(*args), threads(launch, *args)
    for one, other in zip(got if isinstance(got, tuple) else (got,), want if isinstance(want, tuple) else (want,), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-14)
    check_races(launch, *args)


@pytest.mark.parametrize("name", [name for name in LAUNCHES if name != "mandelbrot"])
def test_derivatives(name: str) -> None:
    launch, args = LAUNCHES[name]
    check_grads(launch, *args, order=2)


def test_by_numpy() -> None:
    np.testing.assert_allclose(LAUNCHES["products"][0](A, X)[:6], A @ X)
    loss = LAUNCHES["products"][0] >> ct.map(lambda z: abs(z) ** 2) >> ct.sum()
    np.testing.assert_allclose(ct.grad(loss, argnums=1)(A, X), 2 * A.conj().T @ (A @ X))
    assert axpy[2, 4](np.complex64(1j), X.astype(np.complex64), Y.astype(np.complex64)).dtype == np.complex64
    assert ct.vmap(LAUNCHES["products"][0])(np.stack([A, A]), np.stack([X, Y])).shape == (2, 8)


def test_in_programs_and_at_spaces() -> None:
    f = LAUNCHES["products"][0]
    np.testing.assert_allclose(ct.function(lambda a, x: 2 * f(a, x))(A, X)[:6], 2 * A @ X)
    assert f.spaces(ct.c128[6, 8], ct.c128[8]) == ct.c128[8]
    program = ct.function(lambda a, x: f(a, x)).at(A, X)
    assert pickle.loads(pickle.dumps(program)) == program
    assert "a.real[i, j]" in f.explain(A, X)


def test_a_complex_number_in_a_real_array_is_an_error() -> None:
    with pytest.raises(ct.ScalarError, match="stored into y, a real array"):
        rows[1, 8](A, np.zeros(6))
    with pytest.raises(ct.ScalarError, match="a race at cell"):
        check_races(blocks_without_barrier[1, 8], X, X)


@ct.kernel
def blocks_without_barrier(x, y):
    t = ct.simt.threadIdx.x
    x[t] = 1j
    y[t] = x[7 - t]
