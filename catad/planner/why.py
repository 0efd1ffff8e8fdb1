"""What a plan rejected: the other splits of a step, the other bracketings of the whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catad import errors
from catad.planner import brackets
from catad.planner.chain import BUDGET, OverBudget, Search
from catad.planner.cost import Cost
from catad.planner.execute import execute, trace
from catad.planner.factors import Factors

if TYPE_CHECKING:
    from catad.planner.plan import Plan

MOST = 10  # factors of which all bracketings are listed: 4862 of them


def why(plan: Plan, step: int) -> str:
    """See `Plan.why`."""
    if isinstance(step, bool) or not isinstance(step, int) or not 0 <= step < len(plan.steps):
        raise errors.PlanError(errors.no_such_step(step, len(plan.steps)))
    chosen = plan.steps[step]
    i, j = chosen.left[0], chosen.right[1]
    head = f"step {step}: factors {i} to {j}, split after {chosen.left[1]}"
    n = j - i + 1
    if n * (n * n - 1) // 6 > BUDGET:
        return f"{head}\n  {n} factors are too many to compare all splits"
    part = Factors(plan.chain.parts[i : j + 1], plan.chain.slots)
    try:
        search = Search(part, plan.function, False, BUDGET)
    except OverBudget:
        return f"{head}\n  too many products to compare all splits"
    unit = "operations" if plan.function is None else "by the given cost"
    lines = []
    for k in range(n - 1):
        least = min((way for _, way in search.ways(0, k, n - 1)), key=lambda way: way.rank)
        mark = "chosen" if i + k == chosen.left[1] else "rejected"
        lines.append((least.rank, f"  split after {i + k}: at best {least.value:,} {unit}, {mark}"))
    return "\n".join([head, *[line for _, line in sorted(lines)]])


def alternatives(plan: Plan) -> list[tuple[Any, Cost]]:
    """See `Plan.alternatives`."""
    n = len(plan.chain.parts)
    if n > MOST:
        raise errors.PlanError(errors.too_many_bracketings(n, MOST))
    found = []
    for tree in brackets.every(n):
        execution = execute(plan.chain, trace(plan.chain, tree, plan.function))
        found.append((brackets.nested(n, tree), execution.cost))
    return sorted(found, key=lambda entry: (entry[1].value, entry[1].peak))
