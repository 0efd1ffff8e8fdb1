"""`np.interp` is NumPy's, bit by bit, with derivatives by all of its arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.testing import check_grads

NAN, INF = np.nan, np.inf
X = np.array([-3.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 9.0, NAN, INF, -INF])
XP, FP = np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, -2.0, 4.0, 0.0])
RNG = np.random.default_rng(2)
CASES: list[tuple[Any, Any, Any, dict[str, Any]]] = [
    (X, XP, FP, {}), (X, XP, FP, {"left": 7.0, "right": -7.0}), (X, XP, FP, {"left": 7}), (X, XP, FP, {"period": 2.0}),
    (X[:8], XP, FP, {"period": 3.0}), (X[:8], XP, FP, {"period": -2.5, "left": 3.0}), (X[:8], XP[::-1], FP, {"period": 7.0}),
    (X, np.array([0.0, 1.0, 1.0, 2.0]), FP, {}), (X, np.ones(4), FP, {}), (X, np.array([0.0, 0.0, 1.0, 1.0]), FP, {}),
    (X, np.array([0.0, 1.0, 2.0, NAN]), FP, {}), (X, XP, np.array([1.0, NAN, 2.0, 3.0]), {}),
    (X, XP, np.array([INF, INF, -INF, 3.0]), {}), (X, np.array([-INF, 0.0, INF, INF]), FP, {}),
    (X, np.array([1.0]), np.array([5.0]), {}), (X, np.array([1.0]), np.array([5.0]), {"left": 1, "right": 2}),
    (X, np.array([NAN]), np.array([5.0]), {}), (np.zeros((0, 2)), XP, FP, {}), (RNG.normal(size=(2, 3)), XP, FP, {}),
    (np.float64(0.5), XP, FP, {}), (X.astype(np.float32), XP.astype(np.float32), FP.astype(np.float32), {}),
    (np.arange(4), np.arange(3), np.array([3, 1, 2]), {}), (np.array([True, False]), XP, FP, {}),
    (np.array([0.0, 1e308]), np.array([-1e308, 1e308]), np.array([-1e308, 1e308]), {}),
    (RNG.normal(size=500), np.sort(RNG.normal(size=300)), RNG.normal(size=300), {}),
    (X, XP, FP + 1j * FP[::-1], {}), (X, XP, FP + 1j, {"left": 1j}), (X[:8], XP, FP - 2j, {"period": 2.5}),
]  # fmt: skip


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_numbers_are_numpy_s(case: int, engine: str) -> None:
    x, xp, fp, options = CASES[case]
    with np.errstate(all="ignore"):
        want = np.interp(x, xp, fp, **options)
        with ct.use_engine(engine):
            got = ct.function(lambda x, xp, fp: np.interp(x, xp, fp, **options))(x, xp, fp)
    assert np.shape(got) == np.shape(want) and np.asarray(got).dtype == np.asarray(want).dtype
    np.testing.assert_array_equal(got, want)


def test_numbers_of_drawn_points_are_numpy_s() -> None:
    f = ct.function(np.interp)
    for _ in range(60):
        n = RNG.integers(1, 7)
        xp, fp = np.sort(RNG.integers(0, 5, n)).astype(float), RNG.choice([1.0, 2.0, NAN, INF, -INF], n)
        x = RNG.integers(0, 5, 8) / 2
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(f(x, xp, fp), np.interp(x, xp, fp))


@pytest.mark.parametrize("options", [{}, {"left": 2.0, "right": 3.0}, {"period": 3.7}])
def test_derivatives(options: dict[str, Any]) -> None:
    x, xp, fp = np.array([-0.5, 0.2, 0.9, 1.6, 2.8, 4.0]), np.array([0.0, 0.8, 1.1, 2.0, 3.1]), RNG.normal(size=5)
    check_grads(lambda x, xp, fp: np.interp(x, xp, fp, **options), x, xp, fp, order=2)


def test_batches_are_loops() -> None:
    x, xp, fp = RNG.normal(size=(3, 4)), np.sort(RNG.normal(size=(3, 5)), axis=1), RNG.normal(size=(3, 5))
    want = [np.interp(*row) for row in zip(x, xp, fp, strict=True)]
    np.testing.assert_array_equal(ct.vmap(np.interp)(x, xp, fp), want)


def test_errors() -> None:
    cases: list[Any] = [(X, XP, FP, {"period": 0}), (X, XP, FP[:3], {}), (X, XP[:0], FP[:0], {}), (X, XP.reshape(2, 2), FP, {})]
    for x, xp, fp, options in cases:
        with pytest.raises(ValueError) as want:
            np.interp(x, xp, fp, **options)
        with pytest.raises(ValueError) as got:
            ct.function(lambda x, xp, fp, options=options: np.interp(x, xp, fp, **options))(x, xp, fp)
        assert str(got.value).split("\n")[0] == str(want.value)
    with pytest.raises(ct.TraceError, match="increasing order"):
        ct.function(lambda x: np.interp(x, [0.0, 2.0, 1.0], [1.0, 2.0, 3.0]))(X)
    assert np.isnan(ct.function(np.interp)(X, np.array([0.0, 2.0, 1.0]), np.ones(3))).all()
