"""Integrals: closed forms, trees, dtypes, engines, NaN, bad input."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

import catad as ct
from catad.equations import kronrod

INF = np.inf
CASES: list[tuple[Any, float, float, float]] = [  # an integrand, its ends, the integral
    (lambda x: np.exp(-x), 0.0, INF, 1.0),
    (lambda x: np.exp(x), -INF, 0.5, float(np.exp(0.5))),
    (lambda x: np.exp(-x * x), -INF, INF, float(np.sqrt(np.pi))),
    (lambda x: 1.0 / (1.0 + x * x), -INF, INF, float(np.pi)),
    (lambda x: 1.0 / np.sqrt(x), 0.0, 1.0, 2.0),
    (lambda x: 1.0 / np.sqrt(1.0 - x), 0.0, 1.0, 2.0),
    (lambda x: np.log(x), 0.0, 1.0, -1.0),
    (lambda x: np.exp(-x) / np.sqrt(x), 0.0, INF, float(np.sqrt(np.pi))),
    (lambda x: np.exp(x), 1.0, 0.0, 1.0 - float(np.e)),
    (lambda x: np.exp(-x), INF, 0.0, -1.0),
    (lambda x: abs(x - 0.3), 0.0, 1.0, 0.29),
    (lambda x: np.where(x < 0.3, 0.0, 1.0), 0.0, 1.0, 0.7),
    (lambda x: x**20, -1.0, 2.0, (2.0**21 + 1.0) / 21.0),
    (lambda x: np.sin(40.0 * x), 0.0, 3.0, float((1.0 - np.cos(120.0)) / 40.0)),
    (lambda x: 1.0 / x, 0.0, 0.0, 0.0),
    (lambda x: np.exp(-x), INF, INF, 0.0),
]


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_integrals_with_closed_forms(case: int, engine: str) -> None:
    f, a, b, want = CASES[case]
    with ct.use_engine(engine):
        value, error = ct.quad(f, error=True)(a, b)
    assert abs(value - want) <= 3e-8 * max(1.0, abs(want)) and abs(value - want) <= error + 1e-12 * max(1.0, abs(want))


def test_the_rules_are_exact_for_polynomials() -> None:
    x = [mpmath.mpf(float(u)) * 2 - 1 for u in kronrod.NODES]
    for weights, degree in ((kronrod.KRONROD, 31), (kronrod.KRONROD - kronrod.BETWEEN, 19)):
        for power in range(degree + 1):
            total = sum(mpmath.mpf(float(w)) * u**power for w, u in zip(weights, x, strict=True))
            assert abs(total - (0 if power % 2 else mpmath.mpf(1) / (power + 1))) < 1e-15


def test_trees_and_arrays() -> None:
    def f(x: Any, p: dict[str, Any]) -> dict[str, Any]:
        return {"a": p["w"] * np.exp(x), "b": (np.sin(x), p["w"][0] * x)}

    p = {"w": np.array([1.0, 2.0, -1.0])}
    made = ct.quad(f)(0.0, 1.0, p)
    np.testing.assert_allclose(made["a"], p["w"] * (np.e - 1.0), rtol=1e-13)
    np.testing.assert_allclose(made["b"], (1.0 - np.cos(1.0), 0.5), rtol=1e-13)
    slopes = ct.grad(lambda p: ct.quad(f)(0.0, 1.0, p)["a"] @ np.arange(3.0))(p)
    np.testing.assert_allclose(slopes["w"], np.arange(3.0) * (np.e - 1.0), rtol=1e-13)
    assert ct.quad(lambda x, n, k=2.0: n * k * x)(0, 1, 3.0, k=4.0) == pytest.approx(6.0)
    assert ct.quad(lambda x: np.exp(1j * x))(0.0, 2.0) == pytest.approx((np.exp(2j) - 1.0) / 1j)
    assert ct.quad(lambda x: np.zeros((0, 2)) * x)(0.0, 2.0).shape == (0, 2)
    assert ct.quad(lambda x: np.floor(x).astype(int), points=[1])(0, 2) == pytest.approx(1.0)


def test_float32() -> None:
    value, error = ct.quad(lambda x: np.exp(-x), error=True)(np.float32(0.0), np.float32(2.0))
    assert value.dtype == error.dtype == np.float32 and abs(value - (1.0 - np.exp(-2.0))) < 1e-6
    assert ct.grad(ct.quad(lambda x, k: k * x))(np.float32(0.0), np.float32(2.0), np.float32(3.0))[2].dtype == np.float32


def test_nan_stays_in_its_lane() -> None:
    made = ct.vmap(ct.quad(lambda x, k: k * x), in_axes=(None, None, 0))(0.0, 1.0, np.array([2.0, np.nan, 4.0]))
    np.testing.assert_allclose(made, [1.0, np.nan, 2.0])
    assert np.isnan(ct.quad(lambda x: x)(np.nan, 1.0)) and np.isnan(ct.quad(lambda x: 1.0 + 0.0 * x)(np.nan, INF))


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_what_does_not_converge(engine: str) -> None:
    with ct.use_engine(engine):
        with pytest.raises(ct.ConvergenceError, match=r"did not converge\n.*200 intervals the worst is \[0, "):
            ct.quad(lambda x: 1.0 / x)(0.0, 1.0)
        with pytest.raises(ct.ConvergenceError, match=r"of 3 intervals the worst is \[0.15625, 0.5\]"):
            ct.quad(lambda x: np.where(x < 0.3, 0.0, 1.0), limit=3)(0.0, 1.0)
        with pytest.raises(ct.ConvergenceError, match="infinite at a point"):
            ct.quad(lambda x: 1.0 / abs(x) ** 0.5)(-1.0, 1.0)
        with pytest.raises(ct.ConvergenceError, match="rounding"):
            ct.quad(lambda x: np.sin(x), epsabs=0.0)(-1.0, 1.0)
        with pytest.raises(ct.ConvergenceError, match=r"lane \[1\] of \(3,\)"):
            ct.vmap(ct.quad(lambda x, k: k / x), in_axes=(None, None, 0))(0.0, 1.0, np.array([0.0, 2.0, 0.0]))
    assert ct.quad(lambda x: 1.0 / abs(x) ** 0.5, points=[0.0])(-1.0, 1.0) == pytest.approx(4.0)


def test_bad_arguments() -> None:
    for ends in ((np.zeros(3), 1.0), (0.0,)):
        with pytest.raises(ct.CatadError):
            ct.quad(np.exp)(*ends)
    with pytest.raises(ct.SpaceError, match=r"\(a, b, \*args\)"):
        ct.quad(ct.exp)(np.zeros(3), 1.0)
    for options in ({"epsabs": -1.0}, {"epsrel": np.nan}, {"points": [INF]}, {"limit": 0}, {"points": 3.0}):
        with pytest.raises(ct.ArgumentError):
            ct.quad(np.exp, **options)
    with pytest.raises(ct.SpaceError):
        ct.quad(3.0)


def test_terms_are_equal_and_print_as_calls() -> None:
    q = ct.quad(ct.exp, epsrel=1e-6, points=(0.5,))
    assert repr(q) == "ct.quad(ct.exp, epsrel=1e-06, points=(0.5,))" and eval(repr(q)) == q != ct.quad(ct.exp)
