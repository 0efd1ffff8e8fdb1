"""Products of two arrays in tiles of registers: contractions within a whole program, whose sizes and strides are known.

A tile holds some rows and some vectors of columns of the result in registers while a sum runs, so that each number that is read
is used for all rows, or all columns, of the tile. This is the innermost part of a product of matrices as in K. Goto and R. van
de Geijn, *Anatomy of high-performance matrix multiplication* (2008); operands that fit a cache need no more of it. Where the
result does not lie along a row of an operand, vectors go along the sum, and a tile holds partial sums.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np

from catad.engine.cpu.run import target
from catad.engine.cpu.whole.text import Text
from catad.linear.families.contract import Contract
from catad.scalar.printing.llvm_writer import literal, llvm_type

SHORT = 48  # terms of a sum along which vectors are worth less than transposing an operand
LONGEST = 4096  # terms of a sum along which vectors go
Index = dict[int, str]
Strides = dict[int, int]


class Piece(NamedTuple):
    """A vector of columns: the first one, and how many."""

    start: int
    width: int


@cache
def registers() -> tuple[int, int]:
    """The bytes of a vector of this machine, and the vectors that a tile may hold."""
    return (64, 28) if "+avx512f" in target.host().features.split(",") else (32, 12)


def merged(labels: Sequence[int], sizes: dict[int, int], steps: Sequence[Strides]) -> list[int]:
    """Labels through which all arrays step as through one are one: the last of them, with the size of all."""
    left = list(labels)
    while True:
        pairs = itertools.permutations(left, 2)
        fits = (p for p in pairs if all(own[p[0]] == own[p[1]] * sizes[p[1]] for own in steps))
        found = next(fits, None)
        if found is None:
            return left
        outer, inner = found
        sizes[inner] *= sizes[outer]
        left.remove(outer)


def along(outer: Sequence[int], sums: Sequence[int], steps: Sequence[Strides], size: int) -> tuple[int, int] | None:
    """The array that has vectors along rows of the result, -1 where both have them along a sum, and the label along which."""
    for x in (0, 1):
        for label in outer:
            if steps[2][label] == steps[x][label] == size and not steps[1 - x][label]:
                return x, label
    return next(((-1, label) for label in sums if steps[0][label] == steps[1][label] == size), None)


def form(c: Contract) -> Literal["rows", "dots", "short", None]:
    """How vectors lie in a product of contiguous arrays: along rows of the result, or along a sum, or a short one; None: not."""
    steps: list[Strides] = []
    for labels in (*c.operands, c.out):
        own, far = dict.fromkeys(range(len(c.sizes)), 0), 1
        for label in reversed(labels):
            own[label] += far
            far *= c.sizes[label]
        steps.append(own)
    there = {label for labels in c.operands for label in labels}
    sizes = dict(enumerate(c.sizes))
    outer = merged([label for label in c.out if sizes[label] > 1], sizes, steps)
    sums = merged([label for label in there - set(c.out) if sizes[label] > 1], sizes, steps)
    found = along(outer, sums, steps, 1)
    if found is None:
        return None
    return "rows" if found[0] >= 0 else "short" if sizes[found[1]] < SHORT else "dots"


class Tiles:
    """A product of two arrays that is being written.

    `steps[k][label]` is the stride of array k along a label, in bytes; the result is the last. All arrays have one dtype.
    """

    def __init__(
        self, text: Text, dtype: np.dtype[Any], sizes: Sequence[int], steps: Sequence[Strides], pointers: Sequence[str]
    ) -> None:
        self.text, self.w, self.dtype, self.pointers = text, text.w, dtype, pointers
        self.sizes, self.steps = dict(enumerate(sizes)), steps
        self.kind, self.size = llvm_type(dtype), dtype.itemsize
        nbytes, self.room = registers()
        self.lanes = nbytes // self.size

    def write(self, outer: Sequence[int], sums: Sequence[int]) -> bool:
        """Write the product over the labels of the result and of the sum; False where no tile fits how arrays lie."""
        self.outer, self.sums = merged(outer, self.sizes, self.steps), merged(sums, self.sizes, self.steps)
        found = along(self.outer, self.sums, self.steps, self.size)
        if found is None or (found[0] < 0 and self.sizes[found[1]] > LONGEST):
            return False
        x, label = found
        if x < 0:
            self._dots(label)
        else:
            self._rows(x, 1 - x, label)
        return True

    # -- vectors along rows of the result

    def _rows(self, x: int, y: int, column: int) -> None:
        """Vectors of array x, times numbers of array y."""
        row = self._longest([k for k in self.outer if k != column and not self.steps[x][k]])
        pieces = self._pieces(self.sizes[column])
        rows = 1 if row is None else self.sizes[row]
        high, wide = self._shape(rows, len(pieces))
        rest = [k for k in self.outer if k not in (row, column)]

        def tile(index: Index, count: int, group: Sequence[Piece]) -> None:
            totals = [[self._slot(one.width) for one in group] for _ in range(count)]
            with self._each(self.sums, index) as found:
                vectors = [self._load(x, found, one.width, one.start * self.size) for one in group]
                for i, line in enumerate(totals):
                    number = self._load(y, found, 1, 0 if row is None else i * self.steps[y][row])
                    for total, vector, one in zip(line, vectors, group, strict=True):
                        self._add(total, self._splat(number, one.width), vector, one.width)
            for i, line in enumerate(totals):
                for total, one in zip(line, group, strict=True):
                    far = one.start * self.size + (0 if row is None else i * self.steps[2][row])
                    self._store(total, index, one.width, far)

        def columns(index: Index, count: int) -> None:
            whole = [one for one in pieces if one.width == self.lanes and not one.start % self.lanes]
            loops = len(whole) // wide if len(whole) >= 2 * wide else 0
            group = [Piece(k * self.lanes, self.lanes) for k in range(wide)]
            if loops:
                step = wide * self.lanes
                self.w.loop("0", str(loops * step), lambda i: tile({**index, column: i}, count, group), step)
            left = pieces[loops * wide :]
            for at in range(0, len(left), wide):
                tile(index, count, left[at : at + wide])

        with self._each(rest, {}) as index:
            self._by_rows(row, rows, high, index, columns)

    def _by_rows(self, row: int | None, rows: int, high: int, index: Index, body: Callable[[Index, int], None]) -> None:
        """The rows, so many at once, then those that are left."""
        if row is None:
            body(index, 1)
            return
        whole = rows - rows % high
        if whole > high:
            self.w.loop("0", str(whole), lambda i: body({**index, row: i}, high), high)
        elif whole:
            body({**index, row: "0"}, high)
        if whole < rows:
            body({**index, row: str(whole)}, rows - whole)

    def _pieces(self, n: int) -> list[Piece]:
        """The vectors of a row: the last one may begin within the one before it."""
        found = [Piece(k, self.lanes) for k in range(0, n - self.lanes + 1, self.lanes)]
        left = n % self.lanes
        if left:
            width = min(1 << (left - 1).bit_length(), n)
            found.append(Piece(n - width, width) if width >= left else Piece(n - left, left))
        return found

    def _shape(self, rows: int, vectors: int) -> tuple[int, int]:
        """The rows and the vectors of a tile: those that read least for what they multiply."""

        def taken(shape: tuple[int, int]) -> float:
            high, wide = shape
            total = 0.0
            for a, m in ((high, rows // high), (rows % high, 1)):
                for b, n in ((wide, vectors // wide), (vectors % wide, 1)):
                    if a and b:
                        total += m * n * (max(a * b, LATENCY) + (a + b) / 2)
            return total

        shapes = itertools.product(range(1, min(rows, self.room) + 1), range(1, min(vectors, self.room) + 1))
        return min([(a, b) for a, b in shapes if a * b + b <= self.room + 2 and a * b <= self.room], key=taken)

    # -- vectors along the sum

    def _dots(self, along: int) -> None:
        """Vectors of both arrays along a sum; the lanes of a partial sum are added at its end."""
        row = self._longest([k for k in self.outer if not self.steps[1][k]])
        column = self._longest([k for k in self.outer if not self.steps[0][k] and k != row])
        rows, columns = (1 if k is None else self.sizes[k] for k in (row, column))
        if columns > rows:
            high, wide = min(rows, DOTS), min(columns, DOTS if rows > 1 else 2 * DOTS)
        else:
            high, wide = min(rows, DOTS if columns > 1 else 2 * DOTS), min(columns, DOTS)
        rest = [k for k in self.outer if k not in (row, column)]
        sums = [k for k in self.sums if k != along]
        whole = self.sizes[along] - self.sizes[along] % self.lanes
        left = self.sizes[along] - whole

        def tile(index: Index, count: int, wide: int) -> None:
            totals = [[self._slot(self.lanes) for _ in range(wide)] for _ in range(count)]
            first = [0 if row is None else i * self.steps[0][row] for i in range(count)]
            second = [0 if column is None else j * self.steps[1][column] for j in range(wide)]

            def term(found: Index, width: int) -> None:
                vectors = [self._widened(self._load(1, found, width, far), width) for far in second]
                for line, far in zip(totals, first, strict=True):
                    own = self._widened(self._load(0, found, width, far), width)
                    for total, vector in zip(line, vectors, strict=True):
                        self._add(total, own, vector, self.lanes)

            with self._each(sums, index) as line:
                if whole:
                    with self.w.each("0", str(whole), self.lanes) as k:
                        term({**line, along: k}, self.lanes)
                if left:
                    term({**line, along: str(whole)}, left)
            for i, own in enumerate(totals):
                for j, total in enumerate(own):
                    far = [0 if k is None else n * self.steps[2][k] for k, n in ((row, i), (column, j))]
                    self._store_total(total, index, sum(far))

        def inner(count: int) -> Callable[[Index, int], None]:
            return lambda index, wide: tile(index, count, wide)

        with self._each(rest, {}) as index:
            self._by_rows(row, rows, high, index, lambda found, a: self._by_rows(column, columns, wide, found, inner(a)))

    def _store_total(self, total: str, index: Index, far: int) -> None:
        vector = self._type(self.lanes)
        short = "v" + vector[1:-1].replace(" x ", "").replace("double", "f64").replace("float", "f32")
        name = f"llvm.vector.reduce.fadd.{short}"
        self.w.support[name] = f"declare {self.kind} @{name}({self.kind}, {vector})"
        found = self.w.set(f"load {vector}, ptr {total}")
        zero = literal(0, self.dtype)
        number = self.w.set(f"call reassoc {self.kind} @{name}({self.kind} {zero}, {vector} {found})")
        self.w.do(f"store {self.kind} {number}, ptr {self._at(2, index, far)}, align {self.size}")

    # -- instructions

    def _longest(self, labels: Sequence[int]) -> int | None:
        return max(labels, key=lambda label: self.sizes[label], default=None)

    @contextmanager
    def _each(self, labels: Sequence[int], index: Index) -> Iterator[Index]:
        """Loops over labels within others; the indices of all."""
        with self.text.each([self.sizes[label] for label in labels]) as found:
            yield {**index, **dict(zip(labels, found, strict=True))}

    def _at(self, k: int, index: Index, far: int) -> str:
        return self.text.at(self.pointers[k], list(index.values()), [self.steps[k][label] for label in index], far)

    def _type(self, width: int) -> str:
        return self.kind if width == 1 else f"<{width} x {self.kind}>"

    def _slot(self, width: int) -> str:
        """A part of a tile, zero."""
        slot = self.w.slot(self._type(width))
        self.w.do(f"store {self._type(width)} {'zeroinitializer' if width > 1 else literal(0, self.dtype)}, ptr {slot}")
        return slot

    def _load(self, k: int, index: Index, width: int, far: int) -> str:
        return self.w.set(f"load {self._type(width)}, ptr {self._at(k, index, far)}, align {self.size}")

    def _store(self, total: str, index: Index, width: int, far: int) -> None:
        kind = self._type(width)
        found = self.w.set(f"load {kind}, ptr {total}")
        self.w.do(f"store {kind} {found}, ptr {self._at(2, index, far)}, align {self.size}")

    def _splat(self, number: str, width: int) -> str:
        if width == 1:
            return number
        kind = self._type(width)
        first = self.w.set(f"insertelement {kind} poison, {self.kind} {number}, i64 0")
        return self.w.set(f"shufflevector {kind} {first}, {kind} poison, <{width} x i32> zeroinitializer")

    def _widened(self, vector: str, width: int) -> str:
        """A vector with zeros up to all lanes."""
        if width == self.lanes:
            return vector
        if width == 1:
            kind = self._type(self.lanes)
            return self.w.set(f"insertelement {kind} zeroinitializer, {self.kind} {vector}, i64 0")
        kind = self._type(width)
        places = ", ".join([f"i32 {min(k, width)}" for k in range(self.lanes)])
        return self.w.set(f"shufflevector {kind} {vector}, {kind} zeroinitializer, <{self.lanes} x i32> <{places}>")

    def _add(self, total: str, a: str, b: str, width: int) -> None:
        kind = self._type(width)
        product = self.w.set(f"fmul contract {kind} {a}, {b}")
        old = self.w.set(f"load {kind}, ptr {total}")
        self.w.do(f"store {kind} {self.w.set(f'fadd contract {kind} {old}, {product}')}, ptr {total}")


LATENCY = 8  # products that a tile must have so that none waits for the one before it
DOTS = 4  # rows, and columns, of partial sums in a tile

