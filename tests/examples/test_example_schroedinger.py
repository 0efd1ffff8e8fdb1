"""The split-step Schroedinger equation: a packet that spreads freely, one that swings in a bowl, and the gradient."""

from __future__ import annotations

import numpy as np
import pytest
from example_support import example

import catad as ct

tweezers = example("schroedinger")


def packet(width: float, centre: float, speed: float) -> np.ndarray:
    """A normal packet of norm 1."""
    psi = np.exp(-((tweezers.x - centre) ** 2) / (4 * width**2) + 1j * speed * tweezers.x)
    return psi / np.linalg.norm(psi)


def moments(density: np.ndarray) -> tuple[float, float]:
    """Mean and variance of the place."""
    mean = float(density @ tweezers.x)
    return mean, float(density @ (tweezers.x - mean) ** 2)


def test_a_free_packet_moves_and_spreads() -> None:
    """Its variance is w^2 + (t / 2 w)^2."""
    psi, density = ct.function(tweezers.evolved)(packet(0.8, -2.0, 1.5), np.zeros((40, tweezers.POINTS)), 0.05)
    mean, variance = moments(np.abs(psi) ** 2)
    assert mean == pytest.approx(-2.0 + 1.5 * 2.0, abs=1e-9)
    assert variance == pytest.approx(0.8**2 + (2.0 / 1.6) ** 2, rel=1e-9)
    assert density.sum(axis=1) == pytest.approx(1.0, abs=1e-12)


def test_a_packet_swings_in_a_bowl_as_a_body_does() -> None:
    steps, dt = 400, np.pi / 400
    psi, _ = tweezers.evolved(packet(np.sqrt(0.5), 2.0, 0.0), np.tile(0.5 * tweezers.x**2, (steps, 1)), dt)
    mean, variance = moments(np.abs(psi) ** 2)
    assert mean == pytest.approx(-2.0, abs=1e-4) and variance == pytest.approx(0.5, abs=1e-4)


def test_the_ground_state_rests() -> None:
    start = tweezers.ground_state(1.0)
    psi, _ = tweezers.evolved(start, np.tile(tweezers.well(1.0), (100, 1)), 0.02)
    assert abs(np.vdot(start, psi)) == pytest.approx(1.0, abs=1e-6)


def test_the_gradient_is_a_difference() -> None:
    times = (np.arange(50) + 0.5) * (tweezers.DURATION / 50)
    given = tweezers.ground_state(-3.0), tweezers.ground_state(3.0), times
    waves = 0.1 * np.random.default_rng(0).normal(size=tweezers.WAVES)
    value, slopes = ct.value_and_grad(tweezers.lost)(waves, *given)
    assert value == pytest.approx(tweezers.lost(waves, *given), rel=1e-10)
    h = 1e-5
    for k, e in enumerate(h * np.eye(tweezers.WAVES)):
        expected = (tweezers.lost(waves + e, *given) - tweezers.lost(waves - e, *given)) / (2 * h)
        assert slopes[k] == pytest.approx(expected, rel=1e-6, abs=1e-8)


def test_the_gradient_by_the_first_state_climbs() -> None:
    """Of a real loss, dL/dre + i dL/dim."""
    times = (np.arange(20) + 0.5) * 0.1
    target, waves = tweezers.ground_state(0.0), np.zeros(tweezers.WAVES)
    slope = ct.grad(tweezers.lost, argnums=1)(waves, packet(1.0, -1.0, 0.0), target, times)
    h, rng = 1e-6, np.random.default_rng(1)
    along = rng.normal(size=tweezers.POINTS) + 1j * rng.normal(size=tweezers.POINTS)
    ahead, behind = (tweezers.lost(waves, packet(1.0, -1.0, 0.0) + s * along, target, times) for s in (h, -h))
    assert np.sum(slope.real * along.real + slope.imag * along.imag) == pytest.approx((ahead - behind) / (2 * h), rel=1e-6)
