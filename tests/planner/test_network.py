"""Programs with forks: any order of elimination gives the Jacobian, in as many operations as predicted."""

from __future__ import annotations

import random
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import catad as ct
from catad.linear.network import Network
from catad.planner import Plan, plan
from catad.planner.network.bound import bound

from .forks import MULTIPLIED, Program, differences, flat, matrix, programs, pushed, random_program


def elimination(program: Program, **options: Any) -> Plan:
    found = plan(program.f, *program.point, mode="elimination", cost="operations", **options)
    assert found.kind == "order"
    return found


def check(planned: ct.Plan, linear: ct.LinearMap, point: tuple[Any, ...], expected: Any) -> ct.LinearMap:
    """Run a plan: as many operations as predicted, and the expected matrix."""
    with ct.count() as c:
        found = planned.multiply(linear)
    assert c.operations == planned.cost.operations
    np.testing.assert_allclose(pushed(found, point), expected, rtol=1e-9, atol=1e-10)
    return found


@given(programs(), st.randoms(use_true_random=False), st.booleans())
def test_every_order_gives_the_jacobian(program: Program, rng: random.Random, explicit: bool) -> None:
    f, point = program
    _, linear = ct.linearize(f, *point)
    expected = pushed(linear, point)
    np.testing.assert_allclose(expected, differences(program), rtol=1e-5, atol=1e-6 * (1 + np.abs(expected).max()))
    planned = elimination(program, explicit=explicit)
    order = list(planned.strategy.graph.inner)
    rng.shuffle(order)
    forward, reverse = (plan(f, *point, mode=mode, cost="operations") for mode in ("forward", "reverse"))
    chosen = plan(f, *point, cost="operations", explicit=explicit)
    for one in (planned, planned.edited(order), chosen, forward, reverse):
        found = check(one, linear, point, expected)
        if explicit and one not in (forward, reverse):
            assert not found.structure.is_lazy  # what has no rule may stay a chain, of maps that are all written out
    if not explicit:
        assert chosen.cost.operations <= min(forward.cost.operations, reverse.cost.operations)


