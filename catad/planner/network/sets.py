"""Exact orders of elimination: dynamic programming over connected sets of vertices, with the kinds of the edges.

Eliminating a connected set C, everything else staying, leaves a map from each vertex before C to each vertex after it, no matter
what happens elsewhere. Some v in C goes last; without v, C falls into connected parts that do not influence each other:

    f(C) = min over v in C of the sum of f over the parts of C without v + the products around v + the sums there

and only connected sets are looked at: of a path of n vertices n^2 / 2, not 2^n. What a map costs later depends on its structure.
So where two orders of C leave other structures the best of each is kept.

Maps that leave C are added to those around it when these are used, so that no sum counts twice. An order adds each map when its
vertex goes. That is the same unless three maps of several kinds meet between two vertices: two diagonals are better added before
a dense map is (`in_any_order`). With `late`, maps between the same two vertices are only added when they are used, and then in
the cheapest way. So no order costs less than what is found then.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from itertools import product as every
from typing import NamedTuple

from catad.planner.network.eliminate import Side
from catad.planner.network.kinds import Kinds, OutOfWork
from catad.planner.problems.parts import connected

KEPT = 12  # structures that a set may leave; of more, the cheapest are kept, and the search is no longer exact
MOST_TERMS = 4  # of which the cheapest way to add them is looked for
TRY = 3.0  # work for one vertex as the last of a set

Terms = tuple[int, ...]  # kinds of maps between the same two vertices, not added yet, sorted
Left = tuple[tuple[int, int, Terms], ...]  # what a set leaves: the maps from p to s, sorted by (p, s)


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
        late: bool = False,
    ) -> None:
        self.kinds, self.before, self.after, self.most, self.late = kinds, before, after, most, late
        self.inside = sum([1 << v for v in inside])
        self.around: Mapping[int, int] = {v: _bits(before[v]) | _bits(after[v]) for v in inside}
        self.solved: dict[int, list[Option]] = {}
        self.exact = True  # no way that could be the best has been left out
        self.value = math.inf  # of the order that was found
        self.met: dict[tuple[int, int], set[Terms]] = {}  # the kinds that were added, by the vertices between which
        self.added: dict[Terms, tuple[int, float]] = {}

    def best(self) -> list[int] | None:
        """The cheapest order, with the sums that its last maps take; None where none costs less than `most`.

        Raises `OutOfWork`.
        """
        parts = connected(self.around, self.inside)
        lists = [self.options(part) for part in parts]
        found: tuple[float, tuple[Option, ...]] | None = None
        for ways in every(*lists):
            cost = sum([way.cost for way in ways]) + self._sums(ways)
            if found is None or cost < found[0]:
                found = cost, ways
                self.value = cost
        return None if found is None else [v for way in found[1] for v in way.order()]

    def _sums(self, ways: Sequence[Option]) -> float:
        """What adding the maps that are left to those that are there costs."""
        edges: dict[tuple[int, int], Terms] = {(p, s): (kind,) for p, side in enumerate(self.after) for s, kind in side.items()}
        cost = sum([self._put(edges, p, s, terms) for way in ways for p, s, terms in way.left])
        return cost + sum([self.sum(terms)[1] for terms in edges.values()])

    def _put(self, edges: dict[tuple[int, int], Terms], p: int, s: int, terms: Terms) -> float:
        """Put maps beside those that are there between two vertices, in place; what adding them now costs."""
        old = edges.get((p, s))
        both = terms if old is None else tuple(sorted([*old, *terms]))
        if self.late or len(both) == 1:
            edges[p, s] = both
            return 0.0
        kind, cost = self.sum(both)
        if not both[0] == both[1] == kind:
            self.met.setdefault((p, s), set()).add(both)
        if kind < 0:
            del edges[p, s]
        else:
            edges[p, s] = (kind,)
        return cost

    @property
    def in_any_order(self) -> bool:
        """True where sums cost the same in any order of their terms: never were more than two terms of several kinds."""
        costs = [max([self.sum(terms)[1] for terms in met]) for met in self.met.values() if len(met) > 1]
        return not any(costs)

    def sum(self, terms: Terms) -> tuple[int, float]:
        """The kind of a sum, below zero where it is zero, and the cost of the cheapest way to add its terms."""
        if len(terms) == 1:
            return terms[0], 0.0
        known = self.added.get(terms)
        if known is None:
            if len(terms) > MOST_TERMS:  # the cheapest way is not looked for
                self.exact = False
            pairs = combinations(range(len(terms)), 2) if len(terms) <= MOST_TERMS else [(0, 1)]
            known = self.added[terms] = min([self._two_first(terms, a, z) for a, z in pairs], key=lambda way: way[1])
        return known

    def _two_first(self, terms: Terms, a: int, z: int) -> tuple[int, float]:
        """The sum of maps by adding two of them first."""
        made = self.kinds.sums.get((terms[a], terms[z])) or self.kinds.sum(terms[a], terms[z])
        rest = [*terms[:a], *terms[a + 1 : z], *terms[z + 1 :], *([made.kind] if made.kind >= 0 else [])]
        kind, cost = self.sum(tuple(sorted(rest))) if rest else (-1, 0.0)
        return kind, cost + made.cost

    def options(self, inside: int) -> list[Option]:
        """The ways to eliminate a connected set, one for each structure that it may leave, the cheapest first."""
        known = self.solved.get(inside)
        if known is not None:
            return known
        found: dict[Left, Option] = {}
        for v in _members(inside):
            lists = [self.options(part) for part in connected(self.around, inside & ~(1 << v))]
            for ways in every(*lists):
                cost = sum([way.cost for way in ways])
                if cost < self.most:
                    way = self._last(v, inside, cost, ways)
                    old = found.get(way.left)
                    if way.cost < self.most and (old is None or way.cost < old.cost):
                        found[way.left] = way
        ranked = sorted(found.values(), key=lambda way: way.cost)
        self.exact = self.exact and len(ranked) <= KEPT
        self.solved[inside] = ranked[:KEPT]
        return ranked[:KEPT]

    def _last(self, v: int, inside: int, cost: float, ways: tuple[Option, ...]) -> Option:
        """The set eliminated with v as the last."""
        kinds, work = self.kinds, self.kinds.work
        edges: dict[tuple[int, int], Terms] = {(p, v): (kind,) for p, kind in self.before[v].items() if not inside >> p & 1}
        edges.update({(v, s): (kind,) for s, kind in self.after[v].items() if not inside >> s & 1})
        cost += sum([self._put(edges, p, s, terms) for way in ways for p, s, terms in way.left])
        left = {pair: terms for pair, terms in edges.items() if v not in pair}
        into: list[tuple[int, int]] = []
        out: list[tuple[int, int]] = []
        for (p, s), terms in edges.items():
            if v in (p, s):
                kind, spent = self.sum(terms)
                cost += spent
                if kind >= 0:
                    (into if s == v else out).append((p if s == v else s, kind))
        work.left -= TRY + len(into) * len(out)
        if work.left < 0:
            raise OutOfWork
        for p, first in into:
            for s, second in out:
                made = kinds.products.get((first, second)) or kinds.product(first, second)
                cost += made.cost
                if made.kind >= 0:
                    cost += self._put(left, p, s, (made.kind,))
        return Option(cost, tuple(sorted([(p, s, terms) for (p, s), terms in left.items()])), v, ways)


def _members(inside: int) -> list[int]:
    found = []
    while inside:
        low = inside & -inside
        found.append(low.bit_length() - 1)
        inside ^= low
    return found


def _bits(vertices: Mapping[int, int]) -> int:
    return sum([1 << v for v in vertices])
