"""`ct.odeint` with methods for stiff equations: values, derivatives, the structure of what is solved, one program without Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import catad as ct
from catad.equations.ode.rosenbrock import system
from catad.equations.ode.rosenbrock_tableaus import RODAS5P
from catad.traced.function import function_term

Rhs = Callable[..., Any]
RATES = np.array([0.04, 3e7, 1e4])


def robertson(t: Any, y: Any, k: Any) -> Any:
    """Three reactions, whose rates differ by nine orders of magnitude."""
    first, second, third = k[0] * y[0], k[1] * y[1] ** 2, k[2] * y[1] * y[2]
    return np.stack([third - first, first - second - third, second])


def reaction(y: Any, k: Any) -> tuple[Any, Any]:
    """What the Brusselator makes of its two concentrations, without diffusion."""
    u, v = y[0], y[1]
    return 1 + u * u * v - (k + 1) * u, k * u - u * u * v


def ring(t: Any, y: Any, k: Any) -> Any:
    """The Brusselator on a periodic line: (2, n)."""
    a, b = reaction(y, k)

    def spread(w: Any) -> Any:
        return 0.02 * w.shape[0] ** 2 * (np.roll(w, 1) + np.roll(w, -1) - 2 * w)

    return np.stack([a + spread(y[0]), b + spread(y[1])])


def line(t: Any, y: Any, k: Any) -> Any:
    """The Brusselator between ends with fixed concentrations."""
    a, b = reaction(y, k)

    def spread(w: Any, edge: float) -> Any:
        wide = np.concatenate([np.full(1, edge), w, np.full(1, edge)])
        return 0.02 * (w.shape[0] + 1) ** 2 * (wide[2:] - 2 * wide[1:-1] + wide[:-2])

    return np.stack([a + spread(y[0], 1.0), b + spread(y[1], 3.0)])


def plane(t: Any, y: Any, k: Any) -> Any:
    """The Brusselator on a torus: (2, n, n)."""
    a, b = reaction(y, k)

    def spread(w: Any) -> Any:
        around = np.roll(w, 1, 0) + np.roll(w, -1, 0) + np.roll(w, 1, 1) + np.roll(w, -1, 1)
        return 0.02 * w.shape[0] ** 2 * (around - 4 * w)

    return np.stack([a + spread(y[0]), b + spread(y[1])])


def start(*shape: int) -> Any:
    x = np.arange(shape[0]) / shape[0]
    wave = 1 + 0.5 * np.sin(2 * np.pi * x)
    u = wave if len(shape) == 1 else wave[:, None] * np.ones(shape)
    return np.stack([u, np.full(shape, 3.0)])


def reference(rhs: Rhs, y0: Any, ts: Any, *args: Any, **options: Any) -> Any:
    """SciPy's Radau method at small tolerances."""
    made = solve_ivp(
        lambda t, y: np.asarray(rhs(t, y.reshape(y0.shape), *args)).ravel(),
        (ts[0], ts[-1]), y0.ravel(), method="Radau", t_eval=ts, **{"rtol": 1e-9, "atol": 1e-12, **options},
    )  # fmt: skip
    return made.y.T.reshape(len(ts), *y0.shape)


# -- values


def test_robertson() -> None:
    """To 10^11 units of time; the end is that of the test set of W. M. Lioen and J. J. B. de Swart, 1998."""
    ts = np.concatenate([[0.0], 0.4 * 10.0 ** np.arange(11), [1e11]])
    y0 = np.array([1.0, 0.0, 0.0])
    found = ct.odeint(robertson, y0, ts, RATES, method="rodas5p", rtol=1e-8, atol=1e-14, max_steps=1000)
    assert np.allclose(found[-1], [0.2083340149701255e-07, 0.8333360770334713e-13, 0.9999999791665050], rtol=3e-6, atol=0)
    assert np.allclose(found, reference(robertson, y0, ts, RATES, atol=1e-15), rtol=3e-6, atol=0)
    assert np.allclose(found.sum(axis=1), 1.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("method", "rtol", "within"), [("rodas5p", 1e-8, 1e-6), ("rosenbrock23", 1e-5, 3e-3)])
