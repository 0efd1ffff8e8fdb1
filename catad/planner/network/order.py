"""Orders of elimination as strategies of plans: the vertices of a program's linear graph go one after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, NamedTuple

from catad.linear.apply import applying
from catad.linear.products import cost_of_wiring
from catad.linear.structure import Structure
from catad.planner.chains.execute import Execution, fresh_numbers
from catad.planner.chains.factors import Factors, lazy, spaces_text, write_out
from catad.planner.chains.search import BUDGET
from catad.planner.costs.cost import Model, amount, preference, short_of_memory, value_of
from catad.planner.costs.cost_profile import CostProfile
from catad.planner.graph import Graph
from catad.planner.heuristics import Work
from catad.planner.network.bound import bound
from catad.planner.network.carry import Elimination, carried, executed, written_text
from catad.planner.network.eliminate import Arrays, Entry, Keep, Order, Side, Write, follow, gathered, take_step
from catad.planner.network.kinds import Kinds
from catad.planner.network.linear_graph import LinearGraph
from catad.planner.network.search import PRODUCT, search
from catad.planner.ordered import WAYS, Ordered, is_keep, is_write, rejected
from catad.planner.request import Request
from catad.planner.strategy import Runnable, Strategy, times
from catad.support.lru import remembered

MARGIN = 0.95  # of the seconds of the best bracketing: profiles are no better than that
LAID_OUT = 3  # orders, the best by kinds, that are laid out and counted
LARGE = 300  # vertices above which it is only the best, and only where it seems to be cheaper than a bracketing
LEFT = "an order that costs less takes more to apply"
SUMS = "too many structures may be left, or the order in which maps are added matters"
WITHIN = "to within 5%"  # MARGIN, in words
EACH_ONCE, ORDERS_ONLY = "each product counted once", "among orders of elimination"
NO_LARGER = "that store no more than the dense form"


@dataclass(frozen=True, kw_only=True)
class EliminationOrder(Ordered, Runnable):
    """The order in which the vertices of a linear graph are eliminated.

    `entries` are the vertices, with `("push", p, s)` or `("pull", p, s)` where the map from vertex p to s is written out, and
    `("keep", v)` for those that stay; `added` is how many pairs of parallel edges are added first.
    """

    has_maps = True
    graph: LinearGraph
    entries: tuple[Entry, ...]
    added: int = 0

    @property
    def choice(self) -> tuple[Entry, ...]:
        return self.entries

    @property
    def steps(self) -> Sequence[Elimination]:
        return self.execution.steps

    @property
    def subject(self) -> str:
        gone = len([entry for entry in self.entries if isinstance(entry, int)])
        stay = len(self.graph.inner) - gone
        return f"{self.ends}, {times(gone, 'vertex')} eliminated" + (f", {stay} kept" if stay else "")

    @property
    def sized(self) -> Graph:
        """The graph with the sizes of its vertices alone: `ct.plan_graph` finds orders for it that this plan takes."""
        return self.graph.sized

    @property
    def spaces(self) -> Sequence[tuple[str, Any]]:
        return [("space", spaces_text(leaves)) for leaves in self.graph.spaces]

    def lines(self) -> list[str]:
        if not self.added:
            return super().lines()
        spent = self.cost.operations - sum([step.operations for step in self.steps])
        return [f"first: {times(self.added, 'pair')} of parallel edges added, {spent:,} operations", *super().lines()]

    def edited(self, choice: Any, request: Request) -> Strategy | None:
        if choice == "elimination":
            return self
        if isinstance(choice, str) or is_bracketing(choice):
            return None
        return by_hand(self.graph, self.chain, request, self.read(choice))

    def why(self, step: int, request: Request) -> str:
        """The costs that each vertex that is left would have had at a step, cheapest first; both ways of writing an edge out."""
        model, graph, arrays = request.model, self.graph, Arrays()
        before, after = gathered(len(graph.spaces), graph.edges, arrays)
        for entry in self.choice[:step]:
            take_step(before, after, entry, arrays)
        chosen = self.choice[step]
        if not isinstance(chosen, int):
            return f"step {step}: " + _why_written(chosen, after, model)

        def cost(v: int) -> float:
            trial = Arrays()
            trial.fresh = count(next(arrays.fresh), -1)
            b, a = [dict(side) for side in before], [dict(side) for side in after]
            for side in a:
                for edge in side.values():
                    trial.hold(edge)
            take_step(b, a, v, trial)
            return sum([value_of(joined.actions, model) for joined in trial.joins])

        left = [entry for entry in self.choice[step + 1 :] if isinstance(entry, int)]
        around = f"{len(before[chosen])} before it and {len(after[chosen])} after"
        spent = amount(cost(chosen), model, "operations")
        own = f"vertex {chosen}, {spaces_text(graph.spaces[chosen])}, {around}: {spent}"
        return rejected(step, own, [(cost(v), v) for v in left], lambda value: amount(value, model, "operations"))


def _why_written(chosen: Write | Keep, after: Side[Any], model: Model) -> str:
    """The two ways of writing an edge out."""
    if len(chosen) == 2:
        return f"vertex {chosen[1]} is kept"
    head, (own, p, s) = written_text(chosen), chosen
    edge = after[p].get(s)
    if edge is None or not lazy(edge):
        return f"{head}\n  there is nothing to write out: nothing is gained"
    values = {how: value_of(write_out(edge, how == "pull", fresh_numbers()).actions, model) for how in WAYS}
    ways = [
        f"  {how}ed: {amount(v, model, 'operations')}, {'chosen' if how == own else 'rejected'}" for how, v in values.items()
    ]
    return "\n".join([head, *ways])


def is_bracketing(value: Any) -> bool:
    """True where a value is nested pairs and not a flat list of an order."""
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        return False
    return any(isinstance(half, (list, tuple)) and not (is_write(half) or is_keep(half)) for half in value) or value[0] in WAYS


def by_hand(graph: LinearGraph, chain: Factors, request: Request, order: Sequence[Entry]) -> EliminationOrder:
    """The strategy of an order that somebody gives."""
    return _made(graph, chain, request, order, mode="by hand", exact=not graph.inner)


def _made(
    graph: LinearGraph, chain: Factors, request: Request, order: Sequence[Entry], mode: str, exact: bool, bound: float = 0
) -> EliminationOrder:
    traced, execution = laid_out(graph, tuple(order), request.model, request.explicit)
    return EliminationOrder(
        chain=chain,
        execution=execution,
        graph=graph,
        entries=traced.entries,
        added=len(traced.first),
        mode=mode,
        exact=exact,
        bound=bound,
    )


@remembered(weight=lambda made: len(made[1].steps) + len(made[1].wiring.boxes))
def laid_out(graph: LinearGraph, order: tuple[Entry, ...], model: Model, explicit: bool) -> tuple[Order, Execution]:
    """An order traced and carried out on wires."""
    traced = follow(graph, order, model, explicit)
    return traced, carried(graph, traced, model)


def eliminated(graph: LinearGraph, chain: Factors, request: Request) -> EliminationOrder:
    """The cheapest order that is found; raises `PlanError` where none fits the memory."""
    found = cheapest(graph, chain, request).order
    if found is None:  # not even looked at: the orders of the program and back
        inner = tuple(graph.inner)
        found = _fitting([by_hand(graph, chain, request, order) for order in (inner, inner[::-1])], request)
        found = replace(found, bound=bound(graph, request.model), stopped=request.ended)
    return replace(found, mode="elimination")


def _fitting(orders: Sequence[EliminationOrder], request: Request) -> EliminationOrder:
    """The cheapest of some orders that fits the memory; raises `PlanError` where none does."""
    fitting = [own for own in orders if request.memory is None or own.cost.peak <= request.memory]
    if not fitting:
        raise short_of_memory(request.memory, min([own.cost.peak for own in orders]), False)
    return min(fitting, key=lambda own: preference(own.cost))


def cheaper(order: EliminationOrder | None, bracketed: Runnable, request: Request) -> Runnable:
    """The cheaper of the best bracketing and the best order, if there is one.

    An order is no cheaper where the Jacobian that it leaves takes more to apply: it would only put work off. By time it must be
    cheaper by more than what profiles are off.
    """
    if bracketed.cost.value == 0:
        return bracketed
    if order is None:
        return replace(bracketed, exact=False)
    known = executed(bracketed.execution.wiring, request.model, bracketed.cost.value)
    margin = MARGIN if isinstance(request.model, CostProfile) else 1.0
    if order.cost.value < margin * known and _applying(order.execution.result) <= _applying(bracketed.execution.result):
        return _reserved(order, order, bracketed)
    if known > (order.cost.value if order.exact else order.bound):
        if order.exact and order.cost.value >= margin * known:
            return replace(bracketed, exact=True, but=(*order.but, ORDERS_ONLY, WITHIN), bound=order.cost.value)
        return replace(bracketed, exact=False, bound=order.bound, stopped=LEFT if order.exact else bracketed.stopped)
    return _reserved(bracketed, order, bracketed)


def _reserved(chosen: Runnable, order: EliminationOrder, bracketed: Runnable) -> Runnable:
    """The plan with what is known of it: which search has ended, and whether what it counted is what is carried out."""
    exact = bracketed.exact and (order.exact or order.bound > 0)
    if exact or not order.exact:
        return replace(chosen, exact=exact, but=order.but if exact else ())
    return replace(chosen, exact=True, but=(*order.but, ORDERS_ONLY))


def _applying(structure: Structure) -> int:
    """The operations of applying a map once."""
    return cost_of_wiring(applying(structure)[0])


class Cheapest(NamedTuple):
    """The cheapest order, if there is one, and the seconds of work that are left of `request.effort`, if that was given.

    Without an order, `proof` tells that there is none that costs less than what was given: among which orders.
    """

    order: EliminationOrder | None
    left: float | None
    proof: tuple[str, ...] = ()


def cheapest(graph: LinearGraph, chain: Factors, request: Request, most: float = math.inf) -> Cheapest:
    """The cheapest order within the budget; none where that does not suffice to look at any, or none costs less than `most`.

    Raises `PlanError` where none of those that were laid out fits the memory.
    """
    budget = request.budget if request.budget is not None else BUDGET if request.effort is None else request.effort / PRODUCT
    room = None if request.memory is None else request.memory - graph.nbytes
    kinds = Kinds(graph, request.model, Work(budget))
    stored = math.inf if request.result == "array" or request.mode != "auto" else graph.dense
    found = search(graph, kinds, room, request.explicit, request.budget is None, most, stored)
    left = None if request.effort is None else max(0.0, kinds.work.left * PRODUCT)
    if found is None or not found.orders or found.orders[0][0] >= most:
        proof = () if found is None or found.orders else (EACH_ONCE, ORDERS_ONLY, *([NO_LARGER] if found.larger else []))
        return Cheapest(None, left, proof)
    made = []
    for value, order in found.orders[: 1 if len(graph.inner) > LARGE or found.apart else LAID_OUT]:
        exact = found.exact and value == found.orders[0][0]
        own = _made(graph, chain, request, order, "auto", exact, found.bound)
        made.append(replace(own, exact=exact, but=() if found.apart and own.execution.additive else (EACH_ONCE,)))
    best = _fitting(made, request)
    reached = best.cost.value <= best.bound
    exact, but = best.exact or reached, () if reached and not best.exact else best.but
    return Cheapest(replace(best, exact=exact, but=but, stopped="" if exact else SUMS if found.ended else request.ended), left)
