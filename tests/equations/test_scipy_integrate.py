"""`scipy.integrate` in traced functions: SciPy's numbers, derivatives, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate as integrate
from scipy.integrate import quad

import catad as ct
from catad.testing import check_grads

RNG = np.random.default_rng(8)
INTEGRALS = [
    lambda k: quad(lambda x: np.exp(-k * x), 0, np.inf)[0],
    lambda k: quad(lambda x, c: np.exp(-c * x) * k, 0, 1, args=(k,))[0],
    lambda k: quad(lambda x, c: abs(np.sin(c * x)) * k, 0, k, args=k, points=[0.5], limit=100)[0],
    lambda k: quad(lambda x: np.exp(1j * k * x), 0, 1, complex_func=True)[0].real,
    lambda k: integrate.quad_vec(lambda x: np.array([1.0, 2.0]) * np.exp(-k * x), 0, 1, norm="max")[0].sum(),
    lambda k: integrate.quad_vec(lambda x, c: np.exp(-c * x), 0, 1, args=(k,), points=[0.2])[0],
    lambda k: integrate.fixed_quad(lambda x: np.exp(-k * x), 0, k, n=4)[0],
]


@pytest.mark.parametrize("case", range(len(INTEGRALS)))
def test_integrals_of_functions(case: int) -> None:
    f, h = INTEGRALS[case], 1e-5
    assert ct.function(f)(1.3) == pytest.approx(f(1.3), rel=1e-8)
    assert ct.grad(f)(1.3) == pytest.approx((f(1.3 + h) - f(1.3 - h)) / (2 * h), rel=1e-6)


def test_the_estimate_of_the_error_is_given() -> None:
    value, error = ct.function(lambda k: quad(lambda x: np.sqrt(x) * k, 0, 1))(2.0)
    assert abs(value - 4.0 / 3.0) <= error + 1e-14 and error < 1e-8


@pytest.mark.parametrize("n", [2, 3, 4, 7, 8])
@pytest.mark.parametrize("spaced", [True, False])
def test_rules_on_samples(n: int, spaced: bool) -> None:
    x, y = (None if spaced else np.sort(RNG.normal(size=n))), RNG.normal(size=(3, n))
    cases: list[Any] = [
        lambda y: integrate.simpson(y, x=x), lambda y: integrate.simpson(y.T, x=x, dx=0.3, axis=0),
        lambda y: integrate.trapezoid(y, x, dx=0.5), lambda y: integrate.cumulative_trapezoid(y, x, initial=0),
        lambda y: integrate.cumulative_trapezoid(y.T, x, dx=0.3, axis=0), lambda y: integrate.simpson(y + 1j, x=x),
    ]  # fmt: skip
    for f in cases:
        want = f(y)
        got = ct.function(f)(y)
        assert got.shape == want.shape and got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-14)
    if not spaced:
        check_grads(lambda x, y: integrate.simpson(y, x=x), np.cumsum(RNG.uniform(0.3, 1.0, n)), y, order=1)


def test_equal_points_of_samples() -> None:
    x = np.array([0.0, 1.0, 1.0, 2.0, 2.0])
    for n in (4, 5):
        f = lambda y, n=n: integrate.simpson(y[:n], x=x[:n])  # noqa: E731
        np.testing.assert_allclose(ct.function(f)(np.arange(5.0)), f(np.arange(5.0)), rtol=1e-14)


def test_what_is_refused() -> None:
    with pytest.raises(ct.TraceError, match="weight"):
        ct.function(lambda k: quad(lambda x: k * x, 0, 1, weight="cos", wvar=2.0)[0])(1.0)
    with pytest.raises(ct.TraceError, match="follows from data"):
        ct.function(lambda k: quad(lambda x: k * x, 0, 1, points=[k])[0])(0.5)
    with pytest.raises(ct.ConvergenceError):
        ct.function(lambda k: quad(lambda x: k / x, 0, 1)[0])(1.0)
    with pytest.raises(ValueError, match="'2' or 'max'"):
        ct.function(lambda k: integrate.quad_vec(lambda x: k * x, 0, 1, norm="other")[0])(1.0)
    with pytest.raises(ValueError, match="length of x"):
        ct.function(lambda y: integrate.simpson(y, x=np.arange(3.0)))(np.ones(4))
    with pytest.raises(ValueError, match="At least one point"):
        ct.function(lambda y: integrate.cumulative_trapezoid(y))(np.ones(0))
