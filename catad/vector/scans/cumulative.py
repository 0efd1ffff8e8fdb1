"""`cumsum` and `cumprod`: scans along an axis, by NumPy's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catad.category.constructors import constructor, integer
from catad.category.terms import D
from catad.linear.families.recurrence import ONE, Recurred
from catad.linear.families.reindex import reshaped
from catad.vector.folds.extended_range import TIMES
from catad.vector.scans.scan import Scan
from catad.vector.shapes.shape import OneArray, axes_of, summed_as

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


def _line(b: Builder, x: Wire, term: Any) -> tuple[Wire, int]:
    """The array and an axis; without one the flattened array."""
    axis = term.parameters["axis"]
    x = summed_as(x)
    if axis is None:
        return reshaped(b, x, (x.space.size,)), 0
    return x, axes_of(axis, x, term)[0]


def _cumsum(b: Builder, x: Wire, term: Any) -> Wire:
    x, axis = _line(b, x, term)
    return b.add(Recurred(((ONE,),), axis, False), x)[0]


def _cumprod(b: Builder, x: Wire, term: Any) -> Wire:
    x, axis = _line(b, x, term)
    return b.add(Scan(TIMES, axis), x)[0]


@constructor()
def cumsum(axis: int | None = None) -> D:
    """The sums of all prefixes along an axis, or of the flattened array (None).

    The shape stays, or is (n,) without an axis. Floats keep their dtype; truth values and integers of fewer than 64 bits are
    added as int64, or as uint64. The Jacobian is a recurrence that stores nothing. Raises `SpaceError` for an axis that is
    missing, `ArgumentError` for one that is no integer.

    >>> import catad as ct, numpy as np
    >>> ct.cumsum(axis=1)(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[1., 3.],
           [3., 7.]])
    """
    return OneArray(cumsum, _cumsum, axis=None if axis is None else integer(axis, "an axis"))


@constructor()
def cumprod(axis: int | None = None) -> D:
    """The products of all prefixes along an axis, or of the flattened array (None).

    Shapes, dtypes and errors as `ct.cumsum`. The Jacobian is a diagonal, then a recurrence.

    >>> import catad as ct, numpy as np
    >>> ct.cumprod()(np.array([[1, 2], [3, 4]]))
    array([ 1,  2,  6, 24])
    """
    return OneArray(cumprod, _cumprod, axis=None if axis is None else integer(axis, "an axis"))
