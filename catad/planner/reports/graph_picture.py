"""An order of elimination as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from catad.planner.graph import Graph, members, remove

DRAWN = 60  # vertices that a picture holds at most


def draw(graph: Graph, order: Sequence[int], caption: str) -> str:
    """The graph from left to right, SVG text: each vertex with its number of elimination, edges of fill dashed."""
    caption = escape(caption)
    n = len(graph.preds)
    if n > DRAWN:
        return _svg(620, 40, [f'<text x="10" y="24">{caption}</text>'])
    depth = [0] * n
    for v in graph.topological():
        depth[v] = max([depth[u] + 1 for u in members(graph.preds[v])], default=0)
    for v in members(graph.outputs & ~graph.inputs):
        depth[v] = max(depth)
    columns: dict[int, list[int]] = {}
    for v in range(n):
        columns.setdefault(depth[v], []).append(v)
    tallest = max([len(column) for column in columns.values()], default=1)
    place = {
        v: (40 + 80 * d, 40 + 50 * (k + (tallest - len(column)) / 2))
        for d, column in columns.items()
        for k, v in enumerate(column)
    }
    numbers = {v: k + 1 for k, v in enumerate(order)}
    parts = [_line(place[a], place[b], "#555", "") for a, b in graph.edges()]
    parts += [_line(place[a], place[b], "#c60", ' stroke-dasharray="4 3"') for a, b in _fill(graph, order)]
    for v, (x, y) in place.items():
        colour = "#fff" if v in numbers else "#bdf"
        parts.append(f'<circle cx="{x}" cy="{y:g}" r="13" fill="{colour}" stroke="#333"><title>vertex {v}</title></circle>')
        parts.append(f'<text x="{x}" y="{y + 4:g}" text-anchor="middle">{numbers.get(v, "")}</text>')
    parts.append(f'<text x="10" y="{70 + 50 * tallest}">{caption}</text>')
    return _svg(max(80 + 80 * max(columns, default=0), 620), 80 + 50 * tallest, parts)


def _fill(graph: Graph, order: Sequence[int]) -> list[tuple[int, int]]:
    """The edges that elimination adds, in the order in which it does."""
    before, after = list(graph.preds), list(graph.succs)
    found = []
    for v in order:
        found += [(p, s) for p in members(before[v]) for s in members(after[v] & ~after[p])]
        remove(before, after, v)
    return found


def _line(a: tuple[float, float], b: tuple[float, float], colour: str, more: str) -> str:
    middle = (a[0] + b[0]) / 2
    path = f"M {a[0]:g} {a[1]:g} C {middle:g} {a[1]:g} {middle:g} {b[1]:g} {b[0]:g} {b[1]:g}"
    return f'<path d="{path}" fill="none" stroke="{colour}"{more}/>'


def _svg(width: float, height: float, parts: list[str]) -> str:
    font = 'font-family="sans-serif" font-size="12"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" {font}>'
    return "\n".join([head, *parts, "</svg>"])
