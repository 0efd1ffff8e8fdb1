"""Plans that eliminate, as data: limits, edits, JSON, reports; and what the search does with its budget."""

from __future__ import annotations

import json
import random
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.planner import Plan, plan
from catad.planner.costs.cost_profile import CostProfile, Rates
from catad.planner.network import search as searching
from catad.planner.network.kinds import Kinds
from catad.planner.plan import forget

from .forks import matrix, pushed, random_program


def eliminated(f: ct.D, *point: Any, **options: Any) -> Plan:
    found = plan(f, *point, mode="elimination", cost=options.pop("cost", "operations"), **options)
    assert found.kind == "order"
    return found


def skips(n: int, blocks: int, narrow: int = 2) -> ct.D:
    """x + U tanh(V x), again and again."""
    rng = np.random.default_rng(0)
    return ct.compose(
        *[ct.fork(ct.id, matrix(rng, narrow, n) >> ct.tanh >> matrix(rng, n, narrow)) >> ct.add for _ in range(blocks)]
    )


F, X = skips(8, 2), np.linspace(-1.0, 1.0, 8)


# -- limits


def wide_between(n: int = 12) -> ct.D:
    """Two wide branches that need not be alive at a time, and a narrow end."""
    rng = np.random.default_rng(0)
    branch = [matrix(rng, n, 3) >> ct.tanh >> matrix(rng, n, n) >> ct.tanh >> matrix(rng, 2, n) for _ in range(2)]
    return ct.fork(*branch) >> ct.mul


def test_memory_limits_the_peak_of_an_order() -> None:
    f, x = wide_between(), np.ones(3)
    _, linear = ct.linearize(f, x)
    peaks = {eliminated(f, x).edited(list(order)).cost.peak for order in _orders(eliminated(f, x), 200)}
    assert len(peaks) > 5
    limit, met = max(peaks), []
    while True:
        try:
            small = eliminated(f, x, memory=limit)
        except ct.PlanError as error:
            least = int(str(error).split("at least ")[1].split(":")[0])
            assert least > limit
            break
        assert small.cost.peak <= limit
        np.testing.assert_allclose(small.multiply(linear).todense(), linear.todense(), rtol=1e-12)
        met.append(small.cost.peak)
        limit = small.cost.peak - 1
    assert len(met) >= 1 and min(met) <= min(peaks)


def test_bracketing_or_order_whichever_fits() -> None:
    """Under a limit that is just met by one of both the plan is that one."""
    for seed in range(12):
        f, point = random_program(seed, 6)
        both = [plan(f, *point, cost="operations", mode=mode) for mode in ("auto", "elimination", "forward", "reverse")]
        limit = min(one.cost.peak for one in both)
        assert plan(f, *point, cost="operations", memory=limit).cost.peak <= limit


def _orders(planned: Plan, count: int) -> list[list[int]]:
    rng, found = random.Random(0), []
    for _ in range(count):
        order = list(planned.strategy.graph.inner)
        rng.shuffle(order)
        found.append(order)
    return found


