"""Annealing of elimination orders: one vertex at a time goes to a place drawn from all that it could have.

Moving v later in the order changes what its ancestors in the elimination tree cost, moving it earlier what its descendants cost;
one pass over them prices every place. The place is drawn with probability proportional to exp(-cost / temperature) (a heat bath:
S. Geman and D. Geman, 1984; annealing: S. Kirkpatrick, C. Gelatt and M. Vecchi, 1983).
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import NamedTuple

from catad.planner.heuristics import Work
from catad.planner.problems.parts import reach
from catad.planner.problems.tree import Tree

HOT, COLD = 0.1, 0.02  # temperatures at the start and at the end, in mean costs of a vertex
HOPELESS = 6.0  # temperatures above which a place is not looked beyond


class Place(NamedTuple):
    """A place for v: after (or before) the first `among` vertices of those passed, at `change` of the whole cost."""

    change: int
    own: int
    among: int


def anneal(tree: Tree, floor: Sequence[int], work: Work, rng: random.Random) -> Tree:
    """The best tree met while the temperature falls as the work is spent; the tree that is given moves along."""
    best = tree.copy()
    target, scale = sum(floor), tree.value / tree.part.m
    start = work.left
    vertices = list(range(tree.part.m))
    while not work.spent and best.value > target:
        rng.shuffle(vertices)
        temperature = scale * HOT * (COLD / HOT) ** (1 - work.left / start)
        for v in vertices:
            if work.spent:
                break
            relocate(tree, v, floor, temperature, work, rng)
        if tree.value < best.value:
            best = tree.copy()
    return best


def relocate(tree: Tree, v: int, floor: Sequence[int], temperature: float, work: Work, rng: random.Random) -> None:
    """Draw a new place for v and put it there."""
    limit = tree.cost[v] - floor[v] + HOPELESS * temperature
    later, ancestors = _later(tree, v, limit, work)
    earlier, descendants = _earlier(tree, v, limit, work)
    weights = [1.0, *[math.exp(-max(place.change, -500 * temperature) / temperature) for place in later + earlier]]
    k = rng.choices(range(len(weights)), weights)[0] - 1
    if k < 0:
        return
    if k < len(later):
        place = later[k]
        passed = ancestors[: place.among]
        prices = dict(passed) | {v: place.own}
        tree.reorder([v, *dict(passed)], passed[-1][0], prices, prices)
        return
    place = earlier[k - len(later)]
    passed = descendants[: place.among]
    prices = {v: place.own} | dict(reversed(passed))
    tree.reorder([v, *dict(passed)], v, prices, prices)


Prices = list[tuple[int, int]]  # vertices with what they would cost


def _later(tree: Tree, v: int, limit: float, work: Work) -> tuple[list[Place], Prices]:
    """The places after ancestors of v, and what these cost while v is there."""
    preds, succs, sizes, total = tree.part.preds, tree.part.succs, tree.part.sizes, tree.total
    bit, change = 1 << v, 0
    places: list[Place] = []
    passed: Prices = []
    u = tree.parent[v]
    while u >= 0 and change <= limit and not work.spent:
        gone = tree.below[u] ^ bit
        before = gone ^ 1 << u
        price = sizes[u] * total(reach(preds, u, before, work)) * total(reach(succs, u, before, work))
        change += price - tree.cost[u]
        passed.append((u, price))
        own = sizes[v] * total(reach(preds, v, gone, work)) * total(reach(succs, v, gone, work))
        places.append(Place(change + own - tree.cost[v], own, len(passed)))
        u = tree.parent[u]
        work.left -= 4
    return places, passed


def _earlier(tree: Tree, v: int, limit: float, work: Work) -> tuple[list[Place], Prices]:
    """The places before descendants of v, and what these cost once v is gone."""
    preds, succs, sizes, total = tree.part.preds, tree.part.succs, tree.part.sizes, tree.total
    bit, change = 1 << v, 0
    near = preds[v] | succs[v]
    places: list[Place] = []
    passed: Prices = []
    gone = tree.below[v] ^ bit
    stack = list(tree.children[v])
    while stack and change <= limit and not work.spent:
        u = stack.pop()
        gone ^= 1 << u
        stack += tree.children[u]
        price = tree.cost[u]
        if tree.below[u] & near:
            before = gone | bit
            price = sizes[u] * total(reach(preds, u, before, work)) * total(reach(succs, u, before, work))
        change += price - tree.cost[u]
        passed.append((u, price))
        own = sizes[v] * total(reach(preds, v, gone, work)) * total(reach(succs, v, gone, work))
        places.append(Place(change + own - tree.cost[v], own, len(passed)))
        work.left -= 4
    return places, passed
