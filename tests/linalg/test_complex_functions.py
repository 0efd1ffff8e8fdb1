"""Functions of NumPy on complex arrays: NumPy's numbers and dtypes, and derivatives by differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct

Z = np.array([[1 + 2j, -0.5 + 0.3j, 2.0], [0.1 - 1.1j, 3j, -1.5 - 0.2j]])
W = np.array([[0.3 - 1j, 2.0 + 0.1j, 1j], [1.1 + 1j, -0.7 - 0.7j, 0.9]])
V = np.array([0.5 - 0.1j, 1 + 1j, -2 + 0.3j])
X = np.array([[0.4, -1.3, 2.2], [1.0, 0.2, -0.6]])
MASK = np.array([[True, False, True], [False, False, True]])


def inverses(z: Any, w: Any) -> Any:
    return np.arcsin(z) + np.arccos(w) + np.arctan(z) + np.arcsinh(w) + np.arccosh(z) + np.arctanh(w)


def in_order(z: Any) -> Any:
    z = z.copy()
    z.sort(axis=0)
    return z


def written(z: Any, w: Any) -> Any:
    z = z.copy()
    z.real = X
    z.imag[0] += 1
    z.imag *= w.real
    np.add.at(z[0], [0, 0, 2], np.array([1j, w[0, 0], 2.0]))
    np.subtract.at(z[1], [0, 2], w[0, :2])
    np.put(z, [1, 3], [1j, w[0, 1]])
    return z


def masked(z: Any, w: Any) -> Any:
    z, y = z.copy(), np.zeros_like(w)
    z[MASK] = z[MASK] ** 2 + w[MASK]
    y[z.real > 0] = 1j
    np.copyto(y, w, where=~MASK)
    np.place(y, MASK, [2 - 1j])
    np.putmask(z, MASK[::-1], w)
    z[abs(z) > 2] *= 0.5j
    return z + y + z[MASK].sum()


PROGRAMS: dict[str, Callable[..., Any]] = {
    "arithmetic": lambda z, w: (z + w) * (z - 2j * w) / (w + 3) - (1 + 2j) / z + 2 * z,
    "powers": lambda z, w: z**2 + z**3 - z**-1 + z**0.5 + z**w + 2.0**z + z**-2 + z**0 + z**1,
    "real beside": lambda z, w: X * z + z / X - X + w + np.float32(2) * z,
    "unary": lambda z, w: -z + (+w),
    "parts": lambda z, w: z.real * w.imag + np.real(z) - np.imag(w) + z.conj() * w.conjugate() + np.conj(z),
    "length": lambda z, w: abs(z) + np.abs(w) + np.absolute(z) + np.angle(z) + np.angle(w, deg=True),
    "square": lambda z, w: np.square(z) + np.reciprocal(w) + np.sign(z),
    "roots": lambda z, w: (
        np.sqrt(z) + np.exp(w) + np.log(z) + np.log2(z) + np.log10(w) + np.log1p(z) + np.exp2(w)
        + np.expm1(w)
    ),
    "circular": lambda z, w: np.sin(z) + np.cos(w) + np.tan(z) + np.sinh(w) + np.cosh(z) + np.tanh(w),
    "sums": lambda z, w: z.sum() + np.sum(w, axis=0) + np.mean(z, axis=1, keepdims=True) + w.mean(),
    "a product": lambda z, w: z.prod() + np.prod(w, axis=0) + np.prod(z, axis=1, keepdims=True) + np.multiply.reduce(w),
    "prefixes": lambda z, w: (
        np.cumsum(z, axis=1) + np.cumprod(w, axis=1) + np.cumsum(w).reshape(2, 3)
        + z.cumprod().reshape(2, 3)
    ),
    "matrices": lambda z, w: z @ w.T + z.dot(w.T) + np.dot(z, X.T) + X @ w.T + z @ V @ np.ones((2, 2)),
    "vdot": lambda z, w: np.vdot(z, w) + np.vdot(X, w) + np.vdot(z, X) + np.inner(z, w)[0] + np.outer(z, w)[0, 1],
    "einsum": lambda z, w: np.einsum("ij,kj->ik", z, w) + np.einsum("ij,j,kj->ik", z, V, X) + np.einsum("ij->i", z)[:, None],
    "tensordot": lambda z, w: np.tensordot(z, w, axes=([1], [1])) + np.kron(z, w)[:2, :2] + np.trace(z @ w.T),
    "convolve": lambda z, w: np.convolve(z[0], w[1]) + np.convolve(X[0], z[1]) + np.correlate(z[0], w[0], "full"),
    "shapes": lambda z, w: z.T.reshape(3, 2).T + np.transpose(w).ravel().reshape(2, 3) + z[:, ::-1] + np.flip(w, 0),
    "axes": lambda z, w: (
        np.moveaxis(z[None], 0, 2)[..., 0] + np.squeeze(w[:, None], 1) + np.swapaxes(z, 0, 1).T
        + w.flatten()[2]
    ),
    "joined": lambda z, w: (
        np.concatenate([z, X, w]) + np.stack([z, w])[0].sum() + np.vstack([X, z, w])
        + np.hstack([z, w])[0, 3]
    ),
    "split": lambda z, w: np.split(z, 3, axis=1)[1] + np.array_split(w, 2)[0][0, 1] + np.append(z, 1j)[-1],
    "where": lambda z, w: np.where(MASK, z, w) + np.where(X > 0, z, 1.0) + np.where(X > 0, X, w),
    "rolled": lambda z, w: (
        np.roll(z, 1, axis=1) + np.roll(w, 1) + np.rot90(z).T + np.tile(w, (1, 2))[:, 1:4]
        + np.repeat(z, 2)[:6].reshape(2, 3)
    ),
    "triangles": lambda z, w: (
        np.tril(z) + np.triu(w) + np.diag(V)[:2] + np.diagonal(z).sum() + np.diff(w, axis=0)
        + np.diag(z)[1]
    ),
    "taken": lambda z, w: (
        z[[0, 1, 0], [2, 1, 0]] + np.take(w, [0, 2, 1])
        + np.take_along_axis(z, np.array([[0, 2, 1]]), 1)[0]
    ),
    "spread": lambda z, w: (
        np.broadcast_to(z[0], (2, 3)) + np.expand_dims(w, 0)[0] + np.pad(z, 1)[1:-1, 1:-1]
        + np.atleast_2d(w[0])
    ),
    "filled": lambda z, w: (
        z + np.zeros_like(z) + np.ones_like(w) + np.full_like(z, 2j) + np.zeros((2, 3), complex)
        + np.full((2, 3), 1j)
    ),
    "made": lambda z, w: np.array([z[0, 0], 1j, w[1, 1], 2.0]) + np.asarray([1j, 2, 3, 4]) + np.array([X[0, 0], 1, 2, 3]),
    "cast": lambda z, w: (
        X.astype(complex) * z + z.astype(np.complex128) + np.complex128(X[0, 0]) + complex(w[0, 0])
        + complex(X[0, 0], 1)
    ),
    "spread out": lambda z, w: (
        np.var(z) + np.std(w, axis=0) + z.var(axis=1)[:, None] + np.linalg.norm(z)
        + np.linalg.norm(w, axis=1).sum()
    ),
    "norms": lambda z, w: (
        np.linalg.norm(z, 1) + np.linalg.norm(V * w, np.inf, axis=1)
        + np.linalg.norm(z, axis=0, keepdims=True)[0, :2]
    ),
    "lines": lambda z, w: np.linspace(z[0], w[0], 5) + np.polyval(V, z[0]) + np.trapezoid(w[0], dx=0.5),
    "rounded": lambda z, w: z + 0 * np.round(w, 1),
    "means": lambda z, w: np.average(z, axis=0, weights=[1.0, 3.0]) + np.gradient(w, axis=1) + np.ediff1d(z[0])[0],
    "inverses": lambda z, w: inverses(z + 0.01 - 0.03j, w - 0.02 + 0.01j),
    "order": lambda z, w: np.sort(z) + np.sort(w, axis=0) + np.sort(z, axis=None).reshape(2, 3) + np.partition(w, 1),
    "in order": lambda z, w: in_order(z) + np.take_along_axis(w, np.argsort(z), 1) + z[0, np.argmax(w[0])] * w.argmin(),
    "extrema": lambda z, w: (
        z.max() + np.min(w, axis=0) + np.max(z, axis=1, keepdims=True) + np.ptp(w) + np.median(z, axis=0)
        + np.median(w[:, :2]) + np.max(z, initial=1 + 9j) + np.maximum.reduce(w)
    ),
    "bounds": lambda z, w: (
        np.clip(z + 0.1j, -1, 1.1 + 1j) + np.maximum(z, w) - np.minimum(z, X) * np.fmax(w, z) + np.fmin(z + 0.1, 1j)
    ),
    "without nan": lambda z, w: (
        np.nansum(np.where(MASK, z, np.nan)) + np.nanmean(w, axis=0) + np.nanprod(np.where(MASK, w, np.nan * 1j), axis=1)[:, None]
        + np.nancumsum(z).reshape(2, 3) + np.nan_to_num(z)
    ),
    "written": lambda z, w: written(z, w),
    "masked": lambda z, w: masked(z, w),
    "joined by brackets": lambda z, w: np.r_[z[0], 1j, w[1, :2]].reshape(2, 3) + np.c_[z, X][:, 1:4] + np.r_[X, w][:2],
    "chosen": lambda z, w: (
        np.piecewise(z, [MASK], [1j, lambda v: v**2]) + np.select([MASK], [z], default=1j)
        + np.choose(MASK.astype(int), [z, w]) + np.compress([True, False, True, True], np.c_[z, z][:, :4], axis=1)
    ),
    "padded": lambda z, w: np.pad(z, 1, constant_values=1j)[:2, 1:4] + np.pad(w, 1, mode="edge")[1:, 1:][:2, :3],
    "into a place": lambda z, w: np.exp(z, where=MASK, out=np.zeros_like(z)) + np.add(z, X, out=np.ones_like(w)),
    "averages": lambda z, w: (
        np.average(z, weights=w) + np.var(z, axis=1, where=MASK[::-1] | MASK, dtype=complex).sum() + np.std(w, ddof=1, axis=0)
        + np.sinc(z) + np.float_power(w, 2) + np.add.reduceat(z, [0, 1], axis=1)[:, :1]
    ),
    "builtins": lambda z, w: sum([z, w]) + abs(w) + pow(z, 2) + len(z),
}  # fmt: skip

TRUTHS: dict[str, Callable[..., Any]] = {
    "equal": lambda z, w: (z == w) | (z != Z) | (z == 1 + 2j),
    "order": lambda z, w: (z < w) | (z >= 2),
    "positions": lambda z, w: (
        z.argmax(), np.argmin(w, axis=0), np.argsort(z), np.isin(z, [3j, 2]), np.argmax(w, 1, keepdims=True),
    ),
    "finite": lambda z, w: np.isfinite(z) & ~np.isnan(w) & ~np.isinf(z),
    "kinds": lambda z, w: (
        np.iscomplexobj(z), np.isrealobj(z), np.iscomplex(z), np.isreal(w), z.dtype == complex,
        z.ndim, z.size,
    ),
    "same": lambda z, w: (
        np.array_equal(z, z), np.allclose(z, z + 1e-12), np.isclose(z, w), np.any(z), np.all(w),
        np.count_nonzero(z),
    ),
    "logic": lambda z, w: np.logical_and(z, w) & np.logical_or(z, 0j) & ~np.logical_not(w),
}  # fmt: skip


def same(got: Any, want: Any) -> None:
    if isinstance(want, (tuple, list)):
        for one, other in zip(got, want, strict=True):
            same(one, other)
        return
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, (got.dtype, want.dtype, got.shape, want.shape)
    scale = np.max(np.abs(want), initial=0.0)
    np.testing.assert_allclose(got, want, rtol=1e-12 if got.dtype.itemsize in (8, 16, 1) else 1e-4, atol=1e-13 * scale)


@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_are_those_of_numpy(name: str) -> None:
    f = PROGRAMS[name]
    same(ct.function(f)(Z, W), f(Z, W))


@pytest.mark.parametrize("name", TRUTHS)
def test_truth_values_are_those_of_numpy(name: str) -> None:
    f = TRUTHS[name]
    same(ct.function(f)(Z, W), f(Z, W))


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in ("real beside", "rounded")])
def test_single_precision_is_numpys(name: str) -> None:
    f, z, w = PROGRAMS[name], Z.astype(np.complex64), W.astype(np.complex64)
    got, want = ct.function(f)(z, w), np.asarray(f(z, w))
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * np.max(np.abs(want)))


def loss_of(f: Callable[..., Any]) -> Callable[..., Any]:
    """A real loss that mixes the parts of a result."""

    def loss(z: Any, w: Any) -> Any:
        y = f(z, w)
        return np.sum(np.cos(y.real) + y.imag**2 * 0.1) if np.iscomplexobj(y) else np.sum(np.cos(y))

    return loss


def differences(loss: Callable[..., Any], z: Any, w: Any, h: float = 1e-6) -> Any:
    """dL/dre + i dL/dim by central differences."""
    out = np.zeros_like(z)
    for k in np.ndindex(*z.shape):
        for unit in (1.0, 1j):
            step = np.zeros_like(z)
            step[k] = h * unit
            out[k] += unit * (loss(z + step, w) - loss(z - step, w)) / (2 * h)
    return out


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "rounded"])
def test_gradients_are_those_of_differences(name: str) -> None:
    loss = loss_of(PROGRAMS[name])
    got = ct.grad(loss, argnums=0)(Z, W)
    assert got.dtype == complex and got.shape == Z.shape
    want = differences(loss, Z, W)
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6 * max(1.0, np.max(np.abs(want))))
