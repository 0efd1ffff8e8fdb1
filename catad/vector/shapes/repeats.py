"""`tile` and `repeat`: copies of the entries of one array, with NumPy's names and meanings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.constant import const
from catad.category.constructors import constructor, integer, integers
from catad.category.terms import D
from catad.linear.families.contract import contract
from catad.linear.families.gather import Gathered, rows_of
from catad.linear.families.reindex import reshaped
from catad.vector.shapes.shape import OneArray, axes_of

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


def _tile(b: Builder, x: Wire, term: Any) -> Wire:
    given = term.parameters["reps"]
    reps = (given,) if isinstance(given, int) else given
    rank = max(x.ndim, len(reps))
    shape = (*[1] * (rank - x.ndim), *x.shape)
    reps = (*[1] * (rank - len(reps)), *reps)
    copied = [k for k, times in enumerate(reps) if times != 1]
    x = reshaped(b, x, shape)
    sizes = [*shape, *[reps[k] for k in copied]]
    before = {k: rank + i for i, k in enumerate(copied)}  # the label of the copies stands before that of the axis
    labels = [label for k in range(rank) for label in ([before[k], k] if k in before else [k])]
    wide = contract(b, [tuple(range(rank))], [x], tuple(labels), sizes)
    return reshaped(b, wide, [n * times for n, times in zip(shape, reps, strict=True)])


@constructor()
def tile(reps: int | Sequence[int]) -> D:
    """Copies of an array side by side, `reps` along each axis; fewer numbers are for the last axes, more add axes in front.

    Shapes: sizes times numbers of copies; the dtype stays. The transpose adds the copies up. Raises `ArgumentError` for
    numbers that are no integers of at least 0.

    >>> import catad as ct, numpy as np
    >>> ct.tile((2, 1))(np.array([1.0, 2.0]))
    array([[1., 2.],
           [1., 2.]])
    """
    several = isinstance(reps, Sequence)
    given = tuple([integer(n, "a number of copies", 0) for n in (reps if several else (reps,))])  # type: ignore[union-attr]
    return OneArray(tile, _tile, reps=given if several else given[0])


def _repeat(b: Builder, x: Wire, term: Any) -> Wire:
    repeats, axis = term.parameters["repeats"], term.parameters["axis"]
    if axis is None:
        x, at = reshaped(b, x, (x.space.size,)), 0
    else:
        (at,) = axes_of(axis, x, term)
    n = x.shape[at]
    if isinstance(repeats, int) or len(repeats) == 1:
        times = repeats if isinstance(repeats, int) else repeats[0]
        labels = tuple(range(x.ndim))
        wide = contract(b, [labels], [x], (*labels[: at + 1], x.ndim, *labels[at + 1 :]), (*x.shape, times))
        return reshaped(b, wide, (*x.shape[:at], n * times, *x.shape[at + 1 :]))
    if len(repeats) != n:
        raise errors.SpaceError(errors.wrong_repeats(len(repeats), n, x.space, term))
    index = b.apply(const(np.repeat(np.arange(n), repeats)), ())
    return b.add(Gathered(rows_of(x.shape, index.shape, at)), index, x)[0]


@constructor()
def repeat(repeats: int | Sequence[int], axis: int | None = None) -> D:
    """Each entry along an axis several times; None: of the flattened array.

    `repeats` is one number, or one for each entry. Shapes: (..., n, ...) to (..., the sum of the numbers, ...); the dtype
    stays. The transpose adds the copies up. Raises `SpaceError` where there is not a number for each entry or the axis is
    missing, `ArgumentError` for numbers that are no integers of at least 0, and an axis that is no integer.

    >>> import catad as ct, numpy as np
    >>> ct.repeat(2)(np.array([1.0, 2.0])), ct.repeat((2, 0, 1))(np.array([1.0, 2.0, 3.0]))
    (array([1., 1., 2., 2.]), array([1., 1., 3.]))
    """
    counts = integers(repeats, "a number of repeats")
    for count in counts:
        integer(count, "a number of repeats", 0)
    axis = None if axis is None else integer(axis, "an axis")
    return OneArray(repeat, _repeat, repeats=counts if isinstance(repeats, Sequence) else counts[0], axis=axis)
