"""Writing at indices that differ, clearing there, adding at one index, and which of equal indices stand last, on a GPU.

A thread moves one number, as bits. Indices that differ go to places of their own, so threads need no order. Which of equal
indices stands last is the greatest of their positions, found by atomics that commute: each place has a word that is 0 at first.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from catad.category.spaces import Tensor
from catad.engine.cuda.checks import unnoted
from catad.engine.cuda.intrinsics import Simt
from catad.engine.cuda.kernel import Code, Compiled, Device, code_of, contiguous, start
from catad.engine.text.binned import nth
from catad.engine.text.numbers import add, cast, load, store
from catad.linear.families.clear import ClearedAt
from catad.linear.families.gather import Indexing, positions
from catad.scalar.printing.llvm_writer import Writer
from catad.simt.one_writer import OneWriter, Stored
from catad.simt.phases import Apart
from catad.support.current_engine import every_call
from catad.vector.indexing.gather import LastWriter
from catad.vector.indexing.overwrite import LastOnly, OverwrittenAt

FIELDS = ("work", "count", "places", "rest")  # the table: numbers, elements and places of a block, numbers of an element
_INT = np.dtype(np.int64)


class Moved(NamedTuple):
    """What a kernel does ("put", "clear", "add", "note", "last", "position", "alone"), the dtype of the indices, the bytes of a
    number, the dtype of numbers that are added, and for "alone" how many positions in a row are different threads, 0 for all."""

    what: str
    by: str
    size: int
    number: str = ""
    threads: int = 0


class Written:
    """`kernel(table, index, source, goal)`; its indices are contiguous: blocks of elements of `rest` numbers.

    "put" writes numbers to their places, "clear" zeros, and "add" adds them to what is there. "note" raises the word of each
    place to 1 + the position of the element. "last" keeps the indices of those elements whose position their place has, -1 for
    the others; "position" makes words positions. "alone" notes, in two words of the goal, the least and the greatest of
    position * places + place of the elements of other threads than those whose positions their places have, if they have one.
    """

    threads = 256

    def __init__(self, moved: Moved, words: type[Simt] = Simt) -> None:
        self.what, self.by, self.kind, self.size = moved.what, np.dtype(moved.by), f"i{8 * moved.size}", moved.size
        self.number, self.same = np.dtype(moved.number or np.int64), moved.threads
        self.w = Writer(gpu=True)
        self.simt = words(self.w, self.threads)

    def text(self) -> str:
        """The module."""
        w = self.w
        self.fields = [w.set(f"load i64, ptr {w.set(f'getelementptr i64, ptr %t, i64 {k}')}") for k in range(len(FIELDS))]
        mine, together = self.simt.everywhere()
        w.loop(mine, self.fields[0], self._position if self.what == "position" else self._number, together)
        pointers = ["ptr noalias readonly %index", "ptr noalias readonly %source", "ptr noalias %goal"]
        return self.simt.module(len(FIELDS), pointers)

    def _position(self, u: str) -> None:
        w = self.w
        word = w.set(f"load i64, ptr {nth(w, '%source', _INT, u)}")
        w.do(f"store i64 {w.set(f'sub i64 {word}, 1')}, ptr {nth(w, '%goal', _INT, u)}")

    def _number(self, u: str) -> None:
        """Number u of the elements of all blocks."""
        w, (_, count, places, rest) = self.w, self.fields
        c, row = w.set(f"urem i64 {u}, {rest}"), w.set(f"udiv i64 {u}, {rest}")
        i, block = w.set(f"urem i64 {row}, {count}"), w.set(f"udiv i64 {row}, {count}")
        own = i if self.what in ("put", "clear", "add") else u  # all blocks have the same indices, or each number has one
        index = load(w, nth(w, "%index", self.by, own), self.by)
        place = cast(w, index, self.by, _INT)
        inside = w.set(f"icmp ult i64 {place}, {places}")
        if self.what == "last":
            store(w, cast(w, "-1", _INT, self.by), nth(w, "%goal", self.by, u), self.by)

        with w.where(inside):
            row = w.set(f"add i64 {w.set(f'mul i64 {block}, {places}')}, {place}")
            to = w.set(f"add i64 {w.set(f'mul i64 {row}, {rest}')}, {c}")
            if self.what == "note":
                self.simt.atomic("max", nth(w, "%goal", _INT, to), "i64", w.set(f"add i64 {i}, 1"))
            elif self.what == "last":
                self._last(u, w.set(f"add i64 {i}, 1"), index, to)
            elif self.what == "alone":
                self._alone(i, place, to)
            elif self.what == "add":
                self._add(u, to)
            else:
                self._move(u, to)

    def _last(self, u: str, position: str, index: str, to: str) -> None:
        w = self.w
        found = w.set(f"load i64, ptr {nth(w, '%source', _INT, to)}")
        stays = w.set(f"icmp eq i64 {found}, {position}")
        w.when(stays, lambda: store(w, index, nth(w, "%goal", self.by, u), self.by))

    def _alone(self, i: str, place: str, to: str) -> None:
        w = self.w
        word = load(w, nth(w, "%source", _INT, to), _INT)
        other = w.set(f"sub i64 {word}, 1")
        own = i
        if self.same:
            own, other = (w.set(f"urem i64 {k}, {self.same}") for k in (own, other))
        there = w.set(f"icmp ne i64 {word}, 0")
        about = w.set(f"add i64 {w.set(f'mul i64 {i}, {self.fields[2]}')}, {place}")
        with w.where(w.set(f"and i1 {there}, {w.set(f'icmp ne i64 {own}, {other}')}")):
            for k, what in enumerate(("min", "max")):
                self.simt.atomic(what, nth(w, "%goal", _INT, str(k)), "i64", about)

    def _add(self, u: str, to: str) -> None:
        w, dtype = self.w, self.number
        goal = nth(w, "%goal", dtype, to)
        value = load(w, nth(w, "%source", dtype, u), dtype)
        store(w, add(w, dtype, load(w, goal, dtype), value), goal, dtype)

    def _move(self, u: str, to: str) -> None:
        w, value = self.w, "0"
        if self.what == "put":
            at = w.set(f"getelementptr {self.kind}, ptr %source, i64 {u}")
            value = w.set(f"load {self.kind}, ptr {at}, align {self.size}")
        w.do(f"store {self.kind} {value}, ptr {w.set(f'getelementptr {self.kind}, ptr %goal, i64 {to}')}, align {self.size}")


class _Kernels(Compiled):
    """What the boxes share: their kernels, which a call launches one after the other."""

    def __init__(self, device: Device, moved: Sequence[Moved]) -> None:
        self.device = device
        self.codes: dict[str, Code] = {one.what: code_of(Written, one, device.dialect) for one in moved}
        self.parts = [*self.codes.values()]

    def launch(self, what: str, arrays: Sequence[Any], numbers: Sequence[int]) -> None:
        """Start a kernel on indices, a source and a goal, unless it has no work."""
        start(self.device, self.codes[what], numbers[0], array("q", numbers), arrays)


class WrittenAt(_Kernels):
    """`OverwrittenAt` ("put"), `ClearedAt`, which has no values ("clear"), or `AddedAt` of one index ("add")."""

    def __init__(self, device: Device, how: Indexing, ins: tuple[Tensor, ...], what: str) -> None:
        self.what, number = what, ins[1].dtype.str if what == "add" else ""
        super().__init__(device, [Moved(what, ins[0].dtype.str, ins[1].dtype.itemsize, number)])
        before, after = how.src[: how.axis], how.src[how.axis + 1 :]
        self.order, self.places = [how.dst.index(label) for label in (*before, *how.by, *after)], how.bins
        self.times, self.rest = math.prod(how.shape(before)), math.prod(how.shape(after))

    def __call__(self, xp: Any, index: Any, x: Any, values: Any = None) -> Any:
        out = self.device.empty(x.shape, x.dtype)
        out[...] = x
        index = contiguous(index)
        source = index if values is None else contiguous(xp.transpose(values, self.order))
        work = index.size * self.times * self.rest
        self.launch(self.what, (index, source, out), (work, index.size, self.places, self.rest))
        return out


class WrittenFlat(WrittenAt):
    """The same where numbers of a row have indices of their own: their places in the flattened result are computed first."""

    def __init__(self, device: Device, how: Indexing, ins: tuple[Tensor, ...], what: str) -> None:
        self.how, size, count = how, math.prod(how.shape(how.src)), math.prod(how.shape(how.dst))
        spaces = (Tensor((count,), np.int64), *[Tensor((n,), ins[1].dtype) for n in (size, count)])
        super().__init__(device, Indexing((0,), 0, (1,), (1,), (size, count)), spaces, what)

    def __call__(self, xp: Any, index: Any, x: Any, values: Any = None) -> Any:
        flat = positions(xp, self.how, index, self.how.shape(self.how.dst)).reshape(-1)
        return super().__call__(xp, flat, x.reshape(-1), None if values is None else values.reshape(-1)).reshape(x.shape)


class Last(_Kernels):
    """`LastOnly`, or `LastWriter`: the greatest position of each place, then what is asked of it.

    For `OneWriter` words note which positions are not of one thread, and the host looks at them later.
    """

    def __init__(self, device: Device, box: LastOnly | LastWriter, ins: tuple[Tensor, ...], stored: Stored | None = None) -> None:
        self.then, self.size = "last" if isinstance(box, LastOnly) else "position", box.size
        by = ins[0].dtype
        alone = [] if stored is None else [Moved("alone", by.str, by.itemsize, "", stored.threads)]
        super().__init__(device, [*[Moved(what, by.str, by.itemsize) for what in ("note", self.then)], *alone])
        shape, self.stored = ins[0].shape, stored
        first, end = (ins[0].ndim - box.axes, ins[0].ndim) if isinstance(box, LastOnly) else (box.axis, box.axis + 1)
        self.times, self.count, self.rest = math.prod(shape[:first]), math.prod(shape[first:end]), math.prod(shape[end:])
        self.space = box.typed(ins)[0]

    def __call__(self, xp: Any, index: Any) -> Any:
        device, index = self.device, contiguous(index)
        words = device.zeros(self.times * self.size * self.rest)
        numbers = (index.size, self.count, self.size, self.rest)
        self.launch("note", (index, index, words), numbers)
        if self.stored is not None and every_call():
            noted = unnoted(device, 1)
            self.launch("alone", (index, words, noted), numbers)
            device.after(noted, self._look)
        out = device.empty(self.space.shape, self.space.dtype)
        self.launch(self.then, (index, words, out), (out.size, *numbers[1:]))
        return out


    def _look(self, noted: Sequence[int]) -> None:
        assert self.stored is not None
        look(self.stored, self.size, noted)


def look(stored: Stored, size: int, noted: Sequence[int]) -> None:
    """Raise for what a kernel has noted."""
    least, greatest = noted
    if least <= greatest:  # some were noted
        position, place = divmod(least, size)
        raise stored.error(place, position)


class ApartCheck(_Kernels):
    """`Apart`: words note which positions are not of the thread that writes their place, and the host looks at them later."""

    def __init__(self, device: Device, box: Apart, ins: tuple[Tensor, ...]) -> None:
        super().__init__(device, [Moved("alone", ins[0].dtype.str, ins[0].dtype.itemsize)])
        self.about, self.space, self.count, self.size = box.about, box.typed(ins)[0], ins[0].shape[-1], ins[1].shape[-1]

    def __call__(self, xp: Any, index: Any, writer: Any) -> Any:
        if every_call():
            noted, index = unnoted(self.device, 1), contiguous(index)
            self.launch("alone", (index, contiguous(writer + 1), noted), (index.size, self.count, self.size, 1))
            self.device.after(noted, lambda words: look(self.about, self.size, words))
        return self.device.zeros(self.space.size).reshape(self.space.shape)


def one_writer(device: Device, box: OneWriter, ins: tuple[Tensor, ...]) -> Last:
    """`OneWriter`."""
    return Last(device, box.writer, ins, box.stored)


def _at(what: str) -> Callable[..., Compiled]:
    def made(device: Device, box: OverwrittenAt | ClearedAt, ins: tuple[Tensor, ...]) -> Compiled:
        return (WrittenAt if box.how.is_plain else WrittenFlat)(device, box.how, ins, what)

    return made


def added_at_one(device: Device, how: Indexing, ins: tuple[Tensor, ...]) -> Compiled | None:
    """Values added at one index, each to a place of its own; None where there are more indices."""
    return WrittenAt(device, how, ins, "add") if ins[0].size == 1 and how.is_plain else None


MAKERS: dict[type, Callable[..., Compiled | None]] = {
    OverwrittenAt: _at("put"),
    ClearedAt: _at("clear"),
    LastOnly: Last,
    LastWriter: Last,
    OneWriter: one_writer,
    Apart: ApartCheck,
}
