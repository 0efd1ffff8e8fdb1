"""`ct.root`: against SciPy, mpmath and closed forms; derivatives against the theorem with dense matrices; what is refused."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

import catad as ct
from catad.testing import check_grads

SQUARE = ct.root(lambda x, a: x * x - a)


def bratu(u, lam):
    """u'' = lam exp(u) with zeros at both ends."""
    n = len(u)
    padded = np.concatenate([np.zeros(1), u, np.zeros(1)])
    return (padded[2:] - 2 * padded[1:-1] + padded[:-2]) * (n + 1.0) ** 2 - lam * np.exp(u)


def cubic(y, right):
    return y**3 + y - right


def system(p, k):
    return {"product": p["a"] * p["b"] - k, "sum": p["a"] + np.sin(p["b"]) - 2.0}


def test_values_are_right_to_the_last_digits():
    with mpmath.workdps(50):
        exact = mpmath.findroot(lambda x: mpmath.exp(-x) - x, 0.5)
    assert abs(ct.root(lambda x: np.exp(-x) - x)(0.5) - float(exact)) <= 2e-16
    assert SQUARE(1.0, 2.0) == pytest.approx(2.0**0.5, rel=3e-16)
    u = ct.root(bratu)(np.zeros(60), 1.0)
    assert np.abs(u - scipy.optimize.fsolve(bratu, np.zeros(60), args=(1.0,), xtol=1e-13)).max() < 1e-10


def test_derivatives_of_three_orders():
    a = 2.0
    first, second, third = ct.grad(SQUARE, argnums=1), None, None
    second = ct.grad(first, argnums=1)
    third = ct.grad(second, argnums=1)
    found = [f(1.0, a) for f in (first, second, third)]
    assert np.allclose(found, [a**-0.5 / 2, -(a**-1.5) / 4, 3 * a**-2.5 / 8], rtol=1e-13)


def test_differences_agree_in_both_modes():
    check_grads(lambda a: SQUARE(1.0, a), 2.0)


def test_trees_and_the_implicit_function_theorem_with_dense_matrices():
    f, start, k = ct.root(system), {"a": np.ones(2), "b": np.full(2, 1.5)}, np.array([1.2, 1.0])
    x = f(start, k)
    assert set(x) == {"a", "b"} and max(np.abs(r).max() for r in system(x, k).values()) < 1e-15
    zero, one = np.zeros((2, 2)), np.eye(2)
    by_x = np.block([[np.diag(x["b"]), np.diag(x["a"])], [one, np.diag(np.cos(x["b"]))]])
    expected = -np.linalg.solve(by_x, np.vstack([-one, zero]))
    found = ct.jacfwd(f, argnums=1)(start, k)
    backward = ct.jacrev(f, argnums=1)(start, k)
    for key, rows in (("a", slice(0, 2)), ("b", slice(2, 4))):
        assert np.allclose(found[key], expected[rows], atol=1e-13)
        assert np.allclose(backward[key], expected[rows], atol=1e-13)
    assert not np.any(ct.jacfwd(f, argnums=0)(start, k)["a"]["a"])


def test_the_jacobian_of_a_solution_keeps_its_structure():
    n = 2000
    value, linear = ct.linearize(lambda lam: ct.root(bratu)(np.zeros(n), lam), np.full(n, 1.0))
    assert "inverse" in repr(linear) and linear.structure.stored < 40 * n
    v = np.sin(np.arange(n))
    bands = np.ones((3, n)) * (n + 1.0) ** 2
    bands[1] = -2 * (n + 1.0) ** 2 - np.exp(value)
    expected = scipy.linalg.solve_banded((1, 1), bands, np.exp(value) * v)
    assert np.allclose(linear(v), expected, rtol=1e-9, atol=1e-12)
    assert np.allclose(linear.T(v), scipy.linalg.solve_banded((1, 1), bands, v) * np.exp(value), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_lanes_take_their_own_steps(engine):
    with ct.use_engine(engine):
        a = np.array([1e-8, 2.0, 1e8])
        found = ct.vmap(SQUARE)(np.ones(3), a)
        assert np.allclose(found, [SQUARE(1.0, one) for one in a], rtol=1e-15) and np.allclose(found, np.sqrt(a), rtol=1e-14)
        grads = ct.grad(lambda a: ct.vmap(SQUARE)(np.ones(3), a).sum())(a)
        assert np.allclose(grads, 0.5 / np.sqrt(a), rtol=1e-13)


def test_in_functions_loops_and_closures():
    @ct.function
    def total(a):
        def moved(x):
            return x + 0.1 * ct.root(lambda y: y**3 + y - a * x)(x)

        x = np.ones(3)
        for _ in range(20):
            x = moved(x)
        return np.sum(x)

    def plain(a):
        x = np.ones(3)
        for _ in range(20):
            x = x + 0.1 * np.array([scipy.optimize.brentq(cubic, -9, 9, args=(a * c,), xtol=1e-15) for c in x])
        return np.sum(x)

    assert total(0.7) == pytest.approx(plain(0.7), rel=1e-13)
    assert ct.grad(total)(0.7) == pytest.approx((plain(0.7 + 1e-5) - plain(0.7 - 1e-5)) / 2e-5, rel=1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtypes_shapes_and_sizes(dtype):
    for shape in ((), (1,), (2, 3), (0,)):
        found = SQUARE(np.ones(shape, dtype), np.full(shape, 2.0, dtype))
        assert np.shape(found) == shape and found.dtype == dtype
        assert np.allclose(found, 2**0.5, rtol=4 * np.finfo(dtype).eps)
    assert ct.root(lambda x, a: x - a)(1, 3.0) == 3.0  # integers are starts of floating numbers


def test_rounding_does_not_refuse_what_is_right():
    hilbert = 1 / (np.arange(10)[:, None] + np.arange(10) + 1.0)
    x = ct.root(lambda x: hilbert @ x - hilbert @ np.ones(10))(np.zeros(10))
    assert np.abs(hilbert @ x - hilbert @ np.ones(10)).max() < 1e-15
    assert ct.root(lambda x: (x + 1e8) - 1e8 - 1e-3)(0.0) == pytest.approx(1e-3, abs=3e-8)
    assert ct.root(lambda x: (x - 1) ** 2)(3.0) == pytest.approx(1.0, abs=1e-8)  # a double root
    assert ct.root(np.arctan)(10.0) == 0.0  # a whole step of Newton's method leads away
    assert SQUARE(1.0, 1e-30) == pytest.approx(1e-15, rel=1e-6)


def test_a_residual_of_zero_takes_no_step():
    assert SQUARE(0.0, 0.0) == 0.0  # where the Jacobian is singular
    assert ct.root(lambda x, a: x - a, max_steps=0)(3.0, 3.0) == 3.0


@pytest.mark.parametrize(
    ("f", "start", "words"),
    [
        (lambda x: x * x + 1, 1.0, "no inverse at step 2"),
        (lambda x: 1 / x, 1e-13, "did not converge"),  # a pole, where Newton's steps are small
        (lambda x: np.sqrt(x) + 1, 0.0, "did not converge"),
        (lambda x: np.exp(x), 1.0, "did not converge"),
        (lambda x: x**3 - 2 * x + 2, 0.0, "did not converge"),  # Newton's method without a line search goes round
        (lambda x: np.log(x) - 1, -1.0, "not finite at the start"),
        (lambda x: np.stack([x[0] * x[1] - 1, x[0] - x[1]]), np.array([1.0, -1.0]), "no inverse at step 1"),
    ],
)
def test_what_has_no_root_is_refused(f, start, words):
    with pytest.raises(ct.ConvergenceError, match=words):
        ct.root(f)(start)


def test_a_small_step_beside_a_pole_is_no_root():
    for steps in range(1, 6):
        with pytest.raises(ct.ConvergenceError):
            ct.root(lambda x: 1 / x, max_steps=steps)(1e-13)


def test_an_error_names_the_lane_and_nan_stays_in_it():
    a = np.array([1.0, -1.0, 2.0])
    with pytest.raises(ct.ConvergenceError, match=r"lane \[1\] of \(3,\)"):
        ct.vmap(SQUARE)(np.ones(3), a)
    f = ct.root(lambda x, a: x * x - a, on_failure="nan")
    found = ct.vmap(f)(np.ones(3), a)
    grads = ct.grad(lambda a: ct.vmap(f)(np.ones(3), a).sum())(a)
    assert np.array_equal(np.isnan(found), [False, True, False]) and np.allclose(found[::2], np.sqrt(a[::2]))
    assert np.array_equal(np.isnan(grads), [False, True, False]) and np.allclose(grads[::2], 0.5 / np.sqrt(a[::2]))
    pair = ct.root(lambda x, a: np.stack([x[0] * x[1] - a, x[0] - x[1]]), on_failure="nan")
    both = ct.vmap(pair)(np.array([[1.0, 1.0], [1.0, -1.0], [1.0, 1.0]]), np.array([4.0, 1.0, 9.0]))
    assert np.array_equal(np.isnan(both[:, 0]), [False, True, False]) and np.allclose(both[::2], [[2, 2], [3, 3]])


def test_a_lane_without_a_solution_does_not_reach_the_derivatives_of_others():
    def bands(u, a):
        return np.concatenate([[2 * u[0] - u[1] - a], 3 * u[1:-1] - u[:-2] - u[2:] - 1, [u[-1] * u[-1] - a]])

    a = np.array([1.0, -1.0, 2.0])
    found = ct.jacfwd(lambda a: ct.vmap(ct.root(bands, on_failure="nan"))(np.ones((3, 6)), a)[:, -1])(a)
    assert np.allclose(found[[0, 2]], [[0.5, 0, 0], [0, 0, 0.5 / 2**0.5]]) and np.isnan(found[1, 1])
    tree = ct.root(lambda p, k: {"both": np.stack([p["a"] * p["b"] - k, p["a"] - p["b"]])}, on_failure="nan")
    start = {"a": np.ones(2), "b": np.array([1.0, -1.0])}
    slope = ct.grad(lambda k: np.nansum(ct.vmap(tree)(start, k)["a"]))(np.array([4.0, 1.0]))
    assert slope[0] == pytest.approx(0.25)


def test_krylov_needs_no_matrix():
    def f(u, lam):
        return 3 * u - 0.5 * np.roll(u, 1) - lam * np.exp(-u) * np.sum(u) / len(u) - 1

    matrix_free, direct, u = ct.root(f, method="krylov"), ct.root(f), np.zeros(40)
    assert np.allclose(matrix_free(u, 1.0), direct(u, 1.0), atol=1e-13)
    first, second = [ct.jvp(one, (u, 1.0), (u, 1.0))[1] for one in (matrix_free, direct)]
    assert np.allclose(first, second, atol=1e-9)


@pytest.mark.parametrize("method", ["brent", "bisect"])
def test_between_two_signs(method):
    f = ct.root(lambda x, a: x**3 + x - a, method=method, bracket=(0, 3))
    for a in (0.0, 0.1, 2.0, 30.0):
        assert f(1.0, a) == pytest.approx(scipy.optimize.brentq(cubic, 0, 3, args=(a,), xtol=1e-15), abs=3e-15)
    x = f(1.0, 2.0)
    assert ct.grad(f, argnums=1)(1.0, 2.0) == pytest.approx(1 / (3 * x * x + 1), rel=1e-14)
    assert np.allclose(ct.vmap(f)(np.ones(3), np.array([0.1, 2, 7])), [f(1.0, a) for a in (0.1, 2.0, 7.0)], rtol=1e-14)
    with pytest.raises(ct.ConvergenceError, match=r"two signs at the ends[\s\S]*lane \[1\]"):
        ct.vmap(f)(np.ones(3), np.array([0.1, -2, 7]))
    for broken in (lambda x: 1 / x, lambda x: np.where(x > 0.3, 1.5, -0.5)):
        with pytest.raises(ct.ConvergenceError, match="no root was found in the bracket"):
            ct.root(broken, method=method, bracket=(-1, 2.5))(1.0)


def test_wrong_options_are_named():
    for options in ({"method": "hybr"}, {"rtol": -1.0}, {"atol": np.nan}, {"bracket": (1, 2)}, {"method": "brent"},
                    {"method": "brent", "bracket": (2, 1)}, {"max_steps": -1}, {"on_failure": "zero"}):  # fmt: skip
        with pytest.raises(ct.ArgumentError):
            ct.root(lambda x: x, **options)
    with pytest.raises(ct.SpaceError, match="as many equations as unknowns"):
        ct.root(lambda x: np.stack([x, x]))(1.0)
    with pytest.raises(ct.SpaceError, match="looks for one number"):
        ct.root(lambda x: x, method="brent", bracket=(-1, 1))(np.ones(2))
    assert repr(ct.root(ct.sin, rtol=1e-3)) == "ct.root(ct.sin, rtol=0.001)"
