"""The Gaussian process: its likelihood, gradient and Hessian against closed forms, and its posterior on noiseless data."""

from __future__ import annotations

import numpy as np
import pytest
from example_support import example
from scipy.stats import multivariate_normal

import catad as ct

process = example("gaussian_process")
AT = np.array([0.3, -0.4, -1.0])


def derivatives(log_scales: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """The covariance of the data, and its derivatives by the three logarithms."""
    apart = ((x[:, None] - x) / np.exp(log_scales[1])) ** 2
    K = np.exp(2 * log_scales[0] - 0.5 * apart)
    noise = np.exp(2 * log_scales[2]) * np.eye(len(x))
    return K + noise, [2 * K, apart * K, 2 * noise]


def test_the_value_is_the_density_of_a_normal_distribution() -> None:
    x, y = process.data(20, np.random.default_rng(0))
    expected = -multivariate_normal(cov=derivatives(AT, x)[0]).logpdf(y)
    assert process.minus_log_likelihood(AT, x, y) == pytest.approx(expected, rel=1e-9)
    assert ct.function(process.minus_log_likelihood)(AT, x, y) == pytest.approx(expected, rel=1e-9)


def test_the_gradient_is_the_one_of_the_book() -> None:
    """Rasmussen & Williams 2006, (5.9): half of tr((K^-1 - a a^T) dK), a = K^-1 y."""
    x, y = process.data(20, np.random.default_rng(1))
    K, slopes = derivatives(AT, x)
    a = np.linalg.solve(K, y)
    expected = [0.5 * np.trace((np.linalg.inv(K) - np.outer(a, a)) @ slope) for slope in slopes]
    np.testing.assert_allclose(ct.grad(process.minus_log_likelihood)(AT, x, y), expected, rtol=1e-8)


def test_the_hessian_is_the_difference_of_gradients() -> None:
    x, y = process.data(20, np.random.default_rng(2))
    gradient, h = ct.grad(process.minus_log_likelihood), 1e-5
    expected = [(gradient(AT + e, x, y) - gradient(AT - e, x, y)) / (2 * h) for e in h * np.eye(3)]
    found = ct.hessian(process.minus_log_likelihood, argnums=0)(AT, x, y).todense()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_the_optimum_is_flat_and_its_deviations_cover_the_truth() -> None:
    x, y = process.data(120, np.random.default_rng(4))
    log_scales, deviations, least = process.fitted(x, y)
    assert np.abs(ct.grad(process.minus_log_likelihood)(log_scales, x, y)).max() < 1e-2
    assert least <= process.minus_log_likelihood(np.log(process.TRUTH), x, y)
    assert np.all(np.abs(log_scales - np.log(process.TRUTH)) < 4 * deviations) and deviations.max() < 1.0


def test_data_without_noise_are_met() -> None:
    x = np.linspace(0.0, 3.0, 7)
    mean, deviation = process.posterior(np.array([0.0, -0.5, -9.0]), x, np.sin(x), x)
    np.testing.assert_allclose(mean, np.sin(x), atol=1e-6)
    assert deviation.max() < 1e-3
