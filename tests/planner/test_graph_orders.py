"""Orders of elimination against their definition: costs, exactness, bounds, the searches, and what a plan leaves."""

from __future__ import annotations

import random

import pytest

import catad as ct
from catad.planner.graph import members, set_of
from catad.planner.heuristics import OutOfWork, Work
from catad.planner.problems.anneal import anneal, relocate
from catad.planner.problems.exact import Exact
from catad.planner.problems.min_cut import bounds
from catad.planner.problems.orders import costs, fill, greedy, markowitz_degree, relative_degree
from catad.planner.problems.parts import parts_of
from catad.planner.problems.search import improve, reorder_piece
from catad.planner.problems.tree import Tree

from .graphs import Case, cut, eliminated, least, least_of_all_orders, random_case

CASES = [(seed, bool(seed % 2)) for seed in range(40)]
PLENTY = 1e9


def rivals_of(plan: ct.Plan) -> list[int]:
    """The multiplications of forward, reverse and Markowitz."""
    return [plan.rows[name].operations for name in ("forward", "reverse", "Markowitz")]


@pytest.mark.parametrize("seed", range(12))
def test_the_brute_force_is_one(seed: int) -> None:
    """Subsets give what all orders give."""
    case = random_case(seed, 5, weighted=bool(seed % 2))
    assert least(case) == least_of_all_orders(case)


@pytest.mark.parametrize(("seed", "weighted"), CASES)
def test_small_graphs_are_solved(seed: int, weighted: bool) -> None:
    case = random_case(seed, 7, weighted=weighted)
    plan = ct.plan_graph(case.graph)
    assert plan.exact and plan.cost.operations == plan.bound == least(case)
    assert eliminated(case, plan.order)[0] == plan.cost.operations
    assert sorted(plan.order) == case.inner


@pytest.mark.parametrize(("seed", "weighted"), CASES)
def test_rivals_are_counted_by_definition(seed: int, weighted: bool) -> None:
    case = random_case(seed, 9, weighted=weighted)
    graph = case.graph
    forward = [v for v in graph.topological() if v not in case.stay]
    plan = ct.plan_graph(graph)
    assert plan.rows["forward"].operations == eliminated(case, forward)[0]
    assert plan.rows["reverse"].operations == eliminated(case, reversed(forward))[0]
    order: list[int] = []
    left = set(case.inner)
    while left:  # Markowitz, by pricing every vertex in every step
        now = {v: eliminated(case, [*order, v])[0] for v in left}
        order.append(min(left, key=lambda v: (now[v], v)))
        left.discard(order[-1])
    assert plan.rows["Markowitz"].operations == eliminated(case, order)[0]
    assert plan.cost.operations <= min(rivals_of(plan))


@pytest.mark.parametrize(("seed", "weighted"), CASES)
def test_no_order_leaves_other_edges(seed: int, weighted: bool) -> None:
    case = random_case(seed, 8, weighted=weighted)
    plan = ct.plan_graph(case.graph)
    assert eliminated(case, plan.order)[1] == eliminated(case, case.inner)[1]


@pytest.mark.parametrize("seed", range(30))
def test_bounds_are_cuts_and_hold_for_every_order(seed: int) -> None:
    case = random_case(seed, 5, ends=2, weighted=bool(seed % 3 == 0))
    free, parts = parts_of(case.graph)
    assert eliminated(case, free)[0] == 0
    total = 0
    for part in parts:
        for v, bound in enumerate(bounds(part, Work(PLENTY))):
            name = part.names[v]
            assert bound == case.sizes[name] * cut(case, name, True) * cut(case, name, False)
            total += bound
    assert total <= least_of_all_orders(case)


def test_bounds_without_work_still_hold() -> None:
    for seed in range(20):
        case = random_case(seed, 7, weighted=True)
        for part in parts_of(case.graph)[1]:
            cheap, full = bounds(part, Work(0)), bounds(part, Work(PLENTY))
            assert all(0 < a <= b for a, b in zip(cheap, full, strict=True))


def test_the_bound_does_not_always_meet_the_optimum() -> None:
    """Else the exact search would never be needed, and a wrong claim of optimality would not show."""
    gaps = 0
    for seed in range(40):
        case = random_case(seed, 7)
        bound = sum([sum(bounds(part, Work(PLENTY))) for part in parts_of(case.graph)[1]])
        gaps += bound < least(case)
    assert gaps > 3


@pytest.mark.quick(8)
@pytest.mark.parametrize(("seed", "weighted"), CASES[:20])
def test_exact_search_with_and_without_bounds(seed: int, weighted: bool) -> None:
    case = random_case(seed, 8, weighted=weighted)
    free, parts = parts_of(case.graph)
    for late in (False, True):
        order, total = list(free), 0
        for part in parts:
            floor = [0] * part.m if late else bounds(part, Work(PLENTY))
            exact = Exact(part.preds, part.succs, part.sizes, part.measure, floor, Work(PLENTY), late)
            total += exact.cost(part.inner, 1 << 60)
            found = exact.order(part.inner)
            assert sum(found.values()) == exact.cost(part.inner, 1 << 60)
            assert costs(part.preds, part.succs, part.sizes, found) == found
            order += [part.names[v] for v in found]
        assert total == least(case) == eliminated(case, order)[0]


