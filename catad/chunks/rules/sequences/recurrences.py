"""Recurrences: the affine map of each block, these composed, and the states of each block from the one that it starts with.

    s_i = A_i s_{i-1} + b_i                a block maps s before it to its last state: its maps s -> A_i s + b_i composed
    s_{i-1} = A_i s_i + b_{i-1}            backwards it maps c_q = A_q s_q to c_p: its maps c -> A_i (c + b_i) composed

Both ways a block needs its own links alone, and nothing of its neighbours but the state. This is added to the first b of a
block, in the order of the steps, while it is read; where all links are 1, to each state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import scalar
from catad.category.boxes import of_fields
from catad.category.constant import const
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.category.wiring import share
from catad.chunks.plan import Labels, LayLabelled, Plan
from catad.chunks.rules.folds import fold_first
from catad.chunks.rules.moves import backwards
from catad.chunks.rules.sequences.affine import Maps, OrLonger, closed, composition, long_composition, normal, wider
from catad.chunks.rules.sequences.in_sequence import Here, at_end, block_sizes, end_of, follows, in_sequence, one_later
from catad.chunks.rules.sequences.scans import joins, prefixes, suffixes
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
        return [cast(w, outs[0].dtype) for w in carried]

    def lay(b: Builder, wires: list[Wire], carried: list[Wire], here: Here) -> Sequence[Wire]:
        if not here.note or not here.sizes[axis]:
            return b.add(primitive, *wires)
        before = state(b, carried)
        if not sums:
            return b.add(primitive, *from_state(b, primitive, wires, before))
        made = b.add(primitive, *wires)
        return [mapped(b, [apply("add", param(0), param(1))], [s, w])[0] for s, w in zip(before, made, strict=True)]

    own = [(x, rest) for x in before]
    made = in_sequence(plan, "recurrence", given, results, axis, lay, own, follows(sizes, primitive.reverse))
    if not primitive.reverse or primitive.grid == _SUM:  # else what stands after a block is its state times a link
        one_later(plan, made, axis, before, sizes, state, primitive.reverse)
    return made


def states_before(
    plan: Plan, primitive: Recurred, given: Sequence[tuple[Chunked, Labels]], outs: Sequence[Tensor]
) -> list[Chunked]:
    """The state that each block starts from, one for each component of each copy; axis 0 counts the blocks."""
    axis, labels = primitive.axis, tuple(range(outs[0].ndim))
    rest = (*labels[:axis], *labels[axis + 1 :])
    maps = Maps(closed(primitive.grid), primitive.copies, primitive.reset)
    plain = not maps.entries and not maps.reset
    shape = [outs[0].shape[k] for k in rest]
    flags = [np.dtype(np.bool_)] * maps.reset
    if plain:
        dtypes = [x.dtype for x in outs]
        lay: LayLabelled = lambda b, wires, sizes: [summed(b, cast(w, outs[0].dtype), (axis,)) for w in wires]  # noqa: E731
    else:
        dtypes = [*flags, np.dtype(np.int64), *[np.dtype(np.float64)] * (wider(maps).width - maps.reset)]
        lay = lambda b, wires, sizes: block_map(b, primitive, maps, wires)  # noqa: E731
    op, forward = (composition(maps, way) if plain else long_composition(wider(maps), way) for way in (primitive.reverse, False))
    totals, _ = plan.labelled("affine map of blocks", given, [(Tensor(shape, dtype), rest) for dtype in dtypes], lay)
    fold, join = partial(fold_first, op), partial(joins, op)
    scan = partial(suffixes, forward, 0) if primitive.reverse else partial(prefixes, op, 0)
    made = plan.before_each("states before blocks", totals, fold, scan, join, primitive.reverse)
    return made[len(made) - len(outs) :]


def block_map(b: Builder, primitive: Recurred, maps: Maps, wires: Sequence[Wire]) -> list[Wire]:
    """What the steps of a block do to the state, in a longer range than that of floats.

    They are composed as they are, and only if that leads to infinity or NaN, in the longer range.
    """
    dtype = wires[-1].dtype
    plain = b.add(Fold(composition(maps, primitive.reverse), primitive.axis), *elements(b, primitive, maps, wires, dtype))
    flags, numbers = list(plain[: maps.reset]), [cast(w, np.dtype(np.float64)) for w in plain[maps.reset :]]
    lost: Node = scalar.const(0.0)
    for k in range(len(numbers)):
        term = apply("mul", param(k), scalar.const(0.0))
        if maps.reset and k < len(maps.entries):  # links before a reset mean nothing
            term = apply("select", param(len(numbers)), scalar.const(0.0), term)
        lost = apply("add", lost, term)
    (helper,) = mapped(b, [lost], [*numbers, *flags])
    known = dict(zip(maps.entries, numbers, strict=False))
    (one,) = mapped(b, [apply("add", param(0), scalar.const(1.0))], [helper])
    (power,) = mapped(b, [scalar.cast(np.int64, param(0))], [helper])
    found = [power, *[known.get(at, one) for at in wider(maps).entries], *numbers[len(maps.entries) :]]
    first = len(flags)
    exact = [OrLonger(one_term(LongMap, primitive, first + k), len(wires)) for k in range(len(found))]
    return [*flags, *[b.add(own, *wires, w, helper)[0] for own, w in zip(exact, found, strict=True)]]


@share
@of_fields
class LongMap(D):
    """The arguments of a recurrence to one number of what its steps do to the state, in a longer range."""

    recurrence: Recurred
    which: int

    def lay_out(self, b: Builder, x: Wires) -> Any:
        own, wires = self.recurrence, x if isinstance(x, tuple) else (x,)
        maps = wider(Maps(closed(own.grid), own.copies, own.reset))
        dtype = np.dtype(np.float64)
        wide = [w if own.links <= k < own.slots else cast(w, dtype) for k, w in enumerate(wires)]
        numbers = elements(b, own, maps, wide, dtype)
        links = normal(scalar.cast(np.int64, scalar.const(0)), [param(k) for k in range(len(maps.entries))])
        numbers[own.reset : maps.first] = mapped(b, links, numbers[own.reset : maps.first])
        return b.add(Fold(long_composition(maps, own.reverse), own.axis), *numbers)[self.which]


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


def from_state(b: Builder, primitive: Recurred, wires: list[Wire], before: Sequence[Wire]) -> list[Wire]:
    """The arguments of a block that starts from a state: its part in the first step is added there."""
    first, count, last = primitive.slots, len(before), primitive.reverse
    ends = [end_of(b, w, primitive.axis, last) for w in wires]
    states: list[Node] = [param(first + count + k) for k in range(count)]
    if not primitive.reverse:
        states = _links_times(primitive, states)
    nodes = [apply("add", param(first + k), s) for k, s in enumerate(states)]
    return [*wires[:first], *at_end(b, wires[first:], mapped(b, nodes, [*ends, *before]), primitive.axis, last)]
