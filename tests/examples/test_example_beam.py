"""The beam: textbook deflections, the gradient, and the conditions that a best thickness meets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from example_support import example

import catad as ct

beam = example("beam")


def test_a_beam_on_two_supports() -> None:
    """Euler-Bernoulli: 5 q L^4 / (384 E I) in the middle."""
    n, thickness, q, length = 401, 0.2, 1e4, 4.0
    bed = np.zeros(n)
    bed[[0, -1]] = 1e14
    w = ct.function(beam.deflection)(np.full(n, thickness), bed, np.full(n, q), length / (n - 1))
    expected = 5 * q * length**4 / (384 * beam.YOUNG * thickness**3 / 12)
    assert w[n // 2] == pytest.approx(expected, rel=1e-3) and abs(w[[0, -1]]).max() < 1e-6


def test_a_point_load_on_soil() -> None:
    """Hetenyi 1946: P b / (2 k) exp(-b |x|) (cos b |x| + sin b |x|), b^4 = k / (4 E I), far from the ends."""
    n, dx, force = 2001, 0.025, 1e6
    load = np.zeros(n)
    load[n // 2] = force / dx
    w = ct.function(beam.deflection)(np.full(n, beam.MEAN), np.full(n, beam.BED), load, dx)
    b = (beam.BED / (4 * beam.YOUNG * beam.MEAN**3 / 12)) ** 0.25
    far = b * dx * np.abs(np.arange(n) - n // 2)
    expected = force * b / (2 * beam.BED) * np.exp(-far) * (np.cos(far) + np.sin(far))
    np.testing.assert_allclose(w, expected, atol=2e-3 * expected.max())


def test_the_slope_is_minus_the_energy_of_bending() -> None:
    """d compliance / d EI = - dx (w'')^2, as the load is fixed."""
    bed, load, dx = beam.strip(801)
    thickness = 0.5 + 0.1 * np.cos(np.linspace(0.0, 20.0, 801))
    w = beam.deflection(thickness, bed, load, dx)
    value, slope = ct.value_and_grad(beam.compliance)(thickness, bed, load, dx)
    assert value == pytest.approx(dx * load @ w, rel=1e-9)
    bent = np.diff(w, 2) / dx**2
    np.testing.assert_allclose(slope[1:-1], -dx * bent**2 * beam.YOUNG * thickness[1:-1] ** 2 / 4, rtol=1e-5, atol=1e-3)
    assert slope[0] == slope[-1] == 0.0


def test_the_slope_is_a_difference() -> None:
    bed, load, dx = beam.strip(301)
    thickness, along = np.full(301, 0.5), np.random.default_rng(0).normal(size=301)
    h = 1e-5
    ahead, behind = (beam.compliance(thickness + s * along, bed, load, dx) for s in (h, -h))
    assert ct.grad(beam.compliance)(thickness, bed, load, dx) @ along == pytest.approx((ahead - behind) / (2 * h), rel=1e-5)


def test_the_best_thickness_has_one_slope_wherever_it_is_free(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    thickness: Any = beam.main(["--quick", "--out", str(tmp_path)])
    slope = ct.grad(beam.compliance)(thickness, *beam.strip(len(thickness)))
    assert thickness.mean() == pytest.approx(beam.MEAN, rel=1e-9)
    assert beam.LEAST <= thickness.min() <= thickness.max() <= beam.MOST
    free = slope[(thickness > beam.LEAST + 1e-6) & (thickness < beam.MOST - 1e-6)]
    level = np.median(free)
    assert len(free) > 100 and np.abs(free / level - 1.0).max() < 0.1
    assert np.all(slope[thickness >= beam.MOST] < level) and np.all(slope[thickness <= beam.LEAST] > level)
    assert "best one" in capsys.readouterr().out
