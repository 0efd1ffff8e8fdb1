"""From a part of a graph to a good order of it: a start from every rule, then exact search, pieces and annealing in turn."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from catad.planner.heuristics import Work
from catad.planner.problems.anneal import anneal
from catad.planner.problems.exact import Exact
from catad.planner.problems.orders import costs, fill, greedy, relative_degree
from catad.planner.problems.parts import Part
from catad.planner.problems.search import improve
from catad.planner.problems.tree import Tree
from catad.support.progress import watched

SMALL = 10  # vertices up to which dynamic programming comes first
PROVABLE = 48  # vertices up to which it is tried at all
RIVALS = 2  # orders that are followed for a while beside the best one
RULES = 1000  # vertices up to which every greedy rule is tried
ANNEALING = 4000  # work for each vertex in the first annealing; each one after it gets twice as much


@dataclass
class Solution:
    """The best order of a part that is known, what it costs, and what any order costs at least."""

    part: Part
    floor: list[int]
    order: list[int]
    value: int
    bound: int
    rivals: list[list[int]] = field(default_factory=list)  # other orders that may lead further

    @property
    def optimal(self) -> bool:
        return self.value == self.bound

    def offer(self, order: Sequence[int], value: int) -> None:
        if value < self.value:
            self.order, self.value = list(order), value


def begin(part: Part, floor: list[int], known: Sequence[Sequence[int]], rng: random.Random) -> Solution:
    """The best of the orders that are known and of those of every greedy rule."""
    preds, succs, sizes, vertices = part.preds, part.succs, part.sizes, list(range(part.m))
    tried = [list(order) for order in known]
    if part.m <= RULES:
        relative = relative_degree(preds, succs, sizes, vertices, part.inner)
        tried += [greedy(preds, succs, vertices, key, rng) for key in (relative, fill(sizes))]
    priced = sorted([(sum(costs(preds, succs, sizes, order).values()), k) for k, order in enumerate(tried)])
    best, *others = [tried[k] for _, k in priced]
    rivals = [order for k, order in enumerate(others) if order not in [best, *others[:k]]]
    return Solution(part, floor, best, priced[0][0], sum(floor), rivals[:RIVALS])


def better(known: Solution, work: Work, rng: random.Random) -> None:
    """Better a solution until it is known to be optimal or the work is spent."""
    part = known.part
    if part.m <= SMALL and not known.optimal:
        _prove(known, work, work.left)
    if known.optimal or work.spent:
        return
    _race(known, work, rng)
    if SMALL < part.m <= PROVABLE and not known.optimal:
        _prove(known, work, work.left / 4)
    length = ANNEALING * part.m
    while not known.optimal and not work.spent:
        share = work.left if work.left < 2 * length else length
        tree = _annealed(known, work, 0.7 * share, rng)
        _polish(known, tree, work, 0.3 * share, rng)
        length *= 2


def _race(known: Solution, work: Work, rng: random.Random) -> None:
    """Follow the best orders that are known for a while, then the one that has come furthest."""
    starts = [known.order, *known.rivals]
    known.rivals = []
    share = work.left / 8
    trees = [Tree(known.part, order) for order in starts]
    for tree in trees:
        _polish(known, tree, work, share, rng)
    if not known.optimal:
        _polish(known, min(trees, key=lambda tree: tree.value), work, work.left / 2, rng)


def _annealed(known: Solution, work: Work, share: float, rng: random.Random) -> Tree:
    with work.lent(share) as lent:
        tree = anneal(Tree(known.part, known.order), known.floor, lent, rng)
    known.offer(tree.order(), tree.value)
    return tree


def _polish(known: Solution, tree: Tree, work: Work, share: float, rng: random.Random) -> None:
    with work.lent(share) as lent:
        improve(tree, known.floor, lent, rng)
    known.offer(tree.order(), tree.value)


def _prove(known: Solution, work: Work, share: float) -> None:
    """Find the optimum by exact search, if the work suffices."""
    part = known.part
    with work.lent(share) as lent:
        exact = Exact(part.preds, part.succs, part.sizes, part.measure, known.floor, lent)
        value = exact.cost(part.inner, known.value)
        if value < known.value:
            known.offer(list(exact.order(part.inner)), value)
        known.bound = known.value


def improve_all(solutions: Sequence[Solution], units: float, seed: object) -> None:
    """Share work among the parts that are not known to be optimal, the smallest first; what one leaves goes to the next."""
    work, rng = Work(units), random.Random(f"search {seed}")
    todo = sorted([known for known in solutions if not known.optimal], key=lambda known: known.part.m)
    vertices = sum([known.part.m for known in todo])
    with watched("searching for an order", lambda: (work.done, 1.0)):
        for known in todo:
            with work.lent(work.left * known.part.m / vertices) as lent:
                vertices -= known.part.m
                better(known, lent, rng)
