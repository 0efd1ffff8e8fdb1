"""Reading and writing at positions: `np.take`, `np.put`, `np.take_along_axis`, `np.choose`, masks, and what their shapes need."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from catad import errors
from catad.traced.arrays.operators import common_dtype
from catad.traced.arrays.stand_in import Traced, computed, fresh, stand_in_of
from catad.traced.names.moving import along
from catad.traced.names.shapes import Flat, as_traced, sizes_of
from catad.traced.recorder import Trace
from catad.traced.table import meaning, method
from catad.vector.indexing.take import take as word


def _fitted(index: Any, n: int, mode: str) -> Any:
    """Positions by the mode for those out of range."""
    if mode == "wrap":
        return index % max(n, 1)
    if mode == "clip":
        return np.clip(index, 0, max(n - 1, 0))
    if mode != "raise":
        raise ValueError("clipmode must be one of 'clip', 'raise', or 'wrap'")
    return index


def _whole(index: Any) -> Any:
    if index.dtype.kind == "b":
        return index.astype(np.intp)
    if index.dtype.kind not in "iu":
        raise TypeError(f"Cannot cast array data from {index.dtype!r} to dtype('int64') according to the rule 'safe'")
    return index


@meaning(np.take)
@method("take")
def take(trace: Trace, a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    made = _taken(trace, a, indices, axis, mode)
    if out is None:
        return made
    if not np.can_cast(out.dtype, made.dtype, "safe"):  # NumPy computes in an array like out
        raise errors.SpaceError(errors.cannot_cast(out.dtype, made.dtype, "safe"))
    if out.shape != made.shape:
        raise ValueError("output array does not match result of ndarray.take")
    np.copyto(out, made, casting="unsafe")
    return out


def _taken(trace: Trace, a: Any, indices: Any, axis: Any, mode: str) -> Any:
    x = as_traced(trace, a)
    if not x.ndim:
        x, axis = np.ravel(x), axis or 0
    at = None if axis is None else normalize_axis_index(axis, x.ndim)
    index = _whole(_index(trace, indices))
    n = x.size if at is None else x.shape[at]
    if index.size and not n:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    known = index.constant
    if known is not None and mode == "raise" and known.size and not (-n <= known.min() and known.max() < n):
        raise IndexError("index out of bounds")
    term = word(None if at is None else axis.__index__())
    return fresh(trace, computed(trace.region, term, (x.var_, _fitted(index, n, mode).var_)))


def _index(trace: Trace, indices: Any) -> Any:
    empty = isinstance(indices, (list, tuple)) and not len(indices)
    return as_traced(trace, np.zeros(0, np.intp) if empty else indices)


def _mesh(x: Traced, index: Traced, axis: int) -> tuple[Any, ...]:
    """The key that reads along an axis by positions."""
    places = [np.arange(n).reshape([-1 if j == k else 1 for j in range(x.ndim)]) for k, n in enumerate(x.shape)]
    shapes = [index.shape, *[place.shape for k, place in enumerate(places) if k != axis]]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        several = " ".join([str(shape).replace(" ", "") for shape in shapes])
        raise IndexError(f"shape mismatch: indexing arrays could not be broadcast together with shapes {several}") from None
    return tuple([index if k == axis else place for k, place in enumerate(places)])


def _axis_for(x: Any, index: Any, axis: Any) -> tuple[Any, Any, int]:
    if index.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if axis is None:
        if index.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        return np.ravel(x), index, 0
    axis = normalize_axis_index(axis, x.ndim)
    if index.ndim != x.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    return x, index, axis


@meaning(np.take_along_axis)
def take_along_axis(trace: Trace, arr: Any, indices: Any, axis: Any = -1) -> Any:
    x, index, axis = _axis_for(as_traced(trace, arr), as_traced(trace, indices), axis)
    return x[_mesh(x, index, axis)]


@meaning(np.put_along_axis, shares=True)
def put_along_axis(trace: Trace, arr: Any, indices: Any, values: Any, axis: Any) -> None:
    target = writable(arr, "np.put_along_axis")
    x, index, axis = _axis_for(target if axis is not None else _line(target), as_traced(trace, indices), axis)
    x[_mesh(x, index, axis)] = values


def writable(x: Any, who: str) -> Any:
    if not isinstance(x, Traced):
        raise errors.TraceError(errors.write_to_captured(f"the array given to {who}"))
    return x


def _line(x: Traced) -> Any:
    """The entries in C order, through which the array is written."""
    return Flat(x).line()


@meaning(np.put, shares=True)
@method("put")
def put(trace: Trace, a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    line = _line(writable(a, "np.put"))
    index = np.ravel(_whole(_index(trace, ind)))
    values = np.ravel(as_traced(trace, v))
    if not index.size or not values.size:
        return
    line[_fitted(index, line.size, mode)] = np.resize(values, index.size).astype(line.dtype)


@meaning(np.putmask, shares=True)
def putmask(trace: Trace, a: Any, mask: Any, values: Any) -> None:
    target = writable(a, "np.putmask")
    test = as_traced(trace, mask)
    if test.size != target.size:
        raise ValueError("putmask: mask and data must be the same size")
    new = as_traced(trace, values)
    if not new.size:
        return
    if not np.can_cast(new.dtype, target.dtype, "safe" if new.var_.weak is None else "unsafe"):
        raise TypeError(f"Cannot cast array data from {new.dtype!r} to {target.dtype!r} according to the rule 'safe'")
    full = np.resize(new, target.size).reshape(target.shape).astype(target.dtype)
    target[...] = np.where(test.reshape(target.shape), full, target)


@meaning(np.place, shares=True)
def place(trace: Trace, arr: Any, mask: Any, vals: Any) -> None:
    target = writable(arr, "np.place")
    test, values = as_traced(trace, mask), np.ravel(as_traced(trace, vals))
    if values.size != 1 and test.constant is None:
        raise errors.TraceError(errors.shape_depends_on_data("np.place of several values under a mask that is data"))
    if test.constant is None:
        putmask(trace, target, mask, values.astype(target.dtype))
        return
    where = np.flatnonzero(test.constant)
    if len(where):
        _line(target)[where] = np.resize(values, len(where)).astype(target.dtype)


@meaning(np.fill_diagonal, shares=True)
def fill_diagonal(trace: Trace, a: Any, val: Any, wrap: bool = False) -> None:
    target = writable(a, "np.fill_diagonal")
    marks = np.zeros(target.shape, bool)
    np.fill_diagonal(marks, True, wrap)  # with NumPy's own errors
    key = np.nonzero(marks)
    target[key] = np.resize(np.ravel(as_traced(trace, val)), len(key[0])).astype(target.dtype)


def _places_where(condition: Any, who: str) -> Any:
    """The positions where a condition holds that depends on no data."""
    if isinstance(condition, Traced) and condition.constant is None:
        raise errors.TraceError(errors.shape_depends_on_data(f"{who} by a condition that is data"))
    return np.flatnonzero(getattr(condition, "constant", condition))


@meaning(np.compress)
@method("compress")
def _compress(trace: Trace, condition: Any, a: Any, axis: Any = None) -> Any:
    places = _places_where(condition, "np.compress")
    x = as_traced(trace, a)
    if axis is None:
        x, axis = np.ravel(x), 0
    return along(x, normalize_axis_index(axis, x.ndim), places)


method("compress")(lambda trace, x, condition, axis=None: _compress(trace, condition, x, axis))


@meaning(np.extract)
def extract(trace: Trace, condition: Any, arr: Any) -> Any:
    return np.ravel(as_traced(trace, arr))[_places_where(condition, "np.extract")]


@meaning(np.choose)
def choose(trace: Trace, a: Any, choices: Any, *, mode: str = "raise") -> Any:
    index = _whole(as_traced(trace, a))
    kind = common_dtype(trace, *[as_traced(trace, one) if isinstance(one, (list, tuple)) else one for one in choices])
    sides = [as_traced(trace, one).astype(kind) for one in choices]
    shape = np.broadcast_shapes(index.shape, *[one.shape for one in sides])
    every = np.stack([np.broadcast_to(one, shape) for one in sides])
    index = _fitted(index, len(sides), mode)
    if mode == "raise":
        index = np.where(index < 0, len(sides), index)  # negative ones are out of range, too
    return take_along_axis(trace, every, np.broadcast_to(index, (1, *shape)), 0)[0].copy()


method("choose")(choose)


def _by_data(name: str, function: Any, *methods: str) -> None:
    """Functions whose results have a shape that depends on data."""

    def made(trace: Trace, *args: Any, **options: Any) -> Any:
        raise errors.TraceError(errors.shape_depends_on_data(name))

    meaning(function)(made)
    method(*methods)(made)


_by_data("np.nonzero, which gives the positions", np.nonzero, "nonzero")
_by_data("np.flatnonzero, which gives the positions", np.flatnonzero)
_by_data("np.argwhere, which gives the positions", np.argwhere)
for _name in (
    "unique", "unique_all", "unique_counts", "unique_inverse", "unique_values", "union1d", "intersect1d", "setdiff1d",
    "setxor1d", "trim_zeros",
):  # fmt: skip
    _by_data(f"np.{_name}", getattr(np, _name))


@meaning(np.isin)
def isin(
    trace: Trace, element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Any:
    x, among = as_traced(trace, element), np.ravel(as_traced(trace, test_elements))
    found = np.any(x[..., None] == among, axis=-1)
    return ~found if invert else found


@meaning(np.ravel_multi_index)
def ravel_multi_index(trace: Trace, multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    sizes = [n.__index__() for n in dims]
    modes = (mode,) * len(sizes) if isinstance(mode, str) else tuple(mode)
    strides = [math.prod(sizes[k + 1 :]) if order == "C" else math.prod(sizes[:k]) for k in range(len(sizes))]
    made: Any = 0
    for index, n, stride, how in zip(multi_index, sizes, strides, modes, strict=True):
        one = _fitted(as_traced(trace, index), n, how)
        if how == "raise":
            one = as_traced(trace, np.arange(n))[np.where(one < 0, n, one)]  # out of range is an error
        made = made + one * stride
    return made


def _places(function: Any) -> None:
    """Index arrays that depend on the shape alone."""

    def made(trace: Trace, arr: Any, *args: Any, **kwargs: Any) -> Any:
        return tuple([stand_in_of(trace, one) for one in function(np.broadcast_to(0.0, np.shape(arr)), *args, **kwargs)])

    meaning(function)(made)


for _function in (np.diag_indices_from, np.tril_indices_from, np.triu_indices_from):
    _places(_function)


@meaning(np.unravel_index)
def unravel_index(trace: Trace, indices: Any, shape: Any, order: str = "C") -> Any:
    index = _whole(as_traced(trace, indices))
    sizes = sizes_of(shape)
    total = math.prod(sizes)
    index = as_traced(trace, np.arange(total))[np.where(index < 0, total, index)]  # out of range is an error
    strides = [math.prod(sizes[k + 1 :]) if order == "C" else math.prod(sizes[:k]) for k in range(len(sizes))]
    return tuple([(index // stride) % n for n, stride in zip(sizes, strides, strict=True)])
