"""Boxes that move entries: slices, flips, shifts, pads, concatenations. A block of the result reads what it shows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from catad.category.spaces import Tensor
from catad.category.wiring import Wire
from catad.chunks.parts import Ranges, Sizes, Window, bounds, cut_like, in_order, sizes_between
from catad.chunks.plan import Plan
from catad.chunks.rules.table import rule
from catad.chunks.wires import Again, At, Chunked, Joined, Local
from catad.linear.families.reindex import Axis, StridedCopy, along, axis, moved, whole
from catad.vector.shapes.shape import Concatenate, flipped

if TYPE_CHECKING:
    from catad.category.wiring import Builder


LARGE = 2**20  # bytes from which on arrays without blocks, after each other, are blocks


class Operand(NamedTuple):
    """An array and the progressions by which it moves into a result; None stands for positions at which nothing is read."""

    array: Chunked | None
    axes: tuple[Axis, ...]


LayMoved = Callable[["Builder", "list[Wire]", "list[tuple[Axis, ...]]"], "Wire"]
"""What lays a box out on the windows that are read, with the progressions of each operand within the block."""


def moving(
    plan: Plan, name: str, space: Tensor, ranges: Sequence[Ranges | None], operands: Sequence[Operand], lay: LayMoved
) -> Chunked:
    """Ranges of a result along each axis, None for all of it, each block from what moves into it."""
    cut = {k: r for k, r in enumerate(ranges) if r is not None and len(r.starts) > 1}
    order = in_order(cut)
    dim = {k: d for d, k in enumerate(order)}
    moves = [[_shown(own.array, k, ax, r) for k, (ax, r) in enumerate(zip(own.axes, ranges, strict=True))] for own in operands]
    reads = []
    for own, (x, _) in zip(moves, operands, strict=True):
        if x is not None:
            reads.append(plan.read(x, [None if m is None else Window(dim.get(k), m[0]) for k, m in enumerate(own)]))
    plan.note_gathered(name, reads)
    grid = tuple([cut[k].sizes for k in order])
    notes = [list(zip(*[own[k][1] for own in moves], strict=True)) for k in order]  # type: ignore[index]

    def lay_local(b: Builder, wires: list[Wire], at: At) -> Sequence[Wire]:
        local = []
        for n, (own, (_, axes)) in enumerate(zip(moves, operands, strict=True)):
            each = [at.notes[dim[k]][n] if k in dim else axes[k] if m is None else m[1][0] for k, m in enumerate(own)]  # type: ignore[index]
            local.append(tuple(each))
        return [lay(b, wires, local)]

    box = Local(name, grid, reads, lay_local, notes, light=True, salt=plan.salt, moves=True)
    parts = tuple([(n,) if r is None else r.sizes for n, r in zip(space.shape, ranges, strict=True)])
    wide = Tensor([sum(sizes) for sizes in parts], space.dtype)
    again = remembering(plan, lambda asked: moving(plan, name, space, asked, operands, lay))
    return box.result(wide, [dim.get(k) for k in range(space.ndim)], parts, again)


def _shown(x: Chunked | None, k: int, ax: Axis, ranges: Ranges | None) -> tuple[Ranges, list[Axis]] | None:
    """What ranges show along an axis; None for all of it."""
    if ranges is None and (x is None or len(x.parts[k]) == 1 or ax.m == ax.n_in):
        return None
    return _moves(ax, ranges or Ranges((0,), (ax.n_out,)))


def remembering(plan: Plan, again: Again) -> Again:
    """The same, which makes equal ranges once."""
    known: dict[Hashable, Chunked | None] = {}

    def found(asked: tuple[Ranges | None, ...]) -> Chunked | None:
        key = plan.salt, asked
        if key not in known:
            known[key] = again(asked)
        return known[key]

    return found


@rule(StridedCopy, cut="along any axis: local, from the positions that a block shows", exchanged="what lies in other blocks")
def _copied(plan: Plan, primitive: StridedCopy, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    return [move_of(plan, primitive, ins[0])]


def move_of(plan: Plan, primitive: StridedCopy, x: Chunked) -> Chunked:
    """What a move gives: as the rule of what made the array says, or each block from what it shows."""
    own = plan.moved[x](primitive) if x in plan.moved else None
    if own is not None:
        return own
    at = flipped_axis(primitive)
    if at is not None and ((x, at) in plan.flips or (x, at, plan.salt) in plan.flipped):
        return plan.flips.get((x, at)) or plan.flipped[x, at, plan.salt]
    sizes = [moved_sizes(ax, parts) for ax, parts in zip(primitive.axes, x.parts, strict=True)]
    made = copied(plan, primitive, x, cut_like(sizes))
    if at is not None:
        plan.flips[made, at] = x
        plan.flipped[x, at, plan.salt] = made
    return made


def flipped_axis(primitive: StridedCopy) -> int | None:
    """The axis that a move flips, if it does nothing else."""
    others = [k for k, ax in enumerate(primitive.axes) if not ax.is_whole]
    return others[0] if len(others) == 1 and primitive.axes[others[0]] == flipped(primitive.axes[others[0]].n_in) else None


def backwards(plan: Plan, x: Chunked, at: int) -> Chunked:
    """An array flipped along an axis."""
    return move_of(plan, StridedCopy(along(x.shape, at, flipped(x.shape[at])), 0.0), x)


def copied(plan: Plan, primitive: StridedCopy, x: Chunked, ranges: Sequence[Ranges | None]) -> Chunked:
    """Ranges of what a move gives."""

    def lay(b: Builder, wires: list[Wire], axes: list[tuple[Axis, ...]]) -> Wire:
        return moved_through(b, wires[0], axes[0], primitive.fill)

    return moving(plan, "move", primitive.typed((x.space,))[0], ranges, [Operand(x, primitive.axes)], lay)


def moved_through(b: Builder, x: Wire, axes: Sequence[Axis], fill: float) -> Wire:
    """The same as `moved`; of arrays after each other each is moved, where that leaves their axis as it is: compiled code then
    copies none of them."""
    box = next((box for box in reversed(b.boxes) if x.number in box.outs), None)
    if box is None or not isinstance(box.primitive, Concatenate) or not axes[box.primitive.axis].is_whole:
        return moved(b, x, axes, fill)
    at, parts = box.primitive.axis, [Wire(b, k, b.spaces[k]) for k in box.ins]
    each = [(*axes[:at], whole(part.shape[at]), *axes[at + 1 :]) for part in parts]
    return b.add(box.primitive, *[moved_through(b, part, own, fill) for part, own in zip(parts, each, strict=True)])[0]


@rule(Concatenate, cut="along its axis: blocks after each other, or moved into even ones; others: local", exchanged="edges")
def _concatenated(plan: Plan, primitive: Concatenate, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    at, (space,) = primitive.axis, outs
    operands, start = [], 0
    for x in ins:
        n = x.shape[at]
        operands.append(Operand(x, along(x.shape, at, axis(n, space.shape[at], 0, 1, start, 1, n))))
        start += n
    mixed = any(x.space.dtype != space.dtype for x in ins)

    def lay(b: Builder, wires: list[Wire], axes: list[tuple[Axis, ...]]) -> Wire:
        shown = [w for w, own in zip(wires, axes, strict=True) if mixed or own[at].m] or wires[:1]
        return shown[0] if len(shown) == 1 else b.add(Concatenate(at, len(shown)), *shown)[0]

    def again(asked: Sequence[Ranges | None]) -> Chunked:
        return moving(plan, "concatenate", space, asked, operands, lay)

    sizes = [max([x.parts[k] for x in ins], key=len) for k in range(space.ndim)]
    after = tuple([n for x in ins for n in x.parts[at]])
    alone = all(len(x.parts[at]) == 1 for x in ins) and any(x.is_cut or x.nbytes < LARGE for x in ins)
    sizes[at] = (space.shape[at],) if alone else _evened(after)
    fits = all(x.space.dtype == space.dtype and (*x.parts[:at], after, *x.parts[at + 1 :]) == tuple(sizes) for x in ins)
    if fits and not any(_moved_from(x) for x in ins):
        return [Chunked(space, tuple(sizes), Joined(at, tuple(ins)), again=remembering(plan, again))]
    same = [x.parts[at] for x in map(_moved_from, ins) if x is not None and x.shape == space.shape]
    sizes[at] = same[0] if same else sizes[at]
    return [again(cut_like(sizes))]


def _moved_from(x: Chunked) -> Chunked | None:
    """The array of which a box has moved entries."""
    source = x.source
    return source.reads[0].array if isinstance(source, Local) and source.moves else None


def _evened(sizes: Sizes) -> Sizes:
    """The same, where those that are far smaller than the largest one join their neighbours."""
    least, found = max(sizes) // 4, [0]
    for n in sizes:
        if min(n, found[-1]) > least:
            found.append(n)
        else:
            found[-1] += n
    return tuple(found)


def _moves(ax: Axis, ranges: Ranges) -> tuple[Ranges, list[Axis]]:
    """The ranges of the argument that ranges of the result show, and what moves each one into the other."""
    starts, stops, axes = [], [], []
    for low, high in zip(*ranges, strict=True):
        first = max(0, -((ax.c - low) // ax.t)) if ax.t else 0
        last = min(ax.m, -((ax.c - high) // ax.t))
        count = max(0, last - first)
        ends = (ax.a + ax.s * first, ax.a + ax.s * (first + count - 1)) if count else (0, -1)
        start, stop = min(ends), max(ends) + 1
        if not count:
            start = stop = 0
        starts.append(start)
        stops.append(stop)
        axes.append(axis(stop - start, high - low, ax.a + ax.s * first - start, ax.s, ax.c + ax.t * first - low, ax.t, count))
    return Ranges(tuple(starts), tuple(stops)), axes


def moved_sizes(ax: Axis, sizes: Sizes) -> Sizes:
    """How the result is cut: as the argument where it keeps its size, else where the edges of blocks come to lie."""
    if len(sizes) == 1 or not ax.m:
        return (ax.n_out,)
    if ax.n_in == ax.n_out and ax.s == ax.t:
        return sizes
    edges = []
    for edge in bounds(sizes)[1:-1]:
        k = (edge - ax.a) / ax.s
        edges.append(min(max(round(ax.c + ax.t * k + (1 if ax.s < 0 else 0)), 0), ax.n_out))
    return _without_empty(sizes_between([0, *sorted(edges), ax.n_out]))


def _without_empty(sizes: Sizes) -> Sizes:
    return tuple([n for n in sizes if n]) or (0,)
