"""The vector optimisation in reverse mode."""

from __future__ import annotations

import numpy as np
import pytest
from example_support import example

import catad as ct

optimise = example("optimise")


def by_calculus(x: np.ndarray, data: np.ndarray) -> np.ndarray:
    """The gradient of the objective with its second differences as a matrix."""
    n = len(x)
    second = np.eye(n)[:-2] - 2.0 * np.eye(n)[1:-1] + np.eye(n)[2:]
    return 2.0 * (x - data) + 2.0 * optimise.WEIGHT * (second.T @ (second @ x))


def test_three_ways_to_the_gradient() -> None:
    _, data = optimise.measurements()
    x = np.random.default_rng(2).normal(size=optimise.POINTS)
    f = optimise.objective(data)
    expected = by_calculus(x, data)
    links = [f[:-2], optimise.square, ct.sum()]
    assert ct.compose(*links) == f
    for got in (optimise.gradient_by_train(links, x), optimise.gradient_by_pullback(f, x), ct.grad(f)(x)):
        np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-11)


def test_the_descent_arrives(capsys: pytest.CaptureFixture[str]) -> None:
    curve, data = optimise.measurements()
    fitted = optimise.descend(optimise.objective(data), np.zeros(optimise.POINTS), 1.0 / (2.0 + 32.0 * optimise.WEIGHT))
    assert np.abs(by_calculus(fitted, data)).max() < 1e-2
    assert np.std(fitted - curve) < 0.5 * np.std(data - curve)
    assert len(capsys.readouterr().out.splitlines()) == 6
