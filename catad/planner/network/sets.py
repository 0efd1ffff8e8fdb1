"""Exact orders of elimination: dynamic programming over connected sets of vertices, with the kinds of the edges.

Eliminating a connected set C, everything else staying, leaves a map from each vertex before C to each vertex after it, no matter
what happens elsewhere. Some v in C goes last; without v, C falls into connected parts that do not influence each other:

    f(C) = min over v in C of the sum of f over the parts of C without v + the products around v + the sums there

and only connected sets are looked at: of a path of n vertices n^2 / 2, not 2^n. Maps that leave C are added to those around it
when these are used, so that no sum counts twice. What a map costs later depends on its structure. So where two orders of C
leave other structures the best of each is kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product as every
from typing import Any, NamedTuple

from catad.planner.graph import members, set_of
from catad.planner.network.eliminate import Side
from catad.planner.network.kinds import Kinds
from catad.planner.problems.parts import connected

KEPT = 12  # structures that a set may leave; of more, the cheapest are kept, and the search is no longer exact
TRY, EACH = 2.0, 0.5  # work for one vertex as the last of a set, and for each product around it

Left = tuple[tuple[int, int, int], ...]  # what a set leaves: the kind of the map from p to s, sorted by (p, s)


class Option(NamedTuple):
    """A way to eliminate a set: its cost, what it leaves, the last vertex, and the ways for the parts before."""

    cost: float
    left: Left
    last: int
    parts: tuple[Option, ...]

    def order(self) -> list[int]:
        """The vertices in an order that costs this."""
        found: list[int] = []
        stack = [self]
        while stack:
            top = stack.pop()
            found.append(top.last)
            stack += top.parts
        return found[::-1]


class Sets:
    """The search on one graph, given by its edges; `inside` are the vertices that may be eliminated, as a set of bits."""

    def __init__(
        self,
        kinds: Kinds,
        before: Side[int],
        after: Side[int],
        inside: Sequence[int],
        most: float = math.inf,
        stored: float = math.inf,
    ) -> None:
        self.kinds, self.before, self.after, self.most, self.stored = kinds, before, after, most, stored
        self.inside = set_of(inside)
        self.around: Mapping[int, int] = {v: set_of(before[v]) | set_of(after[v]) for v in inside}
        self.solved: dict[int, list[Option]] = {}
        self.exact = True  # no way that could be the best has been left out
        self.met: dict[tuple[int, int], set[tuple[int, int]]] = {}  # the kinds that were added, by the vertices between which

    def best(self) -> list[int] | None:
        """The cheapest order, with the sums that its last maps take, of those that leave at most `stored` numbers.

        None where none costs less than `most`. Raises `OutOfWork`.
        """
        parts = connected(self.around, self.inside)
        lists = [self.options(part) for part in parts]
        found: tuple[float, tuple[Option, ...]] | None = None
        for ways in every(*lists):
            added, edges = self._sums(ways)
            cost = sum([way.cost for way in ways]) + added
            if (found is None or cost < found[0]) and (self.stored == math.inf or self._stored(edges) <= self.stored):
                found = cost, ways
        return None if found is None else [v for way in found[1] for v in way.order()]

    def _sums(self, ways: Sequence[Option]) -> tuple[float, dict[Any, int]]:
        """What adding the maps that are left to those that are there costs, and all maps then."""
        edges: dict[Any, int] = {(p, s): kind for p, side in enumerate(self.after) for s, kind in side.items()}
        return sum([self._add(edges, (p, s), kind, (p, s)) for way in ways for p, s, kind in way.left]), edges

    def _stored(self, edges: Mapping[tuple[int, int], int]) -> int:
        """The numbers of the maps between vertices that stay."""
        gone = self.inside
        return self.kinds.stored_by([kind for (p, s), kind in edges.items() if not (gone >> p & 1 or gone >> s & 1)])

    def _add(self, edges: dict[Any, int], at: Any, kind: int, pair: tuple[int, int]) -> float:
        """Add a map to the one that is there, in place; what that costs."""
        old = edges.get(at)
        if old is None:
            edges[at] = kind
            return 0.0
        made = self.kinds.sums.get((old, kind)) or self.kinds.sum(old, kind)
        if not old == kind == made.kind:
            self.met.setdefault(pair, set()).add((min(old, kind), max(old, kind)))
        if made.kind < 0:
            del edges[at]
        else:
            edges[at] = made.kind
        return made.cost

    @property
    def in_any_order(self) -> bool:
        """True where sums cost the same in any order of their terms: never were more than two terms of several kinds.

        An order adds each map when its vertex goes, and two diagonals are better added before a dense map is; here maps that
        leave a set are added to those around it when they are used.
        """
        costs = [max([self.kinds.sum(*pair).cost for pair in met]) for met in self.met.values() if len(met) > 1]
        return not any(costs)

    def options(self, inside: int) -> list[Option]:
        """The ways to eliminate a connected set, one for each structure that it may leave, the cheapest first."""
        known = self.solved.get(inside)
        if known is not None:
            return known
        found: dict[Left, Option] = {}
        for v in members(inside):
            lists = [self.options(part) for part in connected(self.around, inside & ~(1 << v))]
            for ways in every(*lists):
                cost = sum([way.cost for way in ways])
                if cost < self.most:
                    cost, left = self._last(v, inside, cost, ways)
                    old = found.get(left)
                    if cost < self.most and (old is None or cost < old.cost):
                        found[left] = Option(cost, left, v, ways)
        ranked = sorted(found.values(), key=lambda way: way.cost)
        self.exact = self.exact and len(ranked) <= KEPT
        self.solved[inside] = ranked[:KEPT]
        return ranked[:KEPT]

    def _last(self, v: int, inside: int, cost: float, ways: tuple[Option, ...]) -> tuple[float, Left]:
        """What eliminating a set with v as the last costs, and what it leaves."""
        kinds, work = self.kinds, self.kinds.work
        into: dict[Any, int] = {p: kind for p, kind in self.before[v].items() if not inside >> p & 1}
        out: dict[Any, int] = {s: kind for s, kind in self.after[v].items() if not inside >> s & 1}
        left: dict[Any, int] = {}
        for way in ways:
            for p, s, kind in way.left:
                edges, at = (into, p) if s == v else (out, s) if p == v else (left, (p, s))
                if at in edges:
                    cost += self._add(edges, at, kind, (p, s))
                else:
                    edges[at] = kind
        work.spend(TRY + EACH * len(into) * len(out))
        for p, first in into.items():
            for s, second in out.items():
                made = kinds.products.get((first, second)) or kinds.product(first, second)
                cost += made.cost
                if made.kind >= 0:
                    at = p, s
                    if at in left:
                        cost += self._add(left, at, made.kind, at)
                    else:
                        left[at] = made.kind
        return cost, tuple(sorted([(p, s, kind) for (p, s), kind in left.items()]))
