"""The exact search over sets of vertices: equal to all orders, priced and counted by boxes; and bugs that it must not have."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest

import catad as ct
from catad.planner.chains.factors import factors_of
from catad.planner.heuristics import OutOfWork, Work
from catad.planner.network import sets
from catad.planner.network.kinds import Kinds
from catad.planner.network.linear_graph import graph_at
from catad.planner.network.search import LARGER, Search
from catad.planner.plan import forget, plan
from tests.planner.forks import MULTIPLIED, Program, matrix, random_program

KINDS = (*MULTIPLIED, "dense", "dense")


def graph_of(program: Program) -> tuple[ct.LinearMap, Search, Kinds]:
    _, linear = ct.linearize(program.f, *program.point)
    graph = graph_at(linear.structure, factors_of(linear.structure))
    kinds = Kinds(graph, None, Work(10**7))
    return linear, Search(graph, kinds, None, False), kinds


def by_sets(own: Search, kinds: Kinds) -> list[int]:
    before, after, _ = own._fresh()
    found = sets.Sets(kinds, before, after, list(own.graph.inner)).best()
    assert found is not None and sorted(found) == list(own.graph.inner)
    return found


@pytest.mark.quick(2)
@pytest.mark.parametrize("start", range(0, 120, 20))
def test_no_order_is_cheaper(start: int) -> None:
    """Drawn graphs of up to six vertices: the order that is found costs what the cheapest of all does."""
    met = 0
    for seed in range(start, start + 20):
        _, own, kinds = graph_of(random_program(seed, 4 + seed % 5, KINDS, 7))
        if 2 <= len(own.graph.inner) <= 6:
            met += 1
            least = min(own.price(list(order)) for order in permutations(own.graph.inner))
            assert own.price(by_sets(own, kinds)) == least
    assert met >= 5


@pytest.mark.quick(2)
@pytest.mark.parametrize("start", range(0, 60, 20))
def test_no_order_takes_fewer_operations_when_boxes_are_counted(start: int) -> None:
    met = 0
    for seed in range(start, start + 20):
        program = random_program(seed, 4 + seed % 4, KINDS, 6)
        planned = plan(program.f, *program.point, mode="elimination", cost="operations")
        if planned.kind != "order" or not 2 <= len(planned.strategy.graph.inner) <= 4:
            continue
        met += 1
        least = min(planned.edited(list(order)).cost.operations for order in permutations(planned.strategy.graph.inner))
        assert planned.exact and (planned.reservations or planned.cost.operations == least)
    assert met >= 3


def test_where_it_ends_no_rule_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three branches that are narrow at other depths, 21 vertices: proven, in little work."""
    rng = np.random.default_rng(0)

    def branch(narrow: int) -> ct.D:
        sizes = [10, *[3 if k == narrow else 10 for k in range(3)], 10]
        return ct.compose(*[matrix(rng, m, n) >> ct.tanh for n, m in pairwise(sizes)])

    f = ct.fork(*[branch(k) for k in range(3)]) >> ct.map(lambda a, b, c: a + b + c)
    monkeypatch.setattr(Search, "portfolio", None)
    forget()
    planned = plan(f, np.ones(10), cost="operations")
    assert planned.kind == "order" and planned.exact and len(planned.strategy.graph.inner) == 21
    assert planned.cost.operations < planned.edited("auto").cost.operations


def test_a_bug_that_counts_a_sum_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums that a set takes with what is around it, added when the set is solved and again when it is used."""
    plain = sets.Sets._last

    def twice(
        self: sets.Sets, v: int, inside: int, cost: float, ways: tuple[sets.Option, ...]
    ) -> tuple[float, sets.Left]:
        cost, left = plain(self, v, inside, cost, ways)
        edges = {(p, s): kind for p, side in enumerate(self.after) for s, kind in side.items()}
        return cost + sum([self._add(edges, (p, s), kind, (p, s)) for p, s, kind in left]), left

    def wrong() -> int:
        found = 0
        for seed in range(60):
            _, own, kinds = graph_of(random_program(seed, 4 + seed % 5, KINDS, 7))
            if 2 <= len(own.graph.inner) <= 5:
                before, after, _ = own._fresh()
                search = sets.Sets(kinds, before, after, list(own.graph.inner))
                order = search.best()
                assert order is not None
                parts = sets.connected(search.around, search.inside)
                ways = [min(search.options(part), key=lambda way: way.cost) for part in parts]
                if all(len(search.options(part)) == 1 for part in parts):
                    found += sum([way.cost for way in ways]) + search._sums(ways)[0] != own.price(order) - own.start[2].value
        return found

    assert wrong() == 0
    monkeypatch.setattr(sets.Sets, "_last", twice)
    assert wrong() > 0


def _limited(seed: int, room: float) -> tuple[Search, float, float]:
    """A search for orders that leave at most so many numbers over dense, the cheapest of these, and the cheapest of all."""
    _, own, kinds = graph_of(random_program(seed, 4 + seed % 5, (*KINDS, "gather", "pointwise", "product", "flip", "sum"), 7))
    limited = Search(own.graph, kinds, None, False, own.graph.dense * room)
    orders = [list(order) for order in permutations(own.graph.inner)] if len(own.graph.inner) <= 5 else [[]]
    return limited, min(map(limited.price, orders)), min(map(own.price, orders))


@pytest.mark.parametrize("subsets", [False, True])
def test_the_cheapest_order_of_those_that_store_no_more(subsets: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside all orders: by connected sets and by sets of vertices that are gone; and where no order fits, none is found."""
    monkeypatch.setattr(sets.Sets, "in_any_order", not subsets)
    none = dearer = 0
    for seed in (*range(60), 75, 231, 273):
        own, least, free = _limited(seed, 0.6 if seed == 75 else 1.0)
        if not 2 <= len(own.graph.inner) <= 5:
            continue
        found = own.best(float("inf"))
        assert found is not None and found[1]
        if least >= LARGER:
            none += 1
            assert not found[0]
        else:
            dearer += least > free
            assert own.price(found[0]) == least
    assert none and dearer


def test_a_plan_says_that_no_order_stores_so_little() -> None:
    """Attention of twelve words: each order leaves more numbers than the dense form, so a basis is the best."""
    rng = np.random.default_rng(0)
    queries, keys, values = [rng.standard_normal((8, 8)) / 8 for _ in range(3)]

    def attention(x):
        weights = np.exp((x @ queries) @ (x @ keys).T)
        return (weights / np.sum(weights, axis=1, keepdims=True)) @ (x @ values)

    planned = plan(attention, ct.f64[12, 8], want="jacobian", cost="operations")
    assert planned.exact and "that store no more than the dense form" in planned.reservations
    assert planned.result.stored <= 96 * 96


def test_work_ends_the_search() -> None:
    _, own, kinds = graph_of(random_program(3, 12, KINDS, 7))
    kinds.work = Work(20)
    before, after, _ = own._fresh()
    with pytest.raises(OutOfWork):
        sets.Sets(kinds, before, after, list(own.graph.inner)).best()
