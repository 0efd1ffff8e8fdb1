"""What a plan rejected: the other ways of a step, the other bracketings of the whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catad import errors
from catad.planner import brackets
from catad.planner.brackets import ALL
from catad.planner.chain import BUDGET, Search
from catad.planner.cost import Cost, value_of
from catad.planner.execute import OverBudget, Step, as_they_stand, execute, fresh_numbers, trace
from catad.planner.factors import Factors, lazy, leaf, write_out
from catad.planner.report import valued

if TYPE_CHECKING:
    from catad.planner.plan import Plan

MOST = 10  # factors of which all bracketings are listed: 4862 of them


def why(plan: Plan, step: int) -> str:
    """See `Plan.why`."""
    if isinstance(step, bool) or not isinstance(step, int) or not 0 <= step < len(plan.steps):
        raise errors.PlanError(errors.no_such_step(step, len(plan.steps)))
    chosen = plan.steps[step]
    if chosen.how != "multiply":
        return _why_written(plan, step, chosen)
    i, j = chosen.left[0], chosen.right[1]
    head = f"step {step}: factors {i} to {j}, split after {chosen.left[1]}"
    n = j - i + 1
    if n * (n * n - 1) // 6 > BUDGET:
        return f"{head}\n  {n} factors are too many to compare all splits"
    part = Factors(plan.chain.parts[i : j + 1], plan.chain.slots)
    model = plan.request.model
    try:
        search = Search(part, model, False, BUDGET)
        least = [min((way for _, way in search.ways(0, k, n - 1)), key=lambda way: way.rank) for k in range(n - 1)]
    except OverBudget:
        return f"{head}\n  too many products to compare all splits"
    lines = []
    for k, way in enumerate(least):
        mark = "chosen" if i + k == chosen.left[1] else "rejected"
        unit = " operations" if model is None else ""
        lines.append((way.rank, f"  split after {i + k}: at best {valued(way.value, model)}{unit}, {mark}"))
    return "\n".join([head, *[line for _, line in sorted(lines)]])


def _why_written(plan: Plan, step: int, chosen: Step) -> str:
    """The two ways of writing a map out, and leaving it as it is."""
    i, j = chosen.left
    n, model = len(plan.factors), plan.request.model
    states = [leaf(part) for part in plan.chain.parts]
    traced = trace(plan.chain, plan.tree, model)
    states += [joined.state for joined in traced.joins]
    node = plan.tree[step][0]
    state = as_they_stand(plan.chain) if node == ALL else states[node]
    head = f"step {step}: factor{'' if i == j else 's'} {i if i == j else f'{i} to {j}'} written out, {chosen.how}ed"
    if not lazy(state):
        return f"{head}\n  it is written out already: nothing is gained"
    lines = []
    for how in ("push", "pull"):
        joined = write_out(state, how == "pull", fresh_numbers())
        value = value_of(joined.actions, model)
        mark = "chosen" if how == chosen.how else "rejected"
        end = joined.state[0].structure.kind
        unit = " operations" if model is None else ""
        lines.append((value, f"  {how}ed: {valued(value, model)}{unit}, gives {end}, {mark}"))
    needed = plan.request.explicit and plan.tree[step][0] == n + len(plan.tree) - 2
    last = (
        "  left as it is: not explicit, as was asked for"
        if needed
        else "  left as it is: 0 now, and more for each later step"
    )
    return "\n".join([head, *[line for _, line in sorted(lines)], f"{last}, rejected"])


def alternatives(plan: Plan) -> list[tuple[Any, Cost]]:
    """See `Plan.alternatives`."""
    n = len(plan.chain.parts)
    if n > MOST:
        raise errors.PlanError(errors.too_many_bracketings(n, MOST))
    found = []
    for tree in brackets.every(n):
        execution = execute(plan.chain, trace(plan.chain, tree, plan.request.model))
        found.append((brackets.nested(n, tree), execution.cost))
    return sorted(found, key=lambda entry: (entry[1].value, entry[1].peak))
