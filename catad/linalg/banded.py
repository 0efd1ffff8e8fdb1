"""`solve_banded`, `solveh_banded`, `solve_tridiagonal`, `solve_toeplitz`: systems of matrices of few numbers on diagonals.

    A x = b        dx = A^-1 (db - dA x), of which only the diagonals of dA are made
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.cartesian import in_pattern
from catad.category.constant import const
from catad.category.constructors import constructor, integer
from catad.category.terms import D
from catad.category.wiring import Wire
from catad.linalg.complex_banded import real_bands, solved_in_reals
from catad.linalg.matrices import check_sides, in_columns, matrices
from catad.linalg.pairs import Pair, as_pair
from catad.linear.families import inverse
from catad.linear.families.inverses import kind_of_bands
from catad.linear.families.patterned import Bands, Diagonals, patterned
from catad.linear.families.reindex import reshaped
from catad.linear.structure import cast, widest
from catad.support.help import documented
from catad.support.options import truth_value
from catad.vector.deferred import Named, Shaped, linear
from catad.vector.folds.moments import floating
from catad.vector.shapes.axes import squeeze
from catad.vector.shapes.shape import concatenate, flip, stack
from catad.vector.shapes.shape import slice as slice_
from catad.vector.shapes.split import piece

if TYPE_CHECKING:
    from catad.category.wiring import Builder


def _with_columns(b: Builder, a: Wire, right: Wire, term: D, solved: Callable[[Builder, Wire, Wire], Wire]) -> Wire:
    """As `in_columns`, a vector being a matrix of one column."""

    def wide(b: Builder, a: Wire, right: Wire) -> Wire:
        if right.ndim == a.ndim:
            return solved(b, a, right)
        return reshaped(b, solved(b, a, reshaped(b, right, (*right.shape, 1))), right.shape)

    made: Wire = in_columns(b, a, right, term, wide)
    return made


def _by_pattern(b: Builder, a: Any, right: Any, pattern: Bands, term: Any) -> Any:
    """Of complex numbers by real ones, of which there are twice as many diagonals."""
    if isinstance(a, Pair) or isinstance(right, tuple):
        a, right = as_pair(b, a, term), as_pair(b, right, term)
        check_sides(a, right, term)
        lower, upper, symmetric = 2 * pattern.lower + 1, 2 * pattern.upper + 1, pattern.symmetric
        if symmetric:
            lower, upper = (lower, 0) if term.parameters["lower"] else (0, upper)
        bands = real_bands(b, a, symmetric, upper == 0)
        return solved_in_reals(b, bands, right, lambda a, x: _by_pattern(b, a, x, Bands(lower, upper, symmetric), term))

    def solved(b: Builder, a: Wire, right: Wire) -> Wire:
        of = patterned(pattern, a.space, k=right.shape[-1])
        return inverse.solved(b, of, a, right, kind_of_bands(pattern, a.shape[-1]))

    return _with_columns(b, a, floating(right), term, solved)


@linear
def _solve_banded(b: Builder, x: Any, term: Any) -> Any:
    ab, right = in_pattern(b, x, "(ab, b)", 2, term)
    a, (lower, upper) = matrices(b, ab, term), term.parameters["l_and_u"]
    if a.shape[-2] != lower + upper + 1:
        raise errors.SpaceError(errors.wrong_diagonals(a.space, lower, upper, term))
    return _by_pattern(b, a, right, Bands(lower, upper), term)


@constructor()
def solve_banded(l_and_u: tuple[int, int]) -> D:
    """Maps `(ab, b)` to the x with a x = b, as `scipy.linalg.solve_banded(l_and_u, ab, b)`.

    `l_and_u` are the numbers of diagonals below and above the main one, and `ab[u + i - j, j]` is the entry `[i, j]` of the
    matrix.
    What of `ab` lies outside the matrix is not read, and its derivative is 0. Complex arrays are pairs (re, im); they are solved
    as real ones with 2 l + 1 and 2 u + 1 diagonals.

    Shapes: ab (..., l + u + 1, n); b (n,), or (..., n, k) whose leading axes broadcast with those of ab. Dtype: the common
    floating one, float64 for integers. Derivative: `a^-1 (db - da x)` to any order by one factorisation in O(n); by ab the
    diagonals alone. NaN in a matrix gives NaN. Raises `SpaceError` for shapes that do not fit, `SolveError` (a
    `numpy.linalg.LinAlgError`) for a singular matrix, `ArgumentError` where `l_and_u` are no two numbers. Source: `gbtrf` and
    `gttrf` of LAPACK.

    >>> import catad as ct, numpy as np
    >>> ab = np.array([[0.0, 1.0, 1.0], [4.0, 4.0, 4.0], [2.0, 2.0, 0.0]])
    >>> ct.linalg.solve_banded((1, 1))(ab, np.array([5.0, 7.0, 6.0]))
    array([1., 1., 1.])
    """
    given = tuple(l_and_u) if isinstance(l_and_u, (tuple, list)) else ()
    if len(given) != 2:
        raise errors.ArgumentError(errors.no_two_widths(l_and_u))
    lower, upper = [integer(width, "a number of diagonals", 0) for width in given]
    return Shaped(solve_banded, _solve_banded, l_and_u=(lower, upper))


@linear
def _solveh_banded(b: Builder, x: Any, term: Any) -> Any:
    ab, right = in_pattern(b, x, "(ab, b)", 2, term)
    a = matrices(b, ab, term)
    width = a.shape[-2] - 1
    if width < 0:
        raise errors.SpaceError(errors.wrong_diagonals(a.space, 0, 0, term))
    pattern = Bands(width, 0, True) if term.parameters["lower"] else Bands(0, width, True)
    return _by_pattern(b, a, right, pattern, term)


@constructor()
def solveh_banded(lower: bool = False) -> D:
    """Maps `(ab, b)` to the x with a x = b, a being symmetric and positive definite, as `scipy.linalg.solveh_banded`.

    `ab` has the diagonals of one half: `ab[u + i - j, j]` is the entry `[i, j]` of the upper half, or with `lower`
    `ab[i - j, j]` that of the lower one. What lies outside the matrix is not read.

    Shapes: ab (..., u + 1, n); b (n,), or (..., n, k) whose leading axes broadcast with those of ab. Dtype: the common floating
    one, float64 for integers. Derivative: as of `solve_banded`, an entry of ab standing at both of its places. NaN in a matrix
    gives NaN. Raises `SpaceError` for shapes that do not fit, `SolveError` (a `numpy.linalg.LinAlgError`) for a matrix that is
    not positive definite, `ArgumentError` where `lower` is no truth value. Source: `pbtrf` and `pttrf` of LAPACK.

    >>> import catad as ct, numpy as np
    >>> ct.linalg.solveh_banded(lower=True)(np.array([[4.0, 4.0, 4.0], [1.0, 1.0, 0.0]]), np.array([5.0, 6.0, 5.0]))
    array([1., 1., 1.])
    """
    return Shaped(solveh_banded, _solveh_banded, lower=truth_value(lower, "lower"))


@linear
def _solve_tridiagonal(b: Builder, x: Any, term: Any) -> Wire:
    below, own, above, right = in_pattern(b, x, "(dl, d, du, b)", 0, term)
    parts = [floating(part) for part in (below, own, above)]
    n = parts[1].shape[-1] if parts[1].ndim else 0
    leading = parts[1].shape[:-1]
    shapes = [(*leading, max(0, n - 1)), (*leading, n)]
    if not parts[1].ndim or [part.shape for part in parts] != [shapes[0], shapes[1], shapes[0]]:
        raise errors.SpaceError(errors.three_diagonals([part.space for part in parts], term))
    dtype = widest(*[part.space for part in parts])
    dl, d, du = [cast(part, dtype) for part in parts]
    gap: Wire = b.apply(const(np.zeros((*leading, min(1, n)), dtype)), ())
    shifted = (b.apply(concatenate(-1), (gap, du)), d, b.apply(concatenate(-1), (dl, gap)))
    made: Wire = _by_pattern(b, b.apply(stack(len(leading)), shifted), right, Bands(1, 1), term)
    return made


solve_tridiagonal = documented(Named("linalg.solve_tridiagonal", _solve_tridiagonal), """\
`ct.linalg.solve_tridiagonal(dl, d, du, b)` has the x with a x = b, dl, d, du being the diagonals of a: below, main and above.

