"""`event=` of `ct.odeint`: times and states at roots, against closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct

G = 9.81
TS = np.linspace(0.0, 5.0, 6)
ball = ct.odeint(lambda t, y, g: np.stack([y[1], -g]), event=lambda t, y, g: y[0], direction=-1)


def thrown(v: Any, g: Any = G, ts: Any = TS) -> Any:
    return ball(np.stack([0.0 * v, v]), ts, g)


def test_a_ball_lands() -> None:
    ys, t, y = thrown(10.0)
    assert np.isclose(t, 20.0 / G, rtol=1e-12) and np.allclose(y, [0.0, -10.0], atol=1e-12)
    assert np.allclose(ys[:3, 0], 10.0 * TS[:3] - 0.5 * G * TS[:3] ** 2) and np.isnan(ys[3:]).all()


def test_derivatives_of_time_and_state() -> None:
    when = ct.function(lambda v, g: thrown(v, g)[1])
    assert np.allclose(ct.grad(when, argnums=(0, 1))(10.0, G), [2.0 / G, -20.0 / G**2], rtol=1e-9)
    assert np.isclose(ct.jvp(when, (10.0, G), (0.0, 1.0))[1], -20.0 / G**2, rtol=1e-9)
    assert np.isclose(ct.grad(ct.grad(when, argnums=1), argnums=1)(10.0, G), 40.0 / G**3, rtol=1e-9)
    assert np.isclose(ct.grad(lambda v: thrown(v)[2][1])(10.0), -1.0)
    assert np.isclose(ct.grad(lambda v: np.nansum(thrown(v)[0][:, 0]))(10.0), 3.0)
    assert np.isclose(ct.grad(lambda t: thrown(10.0, G, np.stack([t, t + 5.0]))[1])(1.0), 1.0)


def test_no_event() -> None:
    ys, t, y = thrown(100.0)
    assert np.isnan(t) and np.isnan(y).all() and np.isclose(ys[-1, 0], 500.0 - 0.5 * G * 25.0)
    assert np.isclose(ct.grad(lambda v: thrown(v)[0][-1, 0])(100.0), 5.0)
    assert np.isnan(thrown(10.0, G, TS[:1])[1])


def test_lanes_and_closures() -> None:
    v = np.array([5.0, 10.0, 100.0])
    times = ct.vmap(lambda v: thrown(v)[1])(v)
    assert np.allclose(times[:2], 2.0 * v[:2] / G, rtol=1e-12) and np.isnan(times[2])
    slopes = ct.grad(lambda v: np.nansum(ct.vmap(lambda v: thrown(v)[1])(v)))(v)
    assert np.allclose(slopes, [2.0 / G, 2.0 / G, 0.0], rtol=1e-9)

    @ct.function
    def half_life(a, h):  # type: ignore[no-untyped-def]
        return ct.odeint(lambda t, y: -a * y, 1.0, [0.0, 10.0], event=lambda t, y: y - h)[1]

    assert np.isclose(half_life(2.0, 0.5), np.log(2.0) / 2.0, rtol=1e-6)
    assert np.allclose(ct.grad(half_life, argnums=(0, 1))(2.0, 0.5), [-np.log(2.0) / 4.0, -1.0], rtol=1e-5)


@pytest.mark.parametrize(("direction", "time"), [(0, 0.5), (-1, 0.5), (1, 1.5)])
def test_directions_and_trees(direction: int, time: float) -> None:
    turning = ct.odeint(lambda t, y: {"x": y["v"], "v": -y["x"]}, event=lambda t, y: y["x"], direction=direction)
    _, t, y = turning({"x": 1.0, "v": 0.0}, [0.0, 6.0])
    assert np.isclose(t, time * np.pi, rtol=1e-6) and np.isclose(abs(y["v"]), 1.0, rtol=1e-6)
    _, t, _ = turning({"x": 1.0, "v": 0.0}, [0.0, -6.0])
    assert np.isclose(t, -time * np.pi, rtol=1e-6)


def test_an_engine_more() -> None:
    with ct.use_engine("reference"):
        known = thrown(10.0)
    with ct.use_engine("cpu"):
        made = thrown(10.0)
    assert all(np.allclose(a, b, rtol=1e-12, atol=1e-12, equal_nan=True) for a, b in zip(known, made, strict=True))


def test_errors() -> None:
    with pytest.raises(ct.errors.SpaceError, match="a function with one value"):
        ct.odeint(lambda t, y: -y, np.ones(2), TS, event=lambda t, y: y)
    with pytest.raises(ct.errors.ArgumentError, match="steps=5"):
        ct.odeint(lambda t, y: -y, steps=5, event=lambda t, y: y)
    with pytest.raises(ct.errors.ArgumentError, match="changes of sign"):
        ct.odeint(lambda t, y: -y, direction=2, event=lambda t, y: y)
