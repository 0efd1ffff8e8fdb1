"""Jacobians through thin vertices: some vertices stay, where eliminating them would make the result larger.

A block x + U tanh(V x) with three units in the middle has the Jacobian I + U D V: the product of U and V stores n^2 numbers,
both apart 6 n. So the search eliminates the vertex without which the edges hold the fewest numbers (minimal fill), one after the
other, as long as they hold few more than before. What is left is a smaller graph, the maps of which are multiplied out. It is
taken only where making it and using it once cost less than any Jacobian of one map, and it stores much less. A program that is
a path keeps the bracketing of its factors.
"""

from __future__ import annotations

from dataclasses import replace

from catad.planner.chains.basis import use_of
from catad.planner.chains.factors import Factors
from catad.planner.heuristics import OutOfWork, Work
from catad.planner.network.eliminate import Entry, eliminate
from catad.planner.network.kinds import Kinds
from catad.planner.network.linear_graph import LinearGraph
from catad.planner.network.order import by_hand
from catad.planner.network.search import EXACT, PRODUCT, Search
from catad.planner.request import Request
from catad.planner.strategy import Runnable

GROWTH = 0.25  # of the numbers of all edges: by so much a vertex that goes may increase them
FEWER = 0.75  # of the numbers of a result of one map: so many a result with thin vertices may store
BY_FILL = "vertices that stay chosen by minimal fill"
BUDGET = 20_000.0  # work, about as many products; a budget that is smaller is left to the other searches


def thinner(made: Runnable, graph: LinearGraph, chain: Factors, request: Request) -> Runnable:
    """The plan `made`, or one that keeps thin vertices, where that costs less with one use of the result, and stores less."""
    result = made.execution.result
    little = request.budget is not None and request.budget < BUDGET
    if little or graph.is_path or not _has_thin(graph, result.rows, result.columns, result.stored):
        return made
    order = _order(graph, request)
    if order is None:
        return made
    found = by_hand(graph, chain, request, order)
    thin = found.execution.result
    if thin.stored > FEWER * result.stored:
        return made
    costs = [own.cost.value + use_of(own.execution.result, request.model) for own in (found, made)]
    if costs[0] >= costs[1]:
        return made
    return replace(found, mode=made.mode, exact=made.exact, but=(*made.but, BY_FILL) if made.exact else ())


def _has_thin(graph: LinearGraph, rows: int, columns: int, stored: int) -> bool:
    """True where a product through one inner vertex stores fewer numbers than a result may, so that looking further may help."""
    sizes = [sum([leaf.size for leaf in graph.spaces[v]]) for v in graph.inner]
    return 0 < len(sizes) <= EXACT and min(sizes) * (rows + columns) <= FEWER * stored


def _order(graph: LinearGraph, request: Request) -> tuple[Entry, ...] | None:
    """The vertices that go, by minimal fill, then those that stay; None where all go, or the work does not suffice."""
    kinds = Kinds(graph, request.model, Work(BUDGET if request.effort is None else min(BUDGET, request.effort / PRODUCT)))
    order = list[Entry]()
    try:
        own = Search(graph, kinds, None, False)
        before, after, priced = own._fresh()
        total: float = sum([kinds.stored[edge] for side in after for edge in side.values()])
        left = {v: own._growth(before, after, v) for v in graph.inner}
        while left:
            v = min(left, key=lambda v: (left[v], v))
            grown, near = left.pop(v)[0], {*before[v], *after[v]}
            if grown > GROWTH * total:
                left[v] = grown, 0
                break
            eliminate(before, after, v, priced)
            order.append(v)
            total += grown
            left.update({u: own._growth(before, after, u) for u in near if u in left})
            if kinds.work.spent:
                return None
    except OutOfWork:
        return None
    if not left or any(len(graph.spaces[v]) > 1 for v in left):
        return None
    return (*order, *[("keep", v) for v in sorted(left)])
