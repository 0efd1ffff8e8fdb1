"""The extents of slices: bounds as Python means them, masks, and moves from one extent to another of equal length."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from catad.traced.arrays.affine import Affine, form_of, least, most, note_bounds
from catad.traced.arrays.operators import pointwise
from catad.traced.arrays.ragged import Extent, Ragged
from catad.traced.arrays.stand_in import Traced, computed, constant, fresh
from catad.traced.recorder import Trace
from catad.vector.indexing.keys import arg
from catad.vector.indexing.subscript import index
from catad.vector.pointwise.logic import where


def whole(n: int) -> Extent:
    """All of an axis."""
    return Extent(Affine(0), 1, Affine(n))


def value_of(trace: Trace, form: Affine) -> Any:
    """A normal form as a number of Python, or as a stand-in for one."""
    made: Any = None
    for key in sorted(form.terms, key=lambda key: key[1]):
        var, factor = form.vars[key], form.terms[key]
        part: Any = fresh(trace, var)
        part = part if var.space.dtype == np.int64 else part.astype(np.int64)
        if abs(factor) != 1:
            part = part * abs(factor)
        signed = part if factor > 0 else -part
        made = signed if made is None else made + part if factor > 0 else made - part
    if made is None:
        return form.constant
    return made if not form.constant else made + form.constant if form.constant > 0 else made - -form.constant


def is_traced(bound: Any) -> bool:
    """True for a bound of a slice that is no number yet."""
    return isinstance(bound, Traced) and not bound.ndim and bound.dtype.kind in "iu" and bound.constant is None


def extent_of(trace: Trace, part: slice, within: Extent) -> Extent:
    """The extent of a slice of a slice."""
    step = 1 if part.step is None else part.step.__index__()
    if step == 0:
        raise ValueError("slice step cannot be zero")
    n, low = within.length, 0 if step > 0 else -1
    ends = []
    for end, default in ((part.start, Affine(0) if step > 0 else n - 1), (part.stop, n if step > 0 else Affine(-1))):
        ends.append(default if end is None else _clamped(trace, _form(end), n, low))
    start, stop = ends
    length = _length(trace, stop - start if step > 0 else start - stop, abs(step))
    return Extent(within.start + start * within.step, within.step * step, length)


def _form(end: Any) -> Affine:
    return form_of(end.var_) if is_traced(end) else form_of(end.__index__())


def _clamped(trace: Trace, bound: Affine, n: Affine, low: int) -> Affine:
    """A bound counted from the front, between `low` and `n + low`, as Python takes it; a form that tells this if it can."""
    high = n + low
    behind = bound + n
    if least(bound) >= 0:
        if most(bound - high) <= 0:
            return bound
        if least(bound - high) >= 0:
            return high
        return _between(trace, np.minimum, bound, high, low, high)
    if most(bound) < 0:
        if least(behind - low) >= 0:
            return behind
        if most(behind - low) <= 0:
            return Affine(low)
        return _between(trace, np.maximum, behind, Affine(low), low, high)
    number, size = value_of(trace, bound), value_of(trace, n)
    front = pointwise(trace, np.minimum, number, size + low)
    back = pointwise(trace, np.maximum, number + size, low)
    test = pointwise(trace, np.less, number, 0)
    made = fresh(trace, computed(trace.region, where, (test.var_, back.var_, front.var_)))
    return _noted(made, Affine(low), high)


def _between(trace: Trace, ufunc: np.ufunc, a: Affine, b: Affine, low: int, high: Affine) -> Affine:
    made = pointwise(trace, ufunc, value_of(trace, a), value_of(trace, b))
    return _noted(made, Affine(low), high)


def _noted(made: Traced, low: Affine, high: Affine) -> Affine:
    var = made.var_
    note_bounds(var, low, high)
    return form_of(var)


def _length(trace: Trace, distance: Affine, step: int) -> Affine:
    """The number of steps in a distance."""
    if distance.number is not None:
        return Affine(max(0, -(-distance.number // step)))
    if most(distance) <= 0:
        return Affine(0)
    if step == 1 and least(distance) >= 0:
        return distance
    made = value_of(trace, distance)
    if step > 1:
        made = (made + (step - 1)) // step
    made, high = pointwise(trace, np.maximum, made, 0), most(distance)
    return form_of(made.var_) if high == math.inf else _noted(made, Affine(0), Affine(-(-int(high) // step)))


def inside(trace: Trace, extent: Extent, size: int, after: int) -> Traced | None:
    """Where the positions of an axis are in an extent, with some axes of size 1 after it; None where all are."""
    places = constant(trace, np.arange(size).reshape((size, *[1] * after)))
    if abs(extent.step) > 1:
        distance = places - value_of(trace, extent.start)
        k = distance // extent.step
        tests = [k >= 0, pointwise(trace, np.less, k, value_of(trace, extent.length)), k * extent.step == distance]
    else:
        low, high = extent.low, extent.high
        tests = []
        if most(low) > 0:
            tests.append(pointwise(trace, np.greater_equal, places, value_of(trace, low)))
        if least(high) < size:
            tests.append(pointwise(trace, np.less, places, value_of(trace, high)))
    made = None
    for test in tests:
        made = test if made is None else pointwise(trace, np.logical_and, made, test)
    return made


def mask_of(trace: Trace, axes: Mapping[int, Extent], shape: Sequence[int]) -> Traced | None:
    """Where the entries of an array are in all extents, in a shape that broadcasts to it; None where all are."""
    made = None
    for axis, extent in sorted(axes.items()):
        test = inside(trace, extent, shape[axis], len(shape) - 1 - axis)
        if test is not None:
            made = test if made is None else pointwise(trace, np.logical_and, made, test)
    return made


def along(axis: int, part: Any) -> tuple[Any, ...]:
    """The key that takes a part of one axis."""
    return (*[slice(None)] * axis, part)


def moved(trace: Trace, x: Traced, axis: int, at: Extent, to: Extent, size: int) -> Traced:
    """An array whose entries in one extent of an axis stand in another one, of equal length, of an axis of some size."""
    own = x.shape[axis]
    if at.step == to.step and at.start == to.start and size <= own:
        return x if size == own else x[along(axis, slice(size))]
    places = constant(trace, np.arange(size))
    if abs(to.step) == 1:
        factor = at.step * to.step
        source = places * factor + value_of(trace, at.start - to.start * factor)
    else:
        source = (places - value_of(trace, to.start)) // to.step * at.step + value_of(trace, at.start)
    source = pointwise(trace, np.minimum, pointwise(trace, np.maximum, source, 0), own - 1)
    return fresh(trace, computed(trace.region, index[along(axis, arg)], (x.var_, source.var_)))


def common(wanted: Sequence[tuple[Extent, int]]) -> tuple[Extent, int] | None:
    """Of extents on axes of some sizes the one to which the others are moved, and its size; None where lengths may differ.

    The most frequent one stays where it is, and of these one that goes upwards.
    """
    first = wanted[0][0]
    if any(extent.length != first.length for extent, _ in wanted):
        return None
    votes = [sum(_alike(extent, other) for other, _ in wanted) for extent, _ in wanted]
    k = max(range(len(wanted)), key=lambda k: (votes[k], wanted[k][0].step == 1, -k))
    chosen = wanted[k][0]
    return chosen, min(size for extent, size in wanted if _alike(extent, chosen))


def _alike(a: Extent, b: Extent) -> bool:
    return a.step == b.step and a.start == b.start


def _ragged_length(self: Ragged, axis: int) -> Any:
    return value_of(self.trace_, self.axes[axis].length)


setattr(Ragged, "length_", _ragged_length)  # noqa: B010
