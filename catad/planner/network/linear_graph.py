"""The linear graph of a program: a vertex for each tangent wire, an edge for the structured map from one wire to another.

A map between several leaves that is a grid of maps between single ones gives an edge for each of these; any other map (a
recurrence of tuples, a loop) gets a vertex for all its arguments together and one for its results, with the embeddings and
projections of single leaves as edges around them, which cost nothing. Inputs come first, then the inner vertices in the
order of the program, then outputs. Vertices and edges on no path from an input to an output are left out. A vertex whose
only edge on one side is the identity is the same as its neighbour.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from catad.category.spaces import Tensor
from catad.linear.families.block import grid
from catad.linear.families.delta import identity
from catad.linear.network import Network
from catad.linear.structure import Blocks, Structure
from catad.planner.chains.factors import Factors, Part, State
from catad.planner.graph import Graph
from catad.support.lru import hashed_once, remembered
from catad.support.order import in_order

Leaves = tuple[Tensor, ...]


class Edge(NamedTuple):
    """A map from one vertex to another."""

    source: int
    target: int
    state: State


@hashed_once
@dataclass(frozen=True, repr=False)
class LinearGraph:
    """See the module. Vertices are numbers: `inputs` of them, then the inner ones, then `outputs`.

    Between two vertices there may be several edges; they are added before anything is eliminated.
    """

    spaces: tuple[Leaves, ...]
    inputs: int
    outputs: int
    edges: tuple[Edge, ...]
    slots: Leaves

    @cached_property
    def is_path(self) -> bool:
        """True where every order is a bracketing: the vertices stand in one line."""
        into, out = [edge.target for edge in self.edges], [edge.source for edge in self.edges]
        return self.inputs == self.outputs == 1 and len(set(into)) == len(into) and len(set(out)) == len(out)

    @cached_property
    def inner(self) -> range:
        """The vertices to eliminate, in the order of the program."""
        return range(self.inputs, len(self.spaces) - self.outputs)

    @property
    def ends(self) -> range:
        """The vertices of the outputs."""
        return range(len(self.spaces) - self.outputs, len(self.spaces))

    @property
    def nbytes(self) -> int:
        """The size of all slots in bytes."""
        return sum([slot.nbytes for slot in self.slots])

    @cached_property
    def dense(self) -> int:
        """The numbers of the dense Jacobian."""
        ins, outs = [sum([leaf.size for v in ends for leaf in self.spaces[v]]) for ends in (range(self.inputs), self.ends)]
        return ins * outs

    @cached_property
    def sized(self) -> Graph:
        """The graph with the sizes of its vertices alone, for `ct.plan_graph`; vertices have the same numbers."""
        sizes = [max(1, sum([leaf.size for leaf in leaves])) for leaves in self.spaces]
        pairs = sorted({(edge.source, edge.target) for edge in self.edges})
        return Graph(pairs, range(self.inputs), self.ends, sizes)


@remembered(weight=lambda graph: len(graph.edges))
def graph_of(parts: tuple[Part, ...], slots: Leaves) -> LinearGraph:
    """The linear graph of a chain of parts, networks within it laid out."""
    found = _Layout()
    starts = [found.vertex((leaf,)) for leaf in parts[0].structure.dom]
    stops = [found.vertex((leaf,)) for leaf in parts[-1].structure.cod]
    found.chain(parts, starts, stops)
    return found.finish(starts, stops, slots)


def graph_at(structure: Structure | None, factors: Factors) -> LinearGraph:
    """The linear graph of a structure with these factors, or, where there is none, of the factors."""
    parts = factors.parts if structure is None else (Part(structure, tuple(range(len(structure.slots)))),)
    return graph_of(parts, factors.slots)


def has_forks(structure: Structure) -> bool:
    """True where a structure is a network, or a chain with one in it: its graph can be more than a path."""
    if structure.graph is not None:
        return True
    return structure.series[0][0] is not structure and any(has_forks(part) for part, _ in structure.series)


class _Layout:
    """Vertices and edges while a graph is laid out."""

    def __init__(self) -> None:
        self.spaces: list[Leaves] = []
        self.edges: list[Edge] = []

    def vertex(self, leaves: Leaves) -> int:
        self.spaces.append(leaves)
        return len(self.spaces) - 1

    def chain(self, parts: Sequence[Part], ins: Sequence[int], outs: Sequence[int]) -> None:
        """Parts one after the other, the first from `ins`, the last to `outs`."""
        reads = ins
        for k, part in enumerate(parts):
            last = k == len(parts) - 1
            writes = outs if last else [self.vertex((leaf,)) for leaf in part.structure.cod]
            self.part(part, reads, writes)
            reads = writes

    def part(self, part: Part, ins: Sequence[int], outs: Sequence[int]) -> None:
        """The edges of one map; it may be a composite."""
        structure, ids = part
        series, blocks = structure.series, structure.blocks
        if series[0][0] is not structure:
            self.chain([Part(s, tuple([ids[k] for k in own])) for s, own in series], ins, outs)
        elif structure.graph is not None:
            self.network(structure.graph, ids, ins, outs)
        elif structure.is_grid or structure.is_zero:
            self.block(blocks, ids, ins, outs)
        else:
            source = ins[0] if len(ins) == 1 else self._together(ins, structure.dom)
            target = outs[0] if len(outs) == 1 else self._apart(outs, structure.cod)
            self.edges.append(Edge(source, target, (Part(structure, ids),)))

    def block(self, blocks: Blocks, ids: tuple[int, ...], ins: Sequence[int], outs: Sequence[int]) -> None:
        widths = blocks.columns, blocks.rows
        columns, rows = [[slice(end - w, end) for w, end in zip(side, accumulate(side), strict=True)] for side in widths]
        for line, row in zip(blocks.grid, rows, strict=True):
            for cell, column in zip(line, columns, strict=True):
                if cell is not None:
                    self.part(Part(cell[0], tuple([ids[k] for k in cell[1]])), ins[column], outs[row])

    def network(self, network: Network, ids: tuple[int, ...], ins: Sequence[int], outs: Sequence[int]) -> None:
        at = [self.vertex((space,)) for space in network.wires]
        starts, stops = (outs, ins) if network.backward else (ins, outs)
        for v, k in zip(starts, network.inputs, strict=True):
            self._same(v, at[k], network.backward)
        for v, k in zip(stops, network.outputs, strict=True):
            if k >= 0:
                self._same(at[k], v, network.backward)
        for (structure, own), reads, writes in network.nodes:
            numbers = tuple([ids[k] for k in own])
            sources, targets = [at[k] for k in reads], [at[k] for k in writes]
            if network.backward:
                self.part(Part(structure.T, numbers), targets, sources)
            else:
                self.part(Part(structure, numbers), sources, targets)

    def _same(self, source: int, target: int, backward: bool) -> None:
        (leaf,) = self.spaces[source]
        ends = (target, source) if backward else (source, target)
        self.edges.append(Edge(*ends, (Part(identity(leaf), ()),)))

    def _together(self, ins: Sequence[int], leaves: Leaves) -> int:
        """One vertex for several: each is embedded in it."""
        found = self.vertex(leaves)
        for c, v in enumerate(ins):
            self.edges.append(Edge(v, found, (Part(_embedding(leaves, c), ()),)))
        return found

    def _apart(self, outs: Sequence[int], leaves: Leaves) -> int:
        """One vertex for several: each is a projection of it."""
        found = self.vertex(leaves)
        for r, v in enumerate(outs):
            self.edges.append(Edge(found, v, (Part(_embedding(leaves, r).T, ()),)))
        return found

    # -- in the end

    def finish(self, starts: Sequence[int], stops: Sequence[int], slots: Leaves) -> LinearGraph:
        edges, stay = self._useful(starts, stops), {*starts, *stops}
        edges = _contracted(edges, stay)
        inner = [v for v in _topological(edges) if v not in stay]
        number = {v: k for k, v in enumerate([*starts, *inner, *stops])}
        moved = [Edge(number[a], number[z], state) for a, z, state in edges]
        spaces = tuple([self.spaces[v] for v in [*starts, *inner, *stops]])
        return LinearGraph(spaces, len(starts), len(stops), tuple(moved), slots)

    def _useful(self, starts: Sequence[int], stops: Sequence[int]) -> list[Edge]:
        """The edges on paths from a start to a stop."""
        down, up = set(starts), set(stops)
        for seen, own, other in ((down, "source", "target"), (up, "target", "source")):
            near: dict[int, list[int]] = {}
            for edge in self.edges:
                near.setdefault(getattr(edge, own), []).append(getattr(edge, other))
            stack = list(seen)
            while stack:
                for v in near.get(stack.pop(), ()):
                    if v not in seen:
                        seen.add(v)
                        stack.append(v)
        return [edge for edge in self.edges if edge.source in down and edge.target in up]


def _embedding(leaves: Leaves, c: int) -> Structure:
    """The map from leaf c to all leaves."""
    return grid([[identity(leaf) if r == c else None] for r, leaf in enumerate(leaves)], (leaves[c],), leaves)


def _contracted(edges: list[Edge], stay: set[int]) -> list[Edge]:
    """Removes the vertices whose only edge on one side is the identity."""
    before: dict[int, list[Edge]] = {}
    after: dict[int, list[Edge]] = {}
    for edge in edges:
        after.setdefault(edge.source, []).append(edge)
        before.setdefault(edge.target, []).append(edge)
    for v in _topological(edges):
        if v in stay:
            continue
        for side, ins in ((before, True), (after, False)):
            own = side.get(v, [])
            if len(own) == 1 and len(own[0].state) == 1 and own[0].state[0].structure.is_identity:
                _skip(before, after, v, own[0], ins)
                break
    return [edge for out in after.values() for edge in out]


def _skip(before: dict[int, list[Edge]], after: dict[int, list[Edge]], v: int, same: Edge, into: bool) -> None:
    """Removes v from the graph; its edge `same`, into it or out of it, is the identity."""
    for edge in list(after[v] if into else before[v]):
        after[edge.source].remove(edge)
        before[edge.target].remove(edge)
        moved = Edge(same.source, edge.target, edge.state) if into else Edge(edge.source, same.target, edge.state)
        after[moved.source].append(moved)
        before[moved.target].append(moved)
    after[same.source].remove(same)
    before[same.target].remove(same)


def _topological(edges: Sequence[Edge]) -> list[int]:
    """All vertices that edges touch, each after those before it, otherwise as they were made."""
    before: dict[int, list[int]] = {}
    for source, target, _ in edges:
        before.setdefault(source, [])
        before.setdefault(target, []).append(source)
    return in_order(before)
