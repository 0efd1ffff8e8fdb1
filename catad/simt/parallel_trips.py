"""Loops whose trips are done at once: the trips are an axis in front of those of the threads.

This is so where no trip touches a cell that another one writes, or the order of the trips does not matter there; what is carried
are folds (`folds.py`). The proof is made of the forms of the indices. Where the entry of the range is thread + n * trip, with n
threads on an axis, and all that is asked for, one axis has both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from catad import scalar
from catad.category.spaces import Tensor
from catad.category.wiring import Builder
from catad.linear.families.reindex import reshaped
from catad.scalar import Function, Node, Type, apply, const, param
from catad.scalar.simplify import FALSE
from catad.scalar.simplify import replace as substituted
from catad.simt.affine import Box, Form, Forms, boxed, injective
from catad.simt.arrays import (
    FIRST,
    Array,
    Atomic,
    Bounded,
    Load,
    Repeat,
    State,
    Step,
    Store,
    every,
    made_in,
    nodes_of,
    rewritten,
    touched,
)
from catad.simt.cell_updates import carried
from catad.simt.folds import contracted, folded, joined, neutral, recognised
from catad.simt.lower import Found, Lowering
from catad.simt.phases import Phase
from catad.simt.thread_axes import Lanes, Trips, places

FLOAT = np.dtype(np.float64)
MOST = 1 << 40
"""More trips than any loop makes."""
FEW = 8
"""So many trips that carry numbers are taken one after the other, as if they were written out."""
AT_ONCE = 1 << 24
"""So many trips of all threads together are done at once, and more where the arrays or a contraction are as large."""


def at_once(low: Lowering, step: Repeat, trips: int) -> bool:
    """Add the boxes of a loop whose trips are done at once; False, and nothing has happened, where that is not proved."""
    return _in_numbers(low, step, trips) or _done(low, step, trips)


def _in_numbers(low: Lowering, step: Repeat, trips: int) -> bool:
    """The same for the loop that carries as numbers the cells that it updates."""
    cells = carried(low, step)
    if cells.step == step or trips <= FEW:
        return False
    phase, low.phase = low.phase, Phase(low)
    notes = 0 if low.found is None else len(low.found)
    low.run(cells.before)
    done = _done(low, cells.step, trips, cells.fits)
    if done:
        low.run(cells.behind)
    elif low.found is not None:
        del low.found[notes:]
    low.phase = phase
    return done


def _done(low: Lowering, step: Repeat, trips: int, asked: Callable[[Mapping[int, Type]], bool] = lambda types: True) -> bool:
    """The same for a loop as it is, where the types of the numbers that it carries are as asked."""
    operators = recognised(step)
    if operators is None or trips == 0 or (operators and trips <= FEW) or not _simple(step.body):
        return False
    found = [_with_threads(low, step, trips), _by_itself(low, step, trips)]
    for one in found[bool(operators) :]:
        if one is not None and one.apart():
            types = one.types()
            if asked(types) and one.fits(operators, types):
                one.run(operators, types)
                return True
    return False


def _simple(steps: Sequence[Step]) -> bool:
    """Whether there are no barriers, no new arrays and no exchange between threads."""
    return all(isinstance(step, Load | Store | Atomic | Bounded | Repeat) for step in every(steps))


def most_trips(low: Lowering, trips: Node) -> int | None:
    """The most trips that a thread makes, where no data decide it."""
    if any(j >= len(low.sizes) for j in scalar.parameters([trips])[0]):
        return None
    if trips.op == "const":
        return max(0, int(trips.value))
    axes = places(low.sizes)
    made = scalar.array_function(Function.make(len(axes), [trips]))(np, *axes)
    return max(0, int(np.max(made[0])))


def _by_itself(low: Lowering, step: Repeat, trips: int) -> AtOnce:
    """The trips as an axis of their own, the last one of those in front of the threads."""
    lanes, axis = low.lanes, len(low.lanes.trips)
    places = [k if k < axis else k + 1 for k in range(len(low.sizes))]
    return AtOnce(low, step, replace(lanes, trips=(*lanes.trips, Trips(trips))), axis, places, param(axis))


def _with_threads(low: Lowering, step: Repeat, trips: int) -> AtOnce | None:
    """The trips and the threads of an axis as one axis, where all that is asked for is thread + number of threads * trip."""
    lanes, axis = low.lanes, len(low.lanes.trips)
    if step.item is None or step.trips is None:
        return None
    own = len(low.wires)
    (item,) = substituted([step.item], {**low.map, param(step.counter): param(own)})
    form = Forms(low.sizes, {own: trips}).form(item)
    if form is None or len(form.terms) != 2:
        return None
    (v, one), (counter, length) = form.terms
    if counter != own or one != 1 or v < axis or length != low.sizes[v]:
        return None
    if any(v in lanes.prefix(array) for array in touched((step,), False)):
        return None
    if not _alone([node for part in step.body for node in nodes_of(part)], step, low, v):
        return None
    last = apply("mul", apply("sub", low.normal(step.trips), 1), length)
    size = most_trips(low, apply("add", apply("add", param(v), last), 1))
    body = rewritten(step, {step.item: param(step.counter)})
    assert isinstance(body, Repeat) and size is not None
    atoms = (*lanes.atoms[: v - axis], *lanes.atoms[v - axis + 1 :])
    joint = Trips(size, lanes.atoms[v - axis], length)
    places = [k if k < axis else k + 1 if k < v else k for k in range(len(low.sizes))]
    made = replace(lanes, atoms=atoms, trips=(*lanes.trips, joint))
    return AtOnce(low, body, made, axis, places, apply("add", param(axis), form.c), v)


def _alone(nodes: Sequence[Node], step: Repeat, low: Lowering, v: int) -> bool:
    """Whether expressions depend on the trip, and on the place of the thread on an axis, by the entry of the range alone."""
    assert step.item is not None
    found = {k for one in scalar.parameters(substituted(nodes, {step.item: const(0)})) for k in one}
    if step.counter in found:
        return False
    used = [j for k in found - made_in((step,)) for j in scalar.parameters([low.normal(param(k))])[0]]
    return not any(j == v or (j >= len(low.sizes) and low.wires[j].ndim and low.wires[j].shape[v] > 1) for j in used)


@dataclass(frozen=True)
class AtOnce:
    """A loop whose trips are the axis `axis` of `lanes`; `places` are the axes outside there, of which `gone` is in that axis.

    `counter` is what counts trips, an expression over the axes.
    """

    low: Lowering
    step: Repeat
    lanes: Lanes
    axis: int
    places: Sequence[int]
    counter: Node
    gone: int | None = None

    def inside(self, b: Builder, found: list[Found] | None = None) -> Lowering:
        """What adds the boxes of the body; in another builder than that of the loop, for a trial."""
        low, inner = self.low, Lowering(b, self.lanes, self.low.repeated, found)
        free = {k for node in nodes_of(self.step) for k in scalar.parameters([node])[0]} - made_in((self.step,))
        for k in sorted(free):
            if k >= FIRST:
                inner.map[param(k)] = self.over(inner, low.normal(param(k)))
        for state in self.step.states:
            if state.step is FALSE:
                inner.map[param(state.inside)] = FALSE
        inner.map[param(self.step.counter)] = self.counter
        if b is low.b:
            inner.versions = low.versions
            return inner
        for array in touched((self.step,), False):
            shape, dtype = low.versions.space(array)
            inner.versions[array] = b.wire(Tensor(shape, dtype))
        return inner

    def over(self, inner: Lowering, node: Node) -> Node:
        """An expression over the wires outside, over those inside."""
        found = dict[Node, Node]()
        for j in scalar.parameters([node])[0]:
            if j < len(self.places):
                found[param(j)] = param(self.places[j])
                continue
            wire = self.low.wires[j]
            if wire.ndim:
                sizes = {self.places[k]: n for k, n in enumerate(wire.shape) if k != self.gone}
                shape = [sizes.get(k, 1) for k in range(len(inner.sizes))]
                wire = reshaped(inner.b, wire, shape) if inner.b is self.low.b else inner.b.wire(Tensor(shape, wire.dtype))
            elif inner.b is not self.low.b:
                wire = inner.b.wire(wire.space)
            k = inner.argument(wire)
            found[param(j)] = param(k)
            if j in self.low.counters:
                inner.counters[k] = self.low.counters[j]
            if j in self.low.weak:
                inner.weak.add(k)
        return substituted([node], found)[0]

    # -- the proof

    def apart(self) -> bool:
        """Whether trips depend on each other by no array."""
        sites = dict[Array, list[_Touch]]()
        for one in _touches(self.step.body):
            sites.setdefault(one.step.site.array, []).append(one)
        if all(isinstance(one.step, Load) for several in sites.values() for one in several):
            return True
        b = Builder()
        inner = self.inside(b)
        counters = dict(inner.counters)
        for k in sorted(made_in(self.step.body)):
            inner.bind(k, b.wire(Tensor((), np.int64)))
        for loop in [one for one in every(self.step.body) if isinstance(one, Repeat)]:
            most = None if loop.trips is None else most_trips(inner, inner.normal(loop.trips))
            counters[inner.map[param(loop.counter)].value] = MOST if most is None else max(most, 1)
        return all(self._in_any_order(inner, several) or _disjoint(inner, several, counters) for several in sites.values())

    def _in_any_order(self, inner: Lowering, several: Sequence[_Touch]) -> bool:
        """Whether an array is only read, only added to, or written by one statement, whose trips are done in their order."""
        steps = [one.step for one in several]
        if all(isinstance(one, Load) for one in steps):
            return True
        asked = [isinstance(one, Atomic) and one.out is not None and one.out in self.lanes.asked for one in steps]
        if all(isinstance(one, Atomic) and one.op == "add" for one in steps) and not any(asked):
            return True
        if len(several) > 1 or not several[0].top or (self.gone is not None and self.lanes.atoms):
            return False
        return isinstance(steps[0], Atomic) or None in [inner.forms.form(inner.normal(node)) for node in steps[0].site.index]

    def fits(self, operators: Mapping[int, str], types: Mapping[int, Type]) -> bool:
        """Whether the numbers of all trips have room: no more than some, than the arrays have, or contractions are all.

        Truth values are carried trip after trip.
        """
        if any(one.dtype.kind == "b" for one in types.values()):
            return False
        count = math.prod(self.lanes.sizes)
        arrays = sum([math.prod(self.low.versions.space(array)[0]) for array in touched((self.step,), False)])
        if count <= max(AT_ONCE, arrays):
            return True
        if not operators or touched((self.step,), True):
            return False
        inner = self.of_one_trip(Builder(), operators, types)
        found = [(operators[s.inside], inner.normal(s.step), types[s.inside].dtype) for s in self.states]
        return all(op == "add" and contracted(inner, self.axis, node, dtype) for op, node, dtype in found)

    # -- the boxes

    @property
    def states(self) -> list[State]:
        """What the loop carries."""
        return [state for state in self.step.states if state.step is not FALSE]

    def types(self) -> dict[int, Type]:
        """The type of each number that the loop carries, by its parameter inside."""
        types = {state.inside: self.low.type(self.low.normal(state.init)) for state in self.states}
        while self.states:
            b = Builder()
            inner = self.inside(b)
            for k, one in types.items():
                at = inner.bind(k, b.wire(Tensor((), one.dtype)))
                if one.weak:
                    inner.weak.add(at)
            inner.run(self.step.body)
            found = {state.inside: inner.type(inner.normal(state.step)) for state in self.states}
            wider = {k: scalar.promote([types[k], one], FLOAT) for k, one in found.items()}
            if wider == types:
                break
            types = wider
        return types

    def of_one_trip(
        self, b: Builder, operators: Mapping[int, str], types: Mapping[int, Type], found: list[Found] | None = None
    ) -> Lowering:
        """The body, from neutral elements on: what is carried behind it is what a trip contributes."""
        inner = self.inside(b, found)
        for state in self.states:
            inner.map[param(state.inside)] = neutral(operators[state.inside], types[state.inside].dtype)
        inner.run(self.step.body)
        return inner

    def run(self, operators: Mapping[int, str], types: Mapping[int, Type]) -> None:
        """Add the boxes."""
        low = self.low
        inner = self.of_one_trip(low.b, operators, types, low.found)
        for state in self.step.states:
            if state.step is FALSE:
                low.map[param(state.after)] = FALSE
        for state in self.states:
            op, (dtype, weak) = operators[state.inside], types[state.inside]
            total = low.argument(folded(inner, self.axis, op, state.step, dtype))
            init = low.normal(state.init)
            if weak:
                low.weak.add(total)
            low.map[param(state.after)] = joined(op, init if weak else scalar.cast(dtype, init), param(total))


class _Touch(NamedTuple):
    """A statement that touches an array, and whether no further loop is around it."""

    step: Load | Store | Atomic
    top: bool


def _touches(steps: Sequence[Step]) -> list[_Touch]:
    tops = {id(step) for step in steps}
    return [_Touch(one, id(one) in tops) for one in every(steps) if isinstance(one, Load | Store | Atomic)]


def _disjoint(inner: Lowering, several: Sequence[_Touch], counters: Mapping[int, int]) -> bool:
    """Whether each cell that statements touch is one of a single thread in a single trip.

    In each index all have the same steps of threads and trips, and what further loops and numbers add has room between these.
    """
    finder = Forms(inner.sizes, counters)
    found: list[tuple[Box, list[Form]]] = []
    for one in several:
        index, path = inner.place(one.step.site)
        forms = [finder.form(node) for node in index]
        known = [form for form in forms if form is not None]
        box, _ = boxed(inner.forms, path, inner.sizes)
        if len(known) < len(forms):
            return False
        if 0 not in box.sizes and path is not FALSE:
            found.append((box, known))
    if not found:
        return True
    starts = tuple(map(min, zip(*[box.starts for box, _ in found], strict=True)))
    stops = [max([box.starts[k] + box.sizes[k] for box, _ in found]) for k in range(len(starts))]
    hull = Box(starts, tuple([b - a for a, b in zip(starts, stops, strict=True)]))
    sizes = {**counters, **dict(enumerate(hull.sizes))}
    made = []
    for k, forms_ in enumerate(zip(*[[hull.form(form) for form in forms] for _, forms in found], strict=True)):
        terms = {tuple([term for term in form.terms if term[0] < len(hull.sizes)]) for form in forms_}
        if len(terms) > 1:
            return False
        rests = [Form(form.c, tuple([term for term in form.terms if term[0] >= len(hull.sizes)])) for form in forms_]
        ends = [rest.bounds(sizes) for rest in rests]
        span = max([high for _, high in ends]) - min([low for low, _ in ends])
        sizes[-1 - k] = span + 1
        made.append(Form(0, (*next(iter(terms)), *([(-1 - k, 1)] if span else []))))
    return injective(made, sizes, range(len(hull.sizes)))
