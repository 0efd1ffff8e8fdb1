"""A plan as a picture: the tree of its products, the factors below, SVG text without anything from outside."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from catad.planner.plan import Plan

WIDTH, HEIGHT, GAP = 110, 34, 46  # pixels: a node, and the distance between levels


def draw(plan: Plan) -> str:
    """See `Plan.draw`: boxes are maps with their sizes; lines are as thick as the logarithm of what they carry."""
    n = len(plan.factors)
    x = [WIDTH * (k + 0.5) + 10 for k in range(n)]
    level = [0] * n
    labels = [(structure.kind, f"{structure.rows}x{structure.columns}") for structure in plan.factors]
    sizes = [structure.stored for structure in plan.factors]
    lines: list[tuple[int, int]] = []
    for (left, right), step in zip(plan.tree, plan.steps, strict=True):
        x.append((x[left] + x[right]) / 2)
        level.append(1 + max(level[left], level[right]))
        cost = "kept" if step.lazy else f"{step.operations:,} operations"
        labels.append((f"{step.kinds[2]} {step.shape[0]}x{step.shape[1]}", cost))
        sizes.append(step.operations)
        lines += [(len(x) - 1, left), (len(x) - 1, right)]
    top = max(level)
    y = [20 + HEIGHT / 2 + (HEIGHT + GAP) * (top - rank) for rank in level]
    drawn = [_line(x[a], y[a], x[c], y[c], sizes[c]) for a, c in lines]
    drawn += [_node(x[k], y[k], *labels[k], k if k < n else None) for k in range(len(x))]
    width, height = WIDTH * n + 20, 40 + HEIGHT + (HEIGHT + GAP) * top
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height:g}" viewBox="0 0 {width} {height:g}"'
    return "\n".join([f'{head} font-family="sans-serif" font-size="10" text-anchor="middle">', *drawn, "</svg>"])


def _line(xa: float, ya: float, xc: float, yc: float, size: int) -> str:
    thick = 1 + math.log10(1 + size) / 2
    return (
        f'<line x1="{xa:g}" y1="{ya + HEIGHT / 2:g}" x2="{xc:g}" y2="{yc - HEIGHT / 2:g}" stroke="#888" '
        f'stroke-width="{thick:.1f}"/>'
    )


def _node(x: float, y: float, first: str, second: str, factor: int | None) -> str:
    fill = "#eef3fb" if factor is not None else "#fbf4e4"
    if factor is not None:
        first = f"{factor}: {first}"
    first = first if len(first) <= 20 else first[:18] + "…"
    box = (
        f'<rect x="{x - WIDTH / 2 + 3:g}" y="{y - HEIGHT / 2:g}" width="{WIDTH - 6}" height="{HEIGHT}" rx="4" '
        f'fill="{fill}" stroke="#555"/>'
    )
    texts = [f'<text x="{x:g}" y="{y + dy:g}">{html.escape(line)}</text>' for dy, line in ((-3, first), (11, second))]
    return box + "".join(texts)
