"""Derivatives of `ct.odeint` are those of the computed numbers at constant sizes of steps, in every mode and on every engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct

TS = np.linspace(0.0, 3.0, 7)


@pytest.mark.parametrize("method", ["heun", "tsit5"])
def test_sizes_of_steps_are_constants(method: str) -> None:
    """At constant sizes the result is linear in y0, whatever its error is."""
    rough = ct.function(lambda y: ct.odeint(lambda t, y: -y * (1.0 + t), y, TS, method=method, rtol=0.03, atol=0.3))
    values = rough(2.0)
    assert np.abs(values - 2.0 * np.exp(-TS - 0.5 * TS**2)).max() > 1e-4
    assert np.allclose(ct.jacfwd(rough)(2.0), values / 2.0, rtol=1e-12)
    assert np.allclose(ct.jacrev(rough)(2.0), values / 2.0, rtol=1e-12)
    assert abs(ct.grad(ct.grad(lambda y: rough(y)[-1]))(2.0)) < 1e-12


def pendulum(t: Any, y: Any, p: Any) -> Any:
    return np.stack([y[1], -p[0] * np.sin(y[0]) - p[1] * y[1] + p[2] * np.cos(t)])


P, Y = np.array([2.0, 0.3, 0.5]), np.array([1.0, 0.2])


def test_modes_and_sensitivity_equations() -> None:
    f = ct.function(lambda y, p: ct.odeint(pendulum, y, TS, p, rtol=1e-8)[-1])
    by_p, by_y = ct.jacrev(f, argnums=1)(Y, P), ct.jacrev(f, argnums=0)(Y, P)
    assert np.allclose(by_p, ct.jacfwd(f, argnums=1)(Y, P), rtol=1e-11, atol=1e-12)
    assert np.allclose(by_y, ct.jacobian(f, argnums=0)(Y, P).todense(), rtol=1e-11, atol=1e-12)

    def augmented(t: Any, s: Any) -> Any:
        y, v = s["y"], s["v"]
        c = np.cos(y[0])
        return {"y": pendulum(t, y, P), "v": np.stack([v[1], -P[0] * c * v[0] - np.sin(y[0]) - P[1] * v[1]])}

    made = ct.odeint(augmented, {"y": Y, "v": np.zeros(2)}, TS, rtol=1e-8)
    assert np.allclose(made["v"][-1], by_p[:, 0], rtol=1e-5)


def test_second_derivatives() -> None:
    f = ct.function(lambda p: ct.odeint(pendulum, Y, TS, p, rtol=1e-9)[-1, 0])
    h = 1e-4 * np.eye(3)
    hessian = ct.hessian(f)(P).todense()
    gradient = ct.grad(f)
    assert np.allclose(hessian, hessian.T, rtol=1e-9, atol=1e-9)
    assert np.allclose(hessian, [(gradient(P + e) - gradient(P - e)) / 2e-4 for e in h], atol=1e-4)


def test_engines() -> None:
    f = ct.value_and_grad(ct.function(lambda p: np.sum(ct.odeint(pendulum, Y, TS, p))))
    made = []
    for engine in ("reference", "cpu"):
        with ct.use_engine(engine):
            made.append(f(P))
    assert np.isclose(made[0][0], made[1][0], rtol=1e-12) and np.allclose(made[0][1], made[1][1], rtol=1e-9)


def test_in_loops() -> None:
    @ct.function
    def kicked(a):  # type: ignore[no-untyped-def]
        y = np.float64(1.0)
        for _ in range(20):
            y = 0.5 + ct.odeint(lambda t, y: -a * y, y, [0.0, 0.1])[-1]
        return y

    def known(a: float) -> float:
        q = np.exp(-0.1 * a)
        return float(q**20 + 0.5 * (1.0 - q**20) / (1.0 - q))

    assert np.isclose(kicked(0.7), known(0.7), rtol=1e-5)
    assert np.isclose(ct.grad(kicked)(0.7), (known(0.7001) - known(0.6999)) / 2e-4, rtol=1e-4)
