"""`ct.minimize`: against SciPy and closed forms; derivatives; saddle points, slopes without end, flat places."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

import catad as ct

METHODS = pytest.mark.parametrize("method", ["bfgs", "l-bfgs", "newton-cg"])


def rosen(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@METHODS
def test_values_and_derivatives(method):
    start = np.array([1.3, 0.7, 0.8, 1.9])
    found = ct.minimize(rosen, method=method)(start)
    assert np.allclose(found, scipy.optimize.minimize(rosen, start, tol=1e-10).x, atol=1e-5) and np.allclose(found, 1, atol=1e-13)
    f = ct.minimize(lambda x, a: np.cosh(x - a) + x * x, method=method)
    x = f(3.0, 1.0)
    assert np.sinh(x - 1) + 2 * x == pytest.approx(0.0, abs=1e-15)
    slope = np.cosh(x - 1) / (np.cosh(x - 1) + 2)
    assert ct.grad(f, argnums=1)(3.0, 1.0) == pytest.approx(slope, rel=1e-14)


def test_second_derivatives_and_lanes():
    f = ct.minimize(lambda x, a: np.cosh(x - a) + x * x)
    slope, h = ct.grad(f, argnums=1), 1e-4
    assert ct.grad(slope, argnums=1)(3.0, 1.0) == pytest.approx((slope(3.0, 1 + h) - slope(3.0, 1 - h)) / (2 * h), rel=1e-6)
    a = np.array([0.0, 1.0, -20.0])
    found = ct.vmap(f)(np.ones(3), a)
    assert np.allclose(np.sinh(found - a) + 2 * found, 0.0, atol=1e-9)
    assert found[1] == pytest.approx(f(1.0, 1.0), rel=1e-14)


@METHODS
def test_what_has_no_minimum_is_refused(method):
    with pytest.raises(ct.ConvergenceError, match="the gradient is zero where the loss has no minimum"):
        ct.minimize(lambda x: x[0] ** 2 - x[1] ** 2, method=method)(np.array([1.0, 0.0]))
    with pytest.raises(ct.ConvergenceError):
        ct.minimize(lambda x: np.exp(-x), method=method)(1.0)


def test_scales_and_flat_places():
    assert ct.minimize(lambda x: 1e-12 * x * x)(1.0) == 0.0
    assert ct.minimize(lambda x: (x - 1) ** 4)(3.0) == pytest.approx(1.0, abs=1e-8)
    assert ct.minimize(lambda x: (x - 2) ** 2)(np.float32(1)).dtype == np.float32
    with pytest.raises(ct.ConvergenceError, match="not finite"):
        ct.minimize(lambda x: np.log(x))(-1.0)


def test_a_banded_hessian_stays_a_band():
    n = 300

    def length(u, ends):  # a line between two walls that pull
        return np.sum(np.sqrt(1 + (u[1:] - u[:-1]) ** 2)) + (u[0] - ends[0]) ** 2 + (u[-1] - ends[1]) ** 2 + 0.01 * np.sum(u * u)

    f = ct.minimize(length, method="newton-cg")
    value, linear = ct.linearize(lambda ends: f(np.zeros(n), ends), np.array([1.0, 2.0]))
    hessian = ct.hessian(length, argnums=0)(value, np.array([1.0, 2.0])).todense()
    right = np.zeros((n, 2))
    right[0, 0] = right[-1, 1] = 2.0
    assert np.abs(ct.grad(length)(value, np.array([1.0, 2.0]))).max() < 1e-13
    assert np.allclose(linear.todense(), scipy.linalg.solve(hessian, right), atol=1e-11)


def test_without_a_matrix_where_the_hessian_is_dense():
    n = 200
    weights = np.linspace(1, 5, n)

    def loss(x, a):
        return 0.5 * np.sum(weights * x * x) + np.log(np.sum(np.exp(x))) * np.sum(x) / n - a @ x

    a = np.cos(np.arange(n))
    x = ct.minimize(loss, method="l-bfgs")(np.zeros(n), a)
    assert np.abs(ct.grad(loss)(x, a)).max() < 1e-12


def test_a_hyperparameter_by_the_implicit_gradient():
    rng = np.random.default_rng(0)
    train, valid, w = rng.normal(size=(20, 5)), rng.normal(size=(20, 5)), np.arange(5.0)
    y, z = train @ w + rng.normal(size=20), valid @ w + rng.normal(size=20)

    def ridge(w, log_k):
        return np.sum((train @ w - y) ** 2) + np.exp(log_k) * np.sum(w * w)

    def error(log_k):
        return np.sum((valid @ ct.minimize(ridge)(np.zeros(5), log_k) - z) ** 2)

    def closed(log_k):
        return np.sum((valid @ np.linalg.solve(train.T @ train + np.exp(log_k) * np.eye(5), train.T @ y) - z) ** 2)

    value, slope = ct.value_and_grad(error)(0.3)
    assert value == pytest.approx(closed(0.3), rel=1e-12)
    assert slope == pytest.approx((closed(0.3 + 1e-5) - closed(0.3 - 1e-5)) / 2e-5, rel=1e-7)


def test_trees_and_wrong_losses():
    f = ct.minimize(lambda p: np.sum((p["w"] - np.arange(3)) ** 2) + np.cosh(p["b"] - 1))
    found = f({"w": np.zeros(3), "b": 0.0})
    assert np.allclose(found["w"], np.arange(3)) and found["b"] == pytest.approx(1.0)
    with pytest.raises(ct.SpaceError, match="needs a loss"):
        ct.minimize(lambda x: x)(np.ones(2))
