"""`logsumexp` and `softmax` over some axes, as in SciPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catad.category.constructors import axes as axes_
from catad.category.constructors import constructor
from catad.category.terms import D
from catad.scalar import apply, param
from catad.support.options import truth_value
from catad.vector.folds.fold import Fold
from catad.vector.folds.log_sum_exp import log_sum_exp
from catad.vector.folds.merge_axes import merge, spread
from catad.vector.folds.moments import Axes, floating, of_wires
from catad.vector.folds.reduce import extremum, nonempty
from catad.vector.folds.row_derivatives import Normalised
from catad.vector.shapes.shape import OneArray, axes_of, reduction, summed

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


@reduction
def _logsumexp(b: Builder, x: Wire, axes: tuple[int, ...], term: Any) -> Wire:
    one = merge(x.ndim, axes)
    return log_sum_exp(b, one.into(b, floating(x)), one.at)


@constructor()
def logsumexp(axis: Axes = None, keepdims: bool = False) -> D:
    """The logarithm of the sum of exponentials over some axes (None: all axes), as `scipy.special.logsumexp`.

    No exponential overflows; of no entry it is minus infinity. The result does not have these axes, or has them with size 1
    if `keepdims` is true. Floats keep their dtype, others are float64. The Jacobian is a row, the softmax; where the
    greatest entry is infinite, those that equal it share the derivative. Raises `SpaceError` for an axis that is missing,
    `ArgumentError` for one that is no integer.

    >>> import catad as ct, numpy as np
    >>> ct.value_and_grad(ct.logsumexp())(np.array([1000.0, 1000.0]))
    (np.float64(1000.6931471805599), array([0.5, 0.5]))
    """
    return OneArray(logsumexp, _logsumexp, axis=axes_(axis), keepdims=truth_value(keepdims, "keepdims"))


def _softmax(b: Builder, x: Wire, term: Any) -> Wire:
    axes = axes_of(term.parameters["axis"], x, term)
    nonempty(x, axes, term)
    shape, one = x.shape, merge(x.ndim, axes)
    x = one.into(b, floating(x))
    along = (one.at,)
    (most,) = b.add(Fold(extremum("maximum", x.dtype), one.at), x)
    power = of_wires(b, apply("exp", apply("sub", param(0), param(1))), x, spread(b, most, x, along))
    total = spread(b, summed(b, power, along), x, along)
    share = of_wires(b, apply("div", param(0), param(1)), power, total)
    return one.out_of(b, b.add(Normalised(along), x, share)[0], shape)


@constructor()
def softmax(axis: Axes = None) -> D:
    """The exponentials divided by their sum over some axes (None: all axes), as `scipy.special.softmax`.

    No exponential overflows; where the greatest entry is infinite, the result is NaN, as in SciPy. The shape stays; floats
    keep their dtype, others become float64. The Jacobian is a diagonal minus an outer product, both of the result, which is
    all that it stores. Raises `SpaceError` where there is no entry or an axis is missing, `ArgumentError` for an axis that
    is no integer.

    >>> import catad as ct, numpy as np
    >>> ct.softmax(axis=1)(np.array([[0.0, 0.0], [0.0, 1000.0]]))
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    return OneArray(softmax, _softmax, axis=axes_(axis))
