"""The penalties: the gradient against differences and the formula of the implicit function, and what the search finds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from example_support import example

import catad as ct

bilevel = example("bilevel")


def data() -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    return bilevel.drawn(60, rng), bilevel.drawn(80, rng)


def test_the_gradient_is_that_of_the_implicit_function() -> None:
    """-H^-1 applied to the validation gradient, times what a penalty adds to the training gradient; H by hand."""
    training, validation = data()
    penalties = np.linspace(-3.0, -1.0, bilevel.FEATURES)
    value, slope = ct.value_and_grad(bilevel.validation_loss)(penalties, training, validation)
    w = bilevel.fitted(np.zeros(bilevel.FEATURES), penalties, *training)

    def pulls(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p = 1.0 / (1.0 + np.exp(y * (X @ w)))
        return -X.T @ (y * p) / len(y), X.T @ ((p * (1.0 - p))[:, None] * X) / len(y)

    gradient, H = pulls(*training)
    np.testing.assert_allclose(gradient + np.exp(penalties) * w, 0.0, atol=1e-9)
    expected = -np.linalg.solve(H + np.diag(np.exp(penalties)), pulls(*validation)[0]) * np.exp(penalties) * w
    np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-10)
    assert value == pytest.approx(bilevel.loss(w, *validation), rel=1e-12)


def test_the_gradient_is_a_difference() -> None:
    training, validation = data()
    at, along = np.full(bilevel.FEATURES, -2.0), np.random.default_rng(1).normal(size=bilevel.FEATURES)
    ahead, behind = (bilevel.validation_loss(at + s * along, training, validation) for s in (1e-4, -1e-4))
    assert ct.grad(bilevel.validation_loss)(at, training, validation) @ along == pytest.approx((ahead - behind) / 2e-4, rel=1e-5)


def test_features_that_say_nothing_are_penalised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    penalties, losses = bilevel.main(["--quick", "--out", str(tmp_path)])
    assert losses[2, 0] < losses[1, 0] < losses[0, 0] and losses[2, 1] < losses[1, 1] < losses[0, 1]
    assert penalties[bilevel.TELLING :].mean() > penalties[: bilevel.TELLING].mean() + 1.0
    assert "own penalties" in capsys.readouterr().out
