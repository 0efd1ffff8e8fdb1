"""Boxes that go through an axis block by block: each block gets what stands before it, and notes of where it lies."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from catad.category.spaces import Tensor
from catad.category.wiring import Wire
from catad.chunks.parts import Ranges, Sizes, Window, blocks_of, in_order, ranges_of
from catad.chunks.plan import Labels, Plan, parts_within
from catad.chunks.rules.moves import backwards, remembering
from catad.chunks.wires import Again, At, Chunked, Local, Read
from catad.linear.families.reindex import StridedCopy, along, moved_along, reshaped
from catad.linear.families.reindex import axis as ap
from catad.scalar import apply, const, param
from catad.vector.pointwise.generate import Iota
from catad.vector.pointwise.map import Map, mapped
from catad.vector.shapes.shape import Concatenate
from catad.vector.shapes.split import piece

if TYPE_CHECKING:
    from catad.category.wiring import Builder
    from catad.vector.folds.monoid import Monoid


class Here(NamedTuple):
    """Where a block lies along the axis of the steps: its sizes by label, its note, and the position of its first step."""

    sizes: Mapping[int, int]
    note: Hashable
    start: Wire | None


LayHere = Callable[["Builder", "list[Wire]", "list[Wire]", Here], "Sequence[Wire]"]
"""Lays out a block on its wires and those of what stands before it, which have size 1 along the axis of the steps."""
LayStates = Callable[["Builder", "list[Wire]"], "Sequence[Wire]"]
"""Makes the states that a block starts from, of size 1 along the axis of the steps, of what stands before it."""


def block_sizes(plan: Plan, ins: Sequence[tuple[Chunked, Labels]], label: int) -> Sizes:
    """The sizes of the blocks along the axis of the steps; of one block where it is not cut."""
    found = plan.cuts(ins, (), {}).get(label)
    n = next(n for x, labels in ins for n, k in zip(x.shape, labels, strict=True) if k == label)
    return (n,) if found is None else found.sizes


def in_sequence(
    plan: Plan,
    name: str,
    ins: Sequence[tuple[Chunked, Labels]],
    outs: Sequence[tuple[Tensor, Labels]],
    label: int,
    lay: LayHere,
    carried: Sequence[tuple[Chunked, Labels]] = (),
    notes: Sequence[Hashable] | None = None,
    starts: bool = False,
    each: bool = False,
    light: bool = False,
) -> list[Chunked]:
    """A box that is local along its labels, with its note for each block of the label of the steps.

    `carried` are arrays whose first axis, with that label, has an entry for each block of the steps. `starts` asks for the
    positions of the first steps. With `each` results have an entry for each block of the steps, along their first axis.
    """
    cuts = plan.cuts(ins, (), {})
    sizes = {k: n for x, labels in [*ins] for n, k in zip(x.shape, labels, strict=True) if k is not None}
    order = in_order(cuts)
    dim = {k: d for d, k in enumerate(order)}
    grid = tuple([cuts[k].sizes for k in order])
    shown = {k: Window(dim[k], cuts[k]) for k in order}
    reads = [plan.read(x, [shown.get(k) for k in labels]) for x, labels in ins]  # type: ignore[arg-type]
    for x, labels in carried:
        own = shown | {label: blocks_of(dim[label], (1,) * x.shape[0])}
        reads.append(plan.read(x, [own.get(k) for k in labels]))  # type: ignore[arg-type]
    at_steps = dim[label]

    def lay_local(b: Builder, wires: list[Wire], at: At) -> Sequence[Wire]:
        local = sizes | {k: at.sizes[d] for k, d in dim.items()}
        before = [_beside(b, w, labels, label) for w, (_, labels) in zip(wires[len(ins) :], carried, strict=True)]
        here = Here(local, at.notes[at_steps], at.offsets[0] if starts else None)
        return lay(b, wires[: len(ins)], before, here)

    own_notes = None if notes is None else [notes if d == at_steps else None for d in range(len(grid))]
    offsets = [(at_steps, cuts[label].starts)] if starts else []
    box = Local(name, grid, reads, lay_local, own_notes, offsets, light=light, salt=plan.salt)
    made = []
    for space, labels in outs:
        own_dims = [None if k is None else dim.get(k) for k in labels]
        parts = [(n,) if d is None else grid[d] for n, d in zip(space.shape, own_dims, strict=True)]
        made.append(box.result(space, own_dims, ((1,) * len(parts[0]), *parts[1:]) if each else tuple(parts)))
    return made


def _beside(b: Builder, wire: Wire, labels: Labels, label: int) -> Wire:
    """What stands before a block, with its axis of size 1 at the place of the steps, which is that of the label."""
    return reshaped(b, wire, (*wire.shape[1 : label + 1], 1, *wire.shape[label + 1 :]))


def follows(sizes: Sizes, reverse: bool = False) -> tuple[bool, ...]:
    """For each block whether there are steps before it, or after it if `reverse`."""
    order = sizes[::-1] if reverse else sizes
    found = [n > 0 for n in accumulate((0, *order[:-1]))]
    return tuple(found[::-1] if reverse else found)


def steps(b: Builder, n: int, axis: int, ndim: int) -> Wire:
    """The positions of n steps, as they meet an array along an axis."""
    return reshaped(b, b.add(Iota(n))[0], (n, *(1,) * (ndim - axis - 1)))


def end_of(b: Builder, x: Wire, axis: int, last: bool = False) -> Wire:
    """The first entry along an axis, or the last one, with size 1 there."""
    n = x.shape[axis]
    return moved_along(b, x, axis, ap(n, 1, n - 1 if last else 0, 1, 0, 1, 1))


def at_end(b: Builder, x: Sequence[Wire], ends: Sequence[Wire], axis: int, last: bool = False) -> list[Wire]:
    """Arrays with other first entries along an axis, or last ones, which have size 1 there."""
    n, d = x[0].shape[axis], len(x)
    here = apply("eq", param(2 * d), const(n - 1 if last else 0))
    nodes = [apply("select", here, param(d + k), param(k)) for k in range(d)]
    return mapped(b, nodes, [*x, *ends, steps(b, n, axis, x[0].ndim)])


def one_later(
    plan: Plan,
    states: Sequence[Chunked],
    axis: int,
    carried: Sequence[Chunked],
    sizes: Sizes,
    state: LayStates,
    reverse: bool = False,
    extremum: Monoid | None = None,
) -> None:
    """Note that each block of some states, moved one step later, begins with the state that the block has started from.

    `state` makes this of what stands before a block. So nothing is read of the block before. With `reverse` the steps go from the
    end to the start, and it is the flipped states that are moved. Where states are an `extremum` so far, what stands before a
    block is joined with all of them once more, which changes the first one alone.
    """
    labels = tuple(range(states[0].ndim))
    rest = (axis, *labels[:axis], *labels[axis + 1 :])
    of = [(x, rest) for x in carried]

    def moved_later(move: StridedCopy, k: int) -> Chunked | None:
        n = states[k].shape[axis]
        if move.axes != along(states[k].shape, axis, ap(n, n, 0, 1, 1, 1, n - 1)):
            return None

        def lay(b: Builder, wires: list[Wire], before: list[Wire], here: Here) -> Sequence[Wire]:
            m = here.sizes[axis]
            step = ap(m, m, 1, 1, 0, 1, m - 1) if reverse else ap(m, m, 0, 1, 1, 1, m - 1)
            if not m or not here.note:
                return [moved_along(b, wires[0], axis, step, move.fill)] if m else wires
            first = state(b, before)[k]
            if extremum is None:
                return at_end(b, [moved_along(b, wires[0], axis, step, move.fill)], [first], axis, reverse)
            own = moved_along(b, _joined_with(b, wires[0], first), axis, step, extremum.neutral[0])
            return mapped(b, list(extremum.op.outputs), [first, own])

        given, made = [(states[k], labels)], [(states[k].space, labels)]
        notes = follows(sizes, reverse)
        (found,) = in_sequence(plan, "states before steps", given, made, axis, lay, of, notes, light=True)
        return backwards(plan, found, axis) if reverse else found

    for k, x in enumerate(states):
        plan.moved[backwards(plan, x, axis) if reverse else x] = partial(moved_later, k=k)
        if not reverse:
            x.again = x.recut = _ranges_before(plan, x, axis, carried, state, k)


def _joined_with(b: Builder, x: Wire, first: Wire) -> Wire:
    """What a wire has been joined with to make another, where that was done here; else the other."""
    made = next((box for box in reversed(b.boxes) if x.number in box.outs), None)
    if made is None or not isinstance(made.primitive, Map) or len(made.ins) != 2 or made.ins[0] != first.number:
        return x
    return Wire(b, made.ins[1], b.spaces[made.ins[1]])


def _ranges_before(plan: Plan, x: Chunked, axis: int, carried: Sequence[Chunked], state: LayStates, number: int) -> Again:
    """What makes ranges of states that begin one step before blocks: that step is what the block has started from."""
    box, blocks = x.source, ranges_of(x.parts[axis])
    assert isinstance(box, Local)
    dims, follow = box.writes[x.place], follows(blocks.sizes)
    to = dims[axis]
    seen = [None if d is None else blocks_of(d, sizes) for d, sizes in zip(dims, x.parts, strict=True)]
    rest = (axis, *[k for k in range(x.ndim) if k != axis])
    assert to is not None
    first = blocks_of(to, (1,) * len(follow))
    reads = [Read(x, tuple(seen)), *[plan.read(own, [first, *[seen[k] for k in rest[1:]]]) for own in carried]]

    def lay(b: Builder, wires: list[Wire], at: At) -> Sequence[Wire]:
        note: Any = at.notes[to]
        takes, start, stop = note
        own = piece(b, wires[0], axis, start, wires[0].shape[axis] - stop)
        if not takes:
            return [own]
        before = state(b, [_beside(b, w, rest, axis) for w in wires[1:]])[number]
        return b.add(Concatenate(axis, 2), before, own)

    def again(asked: tuple[Ranges | None, ...]) -> Chunked | None:
        for k, (own, sizes) in enumerate(zip(asked, x.parts, strict=True)):
            if k != axis and (len(sizes) > 1 if own is None else own != ranges_of(sizes)):
                return None
        shown = asked[axis]
        if shown is None or plan.salt != box.salt or len(shown.starts) != len(follow):
            return None
        takes = [found and a == start - 1 < b for a, b, start, found in zip(*shown, blocks.starts, follow, strict=True)]
        inside = Ranges(tuple([a + one for a, one in zip(shown.starts, takes, strict=True)]), shown.stops)
        within = parts_within(blocks, inside)
        if within is None or not any(takes):
            return None
        notes = [(one, *ends) for one, ends in zip(takes, within, strict=True)]
        grid = tuple([shown.sizes if d == to else sizes for d, sizes in enumerate(box.grid)])
        each = [notes if d == to else None for d in range(len(grid))]
        later = Local("states before steps", grid, reads, lay, each, light=True, salt=plan.salt)
        parts = (*x.parts[:axis], shown.sizes, *x.parts[axis + 1 :])
        return later.result(Tensor([sum(sizes) for sizes in parts], x.space.dtype), dims, parts)

    return remembering(plan, again)
