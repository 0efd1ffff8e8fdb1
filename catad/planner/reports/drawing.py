"""Plans as graphs to be drawn: the tree of the steps of a bracketing, and an order of elimination; at rest or as animations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from catad.drawing.graph import Graph, Node, trimmed
from catad.drawing.labels import shortened
from catad.drawing.pattern import cells_of
from catad.linear.structure import Structure
from catad.planner.chains.brackets import Tree
from catad.planner.chains.execute import Multiplication, trace
from catad.planner.chains.factors import Factors, structure_of
from catad.planner.graph import Graph as LinearGraph
from catad.planner.graph import members, remove

CELLS = 12  # cells along the longer side of a small picture
PICTURED = 60  # steps of plans whose patterns are drawn: a pattern is looked at for each
DRAWN = 60  # vertices that are all drawn; of more, the middle is left out
MOVING = 40  # vertices, or factors and products, that move; of more, the picture stands still
MOST = 200  # edges, with those of fill, that are all drawn
AT_END = 2.0  # units of time that an animation rests at its end


def tree(chain: Factors, steps_of: Tree, steps: Sequence[Multiplication], moving: bool = False) -> Graph:
    """A bracketing: boxes are maps with their patterns and sizes; wires are as thick as the logarithm of what they carry."""
    pictured, n = len(steps) <= PICTURED, len(chain.parts)
    made = [structure_of(joined.state)[0] for joined in trace(chain, steps_of).joins] if pictured else []
    nodes = [_factor(k, part.structure, pictured) for k, part in enumerate(chain.parts)]
    widths = {k: _width(part.structure.stored) for k, part in enumerate(chain.parts)}
    for s, ((left, right), step) in enumerate(zip(steps_of, steps, strict=True)):
        nodes.append(_step(n + s, [left] if right < 0 else [left, right], step, made[s] if pictured else None))
        widths[n + s] = _width(step.operations)
    read = {k for node in nodes for k in node.ins}
    graph = Graph([], nodes, [node.outs[0] for node in nodes if node.outs[0] not in read], widths=widths)
    if not moving or len(nodes) > MOVING:
        return trimmed(graph)
    for s, node in enumerate(nodes[n:]):
        node.when = (s + 1.0, len(steps) + 1 + AT_END)
        graph.when |= dict.fromkeys((*node.ins, *node.outs), node.when)
        graph.said.append((f"step {s}: {steps[s].line}", (s + 1.0, s + 2.0)))
    graph.length = len(steps) + 1 + AT_END
    return graph


def _width(carried: int) -> float:
    return 1 + math.log10(1 + carried) / 2


def _factor(k: int, structure: Structure, pictured: bool) -> Node:
    label, shape = f"{k}: {structure.kind}", f"{structure.rows}x{structure.columns}"
    return _node(label, shape, "pointwise", [], k, structure if pictured else None)


def _step(k: int, ins: list[int], step: Multiplication, structure: Structure | None) -> Node:
    word = "" if step.how == "multiply" else f"{step.how}ed: "
    cost = "kept" if step.lazy else f"{step.operations:,} operations"
    return _node(f"{word}{step.kinds[2]} {step.shape[0]}x{step.shape[1]}", cost, "combinator", ins, k, structure)


def _node(label: str, detail: str, kind: str, ins: list[int], out: int, structure: Structure | None) -> Node:
    node = Node(shortened(label), f"{label}, {detail}", kind, ins, [out], detail=detail)
    if structure is not None:
        node.cells, node.shape = cells_of(structure, None, CELLS), (structure.rows, structure.columns)
    return node


# -- orders of elimination


def elimination(graph: LinearGraph, order: Sequence[int], lines: Sequence[tuple[int | None, str]], moving: bool = False) -> Graph:
    """The linear graph: each vertex with the number of its elimination, edges of fill dashed.

    `lines` has the steps, each with the vertex that goes in it, if one does. In an animation a vertex goes in its step, with its
    edges, and its fill comes; there each vertex shows its own number, which the lines name.
    """
    filled = _filled(graph, order)
    edges, added = list(graph.edges()), [edge for edge, _ in filled]
    whole = len(graph.preds) <= DRAWN and len(edges) + len(added) <= MOST
    moving, drawn = moving and whole and len(graph.preds) <= MOVING, edges + added if whole else edges
    vertices = _vertices(graph, {} if moving else {v: str(k + 1) for k, v in enumerate(order)}, drawn)
    found = Graph([], vertices, [], fill=set(range(len(edges), len(drawn))))
    if not moving:
        return found if whole else trimmed(found)
    goes = {v: s + 1.5 for s, (v, _) in enumerate(lines) if v is not None}
    found.length = end = len(lines) + 1 + AT_END
    for v in order:
        vertices[v].when = (0.0, goes[v])
    comes = [0.0] * len(edges) + [goes[v] - 0.6 for _, v in filled]
    for k, ((a, b), since) in enumerate(zip(drawn, comes, strict=True)):
        until = min(goes.get(a, end), goes.get(b, end))
        if since > 0 or until < end:
            found.when[k] = (since, until)
    found.said = [(f"step {s}: {line}", (s + 0.6, s + 1.6)) for s, (_, line) in enumerate(lines)]
    return found


def _vertices(graph: LinearGraph, numbers: Mapping[int, str], edges: Sequence[tuple[int, int]]) -> list[Node]:
    """The vertices as round boxes in layers, the inputs first and the outputs last; edge k is wire k.

    `numbers` are those of elimination; without any, a vertex shows its own number.
    """
    n = len(graph.preds)
    depth = [1] * n
    sequence = graph.topological()
    for v in sequence:
        depth[v] = max([depth[u] + 1 for u in members(graph.preds[v])], default=1)
    for v in members(graph.outputs & ~graph.inputs):
        depth[v] = max(depth)
    ins: list[list[int]] = [[] for _ in range(n)]
    outs: list[list[int]] = [[] for _ in range(n)]
    for k, (a, b) in enumerate(edges):
        outs[a].append(k)
        ins[b].append(k)
    made = []
    for v in range(n):
        label = numbers.get(v, "") if numbers else str(v)
        kind = "constant" if graph.inner >> v & 1 else "end"
        title = f"vertex {v}, size {graph.sizes[v]:,}{f', eliminated as number {label}' * (v in numbers)}"
        made.append(Node(label, title, kind, ins[v], outs[v], round=True, rank=depth[v]))
    return made


def _filled(graph: LinearGraph, order: Sequence[int]) -> list[tuple[tuple[int, int], int]]:
    """The edges that elimination adds, in the order in which it does, each with the vertex that goes then."""
    before, after = list(graph.preds), list(graph.succs)
    found = []
    for v in order:
        found += [((p, s), v) for p in members(before[v]) for s in members(after[v] & ~after[p])]
        remove(before, after, v)
    return found
