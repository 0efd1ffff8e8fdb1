"""Boxes that move entries: slices, flips, shifts, pads. A block of the result reads the positions that it shows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from catad.category.spaces import Tensor
from catad.chunks.parts import Ranges, Sizes, Window, bounds, ranges_of, sizes_between
from catad.chunks.plan import Plan
from catad.chunks.rules.table import rule
from catad.chunks.wires import At, Chunked, Local
from catad.linear.families.reindex import Axis, StridedCopy, axis, moved

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


@rule(StridedCopy, cut="along any axis: local, from the positions that a block shows", exchanged="what lies in other blocks")
def _copied(plan: Plan, primitive: StridedCopy, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    (x,) = ins
    ranges = [ranges_of(_sizes(ax, sizes)) for ax, sizes in zip(primitive.axes, x.parts, strict=True)]
    return [copied(plan, primitive, x, [None if len(r.starts) == 1 else r for r in ranges])]


def copied(plan: Plan, primitive: StridedCopy, x: Chunked, ranges: Sequence[Ranges | None]) -> Chunked:
    """Ranges of the result along each axis, None for all of it."""
    moves = [None if r is None else _moves(ax, r) for ax, r in zip(primitive.axes, ranges, strict=True)]
    cut = [k for k, r in enumerate(ranges) if r is not None and len(r.starts) > 1]
    order = sorted(cut, key=lambda k: (len(ranges[k].starts), ranges[k]))  # type: ignore[union-attr]
    dim = {k: d for d, k in enumerate(order)}
    windows: list[Window | None] = []
    notes: list[Sequence[Hashable]] = [()] * len(order)
    fixed: dict[int, Axis] = {}
    for k, own in enumerate(moves):
        if own is None:
            fixed[k] = primitive.axes[k]
            windows.append(None)
        elif k in dim:
            windows.append(Window(dim[k], own[0]))
            notes[dim[k]] = own[1]
        else:
            fixed[k] = own[1][0]
            windows.append(Window(None, own[0]))

    def lay(b: Builder, wires: list[Wire], at: At) -> Sequence[Wire]:
        axes = [at.notes[dim[k]] if k in dim else fixed[k] for k in range(x.ndim)]
        return [moved(b, wires[0], axes, primitive.fill)]  # type: ignore[arg-type]

    grid = tuple([ranges[k].sizes for k in order])  # type: ignore[union-attr]
    box = Local("move", grid, [plan.read(x, windows)], lay, notes, light=True, salt=plan.salt)
    parts = tuple([grid[dim[k]] if k in dim else (fixed[k].n_out,) for k in range(x.ndim)])
    space = Tensor([sum(sizes) for sizes in parts], x.space.dtype)
    return box.result(space, [dim.get(k) for k in range(x.ndim)], parts, lambda asked: copied(plan, primitive, x, asked))


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


def _sizes(ax: Axis, sizes: Sizes) -> Sizes:
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
