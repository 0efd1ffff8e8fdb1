"""The search for a cheap order of elimination, by the costs of the structured products.

The search tries the order of the program, its reverse, three greedy rules, and the order that `ct.plan_graph` finds for the
sizes alone. The rules take first the vertex without which the edges hold the fewest numbers (minimal fill), the cheapest
vertex, or the vertex between the fewest pairs (Markowitz). Where maps are matrix-free, each order is also tried with these
maps written out first. A graph of few vertices is then searched exactly: cheapest first (E. Dijkstra, 1959) over the sets of
vertices that are gone, together with the kinds of the edges that are left, since what an edge is may depend on the order.
The best order of a larger graph is annealed. Budgets are counted work, so the same graph and budget give the same order.
"""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from catad.planner.cost_profile import CostProfile
from catad.planner.heuristics import anneal_order, greedy_order
from catad.planner.network.bound import bound
from catad.planner.network.eliminate import Entry, Side, eliminate, take_step
from catad.planner.network.kinds import Kinds, OutOfWork, Priced
from catad.planner.network.linear_graph import LinearGraph
from catad.planner.problems.by_sizes import cheap_order

EXACT = 12  # vertices up to which the exact search is tried
SIZED = 300  # vertices up to which the order by sizes is looked for
SECONDS = 0.01  # what `cheap_order` may take for that
USES = 100  # how often a plan is supposed to be run: what one run may save, so many times, is what annealing may take
PRODUCT, OPERATION = 5e-6, 1e-9  # about the seconds that looking at a product takes, and a multiply-add
OVER = 1e30  # added to the cost of what needs more memory than there is


class Found(NamedTuple):
    """Orders, the best first, with what they cost by kinds; whether the first is known to be the best; a bound below all."""

    orders: list[tuple[float, list[Entry]]]
    exact: bool
    bound: float


