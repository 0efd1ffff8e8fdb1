"""Elimination where edges have types: what a product costs and which type it has is looked up in tables.

An edge has a type and four sizes: two of its target, two of its source. The product of an edge p -> v and an edge v -> s costs
the product of those of the six sizes (two of the target of the second, two of its source, two of the source of the first) that
the tables call active for the two types; it adds to an edge that is there already with the type that the tables give. (The
sparsity types of J. Lohoff and E. Neftci, Optimizing automatic differentiation with deep reinforcement learning, 2024.) In a
scalar graph all sizes are 1, and the only type of its own is a copy, whose products are free.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from catad.planner.heuristics import Work, anneal_order, greedy_order

COPY = -1  # the type of an edge that copies


class TypedEdge(NamedTuple):
    """A type, the two sizes of the target, the two of the source."""

    kind: int
    target: tuple[int, int]
    source: tuple[int, int]


@dataclass(frozen=True)
class Tables:
    """`active[f][a][b]`: whether size f counts in a product of types a, b; `mul[a][b]`, `add[a][b]`: the types of results.

    Types are counted from -`offset`.
    """

    active: tuple[tuple[tuple[int, ...], ...], ...]
    mul: tuple[tuple[int, ...], ...]
    add: tuple[tuple[int, ...], ...]
    offset: int

    def product(self, first: TypedEdge, second: TypedEdge) -> tuple[int, TypedEdge]:
        """The cost of the product of p -> v and v -> s, and the edge p -> s."""
        a, b = first.kind + self.offset, second.kind + self.offset
        sizes = (*second.target, *second.source, *first.source)
        counted = [abs(size) if 2 <= f < 4 else size for f, size in enumerate(sizes) if self.active[f][a][b]]
        cost = math.prod([size if size >= 0 else 1 for size in counted]) if counted else 0
        if first.kind == second.kind == self.offset:
            cost = 1
        return cost, TypedEdge(self.mul[a][b], second.target, first.source)

    def sum(self, old: TypedEdge, new: TypedEdge) -> TypedEdge:
        return new._replace(kind=self.add[old.kind + self.offset][new.kind + self.offset])


Side = list[dict[int, TypedEdge]]


class Scalar:
    """The rule of scalar graphs: every product counts 1 but those with copies."""

    def product(self, first: TypedEdge, second: TypedEdge) -> tuple[int, TypedEdge]:
        made = TypedEdge(1 if first.kind != COPY else second.kind, second.target, first.source)
        return int(first.kind != COPY and second.kind != COPY), made

    def sum(self, old: TypedEdge, new: TypedEdge) -> TypedEdge:
        return new if old.kind == COPY else old


class TypedGraph:
    """A graph of typed edges, with the rule that prices their products."""

    def __init__(self, n: int, edges: dict[tuple[int, int], TypedEdge], rule: Tables | Scalar) -> None:
        self.n, self.edges, self.rule = n, edges, rule
        self.known: dict[tuple[TypedEdge, TypedEdge], tuple[int, TypedEdge]] = {}

    def _sides(self) -> tuple[Side, Side]:
        """The edges into and out of each vertex, by the vertex at their other end."""
        before: Side = [{} for _ in range(self.n)]
        after: Side = [{} for _ in range(self.n)]
        for (source, target), edge in self.edges.items():
            before[target][source] = after[source][target] = edge
        return before, after

    def costs(self, order: Sequence[int], most: float = math.inf) -> int:
        """The cost of an order; anything above `most` once it is more."""
        before, after = self._sides()
        total = 0
        for v in order:
            total += self._eliminate(before, after, v)
            if total > most:
                break
        return total

    def _product(self, first: TypedEdge, second: TypedEdge) -> tuple[int, TypedEdge]:
        found = self.known.get((first, second))
        if found is None:
            found = self.known[first, second] = self.rule.product(first, second)
        return found

    def _eliminate(self, before: Side, after: Side, v: int) -> int:
        total = 0
        for p, first in before[v].items():
            row = after[p]
            for s, second in after[v].items():
                cost, made = self._product(first, second)
                total += cost
                old = row.get(s)
                row[s] = before[s][p] = made if old is None else self.rule.sum(old, made)
            del row[v]
        for s in after[v]:
            del before[s][v]
        before[v], after[v] = {}, {}
        return total

    def markowitz(self, vertices: Sequence[int]) -> list[int]:
        """The order that always takes a vertex with the fewest pairs of a predecessor and a successor, whatever they cost."""
        return self._greedy(vertices, lambda v, before, after: len(before[v]) * len(after[v]))

    def cheapest(self, vertices: Sequence[int]) -> list[int]:
        """The order that always takes a vertex that is cheapest now."""

        def price(v: int, before: Side, after: Side) -> int:
            return sum([self._product(a, c)[0] for a in before[v].values() for c in after[v].values()])

        return self._greedy(vertices, price)

    def _greedy(self, vertices: Sequence[int], key: Callable[[int, Side, Side], int]) -> list[int]:
        """An order by a greedy rule: next is the vertex of the least key, of several the smallest number."""
        before, after = self._sides()

        def take(v: int) -> list[int]:
            near = [*before[v], *after[v]]
            self._eliminate(before, after, v)
            return near

        return greedy_order(vertices, lambda v: key(v, before, after), take)


@dataclass(frozen=True)
class TypedPlan:
    """An order of elimination of a graph of typed edges, with what it and its rivals cost."""

    order: tuple[int, ...]
    cost: int
    forward: int
    reverse: int
    markowitz: int


def plan_typed(graph: TypedGraph, inner: Sequence[int], work: Work, rng: random.Random) -> TypedPlan:
    """A cheap order of elimination; `inner` has the vertices to eliminate, in topological order."""
    tried = [list(inner), list(reversed(inner)), graph.markowitz(sorted(inner)), graph.cheapest(sorted(inner))]
    priced = [graph.costs(order) for order in tried]
    best = anneal_order(graph.costs, tried[priced.index(min(priced))], work, rng)
    return TypedPlan(tuple(best), graph.costs(best), *priced[:3])
