"""`scipy.integrate.solve_ivp` and `odeint` in traced functions, against SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate
from scipy.integrate import odeint, solve_ivp

import catad as ct

TS = np.linspace(0.0, 5.0, 7)
TIGHT = {"rtol": 1e-9, "atol": 1e-9}


def lotka_volterra(t: Any, y: Any, a: Any, b: Any) -> Any:
    return [a * y[0] - b * y[0] * y[1], -b * y[1] + 0.1 * y[0] * y[1]]


def landing(t: Any, y: Any) -> Any:
    return y[0]


landing.terminal, landing.direction = True, -1  # type: ignore[attr-defined]


@pytest.mark.parametrize("method", ["RK45", "RK23", "Radau", "LSODA"])
def test_results_at_times(method: str) -> None:
    def solved(a: Any) -> Any:
        return solve_ivp(lotka_volterra, (0, 5), [1, 2], method, TS, args=(a, 0.4), rtol=1e-7, atol=1e-7).y

    made = ct.function(solved)(1.1)
    assert made.shape == (2, 7) and np.allclose(made, solved(1.1), rtol=2e-5)


def test_gradients() -> None:
    def last(a: Any) -> Any:
        return scipy.integrate.solve_ivp(lotka_volterra, [0.0, 5.0], [1.0, 2.0], args=(a, 0.4), **TIGHT)["y"][0, -1]

    by_difference = (last(1.1 + 1e-4) - last(1.1 - 1e-4)) / 2e-4
    assert np.isclose(ct.grad(ct.function(last))(1.1), by_difference, rtol=1e-6)


def test_ends_and_dense_output() -> None:
    @ct.function
    def parts(k):  # type: ignore[no-untyped-def]
        made = solve_ivp(lambda t, y: -k * y, (0, 2), [1.0, 3.0], dense_output=True, **TIGHT)
        assert made.success and made.t_events is None
        return made.t, made.y, made.sol(np.array([[1.5, 0.5], [0.0, 2.0]])), made.sol(1.0), made.status

    t, y, at, one, status = parts(1.1)
    assert np.array_equal(t, [0.0, 2.0]) and status == 0
    assert np.allclose(y, np.exp(-1.1 * t) * np.array([[1.0], [3.0]]), rtol=1e-7)
    want = np.exp(-1.1 * np.array([[1.5, 0.5], [0.0, 2.0]]))
    assert at.shape == (2, 2, 2) and np.allclose(at, np.stack([want, 3.0 * want]), rtol=1e-7)
    assert one.shape == (2,) and np.allclose(one, np.exp(-1.1) * np.array([1.0, 3.0]), rtol=1e-7)


def test_an_event_ends_it() -> None:
    def thrown(v: Any) -> Any:
        made = solve_ivp(lambda t, y: [y[1], -9.81], (0, 5), [0.0, v], t_eval=TS, events=landing)
        return made.t, made.y, made.t_events[0], made.y_events[0], made.status

    (t, y, *rest), known = ct.function(thrown)(10.0), thrown(10.0)
    n = known[0].size
    assert np.allclose(t[:n], known[0]) and np.isnan(t[n:]).all()
    assert np.allclose(y[:, :n], known[1]) and np.isnan(y[:, n:]).all()
    assert all(np.allclose(a, b, atol=1e-9) for a, b in zip(rest, known[2:], strict=True))
    assert np.isclose(ct.grad(lambda v: ct.function(thrown)(v)[2][0])(10.0), 2.0 / 9.81)


def test_odeint() -> None:
    def solved(k: Any) -> Any:
        return odeint(lambda y, t, k: -k * y + t, [1.0, 2.0], TS, args=(k,))

    def by_time_first(k: Any) -> Any:
        return odeint(lambda t, y: -k * y, 1.0, TS, tfirst=True, rtol=1e-9)

    assert np.allclose(ct.function(solved)(0.7), solved(0.7), atol=1e-6)
    assert np.allclose(ct.function(by_time_first)(0.7), by_time_first(0.7), atol=1e-6)


def test_what_is_not_traced() -> None:
    def refused(match: str, **options: Any) -> None:
        with pytest.raises(ct.errors.TraceError, match=match):
            ct.function(lambda k: solve_ivp(lambda t, y: -k * y, (0, 1), [1.0], **options).y)(1.0)

    refused("RK45, RK23", method="DOP853")
    refused("one number as atol", atol=[1e-3])
    refused("one event", events=lambda t, y: y[0])
    refused("one event", events=[landing, landing])
    refused("min_step", min_step=1e-3)
    with pytest.raises(ct.errors.TraceError, match="has no nfev"):
        ct.function(lambda k: solve_ivp(lambda t, y: -k * y, (0, 1), [1.0]).nfev)(1.0)
    with pytest.raises(ct.errors.TraceError, match="full_output"):
        ct.function(lambda k: odeint(lambda y, t: -k * y, 1.0, TS, full_output=1))(1.0)