def test_van_der_pol(method: str, rtol: float, within: float) -> None:
    """A relaxation oscillation, with results between steps; an explicit method needs far more steps."""

    def rhs(t: Any, y: Any, mu: Any) -> Any:
        return np.stack([y[1], mu * ((1 - y[0] ** 2) * y[1]) - y[0]])

    y0, ts = np.array([2.0, 0.0]), np.linspace(0.0, 1500.0, 40)
    found = ct.odeint(rhs, y0, ts, 1000.0, method=method, rtol=rtol, atol=rtol, max_steps=20_000)
    assert np.allclose(found[:, 0], reference(rhs, y0, ts, 1000.0)[:, 0], atol=within)
    with pytest.raises(ct.ConvergenceError, match="max_steps"):
        ct.odeint(rhs, y0, ts, 1000.0, method="tsit5", max_steps=20_000)


def test_equations_with_time_and_results_between_steps() -> None:
    """The solution is cos t, after what is fast has died out; steps are longer than the distance of results."""
    ts = np.linspace(0.0, 10.0, 200)
    found = ct.odeint(lambda t, y, k: -k * (y - np.cos(t)) - np.sin(t), np.array(1.0), ts, 1e5, method="rodas5p", rtol=1e-8)
    assert np.allclose(found, np.cos(ts), atol=1e-6)
    back = ct.odeint(lambda t, y: np.cos(t) * y, np.array([1.0]), ts[::-1], method="rodas5p", rtol=1e-8)
    assert np.allclose(back[:, 0], np.exp(np.sin(ts[::-1]) - np.sin(10.0)), rtol=1e-6)


@pytest.mark.parametrize(("rhs", "shape"), [(line, (40,)), (ring, (30,)), (plane, (6, 6))])
def test_reaction_and_diffusion(rhs: Rhs, shape: tuple[int, ...]) -> None:
    y0, ts = start(*shape), np.array([0.0, 0.3, 2.0])
    found = ct.odeint(rhs, y0, ts, 3.0, method="rodas5p", rtol=1e-8)
    assert np.allclose(found, reference(rhs, y0, ts, 3.0), atol=1e-6)


def test_trees() -> None:
    """The names of an equation stay; several arrays are solved for together."""

    def rhs(t: Any, y: Any, k: Any) -> Any:
        made = robertson(t, (y["a"], y["rest"][0], y["rest"][1]), k)
        return {"a": made[0], "rest": (made[1], made[2])}

    ts = np.array([0.0, 4.0, 400.0])
    zero = np.float64(0.0)
    found = ct.odeint(rhs, {"a": np.float64(1.0), "rest": (zero, zero)}, ts, RATES, method="rodas5p", rtol=1e-7, atol=1e-10)
    whole = ct.odeint(robertson, np.array([1.0, 0.0, 0.0]), ts, RATES, method="rodas5p", rtol=1e-7, atol=1e-10)
    assert np.allclose(np.stack([found["a"], *found["rest"]], axis=-1), whole, rtol=1e-9)


# -- derivatives


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
    """Where the solution is exact at any step size, so is the gradient, which knows nothing of them."""

    def loss(k: Any) -> Any:
        return ct.odeint(lambda t, y, k: 0 * y + k * np.cos(t), np.zeros(2), np.array([0.0, 1.0]), k, method="rodas5p")[-1].sum()

    gradient, value = ct.grad(loss)(3.0), loss(3.0)
    assert gradient == pytest.approx(value / 3.0, rel=1e-14)  # linear in k at fixed steps alone


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


# -- structure


@pytest.mark.parametrize(
    ("rhs", "shape", "numbers"),
    [
        (line, (2000,), 7 * 4000),  # five diagonals, and two for interchanges of rows
        (ring, (2000,), 16 * 4000),
        (plane, (40, 40), 480 * 3200),
    ],
)
def test_factors_are_those_of_a_band(rhs: Rhs, shape: tuple[int, ...], numbers: int) -> None:
    """No array that W is solved with is larger than a band; the matrix itself would have 4,000^2 numbers."""
    at = ct.space_of((np.float64(0.0), start(*shape), (np.float64(3.0),)))
    found = system(function_term(lambda t, y, args: rhs(t, y, args[0])), at, RODAS5P.gamma).inverse
    assert max([slot.size for slot in found.slots]) <= numbers
    assert "inverse" in found.series[len(found.series) // 2][0].kind


def test_no_python_within_a_step() -> None:
    """All of value and gradient is compiled, the loop over steps, too."""
    y0 = start(20)
    f = ct.function(lambda y, k: np.sum(ct.odeint(ring, y, np.array([0.0, 0.5]), k, method="rodas5p", rtol=1e-4)[-1]))
    steps = ct.value_and_grad(f).source("steps", y0, 3.0).splitlines()
    assert any("Counted" in step for step in steps)
    assert all(step.endswith("compiled") for step in steps)