class Search:
    """The search for orders of one graph; `memory` limits the bytes of computed arrays."""

    def __init__(self, graph: LinearGraph, kinds: Kinds, memory: float | None, explicit: bool) -> None:
        self.graph, self.kinds, self.memory, self.explicit = graph, kinds, memory, explicit
        self.written: list[Entry] = []  # edges that are written out before anything is eliminated
        self.start = kinds.begun()

    def price(self, order: Sequence[Entry], most: float = math.inf) -> float:
        """The cost of an order, after `written`; anything above `most` once it is more, or once the work is spent."""
        try:
            before, after, priced = self._fresh()
            for entry in [*self.written, *order]:
                take_step(before, after, entry, priced)
                if priced.value > most:
                    break
                if self.kinds.work.spent:
                    return math.inf
            return self._ended(after, priced)
        except OutOfWork:
            return math.inf

    def _fresh(self) -> tuple[Side[int], Side[int], Priced]:
        before, after, priced = self.start
        return [dict(side) for side in before], [dict(side) for side in after], priced.copy()

    def _ended(self, after: Side[int], priced: Priced) -> float:
        """The value of what has been priced, with what writing the rest out takes, where that is asked for."""
        if self.explicit:
            for p in range(self.graph.inputs):
                for edge in after[p].values():
                    if self.kinds.lazy[edge]:
                        priced.write(edge, self.kinds.cheaper_way(edge))
        over = self.memory is not None and priced.peak > self.memory
        return priced.value + OVER * priced.peak if over else priced.value

    # -- orders to begin with

    def portfolio(self) -> Iterator[list[int]]:
        """Orders by rules."""
        inner = list(self.graph.inner)
        yield inner[::-1]
        yield inner
        for key in (self._growth, self._cost, self._pairs):
            try:
                yield self._greedy(key)
            except OutOfWork:
                return
        if len(inner) <= SIZED:
            yield list(cheap_order(self.graph.sized, SECONDS).order)

    def _cost(self, before: Side[int], after: Side[int], v: int) -> tuple[float, int]:
        return self._step(before, after, v), len(before[v]) * len(after[v])

    def _growth(self, before: Side[int], after: Side[int], v: int) -> tuple[float, int]:
        """The growth of the numbers that the edges hold where v is eliminated."""
        product, stored, grown = self.kinds.product, self.kinds.stored, 0
        self.kinds.work.left -= len(before[v]) * len(after[v])
        for p, first in before[v].items():
            grown -= stored[first]
            for s, second in after[v].items():
                made, old = product(first, second).kind, after[p].get(s)
                if made >= 0:
                    grown += stored[made] if old is None else max(0, stored[made] - stored[old])
        return grown - sum([stored[second] for second in after[v].values()]), len(before[v]) * len(after[v])

    def _pairs(self, before: Side[int], after: Side[int], v: int) -> tuple[float, int]:
        self.kinds.work.left -= 1
        return len(before[v]) * len(after[v]), 0

    def _greedy(self, key: Callable[[Side[int], Side[int], int], tuple[float, int]]) -> list[int]:
        """An order by a greedy rule: next is the vertex of the least key, of several the first."""
        before, after, priced = self._fresh()
        for entry in self.written:
            take_step(before, after, entry, priced)

        def take(v: int) -> list[int]:
            near = [*before[v], *after[v]]
            if self.kinds.work.spent:
                raise OutOfWork
            eliminate(before, after, v, priced)
            return near

        return greedy_order(self.graph.inner, lambda v: key(before, after, v), take)

    # -- exact search

    def best(self, most: float) -> tuple[float, list[int]] | None:
        """The cheapest order, if it costs less than `most`; None where there is none. Raises `OutOfWork`.

        A state is laid out when it is taken from the queue; the steps from it are priced without being taken.
        """
        inner, work = list(self.graph.inner), self.kinds.work
        start: list[int] = []
        heap: list[tuple[float, int, _State, int | None]] = []
        done: set[tuple[tuple[int, int, int], ...]] = set()
        made = itertools.count()

        def open_steps(state: _State) -> None:
            order, before, after, priced = state
            for v in inner:
                if v not in order:
                    total = priced.value + self._step(before, after, v)
                    if total < most:
                        heapq.heappush(heap, (total, next(made), state, v))

        open_steps((start, *self._fresh()))
        while heap:
            value, _, (order, before, after, priced), v = heapq.heappop(heap)
            if v is None:
                return value, order
            order, before, after, priced = [*order, v], [dict(s) for s in before], [dict(s) for s in after], priced.copy()
            eliminate(before, after, v, priced)
            key = tuple([(p, s, edge) for p, side in enumerate(after) for s, edge in sorted(side.items())])
            work.left -= 6 + len(key)
            if work.spent:
                raise OutOfWork
            if key in done or (self.memory is not None and priced.peak > self.memory):
                continue
            done.add(key)
            if len(order) < len(inner):
                open_steps((order, before, after, priced))
            elif (total := self._ended(after, priced)) < most:
                heapq.heappush(heap, (total, next(made), (order, before, after, priced), None))
        return None

    def _step(self, before: Side[int], after: Side[int], v: int) -> float:
        """The cost of eliminating a vertex: its products, and the sums with edges that are there."""
        kinds, spent = self.kinds, 0.0
        kinds.work.left -= 1 + len(before[v]) * len(after[v])
        for p, first in before[v].items():
            row = after[p]
            for s, second in after[v].items():
                product = kinds.product(first, second)
                spent += product.cost
                if product.kind >= 0 and s in row:
                    spent += kinds.sum(row[s], product.kind).cost
        return spent


_State = tuple[list[int], Side[int], Side[int], Priced]


