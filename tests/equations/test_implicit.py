"""`ct.implicit`: solutions of SciPy and of tables get the derivatives of their equations; what is no solution is refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

import catad as ct


def cubic(x, a):
    return x**3 + x - a


GIVEN = ct.implicit(cubic)


def test_solutions_of_scipy():
    x = scipy.optimize.brentq(cubic, 0, 3, args=(2.5,))
    assert GIVEN(x, 2.5) == x
    assert ct.grad(GIVEN, argnums=1)(x, 2.5) == pytest.approx(1 / (3 * x * x + 1), rel=1e-14)
    second = -6 * x / (3 * x * x + 1) ** 3
    assert ct.grad(ct.grad(GIVEN, argnums=1), argnums=1)(x, 2.5) == pytest.approx(second, rel=1e-13)
    assert ct.grad(GIVEN, argnums=0)(x, 2.5) == 0.0  # which start found it does not matter


def test_solutions_of_systems_and_minima():
    def system(x, k):
        return np.stack([x[0] * x[1] - k, x[0] + np.sin(x[1]) - 2.0])

    for found in (scipy.optimize.root(system, [1.0, 1.0], args=(1.2,)).x, scipy.optimize.fsolve(system, [1.0, 1.0], args=(1.2,))):
        slope = ct.jacfwd(ct.implicit(system), argnums=1)(found, 1.2)
        exact = ct.jacfwd(ct.root(system), argnums=1)(np.ones(2), 1.2)
        assert np.allclose(slope, exact, rtol=1e-6)

    def loss(x, a):
        return np.sum((x**2 - a) ** 2) + np.sum(x)

    a = np.arange(1.0, 4.0)
    found = scipy.optimize.minimize(loss, np.ones(3), args=(a,)).x
    slope = ct.jacfwd(ct.implicit(ct.grad(loss)), argnums=1)(found, a)
    assert np.allclose(slope, np.diag(4 * found / (12 * found**2 - 4 * a)), rtol=1e-5)


def test_a_table():
    a = np.linspace(0.5, 3.0, 6)
    table = np.array([scipy.optimize.brentq(cubic, 0, 3, args=(one,)) for one in a]).round(6)
    slopes = ct.grad(lambda a: ct.vmap(GIVEN)(table, a).sum())(a)
    assert np.allclose(slopes, 1 / (3 * table**2 + 1), rtol=1e-12)


def test_what_is_no_solution_is_refused():
    with pytest.raises(ct.ConvergenceError, match="no solution of its equation"):
        GIVEN(1.1, 2.0)
    with pytest.raises(ct.ConvergenceError, match=r"lane \[1\]"):
        ct.vmap(GIVEN)(np.array([1.0, 1.2]), np.array([2.0, 2.0]))
    with pytest.raises(ct.ConvergenceError):  # an equation of a smaller scale than another
        ct.implicit(lambda x, a: np.stack([1e6 * (x[0] - 1), x[1] - a]))(np.array([1.0, 2.0]), 3.0)
    with pytest.raises(ct.ConvergenceError):
        GIVEN(np.nan, 2.0)
    assert ct.implicit(cubic, check=False)(1.1, 2.0) == 1.1
    assert ct.implicit(cubic, rtol=0.1)(1.1, 2.0) == 1.1
    lanes = ct.vmap(ct.implicit(cubic, on_failure="nan"))(np.array([1.0, 1.2]), np.array([2.0, 2.0]))
    assert np.array_equal(np.isnan(lanes), [False, True])
    assert ct.implicit(lambda x, a: np.sin(x) - a)(1e-12, 0.0) == 1e-12  # zero beside its absolute tolerance


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_in_a_function(engine):
    with ct.use_engine(engine):
        f = ct.function(lambda a: ct.implicit(lambda x: x * x - a)(np.float64(2.0)) * a)
        assert f(4.0) == 8.0 and ct.grad(f)(4.0) == 3.0
