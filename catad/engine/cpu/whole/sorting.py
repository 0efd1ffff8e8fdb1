"""Boxes of positions within a whole program: orders, positions in sorted arrays, last writers, numbers of segments."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from catad.category.spaces import Tensor
from catad.engine.cpu.whole.program import WRITERS
from catad.engine.cpu.whole.text import Buffer, Text
from catad.engine.stages.layout import strides_of
from catad.engine.text.numbers import cast, load, store
from catad.scalar.printing.llvm_writer import llvm_type
from catad.simt.one_writer import OneWriter
from catad.simt.phases import Apart
from catad.support.current_engine import every_call
from catad.vector.bins.searchsorted import SortedPositions
from catad.vector.bins.sort import StableOrder
from catad.vector.bins.sorted_bins import SortByBin
from catad.vector.folds.array_operator import Lawful
from catad.vector.indexing.gather import LastWriter
from catad.vector.indexing.overwrite import LastOnly
from catad.vector.loops.loop import Waiting
from catad.vector.scans.segmented import NumberedByFlags, NumberedByLengths

Array = tuple[Buffer, Tensor]
_INT = np.dtype(np.int64)


class _Line:
    """An array along one axis: where it begins, how far apart numbers lie, and their dtype."""

    def __init__(self, text: Text, pointer: str, stride: int, dtype: np.dtype[Any]) -> None:
        self.text, self.pointer, self.stride, self.dtype = text, pointer, stride, dtype

    def load(self, at: str) -> str:
        """A number."""
        return load(self.text.w, self.text.at(self.pointer, [at], [self.stride]), self.dtype)

    def integer(self, at: str) -> str:
        """A number as an integer of 64 bits."""
        return cast(self.text.w, self.load(at), self.dtype, _INT)

    @contextmanager
    def inside(self, at: str, size: int) -> Iterator[str]:
        """What is written inside runs where a number, the value here, is one of the first `size` positions."""
        found = self.integer(at)
        with self.text.w.where(self.text.w.set(f"icmp ult i64 {found}, {size}")):
            yield found

    def store(self, value: str, at: str) -> None:
        """Write a number."""
        store(self.text.w, value, self.text.at(self.pointer, [at], [self.stride]), self.dtype)


@contextmanager
def _lines(text: Text, axis: int, arrays: Sequence[Array]) -> Iterator[list[_Line]]:
    """Loops over all axes but one, which arrays have in common; the line of each array."""
    with text.each([n for k, n in enumerate(arrays[0][1].shape) if k != axis]) as found:
        lines = []
        for buffer, space in arrays:
            steps = strides_of(space)
            place = text.at(buffer.pointer, found, [*steps[:axis], *steps[axis + 1 :]])
            lines.append(_Line(text, place, steps[axis], space.dtype))
        yield lines


def _room(text: Text, n: int) -> tuple[Buffer, _Line]:
    buffer = text.buffer(Tensor((n,), _INT))
    return buffer, _Line(text, buffer.pointer, _INT.itemsize, _INT)


def _less(text: Text, dtype: np.dtype[Any], a: str, b: str) -> str:
    """`a < b`, where NaN stands behind all numbers."""
    w, kind = text.w, llvm_type(dtype)
    if dtype.kind != "f":
        return w.set(f"icmp {'slt' if dtype.kind == 'i' else 'ult'} {kind} {a}, {b}")
    below, real = w.set(f"fcmp olt {kind} {a}, {b}"), w.set(f"fcmp ord {kind} {a}, {a}")
    behind = w.set(f"and i1 {w.set(f'fcmp uno {kind} {b}, {b}')}, {real}")
    return w.set(f"or i1 {below}, {behind}")


def _found(text: Text, count: str, before: Callable[[str], str]) -> str:
    """How many of so many numbers in their order stand before a place: a search by halves."""
    w, low, many = text.w, text.w.slot("i64", start="0"), text.w.slot("i64", start=count)
    with w.repeated(lambda: w.set(f"icmp sgt i64 {w.set(f'load i64, ptr {many}')}, 0")):
        begin, left = w.set(f"load i64, ptr {low}"), w.set(f"load i64, ptr {many}")
        half = w.set(f"lshr i64 {left}, 1")
        middle = w.set(f"add i64 {begin}, {half}")
        further = before(middle)
        after, rest = w.set(f"add i64 {middle}, 1"), w.set(f"sub i64 {w.set(f'sub i64 {left}, {half}')}, 1")
        w.do(f"store i64 {w.set(f'select i1 {further}, i64 {after}, i64 {begin}')}, ptr {low}")
        w.do(f"store i64 {w.set(f'select i1 {further}, i64 {rest}, i64 {half}')}, ptr {many}")
    return w.set(f"load i64, ptr {low}")


def stable_order(text: Text, box: StableOrder, read: Sequence[Array], made: Sequence[Array]) -> None:
    """Write a `StableOrder`: each position goes behind those of numbers that are not greater."""
    w, n = text.w, read[0][1].shape[box.axis]
    w.support["memmove"] = "declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)"
    buffer, order = _room(text, n)
    with _lines(text, box.axis, [read[0], made[0]]) as (keys, goal):
        with text.each([n]) as (i,):
            x = keys.load(i)
            at = _found(text, i, lambda k: w.set(f"xor i1 {_less(text, keys.dtype, x, keys.load(order.load(k)))}, true"))
            here, next_ = (text.at(order.pointer, [at], [_INT.itemsize], far) for far in (0, _INT.itemsize))
            size = w.set(f"mul i64 {w.set(f'sub i64 {i}, {at}')}, {_INT.itemsize}")
            w.do(f"call void @llvm.memmove.p0.p0.i64(ptr align 8 {next_}, ptr align 8 {here}, i64 {size}, i1 false)")
            order.store(i, at)
        with text.each([n]) as (i,):
            goal.store(order.load(i), i)
    text.free(buffer)


def sorted_positions(text: Text, box: SortedPositions, read: Sequence[Array], made: Sequence[Array]) -> None:
    """Write a `SortedPositions`."""
    w, ((ordered, own), (numbers, many)), goal = text.w, read, made[0][0]
    steps = strides_of(own)
    with text.each(many.shape) as found:
        line = _Line(text, text.at(ordered.pointer, found[: box.lead], steps[: box.lead]), steps[-1], own.dtype)
        x = load(w, text.at(numbers.pointer, found, strides_of(many)), many.dtype)

        def before(k: str) -> str:
            entry = line.load(k)
            return w.set(f"xor i1 {_less(text, own.dtype, x, entry)}, true") if box.right else _less(text, own.dtype, entry, x)

        store(w, _found(text, str(own.shape[-1]), before), text.at(goal.pointer, found, strides_of(made[0][1])), _INT)


def one_writer(text: Text, box: OneWriter, read: Sequence[Array], made: Sequence[Array]) -> None:
    """Write a `OneWriter`: where another thread stands in a cell already, the array code runs, which raises."""
    last_writer(text, box.writer, read, made, box.stored.threads if every_call() else None)


def last_writer(
    text: Text, box: LastWriter, read: Sequence[Array], made: Sequence[Array], threads: int | None = None
) -> None:
    """Write a `LastWriter`: each position is noted at its index, so the last one stays.

    With `threads` as `Stored` has it, the array code runs where another thread stands in a cell: as many cells must be written as
    positions write, or else positions that meet are compared.
    """
    w, m = text.w, read[0][1].shape[box.axis]
    writes = w.slot("i64") if threads == 0 else ""

    def count(yes: str, step: str) -> None:
        one, number = w.set(f"zext i1 {yes} to i64"), w.set(f"load i64, ptr {writes}")
        w.do(f"store i64 {w.set(f'{step} i64 {number}, {one}')}, ptr {writes}")

    with _lines(text, box.axis, [read[0], made[0]]) as (index, goal):
        with text.each([box.size]) as (k,):
            goal.store("-1", k)
        if writes:
            w.do(f"store i64 0, ptr {writes}")
        with text.each([m]) as (position,), index.inside(position, box.size) as at:
            if threads:
                before = goal.load(at)
                own, other = (w.set(f"urem i64 {k}, {threads}") for k in (position, before))
                taken = w.set(f"icmp ne i64 {before}, -1")
                text.fail(w.set(f"and i1 {taken}, {w.set(f'icmp ne i64 {own}, {other}')}"))
            goal.store(position, at)
            if writes:
                count("true", "add")
        if writes:
            with text.each([box.size]) as (k,):
                count(w.set(f"icmp sge i64 {goal.load(k)}, 0"), "sub")
            text.fail(w.set(f"icmp ne i64 {w.set(f'load i64, ptr {writes}')}, 0"))


def apart(text: Text, box: Apart, read: Sequence[Array], made: Sequence[Array]) -> None:
    """Write an `Apart`; where another thread stands in a cell, the array code runs, which raises."""
    w, size = text.w, read[1][1].shape[-1]
    text.clear(made[0][0].pointer, made[0][1].nbytes)
    if not every_call():
        return
    with (
        _lines(text, read[0][1].ndim - 1, read) as (index, writer),
        text.each([read[0][1].shape[-1]]) as (i,),
        index.inside(i, size) as at,
    ):
        other = writer.load(at)
        bad = w.set(f"icmp ne i64 {other}, {i}")
        text.fail(w.set(f"and i1 {bad}, {w.set(f'icmp sge i64 {other}, 0')}"))


def last_only(text: Text, box: LastOnly, read: Sequence[Array], made: Sequence[Array]) -> None:
    """Write a `LastOnly`: positions are noted at their indices, and looked up."""
    w, (source, space), goal = text.w, read[0], made[0][0]
    lead, (buffer, noted) = space.ndim - box.axes, _room(text, box.size)
    count, size = math.prod(space.shape[lead:]), space.dtype.itemsize
    with text.each(space.shape[:lead]) as found:
        own, out = (text.at(p, found, strides_of(space)[:lead]) for p in (source.pointer, goal.pointer))
        index, result = (_Line(text, pointer, size, space.dtype) for pointer in (own, out))
        with text.each([count]) as (i,), index.inside(i, box.size) as place:
            noted.store(i, place)
        with text.each([count]) as (i,):
            result.store("-1", i)
            with index.inside(i, box.size) as place, w.where(w.set(f"icmp eq i64 {noted.load(place)}, {i}")):
                result.store(index.load(i), i)
    text.free(buffer)


def numbered_by_flags(text: Text, box: NumberedByFlags, read: Sequence[Array], made: Sequence[Array]) -> None:
    """Write a `NumberedByFlags`; other flags than 0 and 1, and another number of segments, make the array code run."""
    w, n = text.w, read[0][1].shape[box.axis]
    number = w.slot("i64")
    with _lines(text, box.axis, [read[0], made[0]]) as (flags, goal):
        w.do(f"store i64 0, ptr {number}")  # of the segments so far
        with text.each([n]) as (i,):
            flag, first = flags.integer(i), w.set(f"icmp eq i64 {i}, 0")
            text.fail(w.set(f"icmp ugt i64 {flag}, 1"))
            starts = w.set(f"select i1 {first}, i64 1, i64 {flag}")
            so_far = w.set(f"add i64 {w.set(f'load i64, ptr {number}')}, {starts}")
            w.do(f"store i64 {so_far}, ptr {number}")
            goal.store(w.set(f"sub i64 {so_far}, 1"), i)
        if box.segments >= 0:
            text.fail(w.set(f"icmp ne i64 {w.set(f'load i64, ptr {number}')}, {box.segments}"))


def numbered_by_lengths(text: Text, box: NumberedByLengths, read: Sequence[Array], made: Sequence[Array]) -> None:
    """Write a `NumberedByLengths`; lengths that do not add up make the array code run."""
    w, k = text.w, read[0][1].shape[box.axis]
    at = w.slot("i64")
    with _lines(text, box.axis, [read[0], made[0]]) as (lengths, goal):
        w.do(f"store i64 0, ptr {at}")
        with text.each([k]) as (segment,):
            length, begin = lengths.integer(segment), w.set(f"load i64, ptr {at}")
            end = w.set(f"add i64 {begin}, {length}")
            wrong = w.set(f"icmp ugt i64 {length}, {box.n}")
            text.fail(wrong)
            end = w.set(f"select i1 {wrong}, i64 {begin}, i64 {end}")
            with w.each(begin, w.least(end, str(box.n))) as i:
                goal.store(segment, i)
            w.do(f"store i64 {end}, ptr {at}")
        total = w.set(f"load i64, ptr {at}")
        text.fail(w.set(f"icmp ne i64 {total}, {box.n}"))
        with w.each(w.least(total, str(box.n)), str(box.n)) as i:
            goal.store("0", i)  # until the array code says what is wrong


def sort_by_bin(text: Text, box: SortByBin, read: Sequence[Array], made: Sequence[Array]) -> None:
    """Write a `SortByBin`: bins are counted, and each element goes to the next place of its bin."""
    w, m, bins = text.w, read[0][1].shape[box.axis], box.bins
    buffer, places = _room(text, bins + 1)

    def next_place(index: _Line, i: str) -> str:
        """The place of the bin of an element, before it is counted up."""
        at = index.integer(i)
        at = w.set(f"select i1 {w.set(f'icmp ult i64 {at}, {bins}')}, i64 {at}, i64 {bins}")
        before = places.load(at)
        places.store(w.set(f"add i64 {before}, 1"), at)
        return before

    with _lines(text, box.axis, [read[0], *made]) as (index, order, starts, last):
        with text.each([bins + 1]) as (k,):
            places.store("0", k)
        with text.each([m]) as (i,):
            next_place(index, i)
        total = w.slot("i64", start="0")

        def begin(k: str) -> tuple[str, str]:
            before, count = w.set(f"load i64, ptr {total}"), places.load(k)
            after, some = w.set(f"add i64 {before}, {count}"), w.set(f"icmp ne i64 {count}, 0")
            with w.where(some):
                starts.store("true", before)
            places.store(before, k)
            w.do(f"store i64 {after}, ptr {total}")
            return after, some

        with text.each([m]) as (i,):
            starts.store("false", i)
        with text.each([bins]) as (k,):
            after, some = begin(k)
            end = w.set(f"sub i64 {after}, 1")
            last.store(w.set(f"select i1 {some}, i64 {end}, i64 -1"), k)
        begin(str(bins))
        with text.each([m]) as (i,):
            order.store(i, next_place(index, i))
    text.free(buffer)


def number_0(text: Text, box: Waiting, read: Sequence[Array], made: Sequence[Array]) -> None:
    """Write a box that gives the number 0 once others have run."""
    text.clear(made[0][0].pointer, _INT.itemsize)


def lawful(text: Text, box: Lawful, read: Sequence[Array], made: Sequence[Array]) -> None:
    """Write a `Lawful`: its arguments, which are checked elsewhere."""
    for (source, space), (goal, _) in zip(read, made, strict=True):
        text.copy(source.pointer, goal.pointer, space.nbytes)


WRITERS |= {
    Waiting: number_0,
    Lawful: lawful,
    StableOrder: stable_order,
    SortedPositions: sorted_positions,
    LastWriter: last_writer,
    OneWriter: one_writer,
    Apart: apart,
    LastOnly: last_only,
    NumberedByFlags: numbered_by_flags,
    NumberedByLengths: numbered_by_lengths,
    SortByBin: sort_by_bin,
}
