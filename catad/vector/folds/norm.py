"""`norm`: the norms of vectors and matrices that need no singular values, as `numpy.linalg.norm`.

    y = (sum |x_i|^p)^(1/p)        dy = sum of sign(x_i) (|x_i| / y)^(p-1) dx_i

So the Jacobian is a row. It is 0 where y is 0, as that of `hypot`, and by an entry that is 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors, scalar
from catad.category.constructors import axes as axes_
from catad.category.constructors import constructor
from catad.category.terms import D
from catad.linear.structure import cast
from catad.scalar import apply, param
from catad.support.options import truth_value
from catad.vector.folds.merge_axes import spread
from catad.vector.folds.moments import Axes, floating, of_wires, share_of, square_sum
from catad.vector.folds.reduce import along_axes, extremum, nonempty
from catad.vector.folds.row_derivatives import Row
from catad.vector.shapes.shape import OneArray, reduction, summed

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

Order = float | str | None
_ABS = apply("abs", param(0))


def _magnitudes(b: Builder, x: Wire, axes: Sequence[int]) -> Wire:
    """The sum of absolute values."""
    return summed(b, of_wires(b, _ABS, x), axes)


def _furthest(b: Builder, x: Wire, axes: Sequence[int], op: str, term: D) -> Wire:
    """The greatest or least absolute value; the greatest of none is 0."""
    if op == "maximum" and 0 in [x.shape[k] for k in axes]:
        return summed(b, x, axes)
    nonempty(x, axes, term)
    return along_axes(b, of_wires(b, _ABS, x), axes, extremum(op, x.dtype))


def _euclidean(b: Builder, x: Wire, axes: Sequence[int]) -> Wire:
    y = of_wires(b, apply("sqrt", param(0)), square_sum(b, x, axes))
    share = of_wires(b, share_of(param(0), param(1)), x, spread(b, y, x, axes))
    return b.add(Row(tuple(axes)), x, y, share)[0]


def _of_order(b: Builder, x: Wire, axes: Sequence[int], p: float) -> Wire:
    size, zero = _ABS, scalar.const(0.0)
    total = summed(b, of_wires(b, apply("pow", size, scalar.const(p)), x), axes)
    y = of_wires(b, apply("pow", param(0), scalar.const(1.0 / p)), total)
    share = apply("mul", apply("sign", param(0)), apply("pow", apply("div", size, param(1)), scalar.const(p - 1.0)))
    nothing = apply("or", apply("eq", param(0), zero), apply("eq", param(1), zero))
    shares = of_wires(b, apply("select", nothing, zero, share), x, spread(b, y, x, axes))
    return b.add(Row(tuple(axes)), x, y, shares)[0]


def _of_vector(b: Builder, x: Wire, axes: Sequence[int], order: Order, term: D) -> Wire:
    if order is None or order == 2:
        return _euclidean(b, x, axes)
    if isinstance(order, str):
        raise errors.SpaceError(errors.no_such_norm(order, 1, x.space, term))
    if order in (math.inf, -math.inf):
        return _furthest(b, x, axes, "maximum" if order > 0 else "minimum", term)
    if order == 1:
        return _magnitudes(b, x, axes)
    if order == 0:
        return summed(b, cast(of_wires(b, apply("ne", param(0), scalar.const(0.0)), x), x.dtype), axes)
    return _of_order(b, x, axes, order)


def _of_matrix(b: Builder, x: Wire, axes: Sequence[int], order: Order, term: D) -> Wire:
    if order is None or order == "fro":
        return _euclidean(b, x, axes)
    if order not in (1, -1, math.inf, -math.inf):
        raise errors.SpaceError(errors.no_such_norm(order, 2, x.space, term))
    first, second = axes if abs(order) == 1 else axes[::-1]
    lines = _magnitudes(b, x, (first,))
    return _furthest(b, lines, (second - (second > first),), "maximum" if order > 0 else "minimum", term)


@reduction
def _norm(b: Builder, x: Wire, axes: tuple[int, ...], term: Any) -> Wire:
    axis, order, x = term.parameters["axis"], term.parameters["ord"], floating(x)
    if axis is None and order is None:
        return _euclidean(b, x, axes)
    if len(axes) == 1:
        return _of_vector(b, x, axes, order, term)
    if len(axes) == 2:
        return _of_matrix(b, x, axes, order, term)
    raise errors.SpaceError(errors.no_axes_of_a_norm(len(axes), x.space, term))


@constructor()
def norm(ord: Order = None, axis: Axes = None, keepdims: bool = False) -> D:
    """The norm of vectors along an axis, of matrices along two axes, or of all entries (None), as `numpy.linalg.norm`.

    `ord` is None for the square root of the sum of squares. Vectors have the norms of any order, `inf` and `-inf` (the
    greatest and the least absolute value) and 0 (how many entries are not 0); matrices have "fro", 1, -1 (sums of columns),
    `inf` and `-inf` (sums of rows). The result does not have the axes, or has them with size 1 if `keepdims` is true. Floats
    keep their dtype, others are float64. The Jacobian is a row; it is 0 where the norm is 0. Raises `ArgumentError` for an
    order that is none, the nuclear norm and an axis that is no integer, `SpaceError` for a missing axis, for orders that
    vectors or matrices do not have (of matrices 2 needs singular values), and where there is nothing to choose from.

    >>> import catad as ct, numpy as np
    >>> ct.value_and_grad(ct.norm())(np.array([3.0, 4.0]))
    (np.float64(5.0), array([0.6, 0.8]))
    >>> ct.norm(1, axis=1)(np.array([[1.0, -2.0], [0.0, 0.0]])), ct.grad(ct.norm())(np.zeros(2))
    (array([3., 0.]), array([0., 0.]))
    """
    number = isinstance(ord, (int, float, np.integer, np.floating)) and not isinstance(ord, bool) and ord == ord
    if not (number or ord is None or (isinstance(ord, str) and ord == "fro")):
        raise errors.ArgumentError(errors.no_such_order(ord))
    if isinstance(ord, np.generic):
        ord = ord.item()
    return OneArray(norm, _norm, ord=ord, axis=axes_(axis), keepdims=truth_value(keepdims, "keepdims"))
