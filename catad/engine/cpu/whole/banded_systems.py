"""Factorisations of bands, and systems that are solved by them, within a whole program: calls of LAPACK.

The factors are those of the array code of `linear/solving/bands.py`, which runs where a pivot is 0, and raises the error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from catad.category.spaces import Tensor
from catad.engine.cpu.whole.fortran import Fortran
from catad.engine.cpu.whole.text import Arrays, Text
from catad.engine.text.numbers import load, store

Write = Callable[[Text, Any, Arrays, Arrays], None]
MOST = 1 << 31  # numbers of a band beyond which LAPACK's integers do not count them


def factor(kind: str, a: Tensor) -> Write | None:
    """What writes the factorisation of a stack of bands; None where array code runs it."""
    if a.size * 3 >= MOST:
        return None
    return {"tridiagonal": _three_diagonals, "band": _diagonals}.get(kind.partition(" ")[0])


def solved(kind: str, a: Tensor, right: Tensor) -> Write | None:
    """What writes the solution with the factors of a stack of bands; None where array code runs it."""
    columns = 1 if right.ndim < a.ndim else right.shape[-1]
    if a.size * 3 >= MOST or not right.size or columns != 1:
        return None
    return {"tridiagonal": _by_three_diagonals, "band": _by_diagonals}.get(kind.partition(" ")[0])


def _lanes(space: Tensor) -> int:
    """How many matrices there are."""
    return math.prod(space.shape[:-2])


def _widths(kind: str) -> tuple[int, int]:
    lower, upper = [int(number) for number in kind.split()[1:]]
    return lower, upper


# -- factorisations


def _diagonals(text: Text, box: Any, read: Arrays, made: Arrays) -> None:
    """LU in place, after the diagonals have been laid out column by column; what lies outside the matrix is 0."""
    (a, space), (goal, whole), (pivots, _) = read[0], *made
    lower, upper = _widths(box.kind)
    w, n, rows, size = text.w, space.shape[-1], whole.shape[-1], space.dtype.itemsize
    lapack, info = Fortran(text, space.dtype, n), w.slot("i32")
    text.clear(goal.pointer, whole.nbytes)
    with text.each([_lanes(space)]) as (lane,):
        for r, k in enumerate(range(-upper, lower + 1)):
            first, count = max(0, -k), n - abs(k)
            source = text.at(a.pointer, [lane], [space.shape[-2] * n * size], (r * n + first) * size)
            place = text.at(goal.pointer, [lane], [n * rows * size], (first * rows + lower + r) * size)
            with text.each([count]) as (j,):
                store(w, load(w, text.at(source, [j], [size]), space.dtype), text.at(place, [j], [rows * size]), space.dtype)
        own, at = text.at(goal.pointer, [lane], [n * rows * size]), text.at(pivots.pointer, [lane], [4 * n])
        lapack.call("gbtrf", n, n, lower, upper, own, rows, at, info)


def _three_diagonals(text: Text, box: Any, read: Arrays, made: Arrays) -> None:
    """LU in place, after the diagonals have been copied."""
    (a, space), n = read[0], read[0][1].shape[-1]
    size = space.dtype.itemsize
    lapack, info = Fortran(text, space.dtype, n), text.w.slot("i32")
    with text.each([_lanes(space)]) as (lane,):
        places = [text.at(one.pointer, [lane], [own.nbytes // max(1, _lanes(space))]) for one, own in made]
        for place, start, count in zip(places, (2 * n, n, 1), (n - 1, n, n - 1), strict=False):
            text.copy(text.at(a.pointer, [lane], [3 * n * size], start * size), place, count * size)
        lapack.call("gttrf", n, *places, info)


# -- systems


def _by_diagonals(text: Text, box: Any, read: Arrays, made: Arrays) -> None:
    (lu, whole), (pivots, _), (b, right) = read[-3:]
    lower, upper = _widths(box.kind)
    *_, n, rows = whole.shape
    size = whole.dtype.itemsize
    lapack, info = Fortran(text, whole.dtype, n), text.w.slot("i32")
    text.copy(b.pointer, made[0][0].pointer, right.nbytes)
    with text.each([_lanes(whole)]) as (lane,):
        own, at = text.at(lu.pointer, [lane], [n * rows * size]), text.at(pivots.pointer, [lane], [4 * n])
        if not box.lenient:
            text.fail(lapack.has_zero_along(text.at(own, (), (), (lower + upper) * size), rows))
        x = text.at(made[0][0].pointer, [lane], [n * size])
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
