"""`squeeze`, `expand_dims` and `moveaxis`: other axes of the same entries, with NumPy's names and meanings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from catad import errors
from catad.category.constructors import axes as axes_
from catad.category.constructors import constructor, integers
from catad.category.terms import D
from catad.linear.families.reindex import reshaped
from catad.vector.folds.merge_axes import transposed
from catad.vector.shapes.shape import OneArray, axes_of

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


def _squeeze(b: Builder, x: Wire, term: Any) -> Wire:
    axis = term.parameters["axis"]
    gone = [k for k, n in enumerate(x.shape) if n == 1] if axis is None else axes_of(axis, x, term)
    if any(x.shape[k] != 1 for k in gone):
        raise errors.SpaceError(errors.cannot_squeeze(axis, x.space, term))
    return reshaped(b, x, [n for k, n in enumerate(x.shape) if k not in gone])


@constructor()
def squeeze(axis: int | Sequence[int] | None = None) -> D:
    """The array without some axes of size 1 (None: all of them).

    Shapes: those axes are left out; the dtype stays. The transpose puts them back. Raises `SpaceError` for an axis that is
    missing or has another size, `ArgumentError` for one that is no integer.

    >>> import catad as ct, numpy as np
    >>> ct.squeeze(axis=0)(np.ones((1, 2, 1))).shape, ct.squeeze()(np.ones((1, 2, 1))).shape
    ((2, 1), (2,))
    """
    return OneArray(squeeze, _squeeze, axis=axes_(axis))


def _expand_dims(b: Builder, x: Wire, term: Any) -> Wire:
    axis = term.parameters["axis"]
    named = (axis,) if isinstance(axis, int) else axis
    rank = x.ndim + len(named)
    places = [k + rank if k < 0 else k for k in named]
    if any(not 0 <= k < rank for k in places) or len(set(places)) < len(places):
        raise errors.SpaceError(errors.bad_axis(axis, x.space, term))
    rest = iter(x.shape)
    return reshaped(b, x, [1 if k in places else next(rest) for k in range(rank)])


@constructor()
def expand_dims(axis: int | Sequence[int]) -> D:
    """The array with new axes of size 1, at places that are those in the result.

    Shapes: (n,) to (1, n) for axis 0, to (n, 1) for axis 1 or -1; the dtype stays. The transpose takes the axes away. Raises
    `SpaceError` for a place that the result does not have, or one that is named twice, `ArgumentError` for what is no
    integer.

    >>> import catad as ct, numpy as np
    >>> ct.expand_dims(0)(np.ones(3)).shape, ct.expand_dims((0, 2))(np.ones(3)).shape
    ((1, 3), (1, 3, 1))
    """
    named = axes_(axis)
    if named is None:
        raise errors.ArgumentError(errors.not_an_integer("an axis", axis, None))
    return OneArray(expand_dims, _expand_dims, axis=named)


def _moveaxis(b: Builder, x: Wire, term: Any) -> Wire:
    source = axes_of(term.parameters["source"], x, term)
    destination = axes_of(term.parameters["destination"], x, term)
    order = [k for k in range(x.ndim) if k not in source]
    for to, k in sorted(zip(destination, source, strict=True)):
        order.insert(to, k)
    return transposed(b, x, order)


@constructor()
def moveaxis(source: int | Sequence[int], destination: int | Sequence[int]) -> D:
    """The array with some axes at other places; the other axes keep their order.

    Shapes: sizes move with their axes; the dtype stays. The transpose moves them back. Raises `SpaceError` for an axis that
    is missing or named twice, `ArgumentError` for axes that are no integers, or not equally many.

    >>> import catad as ct, numpy as np
    >>> ct.moveaxis(0, -1)(np.ones((2, 3, 4))).shape
    (3, 4, 2)
    """
    for name, value in (("source", source), ("destination", destination)):
        if axes_(value) is None:
            raise errors.ArgumentError(errors.not_an_integer(name, value, None))
    if len(integers(source, "an axis")) != len(integers(destination, "an axis")):
        raise errors.ArgumentError(errors.unequal_counts("source axes", source, "destination axes", destination))
    return OneArray(moveaxis, _moveaxis, source=axes_(source), destination=axes_(destination))
