"""A plan as pictures: bars of what each mode costs, its tree or its elimination, and a page for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from catad.drawing.bars import Panel, bars
from catad.drawing.page import line, opening, page, picture, table
from catad.drawing.render import render
from catad.errors import PlanError
from catad.planner.costs.cost import Cost, amount
from catad.planner.costs.cost_profile import CostProfile
from catad.planner.strategy import Runnable, Step

if TYPE_CHECKING:
    from catad.planner.plan import Plan

SHOWN = 40  # rows of steps; of more, the first and the last


def costs(plan: Plan) -> dict[str, Cost]:
    """The plan and its rivals by what they are called in a picture: forward, reverse, auto, the plan itself, optimal or not."""
    rows = dict(plan.rows)
    own = rows.pop("planned")
    rows.pop("bound", None)
    if plan.mode not in ("auto", "elimination") and plan.strategy.rivals() is None and "auto" not in rows:
        rows["auto"] = plan.edited("auto").cost
    mode = "" if plan.mode in rows else f", {plan.mode}"
    return {**rows, f"planned{mode}{', optimal' * plan.exact}": own}


def drawn_bars(plan: Plan, headline: str, styled: bool = True) -> str:
    """Bars of the cost by mode, and of the peak of memory where it is known."""
    named, model, own = costs(plan), plan.request.model, plan.strategy
    what = own.unit if model is None else "time" if isinstance(model, CostProfile) else "cost"
    bound = 0 if plan.exact else own.bound
    values = [cost.value for cost in named.values()]
    note = f"dashed: no order costs less than {amount(bound, model)}" if bound else "" if any(values) else _nothing(plan)
    panels = [Panel(what, values, [amount(value, model) for value in values], bound, note)]
    if "peak" in own.columns:
        panels.append(_peaks(named))
    return bars(f"cost by mode: {headline}", list(named), panels, styled)


def _nothing(plan: Plan) -> str:
    """What there is to say of a plan that costs nothing."""
    own = plan.strategy
    if not isinstance(own, Runnable):
        return "no order costs anything"
    result = own.execution.result
    return f"no order costs anything: the result, {result.rows} x {result.columns}, stores {result.stored:,} numbers"


def _peaks(named: Mapping[str, Cost]) -> Panel:
    values = [cost.peak for cost in named.values()]
    return Panel("peak of memory, bytes", values, [f"{value:,}" for value in values])


def page_of(plan: Plan, headline: str, notes: list[str]) -> str:
    """The plan for notebooks: its headline, bars, the tree or the graph, the steps as a table, and what else is known."""
    steps = plan.steps
    kind = "the tree of products" if plan.kind == "bracketing" else "the order of elimination"
    parts = [line(headline), picture(drawn_bars(plan, headline, styled=False))]
    with suppress(PlanError):  # steps that are known by their sizes have no picture
        parts.append(opening(kind, picture(render(plan.strategy.drawn(), headline, styled=False)), opened=True))
    if steps:
        parts.append(opening(f"{len(steps):,} step{'s' * (len(steps) != 1)}", _steps(plan)))
    return page(*parts, *[line(note, quiet=True) for note in notes])


def _steps(plan: Plan) -> str:
    steps, most = plan.steps, max([step.operations for step in plan.steps], default=0)
    numbered = list(enumerate(steps))
    rows = [_row(k, step, most) for k, step in numbered]
    if len(rows) > SHOWN:
        left = [f"{len(rows) - SHOWN:,} more steps", "", "", ""]
        rows = [*rows[: SHOWN // 2], left, *rows[-SHOWN // 2 :]]
    return table(["step", "what is done", plan.strategy.unit, "of the largest"], rows, 2)


def _row(k: int, step: Step, most: int) -> list[str]:
    return [str(k), step.line, f"{step.operations:,}", f"{step.operations / most:.0%}" if most else ""]
