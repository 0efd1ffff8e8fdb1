"""Algorithms on one large matrix that halve it, so that nearly all of their work is products of matrices.

Each is written for a `Machine`, which says how parts of matrices are multiplied and what is done with a part of at most `LEAF`
rows: arrays of NumPy here, calls of BLAS in the text of a compiled program in `engine/cpu/whole/fortran.py`. Both do the same
operations.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np

from catad.linear.solving.factors import lapack

LEAF = 64  # rows of a part that is not halved, as measured
M = TypeVar("M")


class Machine(Protocol[M]):
    """Operations on parts of matrices in C order; all but `part` write into their first argument."""

    def part(self, a: M, rows: tuple[int, int], columns: tuple[int, int]) -> M:
        """A part of a matrix: rows and columns from one to before another."""

    def add(self, c: M, a: M, b: M, factor: float, turned: bool = False) -> None:
        """`c += factor a b`, or `c += factor a' b` if `turned`."""

    def right(self, x: M, low: M) -> None:
        """`x low^-1` with a lower triangle."""

    def between(self, x: M, left: M, right: M) -> None:
        """`-left x right` with lower triangles, zeros above them."""

    def left_unit_upper(self, x: M, up: M) -> None:
        """`up^-1 x` with an upper triangle that has ones on its diagonal, which are not read."""

    def inverse_of_lower(self, low: M) -> None:
        """The inverse of a lower triangle, which has zeros above it."""

    def pulled(self, g: M, low: M) -> None:
        """`S + S'` over 2 with `S = low^-T Phi(low' g) low^-1`; Phi: the lower triangle with half the diagonal."""

    def halved_beside(self, g: M, above: M) -> None:
        """Halve a matrix, and write its transpose into `above`."""


def _half(n: int) -> int:
    return (n // 2 + 31) // 32 * 32


def pulled_through_cholesky(on: Machine[M], low: M, g: M, n: int) -> None:
    """What `cholesky` pulls back: from the derivative `g` by the lower factor to that by the symmetric matrix, in place.

    With A = [[A1, .], [A21, A2]], L1 L1' = A1, L21 = A21 L1^-T and L2 L2' = A2 - L21 L21', this goes back through A2, A21 and
    A1. What stands above the diagonal of `g` is not read. Source: I. Murray, *Differentiation of the Cholesky decomposition*,
    arXiv 1602.07527, 2016, which goes through blocks of one size.
    """
    if n <= LEAF:
        on.pulled(g, low)
        return
    h = _half(n)
    first, second = (0, h), (h, n)
    g1, g21, g2 = on.part(g, first, first), on.part(g, second, first), on.part(g, second, second)
    low1, low21 = on.part(low, first, first), on.part(low, second, first)
    pulled_through_cholesky(on, on.part(low, second, second), g2, n - h)
    on.add(g21, g2, low21, -2.0)
    on.right(g21, low1)
    on.add(g1, g21, low21, -1.0, turned=True)
    pulled_through_cholesky(on, low1, g1, h)
    on.halved_beside(g21, on.part(g, first, second))


def inverted_lower(on: Machine[M], low: M, n: int) -> None:
    """The inverse of a lower triangle in place, zeros standing above it."""
    if n <= LEAF:
        on.inverse_of_lower(low)
        return
    h = _half(n)
    first, beside, second = on.part(low, (0, h), (0, h)), on.part(low, (h, n), (0, h)), on.part(low, (h, n), (h, n))
    inverted_lower(on, first, h)
    inverted_lower(on, second, n - h)
    on.between(beside, second, first)


def solved_unit_upper(on: Machine[M], x: M, up: M, n: int, columns: int) -> None:
    """`up^-1 x` in place."""
    if n <= LEAF:
        on.left_unit_upper(x, up)
        return
    h, every = _half(n), (0, columns)
    first, second = on.part(x, (0, h), every), on.part(x, (h, n), every)
    solved_unit_upper(on, second, on.part(up, (h, n), (h, n)), n - h, columns)
    on.add(first, on.part(up, (0, h), (h, n)), second, -1.0)
    solved_unit_upper(on, first, on.part(up, (0, h), (0, h)), h, columns)


class _OnArrays:
    """Arrays of NumPy; BLAS reads them as their transposes."""

    def part(self, a: Any, rows: tuple[int, int], columns: tuple[int, int]) -> Any:
        return a[slice(*rows), slice(*columns)]

    def add(self, c: Any, a: Any, b: Any, factor: float, turned: bool = False) -> None:
        c += factor * ((a.T if turned else a) @ b)

    def right(self, x: Any, low: Any) -> None:
        x[...] = lapack("trsm", x.dtype)(1.0, low.T, x.T).T

    def between(self, x: Any, left: Any, right: Any) -> None:
        np.negative(left @ x @ right, out=x)

    def left_unit_upper(self, x: Any, up: Any) -> None:
        x[...] = lapack("trsm", x.dtype)(1.0, up.T, x.T, side=1, lower=1, diag=1).T

    def inverse_of_lower(self, low: Any) -> None:
        low[...] = lapack("trtri", low.dtype)(low.T)[0].T

    def pulled(self, g: Any, low: Any) -> None:
        made = np.tril(low.T @ np.tril(g))
        made.flat[:: len(g) + 1] *= 0.5
        trsm = lapack("trsm", g.dtype)
        made = trsm(1.0, low.T, trsm(1.0, low.T, made.T, side=1, trans_a=1)).T
        np.multiply(0.5, made + made.T, out=g)

    def halved_beside(self, g: Any, above: Any) -> None:
        g *= 0.5
        above[...] = g.T


ON_ARRAYS = _OnArrays()


def pulled_back(low: Any, g: Any) -> Any:
    """`pulled_through_cholesky` of a stack of matrices (..., n, n)."""
    made, n = g.copy(), g.shape[-1]
    for one, own in zip(low.reshape(-1, n, n), made.reshape(-1, n, n), strict=True):
        pulled_through_cholesky(ON_ARRAYS, one, own, n)
    return made


def inverses(lu: Any, pivots: Any) -> Any:
    """The inverses of a stack of matrices (..., n, n) from the factors of their transposes, `factors.py`'s "general" ones.

    With V the lower triangle of the packed factors and W the upper one with ones on its diagonal, the matrix is V W and then an
    interchange of columns.
    """
    made, n = np.tril(lu), lu.shape[-1]
    for own, one, at in zip(made.reshape(-1, n, n), lu.reshape(-1, n, n), pivots.reshape(-1, n), strict=True):
        inverted_lower(ON_ARRAYS, own, n)
        solved_unit_upper(ON_ARRAYS, own, one, n, n)
        order = np.arange(n)
        for k in reversed(range(n)):
            order[[k, at[k]]] = order[[at[k], k]]
        own[...] = own[order]
    return made
