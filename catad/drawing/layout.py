"""Places of boxes and wires: layers from left to right, few crossings, straight wires.

The method of Sugiyama, Tagawa and Toda (Methods for visual understanding of hierarchical system structures, 1981): a wire
that passes a layer gets a place in it; the order in each layer follows the barycentres of the neighbours; heights then
minimise the squared bends under the order found, which is isotonic regression in each layer.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass, field

from catad.drawing.graph import Graph, Node, depths
from catad.drawing.style import CHAR, SMALL

PORT, GAP, LANE, MARGIN = 19.0, 12.0, 20.0, 12.0
POINT, NARROW = 26.0, 8.0  # a round box, and the lane of a wire among such
THUMB = 28.0  # the room of a small picture in a box
SWEEPS = 12


@dataclass(eq=False)
class Item:
    """A box, an end of the picture, or a wire that passes a layer; `ins` and `outs` are the wires at its sides."""

    rank: int
    ins: list[int]
    outs: list[int]
    node: Node | None = None
    lane: bool = False
    width: float = 0.0
    height: float = LANE
    x: float = 0.0
    y: float = 0.0  # of its middle
    apart: float = PORT  # the distance of its ports

    def port(self, side: int, k: int) -> float:
        """The height of port k on the left (0) or right (1) side."""
        return self.y + (k - (len(self.outs if side else self.ins) - 1) / 2) * self.apart


@dataclass(frozen=True)
class Link:
    """A piece of a wire between neighbouring layers, from a port of one item to a port of another."""

    wire: int
    start: Item
    start_port: int
    end: Item
    end_port: int


@dataclass
class Layout:
    """The items of each layer from top to bottom, the links after each layer, and where the layers lie."""

    layers: list[list[Item]]
    links: list[list[Link]]
    left: list[float] = field(default_factory=list)  # the left and right edges of a layer, and where its wires split
    right: list[float] = field(default_factory=list)
    branch: list[float] = field(default_factory=list)
    width: float = 0.0
    height: float = 0.0


def laid_out(graph: Graph) -> Layout:
    """The positions of everything in a graph."""
    layout = _layered(graph)
    _order(layout)
    _heights(layout)
    _columns(layout, graph)
    return layout


def _layered(graph: Graph) -> Layout:
    """Layer 0 holds the inputs, the last layer the outputs; wires over several layers get lanes."""
    rank = depths(graph)
    last = max(rank, default=0) + 1
    layers: list[list[Item]] = [[] for _ in range(last + 1)]
    layers[0] = [Item(0, [], [k]) for k in graph.inputs]
    for r, node in zip(rank, graph.nodes, strict=True):
        width, height = _size(node)
        layers[r].append(Item(r, node.ins, node.outs, node, False, width, height, apart=0.0 if node.round else PORT))
    layers[last] = [Item(last, [k], []) for k in graph.outputs]
    ends: dict[int, list[tuple[Item, int]]] = {}  # a wire -> the ports that read it, layer by layer
    for layer in layers:
        for item in layer:
            for port, k in enumerate(item.ins):
                ends.setdefault(k, []).append((item, port))
    links: list[list[Link]] = [[] for _ in range(last + 1)]
    lane = NARROW if any(node.round for node in graph.nodes) else LANE
    for item in [item for layer in layers for item in layer]:
        for port, k in enumerate(item.outs):
            _route(layers, links, k, (item, port), ends.get(k, []), lane)
    return Layout(layers, links)


def _size(node: Node) -> tuple[float, float]:
    """The width and the height of a box: those of its texts, its small picture and its ports."""
    if node.round:
        return POINT, POINT
    ports = max(len(node.ins), len(node.outs))
    text = max(CHAR * len(node.label), SMALL * len(node.detail))
    room = THUMB if node.cells is not None else 0.0
    return max(30.0, text + 16 + room), max(40.0 if node.detail else 28.0, PORT * (ports - 1) + 24)


def _route(
    layers: list[list[Item]],
    links: list[list[Link]],
    wire: int,
    source: tuple[Item, int],
    ends: Sequence[tuple[Item, int]],
    high: float,
) -> None:
    """Lead a wire from its source through one lane in each layer to all that read it."""
    last = max((item.rank for item, _ in ends), default=source[0].rank)
    for rank in range(source[0].rank, last):
        for item, port in ends:
            if item.rank == rank + 1:
                links[rank].append(Link(wire, *source, item, port))
        if last > rank + 1:
            lane = Item(rank + 1, [wire], [wire], lane=True, height=high)
            layers[rank + 1].append(lane)
            links[rank].append(Link(wire, *source, lane, 0))
            source = (lane, 0)


# -- the order within the layers


def _order(layout: Layout) -> None:
    """Barycentre sweeps to and fro; the best order met is kept."""
    layers = layout.layers
    back, forth = _neighbours(layout)
    fixed = {0, len(layers) - 1}
    place: dict[Item, float] = {}
    for layer in layers:
        place.update({item: float(i) for i, item in enumerate(layer)})
    best, least = [list(layer) for layer in layers], -1
    for sweep in range(SWEEPS):
        ranks = range(1, len(layers)) if sweep % 2 == 0 else range(len(layers) - 2, -1, -1)
        for rank in ranks:
            if rank not in fixed:
                _sort(layers[rank], back if sweep % 2 == 0 else forth, place)
        crossings = sum(_crossings(links, place) for links in layout.links)
        if least < 0 or crossings < least:
            best, least = [list(layer) for layer in layers], crossings
        if crossings == 0:
            break
    layout.layers[:] = best
    if least:
        _swap(layout, back, forth)


Beside = dict[Item, list[tuple[int, Item, int, int]]]  # item -> (own port, neighbour, its port, its number of ports)


def _neighbours(layout: Layout) -> tuple[Beside, Beside]:
    back: Beside = {item: [] for layer in layout.layers for item in layer}
    forth: Beside = {item: [] for layer in layout.layers for item in layer}
    for link in (link for links in layout.links for link in links):
        back[link.end].append((link.end_port, link.start, link.start_port, len(link.start.outs)))
        forth[link.start].append((link.start_port, link.end, link.end_port, len(link.end.ins)))
    return back, forth


def _sort(layer: list[Item], beside: Beside, place: dict[Item, float]) -> None:
    def centre(item: Item) -> float:
        at = [place[other] + (port + 0.5) / count for _, other, port, count in beside[item]]
        return sum(at) / len(at) if at else place[item] + 0.5

    layer.sort(key=centre)
    place.update({item: float(i) for i, item in enumerate(layer)})


def _ends_of(links: Sequence[Link], place: dict[Item, float]) -> list[tuple[float, float]]:
    return sorted(
        (place[n.start] + (n.start_port + 0.5) / len(n.start.outs), place[n.end] + (n.end_port + 0.5) / len(n.end.ins))
        for n in links
    )


def _crossings(links: Sequence[Link], place: dict[Item, float]) -> int:
    """The number of pairs of links that cross: inversions of their right ends in the order of the left ones."""
    seen: list[float] = []
    total = 0
    for _, right in _ends_of(links, place):
        total += len(seen) - bisect_right(seen, right)
        insort(seen, right)
    return total


def _swap(layout: Layout, back: Beside, forth: Beside) -> None:
    """Exchange neighbours in a layer as long as that uncrosses wires."""
    place = {item: float(i) for layer in layout.layers for i, item in enumerate(layer)}

    def between(a: Item, b: Item, beside: Beside) -> int:
        """Crossings less those after the exchange, of the wires on one side."""
        mine = [place[other] + (port + 0.5) / count for _, other, port, count in beside[a]]
        theirs = [place[other] + (port + 0.5) / count for _, other, port, count in beside[b]]
        return sum((p > q) - (p < q) for p in mine for q in theirs)

    for _ in range(SWEEPS):
        changed = False
        for layer in layout.layers[1:-1]:
            for i in range(len(layer) - 1):
                a, b = layer[i], layer[i + 1]
                if between(a, b, back) + between(a, b, forth) > 0:
                    layer[i], layer[i + 1] = b, a
                    place[a], place[b] = place[b], place[a]
                    changed = True
        if not changed:
            return


# -- coordinates


def _heights(layout: Layout) -> None:
    """Heights that bend the wires least, layer after layer, to and fro."""
    back, forth = _neighbours(layout)
    for layer in layout.layers:
        _place(layer, [0.0] * len(layer))
    count = len(layout.layers)
    for sweep in range(2 * SWEEPS):
        for rank in range(count) if sweep % 2 == 0 else range(count - 1, -1, -1):
            _settle(layout.layers[rank], back, forth, sweep)
    for layer in reversed(layout.layers):  # at last lanes and ends line up, so that a wire bends once and not in each layer
        _align(layer, forth, 1, 0)
    for layer in layout.layers:
        _align(layer, back, 0, 1)
    top = min((item.y - item.height / 2 for layer in layout.layers for item in layer), default=0.0)
    for layer in layout.layers:
        for item in layer:
            item.y = round(item.y - top + MARGIN, 1)
    layout.height = MARGIN + max((item.y + item.height / 2 for layer in layout.layers for item in layer), default=LANE)


def _settle(layer: list[Item], back: Beside, forth: Beside, sweep: int) -> None:
    wanted: list[float | None] = []
    sides = [(back, 1, 0)] if sweep % 2 == 0 else [(forth, 0, 1)]
    if sweep >= SWEEPS:
        sides = [(back, 1, 0), (forth, 0, 1)]
    for item in layer:
        at = []
        for beside, other_side, own_side in sides:
            for own, other, port, _ in beside[item]:
                want = other.port(other_side, port) - (item.port(own_side, own) - item.y)
                at += [want] * (1 + 3 * (item.lane and other.lane) + (item.lane or other.lane))
        loose = not back[item] and not forth[item]
        wanted.append(None if loose else _median(at) if at else item.y)
    _place(layer, wanted)


def _align(layer: list[Item], beside: Beside, own_side: int, other_side: int) -> None:
    """Lanes and ends at the height of their one neighbour on a side; boxes stay, as far as there is room."""
    wanted: list[float | None] = []
    for item in layer:
        ports = [other.port(other_side, port) for _, other, port, _ in beside[item]]
        wanted.append(ports[0] if item.node is None and len(ports) == 1 else item.y)
    _place(layer, wanted)


def _median(values: list[float]) -> float:
    """The middle value; of two, the one nearer to the others, so that some wire is straight."""
    values.sort()
    low, high = values[(len(values) - 1) // 2], values[len(values) // 2]
    return (low + high) / 2 if len(values) == 2 else low if sum(values) < len(values) * (low + high) / 2 else high


def _place(layer: list[Item], wanted: Sequence[float | None]) -> None:
    """The heights nearest to the wanted ones (least squares) that keep order and distances: pool adjacent violators.

    None stands for an item without wires: it keeps close to its neighbours.
    """
    offsets, at = [], 0.0
    for i, item in enumerate(layer):
        if i:
            gap = 0.0 if item.node is None and layer[i - 1].node is None else GAP
            at += layer[i - 1].height / 2 + gap + item.height / 2
        offsets.append(at)
    roots = [None if want is None else want - offset for want, offset in zip(wanted, offsets, strict=True)]
    following: float | None = next((root for root in reversed(roots) if root is not None), 0.0)
    for i in range(len(roots) - 1, -1, -1):
        roots[i] = following = following if roots[i] is None else roots[i]
    pools: list[tuple[float, int]] = []  # (sum of what is wanted less the offset, how many)
    for root in roots:
        total, size = root or 0.0, 1
        while pools and pools[-1][0] / pools[-1][1] > total / size:
            more, count = pools.pop()
            total, size = total + more, size + count
        pools.append((total, size))
    means = [total / size for total, size in pools for _ in range(size)]
    for item, mean, offset in zip(layer, means, offsets, strict=True):
        item.y = mean + offset


def _columns(layout: Layout, graph: Graph) -> None:
    """The x of every layer: after it come its labels, then the stretch in which wires bend."""
    x = MARGIN
    for layer, links in zip(layout.layers, layout.links, strict=True):
        width = max([item.width for item in layer], default=0.0)
        for item in layer:
            item.x = round(x + (width - item.width) / 2, 1)
        layout.left.append(x)
        layout.right.append(round(x + width, 1))
        written = [item for item in layer if not item.lane and item.outs]
        label = max(
            [
                SMALL * len(graph.labels[k]) + 10 - (x + width - item.x - item.width)
                for item in written
                for k in item.outs
                if k in graph.labels
            ],
            default=0.0,
        )
        steep = max([abs(n.start.port(1, n.start_port) - n.end.port(0, n.end_port)) for n in links], default=0.0)
        branch = x + width + max(14.0 if written else 0.0, label)
        layout.branch.append(round(branch, 1))
        x = round(branch + (22.0 + min(70.0, 0.35 * steep) if links else 0.0), 1)
    layout.width = layout.right[-1] + 8 + MARGIN
