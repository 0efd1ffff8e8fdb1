"""`gather`, `scatter` and `scatter_add`: reading, overwriting and adding by index along axis 0.

`gather` raises on an index out of range; `scatter` and `scatter_add` drop it, negative ones too: they never wrap. The last
of several equal indices wins in `scatter`. Only the integer parts (which index is valid, which write wins) are primitives
here. `Gathered`, `ScatterAdded` and pointwise maps do the rest, and their rules are the Jacobians.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.boxes import AlongAxis, Primitive, box
from catad.category.constant import index_of
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.linear.families.contract import repeated
from catad.linear.families.gather import Gathered, ScatterAdded, rows_of
from catad.linear.families.reindex import Reshaped
from catad.support.help import documented
from catad.vector.deferred import Named, linear
from catad.vector.pointwise.map import map as mapped

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


def outside(index: Any, least: int, size: int) -> tuple[int, int]:
    """The least and the greatest of the indices that are not in `least <= index < size`, of which there are some."""
    bad = index[(index < least) | (index >= size)]
    return int(bad.min()), int(bad.max())


class Within(Primitive):
    """Base of checks: integers, passed on; raises where one is not in `least <= number < least + size`."""

    size: int
    least = 0
    arity = 1

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        (numbers,) = arrays
        if numbers.size:
            end = self.least + self.size
            if int(xp.min(numbers)) < self.least or int(xp.max(numbers)) >= end:
                raise self.error(*outside(numbers, self.least, end))
        return numbers

    def error(self, low: int, high: int) -> errors.CatadError:
        """What is raised for numbers out of range, of which these are the least and the greatest."""
        raise NotImplementedError

    def carried(self, size: int) -> Within:
        return self


@box
class InRange(Within):
    """An index array, passed on; raises where an index is not in `0 <= index < size`."""

    size: int

    def error(self, low: int, high: int) -> errors.CatadError:
        return errors.IndexRangeError(errors.index_out_of_range(low, high, self.size))


@box
class Ended(Within):
    """The trips of loops, at least 0, passed on; raises where one is above `most`. `where` is the place of the loop."""

    most: int
    where: str
    size = property(lambda self: self.most + 1)

    def error(self, low: int, high: int) -> errors.CatadError:
        return errors.ArgumentError(errors.while_without_end(self.most, self.where))


@box
class LastWriter(AlongAxis):
    """Indices (m,) to (size,): the last position that holds each index, -1 where none does. Axis `axis` counts positions."""

    size: int
    axis: int = 0
    arity = 1

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        shape = ins[0].shape
        return (Tensor((*shape[: self.axis], self.size, *shape[self.axis + 1 :]), np.int64),)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        return self.written(xp, arrays[0])[0]

    def written(self, xp: Any, index: Any) -> tuple[Any, int]:
        """The result, and how many positions hold an index in range."""
        index = xp.moveaxis(index, self.axis, -1)
        rows, count = index.shape[:-1], 0
        out = xp.full((math.prod(rows), self.size), -1, dtype=np.int64)
        for row, flat in zip(out, index.reshape(len(out), -1) if index.size else (), strict=False):
            (own,) = xp.nonzero((flat >= 0) & (flat < self.size))
            at, count = flat[own], count + len(own)
            if xp is not np:  # NumPy keeps the last of equal indices, other libraries any
                order = xp.argsort(at, kind="stable")
                at, own = at[order], own[order]
                last = xp.concatenate([at[1:] != at[:-1], xp.ones(min(len(at), 1), dtype=bool)])
                at, own = at[last], own[last]
            row[at] = own
        return xp.moveaxis(out.reshape(*rows, self.size), -1, self.axis), count


def tensors(b: Builder, x: Any, count: int, term: D) -> tuple[Wire, ...]:
    """The factors of an argument of so many arrays."""
    if not isinstance(x, tuple) or len(x) != count or any(isinstance(part, tuple) for part in x):
        raise errors.SpaceError(errors.not_a_product_of(count, b.space(x), term))
    return x


@linear
def _gather(b: Builder, x: Any, term: D) -> Wire:
    array, index = tensors(b, x, 2, term)
    index = index_of(index)
    if not array.ndim:
        raise errors.SpaceError(errors.bad_axis(0, array.space, term))
    (safe,) = b.add(InRange(array.shape[0]), index)
    return b.add(Gathered(rows_of(array.shape, index.shape)), safe, array)[0]


def _rows(b: Builder, x: Any, term: D) -> tuple[Wire, Wire, Wire]:
    """Destination, indices and values, checked to fit."""
    dst, index, values = tensors(b, x, 3, term)
    index = index_of(index)
    if not dst.ndim:
        raise errors.SpaceError(errors.bad_axis(0, dst.space, term))
    if values.shape[: index.ndim] != index.shape:
        raise errors.SpaceError(errors.wrong_index_shape(index.space, values.space, term))
    if values.shape[index.ndim :] != dst.shape[1:] or values.dtype != dst.dtype:
        raise errors.SpaceError(errors.unequal_rows(dst.space, values.space, term))
    return dst, index, values


@linear
def _scatter_add(b: Builder, x: Any, term: D) -> Wire:
    dst, index, values = _rows(b, x, term)
    return dst + b.add(ScatterAdded(rows_of(dst.shape, index.shape)), index, values)[0]


def _overwrite(writer: Any, new: Any, old: Any) -> Any:
    return new if writer >= 0 else old


@linear
def _scatter(b: Builder, x: Any, term: D) -> Wire:
    dst, index, values = _rows(b, x, term)
    if index.ndim != 1:  # one index, or an array of them: in C order, as a list
        (values,) = b.add(Reshaped((index.space.size, *values.shape[index.ndim :])), values)
        (index,) = b.add(Reshaped((index.space.size,)), index)
    (writer,) = b.add(LastWriter(dst.shape[0]), index)
    (new,) = b.add(Gathered(rows_of(values.shape, writer.shape)), writer, values)
    everywhere = repeated(b, writer, (0,), dst.shape)  # the writer of a row writes all of it
    written: Wire = b.apply(mapped(_overwrite), (everywhere, new, dst))
    return written


gather = documented(
    Named("gather", _gather),
    """`ct.gather(x, index)` reads the entries of x at an array of indices along axis 0.

