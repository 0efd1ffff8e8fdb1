"""`take`: NumPy's reading by an index array along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catad.category.constant import index_of
from catad.category.constructors import constructor, integer
from catad.category.terms import D
from catad.linear.families.gather import Gathered, rows_of
from catad.linear.families.reindex import reshaped
from catad.vector.deferred import Shaped
from catad.vector.indexing.flat_index import FlatIndex
from catad.vector.indexing.gather import tensors
from catad.vector.indexing.keys import Along
from catad.vector.shapes.shape import axes_of

if TYPE_CHECKING:
    from catad.category.wiring import Builder


def _take(b: Builder, x: Any, term: Any) -> Any:
    array, index = tensors(b, x, 2, term)
    index = index_of(index)
    axis = term.parameters["axis"]
    if axis is None:
        array, at = reshaped(b, array, (array.space.size,)), 0
    else:
        (at,) = axes_of(axis, array, term)
    (safe,) = b.add(FlatIndex((Along(array.shape[at], kind="argument"),)), index)
    return b.add(Gathered(rows_of(array.shape, index.shape, at)), safe, array)[0]


@constructor()
def take(axis: int | None = None) -> D:
    """Maps `(x, i)` to the entries of x at an array of indices along an axis, as `numpy.take`; None: of the flattened array.

    Negative indices count from the end. Shapes: (..., n, ...) and i of any shape to (..., *i.shape, ...); the dtype of x
    stays, i has integers. Linear in x: its Jacobian is a gather, and the transpose a scatter-add. Raises `IndexRangeError`
    for an index that is not in -n .. n - 1, `SpaceError` for indices that are no integers, an axis that is missing and
    another number of arguments, `ArgumentError` for an axis that is no integer.

    >>> import catad as ct, numpy as np
    >>> ct.take(axis=1)(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([-1, 0, 0]))
    array([[2., 1., 1.],
           [4., 3., 3.]])
    """
    return Shaped(take, _take, axis=None if axis is None else integer(axis, "an axis"))
