"""What a plan that eliminates says of itself: one line, a table, the steps, the rejected choices of a step, a picture."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from catad import errors
from catad.planner.cost import value_of
from catad.planner.elimination.plan import GraphPlan
from catad.planner.elimination.report import draw as draw_graph
from catad.planner.execute import fresh_numbers
from catad.planner.factors import lazy, write_out
from catad.planner.network.eliminate import Arrays, Entry, gathered, take_step
from catad.planner.plan import spaces_text
from catad.planner.report import SHOWN, amount, by_columns_and_rows, cost_rows, valued

if TYPE_CHECKING:
    from catad.planner.network.carry import Elimination
    from catad.planner.network.plan import EliminationPlan

LISTED = 8  # rejected vertices that `why` lists


def headline(plan: EliminationPlan) -> str:
    """`R^30 -> R^30, 11 vertices eliminated: 18,540 operations (reverse 22,860, forward 22,860), optimal`."""
    factors, model = plan.factors, plan.request.model
    m = len(plan.graph.inner)
    line = f"R^{factors[0].columns} -> R^{factors[-1].rows}, {m} {'vertex' if m == 1 else 'vertices'} eliminated: "
    line += ("" if model is None else f"{amount(plan.cost, model)}, ") + f"{plan.cost.operations:,} operations"
    rivals = [f"{mode} {amount(plan.edited(mode).cost, model)}" for mode in ("reverse", "forward")]
    proof = "optimal" if plan.exact else "not known to be optimal"
    if not plan.exact and plan.mode == "by hand":
        proof = plan.mode
    elif not plan.exact and plan.bound:
        proof = f"the best order is at most {plan.gap:.1%} cheaper"
    return f"{line} ({', '.join(rivals)}), {proof}"


def explain(plan: EliminationPlan) -> str:
    """The headline, the steps, and what it would take to apply all factors to a basis, unmultiplied."""
    (columns, pushed), (rows, pulled) = by_columns_and_rows(plan)
    basis = f"applied one by one: {columns:,} columns pushed {pushed:,}, {rows:,} rows pulled {pulled:,} operations"
    return "\n".join([headline(plan), *step_lines(plan), basis])


def table(plan: EliminationPlan) -> str:
    """Planned, forward and reverse with operations, bytes and peak, and what was made small; then the steps."""
    named = [("planned", plan.cost), *[(mode, plan.edited(mode).cost) for mode in ("forward", "reverse")]]
    return "\n".join([*cost_rows(named, plan.request.model), *step_lines(plan)])


def step_lines(plan: EliminationPlan) -> list[str]:
    """One line for each step; the middle of a long list is left out."""
    lines = [step_line(plan, k, step) for k, step in enumerate(plan.eliminations)] or ["nothing to eliminate"]
    if plan.traced.first:
        spent = plan.cost.operations - sum([step.operations for step in plan.eliminations])
        lines.insert(0, f"first: {_times(len(plan.traced.first), 'pair')} of parallel edges added, {spent:,} operations")
    if len(lines) <= SHOWN:
        return lines
    return [*lines[: SHOWN // 2], f"  ... {len(lines) - SHOWN} more steps ...", *lines[-SHOWN // 2 :]]


def step_line(plan: EliminationPlan, k: int, step: Elimination) -> str:
    """`step 4: vertex 3, f64[30], between 0, 2 and 6, 5: 4 products, 270 operations, 1,512 bytes`."""
    spent = f"{step.operations:,} operations, {step.bytes:,} bytes"
    if not isinstance(step.entry, int):
        return f"step {k}: {_written(step.entry)}: {spent}"
    work = [_times(step.products, "product"), _times(step.sums, "sum")]
    work += [f"{_times(step.kept, 'product')} kept as it is" if step.kept == 1 else f"{step.kept} products kept as they are"]
    done = ", ".join([text for text, n in zip(work, (step.products, step.sums, step.kept), strict=True) if n]) or "nothing"
    before, after = (_listed(side) for side in (step.before, step.after))
    space = spaces_text(plan.graph.spaces[step.entry])
    return f"step {k}: vertex {step.entry}, {space}, between {before} and {after}: {done}, {spent}"


def _times(n: int, what: str) -> str:
    return f"{n} {what}" + ("" if n == 1 else "s")


def _listed(vertices: tuple[int, ...]) -> str:
    shown = ", ".join([str(v) for v in vertices[:LISTED]])
    return shown + (f" and {len(vertices) - LISTED} more" if len(vertices) > LISTED else "")


def _written(entry: Entry) -> str:
    assert not isinstance(entry, int)
    how, p, s = entry
    return f"the map from {p} to {s} written out, {'columns pushed' if how == 'push' else 'rows pulled'}"


def why(plan: EliminationPlan, step: int) -> str:
    """The vertices that are left at a step with what eliminating each would have cost there, cheapest first."""
    if isinstance(step, bool) or not isinstance(step, int) or not 0 <= step < len(plan.order):
        raise errors.PlanError(errors.no_such_step(step, len(plan.order)))
    model, graph, arrays = plan.request.model, plan.graph, Arrays()
    before, after = gathered(len(graph.spaces), graph.edges, arrays)
    for entry in plan.order[:step]:
        take_step(before, after, entry, arrays)
    unit = " operations" if model is None else ""
    chosen = plan.order[step]
    if not isinstance(chosen, int):
        _, p, s = chosen
        edge = after[p].get(s)
        if edge is None or not lazy(edge):
            return f"step {step}: {_written(chosen)}\n  there is nothing to write out: nothing is gained"
        values = {how: value_of(write_out(edge, how == "pull", fresh_numbers()).actions, model) for how in ("push", "pull")}
        ways = [
            f"  {how}ed: {valued(v, model)}{unit}, {'chosen' if how == chosen[0] else 'rejected'}"
            for how, v in values.items()
        ]
        return "\n".join([f"step {step}: {_written(chosen)}", *ways])

    def cost(v: int) -> float:
        trial = Arrays()
        trial.fresh = count(next(arrays.fresh), -1)
        b, a = [dict(side) for side in before], [dict(side) for side in after]
        for side in a:
            for edge in side.values():
                trial.hold(edge)
        take_step(b, a, v, trial)
        return sum([value_of(joined.actions, model) for joined in trial.joins])

    left = [entry for entry in plan.order[step + 1 :] if isinstance(entry, int)]
    head = f"step {step}: vertex {chosen}, {spaces_text(graph.spaces[chosen])}, {len(before[chosen])} before it and "
    lines = [f"{head}{len(after[chosen])} after: {valued(cost(chosen), model)}{unit}"]
    rejected = sorted([(cost(v), v) for v in left])
    lines += [f"  vertex {v} would have cost {valued(value, model)}{unit} here" for value, v in rejected[:LISTED]]
    if len(rejected) > LISTED:
        lines.append(f"  and {len(rejected) - LISTED} others, up to {valued(rejected[-1][0], model)}")
    return "\n".join(lines)


def draw(plan: EliminationPlan) -> str:
    """The picture of the graph by sizes alone, with the headline of this plan."""
    order = tuple([entry for entry in plan.order if isinstance(entry, int)])
    return draw_graph(GraphPlan(plan.sized, order, 0, 0, 0, 0, 0), headline(plan))
