"""Contractions within a whole program, as loops: rows of the result at once where these lie contiguously, else dot products."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import NamedTuple

import numpy as np

from catad.category.spaces import Tensor
from catad.engine.cpu.whole.fortran import factor, letter, number
from catad.engine.cpu.whole.large_products import LargeProduct, Matrix
from catad.engine.cpu.whole.text import Buffer, Text
from catad.engine.cpu.whole.tiles import Tiles
from catad.engine.stages.layout import strides_of
from catad.engine.text.numbers import cast, load, store
from catad.errors import CannotPrint
from catad.linear.families.contract import Contract
from catad.linear.families.dot_within import DotWithin
from catad.scalar.printing.llvm_writer import literal, llvm_type

LARGE = 1 << 15  # multiplications from which on a product of matrices is one of BLAS
TINY = 64  # multiplications below which LLVM keeps all numbers of plain loops in registers
NEAR = 1 << 18  # bytes of an array that stays in a cache while a product reads it again and again
LONG = 512  # terms of a sum that are added without a level above
MOST = 4096  # terms from which on that is so in tiles, too
AT_ONCE = 4  # terms of a sum that are added to a row of the result between reading and writing it


class _Matrices(NamedTuple):
    """A product of matrices: which operands, and the labels of rows, of columns, and of the sum."""

    left: int
    right: int
    rows: int
    columns: int
    inner: int


class Contraction:
    """One contraction being written; `steps[k][label]` is the stride of operand k along a label, in bytes; the result is last."""

    def __init__(self, text: Text, c: Contract, read: Sequence[tuple[Buffer, Tensor]], made: tuple[Buffer, Tensor]) -> None:
        self.text, self.w, self.dtype = text, text.w, made[1].dtype
        self.sizes = list(c.sizes)
        self.arrays = [*read, made]
        self.steps = []
        for labels, (_, space) in zip([*c.operands, c.out], self.arrays, strict=True):
            own = dict.fromkeys(range(len(c.sizes)), 0)
            for label, stride in zip(labels, strides_of(space), strict=True):
                own[label] += stride
            self.steps.append(own)
        there = {label for labels in c.operands for label in labels}
        self.sums = [label for label in sorted(there - set(c.out)) if c.sizes[label] != 1]
        self.outer = [label for label in dict.fromkeys(c.out) if c.sizes[label] != 1]
        self.is_diagonal = len(set(c.out)) != len(c.out)
        if self.dtype.kind not in "fiu" and (self.sums or len(read) > 1):
            raise CannotPrint("products and sums of truth values", "only numbers are contracted")

    def write(self) -> None:
        """Write the loops."""
        result, space = self.arrays[-1]
        if self.is_diagonal:  # zero off the diagonal
            self.text.clear(result.pointer, space.nbytes)
        if 0 in [self.sizes[label] for label in (*self.sums, *self.outer)]:
            self.text.clear(result.pointer, space.nbytes)
        elif not self.sums:
            self._points()
        elif self._is_far() and (found := self._as_matrices()) is not None:
            self._by_blas(found)
        elif math.prod([self.sizes[label] for label in self.sums]) > MOST and self.dtype.kind == "f" and not self.is_diagonal:
            self._in_parts()
        elif (vector := self._as_vector()) is not None:
            self._by_gemv(*vector)
        elif self._in_tiles():
            return
        elif (found := self._as_matrices()) is not None:
            self._by_blas(found)
        elif self.outer and self._along_rows():
            self._rows()
        else:
            self._dots()

    def _in_parts(self) -> None:
        """A long sum as sums of parts, which are added in pairs: each is written as a product of its own."""
        text, (_, space), long = self.text, self.arrays[-1], max(self.sums, key=lambda label: self.sizes[label])
        size = max(1, LONG * self.sizes[long] // math.prod([self.sizes[label] for label in self.sums]))
        count, left = divmod(self.sizes[long], size)
        parts = count + (left > 0)
        room = text.buffer(Tensor((parts, *space.shape), self.dtype))
        for first, times, own in ((0, count, size), (count, 1, left)):
            if times and own:
                self._part(long, size * first, own, times, text.at(room.pointer, (), (), first * space.nbytes), space)
        while parts > 1:
            half = -(-parts // 2)
            self._add(room.pointer, text.at(room.pointer, (), (), half * space.nbytes), (parts - half) * space.size)
            parts = half
        text.copy(room.pointer, self.arrays[-1][0].pointer, space.nbytes)
        text.free(room)

    def _part(self, long: int, start: int, size: int, times: int, goal: str, space: Tensor) -> None:
        """Write so many parts of a sum, from a term on, one behind the other."""
        made, step = copy(self), len(self.sizes)
        made.sizes = [*self.sizes, times]
        made.sizes[long] = size
        made.outer = [step, *self.outer] if times > 1 else self.outer
        made.sums = [label for label in self.sums if made.sizes[label] != 1]
        made.steps = [{**own, step: own[long] * size} for own in self.steps[:-1]]
        made.steps.append({**self.steps[-1], step: space.nbytes})
        both = zip(self.arrays, self.steps, strict=True)
        given = [self.text.at(buffer.pointer, (), (), start * own[long]) for (buffer, _), own in both]
        made.arrays = [(Buffer(at, buffer.nbytes), own) for at, (buffer, own) in zip(given, self.arrays, strict=True)]
        made.arrays[-1] = Buffer(goal, times * space.nbytes), Tensor((times, *space.shape), self.dtype)
        made.write()

    def _add(self, goal: str, more: str, count: int) -> None:
        w, kind = self.w, llvm_type(self.dtype)
        with self.text.each([count]) as index:
            at, other = (self.text.at(place, index, [self.dtype.itemsize]) for place in (goal, more))
            total = w.set(f"fadd {kind} {load(w, at, self.dtype)}, {load(w, other, self.dtype)}")
            store(w, total, at, self.dtype)

    def _in_tiles(self) -> bool:
        """Write a product of two arrays of floats in tiles of registers; False where none fits how they lie.

        BLAS multiplies matrices that fit no cache.
        """
        if len(self.arrays) != 3 or self.dtype.kind != "f" or any(space.dtype != self.dtype for _, space in self.arrays):
            return False
        if math.prod(self.sizes) < TINY or self.is_diagonal:
            return False
        pointers = [buffer.pointer for buffer, _ in self.arrays]
        return Tiles(self.text, self.dtype, self.sizes, self.steps, pointers).write(self.outer, self.sums)

    def _is_far(self) -> bool:
        return min(space.nbytes for _, space in self.arrays) > NEAR

    def _as_matrices(self) -> _Matrices | None:
        """The contraction as a product of two matrices that is worth a call; None where it is another one."""
        sizes, dtype = self.sizes, self.dtype
        if len(self.arrays) != 3 or len(self.sums) != 1 or any(space.dtype != dtype for _, space in self.arrays):
            return None
        (inner,) = self.sums
        left, right, made = self.steps
        columns = [label for label in self.outer if made[label] == dtype.itemsize]
        rows = [label for label in self.outer if label not in columns]
        if dtype.kind != "f" or len(rows) != 1 or len(columns) != 1:
            return None
        if math.prod([sizes[k] for k in (*self.outer, inner)]) < LARGE:
            return None
        m, n, k = rows[0], columns[0], inner
        for a, b in ((0, 1), (1, 0)):
            left, right = self.steps[a], self.steps[b]
            if left[n] == right[m] == 0 and dtype.itemsize in (left[m], left[k]) and dtype.itemsize in (right[n], right[k]):
                return _Matrices(a, b, m, n, k)
        return None

    def _as_vector(self) -> tuple[int, int, int] | None:
        """The operand that is a matrix in no cache, its label of the result and that of the sum, where the other is a vector."""
        if len(self.arrays) != 3 or len(self.sums) != 1 or len(self.outer) != 1 or self.dtype.kind != "f":
            return None
        (outer,), (inner,), size = self.outer, self.sums, self.dtype.itemsize
        if any(space.dtype != self.dtype for _, space in self.arrays) or self.steps[2][outer] != size:
            return None
        for k in (0, 1):
            own, other = self.steps[k], self.steps[1 - k]
            if size in (own[outer], own[inner]) and own[outer] and own[inner] and not other[outer] and other[inner] == size:
                return (k, outer, inner) if self.sizes[outer] * self.sizes[inner] * size > NEAR else None
        return None

    def _by_gemv(self, matrix: int, outer: int, inner: int) -> None:
        """`y = A x`, by BLAS, which reads a matrix as it lies."""
        text, w, size = self.text, self.w, self.dtype.itemsize
        own = self.steps[matrix]
        along, across = (outer, inner) if own[outer] == size else (inner, outer)
        names = [number(text, n) for n in (self.sizes[along], self.sizes[across], own[across] // size, 1)]
        rows, columns, far, one = names
        a, x, y = (f"ptr {self.arrays[k][0].pointer}" for k in (matrix, 1 - matrix, 2))
        gemv = text.external(f"{'d' if size == 8 else 's'}gemv")
        factors = factor(text, 1.0, self.dtype), factor(text, 0.0, self.dtype)
        given = [letter(text, "n" if along == outer else "t"), rows, columns, factors[0], a, far, x, one, factors[1], y, one]
        w.do(f"call void {gemv}({', '.join(given)})")

    def _by_blas(self, found: _Matrices) -> None:
        a, b, m, n, k = found

        def matrix(which: int, row: int, column: int) -> Matrix:
            own = self.steps[which]
            return Matrix(self.arrays[which][0].pointer, self.sizes[row], self.sizes[column], own[row], own[column])

        LargeProduct(self.text, self.dtype, matrix(a, m, k), matrix(b, k, n), matrix(2, m, n)).write()

    def _along_rows(self) -> bool:
        """True where the last axis of the result lies contiguously in some operand, or no sum does so better."""
        last = self.outer[-1]
        return any(own[last] == space.dtype.itemsize for own, (_, space) in zip(self.steps[:-1], self.arrays, strict=False))

    def _product(self, index: dict[int, str]) -> str:
        """The product of the operands at an index."""
        w, kind, made = self.w, llvm_type(self.dtype), ""
        for own, (buffer, space) in zip(self.steps[:-1], self.arrays, strict=False):
            number = cast(w, load(w, self._at(buffer, own, index), space.dtype), space.dtype, self.dtype)
            made = number if not made else w.set(f"{self._op('mul')} {kind} {made}, {number}")
        return made

    def _op(self, name: str) -> str:
        """An operation that may be rounded together with another, and sums that may be taken in any order."""
        return f"f{name} reassoc contract" if self.dtype.kind == "f" else name

    def _at(self, buffer: Buffer, own: dict[int, int], index: dict[int, str]) -> str:
        return self.text.at(buffer.pointer, list(index.values()), [own[label] for label in index])

    @contextmanager
    def _each(self, labels: Sequence[int], index: dict[int, str]) -> Iterator[dict[int, str]]:
        """Loops over labels within others; the indices of all."""
        with self.text.each([self.sizes[label] for label in labels]) as found:
            yield {**index, **dict(zip(labels, found, strict=True))}

    def _points(self) -> None:
        with self._each(self.outer, {}) as index:
            store(self.w, self._product(index), self._at(self.arrays[-1][0], self.steps[-1], index), self.dtype)

    def _dots(self) -> None:
        """One sum after the other, in a register."""
        w, kind, result = self.w, llvm_type(self.dtype), self.arrays[-1][0]
        total, part = w.slot(kind), w.slot(kind)
        *order, last = sorted(self.sums, key=lambda label: -max(own[label] for own in self.steps[:-1]))

        def add(goal: str, more: str) -> None:
            old = w.set(f"load {kind}, ptr {goal}")
            w.do(f"store {kind} {w.set(f'{op} {kind} {old}, {more}')}, ptr {goal}")

        op, end = self._op("add"), str(self.sizes[last])
        with self._each(self.outer, {}) as line:
            w.do(f"store {kind} {literal(0, self.dtype)}, ptr {total}")
            with self._each(order, line) as index:
                if self.sizes[last] > LONG:
                    with w.each("0", end, LONG) as start:
                        stop = w.least(w.set(f"add i64 {start}, {LONG}"), end)
                        w.do(f"store {kind} {literal(0, self.dtype)}, ptr {part}")
                        with w.each(start, stop) as k:
                            add(part, self._product({**index, last: k}))
                        add(total, w.set(f"load {kind}, ptr {part}"))
                else:
                    with w.each("0", end) as k:
                        add(total, self._product({**index, last: k}))
            store(w, w.set(f"load {kind}, ptr {total}"), self._at(result, self.steps[-1], line), self.dtype)

    def _rows(self) -> None:
        """All of a row of the result at once, some terms of its sums after the others."""
        *outer, last = self.outer
        *sums, inner = self.sums
        size = self.sizes[inner]
        whole = size - size % AT_ONCE

        with self._each(outer, {}) as row:
            if math.prod([self.sizes[label] for label in sums]) == 1 and whole:
                self._terms(row, last, inner, "0", AT_ONCE, first=True)
                self._blocks(row, last, inner, AT_ONCE, whole)
            else:
                with self._each([last], row) as index:
                    store(self.w, literal(0, self.dtype), self._at(self.arrays[-1][0], self.steps[-1], index), self.dtype)
                with self._each(sums, row) as index:
                    self._blocks(index, last, inner, 0, whole)

    def _blocks(self, index: dict[int, str], last: int, inner: int, begin: int, whole: int) -> None:
        size = self.sizes[inner]
        if begin < whole:
            self.w.loop(str(begin), str(whole), lambda s: self._terms(index, last, inner, s, AT_ONCE), AT_ONCE)
        if whole < size:
            self._terms(index, last, inner, str(whole), size - whole, first=False)

    def _terms(self, index: dict[int, str], last: int, inner: int, start: str, count: int, first: bool = False) -> None:
        """Add so many terms, from one on, to a row of the result."""
        w, kind, result = self.w, llvm_type(self.dtype), self.arrays[-1][0]
        places = [w.set(f"add i64 {start}, {k}") for k in range(count)]
        with self._each([last], index) as found:
            goal = self._at(result, self.steps[-1], found)
            total = "" if first else load(w, goal, self.dtype)
            for place in places:
                term = self._product({**found, inner: place})
                total = w.set(f"{self._op('add')} {kind} {total}, {term}") if total else term
            store(w, total, goal, self.dtype)


def is_large(c: Contract) -> bool:
    """True where BLAS may be worth a call."""
    return len(c.operands) == 2 and math.prod(c.sizes) >= LARGE


def write_contraction(text: Text, c: Contract, read: Sequence[tuple[Buffer, Tensor]], made: tuple[Buffer, Tensor]) -> None:
    """Write a contraction of these arrays."""
    assert all(np.dtype(space.dtype).itemsize for _, space in read)
    Contraction(text, c, read, made).write()


def dot_within(text: Text, box: DotWithin, read: Sequence[tuple[Buffer, Tensor]], made: Sequence[tuple[Buffer, Tensor]]) -> None:
    """Write a `DotWithin`: a call of BLAS, as NumPy's product of two vectors is."""
    w, (goal, space) = text.w, made[0]
    (start, _), (stop, _), (left, _), (right, _) = read
    length, width = w.slot("i32"), space.dtype.itemsize
    steps = [math.prod(box.lanes[k + 1 :]) for k in range(len(box.lanes))]
    w.support["int 1"] = "@int_1 = internal constant i32 1"
    name, kind = f"{'d' if width == 8 else 's'}dot", llvm_type(space.dtype)
    with text.each(box.lanes) as index:

        def place(buffer: Buffer, nbytes: int) -> str:
            return text.at(buffer.pointer, index, [nbytes * step for step in steps])

        begin, end = (w.set(f"load i64, ptr {place(one, 8)}") for one in (start, stop))
        distance = w.set(f"sub i64 {end}, {begin}")
        w.do(f"store i32 {w.set(f'trunc i64 {distance} to i32')}, ptr {length}")
        starts = [text.at(place(one, box.size * width), [begin], [width]) for one in (left, right)]
        vectors = ", ".join([f"ptr {one}, ptr @int_1" for one in starts])
        store(w, w.set(f"call {kind} {text.external(name)}(ptr {length}, {vectors})"), place(goal, width), space.dtype)
