"""`scipy.linalg`: systems with few diagonals or with one number on each; entered when the first is called."""

from __future__ import annotations

from typing import Any

import numpy as np

from catad import errors
from catad import linalg as words
from catad.traced.arrays.stand_in import computed, fresh
from catad.traced.names.linear.decompositions import number
from catad.traced.names.linear.linalg import numbers, one_line
from catad.traced.names.sums import strong
from catad.traced.recorder import Trace
from catad.traced.table import COMPLEX_TOO, meaning_anywhere, of_package
from catad.values.complex_numbers import is_complex


def solve_banded(
    trace: Trace, l_and_u: Any, ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Numbers that are not finite give NaN, as with `check_finite=False`."""
    lower, upper = l_and_u
    bands = numbers(trace, ab)
    if bands.ndim < 2 or lower + upper + 1 != bands.shape[-2]:
        given = bands.shape[0] if bands.ndim else 0
        raise ValueError(
            f"invalid values for the number of lower and upper diagonals: l+u+1 ({lower + upper + 1}) does not equal "
            f"ab.shape[0] ({given})"
        )
    return one_line(trace, words.solve_banded((int(lower), int(upper))), bands, _fitting(bands, numbers(trace, b)))


def solveh_banded(
    trace: Trace,
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Any:
    bands = numbers(trace, ab)
    return one_line(trace, words.solveh_banded(lower), bands, _fitting(bands, numbers(trace, b)))


def solve_toeplitz(trace: Trace, c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    """SciPy computes in float64. Complex matrices are solved as general ones."""
    both = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr,)
    if any(map(is_complex, (*both, b))):
        column = numbers(trace, both[0])
        row = np.conjugate(column) if len(both) == 1 else numbers(trace, both[1])
        n = len(column)
        places = np.arange(n - 1, -1, -1)[:, None] + np.arange(n)
        matrix = np.concatenate([column[::-1], row[1:]]).astype(np.complex128)[places]
        return np.linalg.solve(matrix, _fitting(matrix, numbers(trace, b)))
    *given, right = [numbers(trace, part).astype(np.float64, copy=False) for part in (*both, b)]
    _fitting(given[0], right)
    pair = tuple([x.var_ for x in given])
    return fresh(trace, computed(trace.region, words.solve_toeplitz, (pair if len(pair) > 1 else pair[0], right.var_)))


def _fitting(matrix: Any, right: Any) -> Any:
    """A right-hand side of as many rows; raises SciPy's error."""
    b = numbers(matrix.trace_, right)
    if not b.ndim or not matrix.ndim or b.shape[-2 if b.ndim > 1 else -1] != matrix.shape[-1]:
        raise ValueError("shapes of ab and b are not compatible.")
    return b


def solve_circulant(
    trace: Trace, c: Any, b: Any, singular: str = "raise", tol: Any = None, caxis: int = -1, baxis: int = 0, outaxis: int = 0
) -> Any:
    if singular != "raise":
        raise errors.TraceError(errors.unknown_parameter("scipy.linalg.solve_circulant", "singular"))
    if is_complex(c) or is_complex(b):
        raise errors.TraceError(errors.not_for_complex("scipy.linalg.solve_circulant"))
    column, right = np.moveaxis(strong(trace, c), caxis, -1), np.moveaxis(strong(trace, b), baxis, 0)
    word = words.solve_circulant(number(trace, tol, "scipy.linalg.solve_circulant"))
    return np.moveaxis(one_line(trace, word, column, right), 0, outaxis)


@of_package("scipy.linalg")
def enter() -> None:
    """Enter the functions into the tables."""
    import scipy.linalg

    for made in (solve_banded, solveh_banded, solve_toeplitz, solve_circulant):
        meaning_anywhere(getattr(scipy.linalg, made.__name__))(made)
    COMPLEX_TOO.update((solve_banded, solveh_banded, solve_toeplitz))
