"""Components and ridge regression: slopes by perturbation theory, leave-one-out by leaving out."""

from __future__ import annotations

import numpy as np
import pytest
from example_support import example

import catad as ct

pca = example("pca_and_ridge")


def test_the_slopes_of_the_explained_share_are_those_of_perturbation_theory() -> None:
    """A factor exp(t) on feature j changes the first variance by 2 v[j]^2 of it, v the component, and the sum by 2 of its own."""
    X = pca.patients(0, np.random.default_rng(0))[0]
    units = np.random.default_rng(1).normal(size=10)
    scaled = (X - X.mean(axis=0)) * np.exp(units)
    w, v = np.linalg.eigh(scaled.T @ scaled)
    share, slopes = ct.value_and_grad(pca.explained)(units, X)
    assert share == pytest.approx(w[-1] / w.sum(), rel=1e-10)
    expected = 2 * share * (v[:, -1] ** 2 - np.sum(scaled**2, axis=0) / w.sum())
    np.testing.assert_allclose(slopes, expected, rtol=1e-8, atol=1e-10)
    assert abs(slopes.sum()) < 1e-10  # the same factor on all features changes nothing


def test_ridge_solves_the_normal_equations() -> None:
    rng = np.random.default_rng(2)
    X, y, t = rng.normal(size=(30, 4)), rng.normal(size=30), rng.normal(size=4)
    expected = np.linalg.solve(X.T @ X + np.diag(np.exp(t)), X.T @ y)
    np.testing.assert_allclose(pca.ridge(t, X, y), expected, rtol=1e-9)
    np.testing.assert_allclose(ct.function(pca.ridge)(t, X, y), expected, rtol=1e-9)


def left_out_one_by_one(t: np.ndarray, X: np.ndarray, y: np.ndarray) -> float:
    """Each row predicted by a fit of the others."""
    others = [np.arange(len(y)) != k for k in range(len(y))]
    return float(np.mean([(y[~keep] - X[~keep] @ pca.ridge(t, X[keep], y[keep])) ** 2 for keep in others]))


def test_the_error_when_left_out_is_that_of_fits_without_each_row() -> None:
    rng = np.random.default_rng(3)
    X, y, t = rng.normal(size=(25, 4)), rng.normal(size=25), rng.normal(size=4)
    value, slopes = ct.value_and_grad(pca.left_out)(t, X, y)
    assert value == pytest.approx(left_out_one_by_one(t, X, y), rel=1e-9)
    h = 1e-5
    expected = [(left_out_one_by_one(t + e, X, y) - left_out_one_by_one(t - e, X, y)) / (2 * h) for e in h * np.eye(4)]
    np.testing.assert_allclose(slopes, expected, rtol=1e-5, atol=1e-7)
