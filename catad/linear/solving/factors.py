"""Factorisations of stacks of matrices, and solving with them.

A stack is an array (..., n, n). Its factors are arrays with the same leading axes; from them systems are solved with the matrix
and with its transpose. Arrays in C order are the transposes of what LAPACK reads, so the factors are those of the transposes.

    general    LU with partial pivoting                      (getrf, getrs)
    pos        Cholesky, of which the lower half is read     (potrf, potrs)
    sym        Bunch and Kaufman, of the lower half          (sytrf, sytrs)
    lower, upper    none: substitution                       (trtrs)

LAPACK is SciPy's, imported when it is first needed, and works on one matrix after the other. Small matrices of a stack are
factorised side by side, each step being an operation on all of them. On arrays of CuPy, cuSOLVER and cuBLAS are in the place of
LAPACK.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from catad import errors
from catad.category.spaces import Tensor
from catad.linear.solving.lenient import is_lenient
from catad.values.stream_capture import check_not_captured

SMALL, MANY = 8, 4  # unknowns n up to which a stack of MANY n^2 matrices or more is factorised side by side, as measured
Arrays = tuple[Any, ...]


class Kind(NamedTuple):
    """How matrices of a kind are factorised (`spaces` of the factors, `factor`), and solved with (`solve`).

    `solve(xp, A, factors, B, turned)` are the X (..., n, k) with A X = B, with the transposes of A where `turned`.
    """

    spaces: Callable[[Tensor], tuple[Tensor, ...]]
    factor: Callable[[Any, Any], Arrays]
    solve: Callable[[Any, Any, Arrays, Any, bool], Any]
    work: Callable[[Tensor], int] = lambda a: a.size * a.shape[-1] // 3  # the multiply-adds of a factorisation
    each: Callable[[Tensor], int] = lambda a: a.shape[-1]  # those of a solution, for each of its numbers


def conjugate(xp: Any, x: Any) -> Any:
    """The conjugate numbers; real arrays are not copied."""
    return xp.conjugate(x) if x.dtype.kind == "c" else x


def _flat(a: Any) -> Any:
    """A stack with one leading axis."""
    return a.reshape(math.prod(a.shape[:-2]), *a.shape[-2:])


def _side_by_side(xp: Any, stack: Any) -> bool:
    """Whether each step is an operation on all matrices of a stack."""
    n = stack.shape[-1]
    return n <= SMALL and (xp is not np or len(stack) >= MANY * n * n)


def lapack(name: str, dtype: np.dtype[Any]) -> Any:
    """A function of LAPACK or BLAS for a dtype."""
    from scipy.linalg import blas, lapack

    letter = {"f": "s", "d": "d", "F": "c", "D": "z"}[dtype.char]
    return getattr(blas if name in ("trsm", "trsv") else lapack, letter + name)


def _on_device(name: str) -> Any:
    """A function of CuPy that asks for no finite numbers, and says nothing of a pivot that is 0."""
    from cupyx.scipy import linalg

    def call(*args: Any, **options: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return getattr(linalg, name)(*args, check_finite=False, **options)

    return call


# -- LU


def _lu_spaces(a: Tensor) -> tuple[Tensor, ...]:
    return a, Tensor(a.shape[:-1], np.int32)


def _lu(xp: Any, a: Any) -> Arrays:
    stack = _flat(a)
    if not a.size:
        return a.copy(), xp.zeros(a.shape[:-1], dtype=np.int32)
    found = _lu_side_by_side(xp, stack) if _side_by_side(xp, stack) else _lu_one_by_one(xp, stack)
    return found[0].reshape(a.shape), found[1].reshape(a.shape[:-1])


def _lu_one_by_one(xp: Any, stack: Any) -> Arrays:
    lu, pivots = stack.copy(), xp.empty(stack.shape[:-1], dtype=np.int32)
    factor, where = (lapack("getrf", stack.dtype), {"overwrite_a": 1}) if xp is np else (_on_device("lu_factor"), {})
    for k, one in enumerate(lu):
        found = factor(one.T, **where)
        lu[k], pivots[k] = found[0].T, found[1]
    return lu, pivots


def _lanes(xp: Any, stack: Any) -> Any:
    """A stack with its first axis last, so that an operation on all matrices goes through memory in order."""
    return xp.moveaxis(stack, 0, -1).copy()


def _stacked(xp: Any, lanes: Any) -> Any:
    return xp.moveaxis(lanes, -1, 0).copy()


def _exchange(xp: Any, where: Any, m: Any, k: int, p: int) -> None:
    """Exchange rows k and p of some matrices."""
    first, second = m[k], m[p]
    m[k], m[p] = xp.where(where, second, first), xp.where(where, first, second)


def _lu_side_by_side(xp: Any, stack: Any) -> Arrays:
    """Row operations on the transposes; a pivot that is 0 divides nothing."""
    n = stack.shape[-1]
    m = _lanes(xp, xp.swapaxes(stack, -1, -2))
    pivots = xp.empty((n, len(stack)), dtype=np.int32)
    with np.errstate(all="ignore"):
        for k in range(n):
            p, best = xp.full(len(stack), k, dtype=np.int32), xp.abs(m[k, k])
            for row in range(k + 1, n):
                size = xp.abs(m[row, k])
                p, best = xp.where(size > best, np.int32(row), p), xp.maximum(size, best)
            pivots[k] = p
            for row in range(k + 1, n):
                _exchange(xp, p == row, m, k, row)
            pivot = xp.where(m[k, k] == 0, 1, m[k, k])
            for row in range(k + 1, n):
                m[row, k] /= pivot
                m[row, k + 1 :] -= m[row, k] * m[k, k + 1 :]
    return _stacked(xp, xp.swapaxes(m, 0, 1)), _stacked(xp, pivots)


def pivots_of(xp: Any, lu: Any) -> Any:
    """The pivots (..., n)."""
    return xp.diagonal(lu, axis1=-2, axis2=-1)


def require_pivots(xp: Any, lu: Any, kind: str) -> None:
    """Raise `SolveError` where a pivot is 0."""
    if is_lenient():
        return
    check_not_captured(xp, "whether a matrix is singular")
    zeros = pivots_of(xp, lu) == 0
    if bool(zeros.any()):
        first = int(xp.argmax(zeros.reshape(-1)))
        k, pivot = divmod(first, lu.shape[-1])
        raise errors.SolveError(errors.singular_matrix(kind, lu.shape[-1], errors.in_stack(k, lu.shape[:-2]), pivot))


def _lu_solve(xp: Any, a: Any, factors: Arrays, b: Any, turned: bool) -> Any:
    lu, pivots = factors
    if not b.size:
        return b.copy()
    require_pivots(xp, lu, "general")
    stack, right, at = _flat(lu), _flat(b), pivots.reshape(-1, lu.shape[-1])
    if not _side_by_side(xp, stack):
        trans, x = 0 if turned else 1, xp.empty_like(right)
        solve = lapack("getrs", lu.dtype) if xp is np else _on_device("lu_solve")
        for k, one in enumerate(stack):
            x[k] = solve(one.T, at[k], right[k], trans=trans)[0] if xp is np else solve((one.T, at[k]), right[k], trans)
        return x.reshape(b.shape)
    return _lu_solve_side_by_side(xp, stack, at, right, turned).reshape(b.shape)


def _lu_solve_side_by_side(xp: Any, stack: Any, pivots: Any, right: Any, turned: bool) -> Any:
    """With M the transposes, P M = L U: of A' x = b that is U x = L^-1 P b, of A x = b it is P x = L'^-1 U'^-1 b."""
    n = stack.shape[-1]
    m, x, at = _lanes(xp, xp.swapaxes(stack, -1, -2)), _lanes(xp, right), _lanes(xp, pivots)

    def swap(k: int) -> None:
        for row in range(k + 1, n):
            _exchange(xp, at[k] == row, x, k, row)

    with np.errstate(all="ignore"):
        if turned:
            for k in range(n):
                swap(k)
            for k in range(n):
                for row in range(k + 1, n):
                    x[row] -= m[row, k] * x[k]
            for k in reversed(range(n)):
                x[k] /= m[k, k]
                for row in range(k):
                    x[row] -= m[row, k] * x[k]
        else:
            for k in range(n):
                x[k] /= m[k, k]
                for row in range(k + 1, n):
                    x[row] -= m[k, row] * x[k]
            for k in reversed(range(n)):
                for row in range(k):
                    x[row] -= m[k, row] * x[k]
            for k in reversed(range(n)):
                swap(k)
    return _stacked(xp, x)


