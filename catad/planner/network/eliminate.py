"""Eliminating the vertices of a linear graph one after the other, on whatever stands for its edges.

Each pair of an edge p -> v and an edge v -> s becomes a product, which is added to the edge p -> s where there is one
(A. Griewank, A. Walther, Evaluating Derivatives, 2008, chapter 9). The plan does so on partial products (`Arrays`, here), the
search on numbers of kinds of edges (`catad.planner.network.kinds`); an order means the same in both. An order is a list of
vertices; between them `("push", p, s)` and `("pull", p, s)` write out the edge from p to s, which is known by its application
only, and `("keep", v)` says that v stays. What is left then is a smaller graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

from catad.category.spaces import Tensor
from catad.linear.families.block import Zero, assemble
from catad.linear.network import Network, Node
from catad.linear.structure import Placed, Structure, local
from catad.planner.chains.execute import fresh_numbers
from catad.planner.chains.factors import Joined, State, held, join, lazy, structure_of, write_out
from catad.planner.costs.cost import Model, value_of
from catad.planner.network.linear_graph import LinearGraph
from catad.planner.network.sums import plus

Write = tuple[str, int, int]  # "push" or "pull", and the edge
Keep = tuple[str, int]  # "keep", and the vertex
Entry = int | Write | Keep
E = TypeVar("E")
Side = list[dict[int, E]]


class Algebra(Protocol[E]):
    """The operations on what stands for edges: products, sums, writing out, and dropping one that is needed no more."""

    def multiply(self, first: E, second: E) -> E | None:
        """The product, None where it is zero."""
        ...

    def add(self, first: E, second: E) -> E | None:
        """The sum, which takes the place of both; None where it is zero."""
        ...

    def write(self, edge: E, how: str) -> E | None:
        """The edge written out, which takes its place; None where it is zero."""
        ...

    def release(self, edge: E) -> None: ...


def gathered(n: int, edges: Sequence[tuple[int, int, E]], algebra: Algebra[E]) -> tuple[Side[E], Side[E]]:
    """The edges into and out of each of n vertices, by the vertex at their other end, parallel ones added."""
    before: Side[E] = [{} for _ in range(n)]
    after: Side[E] = [{} for _ in range(n)]
    for source, target, edge in edges:
        _join_in(before, after, source, target, edge, algebra)
    return before, after


def _join_in(before: Side[E], after: Side[E], p: int, s: int, edge: E, algebra: Algebra[E]) -> None:
    """Add an edge to the one that may be there."""
    old = after[p].get(s)
    _set(before, after, p, s, edge if old is None else algebra.add(old, edge))


def _set(before: Side[E], after: Side[E], p: int, s: int, edge: E | None) -> None:
    """Sets the edge between two vertices; None means zero and removes it."""
    if edge is None:
        del after[p][s], before[s][p]
    else:
        after[p][s] = before[s][p] = edge


def eliminate(before: Side[E], after: Side[E], v: int, algebra: Algebra[E]) -> None:
    """Eliminate v in place."""
    for p, first in before[v].items():
        for s, second in after[v].items():
            made = algebra.multiply(first, second)
            if made is not None:
                _join_in(before, after, p, s, made, algebra)
        del after[p][v]
        algebra.release(first)
    for s, second in after[v].items():
        del before[s][v]
        algebra.release(second)
    before[v], after[v] = {}, {}


def take_step(before: Side[E], after: Side[E], entry: Entry, algebra: Algebra[E]) -> None:
    """Takes one entry of an order; writing out an edge that is not there does nothing."""
    if isinstance(entry, int):
        eliminate(before, after, entry, algebra)
        return
    if len(entry) == 2:
        return
    how, p, s = entry
    edge = after[p].get(s)
    if edge is not None:
        _set(before, after, p, s, algebra.write(edge, how))


def vertex_of(entry: Entry) -> int | None:
    """The vertex that an entry of an order eliminates or keeps; None where it writes an edge out."""
    if isinstance(entry, int):
        return entry
    return entry[1] if len(entry) == 2 else None


class Arrays:
    """Edges are partial products whose arrays have numbers: what is joined, and the bytes of computed arrays alive."""

    def __init__(self) -> None:
        self.fresh = fresh_numbers()
        self.joins: list[Joined] = []
        self.uses: dict[int, int] = {}  # of computed arrays, by the edges that are there
        self.sizes: dict[int, int] = {}
        self.alive = self.peak = 0

    def multiply(self, first: State, second: State) -> State | None:
        return self._made(self._done(join(first, second, self.fresh), held(first) + held(second)))

    def add(self, first: State, second: State) -> State | None:
        return self._instead(plus(first, second, self.fresh), first, second)

    def write(self, edge: State, how: str) -> State | None:
        return self._instead(write_out(edge, how == "pull", self.fresh), edge) if lazy(edge) else edge

    def _instead(self, joined: Joined, *old: State) -> State | None:
        made = self._made(self._done(joined, sum([held(state) for state in old])))
        for state in old:
            self.release(state)
        return made

    def _made(self, joined: Joined) -> State | None:
        return None if any(part.structure.is_zero for part in joined.state) else self.hold(joined.state)

    def _done(self, joined: Joined, operands: int) -> Joined:
        self.joins.append(joined)
        self.peak = max(self.peak, self.alive + joined.peak - operands)
        return joined

    def hold(self, state: State) -> State:
        """Count the arrays of an edge among those alive."""
        for k in _computed(state, self.sizes):
            self.uses[k] = self.uses.get(k, 0) + 1
            if self.uses[k] == 1:
                self.alive += self.sizes[k]
        return state

    def release(self, edge: State) -> None:
        for k in _computed(edge, self.sizes):
            self.uses[k] -= 1
            if not self.uses[k]:
                self.alive -= self.sizes[k]


def _computed(state: State, sizes: dict[int, int]) -> set[int]:
    """The computed arrays of a partial product, whose sizes are noted."""
    found = {}
    for structure, ids in state:
        for k, space in zip(ids, structure.slots, strict=True):
            if k < 0:
                found[k] = space.nbytes
    sizes.update(found)
    return set(found)


class Eliminated(NamedTuple):
    """One step of an order: what went, the vertices before and after it then, and the products and sums that this took."""

    entry: Entry
    before: tuple[int, ...]
    after: tuple[int, ...]
    joins: tuple[Joined, ...]


class Order(NamedTuple):
    """An order traced on structures: first parallel edges are added, then its steps; what they leave, and the peak in bytes."""

    first: tuple[Joined, ...]
    steps: tuple[Eliminated, ...]
    after: Side[State]
    peak: int
    value: float

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The order itself."""
        return tuple([step.entry for step in self.steps])


