"""Local search for elimination orders: a piece of the elimination tree at a time is put into its best order, exactly.

A piece is a few vertices that are connected in the tree. The vertices below it are eliminated already, and those above it
depend only on which vertices are eliminated. So the order of the piece can be replaced by itself; dynamic programming finds
the best one. Orders that cost the same are exchanged freely, which moves the pieces. (Large neighbourhood search: P. Shaw,
1998.)
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from catad.planner.graph import set_of
from catad.planner.heuristics import Work
from catad.planner.problems.exact import Exact
from catad.planner.problems.parts import connected
from catad.planner.problems.tree import Tree, subtree_window

SIZES = (4, 5, 6, 6, 7, 8, 10)  # of pieces: small ones are cheap, large ones see further
PIECE = 3000  # work for one piece at most


def improve(tree: Tree, floor: Sequence[int], work: Work, rng: random.Random) -> None:
    """Better the tree until no piece has been found that can be for a while, the work is spent or the bound is met."""
    target = sum(floor)
    patience = 20 + 2 * tree.part.m
    idle = 0
    while tree.value > target and idle <= patience and not work.spent:
        before = tree.value
        reorder_piece(tree, floor, work, rng)
        idle = 0 if tree.value < before else idle + 1


def reorder_piece(tree: Tree, floor: Sequence[int], work: Work, rng: random.Random) -> None:
    """Brings one piece of the tree into its best order; of several best ones any."""
    window, top = _piece(tree, floor, rng)
    old = {v: tree.cost[v] for v in window}
    if sum(old.values()) == sum([floor[v] for v in window]):
        work.left -= len(window)
        return
    work.left -= len(window)
    preds, succs = tree.reduced(window, top, work)
    prices: dict[int, int] = {}
    with work.lent(PIECE) as share:
        exact = Exact(preds, succs, tree.part.sizes, tree.total, floor, share, late=rng.random() < 0.5)
        for inside in connected(exact.around, set_of(window)):
            most = sum([cost for v, cost in old.items() if inside >> v & 1])
            exact.cost(inside, most + 1)
            prices.update(exact.order(inside))
        tree.reorder(window, top, prices, prices)


def _piece(tree: Tree, floor: Sequence[int], rng: random.Random) -> tuple[list[int], int]:
    """A piece, mostly around a vertex that costs more than it must."""
    start = rng.randrange(tree.part.m)
    for _ in range(4):
        if tree.cost[start] > floor[start]:
            break
        start = rng.randrange(tree.part.m)
    size = rng.choice(SIZES)
    return subtree_window(tree, start, size, [rng.random() for _ in range(size)])
