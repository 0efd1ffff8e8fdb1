"""`GraphPlan`: in which order the vertices of a linear graph are eliminated, and how far that is from the best at most."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from catad import errors
from catad.planner.elimination.bounds import bounds
from catad.planner.elimination.graph import Graph, members
from catad.planner.elimination.orders import costs, greedy, markowitz_degree
from catad.planner.elimination.parts import parts_of
from catad.planner.elimination.solve import Solution, begin, improve_all
from catad.planner.elimination.streams import in_streams
from catad.planner.elimination.work import Work

BUDGET = 0.05  # seconds
SPEED = 80_000  # work in a second: a machine should do twice as much, for the plan depends on the work alone
BEGINNING = 1.2  # work that a vertex takes before any search, and as much again for every thousand others
LONG = 2.0  # seconds from which the search runs as two processes


@dataclass(frozen=True)
class GraphPlan:
    """An order of elimination with what it costs, beside forward, reverse and Markowitz; made by `ct.plan(graph)`.

    Costs are multiplications of numbers. `lower_bound` holds for every order; `optimal` says whether the plan meets it.
    """

    graph: Graph
    order: tuple[int, ...]
    cost: int
    lower_bound: int
    forward: int
    reverse: int
    markowitz: int

    @property
    def optimal(self) -> bool:
        """Whether no order is cheaper."""
        return self.cost == self.lower_bound

    @property
    def gap(self) -> float:
        """How much cheaper another order could be at most, as a part of the cost."""
        return 1 - self.lower_bound / self.cost if self.cost else 0.0

    def edited(self, order: Iterable[int]) -> GraphPlan:
        """The plan with another order; raises `PlanError` where it skips a vertex, repeats one, or names one that stays."""
        checked = _checked(self.graph, order)
        value = sum(costs(self.graph.preds, self.graph.succs, self.graph.sizes, checked).values())
        return GraphPlan(self.graph, checked, value, self.lower_bound, self.forward, self.reverse, self.markowitz)

    def why(self, step: int) -> str:
        """What every vertex would have cost at a step (counted from 0), and what it costs where the plan has it."""
        from catad.planner.elimination.report import why

        return why(self, step)

    def table(self) -> str:
        """The plan beside forward, reverse and Markowitz, with the lower bound."""
        from catad.planner.elimination.report import table

        return table(self)

    def explain(self) -> str:
        """One line on the plan and its rivals."""
        from catad.planner.elimination.report import headline

        return headline(self)

    def draw(self) -> str:
        """The graph with the numbers of elimination and, dashed, the edges that it fills in; SVG text."""
        from catad.planner.elimination.report import draw

        return draw(self)

    def _repr_svg_(self) -> str:
        return self.draw()

    def __repr__(self) -> str:
        return f"<plan {self.explain()}>"

    def to_json(self) -> str:
        """The plan as JSON text; its "order" may be edited and given back to `from_json`."""
        return json.dumps({"order": list(self.order), "cost": self.cost, "lower_bound": self.lower_bound})

    @staticmethod
    def from_json(text: str, plan: GraphPlan) -> GraphPlan:
        """The plan of a text for the graph of another plan; raises `PlanError` where it is none, naming the place."""
        try:
            given = json.loads(text)
        except json.JSONDecodeError as error:
            raise errors.PlanError(errors.malformed_plan(error.msg, error.lineno, error.colno)) from None
        if not isinstance(given, dict) or "order" not in given:
            raise errors.PlanError(errors.missing_field("order"))
        return plan.edited(given["order"])


def plan_graph(graph: Graph, budget: float | None = None, seed: int = 0) -> GraphPlan:
    """A cheap order in which to eliminate the inner vertices of a linear graph, and a bound below every order.

    `budget` is in seconds (0.05 by default; above 2 s the search runs as two processes). It is spent as counted work, so the plan
    depends on the graph, the budget and the seed only, not on the machine nor on how many cores it has. Small parts, and parts
    whose bound is met, are known to be optimal. Raises `PlanError` for an invalid budget or seed.

    Sources: A. Griewank and A. Walther, Evaluating Derivatives, 2008, chapters 9 and 10.

    >>> import catad as ct
    >>> lion = ct.Graph([(0, 1), (1, 2), (1, 5), (2, 3), (2, 4), (2, 5)], [0], [3, 4, 5], sizes=[2, 1, 1, 2, 1, 1])
    >>> ct.plan_graph(lion)
    <plan 1 input, 3 outputs, 2 vertices: 12 multiplications (reverse 12, forward 12, Markowitz 12), optimal>
    """
    if not isinstance(graph, Graph):
        raise errors.PlanError(errors.no_graph(graph))
    seconds = checked_budget(budget)
    seed = checked_seed(seed)
    inner, preds, succs, sizes = graph.inner, graph.preds, graph.succs, graph.sizes
    forward = [v for v in graph.topological() if inner >> v & 1]
    markowitz = greedy(preds, succs, members(inner), markowitz_degree(sizes))
    tried = [forward, forward[::-1], markowitz]
    rivals = [sum(costs(preds, succs, sizes, order).values()) for order in tried]
    free, solutions = _begun(graph, tried, seed, seconds)
    units, beginning = SPEED * seconds, BEGINNING * len(preds) * (1 + len(preds) / 1000)
    if not all(known.optimal for known in solutions):
        improve_all(solutions, min(max(units - beginning, 0), SPEED * LONG), seed)
    further = units - SPEED * LONG - 2 * beginning
    open_parts = [known for known in solutions if not known.optimal]
    if open_parts and further > 0:
        in_streams(open_parts, further, seed)
    order = [*free, *[known.part.names[v] for known in solutions for v in known.order]]
    cost, bound = sum([known.value for known in solutions]), sum([known.bound for known in solutions])
    return GraphPlan(graph, tuple(order), cost, bound, *rivals)


def _begun(graph: Graph, tried: Sequence[Sequence[int]], seed: int, seconds: float) -> tuple[list[int], list[Solution]]:
    free, parts = parts_of(graph)
    work = Work(0.7 * SPEED * seconds)
    rng = random.Random(f"start {seed}")
    place = {v: (number, k) for number, part in enumerate(parts) for k, v in enumerate(part.names[: part.m])}
    known: list[list[list[int]]] = [[[] for _ in tried] for _ in parts]
    for n, order in enumerate(tried):
        for v in order:
            if v in place:
                number, k = place[v]
                known[number][n].append(k)
    return free, [begin(part, bounds(part, work), orders, rng) for part, orders in zip(parts, known, strict=True)]


def _checked(graph: Graph, order: object) -> tuple[int, ...]:
    """An order that names every inner vertex once."""
    if not isinstance(order, Sequence) or isinstance(order, (str, bytes)):
        raise errors.PlanError(errors.no_order(order))
    seen: set[int] = set()
    for k, v in enumerate(order):
        if not isinstance(v, int) or isinstance(v, bool) or not 0 <= v < len(graph.preds) or not graph.inner >> v & 1:
            raise errors.PlanError(errors.not_eliminable(v, k))
        if v in seen:
            raise errors.PlanError(errors.eliminated_twice(v, k))
        seen.add(v)
    skipped = [v for v in members(graph.inner) if v not in seen]
    if skipped:
        raise errors.PlanError(errors.skipped_vertices(skipped, len(seen)))
    return tuple(order)


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
