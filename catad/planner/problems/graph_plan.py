"""Plans of graphs that are known by their sizes alone: `ct.plan_graph`, and orders of elimination as strategies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from catad import errors
from catad.planner.costs.cost import Cost, counted
from catad.planner.graph import Graph, measure, remove
from catad.planner.ordered import Ordered, rejected
from catad.planner.plan import Plan
from catad.planner.problems.by_sizes import BUDGET, cheap_order
from catad.planner.request import Request
from catad.planner.strategy import times


class SizedElimination(NamedTuple):
    """One step of an order by sizes: a vertex, its size, the sizes before and after it then, and the multiplications."""

    vertex: int
    size: int
    before: int
    after: int

    @property
    def operations(self) -> int:
        return self.size * self.before * self.after

    @property
    def line(self) -> str:
        """`vertex 3, 1 x 2 around a size of 1: 2 multiplications`."""
        around = f"{self.before} x {self.after} around a size of {self.size}"
        return f"vertex {self.vertex}, {around}: {self.operations:,} multiplications"


@dataclass(frozen=True, kw_only=True)
class SizedOrder(Ordered):
    """The order in which the inner vertices of a graph are eliminated; `beside` has the multiplications of its rivals."""

    unit = "multiplications"
    columns = ()
    graph: Graph
    order: tuple[int, ...]
    beside: tuple[tuple[str, int], ...]

    @property
    def choice(self) -> tuple[int, ...]:
        return self.order

    @property
    def sized(self) -> Graph:
        return self.graph

    @property
    def spaces(self) -> Sequence[tuple[str, Any]]:
        return [("size", size) for size in self.graph.sizes]

    @property
    def cost(self) -> Cost:
        return counted(sum([step.operations for step in self.steps]))

    @cached_property
    def steps(self) -> tuple[SizedElimination, ...]:
        before, after = list(self.graph.preds), list(self.graph.succs)
        found = []
        for v in self.choice:
            found.append(_step(self.graph, before, after, v))
            remove(before, after, v)
        return tuple(found)

    @property
    def subject(self) -> str:
        graph = self.graph
        counts = ((graph.inputs, "input"), (graph.outputs, "output"), (graph.inner, "vertex"))
        named = [times(vertices.bit_count(), word) for vertices, word in counts]
        return ", ".join(named)

    def compared(self, request: Request) -> tuple[str, ...]:
        return "reverse", "forward", "Markowitz"

    def rivals(self) -> Mapping[str, Cost]:
        return {name: counted(value) for name, value in (*self.beside, ("bound", int(self.bound)))}

    def edited(self, choice: Any, request: Request) -> SizedOrder:
        made = replace(self, order=self.read(choice), mode="by hand")
        return replace(made, exact=made.cost.value == self.bound)

    def why(self, step: int, request: Request) -> str:
        """The cost that eliminating each vertex that is left would have had at a step, cheapest first."""
        before, after = list(self.graph.preds), list(self.graph.succs)
        for v in self.choice[:step]:
            remove(before, after, v)
        left = [(_step(self.graph, before, after, v).operations, v) for v in self.order[step + 1 :]]
        return rejected(step, self.steps[step].line, left, lambda n: f"{n:,} {self.unit}")


def _step(graph: Graph, before: list[int], after: list[int], v: int) -> SizedElimination:
    total = measure(graph.sizes)
    return SizedElimination(v, graph.sizes[v], total(before[v]), total(after[v]))


def plan_graph(graph: Graph, budget: float | None = None, seed: int = 0) -> Plan:
    """A cheap order in which to eliminate the inner vertices of a linear graph, and a bound below every order.

    `budget` is in seconds (0.05 by default). It is spent as counted work, so the plan depends on the graph, the budget and the
    seed only, not on the machine. Small parts, and parts whose bound is met, are known to be optimal. The cost is in
    multiplications of numbers. Raises `PlanError` for an invalid budget or seed.

    Sources: A. Griewank and A. Walther, Evaluating Derivatives, 2008, chapters 9 and 10.

    >>> import catad as ct
    >>> lion = ct.Graph([(0, 1), (1, 2), (1, 5), (2, 3), (2, 4), (2, 5)], [0], [3, 4, 5], sizes=[2, 1, 1, 2, 1, 1])
    >>> ct.plan_graph(lion)
    <plan 1 input, 3 outputs, 2 vertices: 12 multiplications (reverse 12, forward 12, Markowitz 12), optimal>
    """
    if not isinstance(graph, Graph):
        raise errors.PlanError(errors.no_graph(graph))
    order, cost, bound, forward, reverse, markowitz = cheap_order(graph, checked_budget(budget), checked_seed(seed))
    beside = (("forward", forward), ("reverse", reverse), ("Markowitz", markowitz))
    return Plan(SizedOrder(graph=graph, order=order, beside=beside, exact=cost == bound, bound=bound), Request())


def checked_budget(budget: object) -> float:
    """A budget in seconds: more than 0; the default where there is none."""
    if budget is None:
        return BUDGET
    if isinstance(budget, bool) or not isinstance(budget, (int, float)) or not 0 < budget < math.inf:
        raise errors.PlanError(errors.bad_budget(budget))
    return float(budget)


def checked_seed(seed: object) -> int:
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise errors.PlanError(errors.bad_seed(seed))
    return seed