@settings(max_examples=20)
@given(programs(4), st.integers(1, 9))
def test_pullbacks_of_many_run_the_same_plans(program: Program, count: int) -> None:
    f, point = program
    y, pullback = ct.vjp(f, *point)
    rng = np.random.default_rng(count)
    leaves = y if isinstance(y, tuple) else (y,)
    many = tuple([rng.standard_normal((count, *leaf.shape)) for leaf in leaves])
    found = pullback.many(many if len(many) > 1 else many[0])
    for k in range(count):
        one = pullback(tuple([part[k] for part in many]) if len(many) > 1 else many[0][k])
        np.testing.assert_allclose(flat(tuple([part[k] for part in found])), flat(one), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("start", range(0, 48, 12))
def test_the_best_of_all_orders(start: int) -> None:
    """What is said to be optimal is; what is not is seldom beaten by much, and no order is below a bound."""
    met = 0
    for seed in range(start, start + 12):
        planned = elimination(random_program(seed, 3 + seed % 5))
        inner = planned.strategy.graph.inner
        if not 2 <= len(inner) <= 5:
            continue
        met += 1
        least = min(planned.edited(list(order)).cost.operations for order in permutations(inner))
        assert planned.bound <= least
        if planned.exact:
            assert planned.cost.operations == least
        assert planned.cost.operations <= 1.1 * least
    assert met >= 3


def test_some_programs_are_planned_exactly_and_some_by_orders() -> None:
    """An order that is known to be the best is taken without a look at bracketings, so it may cost as much as one of them."""
    exact = cheaper = 0
    for seed in range(40):
        f, point = random_program(seed, 6, MULTIPLIED)
        exact += elimination(Program(f, point)).exact
        chosen = plan(f, *point, cost="operations")
        if chosen.kind == "order":
            bracketed = chosen.edited("auto")
            cheaper += chosen.cost.operations < bracketed.cost.operations
            assert chosen.cost.operations <= bracketed.cost.operations
    assert exact >= 5 and cheaper >= 3


def test_the_kinds_of_edges_decide() -> None:
    """By sizes both orders cost the same; the diagonal makes one of them cheaper."""
    rng = np.random.default_rng(0)
    f = matrix(rng, 6, 6) >> ct.fork(ct.tanh, matrix(rng, 6, 6)) >> ct.mul >> matrix(rng, 2, 6)
    planned = elimination(Program(f, (np.ones(6),)))
    costs = {order: planned.edited(list(order)).cost.operations for order in permutations(planned.strategy.graph.inner)}
    assert planned.exact and planned.cost.operations == min(costs.values()) < max(costs.values())


def test_where_elimination_beats_every_bracketing() -> None:
    """One parameter and a path beside many parameters and a number: each is cheap from another end."""
    rng, n = np.random.default_rng(0), 20
    wide = ct.compose(*[matrix(rng, n, n) >> ct.tanh for _ in range(3)])
    also = ct.compose(*[matrix(rng, n, n) >> ct.tanh for _ in range(3)])
    f = ct.cross(matrix(rng, n, 2) >> wide, also >> matrix(rng, 2, n))
    point = np.ones(2), np.ones(n)
    planned = plan(f, *point, cost="operations")
    assert planned.kind == "order"
    assert planned.cost.operations == 2 * (3 * n * n * 2 + 3 * n * 2) == planned.bound and "optimal" in repr(planned)
    dearer = planned.edited(planned.order[::-1])
    assert dearer.kind == "order" and dearer.cost.operations > planned.bound and not dearer.exact
    assert planned.edited("auto").cost.operations > n**3 + planned.cost.operations
    _, linear = ct.linearize(f, *point)
    check(planned, linear, point, pushed(linear, point))


def test_no_order_is_below_a_bound() -> None:
    """Programs of dense maps and diagonals, diagonals beside other maps among them."""
    met = reached = 0
    for seed in range(120):
        planned = elimination(random_program(seed, 3 + seed % 5, ("dense", "dense", "pointwise"), 7), budget=3000)
        least = bound(planned.strategy.graph)
        if not least or not planned.strategy.graph.inner:
            continue
        met += 1
        orders = list(permutations(planned.strategy.graph.inner)) if len(planned.strategy.graph.inner) <= 5 else [planned.order]
        costs = [planned.edited(list(order)).cost.operations for order in orders[:: 1 + len(orders) // 40]]
        assert least <= min(costs)
        reached += planned.cost.operations == least
    assert met >= 10 and reached >= met / 3


def test_a_straight_line_is_planned_as_before() -> None:
    rng = np.random.default_rng(0)
    f = matrix(rng, 5, 4) >> ct.tanh >> matrix(rng, 2, 5)
    chosen = plan(f, np.ones(4), cost="operations")
    assert chosen.kind == "bracketing" and chosen.exact and len(chosen.steps) == 2
    by_order = elimination(Program(f, (np.ones(4),)))
    assert by_order.cost.operations == chosen.cost.operations and by_order.result == chosen.result


def test_wires_without_a_path_cost_nothing() -> None:
    """An output that is an input, one that is constant, an argument that is not used, a result that stands twice."""
    f = ct.fork(ct.proj(0), ct.const(np.ones(3)), ct.proj(0) >> ct.sin, ct.proj(0) >> ct.sin)
    point = np.ones(2), np.zeros(4)
    planned = elimination(Program(f, point))
    assert planned.cost.operations == 0 and len(planned.strategy.graph.inner) == 1
    _, linear = ct.linearize(f, *point)
    check(planned, linear, point, pushed(linear, point))


def test_maps_of_several_leaves_stay_whole() -> None:
    """A scan of pairs is one edge between its arguments together and its results together."""
    pairs = ct.scan(lambda a, b: (a[0] + b[0] * a[1], a[1] * b[1]), (0.0, 1.0))
    f = ct.fork(ct.sin, ct.cos) >> pairs >> ct.mul
    planned = elimination(Program(f, (np.ones(4),)))
    assert max(len(leaves) for leaves in planned.strategy.graph.spaces) == 2
    _, linear = ct.linearize(f, np.ones(4))
    expected = pushed(linear, (np.ones(4),))
    for order in list(permutations(planned.strategy.graph.inner))[::97]:
        check(planned.edited(list(order)), linear, (np.ones(4),), expected)
    dense = plan(f, np.ones(4), mode="elimination", explicit=True)
    assert "chain" not in check(dense, linear, (np.ones(4),), expected).kind


@pytest.mark.parametrize("seed", range(8))
def test_maps_that_are_put_together_are_one_graph(seed: int) -> None:
    """Products and transposes of the derivatives of programs with forks."""
    f, point = random_program(seed, 4)
    y, first = ct.linearize(f, *point)
    second = ct.linearize(ct.fork(ct.sin, ct.cos) >> ct.mul, y[0] if isinstance(y, tuple) else y)[1]
    linear = first if isinstance(y, tuple) else first >> second
    found = plan(linear, mode="elimination", cost="operations")
    check(found, linear, point, pushed(linear, point))
    back = plan(linear.T, mode="elimination", cost="operations")
    assert isinstance(linear.structure, Network) == isinstance(linear.T.structure, Network)
    np.testing.assert_allclose(
        pushed(back.multiply(linear.T), y if isinstance(y, tuple) else (y,)), pushed(linear, point).T, rtol=1e-9, atol=1e-10
    )


@pytest.mark.parametrize("seed", range(6))
def test_single_precision_stays_single(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = [rng.standard_normal((3, 3)).astype(np.float32) for _ in range(3)]
    one, two, three = (ct.fork(ct.const(w), ct.id) >> ct.einsum("ij,j->i") for w in weights)
    f = one >> ct.fork(two >> ct.tanh, ct.id) >> ct.add >> ct.fork(three, ct.sin) >> ct.mul
    x = np.ones(3, np.float32)
    planned = plan(f, x, mode="elimination", cost="operations")
    _, linear = ct.linearize(f, x)
    found = planned.multiply(linear)
    assert all(slot.dtype == np.float32 for slot in found.slots)
    np.testing.assert_allclose(found.todense(), linear.todense(), rtol=2e-5, atol=1e-5)


def test_the_hessian_of_a_program_with_forks() -> None:
    rng = np.random.default_rng(0)
    f = ct.fork(matrix(rng, 3, 4) >> ct.tanh, matrix(rng, 3, 4)) >> ct.mul >> ct.sum()
    x = rng.standard_normal(4)
    g = ct.grad(f)
    expected = np.stack([(g(x + 1e-5 * e) - g(x - 1e-5 * e)) / 2e-5 for e in np.eye(4)], axis=-1)
    for mode in ("auto", "elimination"):
        planned = plan(f, x, want="hessian", mode=mode, cost="operations")
        np.testing.assert_allclose(planned.run(x).todense(), expected, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(ct.hessian(f, mode=planned)(x).todense(), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_edges_that_cancel_and_empty_arrays_are_no_edges(n: int) -> None:
    """A sum of maps may be zero by structure: of opposite factors, or without entries."""
    x = np.linspace(0.5, 1.5, n)
    both = ct.fork(ct.sin, ct.sin >> ct.neg) >> ct.add
    for f in (
        both >> ct.exp,
        ct.fork(both, ct.cos) >> ct.mul,
        ct.grad(ct.fork(ct.exp, both) >> ct.mul >> ct.scan(lambda a, b: a + b - a * b, 0.0) >> ct.sum()),
    ):
        want = ct.linearize(f, x)[1].todense(force=True)
        for mode in ("auto", "elimination", "forward", "reverse"):
            got = ct.jacobian(f, mode)(x).todense(force=True)
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
