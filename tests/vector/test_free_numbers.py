"""Operators with free numbers: derivatives with respect to what an operator takes beside its two elements."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category.spaces import Tensor
from catad.vector.bins.fold_by_bin import FoldByBin
from catad.vector.bins.prefixes_by_bin import PrefixByBin
from catad.vector.bins.sorted_bins import with_numbers

from . import operators as o

INF = math.inf
RNG = np.random.default_rng(12)


def soft(a: Any, b: Any, t: Any) -> Any:
    return t * np.logaddexp(a / t, b / t)


def test_the_sensitivity_of_a_fold_to_a_free_number_by_hand() -> None:
    """Sum over i of d1 op(y_i, r_i) dp op(y_{i-1}, x_i), with y the prefixes and r what follows; op = a + b + p a b."""
    x, p = np.array([0.5, 2.0, 3.0]), 0.25
    y = [x[0], o.damped(x[0], x[1], p)]
    r = [o.damped(x[1], x[2], p), x[2], 0.0]
    by_hand = (1 + p * r[1]) * y[0] * x[1] + (1 + p * r[2]) * y[1] * x[2]
    f = ct.fold(o.damped, 0.0, params=1)
    assert np.isclose(ct.grad(f, argnums=1)(x, p), by_hand, rtol=1e-14)
    assert np.isclose(by_hand, 0.5 * 2 + 0.5 * 3 + 2 * 3 + 2 * p * 3, rtol=1e-14)  # of (prod(1 + p x) - 1) / p


def twice_free(a: Any, b: Any, p: Any, q: Any) -> Any:
    return a[0] + b[0] + p * q * a[0] * b[0], a[1] * b[1]


def points(make: Callable[..., Any]) -> Any:
    """Arguments with free numbers of several ranks that broadcast over the axes other than the steps'."""
    return [
        (make(6), 0, (make(),)),
        (make(6, 3), 0, (make(3),)),
        (make(6, 3), 0, (make(1, 3),)),
        (make(6, 3), 0, (make(1, 1),)),
        (make(3, 6), 1, (make(3, 1),)),
        (make(3, 6), 1, (make(),)),
        (make(2, 5, 3), 1, (make(2, 1, 3),)),
        (make(2, 5, 3), 1, (make(3),)),
        (make(2, 5, 3), -2, (make(1, 3),)),
    ]


def plain(op: Any, neutral: Any, x: Any, p: Any, axis: int, ndim: int) -> list[Any]:
    """All prefixes, by NumPy, the axis of steps first."""
    x = np.moveaxis(x, axis, 0)
    p = np.moveaxis(p.reshape((1,) * (ndim - p.ndim) + p.shape), axis, 0)[0]
    out = [op(np.full(x.shape[1:], neutral), x[0], p) if len(x) else None]
    for row in x[1:]:
        out.append(op(out[-1], row, p))
    return out


@pytest.mark.quick(4)
@pytest.mark.parametrize("k", range(9))
@pytest.mark.parametrize(("op", "neutral"), [(o.damped, 0.0), (soft, -INF)])
def test_free_numbers_of_folds_and_scans(op: Any, neutral: float, k: int) -> None:
    x, axis, (p,) = points(lambda *shape: RNG.uniform(0.4, 1.2, shape))[k]
    f, s = (make(op, neutral, axis=axis, params=1) for make in (ct.fold, ct.scan))
    o.agree(f, (x, p), lambda z: plain(op, neutral, z[0], z[1], axis, x.ndim)[-1])
    o.agree(s, (x, p), lambda z: np.moveaxis(np.array(plain(op, neutral, z[0], z[1], axis, x.ndim)), 0, axis))
    o.agree_twice(f, (x, p))
    o.agree(ct.scan(op, neutral, axis=axis, params=1, reverse=True, exclusive=op is o.damped), (x, p))


