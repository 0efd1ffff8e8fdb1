"""Factorisations of bands and solving with them: kinds as those of `factors`, of stacks of arrays of diagonals.

    tridiagonal                          LU with partial pivoting          (gttrf, gttrs)
    band l u                             the same, of l + u + 1 diagonals  (gbtrf, gbtrs)
    pos tridiagonal, pos band            Cholesky, of one half             (pttrf, pttrs; pbtrf, pbtrs)

An array (..., w, n) has the entry [i, j] of a matrix in its column j, as SciPy's `solve_banded` reads it. The factors are those
of SciPy's LAPACK, as LAPACK stores them: of general bands in arrays (..., n, 2 l + u + 1), with pivots counted from 1. Arrays of
CuPy go to the host and come back.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from catad import errors
from catad.category.spaces import Tensor
from catad.linear.solving.factors import KINDS, MAKERS, Arrays, Kind, lapack
from catad.linear.solving.lenient import is_lenient
from catad.values.arrays import asarray


def _host(xp: Any, array: Any) -> Any:
    return array if xp is np else array.get()


def _back(xp: Any, made: Arrays) -> Arrays:
    return made if xp is np else tuple([asarray(xp, one, one.dtype) for one in made])


def _each(a: Any, axes: int = 2) -> Any:
    """A stack with one leading axis, which also an empty array has."""
    own = a.shape[a.ndim - axes :]
    return a.reshape(math.prod(a.shape[: a.ndim - axes]), *own)


def _strange(pivots: Any, factors: Sequence[Any], kind: str) -> Any:
    """Which of a stack have NaN or infinity and a pivot (..., n) of 0; raises `SolveError` where one is 0 and all are numbers."""
    leading, n = pivots.shape[:-1], pivots.shape[-1]
    each = pivots.reshape(-1, n)
    zero = ~each.all(axis=1)
    if zero.any() and not is_lenient():
        numbers = [np.isfinite(part.reshape(len(each), -1)).all(axis=1) for part in factors]
        singular = zero & np.logical_and.reduce(numbers)
        if singular.any():
            k = int(np.argmax(singular))
            raise errors.SolveError(errors.singular_matrix(kind, n, errors.in_stack(k, leading), int(np.argmin(each[k] != 0))))
    return zero


def _with_shape(xp: Any, found: Any, b: Any) -> Any:
    return found.reshape(b.shape) if xp is np else asarray(xp, found.reshape(b.shape), b.dtype)


# -- general bands


@cache
def band(lower: int, upper: int) -> Kind:
    """LU of matrices with so many diagonals below and above the main one."""
    rows = 2 * lower + upper + 1

    def spaces(a: Tensor) -> tuple[Tensor, ...]:
        *leading, _, n = a.shape
        return Tensor((*leading, n, rows), a.dtype), Tensor((*leading, n), np.int32)

    def factor(xp: Any, a: Any) -> Arrays:
        stack, n = _each(_host(xp, a)), a.shape[-1]
        made = np.zeros((len(stack), n, rows), a.dtype)
        pivots = np.zeros((len(stack), n), np.int32)
        made[:, :, lower:] = stack.transpose(0, 2, 1)
        for row, k in enumerate(range(-upper, lower + 1), start=lower):  # what lies outside the matrix
            made[:, : max(0, -k), row] = made[:, max(0, n - max(0, k)) :, row] = 0.0
        if made.size:
            gbtrf = lapack("gbtrf", a.dtype)
            for k, one in enumerate(made):
                found, at, _ = gbtrf(one.T, lower, upper, overwrite_ab=1)
                made[k], pivots[k] = found.T, at + 1
        leading = a.shape[:-2]
        return _back(xp, (made.reshape(*leading, n, rows), pivots.reshape(*leading, n)))

    def solve(xp: Any, a: Any, factors: Arrays, b: Any, turned: bool) -> Any:
        if not b.size:
            return b.copy()
        lu, pivots, right = _host(xp, factors[0]), _each(_host(xp, factors[1]), 1), _each(_host(xp, b))
        strange = _strange(lu[..., lower + upper], [lu], "banded")
        gbtrs, x = lapack("gbtrs", b.dtype), np.empty_like(right)
        for k, one in enumerate(_each(lu)):
            x[k] = np.nan if strange[k] else gbtrs(one.T, lower, upper, right[k], pivots[k] - 1, trans=int(turned))[0]
        return _with_shape(xp, x, b)

    return Kind(spaces, factor, solve, lambda a: a.size * (2 * lower + 1), lambda a: 2 * lower + upper + 1)


MAKERS["band"] = band


# -- three diagonals


def _tridiagonal_spaces(a: Tensor) -> tuple[Tensor, ...]:
    *leading, _, n = a.shape
    below, own, second = [Tensor((*leading, n - k), a.dtype) for k in (1, 0, 2)]
    return below, own, below, second, Tensor((*leading, n), np.int32)


def _tridiagonal(xp: Any, a: Any) -> Arrays:
    """Of at least three unknowns."""
    leading, n = a.shape[:-2], a.shape[-1]
    stack, gttrf = _each(_host(xp, a)), lapack("gttrf", a.dtype)
    if len(stack) == 1:
        (one,) = stack
        *made, _ = gttrf(one[2, :-1], one[1], one[0, 1:])
        found = tuple([x.reshape(*leading, len(x)) for x in made])
        return _back(xp, (*found[:4], found[4].astype(np.int32, copy=False)))
    sizes, dtypes = (n - 1, n, n - 1, n - 2, n), (a.dtype,) * 4 + (np.dtype(np.int32),)
    out = [np.empty((len(stack), size), dtype) for size, dtype in zip(sizes, dtypes, strict=True)]
    for k, one in enumerate(stack):
        *made, _ = gttrf(one[2, :-1], one[1], one[0, 1:])
        for whole, part in zip(out, made, strict=True):
            whole[k] = part
    return _back(xp, tuple([x.reshape(*leading, x.shape[-1]) for x in out]))


def _tridiagonal_solve(xp: Any, a: Any, factors: Arrays, b: Any, turned: bool) -> Any:
    if not b.size:
        return b.copy()
    parts, right = [_host(xp, one) for one in factors], _each(_host(xp, b))
    strange = _strange(parts[1], parts[:4], "tridiagonal")
    below, own, above, second, pivots = [_each(one, 1) for one in parts]
    gttrs, x = lapack("gttrs", b.dtype), []
    for k, one in enumerate(right):
        found = gttrs(below[k], own[k], above[k], second[k], pivots[k], one, trans="T" if turned else "N")[0]
        x.append(np.full_like(one, np.nan) if strange[k] else found)
    return _with_shape(xp, x[0] if len(x) == 1 else np.stack(x), b)


KINDS["tridiagonal"] = Kind(_tridiagonal_spaces, _tridiagonal, _tridiagonal_solve, lambda a: 2 * a.size, lambda a: 4)


# -- symmetric positive definite bands, of which one half is stored


def _not_positive(stack: Any, infos: Any, leading: tuple[int, ...], lower: bool) -> Any:
    """Which matrices have no factors since they have NaN or infinity; raises `SolveError` where another one has none."""
    failed = infos > 0
    w, n = stack.shape[1:]
    r, j = np.arange(w)[:, None], np.arange(n)
    inside = j + r < n if lower else j + r >= w - 1
    strange = failed & (inside & ~np.isfinite(stack)).any(axis=(1, 2))
    if is_lenient():
        return failed
    if bool((failed & ~strange).any()):
        k = int(np.argmax(failed & ~strange))
        raise errors.SolveError(errors.not_positive(stack.shape[-1], errors.in_stack(k, leading), int(infos[k]) - 1))
    return strange


def _pos_band(lower: bool) -> Kind:
    def factor(xp: Any, a: Any) -> Arrays:
        stack = _each(_host(xp, a))
        made, infos = np.empty_like(stack), np.zeros(len(stack), np.int64)
        if made.size:
            pbtrf = lapack("pbtrf", a.dtype)
            for k, one in enumerate(stack):
                made[k], infos[k] = pbtrf(one, lower=int(lower))
            made[_not_positive(stack, infos, a.shape[:-2], lower)] = np.nan
        return _back(xp, (made.reshape(a.shape),))

    def solve(xp: Any, a: Any, factors: Arrays, b: Any, turned: bool) -> Any:
        if not b.size:
            return b.copy()
        right, pbtrs = _each(_host(xp, b)), lapack("pbtrs", b.dtype)
        x = np.empty_like(right)
        for k, one in enumerate(_each(_host(xp, factors[0]))):
            x[k] = pbtrs(one, right[k], lower=int(lower))[0]
        return _with_shape(xp, x, b)

    return Kind(lambda a: (a,), factor, solve, lambda a: a.size * a.shape[-2], lambda a: 2 * a.shape[-2])


def _pos_tridiagonal(lower: bool) -> Kind:
    def spaces(a: Tensor) -> tuple[Tensor, ...]:
        *leading, _, n = a.shape
        return Tensor((*leading, n), a.dtype), Tensor((*leading, n - 1), a.dtype)

    def factor(xp: Any, a: Any) -> Arrays:
        stack, n = _each(_host(xp, a)), a.shape[-1]
        pttrf, infos = lapack("pttrf", a.dtype), np.zeros(len(stack), np.int64)
        own, beside = np.empty((len(stack), n), a.dtype), np.empty((len(stack), n - 1), a.dtype)
        for k, one in enumerate(stack):
            d, e = (one[0], one[1, :-1]) if lower else (one[1], one[0, 1:])
            own[k], beside[k], infos[k] = pttrf(d, e)
        strange = _not_positive(stack, infos, a.shape[:-2], lower)
        own[strange], beside[strange] = np.nan, np.nan
        return _back(xp, (own.reshape(*a.shape[:-2], n), beside.reshape(*a.shape[:-2], n - 1)))

    def solve(xp: Any, a: Any, factors: Arrays, b: Any, turned: bool) -> Any:
        if not b.size:
            return b.copy()
        (own, beside), right = [_each(_host(xp, one), 1) for one in factors], _each(_host(xp, b))
        pttrs, x = lapack("pttrs", b.dtype), np.empty_like(right)
        for k, one in enumerate(right):
            x[k] = pttrs(own[k], beside[k], one)[0]
        return _with_shape(xp, x, b)

    return Kind(spaces, factor, solve, lambda a: 2 * a.size, lambda a: 3)


for _lower in (True, False):
    KINDS[f"pos band {'lower' if _lower else 'upper'}"] = _pos_band(_lower)
    KINDS[f"pos tridiagonal {'lower' if _lower else 'upper'}"] = _pos_tridiagonal(_lower)


# -- Toeplitz matrices: their diagonals (..., 2 n - 1) from the last one below to the last one above, no factors


def _toeplitz_solve(xp: Any, a: Any, factors: Arrays, b: Any, turned: bool) -> Any:
    """Levinson's recursion, O(n^2) a right-hand side."""
    from scipy.linalg import solve_toeplitz

    if not b.size:
        return b.copy()
    right, n = np.require(_each(_host(xp, b)), requirements="W"), b.shape[-2]  # SciPy 1.13 takes no array that is read-only
    x, stack = np.empty_like(right), np.require(_each(_host(xp, a), 1), requirements="W")
    for k, one in enumerate(stack):
        if not (np.isfinite(one).all() and np.isfinite(right[k]).all()):
            x[k] = np.nan
            continue
        column, row = one[n - 1 :], one[n - 1 :: -1]
        try:
            x[k] = solve_toeplitz((row, column) if turned else (column, row), right[k], check_finite=False)
        except np.linalg.LinAlgError:
            raise errors.SolveError(errors.singular_minor(n, errors.in_stack(k, b.shape[:-2]))) from None
    return _with_shape(xp, x, b)


KINDS["toeplitz"] = Kind(lambda a: (), lambda xp, a: (), _toeplitz_solve, lambda a: 0, lambda a: 2 * a.shape[-1])
