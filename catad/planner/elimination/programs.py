"""The linear graph of a program as a graph to eliminate."""

from __future__ import annotations

import math
from typing import Any

from catad import errors
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
    edges = [(source, target) for _, ins, outs in network.nodes for source in ins for target in outs]
    outputs = [k for k in network.outputs if k >= 0]
    sizes = [max(1, math.prod(space.shape)) for space in network.wires]
    return Graph(edges, network.inputs, outputs, sizes)
