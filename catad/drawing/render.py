"""A graph as SVG text: its boxes, its wires, and in an animation the times in which they are seen.

This draws diagrams of programs, the trees of plans, and the graphs of eliminations. An animation is a style sheet of its own,
whose rules are named by the times that they mean. It stands still, with everything in sight, where the reader prefers that.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from catad.drawing.cells import cells_path
from catad.drawing.graph import Graph, Node, Times
from catad.drawing.labels import shortened
from catad.drawing.layout import MARGIN, THUMB, Item, Layout, Link, laid_out
from catad.drawing.style import BOXES, SMALL, escaped, number, svg

SECONDS = 1.2  # of a unit of time
WIDEST = 640.0  # pixels that a picture is made wide for the texts below it


def render(graph: Graph, title: str, caption: str = "", styled: bool = True) -> str:
    """A graph as SVG text, with a caption below."""
    layout = laid_out(graph)
    longest = SMALL * max([len(text) for text in (caption, *[text for text, _ in graph.said])]) + 2 * MARGIN
    width = max(layout.width, min(longest, WIDEST) if caption or graph.said else 0)
    height, below = _below(graph, caption, width, layout.height)
    lines = [
        '<g class="catad-wires">',
        *_wires(layout, graph),
        "</g>",
        '<g class="catad-dots">',
        *_dots(layout),
        "</g>",
        '<g class="catad-spaces catad-quiet catad-small">',
        *_labels(layout, graph),
        "</g>",
        '<g class="catad-boxes catad-ink catad-text catad-middle">',
        *[_box(item, graph) for layer in layout.layers for item in layer if item.node is not None],
        "</g>",
        *below,
    ]
    return svg(title, width, height, lines, styled, _moves(graph))


def _below(graph: Graph, caption: str, width: float, top: float) -> tuple[float, list[str]]:
    """The height of a picture with its texts below, and these."""
    room = int((width - 2 * MARGIN) / SMALL)
    lines, y = [], top + 4
    for text in textwrap.wrap(caption, room):
        y += 14
        lines.append(f'<text class="catad-ink catad-small" x="{number(MARGIN)}" y="{number(y)}">{escaped(text)}</text>')
    y += 16 if graph.said else 0
    for text, when in graph.said:
        own = f'<text class="catad-ink catad-small catad-said" x="{number(MARGIN)}" y="{number(y)}"{_seen(graph, when)}>'
        lines.append(f"{own}{escaped(shortened(text, room))}</text>")
    return (y + MARGIN if lines else top), lines


# -- boxes


def _box(item: Item, graph: Graph) -> str:
    node = item.node
    assert node is not None
    kind = node.kind if node.kind in BOXES else "more"
    middle, shape = item.x + item.width / 2, _rectangle(item, ' stroke-dasharray="4 3"' if node.kind == "more" else "")
    if node.round:
        shape = f'<circle cx="{number(middle)}" cy="{number(item.y)}" r="{number(item.width / 2)}"/>'
    if node.cells is not None:
        shape += cells_path(node.cells, node.shape, item.x + 6, item.y, THUMB - 4)
        middle += THUMB / 2
    texts = [(node.label, 4.0, "")]
    if node.detail:
        texts = [(node.label, -3.0, ""), (node.detail, 11.0, ' class="catad-small"')]
    words = "".join(
        [f'<text x="{number(middle)}" y="{number(item.y + dy)}"{own}>{escaped(text)}</text>' for text, dy, own in texts if text]
    )
    seen = _seen(graph, node.when)
    ring = _ring(item, graph)
    return f'<g class="catad-box catad-{kind}"{seen}><title>{escaped(node.title)}</title>{shape}{words}{ring}</g>'


def _rectangle(item: Item, more: str) -> str:
    left, top = number(item.x), number(item.y - item.height / 2)
    return f'<rect x="{left}" y="{top}" width="{number(item.width)}" height="{number(item.height)}" rx="5"{more}/>'


def _ring(item: Item, graph: Graph) -> str:
    """A ring about a point that goes."""
    going = None if item.node is None else _going(graph, item.node)
    if going is None:
        return ""
    where = f'cx="{number(item.x + item.width / 2)}" cy="{number(item.y)}" r="{number(item.width / 2 + 4)}"'
    return f'<circle class="catad-ring" {where}{_seen(graph, going)}/>'


def _going(graph: Graph, node: Node) -> Times | None:
    """The time before a point goes, in which it has a ring."""
    return (node.when[1] - 0.9, node.when[1]) if node.round and node.when and node.when[1] < graph.length else None


# -- wires


def _wires(layout: Layout, graph: Graph) -> list[str]:
    """One path from the source of a wire to each end; those that nothing reads get a stub."""
    follow: dict[tuple[Item, int], list[Link]] = {}
    for link in (link for links in layout.links for link in links):
        follow.setdefault((link.start, link.start_port), []).append(link)
    out = []
    for item in (item for layer in layout.layers for item in layer if not item.lane):
        for port, k in enumerate(item.outs):
            y, own = number(item.port(1, port)), _of_wire(graph, k)
            start = f"M{number(_start(item))} {y}"
            stack = [(start, link) for link in reversed(follow.get((item, port), []))]
            if not stack:
                out.append(f'<path data-wire="{k}"{own} d="{start}H{number(layout.branch[item.rank])}"/>')
            while stack:
                path, link = stack.pop()
                path += _bend(layout, link)
                if link.end.lane:
                    stack += [(path, after) for after in reversed(follow[link.end, 0])]
                else:
                    out.append(f'<path data-wire="{k}"{own} d="{path}H{number(_end(layout, link.end))}"/>')
    return out


def _of_wire(graph: Graph, k: int) -> str:
    """The attributes of a wire beside its way."""
    width = 3.5 if k in graph.bundles else graph.widths.get(k)
    thick = "" if width is None else f' stroke-width="{number(width)}"'
    dashed = ' class="catad-fill"' if k in graph.fill else ""
    return f"{dashed}{thick}{_seen(graph, graph.when.get(k))}"


def _start(item: Item) -> float:
    return item.x + item.width if item.node is not None else 4.0


def _end(layout: Layout, item: Item) -> float:
    return item.x if item.node is not None else layout.width - 4.0


def _bend(layout: Layout, link: Link) -> str:
    """Straight to where the wires of a layer split, then a curve to the edge of the next layer."""
    rank = link.start.rank
    x, y = layout.branch[rank], link.start.port(1, link.start_port)
    to_x, to_y = layout.left[rank + 1], link.end.port(0, link.end_port)
    if abs(y - to_y) < 0.05:
        return f"H{number(to_x)}"
    middle = number((x + to_x) / 2)
    return f"H{number(x)}C{middle} {number(y)} {middle} {number(to_y)} {number(to_x)} {number(to_y)}"


def _dots(layout: Layout) -> list[str]:
    """A dot where a wire splits, a ring where one ends unread."""
    out = []
    for layer, links in zip(layout.layers, layout.links, strict=True):
        uses: dict[tuple[Item, int], int] = {}
        for link in links:
            uses[link.start, link.start_port] = uses.get((link.start, link.start_port), 0) + 1
        for item in layer:
            for port in range(len(item.outs)):
                count = uses.get((item, port), 0)
                where = f'cx="{number(layout.branch[item.rank])}" cy="{number(item.port(1, port))}"'
                if count > 1:
                    out.append(f'<circle class="catad-split" {where} r="3"/>')
                elif count == 0 and not item.lane:
                    out.append(f'<circle class="catad-unread" {where} r="3"/>')
    return out


def _labels(layout: Layout, graph: Graph) -> list[str]:
    """The space of each wire, above its first stretch."""
    out = []
    for item in (item for layer in layout.layers for item in layer if not item.lane):
        for port, k in enumerate(item.outs):
            if k in graph.labels:
                x = item.x + item.width + 4 if item.node is not None else MARGIN
                text = escaped(graph.labels[k])
                out.append(f'<text x="{number(x)}" y="{number(item.port(1, port) - 4)}">{text}</text>')
    return out


# -- animations


def _seen(graph: Graph, when: Times | None) -> str:
    """The attribute of what is seen in a time only."""
    if when is None or not graph.length:
        return ""
    return f' style="animation:{_name(graph, when)} {number(SECONDS * graph.length)}s linear infinite"'


def _name(graph: Graph, when: Times) -> str:
    """The name of the rule for a time, which says all that is in the rule, in tenths of a unit."""
    return "catad-seen-" + "-".join([str(round(10 * time)) for time in (graph.length, *when)])


def _all_times(graph: Graph) -> Iterator[Times]:
    yield from graph.when.values()
    yield from [when for _, when in graph.said]
    for node in graph.nodes:
        if node.when is not None:
            yield node.when
            if (going := _going(graph, node)) is not None:
                yield going


def _moves(graph: Graph) -> str:
    """The rules of an animation; none for a picture that stands still."""
    if not graph.length:
        return ""
    rules = []
    for when in sorted(set(_all_times(graph))):
        begin, end = [100 * time / graph.length for time in when]
        ramp = 15 / graph.length
        stops = {0.0: begin <= 0, max(0.0, begin - ramp): begin <= 0, max(0.0, begin): True}
        stops |= {min(100.0, end): True, min(100.0, end + ramp): end >= 100, 100.0: end >= 100}
        steps = "".join([f"{_percent(at)}%{{opacity:{int(seen)}}}" for at, seen in sorted(stops.items())])
        rules.append(f"@keyframes {_name(graph, when)}{{{steps}}}")
    return "".join(rules) + "@media (prefers-reduced-motion:reduce){svg.catad *{animation:none!important}}"


def _percent(percent: float) -> str:
    """A percentage, to two decimals."""
    return f"{percent:.2f}".rstrip("0").rstrip(".")
