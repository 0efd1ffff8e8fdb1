"""The search: exact dynamic programming over bracketings, whose state includes the structure that a product has.

The cheapest product of factors i to j is not enough: the structure of a product (diagonal, dense, a chain without a rule)
decides the cost of the products after it. So each cell (i, j) keeps the best way for every resulting structure (with the
arrays in its slots); under a memory limit, all ways that no other beats in both cost and peak. A matrix-free map may stay a
factor of a chain, which costs nothing now and its applications later, or be written out by pushing or pulling a basis (U.
Naumann, K. Krishna Narayanan, Tangent and adjoint Jacobian chains, 2025). R. Bellman, Dynamic programming, 1957; for
matrices: S. Godbole, 1973.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any, NamedTuple

from catad.planner.chains.basis import BOTH, written
from catad.planner.chains.brackets import ALL, PULL, PUSH, Tree, balanced, forward, reverse
from catad.planner.chains.execute import TooDear, Traced, as_they_stand, meeting_peak, trace
from catad.planner.chains.factors import (
    Factors,
    State,
    canonical,
    computed_count,
    held,
    join,
    lazy,
    leaf,
    shifted,
    structure_of,
    weight,
    write_out,
)
from catad.planner.costs.cost import Model, preference, short_of_memory, value_of
from catad.planner.costs.cost_profile import CostProfile
from catad.planner.heuristics import OutOfWork, Work

TRACED = 1_000, 100  # pairs of terms that the products of one bracketing may have: at least, and for each factor
BUDGET = 40_000  # products that the exact search may look at: chains of up to 62 factors


class Candidate(NamedTuple):
    """One way to multiply a run of factors, compared by (value, peak, busy)."""

    value: float
    peak: int
    busy: int  # products that compute something
    kept: int  # bytes of computed arrays that the result keeps
    halves: tuple[Candidate, Candidate | int] | int  # the factor's number; two ways; a way and PUSH or PULL
    left_first: bool = True

    @property
    def rank(self) -> tuple[float, int, int]:
        return self.value, self.peak, self.busy


Cell = dict[State, list[Candidate]]


class Dense(NamedTuple):
    """A cell whose only product is a dense array: the best way, kept small until the cell is needed."""

    value: float
    peak: int
    busy: int
    kept: int
    columns: int
    rows: int
    split: int


class Search:
    """The cells of a chain, of ways that cost `most` at most.

    With `pareto` every cell keeps all ways that no other beats in both value and peak.
    """

    def __init__(self, factors: Factors, model: Model, pareto: bool, budget: int, most: float = math.inf) -> None:
        self.factors, self.model, self.pareto, self.most = factors, model, pareto, most
        self.work = Work(budget)
        self.seen: set[Any] = set()  # pairs of products that were looked at
        n = len(factors.parts)
        self.cells: dict[tuple[int, int], Cell] = {}
        self.dense: list[dict[int, Dense]] = [{} for _ in range(n)]
        dtypes = {slot.dtype for part in factors.parts for slot in part.structure.slots}
        used = [k for part in factors.parts for k in part.ids]
        plain = not callable(model) and not pareto and len(dtypes) == 1 and len(used) == len(set(used))
        self.itemsize = dtypes.pop().itemsize if plain else 0
        for k, part in enumerate(factors.parts):
            self.cells[k, k] = {leaf(part): [Candidate(0, 0, 0, 0, k)]}
            if plain and part.structure.is_full:
                self.dense[k][k] = Dense(0, 0, 0, 0, part.structure.columns, part.structure.rows, k)
            self._write_out(self.cells[k, k])
        for width in range(2, n + 1):
            for i in range(n - width + 1):
                self._fill(i, i + width - 1)

    def _fill(self, i: int, j: int) -> None:
        """The ways to multiply factors i to j."""
        if self._all_dense(i, j):
            return
        cell: Cell = {}
        for k in range(i, j):
            for state, way in self.ways(i, k, j):
                self._keep(cell, state, way)
        self._write_out(cell)
        self.cells[i, j] = cell

    def cell(self, i: int, j: int) -> Cell:
        """The cell of factors i to j; one that is all dense is made when it is asked for."""
        found = self.cells.get((i, j))
        if found is None:
            found = {}
            for state, way in self.ways(i, self.dense[i][j].split, j):
                self._keep(found, state, way)
            self.cells[i, j] = found
        return found

    def _all_dense(self, i: int, j: int) -> bool:
        """Note the best split of factors i to j where all are products of two dense arrays; True where that is so."""
        if not self.itemsize:
            return False
        pairs = []
        for k in range(i, j):
            a, c = self.dense[i].get(k), self.dense[k + 1].get(j)
            if a is None or c is None:
                return False
            pairs.append((a, c))
        columns, rows = pairs[0][0].columns, pairs[0][1].rows
        made = columns * rows * self.itemsize
        best: tuple[float, int, int] | None = None
        split = i
        for k, (a, c) in enumerate(pairs, i):
            value = a.value + c.value + self._dense_cost(columns, a.rows, rows)
            if best is None or value <= best[0]:
                peak, _ = meeting_peak(a.peak, a.kept, c.peak, c.kept, a.kept + c.kept + made)
                rank = (value, peak, a.busy + c.busy + 1)
                if best is None or rank < best:
                    best, split = rank, k
        assert best is not None
        self.dense[i][j] = Dense(*best, made, columns, rows, split)
        return True

    def _dense_cost(self, columns: int, middle: int, rows: int) -> float:
        """The cost of the product of two dense arrays."""
        operations = columns * middle * rows
        if self.model is None:
            return operations
        assert isinstance(self.model, CostProfile)
        touched = self.itemsize * (columns * middle + middle * rows + columns * rows)
        return self.model.seconds((("matmul", 1, touched, operations),))

    def _write_out(self, cell: Cell) -> None:
        """Writes out, in both ways, what is known by its application only."""
        for state, ways in list(cell.items()):
            if not lazy(state):
                continue
            for backwards, how in ((False, PUSH), (True, PULL)):
                self.work.spend(weight(state))
                joined = write_out(state, backwards, count(-1 - computed_count(state), -1))
                value = value_of(joined.actions, self.model)
                made = canonical(joined.state)
                for x in ways:
                    peak, kept = max(x.peak, joined.peak), held(made)
                    self._keep(cell, made, Candidate(x.value + value, peak, x.busy + 1, kept, (x, how)))

    def ways(self, i: int, k: int, j: int) -> Iterable[tuple[State, Candidate]]:
        """The ways to multiply factors i to j by first multiplying i to k and k + 1 to j."""
        for a, a_ways in self.cell(i, k).items():
            taken = computed_count(a)
            for c, c_ways in self.cell(k + 1, j).items():
                self._spend(a, c)
                c_moved = shifted(c, taken)
                joined = join(a, c_moved, count(-1 - taken - computed_count(c), -1))
                value = value_of(joined.actions, self.model)
                busy = any(action.found.computed for action in joined.actions)
                state = canonical(joined.state)
                kept = held(state)
                for x in a_ways:
                    for y in c_ways:
                        peak, order = meeting_peak(x.peak, x.kept, y.peak, y.kept, joined.peak)
                        total = (x.value + y.value + value, peak, x.busy + y.busy + busy)
                        yield state, Candidate(*total, kept, (x, y), order)

    def _spend(self, a: State, c: State) -> None:
        """Takes from the budget what looking at a product costs: most for a product of maps that were not met before."""
        terms_of_both = weight(a) * weight(c)
        met = (tuple([part.structure for part in a]), tuple([part.structure for part in c]))
        new = met not in self.seen
        if new:
            self.seen.add(met)
        self.work.spend(SUMS * terms_of_both if terms_of_both > 1 else NEW if new else 1)

    def _keep(self, cell: Cell, state: State, way: Candidate) -> None:
        if way.value > self.most:
            return
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

    def all(self, explicit: bool = False) -> list[Candidate]:
        """The ways to multiply all factors, best first; with `explicit` only those whose result is written out."""
        cell = self.cell(0, len(self.factors.parts) - 1)
        found = [way for state, ways in cell.items() for way in ways if not (explicit and lazy(state))]
        return sorted(found, key=lambda way: way.rank)


EACH = 5e-6  # about the seconds of a product of maps that were met before
NEW = 4  # what a product of maps that were not met before costs, in products of maps that were
SUMS = 10  # what looking at a product of sums or blocks costs for each pair of terms, in products of plain factors


def tree_of(way: Candidate, n: int) -> Tree:
    """The tree of a way to multiply n factors."""
    made: list[tuple[int, int]] = []
    done: dict[int, int] = {}  # a way by identity -> its node
    stack: list[tuple[Candidate, bool]] = [(way, False)]
    while stack:
        top, ready = stack.pop()
        if isinstance(top.halves, int):
            done[id(top)] = top.halves
            continue
        left, right = top.halves
        if ready:
            done[id(top)] = n + len(made)
            made.append((done[id(left)], right if isinstance(right, int) else done[id(right)]))
        elif isinstance(right, int):
            stack += [(top, True), (left, False)]
        else:
            first, second = (left, right) if top.left_first else (right, left)
            stack += [(top, True), (second, False), (first, False)]
    return tuple(made)


def best(
    factors: Factors,
    model: Model,
    memory: float | None,
    budget: int | None,
    explicit: bool = False,
    effort: float | None = None,
    most: float = math.inf,
) -> tuple[Traced, bool] | None:
    """The best bracketing under a memory limit in bytes, and whether it is known to be the best of all.

    With `explicit` the result must not be known by its application only. `effort` are the seconds that a search without a budget
    may take, counted as products. None where no bracketing is found that costs no more than `most`.
    """
    n = len(factors.parts)
    limit = budget if budget is not None else BUDGET if effort is None else int(effort / EACH)
    if n * (n * n - 1) // 6 <= limit:
        try:
            search = Search(factors, model, memory is not None, limit, most)
        except OutOfWork:
            pass
        else:
            ways = search.all(explicit)
            fitting = [way for way in ways if memory is None or way.peak + factors.nbytes <= memory]
            if fitting:
                return trace(factors, tree_of(fitting[0], n), model), True
            if most < math.inf:
                return None
            raise short_of_memory(memory, min(w.peak for w in ways) + factors.nbytes, True)
    found = _heuristic(factors, model, memory, explicit, None if effort is None else int(effort / (SUMS * EACH)), most)
    return None if found is None else (found, False)


def _heuristic(
    factors: Factors, model: Model, memory: float | None, explicit: bool, effort: int | None, most: float
) -> Traced | None:
    """The best of forward, reverse and balanced, each also after merging neighbours that merge at no growth.

    Where the products from both ends have too many terms all give way to a basis through the factors as they stand, or to what
    costs `most`.
    """
    n, limit = len(factors.parts), most
    tried, crowded = _within(factors, [forward(n), reverse(n)], model, explicit, effort, most)
    if not tried and crowded and limit < math.inf:
        return None
    if tried or not crowded or (basis := through_all(factors, model)) is None:
        groups, merging = _merged(factors)
        trees = [merging + _over(groups, make(len(groups)), n + len(merging)) for make in (forward, reverse)] if merging else []
        trees.append(merging + _over(groups, balanced(len(groups)), n + len(merging)))
        if memory is None:
            most = min([most, *[traced.value for traced in tried]])
        tried += _within(factors, trees, model, explicit, effort, most)[0]
    else:
        tried = [basis]
    if not tried and limit < math.inf:
        return None
    if not tried:  # nothing else is left
        tried = [end(factors, make(n), model, explicit) for make in (forward, reverse)]
    fitting = [traced for traced in tried if memory is None or traced.peak <= memory]
    if not fitting:
        raise short_of_memory(memory, min(traced.peak for traced in tried), False)
    return min(fitting, key=preference)


def _within(
    factors: Factors, trees: Sequence[Tree], model: Model, explicit: bool, effort: int | None, most: float
) -> tuple[list[Traced], bool]:
    """Some bracketings traced: those whose products have few enough terms, by `effort` and at all, and cost at most `most`.

    Beside them whether one has too many terms.
    """
    tried, crowded = list[Traced](), False
    budget = allowed(factors) if effort is None else min(effort, allowed(factors))
    for tree in trees:
        try:
            tried.append(end(factors, tree, model, explicit, budget=budget, most=most))
        except TooDear:
            pass
        except OutOfWork:
            crowded = True
    return tried, crowded


def allowed(factors: Factors) -> int:
    """The pairs of terms that the products of one bracketing may have before it gives way to a basis."""
    least, each = TRACED
    return max(least, each * len(factors.parts))


def through_all(factors: Factors, model: Model, hows: Sequence[int] = BOTH) -> Traced | None:
    """A basis pushed or pulled through all factors as they stand; None where what it leaves would be too large."""
    basis = written(structure_of(as_they_stand(factors))[0], model, hows)
    return None if basis is None else trace(factors, ((ALL, basis.how),), model)


def end(
    factors: Factors,
    tree: Tree,
    model: Model,
    explicit: bool,
    hows: Sequence[int] = BOTH,
    budget: float = math.inf,
    most: float = math.inf,
) -> Traced:
    """A bracketing traced; with `explicit` its result is written out at the end where it is known by its application only."""
    traced = trace(factors, tree, model, budget, most)
    n = len(factors.parts)
    last = traced.joins[-1].state if traced.joins else leaf(factors.parts[0])
    if not explicit or not lazy(last):
        return traced
    both = [trace(factors, (*traced.tree, (n + len(tree) - 1, how)), model) for how in hows]
    return min(both, key=preference)


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