def test_the_budget_bounds_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products looked at, in the cost that the search gives them, and not seconds; without a budget there is a bracketing."""
    looked = 0
    product = Kinds.product

    def counted(self: Kinds, first: int, second: int) -> Any:
        nonlocal looked
        looked += (first, second) not in self.products
        return product(self, first, second)

    monkeypatch.setattr(Kinds, "product", counted)
    forget()
    seen = {}
    for budget in (10, 1000, 40_000):
        looked = 0
        plan(F, X, cost="operations", budget=budget)
        seen[budget] = looked
        assert looked <= budget / 60 + 1
    assert seen[10] <= 1 < seen[1000] <= seen[40_000]
    assert plan(F, X, cost="operations", budget=10).kind == "bracketing"
    assert eliminated(F, X, budget=10).order in (
        tuple(eliminated(F, X).strategy.graph.inner),
        tuple(eliminated(F, X).strategy.graph.inner)[::-1],
    )


def test_large_graphs_fall_back_on_what_is_affordable() -> None:
    """Of a graph that is too large to search, the order of the program and its reverse."""
    f = skips(3, 150)
    ends = [plan(f, np.ones(3) / 10, mode=mode, cost="operations").cost.operations for mode in ("forward", "reverse")]
    assert plan(f, np.ones(3) / 10, cost="operations").cost.operations <= min(ends)
    planned = eliminated(f, np.ones(3) / 10)
    assert len(planned.strategy.graph.inner) > 400
    inner = planned.strategy.graph.inner
    rivals = [planned.edited(list(order)).cost.operations for order in (inner, inner[::-1])]
    assert planned.cost.operations <= min(rivals)


def test_the_same_plan_every_time() -> None:
    found = []
    for _ in range(2):
        forget()
        found.append(plan(skips(9, 5), np.ones(9), cost="operations", budget=40_000))
    assert found[0].kind == "order" and found[0].order == found[1].order
    assert plan(skips(9, 5), np.ones(9), cost="operations", budget=40_000).order == found[0].order


def test_the_search_is_exact_only_where_nothing_is_shared() -> None:
    """Two products of the same arrays are computed once: costs of steps do not add up, and the plan says so."""
    rng = np.random.default_rng(0)
    weights = matrix(rng, 4, 4)
    shared = weights >> ct.fork(weights, ct.tanh) >> ct.mul >> matrix(rng, 2, 4)
    apart = matrix(rng, 4, 4) >> ct.fork(matrix(rng, 4, 4), ct.tanh) >> ct.mul >> matrix(rng, 2, 4)
    one, two = eliminated(shared, np.ones(4)), eliminated(apart, np.ones(4))
    assert one.exact and one.reservations == ("each product counted once",) and "counted once" in repr(one)
    assert two.exact and two.reservations == () and repr(two).endswith("optimal>")


# -- what is made small


def test_costs_by_time_and_by_a_function() -> None:
    launches = CostProfile("launches", (("others", Rates(1.0, 0.0, 0.0)),))
    by_launches, by_operations = eliminated(F, X, cost=launches), eliminated(F, X)
    assert by_launches.cost.value == len([box for box in by_launches.strategy.execution.wiring.boxes if box.ins])
    assert by_launches.cost.value <= len([box for box in by_operations.strategy.execution.wiring.boxes if box.ins])

    def stored(first: Any, second: Any) -> float:
        return float(first.stored + second.stored)

    by_function = eliminated(F, X, cost=stored)
    least = min(by_function.edited(list(order)).cost.value for order in permutations(by_function.strategy.graph.inner))
    assert by_function.cost.value == least > 0

    with pytest.raises(ct.PlanError, match="returned no valid cost"):
        plan(F, X, cost=lambda first, second: -1.0)


def test_a_function_may_forbid_products() -> None:
    """No product of two dense maps between many and many: the orders that need none."""

    def narrow(first: Any, second: Any) -> float:
        wide = first.kind == second.kind == "dense" and min(first.columns, first.rows, second.rows) > 2
        return float("inf") if wide else 1.0

    rng = np.random.default_rng(0)
    f = ct.cross(matrix(rng, 9, 1) >> ct.tanh >> matrix(rng, 9, 9) >> matrix(rng, 9, 9), ct.id) >> ct.fork(
        ct.exl, ct.exr >> ct.sin
    )
    planned = eliminated(f, np.ones(1), np.ones(3), cost=narrow)
    assert np.isfinite(planned.cost.value)


# -- edits and text


def test_orders_replay_from_text() -> None:
    planned = eliminated(F, X)
    for base in (planned, F, ct.linearize(F, X)[1]):
        found = ct.Plan.from_json(planned.to_json(), base, *([X] if base is F else []))
        assert found.kind == "order" and found.order == planned.order
    assert ct.Plan.from_json(planned.to_json(), planned) is planned
    data = json.loads(planned.to_json())
    assert [record["is"] for record in data["vertices"]].count("inner") == len(planned.strategy.graph.inner) == len(data["order"])
    data["order"] = data["order"][::-1]
    edited = ct.Plan.from_json(json.dumps(data), planned)
    assert edited.mode == "by hand" and edited.order == planned.order[::-1]
    expected = pushed(ct.linearize(F, X)[1], (X,))
    for one in (edited, planned):
        np.testing.assert_allclose(ct.jacobian(F, mode=one)(X).todense(), expected, rtol=1e-12)
        np.testing.assert_allclose(one.run(X).todense(), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda order: order[1:], "a plan skips a vertex"),
        (lambda order: [], "a plan skips 5 vertices"),
        (lambda order: [*order, order[0]], "a plan eliminates a vertex twice"),
        (lambda order: [0, *order], "eliminates a vertex that has to stay"),
        (lambda order: [*order[:2], 77, *order[2:]], "77"),
        (lambda order: [*order[:2], "x", *order[2:]], "step 2"),
        (lambda order: [True, *order], "step 0"),
        (lambda order: 5, "an order of elimination is a list"),
        (lambda order: "abc", "no such mode"),
        (lambda order: [["push", 0, 99], *order], "step 0"),
    ],
)
def test_edits_that_do_not_fit(change: Any, message: str) -> None:
    planned = eliminated(F, X)
    with pytest.raises(ct.PlanError, match=message):
        planned.edited(change(list(planned.order)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vertices": 3}, "vertices"),
        ({"vertices": []}, "it has 7 vertices, the text lists 0"),
        ({"vertices": [1] * 7}, r"vertices\[0\]"),
        ({"order": None}, "an order of elimination is a list"),
        ({"order": [1, 2]}, "a plan skips 3 vertices"),
    ],
)
def test_text_that_does_not_fit(change: dict[str, Any], message: str) -> None:
    planned = eliminated(F, X)
    data = json.loads(planned.to_json()) | change
    with pytest.raises(ct.PlanError, match=message):
        ct.Plan.from_json(json.dumps(data), planned)


def test_text_for_another_program() -> None:
    planned = eliminated(F, X)
    with pytest.raises(ct.PlanError, match="space is"):
        ct.Plan.from_json(planned.to_json(), skips(9, 2), ct.f64[9])
    with pytest.raises(ct.PlanError, match="another program"):
        planned.multiply(ct.linearize(skips(9, 2), np.ones(9))[1])
    data = json.loads(planned.to_json())
    del data["vertices"]
    with pytest.raises(ct.PlanError, match="a plan lacks a field"):
        ct.Plan.from_json(json.dumps(data), planned)


def test_plans_of_both_sorts_become_each_other() -> None:
    planned = eliminated(F, X)
    forward = planned.edited("forward")
    assert forward.mode == "forward" and forward.cost == plan(F, X, mode="forward", cost="operations").cost
    assert planned.edited("auto").kind == "bracketing"
    back = forward.edited("elimination")
    assert back.kind == "order" and back.order == planned.order
    n = len(planned.factors)
    bracketing: Any = 0
    for k in range(1, n):
        bracketing = [bracketing, k]
    assert planned.edited(bracketing).cost.operations == forward.cost.operations
    by_sizes = ct.plan_graph(planned.strategy.sized)
    assert planned.edited(by_sizes.order).cost.operations >= planned.cost.operations


def test_maps_are_written_out_where_an_order_says_so() -> None:
    rng = np.random.default_rng(0)
    f = ct.fork(ct.sin >> ct.scan(lambda a, b: a * b, 1.0), ct.id) >> ct.mul >> matrix(rng, 4, 4)
    x = rng.standard_normal(4)
    planned = eliminated(f, x)
    _, linear = ct.linearize(f, x)
    expected = pushed(linear, (x,))
    scans = [e for e in planned.strategy.graph.edges if "recurrence" in e.state[-1].structure.kind]
    assert len(scans) == 1
    for how in ("push", "pull"):
        edited = planned.edited([[how, scans[0].source, scans[0].target], *planned.strategy.graph.inner])
        with ct.count() as c:
            found = edited.multiply(linear)
        np.testing.assert_allclose(pushed(found, (x,)), expected, rtol=1e-9, atol=1e-12)
        assert c.operations == edited.cost.operations
        assert ct.Plan.from_json(edited.to_json(), planned).cost == edited.cost
        assert f"{how}ed" in edited.why(0) and "chosen" in edited.why(0) and "written out" in edited.explain()
    graph = planned.strategy.graph
    twice = planned.edited([["push", 0, graph.ends[0]], *graph.inner])  # an edge that is not there
    assert "nothing is gained" in twice.why(0)


# -- reports


def test_reports() -> None:
    planned = eliminated(F, X)
    assert repr(planned) == f"<plan {planned.explain().splitlines()[0]}>" and "5 vertices eliminated" in repr(planned)
    lines = planned.explain().splitlines()
    assert len(lines) == len(planned.order) + 2 and lines[-1].startswith("applied one by one")
    assert [line.split()[0] for line in planned.table().splitlines()[1:4]] == ["planned", "forward", "reverse"]
    listed = [int(line.split("vertex ")[1].split(",")[0]) for line in lines[1:-1]]
    assert tuple(listed) == planned.order
    assert sum(step.operations for step in planned.steps) == planned.cost.operations
    for k, v in enumerate(planned.order):
        text = planned.why(k)
        assert text.startswith(f"step {k}: vertex {v},") and text.count("would have cost") == len(planned.order) - k - 1
    with pytest.raises(ct.PlanError, match="no such step"):
        planned.why(len(planned.order))
    picture = planned.draw()
    assert picture.startswith("<svg") and picture.count("<circle") == len(planned.strategy.graph.spaces)
    assert picture == planned._repr_svg_()


def test_why_gives_the_cost_of_the_other_choice() -> None:
    """What a vertex would have cost at a step is what it costs where it goes then."""
    planned = eliminated(F, X)
    for v in planned.order[1:]:
        other = planned.edited([v, *[u for u in planned.order if u != v]])
        assert f"vertex {v} would have cost {other.steps[0].operations} operations here" in planned.why(0)


def test_parallel_edges_are_added_first() -> None:
    rng = np.random.default_rng(0)
    f = matrix(rng, 3, 3) >> ct.fork(ct.id, ct.id) >> ct.einsum("i,i->i") >> matrix(rng, 2, 3)
    planned = eliminated(f, np.ones(3))
    assert planned.explain().splitlines()[1].startswith("first: 1 pair of parallel edges added, ")
    _, linear = ct.linearize(f, np.ones(3))
    with ct.count() as c:
        found = planned.multiply(linear)
    assert c.operations == planned.cost.operations
    np.testing.assert_allclose(found.todense(), linear.todense(), rtol=1e-12)


def test_kinds_price_what_orders_cost() -> None:
    """Of programs that share no array: what the search adds up is what the order takes when it is laid out."""
    met = 0
    for seed in range(30):
        program = random_program(seed, 5, ("dense", "pointwise", "product"))
        planned = eliminated(program.f, *program.point)
        kinds = Kinds(planned.strategy.graph, None, searching_work())
        own = searching.Search(planned.strategy.graph, kinds, None, False)
        for order in _orders(planned, 3):
            edited = planned.edited(order)
            if edited.strategy.execution.additive:
                met += 1
                assert own.price(order) == edited.cost.operations
    assert met > 20


def searching_work() -> Any:
    from catad.planner.heuristics import Work

    return Work(1e9)
