"""Orders of elimination: their cost, and the rules that build them vertex by vertex.

Forward elimination follows the program, reverse elimination goes back; Markowitz always takes a vertex that is cheapest now
(A. Griewank and S. Reese, On the calculation of Jacobian matrices by the Markowitz rule, 1991), relative Markowitz one that is
cheapest now compared with what it costs last (U. Naumann, 1999), minimal fill one that adds the fewest edges.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence

from catad.planner.graph import measure, members, remove
from catad.planner.heuristics import greedy_order

Sets = Sequence[int]
Key = Callable[[int, list[int], list[int]], int]


def costs(preds: Sets, succs: Sets, sizes: Sequence[int], order: Iterable[int]) -> dict[int, int]:
    """The cost of each vertex of an order when it is eliminated."""
    before, after, total = list(preds), list(succs), measure(sizes)
    found = {}
    for v in order:
        found[v] = sizes[v] * total(before[v]) * total(after[v])
        remove(before, after, v)
    return found


def markowitz_degree(sizes: Sequence[int]) -> Key:
    """The cost of a vertex now."""
    total = measure(sizes)
    return lambda v, before, after: sizes[v] * total(before[v]) * total(after[v])


def relative_degree(preds: Sets, succs: Sets, sizes: Sequence[int], order: Sequence[int], inner: int) -> Key:
    """The cost of a vertex now, less what it costs when it is eliminated last; `order` is topological."""
    total = measure(sizes)
    sources = _ends(preds, order, inner)
    targets = _ends(succs, list(reversed(order)), inner)
    last = {v: total(sources[v]) * total(targets[v]) for v in order}
    return lambda v, before, after: sizes[v] * (total(before[v]) * total(after[v]) - last[v])


def _ends(adjacent: Sets, order: Sequence[int], inner: int) -> dict[int, int]:
    """The vertices that stay from which each vertex can be reached."""
    found: dict[int, int] = {}
    for v in order:
        reached = adjacent[v] & ~inner
        for u in members(adjacent[v] & inner):
            reached |= found[u]
        found[v] = reached
    return found


def fill(sizes: Sequence[int]) -> Key:
    """The entries that eliminating a vertex adds."""
    total = measure(sizes)

    def added(v: int, before: list[int], after: list[int]) -> int:
        targets = after[v]
        return sum([sizes[p] * total(targets & ~after[p]) for p in members(before[v])])

    return added


def greedy(preds: Sets, succs: Sets, vertices: Iterable[int], key: Key, rng: random.Random | None = None) -> list[int]:
    """An order by a greedy rule: next is the vertex of the least key; ties go to the smallest, or are drawn with `rng`."""
    before, after = list(preds), list(succs)

    def take(v: int) -> list[int]:
        sources, targets = remove(before, after, v)
        return sources + targets

    return greedy_order(vertices, lambda v: key(v, before, after), take, rng, looks_far=True)
