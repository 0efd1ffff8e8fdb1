"""The graph of a diagram: boxes and wires without spaces or meaning, and how much of a big picture is left out.

A picture of a wiring keeps the first and the last layers of boxes and, of a wide layer, the first and last boxes; what lies
between becomes one box that says how many it stands for. A layer holds the boxes of one depth, so what is merged can be
put in its place without a cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from catad.category.terms import D
from catad.category.wiring import Wiring
from catad.drawing.labels import kind_of, label_of, shortened, space_label

LAYERS = 24  # more layers (or boxes in a layer, or inputs) than these are elided
BOXES = 160  # about the most boxes that a picture shows
KEEP = 10  # shown at either end of what is elided
PORTS = 8  # more wires than these leave an elided box as one
Times = tuple[float, float]  # from when to when something is seen


@dataclass
class Node:
    """A box with the numbers of the wires that it reads and writes; `stands_for` counts the boxes it was merged from.

    It may have a second line of text, `detail`, and a small picture, `cells` of a matrix that is `shape` large. A `round` box
    is a point of a graph, on which all wires end in the middle. `rank` is its layer, where the layers are given. `when` is the
    time in which it is seen, in an animation.
    """

    label: str
    title: str
    kind: str
    ins: list[int]
    outs: list[int]
    stands_for: int = 1
    term: D | None = None  # labelled by `named` where the rest is not known yet
    detail: str = ""
    cells: Any = None
    shape: tuple[int, int] = (1, 1)
    round: bool = False
    rank: int | None = None
    when: Times | None = None
    inside: Callable[[], Graph] | None = None  # the graph of what is in the box, where it opens

    def copy(self) -> Node:
        """The same box with lists of its own."""
        return replace(self, ins=list(self.ins), outs=list(self.outs))

    def named(self) -> Node:
        """The box with the label of its term."""
        if self.term is None:
            return self
        title = label_of(self.term)
        return replace(self, label=shortened(title), title=shortened(title, 400), kind=kind_of(self.term), term=None)


@dataclass
class Graph:
    """Boxes in an order in which they can run.

    `labels` holds the texts on wires, `bundles` the wires drawn thick, `widths` the widths of others in pixels, `fill` the
    wires that are dashed, `when` the times in which wires are seen. `said` has the texts that follow each other below an
    animation of `length` units of time, each with its time.
    """

    inputs: list[int]
    nodes: list[Node]
    outputs: list[int]
    labels: dict[int, str] = field(default_factory=dict)
    bundles: set[int] = field(default_factory=set)
    widths: dict[int, float] = field(default_factory=dict)
    fill: set[int] = field(default_factory=set)
    when: dict[int, Times] = field(default_factory=dict)
    said: list[tuple[str, Times]] = field(default_factory=list)
    length: float = 0.0


def box_node(term: D, ins: Sequence[int], outs: Sequence[int]) -> Node:
    """A box for one term, not labelled yet."""
    return Node("", "", "", list(ins), list(outs), term=term)


def more_node(count: int | str, ins: Sequence[int], outs: Sequence[int]) -> Node:
    """The box that stands for others."""
    text = f"... {count:,} more ..." if isinstance(count, int) else f"... {count} more ..."
    size = count if isinstance(count, int) else 1
    return Node(text, text, "more", list(ins), list(outs), size)


def of_wiring(wiring: Wiring) -> Graph:
    """The graph of a wiring, as much of it as can be read."""
    boxes = [box_node(box.primitive, box.ins, box.outs) for box in wiring.boxes]
    return labelled(trimmed(Graph(list(wiring.inputs), boxes, list(wiring.outputs))), lambda k: space_label(wiring.wires[k]))


def labelled(graph: Graph, label: Callable[[int], str]) -> Graph:
    """The graph with the labels of its boxes, and of its wires."""
    graph.nodes = [node.named() for node in graph.nodes]
    for k in {*graph.inputs, *(k for node in graph.nodes for k in node.outs)} - graph.bundles:
        graph.labels.setdefault(k, label(k))
    return graph


def depths(graph: Graph) -> list[int]:
    """The layer of each box, from 1: one after the last box that it reads; just before its reader if it reads no input.

    Where each box has a `rank`, that is its layer.
    """
    given = [node.rank for node in graph.nodes if node.rank is not None]
    if len(given) == len(graph.nodes):
        return given
    at: dict[int, int] = {}
    fed = set(graph.inputs)
    rank = []
    for node in graph.nodes:
        rank.append(1 + max([at.get(k, 0) for k in node.ins], default=0))
        at.update(dict.fromkeys(node.outs, rank[-1]))
        if not fed.isdisjoint(node.ins):
            fed.update(node.outs)
    first_read: dict[int, int] = {}
    for i in range(len(graph.nodes) - 1, -1, -1):
        node = graph.nodes[i]
        readers = [first_read[k] for k in node.outs if k in first_read]
        if readers and fed.isdisjoint(node.ins):
            rank[i] = min(readers) - 1
        for k in node.ins:
            first_read[k] = min(first_read.get(k, rank[i]), rank[i])
    return rank


def trimmed(graph: Graph) -> Graph:
    """The graph with what is too much merged into boxes that say how many they stand for."""
    if len(graph.inputs) > LAYERS:
        graph = _fewer_inputs(graph)
    keep = KEEP
    tried = _merged(graph, keep)
    while sum(node.stands_for == 1 for node in tried.nodes) > BOXES and keep > 1:
        keep = keep * 2 // 3
        tried = _merged(graph, keep, force=True)
    return narrowed(tried)


def narrowed(graph: Graph) -> Graph:
    """The graph with the middle of many inputs as one thick wire, of many outputs as one box."""
    if len(graph.inputs) > LAYERS:
        graph = _fewer_inputs(graph)
    return _fewer_outputs(graph) if len(graph.outputs) > LAYERS else graph


def renamed(graph: Graph, name: dict[int, int]) -> None:
    """Replace wires by the bundle they are part of; a box reads a bundle once."""

    def again(wires: list[int]) -> list[int]:
        out: list[int] = []
        for k in wires:
            found = name.get(k, k)
            if k not in name or found not in out:
                out.append(found)
        return out

    for node in graph.nodes:
        node.ins, node.outs = again(node.ins), again(node.outs)
    graph.outputs = again(graph.outputs)
    graph.bundles |= set(name.values())


def _fewer_inputs(graph: Graph) -> Graph:
    middle = graph.inputs[KEEP:-KEEP]
    kept = [*graph.inputs[:KEEP], middle[0], *graph.inputs[-KEEP:]]
    renamed(graph, dict.fromkeys(middle, middle[0]))
    graph.labels[middle[0]] = f"... {len(middle):,} more ..."
    return replace(graph, inputs=kept)


def _fewer_outputs(graph: Graph) -> Graph:
    middle = graph.outputs[KEEP:-KEEP]
    bundle = 1 + max([*graph.inputs, *(k for node in graph.nodes for k in (*node.ins, *node.outs))])
    node = more_node(len(middle), list(dict.fromkeys(middle)), [bundle])
    node.label = node.title = f"... {len(middle):,} more results ..."
    outputs = [*graph.outputs[:KEEP], bundle, *graph.outputs[-KEEP:]]
    return replace(graph, nodes=[*graph.nodes, node], outputs=outputs, bundles=graph.bundles | {bundle})


def _merged(graph: Graph, keep: int, force: bool = False) -> Graph:
    """Merge the layers between the first and the last `keep`, then the middles of layers that are still wide."""
    most = 2 * keep + 1 if force else LAYERS
    layer = depths(graph)
    count = max(layer, default=0)
    if count > most:
        graph, layer = _grouped(graph, layer, lambda i: 0 if keep < layer[i] <= count - keep else None)
    wide: dict[int, list[int]] = {}
    for i, rank in enumerate(layer):
        wide.setdefault(rank, []).append(i)
    group = {i: rank for rank, found in wide.items() if len(found) > most for i in found[keep:-keep]}
    return _grouped(graph, layer, group.get)[0] if group else graph


def _grouped(graph: Graph, layer: list[int], group: Callable[[int], int | None]) -> tuple[Graph, list[int]]:
    """Merge the boxes of each group into one; the layers of the new boxes with it."""
    members: dict[int, list[int]] = {}
    lone: list[int] = []
    for i in range(len(graph.nodes)):
        at = group(i)
        (lone if at is None else members.setdefault(at, [])).append(i)
    read_in: dict[int, set[int]] = {}  # a wire -> the groups that read it; -1 for all else
    for at, found in [(-1, lone), *members.items()]:
        for i in found:
            for k in graph.nodes[i].ins:
                read_in.setdefault(k, set()).add(at)
    for k in graph.outputs:
        read_in.setdefault(k, set()).add(-1)
    nodes = [(layer[i], i, graph.nodes[i].copy()) for i in lone]
    name: dict[int, int] = {}
    for at, found in members.items():
        made = {k for i in found for k in graph.nodes[i].outs}
        ins = [k for k in dict.fromkeys(k for i in found for k in graph.nodes[i].ins) if k not in made]
        outs = [k for i in found for k in graph.nodes[i].outs if read_in.get(k, set()) - {at}]
        size = sum(graph.nodes[i].stands_for for i in found)
        nodes.append((min(layer[i] for i in found), found[0], more_node(size, ins, outs)))
        if len(outs) > PORTS:
            name |= dict.fromkeys(outs, outs[0])
    nodes.sort(key=lambda entry: entry[:2])
    new = replace(graph, nodes=[node for _, _, node in nodes], labels=dict(graph.labels), bundles=set(graph.bundles))
    renamed(new, name)
    return new, [rank for rank, _, _ in nodes]
