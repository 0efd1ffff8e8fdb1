"""An order carried out: one wiring from the slots of the program to those of its Jacobian, and what it costs."""

from __future__ import annotations

from typing import NamedTuple

from catad.category.wiring import Wiring
from catad.planner.chains.execute import WRITTEN, Execution, on_wires
from catad.planner.chains.factors import spaces_text, work_of
from catad.planner.costs.cost import Cost, Model, moved
from catad.planner.costs.cost_profile import CostProfile
from catad.planner.network.eliminate import Eliminated, Entry, Order, Write, result_of, vertex_of
from catad.planner.network.linear_graph import LinearGraph
from catad.planner.strategy import times

LISTED = 8  # neighbours of a vertex that a line lists


class Elimination(NamedTuple):
    """One step of an order: a vertex that goes or stays, its space, and those before and after it then, or an edge written out.

    `products` and `sums` are how many are carried out, `kept` how many products stay chains since no rule fits; `operations` and
    `bytes` what the step adds to the program.
    """

    entry: Entry
    space: str
    before: tuple[int, ...]
    after: tuple[int, ...]
    products: int
    sums: int
    kept: int
    operations: int
    bytes: int

    @property
    def line(self) -> str:
        """`vertex 3, f64[30], between 0, 2 and 6, 5: 4 products, 270 operations, 1,512 bytes`."""
        spent = f"{self.operations:,} operations, {self.bytes:,} bytes"
        if not isinstance(self.entry, int):
            if len(self.entry) == 2:
                return kept_text(self.entry[1], self.space, self.before, self.after)
            return f"{written_text(self.entry)}: {spent}"
        kept = "1 product kept as it is" if self.kept == 1 else f"{self.kept} products kept as they are"
        work = ((self.products, times(self.products, "product")), (self.sums, times(self.sums, "sum")), (self.kept, kept))
        done = ", ".join([text for n, text in work if n]) or "nothing"
        between = f"between {_listed(self.before)} and {_listed(self.after)}"
        return f"vertex {self.entry}, {self.space}, {between}: {done}, {spent}"


def kept_text(v: int, space: str, before: tuple[int, ...], after: tuple[int, ...]) -> str:
    """The step of an order that keeps a vertex."""
    return f"vertex {v}, {space}, between {_listed(before)} and {_listed(after)}: kept, since the result is smaller with it"


def _listed(vertices: tuple[int, ...]) -> str:
    shown = ", ".join([str(v) for v in vertices[:LISTED]])
    return shown + (f" and {len(vertices) - LISTED} more" if len(vertices) > LISTED else "")


def written_text(entry: Write) -> str:
    """The step of an order that writes an edge out."""
    how, p, s = entry
    return f"the map from {p} to {s} written out, {WRITTEN[how]}"


def carried(graph: LinearGraph, order: Order, model: Model) -> Execution:
    """Lay a traced order out as one wiring, and count on it what it costs."""
    result, ids = result_of(graph, order.after)
    every = (order.first, *[step.joins for step in order.steps])
    actions = [[action for joined in joins for action in joined.actions] for joins in every]
    wiring, spent, additive = on_wires(graph.slots, actions, ids)
    steps = tuple([_step(graph, step, n) for step, n in zip(order.steps, spent[1:], strict=True)])
    nbytes = sum([moved(those) for those in actions])
    cost = Cost(sum(spent), nbytes, order.peak, executed(wiring, model, order.value))
    return Execution(steps, cost, result, wiring, additive)


def executed(wiring: Wiring, model: Model, otherwise: float) -> float:
    """The cost of a wiring in which equal boxes count once; by a given function, the cost that its products were said to have."""
    boxes = [(box.primitive, wiring.spaces(box.ins), wiring.spaces(box.outs)) for box in wiring.boxes if box.ins]
    if model is None:
        return sum([line[3] for line in work_of(boxes)])
    return model.seconds(work_of(boxes)) if isinstance(model, CostProfile) else otherwise


def _step(graph: LinearGraph, step: Eliminated, operations: int) -> Elimination:
    entry, before, after, joins = step
    actions = [action for joined in joins for action in joined.actions]
    sums = sum([action.adds for action in actions])
    kept = sum([not joined.actions for joined in joins])
    v = vertex_of(entry)
    space = "" if v is None else spaces_text(graph.spaces[v])
    return Elimination(entry, space, before, after, len(joins) - kept - sums, sums, kept, operations, moved(actions))
