"""Sums are as good as pairwise summation: at most ten times as far from the exact sum as NumPy's own of the same numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cpu.nests.folds import TILE
from catad.linear.matrix.pairwise_sum import INNER

KINDS = ("equal", "positive", "normal")
Pair = tuple[Any, Any]  # a sum and the numbers that it is of

DOUBLED = ct.map(lambda x: 2.0 * x)


def paired(a: Any, b: Any) -> Any:
    """Sums that belong together: the operator is associative and does not commute."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2] + a[0] * b[1])


HEISENBERG = ct.fold(paired, (0.0, 0.0, 0.0))
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
    _, s, _ = ct.fork(DOUBLED, ct.sum(), ct.fold(ct.maximum, -np.inf))(x)
    yield s, x
    _, s = ct.fork(ct.scan(ct.maximum, -np.inf), ct.sum())(x)
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
    first, _, last = HEISENBERG((x, zero, x[::-1].copy()))
    yield first, x
    yield last, x[::-1]
    (y, _, z), (first, _, last) = (ct.cross(DOUBLED, ct.id, ct.id) >> ct.fork(ct.id, HEISENBERG))((x, zero, x))
    yield first, y
    yield last, z


def _gradients(x: Any) -> Iterator[Pair]:
    """Sums that a pullback makes: over all elements, of a number that was spread over them."""
    w = x.dtype.type(1.5)
    spread = ct.fork(ct.exl >> ct.replicate(len(x)), ct.exr) >> ct.mul
    yield ct.vjp(spread, w, x)[1](np.ones_like(x))[0], x
    _, back = ct.vjp(ct.fork(ct.exl >> ct.replicate(len(x)), ct.exr) >> ct.add, w, x)
    yield back(x)[0], x
    value, (by_w, _) = ct.value_and_grad(spread >> ct.sum())(w, x)
    yield value, w * x
    yield by_w, x


def _products(x: Any) -> Iterator[Pair]:
    """Contractions with ones, and what their pullbacks contract."""
    a, one = _columns(x), np.ones(len(x), x.dtype)
    yield ct.matmul(x, one), x
    yield from zip(ct.matmul(one, a), a.T, strict=True)
    yield from zip(ct.einsum("ij,ij->j")(a, np.ones_like(a)), a.T, strict=True)
    yield from zip(ct.vjp(ct.matmul, a, np.ones(3, x.dtype))[1](one)[1], a.T, strict=True)


def _by_bin(x: Any) -> Iterator[Pair]:
    """Folds by bin with few bins, and the pullback of a gather."""
    index = np.random.default_rng(len(x)).integers(0, 3, len(x))
    own = [x[index == k] for k in range(3)]
    yield ct.histogram(ct.add, 0.0, 1)(np.zeros_like(index), x)[0], x
    yield from zip(ct.histogram(ct.add, 0.0, 3)(index, x), own, strict=True)
    yield from zip(ct.reduce_by_index(lambda a, b: a + b, 0.0)(np.zeros(3, x.dtype), index, x), own, strict=True)
    yield from zip(ct.histogram(ct.add, 0.0, 3)(index, _columns(x))[:, 0], own, strict=True)
    halved = ct.cross(ct.id, ct.map(lambda v: 0.5 * v)) >> ct.histogram(ct.add, 0.0, 3)
    yield from zip(halved(index, x), [0.5 * v for v in own], strict=True)
    yield from zip(ct.vjp(ct.gather, np.zeros(3, x.dtype), index)[1](x)[0], own, strict=True)
    first, _, last = ct.histogram(paired, (0.0, 0.0, 0.0), 3)(index, (x, np.zeros_like(x), x))
    yield from zip(first, own, strict=True)
    yield from zip(last, own, strict=True)


PROGRAMS: dict[str, Callable[[Any], Iterator[Pair]]] = {
    "alone": _alone,
    "joined": _joined,
    "along axes": _along_axes,
    "tuples": _of_tuples,
    "gradients": _gradients,
    "products": _products,
    "by bin": _by_bin,
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
    assert np.all(got <= 10 * own), (n, kind, (got / own).round(1).tolist())


@pytest.mark.quick(10)
@pytest.mark.numpy_only
@pytest.mark.parametrize("engine", ["cpu", "reference"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("program", PROGRAMS)
def test_as_good_as_pairwise(engine: str, dtype: Any, program: str) -> None:
    with ct.use_engine(engine):
        for kind in KINDS if program != "products" else KINDS[1:]:
            for n in (100, 20_011):
                check(program, kind, n, dtype, 4)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["cpu", "reference"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("program", PROGRAMS)
def test_as_good_as_pairwise_when_long(engine: str, dtype: Any, program: str) -> None:
    with ct.use_engine(engine):
        for kind in KINDS if program != "products" else KINDS[1:]:
            check(program, kind, 2**25, dtype, 1)


@pytest.mark.parametrize("engine", ["cpu", "reference"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_equal_numbers_lose_no_more_digits_than_those_of_one_tile(engine: str, dtype: Any) -> None:
    """What multiplies matrices adds the terms of a tile one after the other; rounding errors of one sign add up there alone."""
    with ct.use_engine(engine):
        x = numbers("equal", 200_003, dtype, 0)
        for got, own in errors_of(_products(x)):
            assert got <= INNER * max(own, float(np.spacing(x.sum())) / 2)


def test_the_value_and_gradient_of_least_squares() -> None:
    f = ct.matmul >> ct.square >> ct.sum()
    rng = np.random.default_rng(0)
    a, w = rng.standard_normal((2**16, 2)).astype(np.float32), np.array([0.5, -1.25], np.float32)
    r = a @ w
    for engine in ("cpu", "reference"):
        with ct.use_engine(engine):
            value, slope = ct.value_and_grad(f, argnums=1)(a, w)
            assert abs(value / math.fsum((r * r).tolist()) - 1.0) < 5e-7
            assert abs(f(a, w) / math.fsum((r * r).tolist()) - 1.0) < 5e-7
            for k in range(2):
                assert abs(slope[k] / math.fsum((2.0 * a[:, k].astype(float) * r).tolist()) - 1.0) < 1e-6


@pytest.mark.numpy_only
def test_a_running_sum_drifts_no_further_than_in_one_tile() -> None:
    """Equal numbers, whose rounding errors have one sign: what is added one after the other drifts from the exact sum."""
    x = np.full(1 << 22, 0.1)
    exact = np.arange(1, len(x) + 1) * x[0]  # each rounded once
    with ct.use_engine("cpu"):
        got = ct.scan(ct.add, 0.0)(x)
    assert np.max(np.abs(got - exact) / np.spacing(exact)) <= TILE
    assert np.max(np.abs(np.cumsum(x) - exact) / np.spacing(exact)) > 2 * TILE
