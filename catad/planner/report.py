"""Plans for people: one line, a table, the steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from catad.planner.execute import Step
    from catad.planner.plan import Plan

SHOWN = 40  # steps that are printed; of more, the first and the last


def headline(plan: Plan) -> str:
    """`R^403 -> R^329, 3 factors: 20,262,754 operations (reverse 37,150,022, forward 45,505,954), optimal`."""
    factors = plan.factors
    count = f"{len(factors)} factor" + ("" if len(factors) == 1 else "s")
    line = f"R^{factors[0].columns} -> R^{factors[-1].rows}, {count}: {plan.cost.operations:,} operations"
    if len(factors) > 2:
        rivals = [f"{mode} {plan.edited(mode).cost.operations:,}" for mode in ("reverse", "forward") if mode != plan.mode]
        line += f" ({', '.join(rivals)})"
    return line + (", optimal" if plan.exact else f", {plan.mode}" if plan.mode != "auto" else ", not known to be optimal")


def explain(plan: Plan) -> str:
    """The headline and the steps."""
    return "\n".join([headline(plan), *step_lines(plan)])


def table(plan: Plan) -> str:
    """Planned, forward and reverse with operations, bytes and peak; then the steps."""
    rows = [("", "operations", "bytes", "peak")]
    for name, cost in [("planned", plan.cost), *[(mode, plan.edited(mode).cost) for mode in ("forward", "reverse")]]:
        rows.append((name, f"{cost.operations:,}", f"{cost.bytes:,}", f"{cost.peak:,}"))
    widths = [max(len(row[c]) for row in rows) for c in range(4)]
    lines = [f"{row[0]:<{widths[0]}}  " + "  ".join(f"{row[c]:>{widths[c]}}" for c in (1, 2, 3)) for row in rows]
    return "\n".join([lines[0].rstrip(), *lines[1:], *step_lines(plan)])


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
    line = f"step {s}: {left} with {right}: {kinds[0]} >> {kinds[1]} = {kinds[2]} {step.shape[0]}x{step.shape[1]}"
    return line + (", kept as it is" if step.lazy else f", {step.operations:,} operations, {step.bytes:,} bytes")
