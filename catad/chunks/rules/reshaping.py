"""The same entries in other axes. Axes fall into groups with as many entries before as after; each group is cut for itself.

A group that is cut along its first axis stays local where the edges of its blocks are multiples of the rows after; else they are
rounded to these. One that is cut along a later axis has a block for each index of the axes before, if these are few. All else is
cut anew along the first axis, and a block reads what it needs from others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from catad.category.boxes import Primitive
from catad.category.spaces import Tensor
from catad.chunks.parts import Ranges, Sizes, Window, bounds, in_order, ranges_of, sizes_between
from catad.chunks.plan import Plan
from catad.chunks.rules.moves import remembering
from catad.chunks.rules.table import rule, rule_of
from catad.chunks.wires import At, Chunked, Local
from catad.linear.families.reindex import Reshaped, StridedCopy, along, axis, reshaped
from catad.vector.shapes.shape import Concatenate

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

FEW = 16  # indices of the axes before one that is cut, up to which each of them has blocks of its own


class Group(NamedTuple):
    """Axes of the argument and axes of the result that have the same entries, none of size 1; and the sizes of both."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    own: tuple[int, ...]
    new: tuple[int, ...]

    @property
    def rows(self) -> tuple[int, int]:
        """The entries at one index of the first axis, before and after."""
        return math.prod(self.own[1:]), math.prod(self.new[1:])


class Cut(NamedTuple):
    """The ranges along the first axis of a group of the result, and the ranges of each axis of the argument that they show."""

    after: Ranges
    before: tuple[Ranges | None, ...]


def groups(before: Sequence[int], after: Sequence[int]) -> list[Group]:
    """The least groups of axes; axes of size 1 are in none.

    >>> [(one.own, one.new) for one in groups((2, 3, 1, 4), (6, 2, 2))]
    [((2, 3), (6,)), ((4,), (2, 2))]
    """
    ins, outs = [[k for k, n in enumerate(shape) if n != 1] for shape in (before, after)]
    found = []
    while ins:
        own, new = [ins.pop(0)], [outs.pop(0)]
        while (left := math.prod([before[k] for k in own])) != (right := math.prod([after[k] for k in new])):
            if left < right:
                own.append(ins.pop(0))
            else:
                new.append(outs.pop(0))
        found.append(Group(tuple(own), tuple(new), tuple([before[k] for k in own]), tuple([after[k] for k in new])))
    return found


