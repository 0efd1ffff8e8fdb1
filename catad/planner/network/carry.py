"""An order carried out: one wiring from the slots of the program to those of its Jacobian, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from catad.planner.cost import Cost, Model, moved
from catad.planner.execute import Execution, carry_out, operations_of
from catad.planner.factors import Action, Joined, work_of
from catad.planner.network.eliminate import Entry, Order, result_of
from catad.planner.network.linear_graph import LinearGraph
from catad.planner.profile import Profile
from catad.spaces import Product
from catad.wiring import Builder, Wire, Wiring


class Elimination(NamedTuple):
    """One step of a plan that eliminates: a vertex with those before and after it then, or an edge written out.

    `products` and `sums` are how many are carried out, `kept` how many products stay chains since no rule fits; `operations` and
    `bytes` what the step adds to the program.
    """

    entry: Entry
    before: tuple[int, ...]
    after: tuple[int, ...]
    products: int
    sums: int
    kept: int
    operations: int
    bytes: int


def carried(graph: LinearGraph, order: Order, model: Model) -> tuple[Execution, tuple[Elimination, ...]]:
    """Lay a traced order out as one wiring, and count on it what it costs."""
    b = Builder()
    slots = [b.wire(space) for space in graph.slots]
    at: dict[int, Wire] = dict(enumerate(slots))
    for joined in order.first:
        _carry(b, joined.actions, at)
    ends = [len(b.boxes)]
    for step in order.steps:
        for joined in step.joins:
            _carry(b, joined.actions, at)
        ends.append(len(b.boxes))
    result, ids = result_of(graph, order.after)
    wiring = b.finish(Product(graph.slots), tuple(slots), tuple([at[k] for k in ids]))
    spent = operations_of(b, wiring, ends)
    every = [*order.first, *[joined for step in order.steps for joined in step.joins]]
    planned = sum([action.found.operations for joined in every for action in joined.actions])
    steps = tuple(
        [_step(step.entry, step.before, step.after, step.joins, n) for step, n in zip(order.steps, spent[1:], strict=True)]
    )
    nbytes = sum([moved(joined.actions) for joined in every])
    cost = Cost(sum(spent), nbytes, order.peak, executed(wiring, model, order.value))
    return Execution((), (), cost, result, wiring, planned == cost.operations), steps


def executed(wiring: Wiring, model: Model, otherwise: float) -> float:
    """What a wiring costs as a whole, equal boxes once; by a given function what its products were said to cost."""
    boxes = [(box.primitive, wiring.spaces(box.ins), wiring.spaces(box.outs)) for box in wiring.boxes if box.ins]
    if model is None:
        return sum([line[3] for line in work_of(boxes)])
    return model.seconds(work_of(boxes)) if isinstance(model, Profile) else otherwise


def _carry(b: Builder, actions: Sequence[Action], at: dict[int, Wire]) -> None:
    for action in actions:
        carry_out(b, action, at)


def _step(
    entry: Entry, before: tuple[int, ...], after: tuple[int, ...], joins: Sequence[Joined], operations: int
) -> Elimination:
    actions = [action for joined in joins for action in joined.actions]
    sums = sum([action.adds for action in actions])
    kept = sum([not joined.actions for joined in joins])
    products = len(joins) - kept - sums
    return Elimination(entry, before, after, products, sums, kept, operations, moved(actions))
