"""Loops with memory: trips at once where that is proved, a few one after the other, a known number as a sweep, else a `while`.

The state of a loop consists of the numbers that it carries, for all threads at once, and the versions of the arrays that it
writes into. A thread that makes no further trip keeps its numbers and writes nothing. Numbers that are the same for all threads
are carried as one number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import scalar
from catad.category.boxes import of_fields
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.category.wiring import Builder, share
from catad.scalar import Node, Type, apply, const, param
from catad.scalar.simplify import FALSE
from catad.simt.arrays import FIRST, Array, Repeat, State, made_in, nodes_of, touched
from catad.simt.lower import Found, Lowering
from catad.simt.parallel_trips import FEW, FLOAT, MOST, at_once, most_trips
from catad.simt.thread_axes import Lanes
from catad.vector.folds.reduce import any as any_of
from catad.vector.folds.reduce import max as max_of
from catad.vector.loops.loop import WhileLoop
from catad.vector.loops.sweep import Swept
from catad.vector.pointwise.generate import Iota

if TYPE_CHECKING:
    from catad.category.wiring import Wire



def repeated(low: Lowering, step: Repeat) -> None:
    """Add the boxes of a loop."""
    most = None if step.trips is None else most_trips(low, low.normal(step.trips))
    if most is not None and at_once(low, step, most):
        return
    if most is not None and most <= FEW:
        written_out(low, step, most)
    elif most is not None:
        swept(low, step, most)
    else:
        going(low, step)


def written_out(low: Lowering, step: Repeat, trips: int) -> None:
    """The trips one after the other; what is carried stays an expression."""
    now = [low.normal(state.init) for state in step.states]
    for k in range(trips):
        low.map.update({param(state.inside): node for state, node in zip(step.states, now, strict=True)})
        low.map[param(step.counter)] = const(k)
        low.run(step.body)
        now = [low.normal(state.step) for state in step.states]
    low.map.update({param(state.after): node for state, node in zip(step.states, now, strict=True)})


@dataclass(frozen=True)
class Plan:
    """What the body of a loop needs, and the spaces of the numbers that it carries."""

    lanes: Lanes
    step: Repeat
    states: tuple[State, ...]
    spaces: tuple[Tensor, ...]
    fixed: tuple[tuple[int, Node], ...]
    given: tuple[int, ...]
    versions: tuple[Array, ...]
    read: tuple[Array, ...]
    weak: frozenset[int]  # parameters inside that hold Python numbers

    def lowered(
        self, b: Builder, state: Sequence[Wire], given: Sequence[Wire], counter: Wire, found: list[Found] | None = None
    ) -> Lowering:
        """The boxes of one trip."""
        low = Lowering(b, self.lanes, repeated, found)
        low.map.update({param(k): node for k, node in self.fixed})
        numbers = len(self.states)
        for one, wire in zip(self.states, state, strict=False):
            low.bind(one.inside, wire)
        for k, wire in zip(self.given, given, strict=False):
            low.bind(k, wire)
        low.versions.update(zip(self.versions, state[numbers:], strict=True))
        low.versions.update(zip(self.read, given[len(self.given) :], strict=True))
        low.bind(self.step.counter, counter)
        low.weak.update([low.map[param(k)].value for k in (*self.weak, self.step.counter)])
        low.counters[low.map[param(self.step.counter)].value] = MOST
        low.run(self.step.body)
        return low

    def next(self, low: Lowering) -> tuple[Wire, ...]:
        """The state after a trip."""
        made = []
        for one, space in zip(self.states, self.spaces, strict=True):
            node = low.normal(one.step)
            if low.dtype(node) != space.dtype:
                node = scalar.cast(space.dtype, node)
            made.append(low.spread(low.computed(node)[0], space.shape))
        return (*made, *[low.versions[array] for array in self.versions])


@share
@of_fields
class Trip(D):
    """One trip of a loop: (state, given, number of the trip) to (state, ())."""

    plan: Plan

    def lay_out(self, b: Builder, x: Any) -> Any:
        state, given, counter = x
        return self.plan.next(self.plan.lowered(b, state, given, counter)), ()


@share
@of_fields
class While(D):
    """One trip of a loop of which nobody knows how many it makes: (number of the trip, limit, state, given) to the same."""

    plan: Plan

    def lay_out(self, b: Builder, x: Any) -> Any:
        counter, limit, state, given = x
        made = self.plan.next(self.plan.lowered(b, state, given, counter))
        return counter + 1, limit, made, given


@share
@of_fields
class GoesOn(D):
    """Whether a thread may make a further trip: by a state of the loop, or by the number of the trip."""

    alive: int | None

    def lay_out(self, b: Builder, x: Any) -> Any:
        counter, limit, state, _ = x
        return counter < limit if self.alive is None else b.apply(any_of(), state[self.alive])


def planned(low: Lowering, step: Repeat) -> tuple[Plan, list[Wire], list[Wire]]:
    """The plan of a loop, the wires of its state and what is given to each trip."""
    inner = made_in((step,))
    free = sorted({node for one in nodes_of(step) for node in scalar.parameters([one])[0]} - inner)
    fixed, given, wires = list[tuple[int, Node]](), list[int](), list[Any]()
    for k in [k for k in free if k >= FIRST]:
        node = low.normal(param(k))
        if all(j < len(low.sizes) for j in scalar.parameters([node])[0]):
            fixed.append((k, node))
        else:
            given.append(k)
            wires += low.computed(node)
    for state in step.states:
        if state.step is FALSE:
            fixed.append((state.inside, FALSE))
            low.map[param(state.after)] = FALSE
    states = [state for state in step.states if state.step is not FALSE]
    versions = [array for array in touched((step,), True) if array in low.versions]
    read = [array for array in touched((step,), False) if array in low.versions and array not in versions]
    wires += [low.versions[array] for array in read]
    inits = [low.normal(state.init) for state in states]
    weak = frozenset([k for k in given if low.type(low.normal(param(k))).weak])
    firsts = tuple([Tensor(shape_of(low, node), low.type(node).dtype) for node in inits])
    first = Plan(low.lanes, step, tuple(states), firsts, tuple(fixed), tuple(given), tuple(versions), tuple(read), weak)
    plan = settled(low, first, [low.type(node) for node in inits], wires)
    pairs = zip(plan.spaces, inits, strict=True)
    start = [low.spread(low.computed(scalar.cast(space.dtype, node))[0], space.shape) for space, node in pairs]
    return plan, [*start, *[low.versions[array] for array in versions]], wires


def shape_of(low: Lowering, node: Node) -> tuple[int, ...]:
    """The shape that an expression has, with size 1 along axes on which it does not depend."""
    shapes = [low.wires[j].shape for j in scalar.parameters([node])[0]]
    return np.broadcast_shapes(*shapes) if shapes else ()


def settled(low: Lowering, plan: Plan, types: Sequence[Type], given: Sequence[Wire]) -> Plan:
    """The plan with the spaces of the numbers that the loop carries: a trip keeps them.

    `types` are those before the loop. A Python number takes the dtype that it meets, as in Python.
    """
    while True:
        weak = [state.inside for state, one in zip(plan.states, types, strict=True) if one.weak]
        plan = replace(plan, weak=plan.weak - {state.inside for state in plan.states} | frozenset(weak))
        b = Builder()
        own = [b.wire(space) for space in plan.spaces] + [b.wire(low.versions[array].space) for array in plan.versions]
        inner = plan.lowered(b, own, [b.wire(w.space) for w in given], b.wire(Tensor((), np.int64)))
        steps = [inner.normal(state.step) for state in plan.states]
        made = [scalar.promote([old, inner.type(node)], FLOAT) for old, node in zip(types, steps, strict=True)]
        shapes = [np.broadcast_shapes(space.shape, shape_of(inner, node)) for space, node in zip(plan.spaces, steps, strict=True)]
        spaces = tuple([Tensor(shape, one.dtype) for shape, one in zip(shapes, made, strict=True)])
        if spaces == plan.spaces and made == list(types):
            return plan
        plan, types = replace(plan, spaces=spaces), made


def finished(low: Lowering, plan: Plan, end: Sequence[Wire]) -> None:
    """What a loop leaves."""
    for state, wire in zip(plan.states, end, strict=False):
        at = low.bind(state.after, wire)
        if state.inside in plan.weak:
            low.weak.add(at)
    low.versions.update(zip(plan.versions, end[len(plan.states) :], strict=True))


def noted(low: Lowering, plan: Plan, state: Sequence[Wire], given: Sequence[Wire]) -> None:
    """Say what became of the sites in a body."""
    if low.found is not None:
        b = Builder()
        own, more = [b.wire(w.space) for w in state], [b.wire(w.space) for w in given]
        plan.lowered(b, own, more, b.wire(Tensor((), np.int64)), low.found)


def swept(low: Lowering, step: Repeat, trips: int) -> None:
    """A loop of a known number of trips."""
    plan, state, given = planned(low, step)
    noted(low, plan, state, given)
    (count,) = low.b.add(Iota(trips))
    end, _ = low.b.apply(Swept(Trip(plan), trips, False), (tuple(state), tuple(given), count))
    finished(low, plan, end)


def going(low: Lowering, step: Repeat) -> None:
    """A loop whose trips the data decide."""
    plan, state, given = planned(low, step)
    noted(low, plan, state, given)
    b = low.b
    zero = low.computed(const(np.int64(0)))[0]
    limit, alive = zero, None
    if step.trips is None:
        alive = next(k for k, one in enumerate(plan.states) if one.inside == step.alive)
    else:
        limit = b.apply(max_of(), low.computed(scalar.cast(np.int64, apply("maximum", low.normal(step.trips), 0)))[0])
    loop = WhileLoop(GoesOn(alive), While(plan), step.most)
    _, _, end, _ = b.apply(loop, (zero, limit, tuple(state), tuple(given)))
    finished(low, plan, end)