Shapes: dl and du (..., n - 1), d (..., n); b (n,), or (..., n, k) whose leading axes broadcast with theirs. Dtype: the common
floating one, float64 for integers.
Derivative: as of `solve_banded`.
Errors: `SpaceError` for shapes that do not fit, `SolveError` (a `numpy.linalg.LinAlgError`) for a singular matrix.

>>> import catad as ct, numpy as np
>>> ct.linalg.solve_tridiagonal(np.full(2, 2.0), np.full(3, 4.0), np.ones(2), np.array([5.0, 7.0, 6.0]))
array([1., 1., 1.])
""")  # fmt: skip


@linear
def _solve_toeplitz(b: Builder, x: Any, term: Any) -> Wire:
    (given, right) = x if isinstance(x, tuple) and len(x) == 2 else (None, None)
    both = given if isinstance(given, tuple) else (given, given)
    shapes = {part.shape if isinstance(part, Wire) else None for part in both}
    if len(both) != 2 or len(shapes) != 1 or isinstance(right, tuple) or not next(iter(shapes)):
        raise errors.SpaceError(errors.no_toeplitz(b.space(x), term))
    assert right is not None
    c, r = [floating(part) for part in both if isinstance(part, Wire)]

    def solved(b: Builder, pair: Wire, right: Wire) -> Wire:
        column, row = [b.apply(squeeze(-2), piece(b, pair, pair.ndim - 2, k, k + 1)) for k in (0, 1)]
        a = b.apply(concatenate(-1), (b.apply(slice_(1, axis=-1) >> flip(-1), row), column))
        of = patterned(Diagonals(), a.space, k=right.shape[-1])
        return inverse.solved(b, of, a, right, "toeplitz")

    return _with_columns(b, b.apply(stack(c.ndim - 1), (c, r)), floating(right), term, solved)


solve_toeplitz = documented(Named("linalg.solve_toeplitz", _solve_toeplitz), """\
`ct.linalg.solve_toeplitz((c, r), b)` has the x with a x = b, c being the first column of a, r its first row; `r[0]` is not read.

Each diagonal of a has one number. `ct.linalg.solve_toeplitz(c, b)` is that of a symmetric matrix, as of SciPy.

Shapes: c and r (..., n); b (n,), or (..., n, k) whose leading axes broadcast with theirs. Dtype: the common floating one,
float64 for integers.
Derivative: `a^-1 (db - da x)`, to any order, in O(n^2); of da the sums along diagonals alone are made.
Errors: `SpaceError` for shapes that do not fit, `SolveError` (a `numpy.linalg.LinAlgError`) where a leading part of a is
singular. Source: N. Levinson 1947, as SciPy has it.

>>> import catad as ct, numpy as np
>>> ct.linalg.solve_toeplitz((np.array([4.0, 2.0]), np.array([4.0, 1.0])), np.array([5.0, 6.0]))
array([1., 1.])
""")  # fmt: skip
