"""Python functions on arrays, which NumPy runs as they stand."""

from __future__ import annotations

from typing import Any

import numpy as np

from catad.testing.installation.case import Case, written

_rng = np.random.default_rng(3)
X = _rng.normal(size=6)
WEIGHTS = _rng.normal(size=(4, 6))
SQUARE = _rng.normal(size=(3, 3))
TIMES = np.linspace(0.0, 1.0, 5)


def elementwise(x: Any) -> Any:
    return np.exp(np.sin(x)) * np.log1p(x * x) - np.arctan(x) / np.cosh(x)


def layer(x: Any) -> Any:
    return np.tanh(WEIGHTS @ x + 0.5)


def softmax(x: Any) -> Any:
    e = np.exp(x - np.max(x))
    return e / np.sum(e)


def deviation(x: Any) -> Any:
    return np.std(x) / (1.0 + np.mean(x) ** 2) + np.linalg.norm(x)


def sums_and_products(x: Any) -> Any:
    return np.cumsum(x) * np.cumprod(1.0 + x / 4)


def drawdown(x: Any) -> Any:
    wealth = np.cumsum(x)
    return np.max(np.maximum.accumulate(wealth) - wealth)


def in_order(x: Any) -> Any:
    return np.sort(x) * np.arange(1.0, 7.0) + x[np.argsort(x)] ** 2


def branches(x: Any) -> Any:
    y = np.where(x > 0.0, x * x, np.expm1(x))
    return y * 2.0 if np.sum(x) > 100.0 else y[::-1]


def loop(x: Any) -> Any:
    y = np.zeros(6)
    y[0] = x[0]
    for i in range(1, 6):
        y[i] = 0.5 * y[i - 1] + np.sin(x[i])
    return y


def while_loop(x: Any) -> Any:
    y = x * x + 8.0
    while np.max(y) > 1.0:
        y = y / 2.0
    return np.sum(y * x)


def writes(x: Any) -> Any:
    y = x.copy()
    y[1:4] *= x[2:5]
    y[::2] += 1.0
    return np.concatenate([y, x[[5, 0, 5]]])


def added_at(x: Any) -> Any:
    y = np.zeros(3)
    np.add.at(y, np.array([0, 2, 2, 1, 0, 2]), x)
    return y


def contraction(x: Any) -> Any:
    return np.einsum("ij,kj,j->ik", WEIGHTS[:2], WEIGHTS, x)


def axes(x: Any) -> Any:
    m = x.reshape(2, 3)
    return (m - m.mean(axis=1, keepdims=True)) * m.T.sum(axis=1) + np.max(m, axis=0)


def complex_numbers(x: Any) -> Any:
    z = np.exp(1j * x) * (x + 2j)
    return np.abs(z) + np.angle(z + 5.0) + z.imag


def transform(x: Any) -> Any:
    f = np.fft.rfft(x)
    return np.abs(f) ** 2


def system(x: Any) -> Any:
    a = SQUARE + np.outer(x[:3], x[3:])  # a matrix whose rows are exchanged
    return np.linalg.solve(a, x[3:])


def determinant(x: Any) -> Any:
    a = np.outer(x[:3], x[3:]) + 4.0 * np.eye(3)
    return np.log(np.abs(np.linalg.det(a @ a.T)))


def spectrum(x: Any) -> Any:
    a = SQUARE + SQUARE.T + np.diag(x[:3]) + np.outer(x[3:], x[3:])
    return np.linalg.eigvalsh(a)


def factor(x: Any) -> Any:
    return np.linalg.cholesky(np.outer(x[:3], x[:3]) + np.diag(1.0 + x[3:] ** 2))


def interpolation(x: Any) -> Any:
    return np.interp(np.abs(x) / 4.0, TIMES, np.sin(3.0 * TIMES))


def convolution(x: Any) -> Any:
    return np.convolve(x, np.array([1.0, -2.0, 0.5]), mode="same")


def narrow(x: Any) -> Any:
    return np.sum(np.sqrt(1.0 + x * x)) * x[:2]


def cases() -> list[Case]:
    """All of them."""
    return [
        written("elementary functions", elementwise, X, quick=True),
        written("a matrix and a vector", layer, X, quick=True),
        written("softmax", softmax, X),
        written("mean, deviation, norm", deviation, X),
        written("running sums and products", sums_and_products, X),
        written("running maxima", drawdown, X, quick=True),
        written("sorting", in_order, X),
        written("branches", branches, X),
        written("a loop that writes", loop, X),
        written("a while loop", while_loop, X),
        written("slices and writes", writes, X),
        written("sums at indices", added_at, X),
        written("einsum", contraction, X),
        written("axes and broadcasting", axes, X),
        written("complex numbers", complex_numbers, X),
        written("a Fourier transform", transform, X),
        written("a linear system", system, X, quick=True),
        written("a determinant", determinant, X),
        written("eigenvalues", spectrum, X),
        written("a Cholesky factor", factor, X),
        written("interpolation", interpolation, X),
        written("a convolution", convolution, X),
        written("float32", narrow, X.astype(np.float32)),
    ]
