"""`scipy.linalg`: systems and decompositions, entered when the first of its functions is called.

Numbers that are not finite give NaN, as with `check_finite=False`. What may be overwritten is not. Where SciPy reads one half of
a symmetric matrix, so does this.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from catad import errors
from catad import linalg as words
from catad.linalg.solve import ASSUMED
from catad.traced.arrays.stand_in import computed
from catad.traced.names.linear.decompositions import number
from catad.traced.names.linear.linalg import adjoint, numbers, one_line, result, several, variables
from catad.traced.pairs.stand_in import Complex
from catad.traced.recorder import Trace
from catad.traced.table import COMPLEX_TOO, meaning_anywhere, of_package
from catad.values.complex_numbers import is_complex

_NARROW = "?bBhH"  # booleans and integers of up to 16 bits, for which LAPACK's functions of float32 are taken


def _floats(trace: Trace, a: Any, narrow: Any = np.float32) -> Any:
    x = numbers(trace, a)
    return x if x.dtype.kind in "fc" else x.astype(narrow if x.dtype.char in _NARROW else np.float64)


def square(trace: Trace, a: Any, narrow: Any = np.float32) -> Any:
    """A stack of square matrices; raises SciPy's error."""
    x = np.atleast_2d(_floats(trace, a, narrow))
    if x.shape[-1] != x.shape[-2]:
        raise ValueError(f"Expected a square matrix, got a.shape={x.shape}")
    return x


def _right(a: Any, right: Any, narrow: Any = np.float32) -> Any:
    """A right-hand side of as many rows; raises SciPy's error."""
    b = _floats(a.trace_, right, narrow)
    if not b.ndim or b.shape[-2 if b.ndim > 1 else -1] != a.shape[-1]:
        raise ValueError(f"incompatible shapes: a.shape={a.shape} and b.shape={b.shape}")
    return b


def _unsupported(name: str, **given: Any) -> None:
    """Raise `TraceError` for the first parameter that is not left out."""
    for parameter, value in given.items():
        if value is not None and value is not False:
            raise errors.TraceError(errors.unknown_parameter(f"scipy.linalg.{name}", parameter))


def _whole(half: Any, symmetric: bool = False) -> Any:
    """The Hermitian matrix, or the symmetric one, whose lower half is given; zeros are above it."""
    below = np.tril(half, -1)
    if symmetric or not is_complex(half):
        return half + np.matrix_transpose(below)
    return Complex(half.re, below.im) + adjoint(below)


def _solved(a: Any, b: Any, kind: str) -> Any:
    return one_line(a.trace_, words.solve(kind), a, b)


def solve(
    trace: Trace, a: Any, b: Any, lower: bool = False, overwrite_a: bool = False, overwrite_b: bool = False,
    check_finite: bool = True, assume_a: str | None = None, transposed: bool = False,
) -> Any:  # fmt: skip
    if assume_a not in (None, "diagonal", "tridiagonal", "banded", *ASSUMED):
        raise ValueError(f"{assume_a} is not a recognized matrix structure")
    x = square(trace, a, np.float64)
    if x.size == 1:
        x = x.reshape(1, 1)
        y = _floats(trace, b, np.float64)
        return _solved(x, y.reshape(1, -1), "gen").reshape(y.shape)
    y = _right(x, b, np.float64)
    kind = "gen" if assume_a in (None, "diagonal", "tridiagonal", "banded") else ASSUMED[assume_a]
    if assume_a in ("diagonal", "tridiagonal"):
        width = int(assume_a == "tridiagonal")
        x = np.tril(np.triu(x, -width), width)
    if kind in ("pos", "sym"):
        plain = assume_a in ("sym", "symmetric")
        half = np.tril(x) if lower else np.matrix_transpose(np.triu(x)) if plain else adjoint(np.triu(x))
        return _solved(_whole(half, plain), y, str(assume_a))
    named = {"lower": "lower triangular", "upper": "upper triangular"}
    if not transposed:
        return _solved(x, y, named.get(kind, "gen"))
    other = {"lower": "upper triangular", "upper": "lower triangular"}
    return _solved(np.matrix_transpose(x), y, other.get(kind, "gen"))


def solve_triangular(
    trace: Trace, a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False,
    overwrite_b: bool = False, check_finite: bool = True,
) -> Any:  # fmt: skip
    x = square(trace, a)
    y = _right(x, b)
    trans = {"N": 0, "T": 1, "C": 2}.get(trans, trans)
    if trans not in (0, 1, 2):
        raise ValueError(f"trans is one of 0, 1, 2, 'N', 'T', 'C', not {trans!r}")
    if unit_diagonal:
        x = (np.tril(x, -1) if lower else np.triu(x, 1)) + np.eye(x.shape[-1], dtype=x.dtype)
    if trans:
        x, lower = adjoint(x) if trans == 2 else np.matrix_transpose(x), not lower
    return _solved(x, y, "lower triangular" if lower else "upper triangular")