# -- Cholesky


def _cholesky(xp: Any, a: Any) -> Arrays:
    stack = _flat(a)
    if not a.size:
        return (a.copy(),)
    if not _side_by_side(xp, stack) and xp is not np:
        made, infos = _cholesky_on_device(xp, stack)
    elif not _side_by_side(xp, stack):
        potrf = lapack("potrf", a.dtype)
        made, infos = np.empty_like(stack), np.zeros(len(stack), np.int64)
        for k, one in enumerate(stack):
            found, infos[k] = potrf(one.T, lower=0, clean=1)
            made[k] = found.T
    else:
        made, infos = _cholesky_side_by_side(xp, stack)
    return (_where_positive(xp, stack, made, infos, a.shape[:-2]).reshape(a.shape),)


def _cholesky_on_device(xp: Any, stack: Any) -> Arrays:
    """The factors by cuSOLVER, which does not say where it stopped: what is not finite after it, the host looks at."""
    made = xp.linalg.cholesky(stack)
    failed = ~(xp.isfinite(made).all(axis=(1, 2)) & (pivots_of(xp, made) > 0).all(axis=1))
    infos = np.zeros(len(stack), np.int64)
    for k in [int(k) for k in xp.nonzero(failed)[0]]:
        infos[k] = lapack("potrf", stack.dtype)(stack[k].get().T, lower=0, clean=1)[1]
    return made, xp.asarray(infos)


