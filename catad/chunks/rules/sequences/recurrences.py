"""Recurrences: the affine map of each block, these composed, and the states of each block from the one that it starts with.

    s_i = A_i s_{i-1} + b_i                a block maps s before it to its last state: its maps s -> A_i s + b_i composed
    s_{i-1} = A_i s_i + b_{i-1}            backwards it maps c_q = A_q s_q to c_p: its maps c -> A_i (c + b_i) composed

Both ways a block needs its own links alone, and nothing of its neighbours but the state. This is added to the first b of a
block, in the order of the steps, while it is read; where all links are 1, to each state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import scalar
from catad.category.boxes import of_fields
from catad.category.cartesian import compose, proj
from catad.category.constant import const
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.category.wiring import share
from catad.chunks.plan import Labels, Plan
from catad.chunks.rules.folds import fold_first
from catad.chunks.rules.moves import backwards
from catad.chunks.rules.sequences.affine import Maps, closed, composition
from catad.chunks.rules.sequences.in_sequence import Here, at_end, block_sizes, end_of, follows, in_sequence, one_later
from catad.chunks.rules.sequences.scans import joins, prefixes, suffixes
from catad.chunks.rules.sequences.wide import Totals, in_floats, in_range, long_fold, longer_of, pairs_of
from catad.chunks.rules.table import rule
from catad.chunks.wires import Chunked
from catad.linear.families.contract import repeated
from catad.linear.families.recurrence import ONE, Recurred
from catad.linear.structure import cast
from catad.scalar import Node, apply, param
from catad.vector.decomposed import one_term
from catad.vector.folds.fold import Fold
from catad.vector.pointwise.map import mapped
from catad.vector.shapes.shape import summed

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires

_SUM = ((ONE,),)


@rule(
    Recurred,
    cut="along its axis: affine maps of blocks, composed, then states of blocks from the ones before them; along others: local",
    exchanged="affine maps of blocks, scanned",
)
def _recurred(plan: Plan, primitive: Recurred, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    axis = primitive.axis
    own = [plan.flips.get((x, axis)) for x in ins]
    flipped = [x for x in own if x is not None]
    if primitive.grid == _SUM and not primitive.reset and len(flipped) == len(ins):  # sums from the other end
        made = recurred_in_blocks(plan, replace(primitive, reverse=not primitive.reverse), flipped, outs)
        return [backwards(plan, x, axis) for x in made]
    return recurred_in_blocks(plan, primitive, ins, outs)


def recurred_in_blocks(plan: Plan, primitive: Recurred, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> list[Chunked]:
    """The states of a recurrence, each block from the state that it starts with."""
    axis, labels = primitive.axis, tuple(range(outs[0].ndim))
    given: list[tuple[Chunked, Labels]] = [(x, labels) for x in ins]
    results = [(space, labels) for space in outs]
    sizes = block_sizes(plan, given, axis)
    if len(sizes) == 1:
        return plan.labelled("recurrence", given, results, lambda b, wires, sizes: b.add(primitive, *wires), whole=[axis])[0]
    before = states_before(plan, primitive, given, outs)
    rest = (axis, *labels[:axis], *labels[axis + 1 :])
    sums = primitive.grid == _SUM and not primitive.reset

    def state(b: Builder, carried: list[Wire]) -> Sequence[Wire]:
        return in_floats(b, carried, [x.dtype for x in outs])

    def lay(b: Builder, wires: list[Wire], carried: list[Wire], here: Here) -> Sequence[Wire]:
        if not here.note or not here.sizes[axis]:
            return b.add(primitive, *wires)
        before = state(b, carried)
        if not sums:
            return b.add(primitive, *from_state(b, primitive, wires, before))
        made = b.add(primitive, *wires)
        found = [mapped(b, [apply("add", param(0), param(1))], [s, w])[0] for s, w in zip(before, made, strict=True)]
        last, args = [end_of(b, w, axis, not primitive.reverse) for w in made], [*before, *wires]
        terms = [compose(RecurredFrom(primitive, len(before)), proj(k)) for k in range(len(found))]
        return [in_range(b, w, end, term, args) for w, end, term in zip(found, last, terms, strict=True)]

    own = [(x, rest) for x in before]
    made = in_sequence(plan, "recurrence", given, results, axis, lay, own, follows(sizes, primitive.reverse))
    if not primitive.reverse or primitive.grid == _SUM:  # else what stands after a block is its state times a link
        one_later(plan, made, axis, before, sizes, state, primitive.reverse)
    return made


def states_before(
    plan: Plan, primitive: Recurred, given: Sequence[tuple[Chunked, Labels]], outs: Sequence[Tensor]
) -> list[Chunked]:
    """The state that each block starts from, one for each component of each copy; axis 0 counts the blocks.

    Floats are those of the longer range.
    """
    axis, labels = primitive.axis, tuple(range(outs[0].ndim))
    rest = (*labels[:axis], *labels[axis + 1 :])
    maps = Maps(closed(primitive.grid), primitive.copies, primitive.reset)
    op, forward = (composition(maps, way) for way in (primitive.reverse, False))
    dtypes = [*[np.dtype(np.bool_)] * maps.reset, *[outs[0].dtype] * (maps.width - maps.reset)]
    longer = outs[0].is_float

    def lay(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        return block_map(b, primitive, maps, wires, longer)

    spaces = [Tensor([outs[0].shape[k] for k in rest], dtype) for dtype in (pairs_of(dtypes) if longer else dtypes)]
    totals, _ = plan.labelled("affine map of blocks", given, [(space, rest) for space in spaces], lay)
    if longer:
        op, forward = longer_of(op, dtypes), longer_of(forward, dtypes)
    fold, join = partial(fold_first, op), partial(joins, op)
    scan = partial(suffixes, forward, 0) if primitive.reverse else partial(prefixes, op, 0)
    made = plan.before_each("states before blocks", totals, fold, scan, join, primitive.reverse)
    return made[len(made) - (1 + longer) * len(outs) :]


def block_map(b: Builder, primitive: Recurred, maps: Maps, wires: Sequence[Wire], longer: bool) -> Sequence[Wire]:
    """What the steps of a block do to the state."""
    own, op = elements(b, primitive, maps, wires, wires[-1].dtype), composition(maps, primitive.reverse)
    if not maps.entries and not maps.reset:
        plain: Sequence[Wire] = [summed(b, w, (primitive.axis,)) for w in wires]
    else:
        plain = b.add(Fold(op, primitive.axis), *own)
    if not longer:
        return plain
    seen = list(plain)
    if maps.reset:  # links before a reset mean nothing
        known = apply("select", param(0), scalar.const(1.0), param(1))
        seen[1 : maps.first] = [mapped(b, [known], [plain[0], w])[0] for w in plain[1 : maps.first]]
    return Totals(plain, wires, partial(one_term, LongMap, primitive), own, seen, op, primitive.axis).in_range(b)


@share
@of_fields
class LongMap(D):
    """The arguments of a recurrence to one number of what its steps do to the state, in the longer range."""

    recurrence: Recurred
    which: int

    def lay_out(self, b: Builder, x: Wires) -> Any:
        own, wires = self.recurrence, x if isinstance(x, tuple) else (x,)
        maps = Maps(closed(own.grid), own.copies, own.reset)
        made = elements(b, own, maps, wires, wires[-1].dtype)
        return long_fold(b, composition(maps, own.reverse), own.axis, made)[self.which]


def elements(b: Builder, primitive: Recurred, maps: Maps, wires: Sequence[Wire], dtype: np.dtype[Any]) -> list[Wire]:
    """The affine maps of the steps, as elements of the monoid that composes them."""
    numbers = []
    for r, c in maps.entries:
        e = primitive.grid[r][c]
        constant = np.asarray(float(e == ONE), dtype)
        numbers.append(cast(wires[e], dtype) if e >= 0 else repeated(b, b.apply(const(constant), ()), (), wires[0].shape))
    first, states = primitive.slots, list(wires[primitive.slots :])
    if primitive.reverse:
        states = mapped(b, _links_times(primitive, [param(first + k) for k in range(len(states))]), wires)
    return [*wires[first - primitive.reset : first], *numbers, *[cast(w, dtype) for w in states]]


def _links_times(primitive: Recurred, states: Sequence[Node]) -> list[Node]:
    """The links of a step times some states; zero where it is a reset."""
    own = Maps(primitive.grid, primitive.copies, False)
    made = own.applied([param(k) for k in range(primitive.links)], states)
    if not primitive.reset:
        return made
    return [apply("select", param(primitive.links), scalar.const(0.0), node) for node in made]


@share
@of_fields
class RecurredFrom(D):
    """(states, the arguments of a recurrence) to its states from these."""

    recurred: Recurred
    count: int

    def lay_out(self, b: Builder, x: Wires) -> Any:
        before, wires = x[: self.count], list(x[self.count :])
        return b.add(self.recurred, *from_state(b, self.recurred, wires, before))


def from_state(b: Builder, primitive: Recurred, wires: list[Wire], before: Sequence[Wire]) -> list[Wire]:
    """The arguments of a block that starts from a state: its part in the first step is added there."""
    first, count, last = primitive.slots, len(before), primitive.reverse
    ends = [end_of(b, w, primitive.axis, last) for w in wires]
    states: list[Node] = [param(first + count + k) for k in range(count)]
    if not primitive.reverse:
        states = _links_times(primitive, states)
    nodes = [apply("add", param(first + k), s) for k, s in enumerate(states)]
    return [*wires[:first], *at_end(b, wires[first:], mapped(b, nodes, [*ends, *before]), primitive.axis, last)]
