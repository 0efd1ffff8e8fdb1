"""`ct.odeint` with methods for stiff equations: derivatives of what is computed, lanes of a batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct

from .test_stiff import RATES, reference, ring, robertson, start


@ct.function
def fast(y0: Any, k: Any) -> Any:
    """The concentrations after 40 units of time, weighted so that all are as large as the first."""
    found = ct.odeint(robertson, y0, np.array([0.0, 0.4, 40.0]), k, method="rodas5p", rtol=1e-9, atol=1e-13)
    return found * np.array([1.0, 1e5, 1.0])


def test_derivatives_of_robertson() -> None:
    """By the start and by the rates, against Radau's solutions at neighbouring points; forward mode is reverse mode."""
    y0, ts = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.4, 40.0])
    weights = np.array([1.0, 1e5, 1.0])
    for k, rate in enumerate(RATES):
        ends = []
        for factor in (1 + 1e-3, 1 - 1e-3):
            moved = RATES.copy()
            moved[k] *= factor
            ends.append(reference(robertson, y0, ts, moved, rtol=1e-11, atol=1e-15) * weights)
        expected = (ends[0] - ends[1]) / 2e-3
        found = ct.jvp(fast, (y0, RATES), (0 * y0, rate * np.eye(3)[k]))[1]
        assert np.allclose(found, expected, rtol=2e-4, atol=1e-6)
    w = np.random.default_rng(0).normal(size=(3, 3))
    _, pull = ct.vjp(fast, y0, RATES)
    back = pull(w)
    for k in range(3):
        e = np.eye(3)[k]
        assert np.sum(ct.jvp(fast, (y0, RATES), (e, 0 * e))[1] * w) == pytest.approx(back[0][k], rel=1e-8)
        assert np.sum(ct.jvp(fast, (y0, RATES), (0 * e, e))[1] * w) == pytest.approx(back[1][k], rel=1e-7, abs=1e-12)


def test_step_sizes_are_constants() -> None:
    """The numbers of given steps are linear in k, so their derivative is their quotient; that of step sizes would be another."""

    def loss(k: Any) -> Any:
        rhs = lambda t, y, k: 0 * y + k * np.cos(5 * t)  # noqa: E731
        return ct.odeint(rhs, np.zeros(2), np.array([0.0, 4.0]), k, method="rodas5p", rtol=1e-3, atol=1e-3)[-1].sum()

    gradient, value = ct.grad(loss)(3.0), loss(3.0)
    assert abs(value - 1.2 * np.sin(20.0)) > 1e-9  # step sizes matter
    assert gradient == pytest.approx(value / 3.0, rel=1e-13)


def test_derivatives_of_reaction_and_diffusion() -> None:
    """One equal step after the other: differences of the same steps."""
    y0 = start(24)
    v = np.random.default_rng(1).normal(size=y0.shape)

    @ct.function
    def loss(y: Any, k: Any) -> Any:
        found = ct.odeint(ring, y, np.array([0.0, 0.5, 0.7]), k, method="rodas5p", steps=6)
        return np.sum(np.sin(found[1:]))

    by_y, by_k = ct.grad(loss, argnums=(0, 1))(y0, 3.0)
    along = (loss(y0 + 1e-6 * v, 3.0) - loss(y0 - 1e-6 * v, 3.0)) / 2e-6
    assert np.sum(by_y * v) == pytest.approx(along, rel=1e-7)
    assert by_k == pytest.approx((loss(y0, 3.0 + 1e-6) - loss(y0, 3.0 - 1e-6)) / 2e-6, rel=1e-7)


def test_lanes_take_their_own_steps() -> None:
    rates = RATES * np.array([[1.0], [0.1], [3.0]])
    y0, ts = np.array([1.0, 0.0, 0.0]), np.array([0.0, 40.0])
    f = ct.function(lambda k: ct.odeint(robertson, y0, ts, k, method="rosenbrock23", rtol=1e-3)[-1])
    assert np.allclose(ct.vmap(f)(rates), [f(k) for k in rates], rtol=1e-12)
    gradient = ct.grad(lambda k: ct.vmap(f)(k)[:, 0].sum())(rates)
    assert np.allclose(gradient, [ct.grad(lambda k: f(k)[0])(k) for k in rates], rtol=1e-8)
