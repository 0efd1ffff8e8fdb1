"""String diagrams as SVG text.

Time runs from left to right. `compose` is side by side, `fork` splits a wire at a dot, `cross` is above each other, and a
rearrangement of tuples is drawn as wires alone (P. Selinger, A survey of graphical languages for monoidal categories, 2011).
A wire that nothing reads ends in a small ring. The text needs nothing else: no style sheet, no script, no font of its own,
and colours that can be read on a light and on a dark ground.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection

from catad import errors
from catad.category.spaces import Space
from catad.category.terms import D
from catad.category.wiring import wire
from catad.drawing.graph import Graph, of_wiring
from catad.drawing.labels import space_label
from catad.drawing.layout import MARGIN, Item, Layout, Link, laid_out
from catad.drawing.of_program import of_program
from catad.drawing.untyped import of_term
from catad.traced.programs.program import Program

FONT = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
WIRE, LABEL, INK = "#7d8a99", "#758291", "#16202b"
FILLS = {  # kind of box -> (fill, edge)
    "pointwise": ("#cfe3fb", "#4f86c6"),
    "linear": ("#d3eed6", "#4c9a5b"),
    "constant": ("#e6e8eb", "#868e99"),
    "combinator": ("#fde2c4", "#cc8a3c"),
    "functor": ("#e6dafa", "#8a68c4"),
    "group": ("#fff3b8", "#b8a12e"),
}


_NOT_XML = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]")


def draw(term: D, dom: Space | None = None, opened: bool | str | Collection[str] = False) -> str:
    """A string diagram as SVG text; with a domain, of the wiring there, with the spaces on the wires.

    Without a domain each part of the term is drawn where it stands; with one, shared work is drawn once. Long chains and
    wide layers keep their ends and say how much is left out. The same term always gives the same text. Raises `SpaceError`
    where the term cannot take the domain. Lengths are in pixels.

    >>> import catad as ct
    >>> ct.fork(ct.sin, ct.cos).draw(ct.f64[3]).count("<rect")
    2
    """
    program = getattr(term, "program", None)
    if dom is not None and program is not None:  # a traced function
        term = program(dom)
    if isinstance(term, Program):
        if dom is not None and dom != term.dom:
            raise errors.SpaceError(errors.not_in_domain(dom, term.dom, term))
        return render(of_program(term, opened), f"{term.title}: {space_label(term.dom)} -> {space_label(term.spaces(term.dom))}")
    if dom is None:
        return render(of_term(term), "string diagram")
    wiring = wire(term, dom)
    return render(of_wiring(wiring), f"string diagram: {space_label(dom)} -> {space_label(wiring.cod)}")


def escaped(text: str) -> str:
    """Text as XML content; what XML cannot hold is replaced."""
    return html.escape(_NOT_XML.sub("�", text), quote=False)


def number(value: float) -> str:
    """A coordinate: at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def render(graph: Graph, title: str) -> str:
    """A graph as SVG text."""
    layout = laid_out(graph)
    width, height = number(layout.width), number(layout.height)
    boxes = [item for layer in layout.layers for item in layer if item.node is not None]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" font-family="{FONT}">',
        f"<title>{escaped(title)}</title>",
        f'<g class="wires" fill="none" stroke="{WIRE}" stroke-width="1.5" stroke-linecap="round">',
        *_wires(layout, graph),
        "</g>",
        f'<g class="dots" fill="{WIRE}">',
        *_dots(layout),
        "</g>",
        f'<g class="spaces" font-size="10" fill="{LABEL}">',
        *_labels(layout, graph),
        "</g>",
        '<g class="boxes" font-size="12" text-anchor="middle" stroke-width="1.2">',
        *[_box(item) for item in boxes],
        "</g>",
        "</svg>",
    ]
    return "\n".join(line for line in lines if line) + "\n"


def _box(item: Item) -> str:
    node = item.node
    assert node is not None
    fill, edge = FILLS.get(node.kind, ("#f4f5f7", "#9aa4b0"))
    dashed = ' stroke-dasharray="4 3"' if node.kind == "more" else ""
    left, top = number(item.x), number(item.y - item.height / 2)
    return (
        f'<g class="box {node.kind}"><title>{escaped(node.title)}</title>'
        f'<rect x="{left}" y="{top}" width="{number(item.width)}" height="{number(item.height)}" rx="5" '
        f'fill="{fill}" stroke="{edge}"{dashed}/>'
        f'<text x="{number(item.x + item.width / 2)}" y="{number(item.y + 4)}" fill="{INK}">{escaped(node.label)}</text></g>'
    )


def _wires(layout: Layout, graph: Graph) -> list[str]:
    """One path from the source of a wire to each end; those that nothing reads get a stub."""
    follow: dict[tuple[Item, int], list[Link]] = {}
    for link in (link for links in layout.links for link in links):
        follow.setdefault((link.start, link.start_port), []).append(link)
    out = []
    for item in (item for layer in layout.layers for item in layer if not item.lane):
        for port, k in enumerate(item.outs):
            y = number(item.port(1, port))
            start = f"M{number(_start(item))} {y}"
            thick = ' stroke-width="3.5"' if k in graph.bundles else ""
            stack = [(start, link) for link in reversed(follow.get((item, port), []))]
            if not stack:
                out.append(f'<path data-wire="{k}"{thick} d="{start}H{number(layout.branch[item.rank])}"/>')
            while stack:
                path, link = stack.pop()
                path += _bend(layout, link)
                if link.end.lane:
                    stack += [(path, after) for after in reversed(follow[link.end, 0])]
                else:
                    out.append(f'<path data-wire="{k}"{thick} d="{path}H{number(_end(layout, link.end))}"/>')
    return out


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
                    out.append(f'<circle class="split" {where} r="3"/>')
                elif count == 0 and not item.lane:
                    out.append(f'<circle class="unread" {where} r="3" fill="none" stroke="{WIRE}" stroke-width="1.5"/>')
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
