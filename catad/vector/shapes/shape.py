"""Shape operations, with NumPy's names and meanings. All are linear, so each is its own derivative."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.boxes import AlongAxis, box
from catad.category.constructors import axes as axes_
from catad.category.constructors import constructor, integer, integers
from catad.category.spaces import Tensor, flatten
from catad.category.terms import D
from catad.linear.families.block import chain, grid
from catad.linear.families.contract import contract
from catad.linear.families.delta import delta
from catad.linear.families.gather import spread_over
from catad.linear.families.reindex import Axis, Reindex, along, axis, moved, moved_along, reshaped, whole
from catad.linear.structure import Rule, Structure, cast
from catad.values.arrays import holds
from catad.vector.deferred import Lay, Shaped, linear
from catad.vector.folds.merge_axes import unit_axes

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires


class OneArray(Shaped):
    """A shape operation, whose argument is one array."""

    __slots__ = ()
    drawn_as = "linear"

    def lay_out(self, b: Builder, x: Wires) -> Any:
        if isinstance(x, tuple):
            raise errors.SpaceError(errors.not_a_tensor(b.space(x), self))
        return super().lay_out(b, x)


def axes_of(given: int | Sequence[int] | None, x: Wire, term: D) -> tuple[int, ...]:
    """Axes counted from the front; each must be there, once."""
    if given is None:
        return tuple(range(x.ndim))
    named = (given,) if isinstance(given, int) else tuple(given)
    axes = tuple([a + x.ndim if a < 0 else a for a in named])
    if any(not 0 <= a < x.ndim for a in axes) or len(set(axes)) != len(axes):
        raise errors.SpaceError(errors.bad_axis(given, x.space, term))
    return axes


def reduction(lay: Callable[[Builder, Wire, tuple[int, ...], Any], Wire]) -> Lay:
    """A reduction over the axes of a term, from one that is given these axes; they stay with size 1 if the term keeps them."""

    def laid(b: Builder, x: Wire, term: Any) -> Wire:
        axes = axes_of(term.parameters["axis"], x, term)
        y = lay(b, x, axes, term)
        return unit_axes(b, y, x.shape, axes) if term.parameters["keepdims"] else y

    return laid


def summed(b: Builder, x: Wire, axes: Sequence[int]) -> Wire:
    """The sum over some axes."""
    labels = tuple(range(x.ndim))
    return contract(b, [labels], [x], tuple([k for k in labels if k not in axes]), x.shape)


def summed_as(x: Wire) -> Wire:
    """Truth values and integers of fewer than 64 bits as integers of 64 bits, as NumPy adds and multiplies them."""
    if x.space.is_float or x.dtype.itemsize == 8:
        return x
    return cast(x, np.dtype(np.uint64 if x.dtype.kind == "u" else np.int64))


@constructor()
def reshape(shape: int | Sequence[int]) -> D:
    """The same entries in C order in another shape; one size may be -1.

    Shapes: any to `shape`, of as many entries; the dtype stays. The transpose is the reshape back. Raises
    `SpaceError` where the number of entries differs, `ArgumentError` for sizes that are no such integers.

    >>> import catad as ct, numpy as np
    >>> ct.reshape((2, -1))(np.arange(6.0))
    array([[0., 1., 2.],
           [3., 4., 5.]])
    """
    shape = integers(shape, "a size")
    if builtins.sum(n == -1 for n in shape) > 1 or any(n < -1 for n in shape):
        raise errors.ArgumentError(errors.bad_shape(shape))

    def lay(b: Builder, x: Wire, term: D) -> Wire:
        known = math.prod(n for n in shape if n >= 0)
        full = tuple([(x.space.size // known if known else 0) if n == -1 else n for n in shape])
        if math.prod(full) != x.space.size:
            raise errors.SpaceError(errors.cannot_reshape(x.space, shape, term))
        return reshaped(b, x, full)

    return OneArray(reshape, lay, shape=shape)


@constructor()
def transpose(axes: Sequence[int] | None = None) -> D:
    """Permute the axes; None reverses them.

    Shapes: sizes move with their axes; the dtype stays. The transpose is the inverse permutation. Raises `SpaceError`
    where `axes` are not a permutation of the array's, `ArgumentError` for axes that are no integers.

    >>> import catad as ct, numpy as np
    >>> ct.transpose()(np.zeros((2, 3))).shape
    (3, 2)
    """
    axes = None if axes is None else integers(axes, "an axis")

    def lay(b: Builder, x: Wire, term: D) -> Wire:
        order = tuple(range(x.ndim))[::-1] if axes is None else axes_of(axes, x, term)
        if len(order) != x.ndim:
            raise errors.SpaceError(errors.bad_axis(axes, x.space, term))
        return contract(b, [tuple(range(x.ndim))], [x], order, x.shape)

    return OneArray(transpose, lay, axes=axes)


@constructor()
def sum(axis: int | Sequence[int] | None = None, keepdims: bool = False) -> D:
    """The sum over some axes (None: all axes); an empty sum is 0.

    Floats keep their dtype. As in NumPy, truth values and integers of fewer than 64 bits are summed as int64, or as uint64.
    The result does not have the axes of the sum, or has them with size 1 if `keepdims` is true. The transpose stretches.
    Raises `SpaceError` for an axis that is missing, `ArgumentError` for one that is no integer.

    >>> import catad as ct, numpy as np
    >>> ct.sum(axis=0)(np.ones((2, 3)))
    array([2., 2., 2.])
    >>> ct.sum()(np.array([True, True, False]))
    np.int64(2)
    """
    return OneArray(sum, _sum, axis=axes_(axis), keepdims=keepdims)


_sum = reduction(lambda b, x, axes, term: summed(b, summed_as(x), axes))
_sum_of_elements = reduction(lambda b, x, axes, term: summed(b, x, axes))


def sum_of_elements(axis: int | tuple[int, ...] | None, keepdims: bool = False) -> D:
    """The fold of `+` along some axes: as every operator of a fold it gives an element, so the dtype stays."""
    return SumOfElements(sum_of_elements, _sum_of_elements, axis=axis, keepdims=keepdims)


class SumOfElements(OneArray):
    """See `sum_of_elements`."""

    __slots__ = ()

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        axis, keepdims = self.parameters["axis"], self.parameters["keepdims"]
        options = (f", axis={axis!r}" if axis != 0 else "") + (", keepdims=True" if keepdims else "")
        return f"ct.fold(ct.add, 0.0{options})"


@constructor()
def broadcast_to(shape: int | Sequence[int]) -> D:
    """Stretch to a shape by NumPy's rules.

    Shapes: an array or number to `shape`; the dtype stays. Its transpose sums over what was stretched. Raises `SpaceError`
    where the array does not stretch to it, `ArgumentError` for sizes that are no integers.

    >>> import catad as ct
    >>> ct.broadcast_to((2,))(3.0)
    array([3., 3.])
    """
    shape = integers(shape, "a size")
    if any(n < 0 for n in shape):
        raise errors.ArgumentError(errors.bad_shape(shape))

    def lay(b: Builder, x: Wire, term: D) -> Wire:
        skip = len(shape) - x.ndim
        if skip < 0 or any(n not in (1, m) for n, m in zip(x.shape, shape[skip:], strict=True)):
            raise errors.SpaceError(errors.cannot_broadcast_to(x.space, shape, term))
        sizes = list(shape)
        labels = []
        for a, n in enumerate(x.shape):
            label = skip + a
            if n != shape[label]:
                sizes.append(n)
                label = len(sizes) - 1
            labels.append(label)
        return contract(b, [tuple(labels)], [x], tuple(range(len(shape))), sizes)

    return OneArray(broadcast_to, lay, shape=shape)


@constructor()
def replicate(n: int) -> D:
    """n copies along a new leading axis.

    Shapes: (...) to (n, ...); the dtype stays. The transpose sums over the copies. Raises `ArgumentError` where n is no
    integer of at least 0.

    >>> import catad as ct
    >>> ct.replicate(3)(2.0)
    array([2., 2., 2.])
    """
    n = integer(n, "a number of copies", 0)
    return OneArray(replicate, lambda b, x, term: spread_over(b, x, n), n=n)


@constructor()
def flip(axis: int | Sequence[int] | None = None) -> D:
    """Reverse the order along some axes (None: all).

    The shape and the dtype stay; it is its own transpose. Raises `SpaceError` for an axis that is missing, `ArgumentError`
    for one that is no integer.

    >>> import catad as ct, numpy as np
    >>> ct.flip()(np.array([1.0, 2.0]))
    array([2., 1.])
    """
    axis = axes_(axis)

    def lay(b: Builder, x: Wire, term: D) -> Wire:
        reversed_ = axes_of(axis, x, term)
        return moved(b, x, [flipped(n) if a in reversed_ else whole(n) for a, n in enumerate(x.shape)])

    return OneArray(flip, lay, axis=axis)


def flipped(n: int) -> Axis:
    """The move of an axis that reverses it."""
    return axis_(n, n, n - 1, -1, 0, 1, n)


axis_ = axis  # `axis` is also the name of a parameter here


@constructor()
def slice(start: int | None = None, stop: int | None = None, step: int | None = None, axis: int = 0) -> D:
    """The slice `start:stop:step` along one axis, with Python's meaning of negative and missing bounds.

    Shapes: (..., n, ...) to (..., m, ...), where m positions are in the slice; the dtype stays. The transpose puts zeros
    beside. Raises `SpaceError` where the axis is missing, `ArgumentError` for a step of 0, and for bounds, steps and axes
    that are no integers.

    >>> import catad as ct, numpy as np
    >>> ct.slice(1, None, 2)(np.arange(6.0))
    array([1., 3., 5.])
    """
    start, stop, step = (None if k is None else integer(k, "a bound or step of a slice") for k in (start, stop, step))
    axis = integer(axis, "an axis")
    if step == 0:
        raise errors.ArgumentError(errors.zero_step())

    def lay(b: Builder, x: Wire, term: D) -> Wire:
        (at,) = axes_of(axis, x, term)
        n = x.shape[at]
        first, last, stride = builtins.slice(start, stop, step).indices(n)
        m = len(range(first, last, stride))
        return moved_along(b, x, at, axis_(n, m, first, stride, 0, 1, m))

    return OneArray(slice, lay, start=start, stop=stop, step=step, axis=axis)


@constructor()
def pad(before: int, after: int, value: float = 0.0, axis: int = 0) -> D:
    """Put copies of `value` before and after an array along one axis.

    A negative width removes entries. The dtype stays, so it must hold the value.

    Shapes: (..., n, ...) to (..., before + n + after, ...). The transpose removes entries. Raises `NumberRangeError` where
    the dtype does not hold the value, `SpaceError` where the axis is missing or has fewer entries than are removed,
    `ArgumentError` for widths and axes that are no integers.

    >>> import catad as ct, numpy as np
    >>> ct.pad(1, 2)(np.ones(2))
    array([0., 1., 1., 0., 0.])
    """
    before, after, axis = integer(before, "a width"), integer(after, "a width"), integer(axis, "an axis")
    if not isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating)):
        raise errors.ArgumentError(errors.bad_fill(value))

    def lay(b: Builder, x: Wire, term: D) -> Wire:
        (at,) = axes_of(axis, x, term)
        if not holds(x.dtype, value):
            raise errors.NumberRangeError(errors.fill_does_not_fit(value, x.space, term))
        n = x.shape[at]
        if n + before + after < 0:
            raise errors.SpaceError(errors.negative_pad(before, after, x.space, term))
        cut, end = max(0, -before), n - max(0, -after)
        ax = axis_(n, n + before + after, cut, 1, max(0, before), 1, max(0, end - cut))
        return moved_along(b, x, at, ax, value)

    return OneArray(pad, lay, before=before, after=after, value=value, axis=axis)


def _are_joined(spaces: Sequence[Tensor], at: int) -> bool:
    """Whether arrays have all sizes in common but that along an axis."""
    first, *rest = [(space.ndim, space.shape[:at], space.shape[at + 1 :]) for space in spaces]
    return at < first[0] and all(one == first for one in rest)


@box
class Concatenate(AlongAxis):
    """Several arrays after each other along one axis. Jacobian: a row of pads, which tile the result."""

    drawn_as = "linear"
    axis: int
    count: int

    @property
    def arity(self) -> int:
        return self.count

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        at, first = self.axis, ins[0]
        if not _are_joined(ins, at):
            raise errors.SpaceError(errors.cannot_concatenate(ins, at, self))
        length = math.fsum(space.shape[at] for space in ins)
        dtype = np.result_type(*[space.dtype for space in ins])
        return (Tensor((*first.shape[:at], int(length), *first.shape[at + 1 :]), dtype),)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        return xp.concatenate(arrays, axis=self.axis)

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        at, total, start = self.axis, outs[0].shape[self.axis], 0
        parts, dom = [], []
        for space in ins:
            n = space.shape[at]
            if space.is_float:
                parts.append(Reindex(along(space.shape, at, axis(n, total, 0, 1, start, 1, n)), outs[0].dtype))
                dom.append(space)
            start += n
        return Rule(_converted(parts, dom, outs))


def _converted(parts: Sequence[Reindex], dom: Sequence[Tensor], cod: Sequence[Tensor]) -> Any:
    """A row of moves, each after a change of dtype where the argument is narrower than the result."""
    row: list[Structure] = []
    for part, space in zip(parts, dom, strict=True):
        if space.dtype == part.dtype:
            row.append(part)
        else:
            axes = tuple(range(space.ndim))
            row.append(chain([(delta(axes, axes, None, space.shape, space.dtype, part.dtype), ()), (part, ())]))
    return grid([row], dom, cod)


def _joined(new: bool) -> Lay:
    """`concatenate` of all leaves of a product, and `stack`, along a new axis."""

    @linear
    def lay(b: Builder, x: Wires, term: Any) -> Wire:
        leaves, axis = flatten(x), term.parameters["axis"]
        if not leaves:
            raise errors.SpaceError(errors.nothing_to_join(term))
        ndim = leaves[0].ndim + new
        at = axis + ndim if axis < 0 else axis
        if not 0 <= at < ndim:
            raise errors.SpaceError(errors.bad_axis(axis, leaves[0].space, term))
        given = tuple([w.space for w in leaves])
        if new:
            leaves = [reshaped(b, w, (*w.shape[:at], 1, *w.shape[at:])) for w in leaves]
        if not _are_joined([w.space for w in leaves], at):
            raise errors.SpaceError(errors.cannot_concatenate(given, at, term))
        return b.add(Concatenate(at, len(leaves)), *leaves)[0]

    return lay


@constructor()
def concatenate(axis: int = 0) -> D:
    """The leaves of a product, joined end to end along an axis.

    Shapes: any number of arrays whose sizes agree but along `axis`, where they are added. Dtype: the common one by NEP 50.
    Its transpose cuts. Raises `SpaceError` where other sizes differ or the axis is missing, `ArgumentError` for an axis that
    is no integer.

    >>> import catad as ct, numpy as np
    >>> ct.concatenate()(np.zeros(1), np.ones(2))
    array([0., 1., 1.])
    """
    return Shaped(concatenate, _joined(False), axis=integer(axis, "an axis"))


@constructor()
def stack(axis: int = 0) -> D:
    """The leaves of a product, all of one shape, along a new axis.

    Shapes: k arrays (...) to (..., k, ...), k at `axis`. Dtype: the common one by NEP 50. Its transpose takes the slices
    apart. Raises `SpaceError` where shapes differ or the axis is out of range, `ArgumentError` for an axis that is no integer.

    >>> import catad as ct
    >>> ct.stack()(1.0, 2.0)
    array([1., 2.])
    """
    return Shaped(stack, _joined(True), axis=integer(axis, "an axis"))
