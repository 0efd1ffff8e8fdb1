"""The Kalman filter and the smoother: against the normal distribution of all measurements at once."""

from __future__ import annotations

import numpy as np
import pytest
from example_support import example
from scipy.stats import multivariate_normal

import catad as ct

kalman = example("kalman")
AT = np.array([-0.7, 0.4, 0.9, 0.6])


def all_at_once(parameters: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Covariances of all measurements, of all states with them, and of all states: sums over the pushes of all steps."""
    Q, R = kalman.noises(parameters)
    powers = [np.linalg.matrix_power(kalman.F, t) for t in range(count)]
    reach = np.zeros((count, 4, count, 4))  # from the first state and the pushes to the states
    for t in range(count):
        for k in range(t + 1):
            reach[t, :, k] = powers[t - k]
    reach = reach.reshape(4 * count, 4 * count)
    spreads = np.zeros((count, 4, count, 4))
    for t in range(count):
        spreads[t, :, t] = Q if t else 100.0 * np.eye(4)
    states = reach @ spreads.reshape(4 * count, 4 * count) @ reach.T
    H = np.kron(np.eye(count), kalman.H)
    return H @ states @ H.T + np.kron(np.eye(count), R), states @ H.T, states


def test_the_likelihood_is_that_of_all_measurements_at_once() -> None:
    _, measured = kalman.moved(20, np.random.default_rng(0))
    expected = -multivariate_normal(cov=all_at_once(AT, 20)[0]).logpdf(measured.ravel())
    assert kalman.surprise(AT, measured) == pytest.approx(expected, rel=1e-9)
    assert ct.function(kalman.surprise)(AT, measured) == pytest.approx(expected, rel=1e-9)


def test_the_gradient_is_that_of_all_measurements_at_once() -> None:
    """Half of tr((K^-1 - a a^T) dK), with dK by central differences, which are exact for what is quadratic in a deviation."""
    _, measured = kalman.moved(20, np.random.default_rng(1))
    K = all_at_once(AT, 20)[0]
    a = np.linalg.solve(K, measured.ravel())
    h, expected = 1e-5, []
    for e in h * np.eye(4):
        slope = (all_at_once(AT + e, 20)[0] - all_at_once(AT - e, 20)[0]) / (2 * h)
        expected.append(0.5 * np.trace((np.linalg.inv(K) - np.outer(a, a)) @ slope))
    np.testing.assert_allclose(ct.grad(kalman.surprise)(AT, measured), expected, rtol=1e-6, atol=1e-6)


def test_the_smoother_gives_what_is_expected_of_the_states_given_all_measurements() -> None:
    _, measured = kalman.moved(15, np.random.default_rng(2))
    K, between, states = all_at_once(AT, 15)
    expected = between @ np.linalg.solve(K, measured.ravel())
    spreads = (states - between @ np.linalg.solve(K, between.T)).reshape(15, 4, 15, 4)
    for smoother in (kalman.smoother, ct.function(kalman.smoother)):
        mean, spread = smoother(AT, measured)
        np.testing.assert_allclose(mean.ravel(), expected, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(spread, [spreads[t, :, t] for t in range(15)], rtol=1e-7, atol=1e-7)


def test_the_gradient_through_the_smoother_is_a_difference() -> None:
    truth, measured = kalman.moved(20, np.random.default_rng(3))

    def far(parameters: np.ndarray) -> float:
        return np.sum((kalman.smoother(parameters, measured)[0][:, :2] - truth) ** 2)

    h = 1e-5
    expected = [(far(AT + e) - far(AT - e)) / (2 * h) for e in h * np.eye(4)]
    np.testing.assert_allclose(ct.grad(far)(AT), expected, rtol=1e-5, atol=1e-5)
