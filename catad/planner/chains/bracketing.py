"""Bracketings as strategies of plans: their steps as lines, what each step rejected, the picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from catad import errors
from catad.drawing.graph import Graph
from catad.planner.chains import brackets
from catad.planner.chains.brackets import ALL, Tree
from catad.planner.chains.execute import Multiplication, as_they_stand, execute, fresh_numbers, trace
from catad.planner.chains.factors import Factors, kind_text, lazy, leaf, spaces_text, write_out
from catad.planner.chains.search import BUDGET, Search
from catad.planner.costs.cost import Cost, Model, amount, preference, value_of
from catad.planner.heuristics import OutOfWork
from catad.planner.reports.drawing import tree
from catad.planner.request import Request
from catad.planner.strategy import Records, Runnable, times

MOST = 10  # factors of which all bracketings are listed: 4862 of them


@dataclass(frozen=True, kw_only=True)
class Bracketing(Runnable):
    """The order in which the factors of a chain are multiplied: a tree over them, in the order of execution."""

    kind = "bracketing"
    nothing = "nothing to multiply"
    tree: Tree

    @property
    def steps(self) -> Sequence[Multiplication]:
        return self.execution.steps

    @property
    def subject(self) -> str:
        return f"{self.ends}, {times(len(self.factors), 'factor')}"

    @property
    def choice(self) -> Any:
        return brackets.nested(len(self.factors), self.tree)

    @property
    def text(self) -> str:
        return brackets.text(len(self.factors), self.tree)

    def compared(self, request: Request) -> tuple[str, ...]:
        return super().compared(request) if len(self.factors) > 2 or request.explicit else ()

    def records(self) -> Records:
        return Records(
            "factors",
            [
                {"factor": k, "kind": kind_text(s), "dom": spaces_text(s.dom), "cod": spaces_text(s.cod)}
                for k, s in enumerate(self.factors)
            ],
        )

    def read(self, choice: Any) -> Any:
        n = len(self.factors)
        return brackets.nested(n, brackets.read(choice, n))

    def edited(self, choice: Any, request: Request) -> None:
        """Gives None: a bracketing is planned like a mode."""

    def drawn(self, moving: bool = False) -> Graph:
        return tree(self.chain, self.tree, self.steps, moving)

    def why(self, step: int, request: Request) -> str:
        """All splits of a product; both ways of writing a map out, and leaving it as it is."""
        chosen = self.steps[step]
        reasons = _why_split if chosen.how == "multiply" else _why_written
        return reasons(self, step, chosen, request)

    def alternatives(self, model: Model) -> list[tuple[Any, Cost]]:
        """See `ct.Plan.alternatives`."""
        n = len(self.factors)
        if n > MOST:
            raise errors.PlanError(errors.too_many_bracketings(n, MOST))
        trees = list(brackets.every(n))
        found = [(brackets.nested(n, tree), execute(self.chain, trace(self.chain, tree, model)).cost) for tree in trees]
        return sorted(found, key=lambda entry: preference(entry[1]))


def _why_split(own: Bracketing, step: int, chosen: Multiplication, request: Request) -> str:
    i, j = chosen.left[0], chosen.right[1]
    head = f"step {step}: factors {i} to {j}, split after {chosen.left[1]}"
    n, model = j - i + 1, request.model
    if n * (n * n - 1) // 6 > BUDGET:
        return f"{head}\n  {n} factors are too many to compare all splits"
    part = Factors(own.chain.parts[i : j + 1], own.chain.slots)
    try:
        search = Search(part, model, False, BUDGET)
        least = [min((way for _, way in search.ways(0, k, n - 1)), key=lambda way: way.rank) for k in range(n - 1)]
    except OutOfWork:
        return f"{head}\n  too many products to compare all splits"
    lines = []
    for k, way in enumerate(least):
        mark = "chosen" if i + k == chosen.left[1] else "rejected"
        lines.append((way.rank, f"  split after {i + k}: at best {amount(way.value, model, 'operations')}, {mark}"))
    return "\n".join([head, *[line for _, line in sorted(lines)]])


def _why_written(own: Bracketing, step: int, chosen: Multiplication, request: Request) -> str:
    i, j = chosen.left
    n, model = len(own.factors), request.model
    states = [leaf(part) for part in own.chain.parts]
    states += [joined.state for joined in trace(own.chain, own.tree, model).joins]
    node = own.tree[step][0]
    state = as_they_stand(own.chain) if node == ALL else states[node]
    head = f"step {step}: factor{'' if i == j else 's'} {i if i == j else f'{i} to {j}'} written out, {chosen.how}ed"
    if not lazy(state):
        return f"{head}\n  it is written out already: nothing is gained"
    lines = []
    for how in ("push", "pull"):
        joined = write_out(state, how == "pull", fresh_numbers())
        value = value_of(joined.actions, model)
        mark = "chosen" if how == chosen.how else "rejected"
        end = joined.state[0].structure.kind
        lines.append((value, f"  {how}ed: {amount(value, model, 'operations')}, gives {end}, {mark}"))
    needed = request.explicit and node == n + len(own.tree) - 2
    last = "not explicit, as was asked for" if needed else "0 now, and more for each later step"
    return "\n".join([head, *[line for _, line in sorted(lines)], f"  left as it is: {last}, rejected"])
