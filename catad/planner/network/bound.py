"""A bound that no order of elimination is below, for programs whose maps are dense, diagonal or the identity, no array twice.

Where all maps are dense, the graph of sizes gives the cost of an order and the bound (`catad.planner.problems`). Two
vertices u -> v with a diagonal between them are one vertex of that graph. Whichever of them goes first takes a product with
the diagonal besides, of n numbers by what is before u or after v: at least n times the smaller of the minimum cuts on both
sides. (An input or output does not go.) If u has other edges out or v other edges in, both may go at different times; what
both take together is still at least n times the two minimum cuts, which is what the sum over the vertices of the graph says,
but not its best order.

A product with the identity costs nothing. So a vertex counts only where no identity touches it, and no diagonal that does not
make two vertices one: all maps into it and out of it are dense then, whatever goes before it, and they come from a cut before it
and go to one after it.
"""

from __future__ import annotations

from collections import Counter

from catad.planner.chains.bound import is_dense
from catad.planner.costs.cost import Model
from catad.planner.costs.cost_profile import CostProfile
from catad.planner.graph import Graph
from catad.planner.heuristics import Work
from catad.planner.network.linear_graph import Edge, LinearGraph
from catad.planner.problems.by_sizes import SPEED
from catad.planner.problems.min_cut import MinCut, bounds
from catad.planner.problems.parts import Part, parts_of

SECONDS = 0.01  # what a bound may take


def bound(graph: LinearGraph, model: Model = None) -> float:
    """The operations that every order takes at least, or the seconds by a profile; 0 where nothing is known."""
    if model is not None and not isinstance(model, CostProfile):
        return 0
    operations, products, besides = _operations(graph)
    if model is None:
        return operations + besides
    return model.seconds([("matmul", products, 0, operations)]) if operations else 0


def _operations(graph: LinearGraph) -> tuple[int, int, int]:
    """The least operations of products of dense maps, and how many they are; the least operations of products with diagonals."""
    arrays = [k for edge in graph.edges for part in edge.state for k in set(part.ids)]
    if len(arrays) > len(set(arrays)):  # equal products may be computed once
        return 0, 0, 0
    if any(graph.sized.sizes[v] < 2 for v in graph.inner):  # outer products stay rank one
        return 0, 0, 0
    diagonals = [edge for edge in graph.edges if _is_diagonal(edge)]
    others = [edge for edge in graph.edges if not _is_diagonal(edge) and not _is_identity(edge)]
    if not all(len(edge.state) == 1 and is_dense(edge.state[0].structure) for edge in others):
        return 0, 0, 0
    into, out = [0] * len(graph.spaces), [0] * len(graph.spaces)
    for edge in graph.edges:
        into[edge.target] += 1
        out[edge.source] += 1
    same = list(range(len(graph.spaces)))  # another vertex that a vertex is one with, or itself
    at_once = True  # whether vertices that are one have no other edges between them and go as one
    sparse = [(edge.source, edge.target) for edge in graph.edges if _is_identity(edge)]
    for source, target, _ in diagonals:
        if target in graph.inner and into[target] == 1:
            same[target] = source
        elif source in graph.inner and out[source] == 1:
            same[source] = target
        else:
            sparse.append((source, target))
        inside = source in graph.inner and target in graph.inner
        at_once = at_once and (not inside or into[target] == out[source] == 1)

    def one(v: int) -> int:
        while same[v] != v:
            v = same[v]
        return v

    touched = {one(v) for pair in sparse for v in pair}
    pairs = sorted({(one(u), one(v)) for u, v in [*sparse, *[(edge.source, edge.target) for edge in others]]})
    merged = Graph(pairs, range(graph.inputs), graph.ends, graph.sized.sizes)
    work = Work(SPEED * SECONDS)
    found = [
        (least, v) for part in parts_of(merged)[1] for least, v in zip(bounds(part, work), part.names, strict=False) if least
    ]
    counted = [least for least, v in found if v not in touched]
    besides = _besides(graph, diagonals, work) if at_once and not sparse else 0
    return sum(counted), len(counted), besides


def _is_identity(edge: Edge) -> bool:
    structure = edge.state[0].structure
    return len(edge.state) == 1 and structure.is_diagonal and not structure.slots


def _is_diagonal(edge: Edge) -> bool:
    structure = edge.state[0].structure
    return len(edge.state) == 1 and structure.is_diagonal and bool(structure.slots)


def _besides(graph: LinearGraph, diagonals: list[Edge], work: Work) -> int:
    """The least work of products with diagonals, of those that meet dense maps only."""
    touched = Counter([v for source, target, _ in diagonals for v in (source, target)])
    least = 0
    cuts: dict[int, tuple[Part, int]] = {v: (part, k) for part in parts_of(graph.sized)[1] for k, v in enumerate(part.names)}
    for source, target, _ in diagonals:
        own = [v for v in (source, target) if v in graph.inner]
        if work.spent or any(touched[v] > 1 or v not in cuts for v in own):
            continue
        sides = [_cut(*cuts[v], before=v == source, work=work) for v in own]
        least += graph.sized.sizes[source] * min(sides, default=0)
    return least


def _cut(part: Part, v: int, before: bool, work: Work) -> int:
    """The minimum cut between a vertex of a part and the ends before it, or after it."""
    sets = part.preds if before else part.succs
    return MinCut(sets, v, part.sizes, part.m, work).value()
