"""Writing at indices that differ, clearing there, and which of equal indices stand last, as kernels.

Numbers are moved as bits. Elements go to places of their own, so threads share them; which index stands last is decided in order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from catad import buffers
from catad.engine.cpu.run import threads
from catad.engine.cpu.run.kernel import Code, code_of, packed
from catad.engine.cpu.run.target import SPEED
from catad.engine.machine import Compiled
from catad.engine.text.numbers import cast, load
from catad.linear.clear import ClearedAt
from catad.linear.gather import Indexing
from catad.scalar.llvm_writer import Writer
from catad.spaces import Tensor
from catad.vector.overwrite import LastOnly, OverwrittenAt

SHARED = 1 << 16  # numbers written from which on threads share them
_INT = np.dtype(np.int64)


class Moved(NamedTuple):
    """What is moved: the dtype of the indices, and the bytes of a number."""

    by: str
    size: int


class WrittenText:
    """Functions of a table (index, source, goal, elements, places, numbers of one, repetitions) and a part of the elements.

    `put` writes elements to their places, `clear` zeros, `note` the position of each element to its place, and `last` the
    indices of those elements whose position is still there, -1 for the others.
    """

    bounds = 2
    level = SPEED
    entries = ("put", "clear", "note", "last")

    def __init__(self, what: Moved) -> None:
        self.by, self.kind, self.size = np.dtype(what.by), f"i{8 * what.size}", what.size
        self.w = Writer()

    def text(self) -> str:
        """The whole module."""
        w, parts = Writer(), []
        for entry in self.entries:
            self.w = w = w.beside()
            self._entry(entry)
            parts.append(w.text(entry, "ptr noalias readonly %t, i64 %first, i64 %last"))
        return w.module(parts)

    def _field(self, k: int) -> str:
        return self.w.set(f"load i64, ptr {self.w.set(f'getelementptr i64, ptr %t, i64 {k}')}")

    def _entry(self, entry: str) -> None:
        w = self.w
        index, source, goal = [w.set(f"inttoptr i64 {self._field(k)} to ptr") for k in range(3)]
        count, places, rest, times = [self._field(k) for k in range(3, 7)]

        def element(i: str, above: str, block: str) -> None:
            at = w.set(f"getelementptr i8, ptr {index}, i64 {w.set(f'mul i64 {i}, {self.by.itemsize}')}")
            place = cast(w, load(w, at, self.by), self.by, _INT)
            inside = w.set(f"icmp ult i64 {place}, {places}")
            if entry == "last":
                self._last(i, place, inside, source, goal)
                return

            def put() -> None:
                to = w.set(f"mul i64 {w.set(f'add i64 {block}, {place}')}, {rest}")
                if entry == "note":
                    w.do(f"store i64 {i}, ptr {w.set(f'getelementptr i64, ptr {goal}, i64 {to}')}")
                    return
                start = w.set(f"mul i64 {w.set(f'add i64 {above}, {i}')}, {rest}")
                w.loop("0", rest, lambda c: self._number(entry, w.set(f"add i64 {start}, {c}"), source,
                                                         w.set(f"add i64 {to}, {c}"), goal))  # fmt: skip

            w.when(inside, put)

        def repetition(k: str) -> None:
            above, block = w.set(f"mul i64 {k}, {count}"), w.set(f"mul i64 {k}, {places}")
            w.loop("%first", "%last", lambda i: element(i, above, block))

        w.loop("0", times, repetition)

    def _number(self, entry: str, start: str, source: str, to: str, goal: str) -> None:
        w, value = self.w, "0"
        if entry == "put":
            at = w.set(f"getelementptr {self.kind}, ptr {source}, i64 {start}")
            value = w.set(f"load {self.kind}, ptr {at}, align {self.size}")
        w.do(f"store {self.kind} {value}, ptr {w.set(f'getelementptr {self.kind}, ptr {goal}, i64 {to}')}, align {self.size}")

    def _last(self, i: str, place: str, inside: str, source: str, goal: str) -> None:
        """The index where the element is the last one of its place; `source` has the position that was noted last."""
        w = self.w
        to = w.set(f"getelementptr i64, ptr {goal}, i64 {i}")
        w.do(f"store i64 -1, ptr {to}")

        def compare() -> None:
            noted = w.set(f"load i64, ptr {w.set(f'getelementptr i64, ptr {source}, i64 {place}')}")
            stays = w.set(f"icmp eq i64 {noted}, {i}")
            w.do(f"store i64 {w.set(f'select i1 {stays}, i64 {place}, i64 -1')}, ptr {to}")

        w.when(inside, compare)


class _Kernel(Compiled):
    """What the kernels share: their code."""

    def __init__(self, what: Moved) -> None:
        self.what = what
        self._code: Code | None = None

    @property
    def code(self) -> Code:
        """The machine code, made when it is needed."""
        self._code = self._code or code_of(WrittenText, self.what, 0)
        return self._code

    @property
    def seconds(self) -> tuple[float, ...]:
        """The time that compiling took."""
        return () if self._code is None else (self._code.seconds,)

    def prepared(self, ins: tuple[Tensor, ...]) -> str:
        """Compile; the LLVM text."""
        return self.code.text

    def run(self, name: str, arrays: Sequence[Any], numbers: Sequence[int], parts: Sequence[tuple[int, int]]) -> None:
        """A function on three arrays."""
        self.code.run(name, packed([*map(buffers.address, arrays), *numbers]), parts, numbers[0] * numbers[2] * numbers[3])


class WrittenKernel(_Kernel):
    """`OverwrittenAt`, or without values `ClearedAt`, for arguments in these spaces."""

    def __init__(self, how: Indexing, ins: tuple[Tensor, ...], values: bool) -> None:
        super().__init__(Moved(ins[0].dtype.str, ins[1].dtype.itemsize))
        self.how, self.values = how, values
        before, after = how.src[: how.axis], how.src[how.axis + 1 :]
        self.order = [how.dst.index(label) for label in (*before, *how.by, *after)]
        self.times, self.rest = math.prod(how.shape(before)), math.prod(how.shape(after))

    def __call__(self, xp: Any, index: Any, x: Any, values: Any = None) -> Any:
        out = buffers.empty(x.shape, x.dtype)
        np.copyto(out, x)
        index, count = np.ascontiguousarray(index), index.size
        source = np.ascontiguousarray(np.transpose(values, self.order)) if self.values else index
        many = count * self.times * self.rest >= SHARED
        parts = threads.chunks(count, 1) if many else [(0, count)]
        self.run("put" if self.values else "clear", (index, source, out), (count, self.how.bins, self.rest, self.times), parts)
        return out


class LastKernel(_Kernel):
    """`LastOnly`: the positions of the elements are noted at their places in order, so the last of each place stays."""

    def __init__(self, box: LastOnly, ins: tuple[Tensor, ...]) -> None:
        super().__init__(Moved(ins[0].dtype.str, _INT.itemsize))
        self.box = box

    def __call__(self, xp: Any, index: Any) -> Any:
        index = np.ascontiguousarray(index)
        rows = math.prod(index.shape[: index.ndim - self.box.axes])
        made = buffers.empty(index.shape, index.dtype)
        if index.size:
            noted = buffers.empty((self.box.size,), _INT)
            for own, out in zip(index.reshape(rows, -1), made.reshape(rows, -1), strict=True):
                numbers = own.size, self.box.size, 1, 1
                self.run("note", (own, own, noted), numbers, [(0, own.size)])
                self.run("last", (own, noted, out), numbers, [(0, own.size)])
        return made


def overwritten_at(box: OverwrittenAt, ins: tuple[Tensor, ...]) -> Compiled | None:
    """A kernel for an `OverwrittenAt`; None where numbers of a row have indices of their own."""
    return WrittenKernel(box.how, ins, True) if _is_plain(box.how) else None


def cleared_at(box: ClearedAt, ins: tuple[Tensor, ...]) -> Compiled | None:
    """A kernel for a `ClearedAt`."""
    return WrittenKernel(box.how, ins, False) if _is_plain(box.how) else None


def last_only(box: LastOnly, ins: tuple[Tensor, ...]) -> Compiled | None:
    """A kernel for a `LastOnly`."""
    return LastKernel(box, ins) if ins[0].dtype == _INT else None


def _is_plain(how: Indexing) -> bool:
    rest = (*how.src[: how.axis], *how.src[how.axis + 1 :])
    return bool(how.by) and sorted((*rest, *how.by)) == sorted(how.dst) and len(set(how.dst)) == len(how.dst)


MAKERS: dict[type, Callable[..., Compiled | None]] = {
    OverwrittenAt: overwritten_at,
    ClearedAt: cleared_at,
    LastOnly: last_only,
}
