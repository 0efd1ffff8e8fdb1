"""Systems with a narrow band whose LU factors are LAPACK's, one right-hand side, as loops in the text of a program.

LAPACK calls BLAS once for each column, which takes longer than the few numbers that stand there. Row j of the array of factors
has column j of U, which ends at place `lower + upper`, and then that of L. Sums begin with the unknown that is farthest away, so
that only the last term waits for the row before. Near the ends of the matrix, where rows are shorter, each row has its own text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from catad.category.spaces import Tensor
from catad.engine.text.numbers import load, store
from catad.scalar.printing.llvm_writer import llvm_type

if TYPE_CHECKING:
    from catad.engine.cpu.whole.text import Text

NARROW = 16  # diagonals of U beside the main one up to which such loops are written
Row = Callable[[str, int, int], None]  # writes row i + k with so many terms, i being an index and k a number
_I32 = np.dtype(np.int32)


class NarrowBand:
    """The factors (n, 2 l + u + 1) and pivots of a matrix, and x, at their addresses."""

    def __init__(self, text: Text, space: Tensor, lower: int, upper: int, lu: str, pivots: str, x: str) -> None:
        self.text, self.w, self.dtype, self.kind = text, text.w, space.dtype, llvm_type(space.dtype)
        self.n, self.rows, self.lower, self.above = space.shape[-2], space.shape[-1], lower, lower + upper
        self.lu, self.pivots, self.x = lu, pivots, x

    def solved(self, turned: bool) -> None:
        """Write what replaces x by the solution, with the transpose where `turned`."""
        if turned:
            self._down(self.above, self._before)
            if self.lower:
                self._up(self.lower, self._after_l)
        else:
            if self.lower:
                self._forwards(self.lower, self._eliminated)
            self._up(self.above, self._after_u)

    # -- addresses

    def _at(self, i: str, k: int) -> str:
        """x[i + k]."""
        size = self.dtype.itemsize
        return self.text.at(self.x, [i], [size], k * size)

    def _factor(self, i: str, k: int, place: int) -> str:
        """The number at a place of column i + k of the factors."""
        size = self.dtype.itemsize
        return load(self.w, self.text.at(self.lu, [i], [self.rows * size], (k * self.rows + place) * size), self.dtype)

    def _less(self, value: str, a: str, b: str) -> str:
        product = self.w.set(f"fmul {self.kind} {a}, {b}")
        return self.w.set(f"fsub {self.kind} {value}, {product}")

    # -- orders of rows

    def _down(self, width: int, row: Row) -> None:
        """From the first row on; row i has as many terms as there are rows before it, at most `width`."""
        for k in range(min(width, self.n)):
            row("0", k, k)
        if width < self.n:
            with self.w.each(str(width), str(self.n)) as i:
                row(i, 0, width)

    def _forwards(self, width: int, row: Row) -> None:
        """From the first row on; a row has as many terms as there are rows after it, at most `width`."""
        if width < self.n:
            with self.w.each("0", str(self.n - width)) as i:
                row(i, 0, width)
        for k in range(max(0, self.n - width), self.n):
            row("0", k, self.n - 1 - k)

    def _up(self, width: int, row: Row) -> None:
        """From the last row on; a row has as many terms as there are rows after it, at most `width`."""
        for k in range(self.n - 1, max(-1, self.n - 1 - width), -1):
            row("0", k, self.n - 1 - k)
        if width < self.n:
            with self.w.each("0", str(self.n - width)) as i:
                row(self.w.set(f"sub i64 {self.n - width - 1}, {i}"), 0, width)

    # -- rows

    def _after_u(self, i: str, k: int, terms: int) -> None:
        """Row i of U x = b, with the unknowns after it."""
        value = load(self.w, self._at(i, k), self.dtype)
        for j in range(terms, 0, -1):
            value = self._less(value, self._factor(i, k + j, self.above - j), load(self.w, self._at(i, k + j), self.dtype))
        store(self.w, self._over(value, i, k), self._at(i, k), self.dtype)

    def _before(self, i: str, k: int, terms: int) -> None:
        """Row i of U' x = b, with the unknowns before it."""
        value = load(self.w, self._at(i, k), self.dtype)
        for j in range(terms, 0, -1):
            value = self._less(value, self._factor(i, k, self.above - j), load(self.w, self._at(i, k - j), self.dtype))
        store(self.w, self._over(value, i, k), self._at(i, k), self.dtype)

    def _over(self, value: str, i: str, k: int) -> str:
        return self.w.set(f"fdiv {self.kind} {value}, {self._factor(i, k, self.above)}")

    def _after_l(self, i: str, k: int, terms: int) -> None:
        """Row i of L' x = b, with the unknowns after it, then the interchange of the row."""
        value = load(self.w, self._at(i, k), self.dtype)
        for j in range(terms, 0, -1):
            value = self._less(value, self._factor(i, k, self.above + j), load(self.w, self._at(i, k + j), self.dtype))
        store(self.w, value, self._at(i, k), self.dtype)
        self._exchanged(value, i, k)

    def _exchanged(self, value: str, i: str, k: int) -> str:
        """Row i, which has a value, exchanged with that of its pivot; the new value."""
        pivot = load(self.w, self.text.at(self.pivots, [i], [4], 4 * k), _I32)
        place = self._at(self.w.set(f"sext i32 {pivot} to i64"), -1)
        other = load(self.w, place, self.dtype)
        store(self.w, value, place, self.dtype)
        store(self.w, other, self._at(i, k), self.dtype)
        return other

    def _eliminated(self, i: str, k: int, terms: int) -> None:
        """Row i of L x = b: its interchange, then what it takes from the rows after it."""
        value = self._exchanged(load(self.w, self._at(i, k), self.dtype), i, k)
        for j in range(1, terms + 1):
            place = self._at(i, k + j)
            less = self._less(load(self.w, place, self.dtype), self._factor(i, k, self.above + j), value)
            store(self.w, less, place, self.dtype)
