"""Reading and writing at indices that are known when a program is laid out: views and moves, without index arrays.

An index array that follows from constants alone, such as the counters of a loop that runs all its steps at once, and that is
affine along its axes, says the same as a slice, or as windows. Derivatives then add windows, and scatter nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from catad.category.wiring import Wire
from catad.linear.families.contract import contract
from catad.linear.families.gather import Gathered, Indexing
from catad.linear.families.reindex import Axis, axis, moved, moved_along, reshaped, whole
from catad.linear.families.windows import Progression, Windowed, fits
from catad.vector.indexing.flat_index import FlatIndex
from catad.vector.indexing.keys import Along
from catad.vector.indexing.overwrite import Overwritten, OverwrittenAt
from catad.vector.indexing.static_numbers import known_numbers
from catad.vector.shapes.shape import flipped

if TYPE_CHECKING:
    from catad.category.wiring import Box, Builder


def gathered(b: Builder, how: Indexing, index: Wire, x: Wire) -> Wire:
    """What `Gathered` reads; in windows where the index is known to be affine and in range."""
    found = _progression(known_numbers(b, index), how.bins) if how.is_plain and how.by else None
    if found is None:
        return b.add(Gathered(how), index, x)[0]
    first, steps = found
    ends = [min(s, 0) * (n - 1) for s, n in zip(steps, index.shape, strict=True)]  # where an index goes down, windows go up
    terms = tuple([(how.dst.index(label), abs(s)) for label, s in zip(how.by, steps, strict=True)])
    shape = how.shape(how.dst)
    own = Progression(first + sum(ends), terms)
    if not fits(own, shape):
        return b.add(Gathered(how), index, x)[0]
    if len(steps) == 1:
        return _sliced(b, how, x, axis(how.bins, index.shape[0], first, steps[0], 0, 1, index.shape[0]))
    axes = [own if label == how.src[how.axis] else Progression(0, ((how.dst.index(label), 1),)) for label in how.src]
    (made,) = b.add(Windowed(tuple(axes), shape), x)
    turned = {how.dst.index(label) for label, s in zip(how.by, steps, strict=True) if s < 0}
    return moved(b, made, [flipped(n) if k in turned else whole(n) for k, n in enumerate(shape)])


def _sliced(b: Builder, how: Indexing, x: Wire, ax: Axis) -> Wire:
    """The reading by an index array with one axis, as a slice."""
    cut = moved_along(b, x, how.axis, ax)
    labels = [how.by[0] if k == how.axis else label for k, label in enumerate(how.src)]
    return contract(b, [tuple(labels)], [cut], how.dst, how.sizes)


def _progression(numbers: Any, bins: int) -> tuple[int, list[int]] | None:
    """The first of some indices in range and their step along each axis, none of it zero; None where they are not affine."""
    if numbers is None or not numbers.size or numbers.min() < 0 or numbers.max() >= bins:
        return None
    first = int(numbers.reshape(-1)[0])
    steps = []
    for k, n in enumerate(numbers.shape):
        second = tuple([int(j == k) for j in range(numbers.ndim)])
        steps.append(int(numbers[second]) - first if n > 1 else 1)
    if 0 in steps or not np.array_equal(numbers, _affine(first, steps, numbers.shape)):
        return None
    return first, steps


def _affine(first: int, steps: list[int], shape: tuple[int, ...]) -> Any:
    made = np.full((1,) * len(shape), first)
    for k, s in enumerate(steps):
        made = made + s * np.arange(shape[k]).reshape([-1 if j == k else 1 for j in range(len(shape))])
    return made


def overwritten_at(b: Builder, how: Indexing, index: Wire, x: Wire, values: Wire) -> Wire:
    """What `OverwrittenAt` gives at indices that differ; a move where each axis of a flat index is known to be a progression."""
    found = overwritten_where_known(b, how, index, x, values)
    return b.add(OverwrittenAt(how), index, x, values)[0] if found is None else found


def overwritten_where_known(b: Builder, how: Indexing, index: Wire, x: Wire, values: Wire) -> Wire | None:
    """The move of values to the places of a flat index, where these are known and differ; else None."""
    box = next((box for box in reversed(b.boxes) if index.number in box.outs), None)
    flat = box.primitive if box is not None and isinstance(box.primitive, FlatIndex) else None
    moves = _moves(b, flat, box, how) if flat is not None and box is not None else None
    if moves is None or set(how.dst) != {*how.src, *how.by} - {how.src[how.axis]}:
        return None
    axes, labels = moves
    order = [one for k, label in enumerate(how.src) for one in (labels if k == how.axis else [label])]
    values = contract(b, [how.dst], [values], tuple([label for label in order if label is not None]), how.sizes)
    values = reshaped(b, values, [1 if label is None else how.sizes[label] for label in order])
    before, after = how.shape(how.src[: how.axis]), how.shape(how.src[how.axis + 1 :])
    full = [*[whole(n) for n in before], *axes, *[whole(n) for n in after]]
    if all(ax.m == ax.n_out for ax in full):
        made = moved(b, values, full)
    else:
        made = b.add(Overwritten(tuple(full)), reshaped(b, x, [ax.n_out for ax in full]), values)[0]
    return reshaped(b, made, x.shape)


def _moves(b: Builder, flat: FlatIndex, box: Box, how: Indexing) -> tuple[list[Axis], list[int | None]] | None:
    """The moves of a flat index along its axes, and the label of each, None for one place; None where they are not known."""
    counts = len(flat.counts)
    labels, slices = list(how.by[: len(how.by) - counts]), iter(how.by[len(how.by) - counts :])
    given = iter(box.ins)
    axes, own = list[Axis](), list[int | None]()
    for along in flat.axes:
        if along.kind == "slice":
            axes.append(axis(along.length, along.size, 0, 1, along.start, along.step, along.length))
            own.append(next(slices))
            continue
        found = (along.start, None, 0) if along.kind == "index" else _one_axis(b, next(given), along, labels)
        if found is None:
            return None
        start, label, step = found
        n = 1 if label is None else how.sizes[label]
        axes.append(axis(n, along.size, 0, 1, start, step, n))
        own.append(label)
    there = [label for label in own if label is not None]
    return (axes, own) if sorted(there) == sorted(how.by) else None


def _one_axis(b: Builder, k: int, along: Along, labels: list[int]) -> tuple[int, int | None, int] | None:
    """The start, the label and the step of an index that moves along one axis; its axes have the last of those labels."""
    numbers = known_numbers(b, Wire(b, k, b.spaces[k]))
    if numbers is None or not numbers.size or numbers.min() < -along.size or numbers.max() >= along.size:
        return None
    numbers = np.where(numbers < 0, numbers + along.size, numbers)
    moving = [j for j, n in enumerate(numbers.shape) if n > 1]
    found = _progression(numbers.reshape(-1), along.size) if len(moving) <= 1 else None
    if found is None:
        return None
    label = labels[len(labels) - numbers.ndim + moving[0]] if moving else None
    return found[0], label, found[1][0] if moving else 0