def _cholesky_side_by_side(xp: Any, stack: Any) -> Arrays:
    """The factors, and the number from 1 of the first pivot that is not positive, 0 where there is none."""
    m, n = _lanes(xp, xp.tril(stack)), stack.shape[-1]
    infos = xp.zeros(len(stack), dtype=np.int64)
    with np.errstate(all="ignore"):
        for k in range(n):
            pivot = m[k, k] = m[k, k].real
            infos = xp.where((infos == 0) & ~(pivot > 0), k + 1, infos)
            m[k:, k] /= xp.sqrt(pivot)
            for row in range(k + 1, n):
                m[row, k + 1 : row + 1] -= m[row, k] * conjugate(xp, m[k + 1 : row + 1, k])
    return _stacked(xp, m), infos


def _where_positive(xp: Any, stack: Any, made: Any, infos: Any, shape: Sequence[int]) -> Any:
    """The factors; NaN of matrices with NaN. Raises `SolveError` where another matrix is not positive definite."""
    check_not_captured(xp, "whether a matrix is positive definite")
    failed = infos > 0
    if bool(failed.any()):
        strange = ~xp.isfinite(xp.tril(stack)).all(axis=(1, 2))
        strange = failed if is_lenient() else strange
        bad = failed & ~strange
        if bool(bad.any()):
            k = int(xp.argmax(bad))
            raise errors.SolveError(errors.not_positive(stack.shape[-1], errors.in_stack(k, shape), int(infos[k]) - 1))
        made = xp.where((failed & strange)[:, None, None], xp.tril(xp.full_like(made, np.nan)), made)
    return made


def _cholesky_solve(xp: Any, a: Any, factors: Arrays, b: Any, turned: bool) -> Any:
    (low,) = factors
    return substituted(xp, low, substituted(xp, low, b, True, False), True, True)


# -- triangles


