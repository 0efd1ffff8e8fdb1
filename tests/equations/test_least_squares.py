"""`ct.least_squares`: against SciPy and normal equations; exact derivatives where residuals are left; hard problems; refusals.

Hard problems: J. More, B. Garbow and K. Hillstrom, *Testing unconstrained optimization software*, 1981.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

import catad as ct

T = np.linspace(0, 3, 30)
DATA = 2.5 * np.exp(-1.3 * T) + 0.5 + 0.05 * np.sin(17 * T)


def decay(p, y):
    return p[0] * np.exp(-p[1] * T) + p[2] - y


FIT = ct.least_squares(decay)


def gradient(p, y):
    e = np.exp(-p[1] * T)
    jacobian = np.stack([e, -p[0] * T * e, np.ones_like(T)], 1)
    return jacobian.T @ (p[0] * e + p[2] - y)


def test_a_fit_is_that_of_scipy_and_its_gradient_is_zero():
    p = FIT(np.ones(3), DATA)
    assert np.allclose(p, scipy.optimize.least_squares(decay, np.ones(3), args=(DATA,), xtol=1e-15).x, rtol=1e-6)
    assert np.abs(gradient(p, DATA)).max() < 1e-14


def test_the_derivative_has_the_whole_hessian():
    found = ct.jacrev(FIT, argnums=1)(np.ones(3), DATA)
    p, h = FIT(np.ones(3), DATA), 1e-6
    by_p = np.stack([(gradient(p + h * e, DATA) - gradient(p - h * e, DATA)) / (2 * h) for e in np.eye(3)], 1)
    by_y = np.stack([(gradient(p, DATA + h * e) - gradient(p, DATA - h * e)) / (2 * h) for e in np.eye(len(T))], 1)
    assert np.allclose(found, -np.linalg.solve(by_p, by_y), rtol=1e-6, atol=1e-8)
    assert np.allclose(found, ct.jacfwd(FIT, argnums=1)(np.ones(3), DATA), rtol=1e-10, atol=1e-12)
    e = np.exp(-p[1] * T)
    jacobian = np.stack([e, -p[0] * T * e, np.ones_like(T)], 1)
    gauss = np.linalg.solve(jacobian.T @ jacobian, jacobian.T)
    assert np.abs(found - gauss).max() > 1e-3 * np.abs(found).max()  # Gauss and Newton's would be wrong: residuals are left


def test_bands_stay_bands():
    def smooth(u, y):
        return {"fit": u - y, "bend": 10 * (u[2:] - 2 * u[1:-1] + u[:-2])}

    n = 200
    y = np.sin(np.arange(n) / 20) + 0.1 * np.cos(7.0 * np.arange(n))
    bend = np.diff(np.eye(n), 2, axis=0) * 10
    dense = np.linalg.inv(np.eye(n) + bend.T @ bend)
    f = ct.least_squares(smooth)
    value, linear = ct.linearize(lambda y: f(y, y), y)
    assert np.allclose(value, dense @ y, atol=1e-12) and np.allclose(linear(y), dense @ y, atol=1e-12)
    assert linear.structure.stored < 30 * n


@pytest.mark.parametrize(
    ("f", "start", "expected"),
    [
        (lambda x: np.stack([10 * (x[1] - x[0] ** 2), 1 - x[0]]), [-1.2, 1.0], [1.0, 1.0]),
        (lambda x: np.stack([1e4 * x[0] * x[1] - 1, np.exp(-x[0]) + np.exp(-x[1]) - 1.0001]), [0.0, 1.0],
         [1.098159329e-5, 9.106146738]),
        (lambda x: np.stack([x[0] - 1e6, x[1] - 2e-6, x[0] * x[1] - 2]), [1.0, 1.0], [1e6, 2e-6]),
        (lambda x: np.stack([-13 + x[0] + ((5 - x[1]) * x[1] - 2) * x[1], -29 + x[0] + ((x[1] + 1) * x[1] - 14) * x[1]]),
         [0.5, -2.0], [11.412779, -0.896805]),  # a local minimum, at which large residuals are left
        (lambda x: np.concatenate([np.exp(x), np.exp(-x)]), [3.0], [0.0]),  # steps of Gauss and Newton go to and fro
    ],
)  # fmt: skip
def test_hard_problems(f, start, expected):
    found = ct.least_squares(f)(np.array(start))
    assert np.allclose(found, expected, rtol=1e-6, atol=1e-12)


def test_a_rank_that_is_not_full_has_a_value_and_no_derivative():
    f = ct.least_squares(lambda x, a: np.stack([x[0] + x[1] - a, 2 * x[0] + 2 * x[1] - 2 * a]))
    assert np.sum(f(np.zeros(2), 2.0)) == pytest.approx(2.0, abs=1e-12)
    with pytest.raises(ct.SolveError):
        ct.jvp(f, (np.zeros(2), 2.0), (np.zeros(2), 1.0))


def test_lanes_and_second_derivatives():
    f = ct.least_squares(lambda x, a: np.stack([x * x - a, x - 1.0]))
    a = np.array([1.0, 2.0, 3.0])
    found = ct.vmap(f)(np.ones(3), a)
    assert np.allclose(4 * found**3 - (4 * a - 2) * found - 2, 0.0, atol=1e-12)
    slope = ct.grad(f, argnums=1)
    x = found[1]
    assert slope(1.0, 2.0) == pytest.approx(4 * x / (12 * x * x - 6), rel=1e-12)
    h = 1e-4
    second = ct.grad(slope, argnums=1)(1.0, 2.0)
    assert second == pytest.approx((slope(1.0, 2 + h) - slope(1.0, 2 - h)) / (2 * h), rel=1e-6)


def test_what_is_refused():
    with pytest.raises(ct.ConvergenceError, match="not finite at the start"):
        ct.least_squares(lambda x: np.stack([x, np.log(x)]))(-1.0)
    with pytest.raises(ct.ConvergenceError, match="did not converge"):
        ct.least_squares(lambda x: np.exp(x))(3.0)
    with pytest.raises(ct.SpaceError, match="needs residuals"):
        ct.least_squares(lambda x: x > 0)(3.0)
    assert ct.least_squares(lambda x: x)(np.float32(3)).dtype == np.float32


@pytest.mark.slow
def test_a_fit_through_a_loop():
    """The residuals come from steps of a loop, whose Jacobian is known only by how it is applied."""
    start, steps = np.array([1.0, 0.5]), 40

    def path(p):
        states, y = [], start
        for _ in range(steps):
            y = np.stack([y[0] + 0.1 * (p[0] * y[1]), y[1] - 0.1 * p[1] * y[0] * y[0]])
            states.append(y)
        return np.stack(states)

    true = np.array([0.7, 0.4])
    data = ct.function(path)(true)

    def fitted(data):
        return ct.least_squares(lambda p, data: path(p) - data)(np.array([0.6, 0.5]), data)

    np.testing.assert_allclose(fitted(data), true, rtol=1e-9)
    J = ct.jacfwd(path)(true).reshape(-1, 2)
    _, L = ct.linearize(fitted, data)
    w = np.cos(np.arange(data.size)).reshape(data.shape)
    np.testing.assert_allclose(L(w), np.linalg.lstsq(J, w.reshape(-1), rcond=None)[0], rtol=1e-6)


@pytest.mark.parametrize("size", [1e-9, 2e-8])
def test_a_sum_of_squares_that_is_rougher_than_rounding(size):
    """As that of an integration is, whose steps are chosen anew at each point: its slopes say where the end is."""

    def rough(p, y):
        jumps = np.floor(1e9 * p[0]) % 7.0 + np.floor(1e9 * p[1]) % 5.0
        return decay(p, y) * (1.0 + size * jumps)

    fit, expected = ct.least_squares(rough), FIT(np.ones(3), DATA)
    for start in np.linspace(0.5, 5.0, 20):
        assert np.allclose(fit(np.array([start, 0.5, 0.1]), DATA), expected, rtol=1e-7)
