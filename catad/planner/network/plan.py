"""`EliminationPlan`: a plan that eliminates the vertices of a program's linear graph one after the other, and runs that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from catad import errors
from catad.linear.apply import applying
from catad.linear.products import cost_of_wiring
from catad.linear.structure import Structure
from catad.planner.chain import BUDGET
from catad.planner.cost import Model, least_of, short_of_memory
from catad.planner.elimination.graph import Graph
from catad.planner.elimination.work import Work
from catad.planner.execute import Execution
from catad.planner.factors import Factors
from catad.planner.network.carry import Elimination, carried, executed
from catad.planner.network.eliminate import Entry, Order, follow
from catad.planner.network.kinds import Kinds
from catad.planner.network.linear_graph import LinearGraph
from catad.planner.network.search import search
from catad.planner.plan import Plan
from catad.planner.profile import Profile
from catad.planner.request import Request

MARGIN = 0.95  # of the seconds of the best bracketing: profiles are no better than that
LAID_OUT = 3  # orders, the best by kinds, that are laid out and counted
LARGE = 300  # vertices above which it is only the best, and only where it seems to be cheaper than a bracketing
WAYS = ("push", "pull")


@dataclass(frozen=True, repr=False)
class EliminationPlan(Plan):
    """An order in which the vertices of a program's linear graph are eliminated; made by `ct.plan` where it is cheaper than
    every bracketing of the program's stages, or asked for by `mode="elimination"`.

    `order` is a list of vertices, with `("push", p, s)` or `("pull", p, s)` where the map from vertex p to s is written out;
    `bound` is what every order costs at least, 0 where nothing is known.

    >>> import catad as ct, numpy as np
    >>> matrix = lambda m, n: ct.fork(ct.const(np.ones((m, n))), ct.id) >> ct.einsum("ij,j->i")
    >>> f = ct.cross(matrix(9, 2) >> ct.tanh >> matrix(8, 9), matrix(7, 6) >> ct.tanh >> matrix(2, 7))
    >>> plan = ct.plan(f, ct.f64[2], ct.f64[6], cost="operations")
    >>> plan.order
    (2, 3, 5, 4)
    >>> [plan.edited(other).cost.operations for other in (plan.order, "auto", "forward", "reverse")]
    [260, 288, 288, 314]
    """

    graph: LinearGraph = None  # type: ignore[assignment]
    traced: Order = None  # type: ignore[assignment]
    eliminations: tuple[Elimination, ...] = ()
    bound: float = 0.0

    @property
    def order(self) -> tuple[Entry, ...]:
        """The vertices in the order in which they go."""
        return self.traced.entries

    @property
    def bracketing(self) -> Any:
        """None: the plan is no bracketing."""
        return None

    @property
    def sized(self) -> Graph:
        """The graph with the sizes of its vertices alone: `ct.plan_graph(plan.sized).order` is an order for this plan, too."""
        return self.graph.sized

    @property
    def gap(self) -> float:
        """How much cheaper another order could be at most, as a part of the cost; 1 where nothing is known."""
        return 0.0 if self.exact or not self.cost.value else 1 - self.bound / self.cost.value

    def edited(self, bracketing: Any) -> Plan:
        """The plan with another order, a flat list that names every inner vertex once; or a mode, or a bracketing of the stages.

        `["push", p, s]` between vertices writes out the map from p to s, which is known by its application only, `["pull", p, s]`
        the same by its rows. Raises `PlanError` where the order skips a vertex, repeats one, or names one that stays.
        """
        if isinstance(bracketing, str) or is_bracketing(bracketing):
            return super().edited(bracketing)
        return self.made_for_same(by_hand(self.graph, self.chain, self.request, checked_order(self.graph, bracketing)))

    def as_elimination(self) -> EliminationPlan:
        """The plan itself."""
        return self

    def made_for_same(self, other: EliminationPlan) -> EliminationPlan:
        """Another plan, for what this one was made for."""
        return replace(other, structure=self.structure, program=self.program, recomputes=self.recomputes)

    def table(self) -> str:
        """The plan beside forward and reverse: operations, bytes, peak; then one line for each step."""
        from catad.planner.network.report import table

        return table(self)

    def explain(self) -> str:
        """One line on the plan and its rivals, then the steps."""
        from catad.planner.network.report import explain

        return explain(self)

    def why(self, step: int) -> str:
        """The vertices that could have gone at step `step` (counted from 0), with what they would have cost there."""
        from catad.planner.network.report import why

        return why(self, step)

    def draw(self) -> str:
        """The graph with the numbers of elimination and, dashed, the edges that it fills in; SVG text."""
        from catad.planner.network.report import draw

        return draw(self)

    def __repr__(self) -> str:
        from catad.planner.network.report import headline

        return f"<plan {headline(self)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        of = (self.structure,) if self.program is None else (self.program.term, self.program.dom)
        return Plan.from_json, (self.to_json(), *of)

    def to_json(self) -> str:
        """The plan as JSON text; its "order" may be edited and given back to `Plan.from_json`."""
        from catad.planner.network.exchange import to_json

        return to_json(self)


def is_bracketing(value: Any) -> bool:
    """Whether a value is nested pairs and not a flat list of an order."""
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        return False
    return any(isinstance(half, (list, tuple)) and not is_write(half) for half in value) or value[0] in WAYS


def is_write(value: Any) -> bool:
    """Whether a value is `("push", p, s)` or `("pull", p, s)`."""
    return isinstance(value, (list, tuple)) and len(value) == 3 and value[0] in WAYS


def checked_order(graph: LinearGraph, order: Any) -> tuple[Entry, ...]:
    """An order that names every inner vertex once; raises `PlanError` naming the place."""
    if not isinstance(order, Sequence) or isinstance(order, (str, bytes)):
        raise errors.PlanError(errors.no_order(order))
    seen: set[int] = set()
    found: list[Entry] = []
    for k, entry in enumerate(order):
        if is_write(entry):
            how, p, s = entry
            for v in (p, s):
                if isinstance(v, bool) or not isinstance(v, int) or not 0 <= v < len(graph.spaces):
                    raise errors.PlanError(errors.missing_vertex(v, len(graph.spaces), f"step {k}"))
            found.append((how, p, s))
            continue
        if isinstance(entry, bool) or not isinstance(entry, int) or entry not in graph.inner:
            raise errors.PlanError(errors.not_eliminable(entry, k))
        if entry in seen:
            raise errors.PlanError(errors.eliminated_twice(entry, k))
        seen.add(entry)
        found.append(entry)
    skipped = [v for v in graph.inner if v not in seen]
    if skipped:
        raise errors.PlanError(errors.skipped_vertices(skipped, len(found)))
    return tuple(found)


def by_hand(graph: LinearGraph, chain: Factors, request: Request, order: Sequence[Entry]) -> EliminationPlan:
    """The plan of an order that somebody gives."""
    traced, execution, steps = laid_out(graph, tuple(order), request.model, request.explicit)
    asked, alone = replace(request, mode="auto"), not graph.inner
    return EliminationPlan(chain, "by hand", execution, alone, asked, None, None, False, {}, graph, traced, steps)


@lru_cache(maxsize=256)
def laid_out(
    graph: LinearGraph, order: tuple[Entry, ...], model: Model, explicit: bool
) -> tuple[Order, Execution, tuple[Elimination, ...]]:
    """An order traced and carried out on wires."""
    traced = follow(graph, order, model, explicit)
    return traced, *carried(graph, traced, model)


def eliminated(graph: LinearGraph, chain: Factors, request: Request) -> EliminationPlan:
    """The plan of the cheapest order that is found; raises `PlanError` where none fits the memory."""
    found = cheapest(graph, chain, request)
    if found is None:  # not even looked at: the orders of the program and back
        inner = tuple(graph.inner)
        plans = [by_hand(graph, chain, request, order) for order in (inner, inner[::-1])]
        fitting = [plan for plan in plans if request.memory is None or plan.cost.peak <= request.memory]
        if not fitting:
            raise short_of_memory(request.memory, min([plan.cost.peak for plan in plans]), False)
        found = min(fitting, key=lambda plan: (plan.cost.value, plan.cost.peak))
    return replace(found, mode="elimination")


def cheaper(
    graph: LinearGraph,
    chain: Factors,
    request: Request,
    bracketed: Plan | None,
    error: errors.PlanError | None,
    most: float = math.inf,
) -> Plan:
    """The cheaper of the best bracketing, if there is one (else `error` says why), and the best order.

    Orders are of use only where they cost less than `most`.

    An order is no cheaper where the Jacobian that it leaves takes more to apply: it would only put work off. By time it must be
    cheaper by more than what profiles are off.
    """
    if not graph.inner or (bracketed is not None and bracketed.cost.value == 0):
        return _bracketed(bracketed, error, True)
    try:
        found = cheapest(graph, chain, request, math.inf if bracketed is None else bracketed.cost.value, most)
    except errors.PlanError as other:
        needed, least = least_of(other), None if error is None else least_of(error)
        if needed is None:
            raise
        if bracketed is None and (least is None or needed < least):
            raise
        found = None
    if found is None or bracketed is None:
        return _bracketed(bracketed, error, False) if found is None else replace(found, exact=False)
    known = executed(bracketed.execution.wiring, request.model, bracketed.cost.value)
    margin = MARGIN if isinstance(request.model, Profile) else 1.0
    if found.cost.value < margin * known and _applying(found.result) <= _applying(bracketed.result):
        return replace(found, exact=found.exact and bracketed.exact)
    return _bracketed(bracketed, error, known <= (found.cost.value if found.exact else found.bound))


def _bracketed(plan: Plan | None, error: errors.PlanError | None, no_order_is_cheaper: bool) -> Plan:
    """The plan that is a bracketing; if there is none, the error that says why."""
    if plan is None:
        assert error is not None
        raise error
    return replace(plan, exact=plan.exact and no_order_is_cheaper)


def _applying(structure: Structure) -> int:
    """The operations of applying a map once."""
    return cost_of_wiring(applying(structure)[0])


def cheapest(
    graph: LinearGraph, chain: Factors, request: Request, known: float = math.inf, most: float = math.inf
) -> EliminationPlan | None:
    """The plan of the cheapest order within the budget; None where that does not suffice to look at any.

    An order is laid out only if by its price it costs less than `most`, and of a large graph less than `known`; else None, too.
    Raises `PlanError` where none of those that were laid out fits the memory.
    """
    budget = BUDGET if request.budget is None else request.budget
    room = None if request.memory is None else request.memory - graph.nbytes
    found = search(graph, Kinds(graph, request.model, Work(budget)), room, request.explicit, request.budget is None)
    if found is None:
        return None
    plans, asked = [], replace(request, mode="auto")
    large = len(graph.inner) > LARGE
    if found.orders[0][0] >= (min(known, most) if large else most):
        return None
    for value, order in found.orders[: 1 if large else LAID_OUT]:
        traced, execution, steps = laid_out(graph, tuple(order), request.model, request.explicit)
        exact = found.exact and execution.additive and value == found.orders[0][0]
        plans.append(
            EliminationPlan(chain, "auto", execution, exact, asked, None, None, False, {}, graph, traced, steps, found.bound)
        )
    fitting = [plan for plan in plans if request.memory is None or plan.cost.peak <= request.memory]
    if not fitting:
        raise short_of_memory(request.memory, min([plan.cost.peak for plan in plans]), False)
    best = min(fitting, key=lambda plan: (plan.cost.value, plan.cost.peak))
    return replace(best, exact=best.exact or best.cost.value <= best.bound)
