"""`numpy.linalg`: decompositions, and what follows from them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from catad import errors
from catad import linalg as words
from catad.traced.names.linear.linalg import adjoint, numbers, one_line, several, stack
from catad.traced.names.shapes import as_traced
from catad.traced.recorder import Trace
from catad.traced.table import COMPLEX_TOO, meaning


def _result(function: Any) -> Any:
    """The type of the results of a function."""
    return type(function(np.eye(1)))


_EIG, _EIGH, _SVD, _QR = (_result(f) for f in (np.linalg.eig, np.linalg.eigh, np.linalg.svd, np.linalg.qr))


def _half(given: Any) -> str:
    half: str = given.upper()
    if half not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return half


def number(trace: Trace, given: Any, what: str) -> float | None:
    """A parameter that is a number, or None; raises `TraceError` for an array and for what depends on an argument."""
    if given is None:
        return None
    known = as_traced(trace, given).constant
    if known is None or known.ndim:
        raise errors.TraceError(errors.unknown_parameter(what, "that is an array or no constant"))
    return float(known)


@meaning(np.linalg.eigh)
def eigh(trace: Trace, a: Any, UPLO: str = "L") -> Any:
    half = _half(UPLO)
    return _EIGH(*several(trace, words.eigh(half), stack(trace, a)))


@meaning(np.linalg.eigvalsh)
def eigvalsh(trace: Trace, a: Any, UPLO: str = "L") -> Any:
    half = _half(UPLO)
    return one_line(trace, words.eigvalsh(half), stack(trace, a))


@meaning(np.linalg.eig)
def eig(trace: Trace, a: Any) -> Any:
    """Complex, also where NumPy finds real numbers."""
    return _EIG(*several(trace, words.eig, stack(trace, a)))


@meaning(np.linalg.eigvals)
def eigvals(trace: Trace, a: Any) -> Any:
    return one_line(trace, words.eigvals, stack(trace, a))


@meaning(np.linalg.svd)
def svd(trace: Trace, a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    if hermitian:
        return _svd_of_symmetric(trace, a, compute_uv)
    x = stack(trace, a, False)
    if not compute_uv:
        return one_line(trace, words.svdvals, x)
    return _SVD(*several(trace, words.svd(bool(full_matrices)), x))


def _svd_of_symmetric(trace: Trace, a: Any, compute_uv: bool) -> Any:
    """By eigenvalues, whose signs V gets."""
    if not compute_uv:
        return np.flip(np.sort(abs(eigvalsh(trace, a)), axis=-1), -1)
    w, v = eigh(trace, a)
    order = np.flip(np.argsort(abs(w), axis=-1), -1)
    w, u = np.take_along_axis(w, order, -1), np.take_along_axis(v, order[..., None, :], -1)
    return _SVD(u, abs(w), adjoint(u * np.copysign(w.dtype.type(1), w)[..., None, :]))


@meaning(np.linalg.svdvals)
def svdvals(trace: Trace, x: Any, /) -> Any:
    return one_line(trace, words.svdvals, stack(trace, x, False))


@meaning(np.linalg.qr)
def qr(trace: Trace, a: Any, mode: str = "reduced") -> Any:
    if mode in ("raw", "economic", "e", "f", "full"):
        raise errors.TraceError(errors.unknown_parameter("np.linalg.qr", f"mode={mode!r}"))
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"Unrecognized mode '{mode}'")
    x = stack(trace, a, False)
    return one_line(trace, words.qr("r"), x) if mode == "r" else _QR(*several(trace, words.qr(mode), x))


_UNSAID: Any = object()


@meaning(np.linalg.pinv)
def pinv(trace: Trace, a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = _UNSAID) -> Any:
    if rcond is not None and rtol is not _UNSAID:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    tolerance = 1e-15 if rcond is None and rtol is _UNSAID else rcond if rtol is _UNSAID else rtol
    x = stack(trace, a, bool(hermitian))
    return one_line(trace, words.pinv(number(trace, tolerance, "np.linalg.pinv"), bool(hermitian)), x)


@meaning(np.linalg.lstsq)
def lstsq(trace: Trace, a: Any, b: Any, rcond: Any = None) -> Any:
    x, y = numbers(trace, a), numbers(trace, b)
    for one in (x, y if y.ndim != 1 else y[:, None]):
        if one.ndim != 2:
            raise LinAlgError(f"{one.ndim}-dimensional array given. Array must be two-dimensional")
    if x.shape[0] != y.shape[0]:
        raise LinAlgError("Incompatible dimensions")
    return tuple(several(trace, words.lstsq(number(trace, rcond, "np.linalg.lstsq")), x, y))


@meaning(np.linalg.matrix_rank)
def matrix_rank(trace: Trace, A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    x = numbers(trace, A)
    if x.ndim < 2:
        return np.any(x != 0).astype(np.int64)
    s = svd(trace, x, compute_uv=False, hermitian=hermitian)
    if tol is not None:
        return np.count_nonzero(s > np.asarray(tol)[..., None], axis=-1)
    if not s.shape[-1]:
        return np.zeros(s.shape[:-1], np.int64)
    share = max(x.shape[-2:]) * np.finfo(s.dtype).eps if rtol is None else np.asarray(rtol)[..., None]
    return np.count_nonzero(s > np.max(s, axis=-1, keepdims=True) * share, axis=-1)


@meaning(np.linalg.cond)
def cond(trace: Trace, x: Any, p: Any = None) -> Any:
    a = numbers(trace, x)
    if 0 in a.shape[-2:]:
        raise LinAlgError("cond is not defined on empty arrays")
    spectral = p is None or p in (2, -2)
    try:
        return one_line(trace, words.cond(p), stack(trace, a, not spectral))
    except errors.CatadError as error:
        raise _numpys(lambda: np.linalg.cond(np.ones(a.shape), p), error) from None


def _numpys(call: Any, error: Exception) -> Exception:
    """The error that NumPy raises, where it does."""
    try:
        call()
    except (ValueError, TypeError) as own:
        return own
    return error


@meaning(np.linalg.tensorinv)
def tensorinv(trace: Trace, a: Any, ind: int = 2) -> Any:
    x = numbers(trace, a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    matrix = x.reshape(math.prod(x.shape[:ind]), -1)
    return np.linalg.inv(matrix).reshape(x.shape[ind:] + x.shape[:ind])


@meaning(np.linalg.tensorsolve)
def tensorsolve(trace: Trace, a: Any, b: Any, axes: Any = None) -> Any:
    x, y = numbers(trace, a), numbers(trace, b)
    order = list(range(x.ndim))
    for k in axes or ():
        order.remove(k)
        order.append(k)
    x = np.transpose(x, order)
    rest = x.shape[-(x.ndim - y.ndim) :] if x.ndim != y.ndim else ()
    n = math.prod(rest)
    if x.size != n**2:
        raise LinAlgError("Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])")
    return np.linalg.solve(x.reshape(n, n), y.ravel()).reshape(rest)


COMPLEX_TOO.update((eig, eigvals, eigh, eigvalsh, svd, svdvals, qr, pinv, lstsq, matrix_rank, cond, tensorinv, tensorsolve))