def substituted(xp: Any, a: Any, b: Any, lower: bool, turned: bool) -> Any:
    """Solve with triangles, or with their transposes; what stands in the other half is not read."""
    if not b.size:
        return b.copy()
    stack, right, n = _flat(a), _flat(b), a.shape[-1]
    if not _side_by_side(xp, stack):
        x, how = xp.empty_like(right), {"lower": int(not lower), "trans": int(not turned)}
        solve = lapack("trtrs", right.dtype) if xp is np else _on_device("solve_triangular")
        for k, one in enumerate(stack):
            found = solve(one.T, right[k], **how)
            x[k] = found[0] if xp is np else found
        return x.reshape(b.shape)
    x, m = _lanes(xp, right), _lanes(xp, xp.swapaxes(stack, -1, -2) if turned else stack)
    forward = lower != turned
    with np.errstate(all="ignore"):
        for k in range(n) if forward else reversed(range(n)):
            x[k] /= m[k, k]
            for row in range(k + 1, n) if forward else range(k):
                x[row] -= m[row, k] * x[k]
    return _stacked(xp, x).reshape(b.shape)


def _triangle(lower: bool) -> Kind:
    def solve(xp: Any, a: Any, factors: Arrays, b: Any, turned: bool) -> Any:
        require_pivots(xp, a, "triangular")
        return substituted(xp, a, b, lower, turned)

    return Kind(lambda a: (), lambda xp, a: (), solve, lambda a: 0)


# -- symmetric


def _symmetric(xp: Any, a: Any) -> Arrays:
    stack = _flat(a)
    if not a.size:
        return a.copy(), xp.zeros(a.shape[:-1], dtype=np.int32)
    if xp is not np:
        return _lu(xp, xp.tril(a) + xp.swapaxes(xp.tril(a, -1), -1, -2))
    sytrf, made, pivots = lapack("sytrf", a.dtype), np.empty_like(stack), np.empty(stack.shape[:-1], np.int32)
    for k, one in enumerate(stack):
        found, pivots[k], info = sytrf(one.T, lower=0)
        made[k] = found.T
        if info > 0:
            raise errors.SolveError(errors.singular_matrix("symmetric", a.shape[-1], errors.in_stack(k, a.shape[:-2]), info - 1))
    return made.reshape(a.shape), pivots.reshape(a.shape[:-1])


def _symmetric_solve(xp: Any, a: Any, factors: Arrays, b: Any, turned: bool) -> Any:
    if not b.size or xp is not np:
        return _lu_solve(xp, a, factors, b, turned)
    right, at = _flat(b), factors[1].reshape(-1, a.shape[-1])
    x, solve = np.empty_like(right), _by_symmetric_factors(a.dtype)
    for k, (given, one) in enumerate(zip(_flat(a), _flat(factors[0]), strict=True)):
        x[k] = solve(given.T, one.T, at[k], right[k])
    return x.reshape(b.shape)


def _by_symmetric_factors(dtype: np.dtype[Any]) -> Callable[..., Any]:
    """The solution by a matrix, its factors, their pivots and a right-hand side, by sytrs; SciPy 1.13 has sysvx only."""
    try:
        sytrs = lapack("sytrs", dtype)
    except AttributeError:
        sysvx = lapack("sysvx", dtype)
        return lambda a, factors, at, b: sysvx(a, b, af=factors, ipiv=at, factored=1, lower=0)[4]
    return lambda a, factors, at, b: sytrs(factors, at, b, lower=0)[0]


class _Kinds(dict[str, Kind]):
    """Kinds by name; a name with numbers is made of them by the first word's entry in `MAKERS`."""

    def __missing__(self, name: str) -> Kind:
        word, *numbers = name.split()
        if word not in MAKERS:
            raise KeyError(name)
        return MAKERS[word](*map(int, numbers))


def half(a: Tensor) -> int:
    return a.size * a.shape[-1] // 6


MAKERS: dict[str, Callable[..., Kind]] = {}
KINDS: dict[str, Kind] = _Kinds(
    {
        "general": Kind(_lu_spaces, _lu, _lu_solve),
        "pos": Kind(lambda a: (a,), _cholesky, _cholesky_solve, half),
        "sym": Kind(_lu_spaces, _symmetric, _symmetric_solve, half),
        "lower": _triangle(True),
        "upper": _triangle(False),
    }
)


def work(kind: str, a: Tensor) -> int:
    """The multiply-adds of a factorisation."""
    return KINDS[kind].work(a)
