"""Compositions, equations and kernels, beside NumPy, loops of Python, and closed forms that mean the same."""

from __future__ import annotations

from typing import Any

import numpy as np

import catad as ct
from catad.testing.installation.case import Case

_rng = np.random.default_rng(5)
X = 1.0 + _rng.random(6)
BINS = np.array([0, 2, 2, 1, 0, 2])
HEADS = np.array([True, False, False, True, False, True])
MATRIX = _rng.normal(size=(3, 6))
TIMES = np.linspace(0.0, 1.0, 4)


def energy(x: Any) -> Any:
    return np.sum(np.cumsum(np.exp(x)) ** 2)


def recurrence(x: Any) -> Any:
    s = [x[0]]
    for a in x[1:]:
        s.append(a * s[-1] + a)
    return np.array(s)


def prefix_products(x: Any) -> Any:
    return np.array([np.prod(x[: i + 1]) for i in range(6)])


def by_bin(x: Any) -> Any:
    return np.array([np.sum(x[np.equal(BINS, k)] ** 2) for k in range(3)])


def segments(x: Any) -> Any:
    return np.concatenate([np.cumsum(x[:3]), np.cumsum(x[3:5]), x[5:]])


def neighbours(x: Any) -> Any:
    padded = np.concatenate([[0.0], x, [0.0]])
    return padded[:-2] * padded[1:-1] - 2.0 * padded[2:]


def states(x: Any) -> Any:
    state = np.sum(x)
    for _ in range(5):
        state = np.sin(state) + x[0] * state / 4.0
    return state


def chosen(x: Any) -> Any:
    return np.sum(np.sqrt(x)) if np.sum(x) > 0.0 else 0.0


def threads(x: Any) -> Any:
    return x[:-1] ** 2 - x[1:]


@ct.kernel
def differences(x: Any, y: Any) -> None:
    """Each thread stores the square of a number less its right neighbour."""
    i = ct.simt.grid(1)
    if i < len(y):
        y[i] = x[i] * x[i] - x[i + 1]


def launched(x: Any) -> Any:
    return differences[2, 4](x, np.zeros(5))


def root(x: Any) -> Any:
    return ct.root(ct.function(lambda y, a: y * y * y - a))(np.ones(6), x)


def fitted(x: Any) -> Any:
    return ct.least_squares(ct.function(lambda p, a: MATRIX.T @ p - a))(np.zeros(3), x)


def smallest(x: Any) -> Any:
    return ct.minimize(ct.function(lambda p, a: np.sum((p - a) ** 2) + np.sum(p) ** 2))(np.zeros(6), x)


def decay(x: Any) -> Any:
    return ct.odeint(ct.function(lambda t, y, k: -k * y), rtol=1e-11, atol=1e-12)(x[0], TIMES, x[1])


def area(x: Any) -> Any:
    return ct.quad(ct.function(lambda t, k: np.exp(-k * t)))(0.0, 1.0, x[0]) * x


def cases() -> list[Case]:
    """All of them."""
    decaying = ct.map(lambda s, a: np.sin(s) + a * s / 4.0)
    return [
        Case("map, scan and fold", ct.exp >> ct.cumsum() >> ct.square >> ct.sum(), X, energy, quick=True),
        Case("a scan of products", ct.scan(lambda a, b: a * b, 1.0), X, prefix_products),
        Case("a recurrence", ct.fork(ct.id, ct.id) >> ct.recurrence, X, recurrence),
        Case("a histogram", ct.square >> ct.fork(ct.const(BINS), ct.id) >> ct.histogram(ct.add, 0.0, 3), X, by_bin, quick=True),
        Case("a segmented scan", ct.fork(ct.const(HEADS), ct.id) >> ct.segmented_scan(ct.add, 0.0), X, segments),
        Case("a stencil", ct.stencil(lambda a, b, c: a * b - 2.0 * c, (-1, 0, 1)), X, neighbours),
        Case("a choice", ct.choose(ct.sum() >> ct.map(lambda s: s > 0.0), ct.sqrt >> ct.sum(), ct.const(0.0)), X, chosen),
        Case(
            "a loop of morphisms",
            ct.fork(ct.sum(), ct.map(lambda x: x) >> ct.index[0]) >> ct.iterate(ct.fork(decaying, ct.exr), 5) >> ct.exl,
            X,
            states,
        ),
        Case("a kernel of threads", ct.function(launched), X, threads, quick=True),
        Case("a root", ct.function(root), X, np.cbrt, loose=1e2),
        Case("least squares", ct.function(fitted), X, lambda x: np.linalg.pinv(MATRIX.T) @ x, loose=1e3, long=True),
        Case("a minimum", ct.function(smallest), X, lambda x: x - np.sum(x) / 7.0, loose=1e4, long=True),
        Case("a differential equation", ct.function(decay), X, lambda x: x[0] * np.exp(-x[1] * TIMES), loose=1e3, long=True),
        Case("an integral", ct.function(area), X, lambda x: (1.0 - np.exp(-x[0])) / x[0] * x, loose=1e2, long=True),
    ]
