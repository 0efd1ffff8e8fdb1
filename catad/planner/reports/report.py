"""Plans for people: one line, a table, the steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from catad.planner.costs.cost import Cost, Model, amount
from catad.planner.costs.cost_profile import CostProfile
from catad.planner.memory.loop_snapshots import lines, loops_in
from catad.planner.memory.recompute import parts_of
from catad.planner.reports.compare import notes
from catad.planner.strategy import Runnable, Strategy

if TYPE_CHECKING:
    from catad.planner.plan import Plan

SHOWN = 40  # steps that are printed; of more, the first and the last


def headline(plan: Plan) -> str:
    """`R^403 -> R^329, 3 factors: 20,262,754 operations (reverse 37,150,022, forward 45,505,954), optimal`."""
    own, model = plan.strategy, plan.request.model
    spent = ([] if model is None else [amount(own.cost.value, model)]) + [f"{own.cost.operations:,} {own.unit}"]
    names = [name for name in own.compared(plan.request) if name != own.mode]
    rows = plan.rows if names else {}
    rivals = [f"{name} {amount(rows[name].value, model)}" for name in names]
    beside = f" ({', '.join(rivals)})" if rivals else ""
    return f"{own.subject}: {', '.join(spent)}{beside}, {_proof(plan)}"


def _proof(plan: Plan) -> str:
    """The bound on how far a plan is from the best, in words."""
    if plan.exact:
        return ", ".join(["optimal", *plan.strategy.but])
    if plan.mode not in ("auto", "elimination"):
        return plan.mode
    proof = f"the best order is at most {plan.gap:.1%} cheaper" if plan.bound else "not known to be optimal"
    return f"{proof}: {plan.strategy.stopped}" if plan.strategy.stopped else proof


def explain(plan: Plan) -> str:
    """The headline, the steps, and what it would take to apply all factors to a basis, unmultiplied."""
    return "\n".join([headline(plan), *step_lines(plan.strategy), *plan.strategy.ending(), *_notes(plan)])


def _notes(plan: Plan) -> list[str]:
    own = plan.program
    loops = []
    if own is not None and own.rooms:
        most = f"value and pullback: at most {plan.cost.peak:,} bytes alive at a time"
        loops = [most, *lines(loops_in(parts_of(own.source), own.dom), own.rooms)]
    return [*loops, *(notes(plan.strategy, plan.request) if isinstance(plan.strategy, Runnable) else [])]


def table(plan: Plan) -> str:
    """The plan beside its rivals, then the steps."""
    return "\n".join([*_rows(plan.rows, plan.strategy.columns, plan.request.model), *step_lines(plan.strategy)])


def _rows(named: Mapping[str, Cost], fields: Sequence[str], model: Model) -> list[str]:
    """Named costs: operations, bytes and peak, and what was made small."""
    columns = [("", *named), ("operations", *[f"{cost.operations:,}" for cost in named.values()])]
    columns += [(field, *[f"{getattr(cost, field):,}" for cost in named.values()]) for field in fields]
    if model is not None:
        name = "time" if isinstance(model, CostProfile) else "cost"
        columns.append((name, *[amount(cost.value, model) for cost in named.values()]))
    widths = [max(map(len, column)) for column in columns]
    rows = zip(*columns, strict=True)
    padded = [[f"{row[0]:<{widths[0]}}", *[f"{x:>{w}}" for x, w in zip(row[1:], widths[1:], strict=True)]] for row in rows]
    return ["  ".join(row).rstrip() for row in padded]


def step_lines(strategy: Strategy) -> list[str]:
    """One line for each step; the middle of a long list is left out."""
    lines = strategy.lines()
    if len(lines) <= SHOWN:
        return lines
    return [*lines[: SHOWN // 2], f"  ... {len(lines) - SHOWN} more steps ...", *lines[-SHOWN // 2 :]]
