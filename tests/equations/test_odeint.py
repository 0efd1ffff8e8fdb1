"""`ct.odeint`: values, derivatives and errors, against closed forms and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate

import catad as ct

TS = np.linspace(0.0, 2.0, 5)
ADAPTIVE = ("heun", "midpoint", "bosh3", "dopri5", "tsit5")
decay = ct.odeint(lambda t, y, k: -k * y)


def test_decay_and_its_derivatives() -> None:
    k = 0.7
    y = 1.5 * np.exp(-k * TS)
    assert np.allclose(decay(1.5, TS, k), y, rtol=1e-6)
    assert np.allclose(ct.jacobian(decay, argnums=0)(1.5, TS, k).todense(), np.exp(-k * TS), rtol=1e-6)
    assert np.allclose(ct.jacobian(decay, argnums=2)(1.5, TS, k).todense(), -TS * y, atol=1e-6)
    by_times = np.diag(-k * y)
    by_times[:, 0] += k * y
    assert np.allclose(ct.jacobian(decay, argnums=1)(1.5, TS, k).todense(), by_times, atol=3e-6)
    last = ct.grad(ct.grad(lambda k: decay(1.5, TS, k)[-1]))
    assert np.isclose(last(k), 4.0 * y[-1], rtol=1e-5)


@pytest.mark.parametrize("method", ADAPTIVE)
def test_an_oscillator_in_a_tree(method: str) -> None:
    f = ct.odeint(lambda t, y, w: {"x": y["v"], "v": -w * w * y["x"]}, method=method, rtol=1e-7)
    made = f({"v": np.zeros(2), "x": np.array([1.0, 2.0])}, TS, 3.0)
    assert np.allclose(made["x"], np.outer(np.cos(3.0 * TS), [1.0, 2.0]), atol=2e-5)
    assert np.allclose(made["v"], np.outer(-3.0 * np.sin(3.0 * TS), [1.0, 2.0]), atol=6e-5)
    slope = ct.grad(lambda w: f({"v": np.zeros(2), "x": np.array([1.0, 2.0])}, TS, w)["x"][-1].sum())(3.0)
    assert np.isclose(slope, -2.0 * 3.0 * np.sin(6.0), atol=2e-4)


def test_time_runs_backwards_and_slopes_depend_on_it() -> None:
    made = ct.odeint(lambda t, y: np.cos(t) * y, 1.0, -TS)
    assert np.allclose(made, np.exp(np.sin(-TS)), rtol=1e-6)


def test_closures_and_lanes() -> None:
    rates = np.array([0.5, 1.0, 20.0])

    @ct.function
    def last(a):  # type: ignore[no-untyped-def]
        return ct.odeint(lambda t, y: -a * y, 1.0, TS)[-1]

    assert np.isclose(last(0.7), np.exp(-1.4), rtol=1e-6)
    assert np.isclose(ct.grad(last)(0.7), -2.0 * np.exp(-1.4), rtol=1e-6)
    each = ct.vmap(lambda k: decay(1.0, TS, k))
    assert np.allclose(each(rates), [decay(1.0, TS, k) for k in rates], rtol=1e-13)
    slopes = ct.grad(lambda rates: each(rates).sum())(rates)
    assert np.allclose(slopes, [ct.grad(lambda k: decay(1.0, TS, k).sum())(k) for k in rates], rtol=1e-11)


def test_few_times() -> None:
    assert np.array_equal(decay(2.0, TS[:1], 0.7), [2.0])
    assert np.array_equal(decay(2.0, np.full(3, 0.5), 0.7), [2.0, 2.0, 2.0])
    assert np.allclose(ct.jacobian(decay, argnums=1)(1.0, np.full(2, 0.5), 0.7).todense(), [[0.0, 0.0], [0.7, -0.7]])
    assert np.allclose(decay(1, np.array([0, 0, 1, 1]), 0.7), np.exp([0.0, 0.0, -0.7, -0.7]))


def test_float32_stays() -> None:
    made = decay(np.float32(1.0), TS.astype(np.float32), np.float32(0.7))
    assert made.dtype == np.float32 and np.allclose(made, np.exp(-0.7 * TS), rtol=1e-4)


def test_times_in_a_list() -> None:
    assert np.allclose(decay(1.0, [0.0, 0.5, 1.0], 0.7), np.exp([0.0, -0.35, -0.7]), rtol=1e-6)
    assert np.array_equal(decay(1.0, (0, 1), 0.7), decay(1.0, np.array([0, 1]), 0.7))
    at = ct.function(lambda t: decay(1.0, [0.0, t], 0.7)[-1])
    assert np.isclose(ct.grad(at)(2.0), -0.7 * np.exp(-1.4), rtol=1e-5)


def test_complex_numbers() -> None:
    made = ct.odeint(lambda t, y: 1j * y, np.array([1.0 + 0.0j, 2.0j]), TS)
    assert np.allclose(made, np.outer(np.exp(1j * TS), [1.0, 2.0j]), rtol=1e-6)
    with pytest.raises(ct.errors.SpaceError, match="an array and a complex array"):
        ct.odeint(lambda t, y: 1j * y, 1.0, TS)


def test_errors() -> None:
    with pytest.raises(ct.errors.ArgumentError, match="do not grow or fall"):
        decay(1.0, TS[[0, 2, 1]], 0.7)
    with pytest.raises(ct.errors.ConvergenceError, match="at t = 1 a step of size"):
        ct.odeint(lambda t, y: y * y, 1.0, TS)
    with pytest.raises(ct.errors.ConvergenceError, match="at most 30 steps"):
        ct.odeint(lambda t, y: np.cos(1000.0 * t), 1.0, TS, max_steps=30)
    with pytest.raises(ct.errors.ConvergenceError, match="nan times the tolerance"):
        ct.odeint(lambda t, y: y * np.nan, 1.0, TS)
    with pytest.raises(ct.errors.SpaceError, match=r"y in ct.f64\[\(\)\], slopes in ct.f64\[2\]"):
        ct.odeint(lambda t, y: np.stack([y, y]), 1.0, TS)
    with pytest.raises(ct.errors.SpaceError, match="at least one time"):
        decay(1.0, TS[:0], 0.7)
    with pytest.raises(ct.errors.ArgumentError, match="knows no such method"):
        ct.odeint(lambda t, y: y, method="rk5")
    with pytest.raises(ct.errors.ArgumentError, match="steps=100"):
        ct.odeint(lambda t, y: y, method="rk4")


@pytest.mark.parametrize("named", ["odeint", "quad"])
def test_missing_arguments_are_those_of_the_call(named: str) -> None:
    """Not those of the function in it, whose first ones nobody gives; the place is that of the function."""

    def f(t, y, k):
        return -k * y

    call, said = {
        "odeint": (lambda: ct.odeint(f)(1.0), "the solution of f(y0, ts, /, k)"),
        "quad": (lambda: ct.quad(f)(0.0), "the integral of f(a, b, /, y, k)"),
    }[named]
    with pytest.raises(ct.ArgumentError, match="missing a required argument") as caught:
        call()
    assert f"  expected: {said}\n" in str(caught.value) and f"  where:    f at {__file__}" in str(caught.value)
    np.testing.assert_allclose(ct.odeint(f)(1.0, TS, k=0.7), ct.odeint(f)(1.0, TS, 0.7))


def test_a_function_of_y_and_t_in_the_order_of_scipys_odeint_is_refused() -> None:
    def slope(y: Any, t: Any) -> Any:
        return -y * t

    def with_a_local(s: Any, y: Any) -> Any:
        t = 2.0 * s
        return -y * t

    ts = np.array([0.0, 1.0])
    for f in (slope, ct.function(slope), lambda y, t: -y):
        with pytest.raises(ct.ArgumentError, match=r"gives the time first, and the function takes \(y, t\)"):
            ct.odeint(f)(1.0, ts)
    with pytest.raises(ct.ArgumentError, match="gives the time first"):
        ct.odeint(lambda t, y: -y, event=lambda y, t: y - 0.5)
    want = scipy.integrate.odeint(slope, 1.0, ts, rtol=1e-10, atol=1e-12)[-1, 0]
    assert abs(ct.odeint(lambda t, y: slope(y, t), rtol=1e-9)(1.0, ts)[-1] - want) < 1e-8
    assert abs(ct.odeint(with_a_local)(1.0, ts)[-1] - np.exp(-1.0)) < 1e-5
