"""The order in which the vertices of a graph are eliminated, by their sizes only, and a bound on its distance from the best."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from catad.planner.graph import Graph, members
from catad.planner.heuristics import Work
from catad.planner.problems.min_cut import bounds
from catad.planner.problems.orders import costs, greedy, markowitz_degree
from catad.planner.problems.parts import parts_of
from catad.planner.problems.solve import Solution, begin, improve_all

BUDGET = 0.05  # seconds
SPEED = 80_000  # work in a second: a machine should do twice as much, for the plan depends only on the work
BEGINNING = 1.2  # work that a vertex takes before any search, and as much again for every thousand others


class Found(NamedTuple):
    """An order of elimination with what it costs, beside forward, reverse and Markowitz, and a bound below every order.

    Costs are multiplications of numbers.
    """

    order: tuple[int, ...]
    cost: int
    bound: int
    forward: int
    reverse: int
    markowitz: int


def cheap_order(graph: Graph, seconds: float = BUDGET, seed: int = 0) -> Found:
    """A cheap order in which to eliminate the inner vertices of a graph: see `ct.plan_graph`."""
    inner, preds, succs, sizes = graph.inner, graph.preds, graph.succs, graph.sizes
    forward = [v for v in graph.topological() if inner >> v & 1]
    markowitz = greedy(preds, succs, members(inner), markowitz_degree(sizes))
    tried = [forward, forward[::-1], markowitz]
    rivals = [sum(costs(preds, succs, sizes, order).values()) for order in tried]
    free, solutions = _begun(graph, tried, seed, seconds)
    beginning = BEGINNING * len(preds) * (1 + len(preds) / 1000)
    improve_all(solutions, max(SPEED * seconds - beginning, 0), seed)
    order = [*free, *[known.part.names[v] for known in solutions for v in known.order]]
    cost, bound = sum([known.value for known in solutions]), sum([known.bound for known in solutions])
    return Found(tuple(order), cost, bound, *rivals)


def _begun(graph: Graph, tried: Sequence[Sequence[int]], seed: int, seconds: float) -> tuple[list[int], list[Solution]]:
    free, parts = parts_of(graph)
    work = Work(0.7 * SPEED * seconds)
    rng = random.Random(f"start {seed}")
    place = {v: (number, k) for number, part in enumerate(parts) for k, v in enumerate(part.names[: part.m])}
    known: list[list[list[int]]] = [[[] for _ in tried] for _ in parts]
    for n, order in enumerate(tried):
        for v in order:
            if v in place:
                number, k = place[v]
                known[number][n].append(k)
    return free, [begin(part, bounds(part, work), orders, rng) for part, orders in zip(parts, known, strict=True)]
