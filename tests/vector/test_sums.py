"""Sums are as good as pairwise summation: at most ten times as far from the exact sum as NumPy's own of the same numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import catad as ct

Pair = tuple[Any, Any]  # a sum and the numbers that it is of

DOUBLED = ct.map(lambda x: 2.0 * x)
HEISENBERG = ct.fold(lambda a, b: (a[0] + b[0], a[1] + b[1], a[2] + b[2] + a[0] * b[1]), (0.0, 0.0, 0.0))
MEAN = ct.fork(ct.sum(), ct.id) >> ct.map(lambda s, x: s)  # a sum that is needed at every index


def _columns(x: Any) -> Any:
    return np.stack([x, x[::-1], -x], axis=1)


def _alone(x: Any) -> Iterator[Pair]:
    yield ct.sum()(x), x
    yield ct.fold(ct.add, 0.0)(x), x
    yield ct.fold(lambda a, b: a + b, 0.0)(x), x
    yield ct.sum()(np.repeat(x, 2)[::2]), x
    yield MEAN(x)[-1], x


def _joined(x: Any) -> Iterator[Pair]:
    y, s = (DOUBLED >> ct.fork(ct.id, ct.sum()))(x)
    yield s, y
    y, s = (DOUBLED >> ct.fork(ct.flip(), ct.sum()))(x)
    yield s, y
    y, s = (ct.square >> ct.fork(ct.pad(1, 2), ct.sum()))(x)
    yield s, y
    y, s, m = ct.fork(DOUBLED, ct.sum(), ct.fold(ct.maximum, -np.inf))(x)
    yield s, x
    y, s = ct.fork(ct.scan(ct.maximum, -np.inf), ct.sum())(x)
    yield s, x
    y, s = (ct.scan(ct.maximum, -np.inf) >> ct.fork(ct.id, ct.sum()))(x)
    yield s, y


def _along_axes(x: Any) -> Iterator[Pair]:
    a = _columns(x)
    for f, m in ((ct.sum(axis=0), a), (ct.sum(axis=1), np.ascontiguousarray(a.T)), (ct.sum(axis=0), a[::-1])):
        yield from zip(f(m), a.T, strict=True)
    yield from zip(ct.fold(lambda p, q: p + q, 0.0, axis=1)(a.T), a.T, strict=True)
    m, s = (DOUBLED >> ct.fork(ct.id, ct.sum(axis=0)))(a)
    yield from zip(s, m.T, strict=True)
    m, s = (ct.scan(ct.maximum, -np.inf) >> ct.fork(ct.id, ct.sum(axis=0)))(a)
    yield from zip(s, m.T, strict=True)
    k = math.isqrt(len(x) // 3)
    cube = x[: 3 * k * k].reshape(k, 3, k)
    yield from zip(ct.sum(axis=(0, 2))(cube), np.moveaxis(cube, 1, 0), strict=True)
    yield ct.sum()(cube[:, :2]), cube[:, :2]
    yield ct.sum()(a.T), a


def _of_tuples(x: Any) -> Iterator[Pair]:
    zero = np.zeros_like(x)
    for sums in (HEISENBERG((x, zero, x[::-1].copy())), (DOUBLED >> ct.fork(ct.id, ct.id, ct.id) >> HEISENBERG)(zero)):
        if sums[0] != 0.0:
            yield sums[0], x
            yield sums[2], x


def _gradients(x: Any) -> Iterator[Pair]:
    """Sums that a pullback makes: over all elements, of a number that was spread over them."""
    w = x.dtype.type(1.5)
    spread = ct.fork(ct.exl >> ct.replicate(len(x)), ct.exr) >> ct.mul
    yield ct.vjp(spread, w, x)[1](np.ones_like(x))[0], x
    y, back = ct.vjp(ct.fork(ct.exl >> ct.replicate(len(x)), ct.exr) >> ct.add, w, x)
    yield back(x)[0], x
    value, (by_w, by_x) = ct.value_and_grad(spread >> ct.sum())(w, x)
    yield value, w * x
    yield by_w, x


def _products(x: Any) -> Iterator[Pair]:
    """Contractions with ones, and what their pullbacks contract."""
    a, one = _columns(x), np.ones(len(x), x.dtype)
    yield ct.matmul(x, one), x
    yield from zip(ct.matmul(one, a), a.T, strict=True)
    yield from zip(ct.einsum("ij,ij->j")(a, np.ones_like(a)), a.T, strict=True)
    yield from zip(ct.vjp(ct.matmul, a, np.ones(3, x.dtype))[1](one)[1], a.T, strict=True)
    yield from zip(ct.linear.contract("ij->j")(a) if hasattr(ct.linear, "contract") else a.sum(0), a.T, strict=True)


PROGRAMS: dict[str, Callable[[Any], Iterator[Pair]]] = {
    "alone": _alone,
    "joined": _joined,
    "along axes": _along_axes,
    "tuples": _of_tuples,
    "gradients": _gradients,
    "products": _products,
}


def numbers(kind: str, n: int, dtype: Any, seed: int) -> Any:
    rng = np.random.default_rng([n, seed])
    if kind == "equal":  # rounding errors of one sign: what is added one after the other drifts
        return np.full(n, 0.1 + 0.02 * seed, dtype)
    return (rng.uniform(0.0, 1.0, n) if kind == "positive" else rng.standard_normal(n)).astype(dtype)


def errors_of(pairs: Iterator[Pair]) -> list[tuple[float, float]]:
    """How far sums are from the exact ones, and how far NumPy's are or half of the last digit, whichever is more."""
    found = []
    for got, of in pairs:
        flat = np.ascontiguousarray(of).ravel()
        exact = math.fsum(flat.tolist())
        own = max(abs(float(np.sum(flat)) - exact), 0.5 * float(np.spacing(flat.dtype.type(abs(exact)))))
        found.append((abs(float(got) - exact), own))
    return found


def check(program: str, kind: str, n: int, dtype: Any, seeds: int) -> None:
    """The root mean squares over some draws."""
    drawn = np.array([errors_of(PROGRAMS[program](numbers(kind, n, dtype, seed))) for seed in range(seeds)])
    got, own = np.sqrt(np.mean(np.square(drawn), axis=0)).T
    assert np.all(got <= 10 * own), (got / own).round(1)


@pytest.mark.parametrize("engine", ["cpu", "reference"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["equal", "positive", "normal"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_as_good_as_pairwise(engine: str, dtype: Any, kind: str, program: str) -> None:
    with ct.use_engine(engine):
        for n, seeds in ((3, 3), (100, 6), (1500, 6), (20_011, 4)):
            check(program, kind, n, dtype, seeds)
