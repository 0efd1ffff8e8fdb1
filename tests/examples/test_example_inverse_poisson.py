"""The inverse problem: the equation, the gradient by the adjoint equation, the prior, and the field that is found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from example_support import example
from scipy.linalg import solve_banded

import catad as ct

inverse = example("inverse_poisson")


def test_the_solution_is_that_of_bratu() -> None:
    """u'' = a exp(u) with constant a: u = log(c^2 / cos^2(c (x - 1/2))) + log(2 / a), with c from u(0) = 0."""
    c = 0.9
    a = 2.0 * c**2 / np.cos(c / 2) ** 2
    x = inverse.points(2000)
    expected = np.log(2.0 * c**2 / a / np.cos(c * (x - 0.5)) ** 2)
    found = inverse.solution(np.zeros(2000), np.full(2000, a))
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_the_gradient_is_that_of_the_adjoint_equation() -> None:
    n, rng = 300, np.random.default_rng(0)
    a, w = np.exp(1.0 + 0.3 * rng.normal(size=n)), rng.normal(size=n)
    u = inverse.solution(np.zeros(n), a)
    bands = np.full((3, n), (n + 1.0) ** 2)
    bands[1] = -2.0 * (n + 1.0) ** 2 - a * np.exp(u)
    adjoint = solve_banded((1, 1), bands, w)
    gradient = ct.grad(lambda a: w @ inverse.solution(np.zeros(n), a))(a)
    np.testing.assert_allclose(gradient, adjoint * np.exp(u), rtol=1e-8)


def test_the_prior_has_the_deviation_that_it_says() -> None:
    n = 1500
    fields = np.stack([inverse.log_field(e) - inverse.MEAN for e in np.eye(n)])
    middle = np.sqrt(np.sum(fields[:, n // 2] ** 2))
    assert middle == pytest.approx(inverse.SPREAD, rel=2e-3)
    places = np.array([n // 2])
    spread = inverse.deviation(np.zeros(n), places)
    K = ct.jacrev(inverse.measured)(np.zeros(n), places)
    covariance = np.sum(fields**2, axis=0) - np.sum((K @ fields) ** 2, axis=0) / (1.0 + np.sum(K**2))
    np.testing.assert_allclose(spread, np.sqrt(covariance), rtol=5e-3)


def test_the_field_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x, log_a, spread = inverse.main(["--quick", "--out", str(tmp_path)])
    off = np.abs(log_a - np.log(inverse.truth(x)))
    assert off.mean() < 0.1 and np.mean(off < 2.0 * spread) > 0.9
    said = capsys.readouterr().out
    assert "sum of 3 maps f64[2000] -> f64[2000], stored 2000" in said and "inverse" in said