def cholesky(trace: Trace, a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    return one_line(trace, words.cholesky(not lower), square(trace, a))


def cho_factor(trace: Trace, a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The other half of the factor is that of the matrix."""
    x = square(trace, a)
    factor = cholesky(trace, x, lower)
    return factor + (np.triu(x, 1) if lower else np.tril(x, -1)), lower


def cho_solve(trace: Trace, c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    c, lower = c_and_lower
    x = square(trace, c)
    y = _right(x, b)
    first, second = (x, adjoint(x)) if lower else (adjoint(x), x)
    return _solved(second, _solved(first, y, "lower triangular"), "upper triangular")


def lu_factor(trace: Trace, a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    x = np.atleast_2d(_floats(trace, a))
    if x.shape[-1] != x.shape[-2]:
        raise errors.TraceError(errors.lu_of_no_square(x.shape))
    return tuple(several(trace, words.lu_factor, x))


def lu(
    trace: Trace, a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True, p_indices: bool = False
) -> Any:
    x = _floats(trace, a)
    if x.ndim < 2:
        raise ValueError("The input array must be at least two-dimensional.")
    made = several(trace, words.lu(bool(permute_l)), x)
    if permute_l or not p_indices:
        return tuple(made)
    return np.matmul(made[0], np.arange(x.shape[-2])).astype(np.int32), *made[1:]


def lu_solve(
    trace: Trace, lu_and_piv: Any, b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    lu, piv = lu_and_piv
    if trans not in (0, 1, 2):
        raise ValueError(f"trans is 0, 1 or 2, not {trans!r}")
    x = square(trace, lu)
    y = _right(x, b)
    y = np.conjugate(y) if trans == 2 else y  # a^H x = b is a' conj(x) = conj(b)
    packed, pivots, right = (variables(one) for one in (x, numbers(trace, piv), y))
    made = result(trace, computed(trace.region, words.lu_solve(bool(trans)), ((packed, pivots), right)))
    return np.conjugate(made) if trans == 2 else made


def eigh(
    trace: Trace, a: Any, b: Any = None, *, lower: bool = True, eigvals_only: bool = False, overwrite_a: bool = False,
    overwrite_b: bool = False, type: int = 1, check_finite: bool = True, subset_by_index: Any = None,
    subset_by_value: Any = None, driver: str | None = None,
) -> Any:  # fmt: skip
    _unsupported("eigh", subset_by_value=subset_by_value)
    x = square(trace, a)
    if type not in (1, 2, 3):
        raise ValueError('"type" keyword only accepts 1, 2, and 3.')
    factor, problem = None, x
    if b is not None:
        factor, problem = _reduced(trace, x, b, lower, type)
    half = "L" if lower else "U"
    if eigvals_only:
        w, v = one_line(trace, words.eigvalsh(half), problem), None
    else:
        w, v = several(trace, words.eigh(half, driver=(driver or "evr") if b is None else None), problem)
        if factor is not None:  # y = L' v, or L^-1 v
            v = np.matmul(factor, v) if type == 3 else _solved(adjoint(factor), v, "upper triangular")
    if subset_by_index is not None:
        first, last = (int(k) for k in subset_by_index)
        if not 0 <= first <= last < x.shape[-1]:
            raise ValueError(f"Requested eigenvalue indices are not valid. Valid range is [0, {x.shape[-1] - 1}]")
        w, v = w[..., first : last + 1], None if v is None else v[..., first : last + 1]
    return w if v is None else (w, v)


def _reduced(trace: Trace, x: Any, b: Any, lower: bool, type: int) -> tuple[Any, Any]:
    """The factor L of B, and L^-1 A L^-T (type 1), or L' A L (types 2 and 3)."""
    right = square(trace, b)
    if right.shape != x.shape:
        raise ValueError(f"wrong b dimensions {right.shape}, should be {x.shape}")
    if not lower:
        x, right = adjoint(x), adjoint(right)
    whole = _whole(np.tril(x))
    factor = one_line(trace, words.cholesky(), right)
    if type == 1:
        inner = adjoint(_solved(factor, whole, "lower triangular"))
        return factor, _solved(factor, inner, "lower triangular")
    return factor, np.matmul(np.matmul(adjoint(factor), whole), factor)


def eigvalsh(trace: Trace, a: Any, b: Any = None, **options: Any) -> Any:
    return eigh(trace, a, b, eigvals_only=True, **options)


def eig(
    trace: Trace, a: Any, b: Any = None, left: bool = False, right: bool = True, overwrite_a: bool = False,
    overwrite_b: bool = False, check_finite: bool = True, homogeneous_eigvals: bool = False,
) -> Any:  # fmt: skip
    """Complex, also where SciPy finds real eigenvectors."""
    _unsupported("eig", b=b, left=left, homogeneous_eigvals=homogeneous_eigvals)
    x = square(trace, a)
    return tuple(several(trace, words.eig, x)) if right else one_line(trace, words.eigvals, x)


def eigvals(
    trace: Trace, a: Any, b: Any = None, overwrite_a: bool = False, check_finite: bool = True, homogeneous_eigvals: bool = False
) -> Any:
    return eig(trace, a, b, right=False, homogeneous_eigvals=homogeneous_eigvals)


def svd(
    trace: Trace, a: Any, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False,
    check_finite: bool = True, lapack_driver: str = "gesdd",
) -> Any:  # fmt: skip
    x = _matrix(trace, a)
    return tuple(several(trace, words.svd(bool(full_matrices)), x)) if compute_uv else one_line(trace, words.svdvals, x)


def svdvals(trace: Trace, a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    return svd(trace, a, compute_uv=False)


def _matrix(trace: Trace, a: Any) -> Any:
    x = _floats(trace, a)
    if x.ndim < 2:
        raise ValueError("expected matrix")
    return x


def qr(
    trace: Trace, a: Any, overwrite_a: bool = False, lwork: Any = None, mode: str = "full", pivoting: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    if mode not in ("full", "r", "economic", "raw"):
        raise ValueError("Mode argument should be one of ['full', 'r', 'economic', 'raw']")
    _unsupported("qr", mode="raw" if mode == "raw" else None)
    word = words.qr("reduced" if mode == "economic" else "complete", bool(pivoting))
    made = tuple(several(trace, word, _matrix(trace, a)))
    return made[1:] if mode == "r" else made


def expm(trace: Trace, A: Any) -> Any:
    return one_line(trace, words.expm, square(trace, A, np.float64))


def inv(
    trace: Trace, a: Any, overwrite_a: bool = False, check_finite: bool = True, *, assume_a: str | None = None,
    lower: bool = False,
) -> Any:  # fmt: skip
    x = square(trace, a)
    return solve(trace, x, np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape), lower, assume_a=assume_a)


def det(trace: Trace, a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """In float64 for one matrix."""
    x = square(trace, a, np.float64)
    return one_line(trace, words.det, x.astype(np.complex128 if is_complex(x) else np.float64) if x.ndim == 2 else x)


def lstsq(
    trace: Trace, a: Any, b: Any, cond: Any = None, overwrite_a: bool = False, overwrite_b: bool = False,
    check_finite: bool = True, lapack_driver: str | None = None,
) -> Any:  # fmt: skip
    x, y = _matrix(trace, a), _floats(trace, b)
    if x.ndim != 2 or not 1 <= y.ndim <= 2:
        raise errors.TraceError(errors.unknown_parameter("scipy.linalg.lstsq", "a or b of more than two axes"))
    if x.shape[0] != y.shape[0]:
        raise ValueError(f"Shape mismatch: a and b should have the same number of rows ({x.shape[0]} != {y.shape[0]}).")
    dtype = np.result_type(x.dtype, y.dtype)
    tolerance = float(np.finfo(dtype).eps) if cond is None else number(trace, cond, "scipy.linalg.lstsq")
    solution, residuals, rank, s = several(trace, words.lstsq(tolerance), x, y)
    rank = rank.astype(np.int64)
    if y.ndim == 1 and x.shape[0] > x.shape[1]:
        residuals = residuals[0]
    return solution, residuals, rank, s


def pinv(
    trace: Trace, a: Any, *, atol: Any = None, rtol: Any = None, return_rank: bool = False, check_finite: bool = True
) -> Any:
    return _pseudo_inverse(trace, _matrix(trace, a), "pinv", atol, rtol, return_rank, False)


def pinvh(
    trace: Trace, a: Any, atol: Any = None, rtol: Any = None, lower: bool = True, return_rank: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    x = square(trace, a)
    return _pseudo_inverse(trace, x if lower else adjoint(x), "pinvh", atol, rtol, return_rank, True)


def _pseudo_inverse(trace: Trace, x: Any, name: str, atol: Any, rtol: Any, return_rank: bool, hermitian: bool) -> Any:
    _unsupported(name, atol=atol)
    tolerance = number(trace, rtol, f"scipy.linalg.{name}")
    if tolerance is not None and tolerance < 0:
        raise ValueError("atol and rtol values must be positive.")
    made = one_line(trace, words.pinv(tolerance, hermitian), x)
    return (made, one_line(trace, words.matrix_rank(tolerance, hermitian), x)) if return_rank else made


def norm(trace: Trace, a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True) -> Any:
    x = _floats(trace, a, np.float64)
    made = np.linalg.norm(x, ord, axis, keepdims)
    alone = axis is None and not keepdims and ord in ((None, 2) if x.ndim == 1 else (1, np.inf) if x.ndim == 2 else ())
    return made.astype(np.float64) if alone else made  # BLAS and LAPACK give SciPy a number of Python


MEANINGS = (
    solve, solve_triangular, cholesky, cho_factor, cho_solve, lu, lu_factor, lu_solve, eig, eigvals, eigh, eigvalsh, svd, svdvals,
    qr, expm, inv, det, lstsq, pinv, pinvh, norm,
)  # fmt: skip


@of_package("scipy.linalg")
def enter() -> None:
    """Enter the functions into the tables."""
    import scipy.linalg

    for made in MEANINGS:
        meaning_anywhere(getattr(scipy.linalg, made.__name__))(made)
        COMPLEX_TOO.add(made)
