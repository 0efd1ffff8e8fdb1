"""Factorisations of stacks of matrices, and systems that are solved by them, within a whole program.

Matrices of at most eight rows are factorised in registers: code without branches, one matrix of a stack after the other, with the
steps of the array code that works side by side. For larger ones the text calls LAPACK and BLAS, which read arrays in C order as
transposes, as the array code does. What cannot be solved makes the array code run, which raises the error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from catad import scalar
from catad.category.boxes import Primitive
from catad.category.spaces import Tensor
from catad.engine.cpu.whole.fortran import Fortran
from catad.engine.cpu.whole.narrow_bands import NARROW, NarrowBand
from catad.engine.cpu.whole.text import Arrays, Buffer, Text
from catad.engine.text.numbers import called, cast, load, store
from catad.linalg.cholesky import Cholesky, CholeskyPulled
from catad.linalg.determinant import Det, LogDet
from catad.linalg.solve import Inverted
from catad.linear.families.inverse import Factor, Solved, SolvedForMany, array_of_factors, has_array
from catad.linear.families.inverses import Reciprocals
from catad.linear.solving.blocked import inverted_lower, pulled_through_cholesky, solved_unit_upper
from catad.linear.solving.factors import SMALL
from catad.scalar import Function
from catad.scalar.printing.llvm_writer import literal, llvm_type

Write = Callable[[Text, Any, Arrays, Arrays], None]
Numbers = list[list[str]]  # the entries of a matrix in registers
_I32, _FLOATS = np.dtype(np.int32), (np.dtype(np.float32), np.dtype(np.float64))
KINDS = ("general", "pos", "lower", "upper")
COUNTED = 1 << 31  # numbers of a band beyond which LAPACK's integers do not count them
DIAGONAL = 64  # pivots whose logarithms the text adds up; NumPy adds more of them, in pairs


def writer(box: Primitive, read: Arrays) -> Write | None:
    """What writes a box of matrices; None where array code runs it."""
    if isinstance(box, Reciprocals):
        return _reciprocals if read[0][1].dtype in _FLOATS else None
    if isinstance(box, SolvedForMany):
        return _for_many(box, read)
    used = _used(box, read) if isinstance(box, Solved) else read
    a = array_of_factors(box.of, box.kind) if isinstance(box, Solved) and box.kind else read[0][1]
    n = a.shape[-1] if a.ndim else 0
    floats = [space.dtype for _, space in used if space.is_float]
    if not n or a.dtype not in _FLOATS or any(dtype != a.dtype for dtype in floats):
        return None
    if isinstance(box, LogDet | Det):
        return _determinant if n <= DIAGONAL else None
    if isinstance(box, Factor):
        return {"general": _lu, "pos": _cholesky}.get(box.kind) or _banded_factor(box.kind, a)
    if isinstance(box, Solved):
        return _solved if box.kind in KINDS else _solved_by_band(box.kind, a, used[-1][1])
    found: dict[type[Primitive], Write] = {Cholesky: _cholesky, CholeskyPulled: _pulled, Inverted: _inverted}
    return found.get(type(box))


def _reciprocals(text: Text, box: Any, read: Arrays, made: Arrays) -> None:
    """1 / d; a zero makes the array code run."""
    (d, space), (goal, _) = read[0], made[0]
    r, size = _Registers(text, space.dtype), space.dtype.itemsize
    found = text.w.slot("i1", start="false")
    with text.each([space.size]) as (k,):
        value = load(text.w, text.at(d.pointer, [k], [size]), space.dtype)
        text.w.do(f"store i1 {r.any([text.w.set(f'load i1, ptr {found}'), r.is_zero(value)])}, ptr {found}")
        store(text.w, r.over(r.number(1.0), value), text.at(goal.pointer, [k], [size]), space.dtype)
    if not box.lenient:
        text.fail(text.w.set(f"load i1, ptr {found}"))


def _for_many(box: SolvedForMany, read: Arrays) -> Write | None:
    """One system after the other, where the text of one is written."""
    one = box.one
    right = [(buffer, Tensor(space.shape[1:], space.dtype)) for buffer, space in read[-len(one.of.cod) :]]
    same = [*read[: -len(right)]]
    write = writer(one, [*same, *right]) if one.kind else None
    if write is None:
        return None

    def written(text: Text, box: Any, read: Arrays, made: Arrays) -> None:
        with text.each([box.size]) as (k,):
            (b, own), (goal, space) = [(buffer, Tensor(s.shape[1:], s.dtype)) for buffer, s in (read[-1], made[0])]
            ins = (Buffer(text.at(b.pointer, [k], [own.nbytes]), own.nbytes), own)
            outs = (Buffer(text.at(goal.pointer, [k], [space.nbytes]), space.nbytes), space)
            write(text, one, [*read[:-1], ins], [outs])

    return written


def _used(box: Solved, read: Arrays) -> Arrays:
    """What a solution is computed from: the only slot if it has the matrices, the factors and the right-hand side."""
    return read if has_array(box.of) else read[len(box.of.slots) :]


def _stack(space: Tensor) -> tuple[int, int]:
    """How many matrices there are, and their rows."""
    return math.prod(space.shape[:-2]), space.shape[-1]


class _Registers:
    """Instructions on numbers of one dtype, and on matrices of them."""

    def __init__(self, text: Text, dtype: np.dtype[Any]) -> None:
        self.text, self.w, self.dtype, self.kind = text, text.w, dtype, llvm_type(dtype)

    def read(self, pointer: str, lane: str, rows: int, columns: int) -> Numbers:
        """The entries of a matrix of a stack."""
        size = self.dtype.itemsize
        start = self.text.at(pointer, [lane], [rows * columns * size])
        return [
            [load(self.w, self.text.at(start, (), (), size * (i * columns + j)), self.dtype) for j in range(columns)]
            for i in range(rows)
        ]

    def write(self, m: Numbers, pointer: str, lane: str) -> None:
        """Write a matrix of a stack."""
        size, columns = self.dtype.itemsize, len(m[0])
        start = self.text.at(pointer, [lane], [len(m) * columns * size])
        for i, row in enumerate(m):
            for j, value in enumerate(row):
                store(self.w, value, self.text.at(start, (), (), size * (i * columns + j)), self.dtype)

    def less(self, a: str, b: str, c: str) -> str:
        """`a - b c`."""
        return self.w.set(f"fsub {self.kind} {a}, {self.times(b, c)}")

    def plus(self, a: str, b: str) -> str:
        """`a + b`."""
        return self.w.set(f"fadd {self.kind} {a}, {b}")

    def times(self, a: str, b: str) -> str:
        """`a b`."""
        return self.w.set(f"fmul {self.kind} {a}, {b}")

    def dot(self, a: Sequence[str], b: Sequence[str]) -> str:
        """The sum of products."""
        return reduce(self.plus, [self.times(x, y) for x, y in zip(a, b, strict=True)])

    def over(self, a: str, b: str) -> str:
        """`a / b`."""
        return self.w.set(f"fdiv {self.kind} {a}, {b}")

    def root(self, a: str) -> str:
        """The square root."""
        return self.w.intrinsic(f"llvm.sqrt.f{8 * self.dtype.itemsize}", self.kind, f"{self.kind} {a}")

    def size(self, a: str) -> str:
        """The absolute value."""
        return self.w.intrinsic(f"llvm.fabs.f{8 * self.dtype.itemsize}", self.kind, f"{self.kind} {a}")

    def compare(self, how: str, a: str, b: str) -> str:
        """Whether two numbers compare like this."""
        return self.w.set(f"fcmp {how} {self.kind} {a}, {b}")

    def is_zero(self, a: str) -> str:
        """True for 0 of either sign."""
        return self.compare("oeq", a, self.number(0.0))

    def number(self, value: float) -> str:
        """A constant."""
        return literal(value, self.dtype)

    def choose(self, where: str, a: str, b: str) -> str:
        """`a if where else b`."""
        return self.w.set(f"select i1 {where}, {self.kind} {a}, {self.kind} {b}")

    def any(self, flags: Sequence[str]) -> str:
        """Whether one of some flags is true."""
        return reduce(lambda found, flag: self.w.set(f"or i1 {found}, {flag}"), flags)

    def exchanged(self, where: str, a: list[str], b: list[str]) -> tuple[list[str], list[str]]:
        """Two rows, exchanged where a condition holds."""
        both = list(zip(a, b, strict=True))
        return [self.choose(where, y, x) for x, y in both], [self.choose(where, x, y) for x, y in both]


def _transposed(m: Numbers) -> Numbers:
    return [list(row) for row in zip(*m, strict=True)]


def _pivots_at(text: Text, pointer: str, lane: str, n: int) -> list[str]:
    return [text.at(pointer, [lane], [4 * n], 4 * k) for k in range(n)]


# -- factorisations


def _lu(text: Text, box: Primitive, read: Arrays, made: Arrays) -> None:
    """P M = L U of the transposes M, with the interchanges of rows counted from 0."""
    (a, space), (goal, pivots) = read[0], (made[0][0], made[1][0])
    lanes, n = _stack(space)
    if n > SMALL:
        text.copy(a.pointer, goal.pointer, space.nbytes)
        lapack = Fortran(text, space.dtype, n)
        with text.each([lanes]) as (lane,):
            own = text.at(pivots.pointer, [lane], [4 * n])
            lapack.factorised(lapack.at(goal.pointer, lane), own)
        return
    r, w = _Registers(text, space.dtype), text.w
    with text.each([lanes]) as (lane,):
        m = _transposed(r.read(a.pointer, lane, n, n))
        for k, place in enumerate(_pivots_at(text, pivots.pointer, lane, n)):
            p, best = str(k), r.size(m[k][k])
            for row in range(k + 1, n):
                size = r.size(m[row][k])
                more = r.compare("ogt", size, best)
                p, best = w.set(f"select i1 {more}, i32 {row}, i32 {p}"), r.choose(more, size, best)
            store(w, p, place, _I32)
            for row in range(k + 1, n):
                m[k], m[row] = r.exchanged(w.set(f"icmp eq i32 {p}, {row}"), m[k], m[row])
            pivot = r.choose(r.is_zero(m[k][k]), r.number(1.0), m[k][k])
            for row in range(k + 1, n):
                m[row][k] = r.over(m[row][k], pivot)
                m[row][k + 1 :] = [r.less(x, m[row][k], y) for x, y in zip(m[row][k + 1 :], m[k][k + 1 :], strict=True)]
        r.write(_transposed(m), goal.pointer, lane)


def _cholesky(text: Text, box: Primitive, read: Arrays, made: Arrays) -> None:
    """The lower factors; NaN where a matrix has numbers that are not finite and no factor."""
    (a, space), (goal, _) = read[0], made[0]
    lanes, n = _stack(space)
    if n > SMALL:
        text.copy(a.pointer, goal.pointer, space.nbytes)
        lapack = Fortran(text, space.dtype, n)
        with text.each([lanes]) as (lane,):
            text.fail(lapack.cholesky(lapack.at(goal.pointer, lane)))
        return
    r, w = _Registers(text, space.dtype), text.w
    nan, zero, infinity = r.number(math.nan), r.number(0.0), r.number(math.inf)
    with text.each([lanes]) as (lane,):
        m = r.read(a.pointer, lane, n, n)
        strange = r.any([r.compare("uge", r.size(x), infinity) for i, row in enumerate(m) for x in row[: i + 1]])
        failed = "false"
        for k in range(n):
            failed = r.any([failed, r.compare("ule", m[k][k], zero)])
            m[k][k] = r.root(m[k][k])
            for row in range(k + 1, n):
                m[row][k] = r.over(m[row][k], m[k][k])
            for row in range(k + 1, n):
                for j in range(k + 1, row + 1):
                    m[row][j] = r.less(m[row][j], m[row][k], m[j][k])
        text.fail(w.set(f"and i1 {failed}, {w.set(f'xor i1 {strange}, true')}"))
        lost = w.set(f"and i1 {failed}, {strange}")
        kept = [[r.choose(lost, nan, x) for x in row[: i + 1]] + [zero] * (n - i - 1) for i, row in enumerate(m)]
        r.write(kept, goal.pointer, lane)


def _pulled(text: Text, box: CholeskyPulled, read: Arrays, made: Arrays) -> None:
    """What `cholesky` pulls back: (S + S') / 2 with S = L^-T Phi(L' G) L^-1."""
    (low, space), (g, _), (goal, _) = *read, made[0]
    lanes, n = _stack(space)
    if n > SMALL:
        text.copy(g.pointer, goal.pointer, space.nbytes)
        on = Fortran(text, space.dtype, n)
        with text.each([lanes]) as (lane,):
            pulled_through_cholesky(on, on.whole(low.pointer, lane), on.whole(goal.pointer, lane), n)
        return
    r, every = _Registers(text, space.dtype), range(n)
    half = r.number(0.5)
    with text.each([lanes]) as (lane,):
        m, x = r.read(low.pointer, lane, n, n), r.read(g.pointer, lane, n, n)
        phi = [[r.dot([m[k][i] for k in every[i:]], [x[k][j] for k in every[i:]]) for j in every[: i + 1]] for i in every]
        made_of = [[r.times(half, phi[i][j]) if i == j else phi[i][j] for j in every[: i + 1]] for i in every]
        rows = [[made_of[i][j] if j <= i else r.number(0.0) for j in every] for i in every]
        for _ in range(2):
            rows = [_substituted(r, _transposed(m), column, False) for column in _transposed(rows)]
        both = [[r.times(half, r.plus(rows[i][j], rows[j][i])) for j in every[: i + 1]] for i in every]
        r.write([[both[max(i, j)][min(i, j)] for j in every] for i in every], goal.pointer, lane)


def _inverted(text: Text, box: Inverted, read: Arrays, made: Arrays) -> None:
    """The inverses from LU factors; a pivot that is 0 makes the array code run."""
    (_, space), (lu, _), (pivots, _), (goal, _) = *read, made[0]
    lanes, n = _stack(space)
    on = Fortran(text, space.dtype, n)
    text.copy(lu.pointer, goal.pointer, space.nbytes)
    with text.each([lanes]) as (lane,):
        packed, x = on.whole(lu.pointer, lane), on.whole(goal.pointer, lane)
        text.fail(on.has_zero(packed.place))
        on.clear_above(x)
        inverted_lower(on, x, n)
        solved_unit_upper(on, x, packed, n, n)
        on.exchange(text.at(pivots.pointer, [lane], [4 * n]), x.place, n, backwards=True)


# -- systems


def _solved(text: Text, box: Solved, read: Arrays, made: Arrays) -> None:
    """The solutions of a system for each matrix of a stack; a pivot that is 0 makes the array code run."""
    used, space = _used(box, read), array_of_factors(box.of, box.kind)
    (b, right), (goal, _) = used[-1], made[0]
    lanes, n = _stack(space)
    columns = 1 if right.ndim < space.ndim else right.shape[-1]
    if not right.size:
        return
    factors = [one for one, _ in (read[1:-1] if has_array(box.of) and len(read) > 2 else used[:-1])]
    triangle, pivots = factors[0], factors[1] if box.kind == "general" else None
    if n > SMALL:
        text.copy(b.pointer, goal.pointer, right.nbytes)
        lapack = Fortran(text, space.dtype, n)
        with text.each([lanes]) as (lane,):
            own = "" if pivots is None else text.at(pivots.pointer, [lane], [4 * n])
            a, there = lapack.at(triangle.pointer, lane), text.at(goal.pointer, [lane], [n * columns * space.dtype.itemsize])
            if box.kind != "pos" and not box.lenient:
                text.fail(lapack.has_zero(a))
            lapack.solved(box.kind, box.turned, a, own, there, columns)
        return
    r = _Registers(text, space.dtype)
    step = space.dtype.itemsize
    with text.each([lanes]) as (lane,):
        m = r.read(triangle.pointer, lane, n, n)
        if box.kind != "pos" and not box.lenient:
            text.fail(r.any([r.is_zero(m[k][k]) for k in range(n)]))
        swaps = _swaps(text, pivots.pointer, lane, n) if pivots is not None else []
        with text.each([columns]) as (column,):
            places = [[text.at(one.pointer, [lane, column], [n * columns * step, step], k * columns * step) for k in range(n)]
                      for one in (b, goal)]  # fmt: skip
            x = [load(text.w, place, space.dtype) for place in places[0]]
            x = _IN_REGISTERS[box.kind](r, m, swaps, x, box.turned)
            for value, place in zip(x, places[1], strict=True):
                store(text.w, value, place, space.dtype)


def _swaps(text: Text, pointer: str, lane: str, n: int) -> list[tuple[int, int, str]]:
    """The interchanges in their order: two rows, and whether they are exchanged."""
    at = [load(text.w, place, _I32) for place in _pivots_at(text, pointer, lane, n)]
    return [(k, row, text.w.set(f"icmp eq i32 {at[k]}, {row}")) for k in range(n) for row in range(k + 1, n)]


def _exchange(r: _Registers, x: list[str], swaps: Sequence[tuple[int, int, str]]) -> None:
    for k, row, flag in swaps:
        x[k : k + 1], x[row : row + 1] = r.exchanged(flag, [x[k]], [x[row]])


def _substituted(r: _Registers, m: Numbers, x: list[str], lower: bool, unit: bool = False) -> list[str]:
    """The solution with a triangle of a matrix, with ones on its diagonal if `unit`."""
    n = len(x)
    for k in range(n) if lower else reversed(range(n)):
        if not unit:
            x[k] = r.over(x[k], m[k][k])
        for row in range(k + 1, n) if lower else range(k):
            x[row] = r.less(x[row], m[row][k], x[k])
    return x


def _by_lu(r: _Registers, lu: Numbers, swaps: list[tuple[int, int, str]], x: list[str], turned: bool) -> list[str]:
    if turned:
        _exchange(r, x, swaps)
        return _substituted(r, _transposed(lu), _substituted(r, _transposed(lu), x, True, True), False)
    x = _substituted(r, lu, _substituted(r, lu, x, True), False, True)
    n = len(x)
    for k in reversed(range(n)):
        _exchange(r, x, [swap for swap in swaps if swap[0] == k])
    return x


def _by_cholesky(r: _Registers, low: Numbers, swaps: Any, x: list[str], turned: bool) -> list[str]:
    return _substituted(r, _transposed(low), _substituted(r, low, x, True), False)


def _by_triangle(lower: bool) -> Callable[..., list[str]]:
    def solve(r: _Registers, m: Numbers, swaps: Any, x: list[str], turned: bool) -> list[str]:
        return _substituted(r, _transposed(m) if turned else m, x, lower != turned)

    return solve


_IN_REGISTERS = {"general": _by_lu, "pos": _by_cholesky, "lower": _by_triangle(True), "upper": _by_triangle(False)}


# -- determinants


def _determinant(text: Text, box: LogDet | Det, read: Arrays, made: Arrays) -> None:
    """The product of the pivots, or its sign and the sum of their logarithms; each interchange of rows changes the sign."""
    (_, space), (lu, _), (pivots, _) = read
    lanes, n = _stack(space)
    r, w, step = _Registers(text, space.dtype), text.w, space.dtype.itemsize
    logs = isinstance(box, LogDet)
    made_of = [Function.make(1, [one]) for one in (scalar.apply("sign", scalar.param(0)), scalar.apply("log", scalar.param(0)))]
    with text.each([lanes]) as (lane,):
        product, total = w.slot(r.kind, start=r.number(1.0)), w.slot(r.kind, start=r.number(0.0))
        with text.each([n]) as (k,):
            pivot = load(w, text.at(lu.pointer, [lane, k], [n * n * step, (n + 1) * step]), space.dtype)
            p = cast(w, load(w, text.at(pivots.pointer, [lane, k], [4 * n, 4]), _I32), _I32, np.dtype(np.int64))
            factor = called(w, made_of[0], [space.dtype], [pivot])[0] if logs else pivot
            opposite = w.set(f"fneg {r.kind} {factor}")
            factor = r.choose(w.set(f"icmp eq i64 {p}, {k}"), factor, opposite)
            w.do(f"store {r.kind} {w.set(f'fmul {r.kind} {load(w, product, space.dtype)}, {factor}')}, ptr {product}")
            if logs:
                (more,) = called(w, made_of[1], [space.dtype], [r.size(pivot)])
                w.do(f"store {r.kind} {w.set(f'fadd {r.kind} {load(w, total, space.dtype)}, {more}')}, ptr {total}")
        for slot, (goal, own) in zip((product, total), made, strict=False):
            store(w, load(w, slot, own.dtype), text.at(goal.pointer, [lane], [step]), own.dtype)


# -- bands, by LAPACK; their factors are those of the array code of `linear/solving/bands.py`


def _banded_factor(kind: str, a: Tensor) -> Write | None:
    """What writes the factorisation of a stack of bands; None where array code runs it."""
    if a.size * 3 >= COUNTED:
        return None
    return {"tridiagonal": _three_diagonals, "band": _diagonals}.get(kind.partition(" ")[0])


def _solved_by_band(kind: str, a: Tensor, right: Tensor) -> Write | None:
    """What writes the solution with the factors of a stack of bands; None where array code runs it."""
    columns = 1 if right.ndim < a.ndim else right.shape[-1]
    if a.size * 3 >= COUNTED or not right.size or columns != 1:
        return None
    return {"tridiagonal": _by_three_diagonals, "band": _by_diagonals}.get(kind.partition(" ")[0])


def _widths(kind: str) -> tuple[int, int]:
    lower, upper = [int(number) for number in kind.split()[1:]]
    return lower, upper


def _diagonals(text: Text, box: Any, read: Arrays, made: Arrays) -> None:
    """LU in place, after the diagonals have been laid out column by column; what lies outside the matrix is 0."""
    (a, space), (goal, whole), (pivots, _) = read[0], *made
    lower, upper = _widths(box.kind)
    w, n, rows, size = text.w, space.shape[-1], whole.shape[-1], space.dtype.itemsize
    lapack, info, r = Fortran(text, space.dtype, n), w.slot("i32"), _Registers(text, space.dtype)
    text.clear(goal.pointer, whole.nbytes)
    with text.each([_stack(space)[0]]) as (lane,):
        with text.each([n, lower + upper + 1]) as (j, k):
            i = w.set(f"sub i64 {w.set(f'add i64 {j}, {k}')}, {upper}")
            value = load(w, text.at(a.pointer, [lane, k, j], [space.shape[-2] * n * size, n * size, size]), space.dtype)
            inside = r.choose(w.set(f"icmp ult i64 {i}, {n}"), value, r.number(0.0))
            store(w, inside, text.at(goal.pointer, [lane, j, k], [n * rows * size, rows * size, size], lower * size), space.dtype)
        own, at = text.at(goal.pointer, [lane], [n * rows * size]), text.at(pivots.pointer, [lane], [4 * n])
        lapack.call("gbtrf", n, n, lower, upper, own, rows, at, info)


def _three_diagonals(text: Text, box: Any, read: Arrays, made: Arrays) -> None:
    """LU in place, after the diagonals have been copied."""
    (a, space), n = read[0], read[0][1].shape[-1]
    size = space.dtype.itemsize
    lapack, info = Fortran(text, space.dtype, n), text.w.slot("i32")
    with text.each([_stack(space)[0]]) as (lane,):
        places = [text.at(one.pointer, [lane], [own.nbytes // max(1, _stack(space)[0])]) for one, own in made]
        for place, start, count in zip(places, (2 * n, n, 1), (n - 1, n, n - 1), strict=False):
            text.copy(text.at(a.pointer, [lane], [3 * n * size], start * size), place, count * size)
        lapack.call("gttrf", n, *places, info)


def _by_diagonals(text: Text, box: Any, read: Arrays, made: Arrays) -> None:
    (lu, whole), (pivots, _), (b, right) = read[-3:]
    lower, upper = _widths(box.kind)
    *_, n, rows = whole.shape
    size = whole.dtype.itemsize
    lapack, info = Fortran(text, whole.dtype, n), text.w.slot("i32")
    text.copy(b.pointer, made[0][0].pointer, right.nbytes)
    with text.each([_stack(whole)[0]]) as (lane,):
        own, at = text.at(lu.pointer, [lane], [n * rows * size]), text.at(pivots.pointer, [lane], [4 * n])
        if not box.lenient:
            text.fail(lapack.has_zero_along(text.at(own, (), (), (lower + upper) * size), rows))
        x = text.at(made[0][0].pointer, [lane], [n * size])
        if lower + upper <= NARROW:
            NarrowBand(text, whole, lower, upper, own, at, x).solved(box.turned)
        else:
            lapack.call("gbtrs", "t" if box.turned else "n", n, lower, upper, 1, own, rows, at, x, n, info)


def _by_three_diagonals(text: Text, box: Any, read: Arrays, made: Arrays) -> None:
    *factors, (b, right) = read[-6:]
    space = factors[1][1]
    n, size, lanes = space.shape[-1], space.dtype.itemsize, math.prod(space.shape[:-1])
    lapack, info = Fortran(text, space.dtype, n), text.w.slot("i32")
    text.copy(b.pointer, made[0][0].pointer, right.nbytes)
    with text.each([lanes]) as (lane,):
        places = [text.at(one.pointer, [lane], [own.nbytes // lanes]) for one, own in factors]
        if not box.lenient:
            text.fail(lapack.has_zero_along(places[1], 1))
        x = text.at(made[0][0].pointer, [lane], [n * size])
        lapack.call("gttrs", "t" if box.turned else "n", n, 1, *places, x, n, info)
