"""Plans for people: one line, a table, the steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from catad.linear.apply import applying
from catad.linear.products import cost_of_wiring
from catad.planner.factors import leaf, structure_of
from catad.planner.profile import Profile

if TYPE_CHECKING:
    from catad.planner.cost import Cost, Model
    from catad.planner.execute import Step
    from catad.planner.plan import Plan

SHOWN = 40  # steps that are printed; of more, the first and the last


def headline(plan: Plan) -> str:
    """`R^403 -> R^329, 3 factors: 20,262,754 operations (reverse 37,150,022, forward 45,505,954), optimal`."""
    factors, model = plan.factors, plan.request.model
    count = f"{len(factors)} factor" + ("" if len(factors) == 1 else "s")
    line = f"R^{factors[0].columns} -> R^{factors[-1].rows}, {count}: "
    line += ("" if model is None else f"{amount(plan.cost, model)}, ") + f"{plan.cost.operations:,} operations"
    if len(factors) > 2 or plan.request.explicit:
        rivals = [(mode, plan.edited(mode).cost) for mode in ("reverse", "forward") if mode != plan.mode]
        line += f" ({', '.join([f'{mode} {amount(cost, model)}' for mode, cost in rivals])})"
    return line + (", optimal" if plan.exact else f", {plan.mode}" if plan.mode != "auto" else ", not known to be optimal")


def amount(cost: Cost, model: Model) -> str:
    """What a plan costs by the model that it was made with."""
    return valued(cost.operations if model is None else cost.value, model)


def valued(value: float, model: Model) -> str:
    """A value of a cost model: operations as they are, seconds in the unit that suits them, given ones to six digits."""
    if model is None:
        return f"{value:,}"
    if not isinstance(model, Profile):
        return f"{value:.6g} by the given cost"
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def by_columns_and_rows(plan: Plan) -> tuple[tuple[int, int], tuple[int, int]]:
    """How many columns all factors would be applied to, one by one, and the operations; the same for rows, transposed."""
    parts = [part for factor in plan.chain.parts for part in leaf(factor)]
    structure, _ = structure_of(tuple(parts))
    each = [cost_of_wiring(applying(s)[0]) for s in (structure, structure.T)]
    return (structure.columns, structure.columns * each[0]), (structure.rows, structure.rows * each[1])


def explain(plan: Plan) -> str:
    """The headline, the steps, and what it would take to apply all factors to a basis, unmultiplied."""
    (columns, pushed), (rows, pulled) = by_columns_and_rows(plan)
    basis = f"applied one by one: {columns:,} columns pushed {pushed:,}, {rows:,} rows pulled {pulled:,} operations"
    return "\n".join([headline(plan), *step_lines(plan), basis])


def table(plan: Plan) -> str:
    """Planned, forward and reverse with operations, bytes and peak, and what was made small; then the steps."""
    named = [("planned", plan.cost), *[(mode, plan.edited(mode).cost) for mode in ("forward", "reverse")]]
    return "\n".join([*cost_rows(named, plan.request.model), *step_lines(plan)])


def cost_rows(named: Sequence[tuple[str, Cost]], model: Model) -> list[str]:
    """Named costs as a table: operations, bytes and peak, and what was made small."""
    rows = [("", "operations", "bytes", "peak")]
    rows += [(name, f"{cost.operations:,}", f"{cost.bytes:,}", f"{cost.peak:,}") for name, cost in named]
    if model is not None:
        last = ["time" if isinstance(model, Profile) else "cost", *[amount(cost, model) for _, cost in named]]
        rows = [(*row, entry) for row, entry in zip(rows, last, strict=True)]  # type: ignore[misc]
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    lines = [
        f"{row[0]:<{widths[0]}}  "
        + "  ".join([f"{entry:>{width}}" for entry, width in zip(row[1:], widths[1:], strict=True)])
        for row in rows
    ]
    return [lines[0].rstrip(), *lines[1:]]


def step_lines(plan: Plan) -> list[str]:
    """One line for each step; the middle of a long list is left out."""
    steps = list(enumerate(plan.steps))
    if not steps:
        return ["nothing to multiply"]
    if len(steps) <= SHOWN:
        return [step_line(s, step) for s, step in steps]
    head, tail = steps[: SHOWN // 2], steps[-SHOWN // 2 :]
    skipped = [f"  ... {len(steps) - SHOWN} more steps ..."]
    return [*[step_line(*entry) for entry in head], *skipped, *[step_line(*entry) for entry in tail]]


def step_line(s: int, step: Step) -> str:
    """`step 0: factors 0-1 with 2: dense >> dense = dense 2x100, 16,000 operations, 66,000 bytes`."""
    kinds = [kind if len(kind) <= 40 else kind[:37] + "..." for kind in step.kinds]
    left, right = (str(a) if a == z else f"{a}-{z}" for a, z in (step.left, step.right))
    spent = f", {step.operations:,} operations, {step.bytes:,} bytes"
    if step.how != "multiply":
        way = "columns pushed" if step.how == "push" else "rows pulled"
        return f"step {s}: {left} written out, {way}: {kinds[0]} = {kinds[2]} {step.shape[0]}x{step.shape[1]}{spent}"
    line = f"step {s}: {left} with {right}: {kinds[0]} >> {kinds[1]} = {kinds[2]} {step.shape[0]}x{step.shape[1]}"
    return line + (", kept as it is" if step.lazy else spent)
