"""The search: exact dynamic programming over bracketings, whose state includes the structure that a product has.

The cheapest way to multiply factors i to j depends on more than its cost: what it results in (diagonal, dense, a chain that
has no product) decides what the products after it cost. So each cell (i, j) keeps the best way for every resulting structure
(with the arrays in its slots). R. Bellman, Dynamic programming, 1957; for matrices: S. Godbole, 1973.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import count
from typing import NamedTuple

from catad import errors
from catad.linear.block import Block, Chain, Sum
from catad.linear.delta import Delta
from catad.linear.structure import Structure
from catad.planner.brackets import Tree, balanced, forward, reverse
from catad.planner.cost import CostFunction, value_of
from catad.planner.execute import Traced, meeting_peak, trace
from catad.planner.factors import Factors, State, canonical, computed_count, held, join, leaf, shifted

BUDGET = 40_000  # products that the exact search may look at: chains of up to 61 factors


class Way(NamedTuple):
    """One way to multiply a run of factors, compared by (value, peak, busy)."""

    value: float
    peak: int
    busy: int  # products that compute something
    kept: int  # bytes of computed arrays that the result keeps
    halves: tuple[Way, Way] | int  # or the number of a single factor
    left_first: bool = True

    @property
    def rank(self) -> tuple[float, int, int]:
        return self.value, self.peak, self.busy


Cell = dict[State, list[Way]]


class Search:
    """The cells of a chain; with `pareto` every cell keeps all ways that no other beats in both value and peak."""

    def __init__(self, factors: Factors, function: CostFunction | None, pareto: bool, budget: int) -> None:
        self.factors, self.function, self.pareto = factors, function, pareto
        self.left = budget
        n = len(factors.parts)
        self.cells: dict[tuple[int, int], Cell] = {
            (k, k): {leaf(part): [Way(0, 0, 0, 0, k)]} for k, part in enumerate(factors.parts)
        }
        for width in range(2, n + 1):
            for i in range(n - width + 1):
                self._fill(i, i + width - 1)

    def _fill(self, i: int, j: int) -> None:
        cell: Cell = {}
        self.cells[i, j] = cell
        for k in range(i, j):
            if not self._hopeless(cell, i, k, j):
                for state, way in self.ways(i, k, j):
                    self._keep(cell, state, way)

    def _hopeless(self, cell: Cell, i: int, k: int, j: int) -> bool:
        """Whether a split is a product of two dense maps, dearer than one that the cell has: the result is the same."""
        if self.function is not None or self.pareto or len(cell) != 1:
            return False
        left, right = self.cells[i, k], self.cells[k + 1, j]
        if len(left) != 1 or len(right) != 1:
            return False
        ((a, (x,)),), ((c, (y,)),), ((state, (known,)),) = left.items(), right.items(), cell.items()
        if not (_is_full(a) and _is_full(c) and _is_full(state)):
            return False
        first, second = a[0].structure, c[0].structure
        return x.value + y.value + first.columns * first.rows * second.rows > known.value

    def ways(self, i: int, k: int, j: int) -> Iterable[tuple[State, Way]]:
        """The ways to multiply factors i to j by first multiplying i to k and k + 1 to j."""
        for a, a_ways in self.cells[i, k].items():
            taken = computed_count(a)
            for c, c_ways in self.cells[k + 1, j].items():
                work = weight(a) * weight(c)
                self.left -= 1 if work == 1 else SUMS * work
                if self.left < 0:
                    raise OverBudget
                c_moved = shifted(c, taken)
                joined = join(a, c_moved, count(-1 - taken - computed_count(c), -1))
                value = value_of(joined.actions, self.function)
                busy = any(action.found.computed for action in joined.actions)
                state = canonical(joined.state)
                kept = held(state)
                for x in a_ways:
                    for y in c_ways:
                        peak, order = meeting_peak(x.peak, x.kept, y.peak, y.kept, joined.peak)
                        total = (x.value + y.value + value, peak, x.busy + y.busy + busy)
                        yield state, Way(*total, kept, (x, y), order)

    def _keep(self, cell: Cell, state: State, way: Way) -> None:
        known = cell.setdefault(state, [])
        if not self.pareto:
            if not known:
                known.append(way)
            elif way.rank < known[0].rank:
                known[0] = way
            return
        if any(other.value <= way.value and other.peak <= way.peak for other in known):
            return
        known[:] = [other for other in known if not (way.value <= other.value and way.peak <= other.peak)]
        known.append(way)

    def all(self, i: int = 0, j: int = -1) -> list[Way]:
        """The ways to multiply factors i to j (all of them by default), best first."""
        j = len(self.factors.parts) - 1 if j < 0 else j
        return sorted((way for ways in self.cells[i, j].values() for way in ways), key=lambda way: way.rank)


SUMS = 8  # what looking at a product of sums or blocks costs for each pair of terms, in products of plain factors


def weight(state: State) -> int:
    """How many plain maps the parts of a state are made of."""
    return sum(terms(part.structure) for part in state)


@lru_cache(maxsize=65536)
def terms(structure: Structure) -> int:
    """How many plain maps a structure is made of."""
    if isinstance(structure, (Sum, Chain)):
        return sum(terms(inner) for inner, _ in structure.parts)
    if isinstance(structure, Block):
        return sum(terms(part[0]) for row in structure.grid for part in row if part is not None)
    return 1


def _is_full(state: State) -> bool:
    """Whether a product is one dense array with every axis of its result and its argument."""
    structure = state[0].structure
    if len(state) > 1 or not isinstance(structure, Delta) or structure.slot is None or structure.rows < 2:
        return False
    return structure.is_dense and len(structure.slot) == len(structure.out) + len(structure.ins)


class OverBudget(Exception):
    """The exact search would look at more products than it may."""


def tree_of(way: Way, n: int) -> Tree:
    """The tree of a way to multiply n factors."""
    made: list[tuple[int, int]] = []
    done: dict[int, int] = {}  # a way by identity -> its node
    stack: list[tuple[Way, bool]] = [(way, False)]
    while stack:
        top, ready = stack.pop()
        if isinstance(top.halves, int):
            done[id(top)] = top.halves
            continue
        left, right = top.halves
        if ready:
            done[id(top)] = n + len(made)
            made.append((done[id(left)], done[id(right)]))
        else:
            first, second = (left, right) if top.left_first else (right, left)
            stack += [(top, True), (second, False), (first, False)]
    return tuple(made)


def best(factors: Factors, function: CostFunction | None, memory: float | None, budget: int | None) -> tuple[Traced, bool]:
    """The best bracketing under a memory limit in bytes, and whether it is known to be the best of all."""
    n = len(factors.parts)
    limit = BUDGET if budget is None else budget
    if n * (n * n - 1) // 6 <= limit:
        try:
            search = Search(factors, function, memory is not None, limit)
        except OverBudget:
            pass
        else:
            ways = search.all()
            fitting = [way for way in ways if memory is None or way.peak + factors.nbytes <= memory]
            if not fitting:
                raise errors.PlanError(errors.too_little_memory(memory, min(w.peak for w in ways) + factors.nbytes, True))
            return trace(factors, tree_of(fitting[0], n), function), True
    return _heuristic(factors, function, memory), False


def _heuristic(factors: Factors, function: CostFunction | None, memory: float | None) -> Traced:
    """The best of forward, reverse and balanced, each also after merging neighbours that merge at no growth."""
    n = len(factors.parts)
    groups, merging = _merged(factors)
    tried = [trace(factors, make(n), function) for make in (forward, reverse)]
    for make in (forward, reverse, balanced) if merging else (balanced,):
        upper = make(len(groups))
        tried.append(trace(factors, merging + _over(groups, upper, n + len(merging)), function))
    fitting = [traced for traced in tried if memory is None or traced.peak <= memory]
    if not fitting:
        raise errors.PlanError(errors.too_little_memory(memory, min(traced.peak for traced in tried), False))
    return min(fitting, key=lambda traced: (traced.value, traced.peak))


def _over(groups: list[int], upper: Tree, start: int) -> Tree:
    """A tree over groups as one over the nodes that the groups are; its products are nodes from `start` on."""
    m = len(groups)

    def node(k: int) -> int:
        return groups[k] if k < m else start + k - m

    return tuple([(node(left), node(right)) for left, right in upper])


def _merged(factors: Factors) -> tuple[list[int], Tree]:
    """Runs of neighbours whose products cost next to nothing and store no more: their nodes, and the products."""
    n = len(factors.parts)
    stack: list[tuple[int, State]] = []
    made: list[tuple[int, int]] = []
    fresh = count(-1, -1)
    for k, part in enumerate(factors.parts):
        node, state = k, leaf(part)
        while stack:
            joined = join(stack[-1][1], state, fresh)
            if not joined.actions or not _is_free(stack[-1][1], state, joined.state, value_of(joined.actions, None)):
                break
            made.append((stack.pop()[0], node))
            node, state = n + len(made) - 1, joined.state
        stack.append((node, state))
    return [node for node, _ in stack], tuple(made)


def _is_free(a: State, c: State, made: State, operations: float) -> bool:
    if len(a) > 1 or len(c) > 1 or len(made) > 1:
        return False
    first, second, result = a[0].structure.stored, c[0].structure.stored, made[0].structure.stored
    return result <= max(first, second) and operations <= min(first, second)