@pytest.mark.quick(4)
@pytest.mark.parametrize(("op", "neutral"), [(o.damped, 0.0), (soft, -INF)])
@pytest.mark.parametrize(("rest", "of_p"), [((), ()), ((2,), ()), ((2,), (2,)), ((2, 2), (2, 1))])
def test_free_numbers_of_histograms(op: Any, neutral: float, rest: tuple[int, ...], of_p: tuple[int, ...]) -> None:
    """With an empty bin, where dst stays as it is whatever the operator's formula says there."""
    index = np.array([0, 2, 2, -1, 0, 3, 2])
    x, dst, p = RNG.uniform(0.4, 1.2, (7, *rest)), RNG.uniform(0.4, 1.2, (3, *rest)), RNG.uniform(0.5, 1.0, of_p)

    def loop(z: Any) -> Any:
        d, i, v, q = z
        out = np.array(d)
        for k in range(7):
            if 0 <= i[k] < 3:
                out[i[k]] = op(out[i[k]], v[k], q)
        return out

    z = (dst, index, x, np.asarray(p))
    f = ct.reduce_by_index(op, neutral, params=1)
    o.agree(f, z, loop)
    if op is o.damped:
        o.agree(ct.histogram(op, neutral, 3, params=1), z[1:], lambda z: loop((np.zeros_like(dst), *z)))
    if rest == ():
        o.agree_twice(f, z)


def test_several_free_numbers_of_an_operator_on_tuples() -> None:
    x = (RNG.uniform(0.4, 1.2, (5, 2)), RNG.uniform(0.4, 1.2, (5, 2)))
    p, q = np.array([0.3, 0.8]), np.float64(1.5)
    f = ct.fold(twice_free, (0.0, 1.0), params=2)
    prod = np.prod(1 + p * q * x[0], axis=0)
    np.testing.assert_allclose(f(x, p, q)[0], (prod - 1) / (p * q), rtol=1e-13)
    for g in (f, ct.scan(twice_free, (0.0, 1.0), params=2)):
        o.agree(g, (x, p, q))
        o.agree_twice(g, (x, p, q))
    index = np.array([1, 0, 1, 7, 1])
    o.agree(ct.histogram(twice_free, (0.0, 1.0), 2, params=2), (index, x, p, q))


def test_free_integers_and_mixed_precision() -> None:
    x = RNG.uniform(0.5, 1.0, 5)
    f = ct.fold(o.damped, 0.0, params=1)
    y, pullback = ct.vjp(f, x, np.int64(2))
    assert np.isclose(y, (np.prod(1 + 2 * x) - 1) / 2) and pullback(1.0)[1] == ()
    o.agree(f, (x, np.int64(2)))
    o.agree(ct.scan(o.damped, 0.0, params=1), (x, np.int64(2)))
    o.agree(ct.histogram(o.damped, 0.0, 2, params=1), (np.array([0, 1, 1, 0, 5]), x, np.int64(2)))
    wide = ct.grad(f, argnums=(0, 1))(x, 0.5)
    for a, p in ((x.astype(np.float32), np.float32(0.5)), (x, np.float32(0.5))):
        got = ct.grad(f, argnums=(0, 1))(a, p)
        assert (got[0].dtype, got[1].dtype) == (a.dtype, p.dtype)
        np.testing.assert_allclose(got[0], wide[0], rtol=1e-5)
        np.testing.assert_allclose(got[1], wide[1], rtol=1e-5)


def test_free_numbers_are_no_tuples() -> None:
    x, index = np.ones(3), np.array([0, 1, 0])
    folds = (ct.fold(o.damped, 0.0, params=1), (x,)), (ct.histogram(o.damped, 0.0, 2, params=1), (index, x))
    for f, arguments in (*folds, (ct.segmented_scan(o.damped, 0.0, params=1), (index == 0, x))):
        with pytest.raises(ct.SpaceError, match=r"expected: .*, p\)"):
            f(*arguments, (x, x))


