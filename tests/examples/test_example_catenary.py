"""The hanging chain: against the elastic catenary in closed form, and differences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from example_support import example
from scipy.optimize import brentq

catenary = example("catenary")


def sag(length: float) -> float:
    """Irvine 1981, section 2.2: the depth of the middle of an elastic cable between hooks of the same height."""
    weight, stiff, half = catenary.WEIGHT, catenary.STIFF, 0.5 * catenary.WEIGHT * length

    def too_wide(h: float) -> float:
        return h * length / stiff + 2.0 * h / weight * np.arcsinh(half / h) - catenary.SPAN

    h = brentq(too_wide, 1e-3, 1e4, xtol=1e-12)
    return float(weight * length**2 / (8.0 * stiff) + (np.hypot(h, half) - h) / weight)


def test_depths_are_those_of_the_elastic_catenary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = catenary.main(["--quick", "--out", str(tmp_path)])
    for length, depth, by_length in rows:
        assert depth == pytest.approx(sag(length), rel=2e-3)
        slope = (sag(length + 1e-4) - sag(length - 1e-4)) / 2e-4
        assert by_length == pytest.approx(slope, rel=2e-3)
    assert "40 links" in capsys.readouterr().out


def test_a_lamp_moves_points_as_differences_say() -> None:
    h, n = 1e-3, 20
    points, change = catenary.moved(11.0, 100.0, (0.0, 1.0), n)
    ahead, behind = (catenary.moved(11.0, 100.0 + s, (0.0, 1.0), n)[0] for s in (h, -h))
    np.testing.assert_allclose(change, (ahead - behind) / (2 * h), rtol=1e-5, atol=1e-9)
    whole = np.concatenate([np.zeros((1, 2)), points, np.array([[catenary.SPAN, 0.0]])])
    links = np.diff(whole, axis=0)  # the horizontal force is the same everywhere
    across = catenary.forces(points, 11.0) * links[:, 0] / np.hypot(*links.T)
    np.testing.assert_allclose(across, across[0], rtol=1e-8)
