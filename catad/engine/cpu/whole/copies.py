"""Boxes that move entries to places that are known: slices, concatenations, writes into a region."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from catad.category.spaces import Tensor
from catad.engine.cpu.whole.text import Arrays, Buffer, Laid, Text
from catad.engine.stages.layout import strides_of
from catad.engine.text.numbers import add, load, store
from catad.linear.families.clear import Cleared
from catad.linear.families.reindex import Axis, StridedCopy
from catad.linear.families.windows import Windowed
from catad.vector.folds.fold import Fold
from catad.vector.indexing.overwrite import Added, Overwritten
from catad.vector.shapes.shape import Concatenate


def _sides(axes: Sequence[Axis], source: tuple[Buffer, Tensor], goal: tuple[Buffer, Tensor]) -> tuple[Laid, Laid]:
    """What is read and what is written, over the entries that move."""
    own, into = strides_of(source[1]), strides_of(goal[1])
    start = sum([ax.a * step for ax, step in zip(axes, own, strict=True)])
    end = sum([ax.c * step for ax, step in zip(axes, into, strict=True)])
    steps = [ax.s * step for ax, step in zip(axes, own, strict=True)]
    strides = [ax.t * step for ax, step in zip(axes, into, strict=True)]
    return Laid(source[0].pointer, start, steps, source[1].dtype), Laid(goal[0].pointer, end, strides, goal[1].dtype)


def strided_copy(text: Text, box: StridedCopy, read: Arrays, made: Arrays) -> None:
    """Write a `StridedCopy`."""
    (source,), (goal,) = read, made
    if any(ax.m != ax.n_out for ax in box.axes):
        text.fill(goal[0].pointer, goal[1], box.fill)
    text.move([ax.m for ax in box.axes], *_sides(box.axes, source, goal))


def windowed(text: Text, box: Windowed, read: Arrays, made: Arrays) -> None:
    """Write a `Windowed`."""
    (source, own), (goal, space) = read[0], made[0]
    steps, offset = [0] * space.ndim, 0
    for stride, (a, terms) in zip(strides_of(own), box.axes, strict=True):
        offset += a * stride
        for k, s in terms:
            steps[k] += s * stride
    there = Laid(source.pointer, offset, steps, own.dtype)
    text.move(space.shape, there, Laid(goal.pointer, 0, strides_of(space), space.dtype))


def overwritten(text: Text, box: Overwritten, read: Arrays, made: Arrays) -> None:
    """Write an `Overwritten`, in place where the result lies where the argument does."""
    (x, values), (goal,) = read, made
    text.copy(x[0].pointer, goal[0].pointer, goal[1].nbytes)
    text.move([ax.m for ax in box.axes], *_sides(box.axes, values, goal))


def added(text: Text, box: Added, read: Arrays, made: Arrays) -> None:
    """Write an `Added`, in place where the result lies where the argument does."""
    (x, values), (goal, space) = read, made[0]
    text.copy(x[0].pointer, goal.pointer, space.nbytes)
    source, there = _sides(box.axes, values, (goal, space))
    with text.each([ax.m for ax in box.axes]) as index:
        more = load(text.w, text.at(source.pointer, index, source.strides, source.offset), space.dtype)
        place = text.at(there.pointer, index, there.strides, there.offset)
        store(text.w, add(text.w, space.dtype, load(text.w, place, space.dtype), more), place, space.dtype)


def cleared(text: Text, box: Cleared, read: Arrays, made: Arrays) -> None:
    """Write a `Cleared`, in place where the result lies where the argument does."""
    (x,), (goal, space) = read, made[0]
    text.copy(x[0].pointer, goal.pointer, space.nbytes)
    steps = strides_of(space)
    offset = sum([run.start * step for run, step in zip(box.region, steps, strict=True)])
    strides = [run.step * step for run, step in zip(box.region, steps, strict=True)]
    zero = Laid(text.zero(space.dtype), 0, [0] * len(steps), space.dtype)
    text.move([run.length for run in box.region], zero, Laid(goal.pointer, offset, strides, space.dtype))


def concatenate(text: Text, box: Concatenate, read: Arrays, made: Arrays) -> None:
    """Write a `Concatenate`."""
    (goal, space), offset = made[0], 0
    strides = strides_of(space)
    for source, own in read:
        part = Laid(source.pointer, 0, strides_of(own), own.dtype)
        text.move(own.shape, part, Laid(goal.pointer, offset, strides, space.dtype))
        offset += own.shape[box.axis] * strides[box.axis]


def offset_of(box: Any, space: Tensor) -> int | None:
    """The bytes after which a slice begins that lies contiguously in its argument; None where it does not."""
    if not isinstance(box, StridedCopy) or any(ax.m != ax.n_out or ax.s != 1 for ax in box.axes if ax.m != 1):
        return None
    if any(ax.m != ax.n_out for ax in box.axes):
        return None
    cut = [k for k, ax in enumerate(box.axes) if ax.m != ax.n_in]
    if cut and math.prod([ax.m for ax in box.axes[: cut[-1]]]) != 1:
        return None
    return sum([ax.a * step for ax, step in zip(box.axes, strides_of(space), strict=True)])


def fold_of_nothing(text: Text, box: Fold, read: Arrays, made: Arrays) -> None:
    """Write a `Fold` along an axis of no entries: neutral elements."""
    for (goal, space), neutral in zip(made, box.monoid.neutral, strict=True):
        text.fill(goal.pointer, space, neutral)