def test_an_inverse_with_free_numbers() -> None:
    times = ct.monoid(o.damped, 0.0, inverse=lambda t, x, p: (t - x) / (1 + p * x), params=1)
    x, index = RNG.uniform(0.5, 1.0, 6), np.array([0, 1, 1, 0, 5, 1])
    for f, g, z in (
        (ct.fold(times), ct.fold(o.damped, 0.0, params=1), (x, 0.5)),
        (ct.scan(times), ct.scan(o.damped, 0.0, params=1), (x, 0.5)),
        (ct.histogram(times, bins=2), ct.histogram(o.damped, 0.0, 2, params=1), (index, x, 0.5)),
        (ct.reduce_by_index(times), ct.reduce_by_index(o.damped, 0.0, params=1), (x[:2], index, x, 0.5)),
    ):
        z = tuple(np.asarray(part) for part in z)
        np.testing.assert_allclose(o.agree(f, z), o.agree(g, z), rtol=1e-12)


SOFT = lambda a, b, t: t * np.logaddexp(a / t, b / t)  # noqa: E731
CURVED = lambda a, b, p: a + b + p * a * b  # noqa: E731


@pytest.mark.quick(5)
@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("shape, numbers", [((40,), ()), ((40, 3), (3,)), ((40, 3), ())])
@pytest.mark.parametrize("op, neutral", [(SOFT, -np.inf), (CURVED, 0.0)], ids=["soft", "curved"])
def test_histograms_with_free_numbers_by_loops_and_differences(op, neutral, shape, numbers, engine):
    rng = np.random.default_rng(0)
    index, x = rng.integers(-1, 4, 40), rng.uniform(0.1, 0.5, shape)  # bin 4 is empty
    p, dx, dp = rng.uniform(0.5, 1.0, numbers), rng.normal(size=shape), rng.normal(size=numbers)
    f = ct.histogram(op, neutral, bins=5, params=1)
    want, seen = np.full((5, *shape[1:]), neutral), np.zeros(5, bool)
    for k, element in zip(index, x, strict=True):
        if k >= 0:
            want[k], seen[k] = (op(want[k], element, p) if seen[k] else element), True
    w, there = rng.normal(size=want.shape) * seen.reshape(5, *[1] * (x.ndim - 1)), np.isfinite(want)
    with ct.use_engine(engine):
        y, back = ct.vjp(f, index, x, p)
        _, g, h = back(w)
        push = ct.jvp(f, (index, x, p), ((), dx, dp))[1]

        def weighted(t):
            with np.errstate(invalid="ignore"):
                return float((f(index, x + t * dx, p + t * dp) * w)[there].sum())

        slope = (weighted(1e-5) - weighted(-1e-5)) / 2e-5
    np.testing.assert_allclose(y, want, rtol=1e-12)
    np.testing.assert_allclose((g * dx).sum() + (h * dp).sum(), slope, rtol=1e-6)
    np.testing.assert_allclose((push * w)[there].sum(), slope, rtol=1e-6)
    assert np.all(g[index < 0] == 0.0)


def test_histograms_with_free_numbers_sort_nothing():
    f = ct.histogram(CURVED, 0.0, bins=5, params=1)
    back = ct.fork(ct.exl >> f, ct.reverse_differential(f))
    x = (np.arange(6000) % 5, np.ones(6000), 0.5)
    with ct.use_engine("cpu"):
        steps = back.source("steps", ct.space_of((x, np.ones(5))))
    assert "Sort" not in steps and "FoldByBin" in steps and "PrefixByBin" in steps


def test_free_integers_stay_integers_where_bins_are_sorted() -> None:
    monoid = with_numbers(ct.monoid(o.damped, 0.0, params=1))
    ins = (Tensor((5,), np.int64), Tensor((5,), np.int64), Tensor((5,), np.float64))
    for box in (FoldByBin(monoid, 2), PrefixByBin(monoid, 2)):
        assert box.decomposition.spaces(ct.Product(ins)).leaves == box.typed(ins)