@rule(
    Reshaped,
    cut="the first axis of some that are merged or split: local, edges at rows; a later one of few rows: local; else cut anew",
    exchanged="edges; what lies in other blocks",
)
def _reshaped(plan: Plan, primitive: Reshaped, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    (x,), (space,) = ins, outs
    if not space.size:
        return _on_one(plan, x, space)
    own = groups(x.shape, space.shape)
    cuts = [_cut(group, [x.parts[k] for k in group.before]) for group in own]
    for group, cut in zip(own, cuts, strict=True):
        if _has_long_rows(group, cut, x.parts[group.before[0]]):
            return _row_by_row(plan, x, space, group)
    if not any(cuts) and any(sum(n > 0 for n in sizes) > 1 for sizes in x.parts):
        return plan.on_whole(primitive, ins, outs, "no edge of blocks is one of rows of the result")
    return [_made(plan, x, space, own, cuts)]


def _has_long_rows(group: Group, cut: Cut | None, sizes: Sizes) -> bool:
    """Whether few rows of the result, in which blocks would be much longer than before, are slices of the argument."""
    (rows, new), few = group.rows, group.new[0]
    if len(sizes) == 1 or few > FEW or group.own[0] % few:
        return False
    return (max(cut.after.sizes) if cut else few) * new > 2 * max(sizes) * rows


def _row_by_row(plan: Plan, x: Chunked, space: Tensor, group: Group) -> Sequence[Chunked]:
    """The rows of a result, each reshaped, after each other."""
    (at, to), count = (group.before[0], group.after[0]), group.new[0]
    n = group.own[0] // count

    def one(box: Primitive, ins: Sequence[Chunked]) -> Sequence[Chunked]:
        return rule_of(box)(plan, box, ins, box.typed(tuple([x.space for x in ins])))

    made: list[Chunked] = []
    for k in range(count):
        row = one(StridedCopy(along(x.shape, at, axis(group.own[0], n, n * k, 1, 0, 1, n))), [x])
        made += one(Reshaped((*space.shape[:to], 1, *space.shape[to + 1 :])), row)
    return one(Concatenate(to, count), made)


def _on_one(plan: Plan, x: Chunked, space: Tensor) -> Sequence[Chunked]:
    """An array without entries."""
    ins, outs = [(x, [None] * x.ndim)], [(space, [None] * space.ndim)]
    return plan.labelled("reshape", ins, outs, lambda b, wires, sizes: [reshaped(b, wires[0], space.shape)])[0]


def _cut(group: Group, parts: Sequence[Sizes]) -> Cut | None:
    """How a group is cut; None where it is in one block."""
    cut = [k for k, sizes in enumerate(parts) if len(sizes) > 1]
    if not cut:
        return None
    last, new = cut[0], group.rows[1]
    inner = math.prod(group.own[last + 1 :])
    if len(cut) > 1 or not last or math.prod(group.own[:last]) > FEW or inner % new:
        return _along_first(group, parts)
    indices = list(itertools.product(*map(range, group.own[:last])))
    step, own = group.own[last] * inner, ranges_of(parts[last])
    edges = [[(n * step + k * inner) // new for n in range(len(indices)) for k in ends] for ends in own]
    each = [index for index in indices for _ in own.starts]
    before = [Ranges(tuple([i[k] for i in each]), tuple([i[k] + 1 for i in each])) for k in range(last)]
    before.append(Ranges(own.starts * len(indices), own.stops * len(indices)))
    return Cut(Ranges(tuple(edges[0]), tuple(edges[1])), (*before, *[None] * (len(group.own) - last - 1)))


def _along_first(group: Group, parts: Sequence[Sizes]) -> Cut | None:
    """Cut along the first axis: near the edges there, or in as many blocks as there are."""
    rows, new = group.rows
    step = math.lcm(rows, new)
    size = rows * group.own[0]
    edges: Sequence[float]
    if len(parts[0]) > 1:
        edges = [edge * rows for edge in bounds(parts[0])]
    else:
        count = math.prod([len(sizes) for sizes in parts])
        edges = [size * k / count for k in range(count + 1)]
    last = max(size - step, step)
    near = sorted({min(max(round(edge / step) * step, step), last) for edge in edges[1:-1]} | {0, size})
    if len(near) == 2:
        return None
    return _of_ranges(group, ranges_of(sizes_between([edge // new for edge in near])))


def _of_ranges(group: Group, ranges: Ranges) -> Cut | None:
    """What ranges along the first axis of the result show; None where they end within rows of the argument."""
    rows, new = group.rows
    if any(k * new % rows for edges in ranges for k in edges):
        return None
    starts, stops = [tuple([k * new // rows for k in edges]) for edges in ranges]
    return Cut(ranges, (Ranges(starts, stops), *[None] * (len(group.own) - 1)))


def _made(plan: Plan, x: Chunked, space: Tensor, own: Sequence[Group], cuts: Sequence[Cut | None]) -> Chunked:
    """The result with groups that are cut in some way."""
    many = {k: cut.after for k, cut in enumerate(cuts) if cut is not None and len(cut.after.starts) > 1}
    order = in_order(many)
    dim = {k: d for d, k in enumerate(order)}
    windows: list[Window | None] = [None] * x.ndim
    parts: list[Sizes] = [(n,) for n in space.shape]
    dims: list[int | None] = [None] * space.ndim
    for k, (group, cut) in enumerate(zip(own, cuts, strict=True)):
        if cut is not None:
            for at, ranges in zip(group.before, cut.before, strict=True):
                windows[at] = None if ranges is None else Window(dim.get(k), ranges)
            dims[group.after[0]], parts[group.after[0]] = dim.get(k), cut.after.sizes

    def lay(b: Builder, wires: list[Wire], at: At) -> Sequence[Wire]:
        shape = [sizes[0] if d is None else at.sizes[d] for sizes, d in zip(parts, dims, strict=True)]
        return [reshaped(b, wires[0], shape)]

    def again(asked: tuple[Ranges | None, ...]) -> Chunked | None:
        first = {group.after[0] for group in own}
        if any(r is not None and k not in first for k, r in enumerate(asked)):
            return None
        new = [(group, asked[group.after[0]]) for group in own]
        found = [None if ranges is None else _of_ranges(group, ranges) for group, ranges in new]
        if any(cut is None and ranges is not None for cut, (_, ranges) in zip(found, new, strict=True)):
            return None
        return _made(plan, x, space, own, found)

    grid = tuple([many[k].sizes for k in order])
    box = Local("reshape", grid, [plan.read(x, windows)], lay, light=True, salt=plan.salt, moves=True)
    plan.note_gathered("reshape", box.reads)
    return box.result(Tensor([sum(sizes) for sizes in parts], space.dtype), dims, tuple(parts), remembering(plan, again))
