"""What a plan of a graph says of itself: one line, a table, the rejected choices of a step, a picture."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from catad import errors
from catad.planner.elimination.graph import measure, members
from catad.planner.elimination.orders import remove

if TYPE_CHECKING:
    from catad.planner.elimination.plan import GraphPlan

SHOWN = 8  # rejected vertices that `why` lists
DRAWN = 60  # vertices that a picture holds at most
LABELLED = 30  # pixels around a vertex


def headline(plan: GraphPlan) -> str:
    """`1 input, 3 outputs, 2 vertices: 12 multiplications (reverse 12, forward 12, Markowitz 12), optimal`."""
    graph = plan.graph
    counts = [(graph.inputs.bit_count(), "input"), (graph.outputs.bit_count(), "output")]
    inner = graph.inner.bit_count()
    ends = ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts)
    rivals = f"reverse {plan.reverse:,}, forward {plan.forward:,}, Markowitz {plan.markowitz:,}"
    proof = "optimal" if plan.optimal else f"the best is at most {plan.gap:.1%} cheaper"
    vertices = "1 vertex" if inner == 1 else f"{inner} vertices"
    return f"{ends}, {vertices}: {plan.cost:,} multiplications ({rivals}), {proof}"


def table(plan: GraphPlan) -> str:
    """The plan beside its rivals."""
    rows = [("planned", plan.cost), ("forward", plan.forward), ("reverse", plan.reverse), ("Markowitz", plan.markowitz)]
    rows.append(("bound", plan.lower_bound))
    return "\n".join(f"{name:<10}{cost:>16,}" for name, cost in rows)


def why(plan: GraphPlan, step: int) -> str:
    """What the vertices that are left would have cost at a step, cheapest first."""
    if not isinstance(step, int) or not 0 <= step < len(plan.order):
        raise errors.PlanError(errors.no_such_step(step, len(plan.order)))
    graph = plan.graph
    before, after, total = list(graph.preds), list(graph.succs), measure(graph.sizes)
    for v in plan.order[:step]:
        remove(before, after, v)

    def cost(v: int) -> int:
        return graph.sizes[v] * total(before[v]) * total(after[v])

    chosen = plan.order[step]
    p, s = total(before[chosen]), total(after[chosen])
    lines = [
        f"step {step}: vertex {chosen}, {p} x {s} around a size of {graph.sizes[chosen]}: {cost(chosen):,} multiplications"
    ]
    rejected = sorted((cost(v), v) for v in plan.order[step + 1 :])
    lines += [f"  vertex {v} would have cost {value:,} here" for value, v in rejected[:SHOWN]]
    if len(rejected) > SHOWN:
        lines.append(f"  and {len(rejected) - SHOWN} others, up to {rejected[-1][0]:,}")
    return "\n".join(lines)


def draw(plan: GraphPlan, caption: str | None = None) -> str:
    """The graph from left to right, SVG text: each vertex with its number of elimination, edges of fill dashed."""
    graph, caption = plan.graph, escape(headline(plan) if caption is None else caption)
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
    numbers = {v: k + 1 for k, v in enumerate(plan.order)}
    parts = [_line(place[a], place[b], "#555", "") for a, b in graph.edges()]
    parts += [_line(place[a], place[b], "#c60", ' stroke-dasharray="4 3"') for a, b in _fill(plan)]
    for v, (x, y) in place.items():
        colour = "#fff" if v in numbers else "#bdf"
        parts.append(f'<circle cx="{x}" cy="{y:g}" r="13" fill="{colour}" stroke="#333"><title>vertex {v}</title></circle>')
        parts.append(f'<text x="{x}" y="{y + 4:g}" text-anchor="middle">{numbers.get(v, "")}</text>')
    parts.append(f'<text x="10" y="{70 + 50 * tallest}">{caption}</text>')
    return _svg(max(80 + 80 * max(columns, default=0), 620), 80 + 50 * tallest, parts)


def _fill(plan: GraphPlan) -> list[tuple[int, int]]:
    """The edges that elimination adds, in the order in which it does."""
    graph = plan.graph
    before, after = list(graph.preds), list(graph.succs)
    found = []
    for v in plan.order:
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
