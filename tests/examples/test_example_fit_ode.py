"""Hares and lynxes: against published estimates of the same data, a second fit, and a conserved quantity."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from example_support import example
from scipy.integrate import solve_ivp

fit_ode = example("fit_ode")


def test_the_estimates_are_those_that_are_published(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Carpenter 2018: 0.55 +- 0.064, 0.028 +- 0.004, 0.80 +- 0.091, 0.024 +- 0.004."""
    log_p, spread, influence = fit_ode.main(["--quick", "--out", str(tmp_path)])
    published, deviations = np.array([0.55, 0.028, 0.80, 0.024]), np.array([0.064, 0.004, 0.091, 0.004])
    assert np.all(np.abs(np.exp(log_p[:4]) - published) < 0.35 * deviations)
    np.testing.assert_allclose((np.exp(log_p) * np.sqrt(np.diag(spread)))[:4], deviations, rtol=0.2)
    more = np.log(fit_ode.PELTS)
    J, rest = fit_ode.jacobian(log_p, more), fit_ode.residuals(log_p, more)
    np.testing.assert_allclose(np.tensordot(rest, J, axes=2), 0.0, atol=1e-4)
    more[3, 0] += 0.01
    moved = fit_ode.fitted(more)[0] - log_p
    np.testing.assert_allclose(moved, 0.01 * influence[:, 3, 0], atol=1e-4)
    assert "hares" in capsys.readouterr().out


def test_the_curves_and_their_jacobian() -> None:
    def curves(log_p: np.ndarray) -> np.ndarray:
        p, times = np.exp(log_p), fit_ode.YEARS
        run = solve_ivp(lambda t, y: fit_ode.growth(t, y, p), times[[0, -1]], p[4:], "DOP853", times, rtol=1e-11, atol=1e-11)
        return np.log(run.y.T)

    at, h = np.log([0.55, 0.028, 0.8, 0.024, 33.0, 5.0]), 1e-4
    np.testing.assert_allclose(fit_ode.log_populations(at, fit_ode.YEARS), curves(at), atol=1e-6)
    expected = np.stack([(curves(at + e) - curves(at - e)) / (2 * h) for e in h * np.eye(6)], axis=-1)
    np.testing.assert_allclose(fit_ode.jacobian(at, np.zeros((21, 2))), expected, atol=1e-5)
