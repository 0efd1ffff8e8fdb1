"""Reductions by NumPy's names: `max`, `min`, `prod`, `any`, `all` and the positions `argmax`, `argmin`.

Each is a fold along one axis that has the indices of all axes of the reduction, in C order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors, scalar
from catad.category.constructors import axes as axes_
from catad.category.constructors import constructor, integer
from catad.category.terms import D
from catad.linear.structure import cast
from catad.scalar import Function, apply, param
from catad.support.options import truth_value
from catad.vector.deferred import Lay
from catad.vector.folds.arg_extremum import ArgExtremum
from catad.vector.folds.extended_range import TIMES
from catad.vector.folds.fold import Fold, folded_along
from catad.vector.folds.merge_axes import merge
from catad.vector.folds.moments import Axes, of_wires
from catad.vector.folds.monoid import Monoid
from catad.vector.pointwise.generate import steps_along
from catad.vector.shapes.shape import OneArray, reduction, summed, summed_as

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


@lru_cache(256)
def extremum(op: str, dtype: np.dtype[Any]) -> Monoid:
    """The monoid of "maximum" or "minimum" on numbers of a dtype."""
    if dtype.kind == "f":
        neutral: float = -math.inf if op == "maximum" else math.inf
    else:
        limits = np.iinfo(dtype)
        neutral = int(limits.min if op == "maximum" else limits.max)
    return Monoid(Function.make(2, [apply(op, param(0), param(1))], None, (None, None)), (neutral,), None)


def along_axes(b: Builder, x: Wire, axes: Sequence[int], monoid: Monoid) -> Wire:
    """The fold along some axes."""
    return folded_along(b, monoid, [x], axes)[0]


def _counted(b: Builder, x: Wire, axes: Sequence[int], which: str) -> Wire:
    """Whether there is an entry that is not 0 ("ne"), or none that is 0 ("eq"): their number, since integers add up fastest."""
    zero = scalar.const(0)
    ones = of_wires(b, scalar.cast(np.dtype(np.int64), apply(which, param(0), zero)), x)
    return of_wires(b, apply(which, param(0), zero), summed(b, ones, axes))


def nonempty(x: Wire, axes: Sequence[int], term: D) -> None:
    """There is an element along the axes."""
    if math.prod([x.shape[k] for k in axes]) == 0:
        raise errors.SpaceError(errors.nothing_to_choose(x.space, term))


def _extremum(op: str) -> Lay:
    def lay(b: Builder, x: Wire, axes: tuple[int, ...], term: Any) -> Wire:
        nonempty(x, axes, term)
        if x.dtype.kind == "b":
            return _counted(b, x, axes, "ne" if op == "maximum" else "eq")
        return along_axes(b, x, axes, extremum(op, x.dtype))

    return reduction(lay)


@constructor()
def max(axis: Axes = None, keepdims: bool = False) -> D:
    """The greatest entry over some axes (None: all axes), NaN where there is one.

    The result does not have these axes, or has them with size 1 if `keepdims` is true. The dtype stays. The Jacobian is a
    gather: of equal entries the first in C order has all of the derivative. Work O(n), of the value and of its gradient.
    Raises `SpaceError` where there is nothing to choose from or an axis is missing, `ArgumentError` for an axis that is no
    integer.

    >>> import catad as ct, numpy as np
    >>> ct.max(axis=1)(np.array([[1.0, 3.0], [2.0, 0.0]]))
    array([3., 2.])
    >>> ct.grad(ct.max())(np.array([1.0, 3.0, 3.0]))
    array([0., 1., 0.])
    """
    return OneArray(max, _extremum("maximum"), axis=axes_(axis), keepdims=truth_value(keepdims, "keepdims"))


@constructor()
def min(axis: Axes = None, keepdims: bool = False) -> D:
    """The least entry over some axes (None: all axes), NaN where there is one.

    Shapes, dtypes, derivative and errors as `ct.max`.

    >>> import catad as ct, numpy as np
    >>> ct.min(axis=0, keepdims=True)(np.array([[1.0, 3.0], [2.0, 0.0]]))
    array([[1., 0.]])
    """
    return OneArray(min, _extremum("minimum"), axis=axes_(axis), keepdims=truth_value(keepdims, "keepdims"))


_prod = reduction(lambda b, x, axes, term: along_axes(b, summed_as(x), axes, TIMES))


@constructor()
def prod(axis: Axes = None, keepdims: bool = False) -> D:
    """The product over some axes (None: all axes); an empty product is 1.

    Shapes as `ct.max`. Floats keep their dtype; truth values and integers of fewer than 64 bits are multiplied as int64, or
    as uint64. The derivative by an entry is the product of all others, also where entries are 0 or the product leaves the
    range of floats. Raises `SpaceError` for an axis that is missing, `ArgumentError` for one that is no integer.

    >>> import catad as ct, numpy as np
    >>> ct.value_and_grad(ct.prod())(np.array([2.0, 0.0, 3.0]))
    (np.float64(0.0), array([0., 6., 0.]))
    """
    return OneArray(prod, _prod, axis=axes_(axis), keepdims=truth_value(keepdims, "keepdims"))


def _truth(which: str) -> Lay:
    return reduction(lambda b, x, axes, term: _counted(b, x, axes, which))


@constructor()
def any(axis: Axes = None, keepdims: bool = False) -> D:
    """Whether an entry over some axes (None: all axes) is not 0; NaN is not 0. False where there is none.

    Shapes as `ct.max`. The dtype is bool, for any dtype of the argument. The derivative is zero. Raises `SpaceError` for an
    axis that is missing, `ArgumentError` for one that is no integer.

    >>> import catad as ct, numpy as np
    >>> ct.any(axis=1)(np.array([[0.0, 2.0], [0.0, 0.0]]))
    array([ True, False])
    """
    return OneArray(any, _truth("ne"), axis=axes_(axis), keepdims=truth_value(keepdims, "keepdims"))


@constructor()
def all(axis: Axes = None, keepdims: bool = False) -> D:
    """Whether no entry over some axes (None: all axes) is 0; NaN is not 0. True where there is none.

    Shapes, dtypes, derivative and errors as `ct.any`.

    >>> import catad as ct, numpy as np
    >>> ct.all()(np.array([1.0, np.nan])), ct.all()(np.array([1, 0]))
    (np.True_, np.False_)
    """
    return OneArray(all, _truth("eq"), axis=axes_(axis), keepdims=truth_value(keepdims, "keepdims"))


def _position(op: str) -> Lay:
    def lay(b: Builder, x: Wire, axes: tuple[int, ...], term: Any) -> Wire:
        nonempty(x, axes, term)
        if x.dtype.kind == "b":
            x = cast(x, np.dtype(np.int8))
        one = merge(x.ndim, axes)
        line, monoid = one.into(b, x), extremum(op, x.dtype)
        steps = steps_along(b, line.shape, one.at)
        return b.add(ArgExtremum(monoid, one.at), line, steps, b.add(Fold(monoid, one.at), line)[0])[0]

    return reduction(lay)


def _one_or_all(axis: Any) -> int | None:
    return None if axis is None else integer(axis, "an axis")


@constructor()
def argmax(axis: int | None = None, keepdims: bool = False) -> D:
    """The position (int64) of the greatest entry along an axis, or in the flattened array (None); the first of equal ones.

    Where there is a NaN, the position of the first one. The result does not have the axis, or has it with size 1 if
    `keepdims` is true. The dtype is int64, for any dtype of the argument. The derivative is zero. Raises `SpaceError` where there
    is nothing to choose from or the axis is missing, `ArgumentError` for an axis that is no integer.

    >>> import catad as ct, numpy as np
    >>> ct.argmax(axis=1)(np.array([[1.0, 3.0, 3.0], [2.0, 0.0, 1.0]]))
    array([1, 0])
    """
    return OneArray(argmax, _position("maximum"), axis=_one_or_all(axis), keepdims=truth_value(keepdims, "keepdims"))


@constructor()
def argmin(axis: int | None = None, keepdims: bool = False) -> D:
    """The position (int64) of the least entry along an axis, or in the flattened array (None); the first of equal ones.

    NaN, shapes, dtypes, derivative and errors as `ct.argmax`.

    >>> import catad as ct, numpy as np
    >>> ct.argmin()(np.array([[1.0, 3.0], [0.0, 0.0]]))
    np.int64(2)
    """
    return OneArray(argmin, _position("minimum"), axis=_one_or_all(axis), keepdims=truth_value(keepdims, "keepdims"))
