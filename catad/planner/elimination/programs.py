"""The linear graph of a program as a graph to eliminate."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from catad import errors
from catad.linear.structure import Structure
from catad.planner.elimination.graph import Graph
from catad.planner.entry import _domain
from catad.terms import D
from catad.wiring import Builder


def graph_of(f: D, *primals_or_spaces: Any) -> Graph:
    """The tangent wires of a program as vertices, with an edge where a map goes from one to the other: `ct.Graph.of`."""
    from catad.functors import fused, linear_graph

    if not isinstance(f, D):
        raise errors.PlanError(errors.no_program(f))
    dom = _domain(f, primals_or_spaces)
    b = Builder()
    _, network, _ = linear_graph(b, fused(f, dom), [b.wire(space) for space in dom.leaves])
    edges = [(ins[column], outs[row]) for (structure, _), ins, outs in network.nodes for row, column in _entries(structure)]
    outputs = [k for k in network.outputs if k >= 0]
    sizes = [max(1, math.prod(space.shape)) for space in network.wires]
    return Graph(edges, network.inputs, outputs, sizes)


def _entries(structure: Structure) -> Iterator[tuple[int, int]]:
    """The result leaves and the argument leaves between which a map is not zero by structure."""
    blocks = structure.blocks
    rows, columns = [[*range(end - width, end)] for width, end in _ends(blocks.rows)], _ends(blocks.columns)
    for line, height in zip(blocks.grid, rows, strict=True):
        for part, (width, end) in zip(line, columns, strict=True):
            if part is not None:
                yield from ((row, column) for row in height for column in range(end - width, end))


def _ends(widths: tuple[int, ...]) -> list[tuple[int, int]]:
    """Each width with where it ends."""
    return list(zip(widths, accumulate(widths), strict=True))
