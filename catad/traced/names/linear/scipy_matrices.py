"""`scipy.linalg`: matrices of vectors, and functions of matrices that follow from their exponentials; entered when the first of
its functions is called.

    expm [[0, -A], [A, 0]] = [[cos A, -sin A], [sin A, cos A]]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from catad import errors
from catad import linalg as words
from catad.traced.names.linear.linalg import adjoint, numbers, one_line
from catad.traced.names.linear.scipy_linalg import square
from catad.traced.recorder import Trace
from catad.traced.table import COMPLEX_TOO, meaning_anywhere, of_package
from catad.values.complex_numbers import is_complex


def block_diag(trace: Trace, *arrs: Any) -> Any:
    parts = [np.atleast_2d(numbers(trace, one)) for one in arrs]
    dtype, columns = np.result_type(*[part.dtype for part in parts]), [part.shape[-1] for part in parts]
    leading, rows = np.broadcast_shapes(*[part.shape[:-2] for part in parts]), []
    for k, part in enumerate(parts):
        whole = np.broadcast_to(part.astype(dtype), (*leading, *part.shape[-2:]))
        beside = [np.zeros((*whole.shape[:-1], n), dtype) for n in (sum(columns[:k]), sum(columns[k + 1 :]))]
        rows.append(np.concatenate([beside[0], whole, beside[1]], axis=-1))
    return np.concatenate(rows, axis=-2)


def toeplitz(trace: Trace, c: Any, r: Any = None) -> Any:
    column = np.atleast_1d(numbers(trace, c))
    row = np.conjugate(column) if r is None and is_complex(column) else column if r is None else np.atleast_1d(numbers(trace, r))
    if column.ndim != 1 or row.ndim != 1:
        raise errors.TraceError(errors.unknown_parameter("scipy.linalg.toeplitz", "c or r that has not one axis"))
    m, n = len(column), len(row)
    return np.concatenate([column[::-1], row[1:]])[np.arange(m - 1, -1, -1)[:, None] + np.arange(n)]


def circulant(trace: Trace, c: Any) -> Any:
    column = np.atleast_1d(numbers(trace, c))
    n = column.shape[-1]
    return column[..., (np.arange(n)[:, None] - np.arange(n)) % max(1, n)]


def hankel(trace: Trace, c: Any, r: Any = None) -> Any:
    column = numbers(trace, c)
    row = np.zeros(column.shape, column.dtype) if r is None else numbers(trace, r)
    if column.ndim != 1 or row.ndim != 1:
        raise errors.TraceError(errors.unknown_parameter("scipy.linalg.hankel", "c or r that has not one axis"))
    m, n = len(column), len(row)
    return np.concatenate([column, row[1:]])[np.arange(m)[:, None] + np.arange(n)]


def matmul_toeplitz(trace: Trace, c_or_cr: Any, x: Any, check_finite: bool = False, workers: Any = None) -> Any:
    """By the spectrum of a circulant that has the matrix as a part."""
    both = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, c_or_cr)
    if any(map(is_complex, (*both, x))):
        raise errors.TraceError(errors.not_for_complex("scipy.linalg.matmul_toeplitz"))
    column, row = [np.ravel(numbers(trace, part)).astype(np.float64, copy=False) for part in both]
    y = numbers(trace, x)
    m, n = len(column), len(row)
    if y.ndim not in (1, 2) or y.shape[0] != n:
        raise ValueError("incompatible dimensions")
    whole = np.concatenate([column, row[1:][::-1]])
    wide = y[:, None] if y.ndim == 1 else y
    size = len(whole)
    made = np.fft.irfft(np.fft.rfft(whole)[:, None] * np.fft.rfft(wide, size, axis=0), size, axis=0)[:m]
    return made[:, 0] if y.ndim == 1 else made


def companion(trace: Trace, a: Any) -> Any:
    """Without SciPy's question whether the first coefficient is 0: it gives infinity or NaN."""
    x = np.atleast_1d(numbers(trace, a))
    n = x.shape[-1]
    if n < 2:
        raise ValueError("The length of `a` along the last axis must be at least 2.")
    first = (-x[..., 1:] / (1.0 * x[..., :1]))[..., None, :]
    below = np.broadcast_to(np.eye(n - 2, n - 1, dtype=first.dtype), (*first.shape[:-2], n - 2, n - 1))
    return np.concatenate([first, below], axis=-2)


def leslie(trace: Trace, f: Any, s: Any) -> Any:
    top, survival = np.atleast_1d(numbers(trace, f)), np.atleast_1d(numbers(trace, s))
    if top.ndim != 1 or survival.ndim != 1:
        raise errors.TraceError(errors.unknown_parameter("scipy.linalg.leslie", "f or s that has not one axis"))
    if top.shape[-1] != survival.shape[-1] + 1 or not survival.shape[-1]:
        raise ValueError(
            "Incorrect lengths for f and s. The length of s along the last axis must be one less than the length of f."
        )
    dtype = np.result_type(top.dtype, survival.dtype)
    below = np.diag(survival)
    return np.concatenate([top[None], np.concatenate([below, np.zeros_like(below[:, :1])], axis=1)]).astype(dtype)


