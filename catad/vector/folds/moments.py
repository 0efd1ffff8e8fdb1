"""`mean`, `var` and `std`, as NumPy computes them: a mean is a sum divided by a count, a variance that of squares around it.

The derivative of a variance is twice the deviation divided by the count, since deviations sum to zero; that of a standard
deviation is the deviation divided by it, and zero where all entries are equal, as that of a norm at zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors, scalar
from catad.category.constructors import axes as axes_
from catad.category.constructors import constructor
from catad.category.terms import D
from catad.errors.category import described
from catad.linear.structure import cast
from catad.scalar import Node, apply, param
from catad.support.options import truth_value
from catad.vector.folds.merge_axes import spread
from catad.vector.folds.row_derivatives import Row
from catad.vector.pointwise.map import mapped
from catad.vector.shapes.shape import OneArray, reduction, summed

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

Axes = int | Sequence[int] | None


def floating(x: Wire) -> Wire:
    """The wire, with integers and truth values as float64."""
    return x if x.space.is_float else cast(x, np.dtype(np.float64))


def of_wires(b: Builder, node: Node, *wires: Wire) -> Wire:
    """A scalar expression of wires."""
    return mapped(b, [node], wires)[0]


def square_sum(b: Builder, x: Wire, axes: Sequence[int]) -> Wire:
    """The sum of squares over some axes."""
    return summed(b, of_wires(b, apply("mul", param(0), param(0)), x), axes)


def quotient(b: Builder, x: Wire, count: float) -> Wire:
    """The wire divided by a number of entries, which may be 0."""
    return of_wires(b, apply("div", param(0), scalar.const(float(count))), x)


def share_of(x: Node, y: Node) -> Node:
    """x / y, and 0 where y is 0."""
    zero = scalar.const(0.0)
    return apply("select", apply("eq", y, zero), zero, apply("div", x, y))


def _count(x: Wire, axes: Sequence[int]) -> int:
    return math.prod([x.shape[k] for k in axes])


@reduction
def _mean(b: Builder, x: Wire, axes: tuple[int, ...], term: Any) -> Wire:
    return quotient(b, summed(b, floating(x), axes), _count(x, axes))


@constructor()
def mean(axis: Axes = None, keepdims: bool = False) -> D:
    """The mean over some axes (None: all axes); of no entry it is NaN.

    The result does not have these axes, or has them with size 1 if `keepdims` is true. Floats keep their dtype, the mean of
    integers and truth values is float64. The Jacobian is the sum divided by a count, and stores nothing. Raises `SpaceError`
    for an axis that is missing, `ArgumentError` for one that is no integer.

    >>> import catad as ct, numpy as np
    >>> ct.mean(axis=0)(np.array([[1.0, 2.0], [3.0, 6.0]]))
    array([2., 4.])
    """
    return OneArray(mean, _mean, axis=axes_(axis), keepdims=truth_value(keepdims, "keepdims"))


def _variance(b: Builder, x: Wire, axes: tuple[int, ...], term: Any, root: bool) -> Wire:
    count = max(_count(x, axes) - term.parameters["ddof"], 0)
    x = floating(x)
    middle = spread(b, quotient(b, summed(b, x, axes), _count(x, axes)), x, axes)
    deviation = of_wires(b, apply("sub", param(0), param(1)), x, middle)
    y = quotient(b, square_sum(b, deviation, axes), count)
    factor = 1.0 / count if count else math.inf
    if root:
        y = of_wires(b, apply("sqrt", param(0)), y)
        share = of_wires(b, share_of(param(0), param(1)), deviation, spread(b, y, x, axes))
        return b.add(Row(axes, factor), x, y, share)[0]
    return b.add(Row(axes, 2.0 * factor), x, y, deviation)[0]


_var, _std = [reduction(partial(_variance, root=root)) for root in (False, True)]


def _ddof(ddof: Any) -> float:
    number = isinstance(ddof, (int, float, np.integer, np.floating)) and not isinstance(ddof, bool)
    if not number or not math.isfinite(ddof):
        raise errors.ArgumentError(errors.not_degrees_of_freedom(described(ddof)))
    return ddof if isinstance(ddof, (int, float)) and not isinstance(ddof, np.generic) else ddof.item()


@constructor()
def var(axis: Axes = None, ddof: float = 0, keepdims: bool = False) -> D:
    """The variance over some axes (None: all axes): the mean of squared deviations, divided by the count less `ddof`.

    Shapes and dtypes as `ct.mean`. Where the count is not more than `ddof` it is NaN or infinite. The Jacobian is a row:
    twice the deviation, divided by the same number. Raises `SpaceError` for an axis that is missing, `ArgumentError` for an
    axis that is no integer and for `ddof` that is no number.

    >>> import catad as ct, numpy as np
    >>> ct.value_and_grad(ct.var(ddof=1))(np.array([1.0, 3.0]))
    (np.float64(2.0), array([-2.,  2.]))
    """
    return OneArray(var, _var, axis=axes_(axis), ddof=_ddof(ddof), keepdims=truth_value(keepdims, "keepdims"))


@constructor()
def std(axis: Axes = None, ddof: float = 0, keepdims: bool = False) -> D:
    """The standard deviation over some axes (None: all axes): the square root of `ct.var`.

    Shapes and dtypes as `ct.mean`. The Jacobian is a row; it is 0 where all entries are equal, as that of a norm at 0.
    Errors as `ct.var`.

    >>> import catad as ct, numpy as np
    >>> ct.std()(np.array([1.0, 3.0])), ct.grad(ct.std())(np.ones(2))
    (np.float64(1.0), array([0., 0.]))
    """
    return OneArray(std, _std, axis=axes_(axis), ddof=_ddof(ddof), keepdims=truth_value(keepdims, "keepdims"))
