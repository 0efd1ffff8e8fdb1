"""Stiff kinetics: published concentrations, conservation, and differences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from example_support import example

stiff = example("stiff_kinetics")


def is_a_difference(field: np.ndarray) -> bool:
    """Whether the gradient by all starting values, along a smooth direction, is a difference of last maxima."""
    x, times, p = np.linspace(0.0, 1.0, 52)[1:-1], np.linspace(0.0, 10.0, 101), np.array([1.0, 3.0, 0.02])
    first, along = np.stack([1.0 + np.sin(2.0 * np.pi * x), 3.0 + 0.0 * x]), np.stack([np.sin(np.pi * x), x * (1.0 - x)])
    ahead, behind = (stiff.largest(tuple(first + s * along), times, p) for s in (1e-3, -1e-3))
    return bool(np.isclose(np.sum(field * along), (ahead - behind) / 2e-3, rtol=5e-3))


def test_robertson_at_the_end_and_its_sensitivities(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """F. Mazzia & C. Magherini, Test Set for Initial Value Problem Solvers, 2008, gives the concentrations."""
    end, by_rates, field = stiff.main(["--quick", "--out", str(tmp_path)])
    np.testing.assert_allclose(end, [0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050], rtol=1e-4)
    # late, b = k1 a / (k3 c), and c' = k2 b^2 = (k1 / k3)^2 k2 a^2, so a = (k3 / k1)^2 / (k2 t)
    np.testing.assert_allclose(by_rates[0] * stiff.RATES / end[0], [-2.0, -1.0, 2.0], rtol=1e-3)
    np.testing.assert_allclose(by_rates.sum(axis=0), 0.0, atol=1e-12)
    assert is_a_difference(field)
    said = capsys.readouterr().out
    assert "block 2x2" in said and "stored 201" in said
