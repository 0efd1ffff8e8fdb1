"""Single steps and fixed steps of Rosenbrock methods: order, stability, derivatives, the structure of W."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import catad as ct
from catad.category.terms import D
from catad.equations.ode.method import Slopes, Step
from catad.equations.ode.rosenbrock import Rosenbrock, system
from catad.equations.ode.rosenbrock_tableaus import RODAS5P, ROSENBROCK23, RosenbrockTableau
from catad.linear.families.inverse import Factor
from catad.linear.structure import Structure
from catad.traced.function import function_term

Rhs = Callable[[Any, Any, Any], Any]
METHODS = [RODAS5P, ROSENBROCK23]


def stepper(rhs: Rhs, y0: Any, args: tuple[Any, ...], method: RosenbrockTableau = RODAS5P) -> Callable[..., Step]:
    """(t, leaves of y, h, args) to a step, in a traced function."""
    slopes = slopes_of(rhs, y0, args)
    return lambda t, y, h, given: Rosenbrock(method).step(slopes, t, h, y, y, (), given)


def slopes_of(rhs: Rhs, y0: Any, args: tuple[Any, ...]) -> Slopes:
    return Slopes(function_term(rhs), ct.space_of((np.float64(0.0), y0, tuple([np.asarray(a) for a in args]))))


def inverse_of(rhs: Rhs, y0: Any, args: tuple[Any, ...]) -> Structure:
    """What solves for the stages."""
    slopes = slopes_of(rhs, y0, args)
    return system(slopes.f, slopes.dom, RODAS5P.gamma).inverse


def fixed(rhs: Rhs, y0: Any, args: tuple[Any, ...], n: int, method: RosenbrockTableau = RODAS5P) -> D:
    """(y0, args, length) to y after n steps of one length, for one array y."""
    step = stepper(rhs, y0, args, method)

    def solve(y0: Any, args: Any, length: Any) -> Any:
        y, t, h = (y0,), 0.0 * length, length / n
        for _ in range(n):
            y, t = step(t, y, h, args).end, t + h
        return y[0]

    made: D = ct.function(solve)
    return made


def slopes(errors: list[float]) -> list[float]:
    """The orders that errors at halved step sizes show."""
    return [math.log2(a / b) for a, b in itertools.pairwise(errors)]


# -- problems


def prothero_robinson(t: Any, y: Any, args: Any) -> Any:
    """The solution from y(0) = 1 is cos t."""
    return args[0] * (y - np.cos(t)) - np.sin(t)


def van_der_pol(t: Any, y: Any, args: Any) -> Any:
    return np.stack([y[1], args[0] * (1 - y[0] ** 2) * y[1] - y[0] + 0.1 * np.sin(t)])


def linear(t: Any, y: Any, args: Any) -> Any:
    return args[0] @ y


def brusselator(t: Any, y: Any, args: Any) -> Any:
    """Two concentrations (2, n) on a line, with fixed ends."""
    (k,) = args
    u, v = y[0], y[1]
    reaction = u * u * v

    def spread(w: Any, edge: float) -> Any:
        wide = np.concatenate([np.full(1, edge), w, np.full(1, edge)])
        return 0.02 * (wide[2:] - 2 * wide[1:-1] + wide[:-2]) * (w.shape[0] + 1) ** 2

    return np.stack([1 + reaction - (k + 1) * u + spread(u, 1.0), k * u - reaction + spread(v, 3.0)])


# -- order and stability


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_order_on_an_equation_with_time(method: RosenbrockTableau) -> None:
    y0, args = np.array([1.0]), (-1.0,)
    errors = [abs(fixed(prothero_robinson, y0, args, n, method)(y0, args, 2.0)[0] - math.cos(2.0)) for n in (16, 32, 64)]
    assert slopes(errors) == pytest.approx([method.order] * 2, abs=0.15)


def test_order_on_van_der_pol() -> None:
    y0, args = np.array([2.0, 0.0]), (3.0,)
    exact = solve_ivp(lambda t, y: van_der_pol(t, y, args), (0, 1), y0, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    errors = [np.abs(fixed(van_der_pol, y0, args, n)(y0, args, 1.0) - exact).max() for n in (20, 40, 80)]
    assert slopes(errors) == pytest.approx([5.0, 5.0], abs=0.15)


@pytest.mark.parametrize(("method", "counts"), [(RODAS5P, (8, 16, 32)), (ROSENBROCK23, (200, 400, 800))])
def test_order_on_linear_systems(method: RosenbrockTableau, counts: tuple[int, ...]) -> None:
    a = np.random.default_rng(3).normal(size=(5, 5)) - 2 * np.eye(5)
    y0, exact = np.arange(1.0, 6.0), expm(1.5 * a) @ np.arange(1.0, 6.0)
    errors = [np.abs(fixed(linear, y0, (a,), n, method)(y0, (a,), 1.5) - exact).max() for n in counts]
    assert min(slopes(errors)) > method.order - 0.15


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_large_steps_damp_what_is_fast(method: RosenbrockTableau) -> None:
    """L-stability: R(z) goes to 0 where z = lambda h goes to minus infinity, and never exceeds 1 before."""
    decay = fixed(linear, np.ones(1), (np.ones((1, 1)),), 1, method)
    factors = [abs(decay(np.ones(1), (-z * np.ones((1, 1)),), 1.0)[0]) for z in np.logspace(-2, 10, 49)]
    assert max(factors) <= 1.0
    assert factors[-1] < 1e-7 and factors[-9] < 1e-5
    y0, args = np.array([5.0]), (-1e9,)
    found = fixed(prothero_robinson, y0, args, 4, method)(y0, args, 2.0)
    assert found == pytest.approx([math.cos(2.0)], abs=1e-6 if method is RODAS5P else 0.02)


def test_stiff_equations_keep_their_accuracy() -> None:
    y0, args = np.array([1.0]), (-1e6,)
    errors = [abs(fixed(prothero_robinson, y0, args, n)(y0, args, 2.0)[0] - math.cos(2.0)) for n in (4, 8, 16)]
    assert errors[0] < 1e-9 and errors[2] < 1e-11


@pytest.mark.parametrize(("method", "order"), [(RODAS5P, 5), (ROSENBROCK23, 3)])
def test_error_estimate_and_dense_output(method: RosenbrockTableau, order: int) -> None:
    """The estimate has the local order of the embedded method, dense output one less than the solution or the same."""
    y0, args = np.array([2.0, 0.0]), (3.0,)
    step = stepper(van_der_pol, y0, args, method)

    def one(y: Any, h: Any, part: Any) -> Any:
        made = step(0.0 * h, (y,), h, args)
        assert made.error is not None
        return made.end[0], made.error[0], Rosenbrock(method).within(part, h, tuple([leaves[0] for leaves in made.kept]))

    run = ct.function(one)
    estimates, errors = [], []
    for h in (0.016, 0.008, 0.004):
        exact = solve_ivp(lambda t, y: van_der_pol(t, y, args), (0, 0.7 * h), y0, method="DOP853", rtol=1e-13, atol=1e-15)
        estimates.append(np.abs(run(y0, h, 0.7)[1]).max())
        errors.append(np.abs(run(y0, h, 0.7)[2] - exact.y[:, -1]).max())
    assert slopes(estimates) == pytest.approx([order] * 2, abs=0.35)
    assert all(found > order - 0.35 for found in slopes(errors))
    end, _, found = run(y0, 0.1, 1.0)
    assert np.array_equal(found, end) and np.array_equal(run(y0, 0.1, 0.0)[2], y0)


# -- derivatives


def _differences(f: Callable[[Any], Any], x: Any, step: float = 1e-6) -> Any:
    columns = [(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(x.size).reshape(x.size, *x.shape)]
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_derivatives_of_some_steps(method: RosenbrockTableau) -> None:
    """By the start and by arguments: differences, forward and reverse mode, second derivatives, of the same steps."""
    y0, mu = np.array([1.7, -0.3]), np.array([4.0])

    def rhs(t: Any, y: Any, args: Any) -> Any:
        return van_der_pol(t, y, (args[0][0],))

    solve = fixed(rhs, y0, (mu,), 3, method)
    by_y, by_mu = ct.function(lambda y: solve(y, (mu,), 0.9)), ct.function(lambda m: solve(y0, (m,), 0.9))
    for f, x in ((by_y, y0), (by_mu, mu)):
        expected = _differences(f, x)
        jacobian = np.asarray(ct.jacobian(f)(x))
        assert np.allclose(jacobian, expected, rtol=1e-7, atol=1e-7)
        forward = np.stack([ct.jvp(f, (x,), (e,))[1] for e in np.eye(x.size)], axis=-1)
        reverse = np.stack([ct.vjp(f, x)[1](e)[0] for e in np.eye(2)])
        assert np.allclose(forward, reverse, rtol=1e-12, atol=1e-12) and np.allclose(forward, jacobian, rtol=1e-12)
        loss = ct.function(lambda x, f=f: np.sum(f(x) ** 2 * np.array([1.0, 0.5])))
        gradient = ct.grad(loss)
        assert np.allclose(np.asarray(ct.hessian(loss)(x)), _differences(gradient, x), rtol=1e-6, atol=1e-6)


def test_gradient_of_many_unknowns() -> None:
    """A banded W: one direction against differences, forward mode against reverse mode."""
    rng = np.random.default_rng(0)
    y0, v = rng.uniform(0.5, 3.0, size=(2, 30)), rng.normal(size=(2, 30))
    solve = fixed(brusselator, y0, (3.0,), 4)
    loss = ct.function(lambda y, k: np.sum(np.sin(solve(y, (k,), 0.4))))
    by_y, by_k = ct.grad(loss, argnums=(0, 1))(y0, 3.0)
    along = (loss(y0 + 1e-6 * v, 3.0) - loss(y0 - 1e-6 * v, 3.0)) / 2e-6
    assert np.sum(by_y * v) == pytest.approx(along, rel=1e-7)
    assert by_k == pytest.approx((loss(y0, 3.0 + 1e-6) - loss(y0, 3.0 - 1e-6)) / 2e-6, rel=1e-7)
    assert ct.jvp(loss, (y0, 3.0), (v, 2.0))[1] == pytest.approx(np.sum(by_y * v) + 2.0 * by_k, rel=1e-11)


def test_one_factorisation_serves_all_stages_and_the_gradient() -> None:
    y0 = np.ones((2, 12))
    solve = fixed(brusselator, y0, (3.0,), 1)
    loss = ct.function(lambda y: np.sum(solve(y, (3.0,), 0.1) ** 2))
    for f in (loss, ct.value_and_grad(loss)):
        boxes = ct.wire(f, ct.space_of(y0)).boxes
        assert sum([isinstance(box.primitive, Factor) for box in boxes]) == 1


# -- spaces and structures


def test_structures_of_w() -> None:
    """What is inverted has the bands or blocks of the Jacobian, in an order that makes them narrow."""
    line = inverse_of(brusselator, np.ones((2, 200)), (3.0,))
    assert max([slot.size for slot in line.slots]) <= 7 * 400  # five diagonals, and two for interchanges
    apart = inverse_of(lambda t, y, args: -y * np.roll(y, 1, axis=1), np.ones((500, 3)), ())
    assert max([slot.size for slot in apart.slots]) <= 9 * 500
    assert inverse_of(lambda t, y, args: -(y**2), np.ones(500), ()).kind == "diagonal"


def test_trees_and_numbers() -> None:
    """Several leaves, also of no axes, give the numbers of one array."""

    def tree(t: Any, y: Any, args: Any) -> Any:
        a, b = y
        return (b, args[0] * (1 - a**2) * b - a + 0.1 * np.sin(t))

    step, whole = stepper(tree, (2.0, 0.5), (3.0,)), stepper(van_der_pol, np.array([2.0, 0.5]), (3.0,))
    f = ct.function(lambda a, b, h: step(0.0 * h, (a, b), h, (3.0,)))
    g = ct.function(lambda y, h: whole(0.0 * h, (y,), h, (3.0,)))
    found, expected = f(2.0, 0.5, 0.1), g(np.array([2.0, 0.5]), 0.1)
    assert np.allclose(np.stack(found.end), expected.end[0], rtol=1e-13, atol=0)
    assert np.allclose(np.stack(found.error), expected.error[0], rtol=1e-6, atol=1e-16)


@pytest.mark.parametrize("rhs", [lambda t, y, args: np.cos(t) + 0 * y, lambda t, y, args: 0 * y, lambda t, y, args: -t * y])
def test_jacobians_that_vanish_or_move(rhs: Rhs) -> None:
    y0 = np.ones(3)
    exact = solve_ivp(lambda t, y: rhs(t, y, ()), (0, 1), y0, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    assert np.allclose(fixed(rhs, y0, (), 8)(y0, (), 1.0), exact, atol=1e-6)


@pytest.mark.parametrize("rhs", [lambda t, y, args: args[0] * y, lambda t, y, args: args[0] * np.eye(2) @ y])
def test_a_singular_w_gives_no_number(rhs: Rhs) -> None:
    """In one lane of a batch alone; an adaptive method does not accept such a step."""
    k, h = 0.37, 12.752353391102483
    assert 1.0 - (h * RODAS5P.gamma) * k == 0.0
    step = stepper(rhs, np.ones(2), (k,))
    f = ct.function(lambda h, k: step(0.0 * h, (np.ones(2),), h, (k,)).end[0])
    found = ct.vmap(f)(np.array([0.1, h, 0.2]), np.array([k, k, k]))
    assert np.isnan(found[1]).all()
    assert np.allclose(found[[0, 2]], np.exp(k * np.array([[0.1], [0.2]])), rtol=1e-8)


def test_float32_stays() -> None:
    y0 = np.array([2.0, 0.0], np.float32)
    step = stepper(lambda t, y, args: van_der_pol(t, y, args).astype(np.float32), y0, (3.0,))
    made = ct.function(lambda y, h, mu: step(0.0 * h, (y,), h, (mu,)))(y0, np.float64(0.1), np.float64(3.0))
    wide = fixed(van_der_pol, np.array([2.0, 0.0]), (3.0,), 1)(np.array([2.0, 0.0]), (3.0,), 0.1)
    assert made.end[0].dtype == np.float32 and np.allclose(made.end[0], wide, rtol=1e-5, atol=1e-6)


def test_batches_are_lanes() -> None:
    y0 = np.random.default_rng(1).uniform(0.5, 2.0, size=(4, 2))
    mu = np.array([1.0, 3.0, 10.0, 100.0])
    solve = fixed(van_der_pol, y0[0], (1.0,), 5)
    found = ct.vmap(lambda y, m: solve(y, (m,), 0.5))(y0, mu)
    assert np.allclose(found, [solve(y, (m,), 0.5) for y, m in zip(y0, mu, strict=True)], rtol=1e-13, atol=1e-13)
    gradient = ct.grad(lambda m: ct.vmap(lambda y, one: solve(y, (one,), 0.5))(y0, m).sum())(mu)
    alone = [ct.grad(lambda m, y=y: solve(y, (m,), 0.5).sum())(one) for y, one in zip(y0, mu, strict=True)]
    assert np.allclose(gradient, alone, rtol=1e-10)


def test_engines_agree() -> None:
    y0 = np.random.default_rng(2).uniform(0.5, 3.0, size=(2, 9))
    solve = fixed(brusselator, y0, (3.0,), 2)
    loss = ct.value_and_grad(ct.function(lambda y: np.sum(solve(y, (3.0,), 0.2) ** 2)))
    found = {}
    for engine in ("cpu", "reference"):
        with ct.use_engine(engine):
            found[engine] = loss(y0)
    for a, b in zip(found["cpu"], found["reference"], strict=True):
        assert np.allclose(a, b, rtol=1e-11, atol=1e-11)
