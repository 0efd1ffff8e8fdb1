"""Products of two matrices by BLAS, the large ones after a look at their numbers, as in `linear/matrix/zero_blocks.py`.

Where one factor is zero and the other finite, the result is zero. Where one factor has the numbers of the other transposed, the
result is symmetric, and BLAS computes half of it. The first rows show of most factors that neither holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from catad.engine.cpu.whole.fortran import factor, letter, number
from catad.engine.cpu.whole.text import Text
from catad.engine.text.numbers import load, store
from catad.linear.matrix.zero_blocks import MANY
from catad.scalar.printing.llvm_writer import literal, llvm_type

SQUARE = 32  # rows and columns of the blocks in which half of a matrix is copied to the other half


class Matrix(NamedTuple):
    """A matrix whose numbers lie contiguously along one of its axes; `down` and `along` are in bytes."""

    pointer: str
    rows: int
    columns: int
    down: int
    along: int

    @property
    def turned(self) -> Matrix:
        """The transposed matrix, where this one lies."""
        return Matrix(self.pointer, self.columns, self.rows, self.along, self.down)


class LargeProduct:
    """`C = A B`, for floats of one dtype; rows of C are contiguous."""

    def __init__(self, text: Text, dtype: np.dtype[Any], left: Matrix, right: Matrix, made: Matrix) -> None:
        self.text, self.w, self.dtype, self.kind = text, text.w, dtype, llvm_type(dtype)
        self.left, self.right, self.made = left, right, made

    def write(self) -> None:
        """Write the product."""
        left, right, w = self.left, self.right, self.w
        if left.rows * left.columns * right.columns < MANY:
            self._multiplied()
            return
        is_zero = w.slot("i1", start="false")
        for one, other in ((left, right), (right, left)):
            with w.otherwise(w.set(f"load i1, ptr {is_zero}")), w.where(self._every_line(one, "oeq", 0.0)):
                w.do(f"store i1 {self._every_line(other, 'olt', np.inf)}, ptr {is_zero}")
        w.either(w.set(f"load i1, ptr {is_zero}"), self._cleared, self._not_zero)

    def _not_zero(self) -> None:
        one, other = self.left, self.right.turned
        if one == other:
            self._squared()
        elif one[1:] == other[1:]:
            self.w.either(self._are_equal(one, other), self._squared, self._multiplied)
        else:
            self._multiplied()

    def _cleared(self) -> None:
        made = self.made
        with self.w.each("0", str(made.rows)) as row:
            self.text.clear(self.text.at(made.pointer, [row], [made.down]), made.columns * made.along)

    def _multiplied(self) -> None:
        """`C' = B' A'` in the order of Fortran."""
        (side, *right), (other, *left) = self._given(self.right), self._given(self.left)
        ends = [number(self.text, n) for n in (self.made.columns, self.made.rows, self.left.columns)]
        self._call("gemm", side, other, *ends, self._factor(1.0), *right, *left, self._factor(0.0), *self._given(self.made)[1:])

    def _squared(self) -> None:
        """`A A'`: one half by BLAS, which the other half repeats."""
        side, *left = self._given(self.left.turned)
        ends = [number(self.text, n) for n in (self.left.rows, self.left.columns)]
        half = letter(self.text, "u")  # in the order of Fortran: entries below the diagonal in that of C
        self._call("syrk", half, side, *ends, self._factor(1.0), *left, self._factor(0.0), *self._given(self.made)[1:])
        w, n, made = self.w, str(self.made.rows), self.made
        strides = made.down, made.along
        with (
            w.each("0", n, SQUARE) as top,
            w.each("0", w.set(f"add i64 {top}, 1"), SQUARE) as first,
            w.each(top, w.least(w.set(f"add i64 {top}, {SQUARE}"), n)) as i,
            w.each(first, w.least(w.set(f"add i64 {first}, {SQUARE}"), i)) as j,
        ):
            value = load(w, self.text.at(made.pointer, [i, j], strides), self.dtype)
            store(w, value, self.text.at(made.pointer, [j, i], strides), self.dtype)

    # -- calls

    def _given(self, a: Matrix) -> tuple[str, str, str]:
        """Whether Fortran must transpose what it sees, to read A'; the address, and the distance of its columns."""
        straight = a.along == self.dtype.itemsize
        far = max((a.down if straight else a.along) // self.dtype.itemsize, 1)
        return letter(self.text, "n" if straight else "t"), f"ptr {a.pointer}", number(self.text, far)

    def _factor(self, value: float) -> str:
        return factor(self.text, value, self.dtype)

    def _name(self, name: str) -> str:
        return self.text.external(("d" if self.dtype.itemsize == 8 else "s") + name)

    def _call(self, name: str, *args: str) -> None:
        self.w.do(f"call void {self._name(name)}({', '.join(args)})")

    # -- looks at numbers

    def _every_line(self, a: Matrix, holds: str, bound: float) -> str:
        """Whether a comparison holds of the sum of all absolute values; a line after which it does not ends the look."""
        w, kind, total = self.w, self.kind, self.w.slot(self.kind, start=literal(0.0, self.dtype))

        def going() -> str:
            found = w.set(f"load {kind}, ptr {total}")
            return w.set(f"fcmp {holds} {kind} {found}, {literal(bound, self.dtype)}")

        count, one = number(self.text, self._lying(a).columns), number(self.text, 1)
        with self._lines(a, going) as (line,):
            more = w.set(f"call {kind} {self._name('asum')}({count}, ptr {line}, {one})")
            before = w.set(f"load {kind}, ptr {total}")
            w.do(f"store {kind} {w.set(f'fadd {kind} {before}, {more}')}, ptr {total}")
        return going()

    def _are_equal(self, a: Matrix, b: Matrix) -> str:
        """Whether two matrices that lie in the same way have the same numbers."""
        w, differ = self.w, self.w.slot("i1", start="false")

        def going() -> str:
            found = w.set(f"load i1, ptr {differ}")
            return w.set(f"xor i1 {found}, true")

        with self._lines(a, going, b) as lines, w.each("0", str(self._lying(a).columns)) as k:
            x, y = (load(w, self.text.at(line, [k], [self.dtype.itemsize]), self.dtype) for line in lines)
            before, unlike = w.set(f"load i1, ptr {differ}"), w.set(f"fcmp une {self.kind} {x}, {y}")
            w.do(f"store i1 {w.set(f'or i1 {before}, {unlike}')}, ptr {differ}")
        return going()

    def _lying(self, a: Matrix) -> Matrix:
        """The matrix or the transposed one, whichever has contiguous rows."""
        return a if a.along == self.dtype.itemsize else a.turned

    @contextmanager
    def _lines(self, a: Matrix, going: Callable[[], str], *more: Matrix) -> Iterator[list[str]]:
        """The addresses of contiguous lines, one after the other, as long as something holds."""
        w, own = self.w, self._lying(a)
        at = w.slot("i64", start="0")

        def both() -> str:
            line = w.set(f"load i64, ptr {at}")
            inside = w.set(f"icmp slt i64 {line}, {own.rows}")
            return w.set(f"and i1 {inside}, {going()}")

        with w.repeated(both):
            line = w.set(f"load i64, ptr {at}")
            yield [self.text.at(self._lying(one).pointer, [line], [self._lying(one).down]) for one in (a, *more)]
            following = w.set(f"add nsw i64 {line}, 1")
            w.do(f"store i64 {following}, ptr {at}")
