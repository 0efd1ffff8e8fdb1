"""The search for a cheap order of elimination, by the costs of the structured products.

First comes an exact search, dynamic programming over connected sets of vertices and the kinds of edges that they leave
(`sets.py`). Where the work does not suffice for it, the search tries the order of the program, its reverse, three greedy
rules, and the order that `ct.plan_graph` finds for the sizes alone. The rules take first the vertex without which the edges
hold the fewest numbers (minimal fill), the cheapest vertex, or the vertex between the fewest pairs (Markowitz). Where maps
are matrix-free, each order is also tried with these maps written out first. Of the best order a few neighbours at a time are
then put into their best order by the exact search. Budgets are counted work, so the same graph and budget give the same
order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from catad.planner.costs.cost_profile import CostProfile
from catad.planner.heuristics import OutOfWork, greedy_order
from catad.planner.network.bound import bound
from catad.planner.network.eliminate import Entry, Side, eliminate, take_step
from catad.planner.network.kinds import Kinds, Priced
from catad.planner.network.linear_graph import LinearGraph
from catad.planner.network.sets import Sets
from catad.planner.problems.by_sizes import cheap_order
from catad.support.progress import watched

EXACT = 64  # vertices up to which the exact search is tried
SUBSETS = 9  # vertices up to which sets of vertices that are gone are searched, where the order of sums matters
OF_EXACT = 0.8  # of the work that is left then
WINDOWS = (6, 10)  # vertices of an order that are put into their best order at once
SIZED = 300  # vertices up to which the order by sizes is looked for
SECONDS = 0.01  # what `cheap_order` may take for that
USES = 100  # how often a plan is supposed to be run: what one run may save, so many times, is what annealing may take
PRODUCT, OPERATION = 2e-6, 1e-9  # about the seconds that looking at a product takes, and a multiply-add
LARGER = 1e25  # added to the cost of what stores more numbers than it may
OVER = 1e30  # added to the cost of what needs more memory than there is


class Found(NamedTuple):
    """Orders, the best first, with what they cost by kinds; whether the first is known to be the best; a bound below all.

    There are none where it is known that none costs less than what was given.
    `apart` says that no two products can be the same, so that what orders cost by kinds is what they take.
    """

    orders: list[tuple[float, list[Entry]]]
    exact: bool
    bound: float
    apart: bool
    ended: bool = False  # the exact search ended, without a proof
    larger: bool = False  # there is none, since all that might cost less store more numbers than they may


class Search:
    """The search for orders of one graph; `memory` limits the bytes of computed arrays, `stored` the numbers of the result."""

    def __init__(
        self, graph: LinearGraph, kinds: Kinds, memory: float | None, explicit: bool, stored: float = math.inf
    ) -> None:
        self.graph, self.kinds, self.memory, self.explicit, self.stored = graph, kinds, memory, explicit, stored
        self.written: list[Entry] = []  # edges that are written out before anything is eliminated
        self.start = kinds.begun()
        self.ended = False  # the exact search, without a proof

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
        if self.stored < math.inf and self._left(after) > self.stored:
            priced.value += LARGER
        return priced.value + OVER * priced.peak if over else priced.value

    def _left(self, after: Side[int]) -> int:
        """The numbers of the maps from inputs to outputs."""
        return self.kinds.stored_by([edge for p in range(self.graph.inputs) for edge in after[p].values()])

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

    def best(self, most: float) -> tuple[list[int], bool] | None:
        """The cheapest order by kinds, if it costs less than `most`, and whether no way was left out. Raises `OutOfWork`."""
        before, after, _ = self._fresh()
        inner = list(self.graph.inner)
        sets = Sets(self.kinds, before, after, inner, most, self.stored)
        order = sets.best()
        if not sets.exact or sets.in_any_order:
            return order or [], sets.exact
        may_end = len(inner) <= SUBSETS and self.kinds.work.left >= len(inner) << len(inner)  # about one product in each way
        return (self._by_subsets(most) or [], True) if may_end else (order or [], False)

    def _by_subsets(self, most: float) -> list[int] | None:
        """The cheapest order, sums added as it adds them: the best way to each set of vertices that are gone and its edges."""
        before, after, priced = self._fresh()
        ways: dict[Any, tuple[float, list[int], Side[int], Side[int]]] = {(): (priced.value, [], before, after)}
        for _ in self.graph.inner:
            longer: dict[Any, tuple[float, list[int], Side[int], Side[int]]] = {}
            for value, order, before, after in ways.values():
                for v in self.graph.inner:
                    if v in order:
                        continue
                    to, out = _apart_at(v, before, after)
                    spent = Priced(self.kinds, value)
                    eliminate(to, out, v, spent)
                    if self.kinds.work.spent:
                        raise OutOfWork
                    if spent.value >= most:
                        continue
                    gone = [*order, v]
                    key = sum([1 << u for u in gone]), frozenset([(p, e) for p, side in enumerate(out) for e in side.items()])
                    if key not in longer or spent.value < longer[key][0]:
                        longer[key] = spent.value, gone, to, out
            ways = longer
        if self.stored < math.inf:
            ways = {key: way for key, way in ways.items() if self._left(way[3]) <= self.stored}
        return min(ways.values(), key=lambda way: way[0])[1] if ways else None

    def improved(self, order: Sequence[int], at: int, size: int) -> list[int] | None:
        """An order of which `size` vertices from a place on have been put into their best order; None where they are in it."""
        before, after, priced = self._fresh()
        for entry in [*self.written, *order[:at]]:
            take_step(before, after, entry, priced)
        window = list(order[at : at + size])
        found = Sets(self.kinds, before, after, window).best()
        return None if found is None or found == window else [*order[:at], *found, *order[at + size :]]

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


def _apart_at(v: int, before: Side[int], after: Side[int]) -> tuple[Side[int], Side[int]]:
    """The same edges, of which those around v may be changed."""
    to, out = list(before), list(after)
    for p in before[v]:
        out[p] = dict(after[p])
    for s in after[v]:
        to[s] = dict(before[s])
    return to, out


def search(
    graph: LinearGraph,
    kinds: Kinds,
    memory: float | None,
    explicit: bool,
    within_reason: bool = False,
    most: float = math.inf,
    stored: float = math.inf,
) -> Found | None:
    """Cheap orders of a graph; None where the work does not suffice to price any, or none is found that costs less than `most`.

    The exact search comes first; where it does not end, orders by rules, of which the best is improved by windows. With
    `within_reason` these take no more than what may be saved by them.
    """
    with watched("searching for an order", lambda: (kinds.work.done, 1.0)):
        return _searched(graph, kinds, memory, explicit, within_reason, most, stored)


def _searched(
    graph: LinearGraph, kinds: Kinds, memory: float | None, explicit: bool, within_reason: bool, most: float, stored: float
) -> Found | None:
    tried: dict[tuple[Entry, ...], float] = {}
    exact = False
    least: float = 0
    try:
        own = Search(graph, kinds, memory, explicit, stored)
        for order in (list(graph.inner)[::-1], list(graph.inner)):
            if not kinds.work.spent:
                _offer(tried, own, order, own.price(order, most))
        least = bound(graph, kinds.model)
        exact = _is_for_sets(own) and min(tried.values()) > least and _exactly(own, tried, most)
        for written in [] if exact or kinds.work.spent else _written_first(own):
            own.written = written
            for order in own.portfolio():
                _offer(tried, own, order, own.price(order, most))
                if kinds.work.spent:
                    break
    except OutOfWork:
        if not tried:
            return None
    if min(tried.values()) >= most:
        return Found([], True, least, False, larger=min(tried.values()) >= LARGER) if exact else None
    if not exact and len(graph.inner) > 1 and min(tried.values()) > least:
        _by_windows(own, tried, _worth(own, tried, least) if within_reason else math.inf)
    ranked = [(value, list(order)) for value, order in _sorted(tried) if value < most]
    return Found(ranked, exact, ranked[0][0] if exact else least, kinds.plain and _adds_up(graph), own.ended)


def _offer(tried: dict[tuple[Entry, ...], float], own: Search, order: Sequence[int], value: float) -> None:
    entries = (*own.written, *order)
    tried[entries] = min(value, tried.get(entries, math.inf))


def _is_for_sets(own: Search) -> bool:
    """True where the exact search may end: it does not count memory, and a set may have so many vertices."""
    return own.memory is None and not own.kinds.work.spent and len(own.graph.inner) <= EXACT


def _exactly(own: Search, tried: dict[tuple[Entry, ...], float], most: float) -> bool:
    """Search exactly with most of the work that is left; True where the best order below `most` is known then."""
    work, found = own.kinds.work, None
    least, own.written = min(most, *tried.values()), []
    with work.lent(work.left * OF_EXACT) as own.kinds.work:
        found = own.best(least)
    own.kinds.work = work
    if found is None:
        return False
    order, exact = found
    if order:
        _offer(tried, own, order, own.price(order))
    own.ended = not exact
    return exact


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


def _by_windows(own: Search, tried: dict[tuple[Entry, ...], float], most: float) -> None:
    """Put a few neighbours of the best order at a time into their best order, until none gains or the work is spent."""
    value, best = _sorted(tried)[0]
    own.written = [entry for entry in best if not isinstance(entry, int)]
    order = [v for v in best if isinstance(v, int)]
    work = own.kinds.work
    with work.lent(most) as own.kinds.work:
        gained = True
        while gained:
            gained = False
            for size in WINDOWS:
                for at in range(0, max(1, len(order) - size // 2), size // 2):
                    found = own.improved(order, at, size)
                    price = math.inf if found is None else own.price(found, value)
                    if found is not None and price < value:
                        order, value, gained = found, price, True
                        _offer(tried, own, order, value)
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
