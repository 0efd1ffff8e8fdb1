"""What singular values say: `matrix_rank`, `cond`, and the norms of matrices of order 2, -2 and "nuc"; and `matrix_power`.

    |A|_2 = s_1        |A|_-2 = s_k        |A|_nuc = s_1 + ... + s_k        cond A = s_1 / s_k
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.constructors import axes as axes_
from catad.category.constructors import constructor, integer
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.linalg.eigh import Eigvalsh
from catad.linalg.lstsq import default_rtol
from catad.linalg.matrices import identity_like, matrices, product, square, tolerance
from catad.linalg.pairs import Pair, as_pair, columns, decomposed, on_parts, real_form
from catad.linalg.solve import inverted
from catad.linalg.svd import SvdVals
from catad.linear.families.contract import contract, repeated, zeros
from catad.linear.families.inverse import Factor
from catad.linear.families.reindex import reshaped
from catad.linear.solving.complex_factors import of_complex
from catad.linear.structure import cast
from catad.scalar import apply, const, param
from catad.support.options import truth_value
from catad.vector.deferred import Shaped
from catad.vector.folds.moments import Axes, floating, of_wires
from catad.vector.folds.norm import Order
from catad.vector.folds.norm import norm as norm_without_svd
from catad.vector.folds.reduce import along_axes, extremum
from catad.vector.shapes.shape import axes_of, summed
from catad.vector.shapes.split import piece

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

SPECTRAL = (2, -2, "nuc")


def _entry(b: Builder, s: Wire, k: int) -> Wire:
    """The k-th singular values."""
    return reshaped(b, piece(b, s, s.ndim - 1, k, k + 1), s.shape[:-1])


def of_singular_values(b: Builder, a: Any, order: Any, term: Any) -> Wire:
    """The norms of a stack of matrices."""
    (s,) = decomposed(b, SvdVals(), a)
    if order == "nuc":
        return summed(b, s, (s.ndim - 1,))
    if s.shape[-1]:
        return _entry(b, s, 0 if order == 2 else s.shape[-1] - 1)
    if order == 2:
        return summed(b, s, (s.ndim - 1,))
    raise errors.SpaceError(errors.no_least_singular_value(a.space, term))


def _norm(b: Builder, x: Any, term: Any) -> Any:
    order, axis, keepdims = (term.parameters[name] for name in ("ord", "axis", "keepdims"))
    if isinstance(x, tuple):
        x = as_pair(b, x, term)
    axes = axes_of(axis, x, term)
    if order not in SPECTRAL or len(axes) != 2:
        if isinstance(x, Pair):
            squares = bool(axes) and (order in (None, "fro") or (order == 2 and len(axes) == 1))
            x = columns(b, x, axes[0]) if squares else of_wires(b, apply("hypot", param(0), param(1)), *x)
        return b.apply(norm_without_svd(order, axis, keepdims), x)
    labels = tuple(range(x.ndim))
    last = (*[k for k in labels if k not in axes], *axes)
    a = on_parts(lambda part: contract(b, [labels], [floating(part)], last, part.shape), x)
    made = of_singular_values(b, a, order, term)
    return reshaped(b, made, [1 if k in axes else n for k, n in enumerate(x.shape)]) if keepdims else made


@constructor()
def norm(ord: Order = None, axis: Axes = None, keepdims: bool = False) -> D:
    """The norm of vectors along an axis, of matrices along two axes, or of all entries (None), as `numpy.linalg.norm`.

    It is `ct.norm`, and has the norms of matrices by singular values as well: 2 (the greatest), -2 (the least) and "nuc" (their
    sum). Shapes and dtypes are those of `ct.norm`. Derivative: to any order, that of singular values. Raises `SpaceError` and
    `ArgumentError` as `ct.norm`, `SolveError` where LAPACK does not converge.

    >>> import catad as ct, numpy as np
    >>> a = np.array([[3.0, 0.0], [0.0, -4.0]])
    >>> ct.linalg.norm(2)(a), ct.linalg.norm(-2)(a), ct.linalg.norm("nuc")(a)
    (np.float64(4.0), np.float64(3.0), np.float64(7.0))
    """
    if ord not in SPECTRAL:
        norm_without_svd(ord, axis, keepdims)  # it raises for what is no order
    return Shaped(norm, _norm, ord=ord, axis=axes_(axis), keepdims=truth_value(keepdims, "keepdims"))


def _cond(b: Builder, x: Any, term: Any) -> Wire:
    order, a = term.parameters["p"], matrices(b, x, term)
    if 0 in a.shape[-2:]:
        raise errors.SpaceError(errors.no_condition(a.space, term))
    if order in (None, 2, -2):
        (s,) = decomposed(b, SvdVals(), a)
        ends = [_entry(b, s, k) for k in (0, s.shape[-1] - 1)]
        made = of_wires(b, apply("div", param(0), param(1)), *(ends if order != -2 else ends[::-1]))
    else:
        regular, singular = _regular(b, square(b, a, term))
        both = [_norm_of(b, one, order, term) for one in (a, on_parts(lambda part: cast(part, a.dtype), inverted(b, regular)))]
        made = of_wires(b, apply("select", param(2), const(np.inf), apply("mul", param(0), param(1))), *both, singular)
    both_parts = a.re + a.im if isinstance(a, Pair) else a
    strange = summed(b, of_wires(b, apply("mul", param(0), const(0.0)), both_parts), (a.ndim - 2, a.ndim - 1))  # NaN beside NaN
    none = apply("and", apply("ne", param(0), param(0)), apply("eq", param(1), param(1)))
    return of_wires(b, apply("select", none, const(np.inf), param(0)), made, strange)


def _regular(b: Builder, a: Any) -> tuple[Any, Wire]:
    """The matrices, identities in place of singular ones, and which are singular."""
    *axes, i = range(a.ndim - 1)
    n = a.shape[-1]
    if isinstance(a, Pair):
        lu, _ = b.add(Factor(of_complex("general")), real_form(b, a))
        parts = [piece(b, lu, a.ndim - 1, k * n, (k + 1) * n) for k in range(2)]
    else:
        parts = [b.add(Factor("general"), a)[0]]
    sizes = [of_wires(b, apply("abs", param(0)), contract(b, [(*axes, i, i)], [lu], (*axes, i), a.shape[:-1])) for lu in parts]
    pivots = sizes[0] if len(sizes) == 1 else sizes[0] + sizes[1]
    zero = of_wires(b, apply("select", apply("eq", param(0), const(0.0)), const(1.0), const(0.0)), pivots)
    singular = of_wires(b, apply("gt", param(0), const(0.0)), summed(b, zero, (i,)))
    flag = repeated(b, singular, axes, a.shape)

    def chosen(part: Wire, one: Wire) -> Wire:
        return of_wires(b, apply("select", param(2), param(1), param(0)), part, one, flag)

    ones = identity_like(b, a)
    return Pair(*map(chosen, a, ones)) if isinstance(a, Pair) else chosen(a, ones), singular


def _norm_of(b: Builder, a: Wire | Pair, order: Any, term: Any) -> Wire:
    made: Wire = b.apply(norm(order, (a.ndim - 2, a.ndim - 1)), a)
    return made


@constructor()
def cond(p: Order = None) -> D:
    """The condition numbers of matrices, as `numpy.linalg.cond`.

    `p` is None or 2 for the quotient of the greatest and the least singular value, -2 for that of the least and the greatest,
    else the order of a norm of matrices ("fro", "nuc", 1, -1, `inf`, `-inf`), of A and of its inverse.

    Shapes: (..., m, n) to (...); (..., n, n) for norms. Dtype: that of A, float64 for integers. Derivative: to any order. A
    singular matrix has infinity. Raises `SpaceError` for what is no matrix, or is empty, `SolveError` where LAPACK does not
    converge, `ArgumentError` for what is no order.

    >>> import catad as ct, numpy as np
    >>> ct.linalg.cond()(np.array([[4.0, 0.0], [0.0, 2.0]]))
    np.float64(2.0)
    """
    if p not in (None, *SPECTRAL):
        norm_without_svd(p, (0, 1))
    return Shaped(cond, _cond, p=p)


def _matrix_rank(b: Builder, x: Any, term: Any) -> Wire:
    rtol, hermitian = term.parameters["rtol"], term.parameters["hermitian"]
    a = square(b, x, term) if hermitian else matrices(b, x, term)
    (s,) = decomposed(b, Eigvalsh() if hermitian else SvdVals(), a)
    s = of_wires(b, apply("abs", param(0)), s) if hermitian else s
    last = s.ndim - 1
    if not s.shape[-1]:
        return zeros(b, Tensor(s.shape[:-1], np.dtype(np.int64)))
    tolerance = default_rtol(a.space) if rtol is None else rtol
    top = repeated(b, along_axes(b, s, (last,), extremum("maximum", s.dtype)), range(last), s.shape)
    more = of_wires(b, apply("gt", param(0), apply("mul", param(1), const(tolerance))), s, top)
    return summed(b, cast(more, np.dtype(np.int64)), (last,))


@constructor()
def matrix_rank(rtol: float | None = None, hermitian: bool = False) -> D:
    """The ranks of matrices, as `numpy.linalg.matrix_rank`: how many singular values are more than `rtol` times the greatest.

    `rtol` None is max(m, n) times the dtype's eps. With `hermitian`, the lower half of symmetric matrices is read.
    A matrix with NaN has rank 0, where NumPy raises an error for the whole stack.

    Shapes: (..., m, n) to (...), int64. Derivative: 0. Raises `SpaceError` for what is no matrix, `SolveError` where LAPACK does
    not converge, `ArgumentError` for an `rtol` that is no number.

    >>> import catad as ct, numpy as np
    >>> ct.linalg.matrix_rank()(np.ones((3, 2)))
    np.int64(1)
    """
    return Shaped(matrix_rank, _matrix_rank, rtol=tolerance(rtol, "rtol"), hermitian=truth_value(hermitian, "hermitian"))


def _matrix_power(b: Builder, x: Any, term: Any) -> Any:
    a, n = square(b, x, term), term.parameters["n"]
    if not n:
        return identity_like(b, a)
    power, made = inverted(b, a) if n < 0 else a, None
    for bit in f"{abs(n):b}"[:0:-1]:
        if bit == "1":
            made = power if made is None else product(b, made, power)
        power = product(b, power, power)
    return power if made is None else product(b, made, power)


@constructor()
def matrix_power(n: int) -> D:
    """The n-th powers of square matrices, as `numpy.linalg.matrix_power`; of their inverses if n is negative.

    Shapes: (..., n, n) to (..., n, n). Dtype: that of A, float64 for integers. Derivative: to any order. Raises `SpaceError` for
    matrices that are not square, `SolveError` for the inverse of a singular one, `ArgumentError` for an n that is no integer.

    >>> import catad as ct, numpy as np
    >>> ct.linalg.matrix_power(-2)(np.array([[2.0, 0.0], [0.0, 4.0]]))
    array([[0.25  , 0.    ],
           [0.    , 0.0625]])
    """
    return Shaped(matrix_power, _matrix_power, n=integer(n, "an exponent"))