Shapes: x (n, ...) and index (...) to index.shape + x.shape[1:]; one number as index gives one row.
Dtypes: any for x, which is that of the result; integers for the index.
Derivative: linear in x; its Jacobian is a gather, and the transpose a scatter-add. The index has none.
Errors: `IndexRangeError` for an index that is not in 0 .. n - 1 (a negative one never wraps around); `SpaceError` for an index
  that is no array of integers, an array without axes, or another number of arguments.

>>> import catad as ct, numpy as np
>>> ct.gather(np.array([1.0, 2.0, 3.0]), np.array([2, 0]))
array([3., 1.])
>>> ct.grad(ct.gather >> ct.sum())(np.array([1.0, 2.0, 3.0]), np.array([2, 2]))
(array([0., 0., 2.]), ())
""",
)

scatter = documented(
    Named("scatter", _scatter),
    """`ct.scatter(dst, index, values)` is dst with values written at an array of indices along axis 0; dst itself stays.

Of equal indices the last one wins. An index out of range is dropped; a negative one never wraps around.

Shapes: dst (n, ...), index (...) and values index.shape + dst.shape[1:], to the shape of dst.
Dtypes: dst and values have one dtype, which is that of the result; integers for the index.
Derivative: 1 by a value that stands in the result, 0 by one that was overwritten or dropped; so too for the entries of dst.
Errors: `SpaceError` for an index that is no array of integers, shapes or dtypes that do not fit, or another number of arguments.

>>> import catad as ct, numpy as np
>>> ct.scatter(np.zeros(3), np.array([2, 2, 5]), np.array([1.0, 2.0, 3.0]))
array([0., 0., 2.])
""",
)

scatter_add = documented(
    Named("scatter_add", _scatter_add),
    """`ct.scatter_add(dst, index, values)` is dst with values added at an array of indices along axis 0; dst itself stays.

Values with equal indices are all added. An index out of range is dropped; a negative one never wraps around.

Shapes: dst (n, ...), index (...) and values index.shape + dst.shape[1:], to the shape of dst.
Dtypes: dst and values have one dtype, which is that of the result; integers for the index.
Derivative: linear in dst and values: the identity by dst, a scatter-add by values, whose transpose is a gather.
Errors: `SpaceError` for an index that is no array of integers, shapes or dtypes that do not fit, or another number of arguments.

>>> import catad as ct, numpy as np
>>> ct.scatter_add(np.zeros(3), np.array([2, 2, 5]), np.array([1.0, 2.0, 3.0]))
array([0., 0., 3.])
""",
)
