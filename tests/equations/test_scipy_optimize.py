"""`scipy.optimize` in traced functions: SciPy's solutions, with derivatives; what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize as optimize
from scipy.optimize import brentq

import catad as ct


def system(x, k):
    return np.stack([x[0] * x[1] - k, x[0] + np.sin(x[1]) - 2.0])


FUNCTIONS = {
    "root": lambda k: optimize.root(system, [1.0, 1.0], args=(k,)).x[0],
    "root without a matrix": lambda k: optimize.root(lambda x: system(x, k), [1.0, 1.0], method="krylov").x[0],
    "fsolve": lambda k: optimize.fsolve(system, [1.0, 1.0], args=k)[0],
    "newton": lambda k: optimize.newton(lambda x: x**3 + x - k, 1.0),
    "newton by hand": lambda k: optimize.newton(lambda x: x**3 + x - k, 1.0, fprime=lambda x: 3 * x * x + 1),
    "brentq": lambda k: brentq(lambda x, k: x**3 + x - k, 0, 3, args=(k,)),
    "brentq from data": lambda k: brentq(lambda x: x**3 + x - k, 0, 2 * k),
    "minimize with its gradient": lambda k: optimize.minimize(lambda x: ((x[0] - k) ** 2, 2 * (x - k)), [0.0], jac=True).x[0],
    "bisect": lambda k: optimize.bisect(lambda x: x**3 + x - k, 0, 3),
    "root_scalar": lambda k: optimize.root_scalar(lambda x: x**3 + x - k, bracket=[0, 3]).root,
    "root_scalar from a start": lambda k: optimize.root_scalar(lambda x: x**3 + x - k, x0=1.0, x1=1.1).root,
    "fixed_point": lambda k: optimize.fixed_point(lambda x: np.cos(k * x) / 2, 0.5),
    "minimize": lambda k: optimize.minimize(lambda x: np.sum((x - k) ** 2) + np.cosh(x[0]), np.zeros(2)).x[0],
    "the least": lambda k: optimize.minimize(lambda x: np.cosh(x[0] - k) + k * x[0] ** 2, [0.0], method="Newton-CG",
                                             jac=lambda x: np.sinh(x - k) + 2 * k * x).fun,
    "least_squares": lambda k: optimize.least_squares(lambda x: np.stack([x[0] ** 2 - k, x[0] - 1]), [1.0]).x[0],
    "a cost": lambda k: optimize.least_squares(lambda x, k: np.stack([x[0] ** 2 - k, x[0] - 1]), [1.0], args=(k,)).cost,
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers_and_slopes_are_those_of_scipy(name):
    f = FUNCTIONS[name]
    value, slope = ct.value_and_grad(f)(1.2)
    assert value == pytest.approx(float(f(1.2)), rel=2e-5)
    h = 1e-3
    assert slope == pytest.approx(float(f(1.2 + h) - f(1.2 - h)) / (2 * h), rel=2e-2, abs=1e-4)


def test_what_scipy_says_and_what_is_refused():
    @ct.function
    def f(k):
        found = optimize.root(system, [1.0, 1.0], args=(k,))
        return found.fun if found.success else found.x

    assert np.abs(f(1.2)).max() < 1e-14
    for wrong, words in (
        (lambda k: optimize.root(system, [1.0, 1.0], args=(k,)).nfev, "has no nfev"),
        (lambda k: optimize.minimize(lambda x: x[0] ** 2, [k], bounds=[(0, 1)]).x, "bounds"),
        (lambda k: brentq(lambda x: x - k, 0, 3, full_output=True), "full_output"),
    ):
        with pytest.raises(ct.TraceError, match=words):
            ct.function(wrong)(1.2)
    with pytest.raises(ct.ConvergenceError):
        ct.function(lambda k: optimize.newton(lambda x: x * x + k, 1.0))(1.2)


def banana(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def product(x, v):
    return ct.hvp(banana, (x,), (v,))


OPTIONS = {
    "BFGS": {},
    "L-BFGS-B": {"bounds": [(-2, 2)] * 5},
    "SLSQP": {"constraints": {"type": "ineq", "fun": lambda x: 9 - x @ x, "jac": ct.grad(lambda x: 9 - x @ x)}},
    "trust-exact": {"hess": ct.hessian(banana)},
    "trust-krylov": {"hessp": product},
    "trust-ncg": {"hess": ct.hessian(banana)},
    "Newton-CG": {"hess": lambda x: ct.hessian(banana)(x).as_linear_operator()},
    "trust-constr": {"hessp": product},
}


@pytest.mark.parametrize("method", OPTIONS)
def test_the_searches_of_scipy_take_derivatives_by_catad(method):
    found = optimize.minimize(ct.value_and_grad(banana), np.full(5, 0.5), jac=True, method=method, **OPTIONS[method])
    assert found.success and np.abs(found.x - 1).max() < 2e-3


STARTS = {
    "root": lambda a: optimize.root(lambda x: x * x - a, a + 1.0).x,
    "root from a list": lambda a: optimize.root(lambda x: x * x - a, [a[0], 1.5, 2.0]).x,
    "fsolve": lambda a: optimize.fsolve(lambda x: x * x - a, 2.0 * a),
    "minimize": lambda a: np.sqrt(optimize.minimize(lambda x: np.sum((x - a) ** 2), 3.0 * a).x),
    "least_squares": lambda a: np.sqrt(optimize.least_squares(lambda x: x - a, 3.0 * a).x),
}


@pytest.mark.parametrize("name", STARTS)
def test_a_start_that_follows_from_an_argument(name: str) -> None:
    a = np.array([1.0, 2.0, 3.0])
    f = ct.function(STARTS[name])
    np.testing.assert_allclose(f(a), np.sqrt(a), rtol=1e-9)
    np.testing.assert_allclose(ct.grad(lambda a: np.sum(f(a)))(a), 0.5 / np.sqrt(a), rtol=1e-7)