def search(
    graph: LinearGraph, kinds: Kinds, memory: float | None, explicit: bool, within_reason: bool = False
) -> Found | None:
    """Cheap orders of a graph; None where the work does not suffice to price any.

    With `within_reason` annealing takes no more than what may be saved by it.
    """
    tried: dict[tuple[Entry, ...], float] = {}
    try:
        own = Search(graph, kinds, memory, explicit)
        for written in _written_first(own):
            own.written = written
            for order in own.portfolio():
                _offer(tried, own, order, own.price(order))
                if kinds.work.spent:
                    break
    except OutOfWork:
        return None
    if min(tried.values()) == math.inf:
        return None
    least = 0 if kinds.model is not None or kinds.shared else bound(graph)
    exact = False
    if min(tried.values()) > least:
        exact = len(graph.inner) <= EXACT and _exactly(own, tried)
        if not exact and len(graph.inner) > 1:
            _annealed(own, tried, _worth(own, tried, least) if within_reason else math.inf)
    ranked = [(value, list(order)) for value, order in _sorted(tried) if value < math.inf]
    return Found(ranked, exact, ranked[0][0] if exact else least)


def _offer(tried: dict[tuple[Entry, ...], float], own: Search, order: Sequence[int], value: float) -> None:
    entries = (*own.written, *order)
    tried[entries] = min(value, tried.get(entries, math.inf))


def _exactly(own: Search, tried: dict[tuple[Entry, ...], float]) -> bool:
    """Search exactly with half the work that is left; True where the best order is known then."""
    work = own.kinds.work
    least, own.written = min(tried.values()), []
    own.kinds.work = work.lend(work.left / 2)
    try:
        found = own.best(least)
    except OutOfWork:
        return False
    finally:
        work.take_back(own.kinds.work)
        own.kinds.work = work
    if found is not None:
        _offer(tried, own, found[1], found[0])
    return own.kinds.plain and _adds_up(own.graph)


def _worth(own: Search, tried: dict[tuple[Entry, ...], float], least: float) -> float:
    """The products that may be looked at to save what the best order costs above a bound: `USES` times, as plans run often."""
    model = own.kinds.model
    if model is not None and not isinstance(model, CostProfile):
        return math.inf  # in a unit of the caller's
    value, order = _sorted(tried)[0]
    if value >= OVER:
        memory, own.memory, own.written = own.memory, None, []
        value, own.memory = own.price(order), memory
    return USES * (value - least) / PRODUCT * (OPERATION if model is None else 1.0)


def _annealed(own: Search, tried: dict[tuple[Entry, ...], float], most: float) -> None:
    """Anneal the best order, what is written out first staying so, within a part of the work that is left."""
    best = _sorted(tried)[0][1]
    own.written = [entry for entry in best if not isinstance(entry, int)]

    def price(order: Sequence[int], most: float) -> float:
        value = own.price(order, most)
        if value <= most:
            _offer(tried, own, order, value)
        return value

    work = own.kinds.work
    own.kinds.work = work.lend(most)
    anneal_order(price, [v for v in best if isinstance(v, int)], own.kinds.work, random.Random("elimination"))
    own.kinds.work = work


def _sorted(tried: dict[tuple[Entry, ...], float]) -> list[tuple[float, tuple[Entry, ...]]]:
    """Orders sorted by cost; of equal ones the first that was tried."""
    return sorted([(value, order) for order, value in tried.items()], key=lambda pair: pair[0])


def _written_first(own: Search) -> list[list[Entry]]:
    """Nothing; and where there are maps known by their application only, all these written out, each the cheaper way."""
    _, after, _ = own.start
    try:
        every: list[Entry] = [
            (own.kinds.cheaper_way(edge), p, s)
            for p, side in enumerate(after)
            for s, edge in side.items()
            if own.kinds.lazy[edge]
        ]
    except OutOfWork:
        return [[]]
    return [[], every] if every else [[]]


def _adds_up(graph: LinearGraph) -> bool:
    """True where no two products can be the same: of the maps without arrays, at most one enters and one leaves a vertex."""
    free = [(p, s) for p, s, state in graph.edges if not any(part.ids for part in state)]
    return len({p for p, _ in free}) == len(free) == len({s for _, s in free})
