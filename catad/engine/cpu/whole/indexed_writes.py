"""Boxes that write where an index array says, and positions from index arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import numpy as np

from catad.category.spaces import Tensor
from catad.engine.cpu.nests.levels import SHORT, in_levels
from catad.engine.cpu.whole.text import Buffer, Text
from catad.engine.stages.layout import strides_of
from catad.engine.text.numbers import add, cast, load, store
from catad.linear.families.clear import ClearedAt
from catad.linear.families.gather import Indexing, ScatterAdded
from catad.scalar.printing.llvm_writer import literal
from catad.vector.indexing.flat_index import FlatIndex
from catad.vector.indexing.gather import Within
from catad.vector.indexing.keys import Along
from catad.vector.indexing.overwrite import AddedAt, OverwrittenAt
from catad.vector.loops.converged import Converged

Array = tuple[Buffer, Tensor]
_INT, _DOUBLE = np.dtype(np.int64), np.dtype(np.float64)


@contextmanager
def _written(
    text: Text, how: Indexing, index: Array, goals: Sequence[Array], part: tuple[str, str] | None = None
) -> Iterator[tuple[dict[int, str], list[str]]]:
    """Loops over all that an index array says, or a part of its first axis, inside of arrays of one shape.

    They give the labels' indices and the address in each array.
    """
    w = text.w
    rest = [label for label in how.dst if label not in how.by]
    axes = [label for k, label in enumerate(how.src) if k != how.axis]
    steps = [strides_of(space) for _, space in goals]
    others = [[step for k, step in enumerate(own) if k != how.axis] for own in steps]
    along = min([own[how.axis] for own in steps])
    lines_first = rest and all(along < step for own in others for step in own)  # places of a line lie nearer than lines
    with ExitStack() as loops:

        def over(sizes: Sequence[int]) -> list[str]:
            return loops.enter_context(text.each(sizes))

        others_of = [how.sizes[label] for label in rest]
        more = over(others_of) if lines_first else []
        sizes = [how.sizes[label] for label in how.by]
        found = over(sizes) if part is None else [loops.enter_context(w.each(*part)), *over(sizes[1:])]
        read = load(w, text.at(index[0].pointer, found, strides_of(index[1])), index[1].dtype)
        at = cast(w, read, index[1].dtype, _INT)
        loops.enter_context(w.where(w.set(f"icmp ult i64 {at}, {how.bins}")))
        more = more if lines_first else over(others_of)
        own = dict(zip((*how.by, *rest), (*found, *more), strict=True))
        lines = [text.at(goal.pointer, [at], [own[how.axis]]) for (goal, _), own in zip(goals, steps, strict=True)]
        there = [own[label] for label in axes]
        yield own, [text.at(line, there, other) for line, other in zip(lines, others, strict=True)]


def _value(text: Text, how: Indexing, values: Array) -> Callable[[dict[int, str]], str]:
    steps = strides_of(values[1])

    def read(own: dict[int, str]) -> str:
        return load(text.w, text.at(values[0].pointer, [own[label] for label in how.dst], steps), values[1].dtype)

    return read


def overwritten_at(text: Text, box: OverwrittenAt, read: Sequence[Array], made: Sequence[Array]) -> None:
    """Write an `OverwrittenAt`, in place where the result lies where the argument does."""
    (index, x, values), (goal,) = read, made
    text.copy(x[0].pointer, goal[0].pointer, goal[1].nbytes)
    value = _value(text, box.how, values)
    with _written(text, box.how, index, [goal]) as (own, (at,)):
        store(text.w, value(own), at, goal[1].dtype)


def cleared_at(text: Text, box: ClearedAt, read: Sequence[Array], made: Sequence[Array]) -> None:
    """Write a `ClearedAt`, in place where the result lies where the argument does."""
    (index, x), (goal,) = read, made
    text.copy(x[0].pointer, goal[0].pointer, goal[1].nbytes)
    with _written(text, box.how, index, [goal]) as (_, (at,)):
        store(text.w, literal(0, goal[1].dtype), at, goal[1].dtype)


def _added(text: Text, how: Indexing, index: Array, values: Array, goal: Array) -> None:
    w, dtype, value = text.w, goal[1].dtype, _value(text, how, values)
    if how.by and dtype.itemsize < 8 and dtype.kind == "f":
        _added_in_double(text, how, index, values, goal)
        return

    def more(into: Array, part: tuple[str, str] | None = None) -> None:
        with _written(text, how, index, [into], part) as (own, (at,)):
            old = load(w, at, dtype)
            new = w.set(f"or i1 {old}, {value(own)}") if dtype.kind == "b" else add(w, dtype, old, value(own))
            store(w, new, at, dtype)

    elements = math.prod([how.sizes[label] for label in how.by])
    if not how.by or dtype.kind != "f" or elements <= SHORT * how.bins:
        more(goal)
        return
    rows = how.sizes[how.by[0]]
    unit = max(1, SHORT * how.bins * rows // elements)

    def apart() -> Array:
        sums = text.buffer(goal[1])
        text.clear(sums.pointer, goal[1].nbytes)
        return sums, goal[1]

    def fold(begin: str, end: str, into: Array) -> None:
        more(into, (begin, end))

    in_levels(w, rows, unit, goal, fold, apart, lambda sums, into: _joined(text, sums[0], into), lambda sums: text.free(sums[0]))


def _joined(text: Text, sums: Buffer, into: Array) -> None:
    """Adds sums to what stands in an array, and leaves zeros."""
    w, dtype = text.w, into[1].dtype
    with text.each([into[1].size]) as found:
        own, goal = (text.at(place, found, [dtype.itemsize]) for place in (sums.pointer, into[0].pointer))
        store(w, add(w, dtype, load(w, goal, dtype), load(w, own, dtype)), goal, dtype)
        store(w, literal(0.0, dtype), own, dtype)


def _added_in_double(text: Text, how: Indexing, index: Array, values: Array, goal: Array) -> None:
    """The values of each place are added up in double precision, and their sum once to what stands there.

    Only places that values go to are touched. A sum that has been added is -0.0 from then on, which leaves a number as it is.
    """
    w, dtype, value = text.w, goal[1].dtype, _value(text, how, values)
    space = Tensor(goal[1].shape, _DOUBLE)
    sums = text.buffer(space)
    with _written(text, how, index, [(sums, space)]) as (_, (at,)):
        store(w, literal(0.0, _DOUBLE), at, _DOUBLE)
    with _written(text, how, index, [(sums, space)]) as (own, (at,)):
        number = cast(w, value(own), dtype, _DOUBLE)
        store(w, add(w, _DOUBLE, load(w, at, _DOUBLE), number), at, _DOUBLE)
    with _written(text, how, index, [(sums, space), goal]) as (_, (at, to)):
        total = cast(w, load(w, at, _DOUBLE), _DOUBLE, dtype)
        store(w, add(w, dtype, load(w, to, dtype), total), to, dtype)
        store(w, literal(-0.0, _DOUBLE), at, _DOUBLE)
    text.free(sums)


def added_at(text: Text, box: AddedAt, read: Sequence[Array], made: Sequence[Array]) -> None:
    """Write an `AddedAt`, in place where the result lies where the argument does."""
    (index, x, values), (goal,) = read, made
    text.copy(x[0].pointer, goal[0].pointer, goal[1].nbytes)
    _added(text, box.how, index, values, goal)


def scatter_added(text: Text, box: ScatterAdded, read: Sequence[Array], made: Sequence[Array]) -> None:
    """Write a `ScatterAdded`."""
    (index, values), (goal,) = read, made
    text.clear(goal[0].pointer, goal[1].nbytes)
    _added(text, box.how, index, values, goal)


def flat_index(text: Text, box: FlatIndex, read: Sequence[Array], made: Sequence[Array]) -> None:
    """Write a `FlatIndex`; an index out of range makes the array code run, which raises, and is the last one until then."""
    w, (goal, space), counts = text.w, made[0], len(box.counts)
    bins = math.prod([axis.size for axis in box.axes])
    inside = bins and all(map(_is_inside, box.axes))
    with text.each(space.shape) as found:
        given, slices, flat = iter(read), 0, "0"
        for axis in box.axes:
            if axis.kind == "argument":
                at = _from_the_front(text, next(given), found[: len(found) - counts], axis.size)
            elif axis.kind == "index":
                at = str(axis.start)
            else:
                i = found[len(found) - counts + slices]
                at, slices = w.set(f"add i64 {axis.start}, {w.set(f'mul i64 {i}, {axis.step}')}"), slices + 1
            flat = at if flat == "0" else w.set(f"add i64 {w.set(f'mul i64 {flat}, {axis.size}')}, {at}")
        if inside:  # whoever reads the array at this position need not look whether it is in there
            w.support["assume"] = "declare void @llvm.assume(i1)"
            w.do(f"call void @llvm.assume(i1 {w.set(f'icmp ult i64 {flat}, {bins}')})")
        store(w, flat, text.at(goal.pointer, found, strides_of(space)), _INT)


def _is_inside(axis: Along) -> bool:
    """True where all positions along an axis are in it; those of index arrays are made so."""
    ends = {"argument": (), "index": (axis.start,), "slice": (axis.start, axis.start + axis.step * (axis.length - 1))}
    return all(0 <= at < axis.size for at in ends[axis.kind])


def in_range(text: Text, box: Within, read: Sequence[Array], made: Sequence[Array]) -> None:
    """Write a check of integers; an integer out of range makes the array code run, which raises."""
    w, (index, space) = text.w, read[0]
    text.copy(index.pointer, made[0][0].pointer, space.nbytes)
    with text.each([space.size]) as found:
        position = cast(w, load(w, text.at(index.pointer, found, [space.dtype.itemsize]), space.dtype), space.dtype, _INT)
        if box.least:
            position = w.set(f"sub i64 {position}, {box.least}")
        text.fail(w.set(f"icmp uge i64 {position}, {box.size}"))


def converged(text: Text, box: Converged, read: Sequence[Array], made: Sequence[Array]) -> None:
    """Write a check of flags; one that is false makes the array code run, which raises."""
    w, (flag, space) = text.w, read[0]
    with text.each([space.size]) as found:
        text.fail(w.set(f"icmp eq i8 {w.set(f'load i8, ptr {text.at(flag.pointer, found, [1])}')}, 0"))
    store(w, "0", made[0][0].pointer, _INT)


def _from_the_front(text: Text, array: Array, found: Sequence[str], size: int) -> str:
    """An index counted from the front, in range."""
    w, (buffer, space) = text.w, array
    own = found[len(found) - space.ndim :]
    steps = [0 if n == 1 else step for n, step in zip(space.shape, strides_of(space), strict=True)]
    index = cast(w, load(w, text.at(buffer.pointer, own, steps), space.dtype), space.dtype, _INT)
    below = w.set(f"icmp slt i64 {index}, 0")
    front = w.set(f"select i1 {below}, i64 {w.set(f'add i64 {index}, {size}')}, i64 {index}")
    text.fail(w.set(f"icmp uge i64 {front}, {size}"))
    return w.intrinsic("llvm.umin.i64", "i64", f"i64 {front}", f"i64 {size - 1}") if size else front
