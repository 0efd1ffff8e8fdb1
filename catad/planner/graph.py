"""Linear graphs: vertices are intermediate values with sizes, edges are elemental Jacobians.

The Jacobian of the outputs by the inputs is what is left when every other vertex v is eliminated: each pair of a predecessor p
and a successor s gets the product of the edges p -> v -> s, added to the edge p -> s where there is one. Eliminating v costs

    size(v) * (sum of the sizes of its predecessors) * (sum of the sizes of its successors)

multiplications at that moment. Inputs and outputs stay. (A. Griewank and A. Walther, Evaluating Derivatives, 2008, chapter 9.)
Sets of vertices are Python integers, bit v for vertex v.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Any

import numpy as np

from catad import errors
from catad.category.terms import D, is_function, morphism
from catad.derivative.functors import network_at
from catad.linear.structure import Structure
from catad.planner.planned_program import subject_at
from catad.support.order import in_order

SHORT = 512  # bits up to which peeling off the lowest one is faster than unpacking bytes
FEW = 24  # members up to which it is so in any set


def members(x: int) -> list[int]:
    """The vertices in a set, ascending."""
    if x.bit_length() > SHORT and x.bit_count() > FEW:
        return _unpacked(x)
    found = []
    while x:
        low = x & -x
        found.append(low.bit_length() - 1)
        x ^= low
    return found


def _unpacked(x: int) -> list[int]:
    octets = np.frombuffer(x.to_bytes((x.bit_length() + 7) // 8, "little"), np.uint8)
    found: list[int] = np.flatnonzero(np.unpackbits(octets, bitorder="little")).tolist()
    return found


def set_of(vertices: Iterable[int]) -> int:
    """A set from its vertices."""
    found = 0
    for v in vertices:
        found |= 1 << v
    return found


def measure(sizes: Sequence[int]) -> Callable[[int], int]:
    """The function from a set to the sum of the sizes in it."""
    if all(size == 1 for size in sizes):
        return int.bit_count
    known: dict[int, int] = {}

    def total(x: int) -> int:
        found = known.get(x)
        if found is None:
            if len(known) > 1 << 16:
                known.clear()
            found = known[x] = sum([sizes[v] for v in members(x)])
        return found

    return total


def remove(before: list[int], after: list[int], v: int) -> tuple[list[int], list[int]]:
    """Eliminate v in place; its predecessors and successors."""
    sources, targets, bit = before[v], after[v], 1 << v
    p, s = members(sources), members(targets)
    for x in p:
        after[x] = (after[x] ^ bit) | targets
    for x in s:
        before[x] = (before[x] ^ bit) | sources
    return p, s


@dataclass(frozen=True, init=False, repr=False)
class Graph:
    """A linear graph whose inner vertices can be eliminated, for `ct.plan_graph`.

    `edges` are pairs (source, target) of vertices 0 to n - 1; `inputs` and `outputs` are never eliminated; `sizes` are the
    numbers of components of the vertices (dimensionless, all 1 by default), which also say how many vertices there are; else
    `vertices` does, or the largest number named. Raises `PlanError` for a cycle, an unknown vertex, or a size below 1.

    >>> import catad as ct
    >>> graph = ct.Graph([(0, 2), (1, 2), (2, 3), (3, 4), (3, 5)], inputs=[0, 1], outputs=[4, 5])
    >>> plan = ct.plan_graph(graph)
    >>> plan.order, plan.cost.operations, plan.exact
    ((2, 3), 6, True)
    """

    preds: tuple[int, ...]
    succs: tuple[int, ...]
    inputs: int
    outputs: int
    sizes: tuple[int, ...]

    def __init__(
        self,
        edges: Iterable[Iterable[int]],
        inputs: Iterable[int],
        outputs: Iterable[int],
        sizes: Sequence[int] | None = None,
        vertices: int | None = None,
    ) -> None:
        pairs = [_edge(k, edge) for k, edge in enumerate(edges)]
        starts, stops = list(inputs), list(outputs)
        if sizes is not None:
            n = len(sizes)
        elif vertices is not None:
            n = vertices
        else:
            n = 1 + max([int(v) for v in [*chain(*pairs), *starts, *stops] if _is_whole(v)], default=-1)
        for v, size in enumerate(sizes if sizes is not None else ()):
            if not _is_whole(size) or size < 1:
                raise errors.PlanError(errors.bad_vertex_size(v, size))
        preds, succs = [0] * n, [0] * n
        for k, pair in enumerate(pairs):
            source, target = (_known(v, n, f"edge {k}, {pair[0]} -> {pair[1]}") for v in pair)
            preds[target] |= 1 << source
            succs[source] |= 1 << target
        object.__setattr__(self, "preds", tuple(preds))
        object.__setattr__(self, "succs", tuple(succs))
        object.__setattr__(self, "inputs", set_of(_known(v, n, "inputs") for v in starts))
        object.__setattr__(self, "outputs", set_of(_known(v, n, "outputs") for v in stops))
        object.__setattr__(self, "sizes", tuple(map(int, sizes)) if sizes is not None else (1,) * n)
        self.topological()  # finds cycles

    @staticmethod
    def of(f: D, *primals_or_spaces: Any) -> Graph:
        """The linear graph of a program at a point (values, or their spaces): its tangent wires, and which depends on which.

        Every edge counts as dense: what elimination costs is a bound above what structured Jacobians would. The wires of the
        arguments are the inputs, those of the results the outputs.

        >>> import catad as ct
        >>> graph = ct.Graph.of(ct.fork(ct.scan(lambda a, b: a + b, 0.0), ct.flip()) >> ct.matmul, ct.f64[3])
        >>> graph
        <graph of 2 vertices and 4 edges between 1 inputs and 1 outputs>
        >>> ct.plan_graph(graph)
        <plan 1 input, 1 output, 2 vertices: 18 multiplications (reverse 18, forward 18, Markowitz 18), optimal>
        """
        if not isinstance(f, D) and not is_function(f):
            raise errors.PlanError(errors.no_program(f))
        network = network_at(*subject_at(morphism(f, "ct.Graph.of"), primals_or_spaces))
        edges = [(ins[column], outs[row]) for (structure, _), ins, outs in network.nodes for row, column in _entries(structure)]
        outputs = [k for k in network.outputs if k >= 0]
        sizes = [max(1, math.prod(space.shape)) for space in network.wires]
        return Graph(edges, network.inputs, outputs, sizes)

    @property
    def inner(self) -> int:
        """The set of the vertices to eliminate."""
        return ((1 << len(self.preds)) - 1) & ~(self.inputs | self.outputs)

    def edges(self) -> Iterator[tuple[int, int]]:
        """The edges, by source and then target."""
        for source, targets in enumerate(self.succs):
            for target in members(targets):
                yield source, target

    def topological(self) -> list[int]:
        """All vertices, each after its predecessors, the smallest number first where there is a choice."""
        found = in_order({v: members(before) for v, before in enumerate(self.preds)})
        if len(found) < len(self.preds):
            raise errors.PlanError(errors.cyclic_graph(_cycle(self.preds, found)))
        return found

    def __repr__(self) -> str:
        edges = sum(x.bit_count() for x in self.succs)
        inner, ins, outs = (x.bit_count() for x in (self.inner, self.inputs, self.outputs))
        return f"<graph of {inner} vertices and {edges} edges between {ins} inputs and {outs} outputs>"


def _is_whole(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _edge(k: int, edge: Iterable[int]) -> tuple[int, int]:
    try:
        source, target = edge
    except (TypeError, ValueError):
        raise errors.PlanError(errors.bad_edge(k, edge)) from None
    return source, target


def _known(v: int, n: int, where: str) -> int:
    if not _is_whole(v) or not 0 <= v < n:
        raise errors.PlanError(errors.missing_vertex(v, n, where))
    return int(v)


def _cycle(preds: Sequence[int], reached: Sequence[int]) -> list[int]:
    """A cycle among the vertices that no topological order reached."""
    stuck = ((1 << len(preds)) - 1) & ~set_of(reached)
    v = members(stuck)[0]
    seen: dict[int, int] = {}
    path: list[int] = []
    while v not in seen:
        seen[v] = len(path)
        path.append(v)
        v = members(preds[v] & stuck)[0]
    return [v, *reversed(path[seen[v] :])]


def _entries(structure: Structure) -> Iterator[tuple[int, int]]:
    """The result leaves and the argument leaves between which a map is not zero by structure."""
    blocks = structure.blocks
    sides = (blocks.rows, blocks.columns)
    rows, columns = [[range(end - w, end) for w, end in zip(side, accumulate(side), strict=True)] for side in sides]
    for line, height in zip(blocks.grid, rows, strict=True):
        for part, width in zip(line, columns, strict=True):
            if part is not None:
                yield from ((row, column) for row in height for column in width)
