"""Pieces of one array, and their rearrangement: `unstack`, `split`, `roll`, `diff`, with NumPy's names and meanings.

All consist of slices and concatenations, so the Jacobian of each is made of moves by fixed offsets, and stores nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.constructors import axes as axes_
from catad.category.constructors import constructor, integer, integers
from catad.category.terms import D
from catad.linear.families.reindex import axis as move
from catad.linear.families.reindex import moved_along, reshaped
from catad.vector.shapes.shape import Concatenate, OneArray, axes_of

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


def piece(b: Builder, x: Wire, axis: int, start: int, stop: int) -> Wire:
    """The entries from `start` to before `stop` along an axis."""
    n, m = x.shape[axis], max(0, stop - start)
    return moved_along(b, x, axis, move(n, m, start, 1, 0, 1, m))


def _unstack(b: Builder, x: Wire, term: Any) -> Any:
    (axis,) = axes_of(term.parameters["axis"], x, term)
    rest = x.shape[:axis] + x.shape[axis + 1 :]
    return tuple([reshaped(b, piece(b, x, axis, k, k + 1), rest) for k in range(x.shape[axis])])


@constructor()
def unstack(axis: int = 0) -> D:
    """The slices of an array along an axis, as a tuple; `ct.stack` along the axis undoes it.

    Shapes: (..., n, ...) to n arrays without the axis; the dtype stays. The transpose stacks. Raises `SpaceError` where the
    axis is missing, `ArgumentError` for an axis that is no integer.

    >>> import catad as ct, numpy as np
    >>> ct.unstack(axis=1)(np.array([[1.0, 2.0], [3.0, 4.0]]))
    (array([1., 3.]), array([2., 4.]))
    """
    return OneArray(unstack, _unstack, axis=integer(axis, "an axis"))


def _split(b: Builder, x: Wire, term: Any) -> Any:
    given = term.parameters["indices_or_sections"]
    (axis,) = axes_of(term.parameters["axis"], x, term)
    n = x.shape[axis]
    if isinstance(given, int):
        if n % given:
            raise errors.SpaceError(errors.uneven_split(given, x.space, axis, term))
        bounds = [n // given * k for k in range(given + 1)]
    else:
        bounds = [0, *[slice(at, None).indices(n)[0] for at in given], n]
    return tuple([piece(b, x, axis, start, stop) for start, stop in pairwise(bounds)])


@constructor()
def split(indices_or_sections: int | Sequence[int], axis: int = 0) -> D:
    """An array in pieces along an axis, as a tuple: so many of equal size, or cut before each of some positions.

    As `numpy.split`: negative positions count from the end. Shapes: (..., n, ...) to arrays whose sizes along the axis add
    up to n, where positions ascend; the dtype stays. The transpose puts zeros beside and adds. Raises `SpaceError` where n
    is not divisible by the number of pieces or the axis is missing, `ArgumentError` for numbers and axes that are no
    integers.

    >>> import catad as ct, numpy as np
    >>> ct.split(2)(np.arange(4.0)), ct.split((1,))(np.arange(3.0))
    ((array([0., 1.]), array([2., 3.])), (array([0.]), array([1., 2.])))
    """
    if isinstance(indices_or_sections, Sequence):
        given: Any = integers(indices_or_sections, "a position of a split")
    else:
        given = integer(indices_or_sections, "a number of pieces", 1)
    return OneArray(split, _split, indices_or_sections=given, axis=integer(axis, "an axis"))


def rolled(b: Builder, x: Wire, axis: int, shift: int) -> Wire:
    """The wire with its entries moved around an axis."""
    n = x.shape[axis]
    at = n - shift % n if n else 0
    if at in (0, n):
        return x
    return b.add(Concatenate(axis, 2), piece(b, x, axis, at, n), piece(b, x, axis, 0, at))[0]


def _roll(b: Builder, x: Wire, term: Any) -> Wire:
    shift, axis = term.parameters["shift"], term.parameters["axis"]
    if axis is None:
        line = reshaped(b, x, (x.space.size,))
        return reshaped(b, rolled(b, line, 0, sum(np.atleast_1d(shift).tolist())), x.shape)
    named = np.atleast_1d(np.asarray(axis, dtype=np.int64))
    shifts, places = np.broadcast_arrays(np.atleast_1d(np.asarray(shift, dtype=np.int64)), named)
    total: dict[int, int] = {}
    for by, place in zip(shifts.tolist(), places.tolist(), strict=True):
        (at,) = axes_of(place, x, term)
        total[at] = total.get(at, 0) + by
    for at, by in total.items():
        x = rolled(b, x, at, by)
    return x


@constructor()
def roll(shift: int | Sequence[int], axis: int | Sequence[int] | None = None) -> D:
    """The entries moved by `shift` positions along some axes, those beyond the end to the front; None: in the flattened array.

    As `numpy.roll`: with several axes there is a shift for each, or one for all. The shape and the dtype stay. The Jacobian
    is a sum of two shifts, which stores nothing; the transpose rolls back. Raises `SpaceError` where an axis is missing,
    `ArgumentError` for shifts and axes that are no integers, or not equally many.

    >>> import catad as ct, numpy as np
    >>> ct.roll(1)(np.arange(4.0)), ct.roll(-1, axis=1)(np.array([[1, 2, 3]]))
    (array([3., 0., 1., 2.]), array([[2, 3, 1]]))
    """
    shift = integers(shift, "a shift") if isinstance(shift, Sequence) else integer(shift, "a shift")
    axis = axes_(axis)
    if isinstance(shift, tuple) and isinstance(axis, tuple) and len(shift) != len(axis) and 1 not in (len(shift), len(axis)):
        raise errors.ArgumentError(errors.unequal_counts("shifts", shift, "axes", axis))
    return OneArray(roll, _roll, shift=shift, axis=axis)


def _diff(b: Builder, x: Wire, term: Any) -> Wire:
    n = term.parameters["n"]
    if n == 0:
        return x
    (axis,) = axes_of(term.parameters["axis"], x, term)
    for _ in range(min(n, x.shape[axis])):
        size = x.shape[axis]
        later, earlier = piece(b, x, axis, 1, size), piece(b, x, axis, 0, size - 1)
        x = later != earlier if x.dtype.kind == "b" else later - earlier  # type: ignore[assignment]
    return x


@constructor()
def diff(n: int = 1, axis: int = -1) -> D:
    """The differences of neighbours along an axis, taken `n` times.

    Shapes: (..., m, ...) to (..., m - n, ...), or 0 where there are fewer. The dtype stays; for truth values it tells
    whether neighbours differ, as in NumPy. The Jacobian stores nothing. Raises `SpaceError` where the axis is missing,
    `ArgumentError` where n is no integer of at least 0, or the axis no integer.

    >>> import catad as ct, numpy as np
    >>> ct.diff()(np.array([1.0, 4.0, 9.0])), ct.diff(n=2)(np.array([1.0, 4.0, 9.0]))
    (array([3., 5.]), array([2.]))
    """
    return OneArray(diff, _diff, n=integer(n, "a number of differences", 0), axis=integer(axis, "an axis"))