def follow(graph: LinearGraph, order: Sequence[Entry], model: Model = None, explicit: bool = False) -> Order:
    """Trace an order; with `explicit` what is left and known by its application only is written out, the cheaper way."""
    arrays = Arrays()
    before, after = gathered(len(graph.spaces), graph.edges, arrays)
    first = tuple(arrays.joins)
    steps: list[Eliminated] = []

    def take(entry: Entry) -> None:
        start = len(arrays.joins)
        v = vertex_of(entry)
        around = ((), ()) if v is None else (tuple(before[v]), tuple(after[v]))
        take_step(before, after, entry, arrays)
        steps.append(Eliminated(entry, *around, tuple(arrays.joins[start:])))

    for entry in order:
        take(entry)
    for entry in _left_lazy(graph, after, model) if explicit else []:
        take(entry)
    value = sum([value_of(joined.actions, model) for joined in arrays.joins])
    return Order(first, tuple(steps), after, arrays.peak + graph.nbytes, value)


def _left_lazy(graph: LinearGraph, after: Side[State], model: Model) -> list[Entry]:
    """The cheapest way to write out the edges that are known by their application only."""
    found: list[Entry] = []
    for p in range(graph.inputs):
        for s, edge in after[p].items():
            if lazy(edge):
                found.append((cheaper_way(edge, model), p, s))
    return found


def cheaper_way(edge: State, model: Model) -> str:
    """The way to write an edge out that costs less: "push" or "pull"."""
    values = [value_of(write_out(edge, how == "pull", fresh_numbers()).actions, model) for how in ("push", "pull")]
    return "push" if values[0] <= values[1] else "pull"


def result_of(graph: LinearGraph, after: Side[State]) -> tuple[Structure, tuple[int, ...]]:
    """The edges from inputs to outputs as one map, with the numbers of the arrays in its slots; a network where vertices stay."""
    left = [v for v in graph.inner if after[v]]
    names: dict[int, int] = {}
    spaces: list[Tensor] = []
    starts = range(graph.inputs)
    rows = {s: _row(graph, after, [*starts, *left], s, names, spaces) for s in (*left, *graph.ends)}
    dom = tuple([leaf for v in starts for leaf in graph.spaces[v]])
    cod = tuple([leaf for v in graph.ends for leaf in graph.spaces[v]])
    found: Structure
    if left:
        found = _network(graph, [*starts, *left], rows, tuple(spaces))
    else:
        found = assemble([rows[s] for s in graph.ends], dom, cod, spaces)
    return (Zero(dom, cod), ()) if found.is_zero else (found, tuple(names))


def _row(
    graph: LinearGraph, after: Side[State], sources: Sequence[int], s: int, names: dict[int, int], spaces: list[Tensor]
) -> list[Placed | None]:
    """The maps from some vertices to one; the arrays in their slots are numbered in the order in which they are met."""
    row: list[Placed | None] = []
    for p in sources:
        if s not in after[p]:
            row.append(None)
            continue
        structure, ids = structure_of(after[p][s])
        for k, space in zip(ids, structure.slots, strict=True):
            if k not in names:
                names[k] = len(names)
                spaces.append(space)
        row.append((structure, tuple([names[k] for k in ids])))
    return row


def _network(
    graph: LinearGraph, sources: Sequence[int], rows: Mapping[int, Sequence[Placed | None]], slots: tuple[Tensor, ...]
) -> Network:
    """The maps between vertices of one leaf each, those of `sources` and the outputs, as a network: a node for each vertex."""
    wire = {v: k for k, v in enumerate([*sources, *graph.ends])}
    wires = tuple([graph.spaces[v][0] for v in wire])
    nodes = []
    for s, row in rows.items():
        there = [(wire[p], cell) for p, cell in zip(sources, row, strict=True) if cell is not None]
        cells, numbers = local([cell for _, cell in there])
        dom = [wires[k] for k, _ in there]
        if there:
            part = assemble([cells], dom, (wires[wire[s]],), [slots[k] for k in numbers])
            nodes.append(Node((part, numbers), tuple([k for k, _ in there]), (wire[s],)))
    made = {k for node in nodes for k in node.outs}
    outputs = tuple([wire[s] if wire[s] in made else -1 for s in graph.ends])
    ends = tuple([graph.spaces[s][0] for s in graph.ends])
    return Network(wires, tuple(range(graph.inputs)), tuple(nodes), outputs, ends, slots)
