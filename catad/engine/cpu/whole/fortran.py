"""Calls of BLAS and LAPACK in the text of a whole program, for matrices (n, n) in C order, which they read as transposes.

So the upper triangle of what they read is the lower one of the array. Columns of right-hand sides that lie in C order are rows
of a matrix X' for them, and `A X = B` is solved as `X' A' = B'`, without a transposition.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from catad.engine.cpu.whole.text import Text
from catad.engine.text.numbers import load, store
from catad.scalar.printing.llvm_writer import literal, llvm_type

_I32 = np.dtype(np.int32)


def number(text: Text, value: int) -> str:
    """The place of an integer, as an argument."""
    text.w.support[f"int {value}"] = f"@int_{value} = internal constant i32 {value}"
    return f"ptr @int_{value}"


def factor(text: Text, value: float, dtype: np.dtype[Any]) -> str:
    """The place of a number, as an argument."""
    kind, name = llvm_type(dtype), {1.0: "one", 0.0: "no", -1.0: "minus_one", -2.0: "minus_two"}[value]
    text.w.support[f"{name} {kind}"] = f"@{name}_{kind} = internal constant {kind} {literal(value, dtype)}"
    return f"ptr @{name}_{kind}"


def letter(text: Text, one: str) -> str:
    """The place of a letter, as an argument."""
    text.w.support[f"letter {one}"] = f"@letter_{one} = internal constant i8 {ord(one)}"
    return f"ptr @letter_{one}"


class Part(NamedTuple):
    """A part of a matrix: the address of its first entry, its rows and its columns."""

    place: str
    rows: int
    columns: int


class Fortran:
    """Calls on matrices of one size and dtype, given by the addresses of their first entries.

    It is the `Machine` of the algorithms of `linear/solving/blocked.py`, whose docstrings say what the operations do.
    """

    def __init__(self, text: Text, dtype: np.dtype[Any], n: int) -> None:
        self.text, self.w, self.dtype, self.n = text, text.w, dtype, n

    def at(self, pointer: str, lane: str) -> str:
        """The address of a matrix of a stack."""
        return self.text.at(pointer, [lane], [self.n * self.n * self.dtype.itemsize])

    def call(self, name: str, *args: str | int | float) -> None:
        """Call a function with letters, integers, numbers, and addresses, which begin with %."""
        text, given = self.text, list[str]()
        for arg in args:
            if isinstance(arg, str):
                given.append(f"ptr {arg}" if arg[0] in "%@" else letter(text, arg))
            else:
                given.append(number(text, arg) if isinstance(arg, int) else factor(text, arg, self.dtype))
        self.w.do(f"call void {text.external(('d' if self.dtype.itemsize == 8 else 's') + name)}({', '.join(given)})")

    def factorised(self, a: str, pivots: str) -> None:
        """LU in place; interchanges of rows are counted from 0."""
        n, info = self.n, self.w.slot("i32")
        self.call("getrf", n, n, a, n, pivots, info)
        with self.text.each([n]) as (k,):
            place = self.text.at(pivots, [k], [4])
            store(self.w, self.w.set(f"sub i32 {load(self.w, place, _I32)}, 1"), place, _I32)

    def cholesky(self, a: str) -> str:
        """The lower factor in place, zeros in the other half; whether there is none."""
        n, info = self.n, self.w.slot("i32")
        self.call("potrf", "u", n, a, n, info)
        self.clear_above(Part(a, n, n))
        return self.w.set(f"icmp ne i32 {load(self.w, info, _I32)}, 0")

    def has_zero(self, a: str) -> str:
        """Whether there is a 0 on the diagonal."""
        return self.has_zero_along(a, self.n + 1)

    def has_zero_along(self, a: str, step: int) -> str:
        """Whether there is a 0 among n numbers that lie so far apart."""
        w, kind, found = self.w, llvm_type(self.dtype), self.w.slot("i1", start="false")
        with self.text.each([self.n]) as (k,):
            pivot = load(w, self.text.at(a, [k], [step * self.dtype.itemsize]), self.dtype)
            zero = w.set(f"fcmp oeq {kind} {pivot}, {literal(0.0, self.dtype)}")
            before = w.set(f"load i1, ptr {found}")
            w.do(f"store i1 {w.set(f'or i1 {before}, {zero}')}, ptr {found}")
        return w.set(f"load i1, ptr {found}")

    def solved(self, kind: str, turned: bool, a: str, pivots: str, x: str, columns: int) -> None:
        """Solve in place with the factors of a kind, as `linear/solving/factors.py` does."""
        if kind == "general" and turned:
            self.exchange(pivots, x, columns)
            self.substituted("l", False, True, a, x, columns)
            self.substituted("u", False, False, a, x, columns)
        elif kind == "general":
            self.substituted("u", True, False, a, x, columns)
            self.substituted("l", True, True, a, x, columns)
            self.exchange(pivots, x, columns, backwards=True)
        elif kind == "pos":
            self.substituted("u", True, False, a, x, columns)
            self.substituted("u", False, False, a, x, columns)
        else:
            self.substituted("u" if kind == "lower" else "l", not turned, False, a, x, columns)

    def substituted(self, triangle: str, turned: bool, unit: bool, a: str, x: str, columns: int) -> None:
        """Solve in place with a triangle of what BLAS reads, or with its transpose."""
        n, diagonal = self.n, "u" if unit else "n"
        if columns == 1:
            self.call("trsv", triangle, "t" if turned else "n", diagonal, n, a, n, x, 1)
        else:
            self.call("trsm", "r", triangle, "n" if turned else "t", diagonal, columns, n, 1.0, a, n, x, columns)

    def exchange(self, pivots: str, x: str, columns: int, backwards: bool = False) -> None:
        """Exchange the rows of right-hand sides, in the order of the interchanges, or in the opposite one."""
        text, w, step = self.text, self.w, self.dtype.itemsize
        with text.each([self.n]) as (i,):
            k = w.set(f"sub i64 {self.n - 1}, {i}") if backwards else i
            p = w.set(f"sext i32 {load(w, text.at(pivots, [k], [4]), _I32)} to i64")
            inside = w.set(f"icmp ult i64 {p}, {self.n}")  # LAPACK may say anything of a column of NaN
            other = w.set(f"and i1 {inside}, {w.set(f'icmp ne i64 {p}, {k}')}")
            with w.where(other), text.each([columns]) as (column,):
                first, second = (text.at(x, [row, column], [columns * step, step]) for row in (k, p))
                upper, lower = load(w, first, self.dtype), load(w, second, self.dtype)
                store(w, lower, first, self.dtype)
                store(w, upper, second, self.dtype)

    # -- operations on parts

    def whole(self, pointer: str, lane: str) -> Part:
        """A matrix of a stack."""
        return Part(self.at(pointer, lane), self.n, self.n)

    def part(self, a: Part, rows: tuple[int, int], columns: tuple[int, int]) -> Part:
        """A part of a part."""
        place = self.text.at(a.place, (), (), (rows[0] * self.n + columns[0]) * self.dtype.itemsize)
        return Part(place, rows[1] - rows[0], columns[1] - columns[0])

    def add(self, c: Part, a: Part, b: Part, factor: float, turned: bool = False) -> None:
        """Add a product."""
        n, inner = self.n, b.rows
        ends = (c.columns, c.rows, inner)
        self.call("gemm", "n", "t" if turned else "n", *ends, factor, b.place, n, a.place, n, 1.0, c.place, n)

    def right(self, x: Part, low: Part) -> None:
        """Solve from the right."""
        self._triangle("trsm", "lun", "n", x, low)

    def between(self, x: Part, left: Part, right: Part) -> None:
        """Products with triangles from both sides."""
        self._triangle("trmm", "run", "n", x, left, -1.0)
        self._triangle("trmm", "lun", "n", x, right)

    def left_unit_upper(self, x: Part, up: Part) -> None:
        """Solve from the left."""
        self._triangle("trsm", "rln", "u", x, up)

    def inverse_of_lower(self, low: Part) -> None:
        """The inverse in place."""
        self.call("trtri", "u", "n", low.rows, low.place, self.n, self.w.slot("i32"))

    def pulled(self, g: Part, low: Part) -> None:
        """Products with triangles in place."""
        w, kind, half = self.w, llvm_type(self.dtype), literal(0.5, self.dtype)
        self.clear_above(g)
        self._triangle("trmm", "rut", "n", g, low)
        self.clear_above(g)
        with self.text.each([g.rows]) as (k,):
            place = self._entry(g, k, k)
            store(w, w.set(f"fmul {kind} {load(w, place, self.dtype)}, {half}"), place, self.dtype)
        self._triangle("trsm", "rut", "n", g, low)
        self.right(g, low)
        with w.each("0", str(g.rows)) as i, w.each("0", w.set(f"add i64 {i}, 1")) as j:
            first, second = self._entry(g, i, j), self._entry(g, j, i)
            both = w.set(f"fadd {kind} {load(w, first, self.dtype)}, {load(w, second, self.dtype)}")
            made = w.set(f"fmul {kind} {both}, {half}")
            store(w, made, first, self.dtype)
            store(w, made, second, self.dtype)

    def halved_beside(self, g: Part, above: Part) -> None:
        """Halve, and transpose."""
        w, kind = self.w, llvm_type(self.dtype)
        with self.text.each([g.rows, g.columns]) as (i, j):
            place = self._entry(g, i, j)
            made = w.set(f"fmul {kind} {load(w, place, self.dtype)}, {literal(0.5, self.dtype)}")
            store(w, made, place, self.dtype)
            store(w, made, self._entry(above, j, i), self.dtype)

    def clear_above(self, a: Part) -> None:
        """Zeros above the diagonal."""
        size, w = self.dtype.itemsize, self.w
        w.support["memset"] = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
        with w.each("1", str(a.rows)) as row:
            rest = self.text.at(a.place, [row], [(self.n + 1) * size], -self.n * size)
            count = w.set(f"mul i64 {w.set(f'sub i64 {a.rows}, {row}')}, {size}")
            w.do(f"call void @llvm.memset.p0.i64(ptr align {size} {rest}, i8 0, i64 {count}, i1 false)")

    def _entry(self, a: Part, i: str, j: str) -> str:
        return self.text.at(a.place, [i, j], [self.n * self.dtype.itemsize, self.dtype.itemsize])

    def _triangle(self, name: str, how: str, diagonal: str, x: Part, triangle: Part, factor: float = 1.0) -> None:
        """A product with a triangle or its inverse: the side, the half and whether it is transposed, as BLAS sees it."""
        self.call(name, *how, diagonal, x.columns, x.rows, factor, triangle.place, self.n, x.place, self.n)