def convolution_matrix(trace: Trace, a: Any, n: Any, mode: str = "full") -> Any:
    x = numbers(trace, a)
    count = n.__index__()
    if x.ndim != 1 or count <= 0 or mode not in ("full", "valid", "same"):
        raise ValueError("'a' has one axis, 'n' is positive, and 'mode' is one of ('full', 'valid', 'same')")
    whole = toeplitz(trace, np.pad(x, (0, count - 1)), np.pad(x[:1], (0, count - 1)))
    cut = min(count, len(x)) - 1
    first = {"full": 0, "same": cut // 2, "valid": cut}[mode]
    last = {"full": 0, "same": cut - cut // 2, "valid": cut}[mode]
    return whole[first : len(whole) - last]


def fiedler(trace: Trace, a: Any) -> Any:
    x = np.atleast_1d(numbers(trace, a))
    return np.zeros((x.size, x.size)) if x.size < 2 else abs(x[..., :, None] - x[..., None, :])


def khatri_rao(trace: Trace, a: Any, b: Any) -> Any:
    x, y = numbers(trace, a), numbers(trace, b)
    if x.ndim != 2 or y.ndim != 2:
        raise ValueError("The both arrays should be 2-dimensional.")
    if x.shape[1] != y.shape[1]:
        raise ValueError("The number of columns for both arrays should be equal.")
    return (x[:, None, :] * y[None, :, :]).reshape(x.shape[0] * y.shape[0], x.shape[1])


def diagsvd(trace: Trace, s: Any, M: Any, N: Any) -> Any:
    x = numbers(trace, s)
    if len(x) not in (M, N):
        raise ValueError("Length of s must be M or N.")
    return np.pad(np.diag(x), ((0, M - len(x)), (0, N - len(x))))


def issymmetric(trace: Trace, a: Any, atol: Any = None, rtol: Any = None) -> Any:
    x = numbers(trace, a)
    if x.ndim != 2:
        raise ValueError("Input array must be a 2D NumPy array.")
    if x.shape[0] != x.shape[1]:
        raise ValueError("Input array must be square.")
    if atol is None and rtol is None:
        return np.all(x == x.T)
    return np.allclose(x, x.T, atol=atol or 0.0, rtol=rtol or 0.0)


def ishermitian(trace: Trace, a: Any, atol: Any = None, rtol: Any = None) -> Any:
    x = numbers(trace, a)
    if not is_complex(x):
        return issymmetric(trace, x, atol, rtol)
    y = adjoint(x)
    return np.all(x == y) if atol is None and rtol is None else np.allclose(x, y, atol=atol or 0.0, rtol=rtol or 0.0)


# -- functions of matrices


def _expm(x: Any) -> Any:
    return one_line(x.trace_, words.expm, x)


def expm_frechet(
    trace: Trace, A: Any, E: Any, method: Any = None, compute_expm: bool = True, check_finite: bool = True
) -> Any:
    """A block of an exponential of twice the size."""
    given = [square(trace, one, np.float64) for one in (A, E)]
    x, y = [one.astype(np.result_type(np.float64, *[each.dtype for each in given]), copy=False) for one in given]
    if x.ndim != 2 or x.shape != y.shape:
        raise ValueError("expected A and E to be the same shape")
    if method not in (None, "SPS", "blockEnlarge"):
        raise ValueError(f"Unknown implementation {method}")
    n = x.shape[-1]
    made = _expm(np.concatenate([np.concatenate([x, y], axis=1), np.concatenate([np.zeros(x.shape, x.dtype), x], axis=1)]))
    return (made[:n, :n], made[:n, n:]) if compute_expm else made[:n, n:]


def sinhm(trace: Trace, A: Any) -> Any:
    x = square(trace, A, np.float64)
    return 0.5 * (_expm(x) - _expm(-x))


def coshm(trace: Trace, A: Any) -> Any:
    x = square(trace, A, np.float64)
    return 0.5 * (_expm(x) + _expm(-x))


def tanhm(trace: Trace, A: Any) -> Any:
    return np.linalg.solve(coshm(trace, A), sinhm(trace, A))


def _turning(trace: Trace, A: Any) -> tuple[Any, Any]:
    """The cosine and the sine."""
    x = square(trace, A, np.float64)
    n = x.shape[-1]
    zeros = np.zeros(x.shape, x.dtype)
    made = _expm(np.concatenate([np.concatenate([zeros, -x], axis=-1), np.concatenate([x, zeros], axis=-1)], axis=-2))
    return made[..., :n, :n], made[..., n:, :n]


def cosm(trace: Trace, A: Any) -> Any:
    return _turning(trace, A)[0]


def sinm(trace: Trace, A: Any) -> Any:
    return _turning(trace, A)[1]


def tanm(trace: Trace, A: Any) -> Any:
    return np.linalg.solve(*_turning(trace, A))


def fractional_matrix_power(trace: Trace, A: Any, t: Any) -> Any:
    """Of whole exponents; other powers have complex numbers."""
    x = square(trace, A, np.float64)
    if not isinstance(t, (int, float, np.integer, np.floating)) or t != int(t):
        raise errors.TraceError(errors.unknown_parameter("scipy.linalg.fractional_matrix_power", f"t={t!r}"))
    return np.linalg.matrix_power(x, int(t))


MEANINGS = (
    block_diag, toeplitz, circulant, hankel, matmul_toeplitz, companion, leslie, convolution_matrix, fiedler, khatri_rao, diagsvd,
    issymmetric, ishermitian, expm_frechet, sinhm, coshm, tanhm, cosm, sinm, tanm, fractional_matrix_power,
)  # fmt: skip


@of_package("scipy.linalg")
def enter() -> None:
    """Enter the functions into the tables."""
    import scipy.linalg

    for made in MEANINGS:
        function = getattr(scipy.linalg, made.__name__, None)
        if function is not None:  # it came with a later SciPy
            meaning_anywhere(function)(made)
            COMPLEX_TOO.add(made)
