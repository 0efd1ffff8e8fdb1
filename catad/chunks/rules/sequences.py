"""Boxes that go through an axis block by block: each block gets what stands before it, and notes of where it lies."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from catad.category.spaces import Tensor
from catad.chunks.parts import Ranges, Sizes, Window, blocks_of, ranges_of
from catad.chunks.plan import Labels, Plan, parts_within
from catad.chunks.rules.moves import remembering
from catad.chunks.wires import Again, At, Chunked, Local, Read
from catad.linear.families.reindex import axis as ap
from catad.linear.families.reindex import moved_along, reshaped
from catad.scalar import apply, const, param
from catad.vector.pointwise.generate import Iota
from catad.vector.pointwise.map import mapped
from catad.vector.shapes.shape import Concatenate
from catad.vector.shapes.split import piece

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


class Here(NamedTuple):
    """Where a block lies along the axis of the steps: its sizes by label, its note, and the position of its first step."""

    sizes: Mapping[int, int]
    note: Hashable
    start: Wire | None


LayHere = Callable[["Builder", "list[Wire]", "list[Wire]", Here], "Sequence[Wire]"]
"""Lays out a block on its wires and those of what stands before it, which have size 1 along the axis of the steps."""
LayBefores = Callable[["Builder", "list[Wire]"], "list[Wire]"]
LayBefore = Callable[["Builder", "list[Wire]", int], "Wire"]


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
    before: LayBefores | None = None,
) -> list[Chunked]:
    """A box that is local along its labels, with its note for each block of the label of the steps.

    `carried` are arrays whose first axis, with that label, has an entry for each block of the steps. `starts` asks for the
    positions of the first steps. With `each` results have an entry for each block of the steps, along their first axis. `before`
    gives the last entries of results before a block from what is carried, so that nobody reads these of another block.
    """
    cuts = plan.cuts(ins, (), {})
    sizes = {k: n for x, labels in [*ins] for n, k in zip(x.shape, labels, strict=True) if k is not None}
    order = sorted(cuts, key=lambda k: (len(cuts[k].starts), cuts[k]))  # equal grids are equal
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
    if before is not None:

        def lay_before(b: Builder, wires: list[Wire], k: int) -> Wire:
            return before(b, [_beside(b, w, own, label) for w, (_, own) in zip(wires, carried, strict=True)])[k]

        for x, (_, labels) in zip(made, outs, strict=True):
            x.again = _one_step_later(plan, x, labels.index(label), reads[len(ins) :], lay_before)
    return made


def _one_step_later(plan: Plan, x: Chunked, axis: int, carried: Sequence[Read], before: LayBefore) -> Again:
    """What makes the ranges of a shift by one step: the entry before each block follows from what is carried to it."""
    box, ranges = x.source, ranges_of(x.parts[axis])
    assert isinstance(box, Local)
    dims, along = box.writes[x.place], box.writes[x.place][axis]
    assert along is not None
    follow = follows(ranges.sizes)

    def lay(b: Builder, wires: list[Wire], at: At) -> Sequence[Wire]:
        note: Any = at.notes[along]
        takes, first, rest = note
        own = piece(b, wires[0], axis, first, wires[0].shape[axis] - rest)
        return b.add(Concatenate(axis, 2), before(b, wires[1:], x.place), own) if takes else [own]

    def again(asked: tuple[Ranges | None, ...]) -> Chunked | None:
        for k, (own, sizes) in enumerate(zip(asked, x.parts, strict=True)):
            if k != axis and (len(sizes) > 1 if own is None else own != ranges_of(sizes)):
                return None
        shown = asked[axis]
        if shown is None or plan.salt != box.salt or len(shown.starts) != len(follow):
            return None
        takes = [found and a == start - 1 < b for a, b, start, found in zip(*shown, ranges.starts, follow, strict=True)]
        own = Ranges(tuple([a + one for a, one in zip(shown.starts, takes, strict=True)]), shown.stops)
        within = parts_within(ranges, own)
        if within is None or not any(takes):
            return None
        parts = (*x.parts[:axis], shown.sizes, *x.parts[axis + 1 :])
        grid = tuple([shown.sizes if d == along else sizes for d, sizes in enumerate(box.grid)])
        windows = [None if d is None else blocks_of(d, sizes) for d, sizes in zip(dims, x.parts, strict=True)]
        each = [(one, *rest) for one, rest in zip(takes, within, strict=True)]
        notes = [each if d == along else None for d in range(len(grid))]
        later = Local("a step later", grid, [Read(x, tuple(windows)), *carried], lay, notes, light=True, salt=plan.salt)
        return later.result(Tensor([sum(sizes) for sizes in parts], x.space.dtype), dims, parts)

    return remembering(plan, again)


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
