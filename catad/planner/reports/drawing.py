"""A plan as a picture: the tree of its steps, the factors below, SVG text without anything from outside."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import NamedTuple

from catad.drawing.pattern import cells_of
from catad.linear.structure import Structure
from catad.planner.chains.brackets import Tree
from catad.planner.chains.execute import Multiplication, trace
from catad.planner.chains.factors import Factors, structure_of

WIDTH, HEIGHT, GAP = 128, 34, 46  # pixels: a node, and the distance between levels
THUMB, CELLS = 24, 12  # pixels and cells along the longer side of a thumbnail
PICTURED = 60  # steps of plans whose patterns are drawn: a pattern is looked at for each


class Node(NamedTuple):
    """A box of the picture."""

    x: float
    level: int
    lines: tuple[str, str]
    carried: int  # the quantity that the thickness of its line shows
    fill: str
    structure: Structure | None


def draw(chain: Factors, tree: Tree, steps: Sequence[Multiplication]) -> str:
    """A bracketing: boxes are maps with their patterns and sizes; lines are as thick as the logarithm of what they carry."""
    nodes, lines = _nodes(chain, tree, steps)
    top = max(node.level for node in nodes)
    y = [20 + HEIGHT / 2 + (HEIGHT + GAP) * (top - node.level) for node in nodes]
    drawn = [_line(nodes[a].x, y[a], nodes[c].x, y[c], nodes[c].carried) for a, c in lines]
    drawn += [_box(node, y[k]) for k, node in enumerate(nodes)]
    width, height = WIDTH * len(chain.parts) + 20, 40 + HEIGHT + (HEIGHT + GAP) * top
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height:g}" viewBox="0 0 {width} {height:g}"'
    return "\n".join([f'{head} font-family="sans-serif" font-size="10" text-anchor="middle">', *drawn, "</svg>"])


def _nodes(chain: Factors, tree: Tree, steps: Sequence[Multiplication]) -> tuple[list[Node], list[tuple[int, int]]]:
    """The factors and the steps, and which step takes which."""
    pictured = len(steps) <= PICTURED
    nodes = []
    for k, (factor, _) in enumerate(chain.parts):
        lines = (f"{k}: {factor.kind}", f"{factor.rows}x{factor.columns}")
        nodes.append(Node(WIDTH * (k + 0.5) + 10, 0, lines, factor.stored, "#eef3fb", factor if pictured else None))
    made = [structure_of(joined.state)[0] for joined in trace(chain, tree).joins] if pictured else []
    links: list[tuple[int, int]] = []
    for s, ((left, right), step) in enumerate(zip(tree, steps, strict=True)):
        below = [left] if right < 0 else [left, right]
        x = sum(nodes[k].x for k in below) / len(below)
        level = 1 + max(nodes[k].level for k in below)
        cost = "kept" if step.lazy else f"{step.operations:,} operations"
        word = "" if step.how == "multiply" else f"{step.how}ed: "
        kind = f"{word}{step.kinds[2]} {step.shape[0]}x{step.shape[1]}"
        structure = made[s] if pictured else None
        nodes.append(Node(x, level, (kind, cost), step.operations, "#fbf4e4", structure))
        links += [(len(nodes) - 1, k) for k in below]
    return nodes, links


def _line(xa: float, ya: float, xc: float, yc: float, size: int) -> str:
    thick = 1 + math.log10(1 + size) / 2
    return (
        f'<line x1="{xa:g}" y1="{ya + HEIGHT / 2:g}" x2="{xc:g}" y2="{yc - HEIGHT / 2:g}" stroke="#888" '
        f'stroke-width="{thick:.1f}"/>'
    )


def _box(node: Node, y: float) -> str:
    left = node.x - WIDTH / 2 + 3
    box = (
        f'<rect x="{left:g}" y="{y - HEIGHT / 2:g}" width="{WIDTH - 6}" height="{HEIGHT}" rx="4" '
        f'fill="{node.fill}" stroke="#555"/>'
    )
    room, middle = 20, node.x
    if node.structure is not None:
        box += _thumbnail(node.structure, left + 4, y)
        room, middle = 17, node.x + THUMB / 2 + 2
    first, second = node.lines
    first = first if len(first) <= room else first[: room - 2] + "…"
    return box + "".join(
        [f'<text x="{middle:g}" y="{y + dy:g}">{html.escape(line)}</text>' for dy, line in ((-3, first), (11, second))]
    )


def _thumbnail(structure: Structure, x: float, y: float) -> str:
    """A small picture of the places where entries can be, in a few cells, as one path, in the shape of the map."""
    cells = cells_of(structure, None, CELLS)
    longest = max(structure.rows, structure.columns, 1)
    width, height = (max(3.0, THUMB * n / longest) for n in (structure.columns, structure.rows))
    high, wide = max(1, cells.shape[0]), max(1, cells.shape[1])
    top = y - height / 2
    marks = [
        f"M{x + width * c / wide:.1f} {top + height * r / high:.1f}h{width / wide:.1f}v{height / high:.1f}h-{width / wide:.1f}z"
        for r, c in zip(*cells.nonzero(), strict=True)
    ]
    frame = f'<path d="M{x:.1f} {top:.1f}h{width:.1f}v{height:.1f}h-{width:.1f}z" fill="#8a97a6" fill-opacity="0.25"/>'
    return frame + (f'<path d="{"".join(marks)}" fill="#3f7fc4"/>' if marks else "")