def test_exact_search_below_a_limit_says_only_that() -> None:
    case = random_case(3, 8)
    (part,) = [part for part in parts_of(case.graph)[1] if part.m > 3]
    floor = bounds(part, Work(PLENTY))
    best = Exact(part.preds, part.succs, part.sizes, part.measure, floor, Work(PLENTY)).cost(part.inner, 1 << 60)
    bounded = Exact(part.preds, part.succs, part.sizes, part.measure, floor, Work(PLENTY))
    assert bounded.cost(part.inner, best) >= best and part.inner not in bounded.solved
    with pytest.raises(OutOfWork):
        Exact(part.preds, part.succs, part.sizes, part.measure, [0] * part.m, Work(10)).cost(part.inner, 1 << 60)


def keeps_its_costs(tree: Tree) -> bool:
    """True where the costs that are kept are those of the order."""
    priced = costs(tree.part.preds, tree.part.succs, tree.part.sizes, tree.order())
    return tree.cost == [priced[v] for v in range(tree.part.m)] and tree.value == sum(tree.cost)


@pytest.mark.parametrize("seed", range(8))
def test_trees_keep_their_costs_under_every_move(seed: int) -> None:
    case = random_case(seed, 24, ends=4, weighted=bool(seed % 2), density=0.12)
    for part in parts_of(case.graph)[1]:
        rng = random.Random(seed)
        order = list(range(part.m))
        rng.shuffle(order)
        tree = Tree(part, order)
        assert keeps_its_costs(tree) and tree.value == sum(costs(part.preds, part.succs, part.sizes, order).values())
        floor = bounds(part, Work(PLENTY))
        for _ in range(60):
            before = tree.value
            reorder_piece(tree, floor, Work(PLENTY), rng)
            assert tree.value <= before and keeps_its_costs(tree)
            relocate(tree, rng.randrange(part.m), floor, rng.choice((0.1, 1.0, 10.0)), Work(PLENTY), rng)
            assert keeps_its_costs(tree)
            assert sorted(tree.order()) == list(range(part.m))


@pytest.mark.parametrize("seed", range(6))
def test_searches_find_the_optimum_of_middling_graphs(seed: int) -> None:
    """Local search and annealing from a bad start meet what the exact search finds."""
    case = random_case(100 + seed, 14, ends=4, density=0.2)
    for part in parts_of(case.graph)[1]:
        floor = bounds(part, Work(PLENTY))
        best = Exact(part.preds, part.succs, part.sizes, part.measure, floor, Work(PLENTY)).cost(part.inner, 1 << 60)
        tree = Tree(part, list(range(part.m)))
        annealed = anneal(tree, floor, Work(20_000), random.Random(seed))
        improve(annealed, floor, Work(20_000), random.Random(seed))
        assert keeps_its_costs(annealed) and annealed.value == best


def test_greedy_rules_by_definition() -> None:
    for seed in range(20):
        case = random_case(seed, 8, weighted=bool(seed % 2))
        graph = case.graph
        topological = [v for v in graph.topological() if v not in case.stay]
        keys = [
            markowitz_degree(graph.sizes),
            relative_degree(graph.preds, graph.succs, graph.sizes, topological, graph.inner),
            fill(graph.sizes),
        ]
        for key in keys:
            order = greedy(graph.preds, graph.succs, case.inner, key)
            assert sorted(order) == case.inner
            first = min(case.inner, key=lambda v: (key(v, list(graph.preds), list(graph.succs)), v))
            assert order[0] == first
        added = fill([1] * len(graph.sizes))
        v = case.inner[0]
        before, after = [a for a, b in case.edges if b == v], [b for a, b in case.edges if a == v]
        expected = sum((a, b) not in case.edges for a in before for b in after)
        assert added(v, list(graph.preds), list(graph.succs)) == expected


def test_the_seed_and_the_budget_decide_the_plan() -> None:
    case = random_case(7, 60, ends=6, density=0.06)
    one, same = ct.plan_graph(case.graph, budget=0.1, seed=3), ct.plan_graph(case.graph, budget=0.1, seed=3)
    assert one == same
    assert not one.exact  # or no search would have taken place
    others = {ct.plan_graph(case.graph, budget=0.1, seed=seed).order for seed in range(4)}
    assert len(others) > 1
    assert eliminated(case, one.order)[0] == one.cost.operations


def test_sets() -> None:
    for vertices in ([], [0], [3, 17, 64, 511], [0, 600, 9_999]):
        assert members(set_of(vertices)) == vertices


def test_graphs_that_are_nearly_none() -> None:
    empty = ct.plan_graph(ct.Graph([], [], []))
    assert (empty.order, empty.cost.operations, empty.exact, empty.gap) == ((), 0, True, 0.0)
    through = ct.plan_graph(ct.Graph([(0, 1)], [0], [1]))
    assert (through.order, through.cost.operations) == ((), 0)
    dead = ct.plan_graph(ct.Graph([(0, 1), (0, 2), (2, 3), (4, 3)], [0], [1], vertices=5))
    assert sorted(dead.order) == [2, 3, 4] and dead.cost.operations == 0 and dead.exact
    both = Case({(0, 1), (1, 2), (0, 2)}, [0], [0, 2], [1, 1, 1])
    assert ct.plan_graph(both.graph).cost.operations == least(both) == 1


def test_a_large_graph_is_no_worse_than_its_rivals() -> None:
    """Counted work, not time: no search touches more than its budget buys."""
    rng = random.Random(1)
    n = 3000
    edges = [(a, b) for b in range(20, n) for a in {rng.randrange(max(0, b - 60), b) for _ in range(2)}]
    graph = ct.Graph(edges, range(20), range(n - 20, n))
    plan = ct.plan_graph(graph)
    assert plan.bound <= plan.cost.operations <= min(rivals_of(plan))
    assert sum(costs(graph.preds, graph.succs, graph.sizes, plan.order).values()) == plan.cost.operations
