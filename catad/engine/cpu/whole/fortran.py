"""Calls of BLAS and LAPACK in the text of a whole program, for matrices (n, n) in C order, which they read as transposes.

So the upper triangle of what they read is the lower one of the array. Columns of right-hand sides that lie in C order are rows
of a matrix X' for them, and `A X = B` is solved as `X' A' = B'`, without a transposition.
"""

from __future__ import annotations

from typing import Any

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
    kind, name = llvm_type(dtype), {1.0: "one", 0.0: "no", -1.0: "less"}[value]
    text.w.support[f"{name} {kind}"] = f"@{name}_{kind} = internal constant {kind} {literal(value, dtype)}"
    return f"ptr @{name}_{kind}"


def letter(text: Text, one: str) -> str:
    """The place of a letter, as an argument."""
    text.w.support[f"letter {one}"] = f"@letter_{one} = internal constant i8 {ord(one)}"
    return f"ptr @letter_{one}"


class Fortran:
    """Calls on matrices of one size and dtype, given by the addresses of their first entries."""

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
        n, info, size = self.n, self.w.slot("i32"), self.dtype.itemsize
        self.call("potrf", "u", n, a, n, info)
        self.w.support["memset"] = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
        with self.w.each("1", str(n)) as row:
            rest = self.text.at(a, [row], [(n + 1) * size], -n * size)
            count = self.w.set(f"mul i64 {self.w.set(f'sub i64 {n}, {row}')}, {size}")
            self.w.do(f"call void @llvm.memset.p0.i64(ptr align {size} {rest}, i8 0, i64 {count}, i1 false)")
        return self.w.set(f"icmp ne i32 {load(self.w, info, _I32)}, 0")

    def has_zero(self, a: str) -> str:
        """Whether there is a 0 on the diagonal."""
        w, kind, found = self.w, llvm_type(self.dtype), self.w.slot("i1", start="false")
        with self.text.each([self.n]) as (k,):
            pivot = load(w, self.text.at(a, [k], [(self.n + 1) * self.dtype.itemsize]), self.dtype)
            zero = w.set(f"fcmp oeq {kind} {pivot}, {literal(0.0, self.dtype)}")
            before = w.set(f"load i1, ptr {found}")
            w.do(f"store i1 {w.set(f'or i1 {before}, {zero}')}, ptr {found}")
        return w.set(f"load i1, ptr {found}")

    def solved(self, kind: str, turned: bool, a: str, pivots: str, x: str, columns: int) -> None:
        """Solve in place with the factors of a kind, as `linear/solving/factors.py` does."""
        if kind == "general" and turned:
            self._exchange(pivots, x, columns)
            self.substituted("l", False, True, a, x, columns)
            self.substituted("u", False, False, a, x, columns)
        elif kind == "general":
            self.substituted("u", True, False, a, x, columns)
            self.substituted("l", True, True, a, x, columns)
            self._exchange(pivots, x, columns, backwards=True)
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

    def _exchange(self, pivots: str, x: str, columns: int, backwards: bool = False) -> None:
        """Exchange the rows of right-hand sides, in the order of the interchanges, or in the opposite one."""
        text, w, step = self.text, self.w, self.dtype.itemsize
        with text.each([self.n]) as (i,):
            k = w.set(f"sub i64 {self.n - 1}, {i}") if backwards else i
            p = w.set(f"sext i32 {load(w, text.at(pivots, [k], [4]), _I32)} to i64")
            with w.where(w.set(f"icmp ne i64 {p}, {k}")), text.each([columns]) as (column,):
                first, second = (text.at(x, [row, column], [columns * step, step]) for row in (k, p))
                one, other = load(w, first, self.dtype), load(w, second, self.dtype)
                store(w, other, first, self.dtype)
                store(w, one, second, self.dtype)
