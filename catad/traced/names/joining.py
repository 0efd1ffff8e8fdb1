"""Joining and splitting arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from catad import errors
from catad.traced.arrays.operators import cast
from catad.traced.arrays.stand_in import Traced, computed, fresh
from catad.traced.control.loop_outputs import pieces
from catad.traced.names.shapes import as_traced
from catad.traced.recorder import Trace
from catad.traced.table import meaning, scattered
from catad.vector.shapes.shape import concatenate, stack


def _joined(
    trace: Trace, arrays: Sequence[Any], axis: int | None, new: bool, dtype: Any = None, casting: Any = "same_kind"
) -> Traced:
    known = pieces(trace, arrays) if new and axis == 0 else None
    if known is not None:
        arrays, new = known, False
    parts = [as_traced(trace, a) for a in arrays]
    if not parts:
        raise ValueError("need at least one array to concatenate")
    if axis is None:
        parts, axis = [np.ravel(part) for part in parts], 0
    shapes = [part.shape for part in parts]
    shadow = (np.stack if new else np.concatenate)([np.broadcast_to(False, shape) for shape in shapes], axis)
    at = axis + shadow.ndim if axis < 0 else axis
    common = np.result_type(*[part.dtype for part in parts]) if dtype is None else np.dtype(dtype)
    for part in parts:
        if not np.can_cast(part.dtype, common, casting):
            raise errors.SpaceError(errors.cannot_cast(part.dtype, common, casting))
    vars_ = tuple([cast(trace, part.var_, common) for part in parts])
    if len(vars_) == 1 and not new:
        return fresh(trace, vars_[0])
    return fresh(trace, computed(trace.region, (stack if new else concatenate)(at), vars_))


@meaning(np.concatenate, np.concat)
def concatenate_(
    trace: Trace, arrays: Any, axis: int | None = 0, *, dtype: Any = None, casting: str = "same_kind"
) -> Traced:
    return _joined(trace, list(arrays), axis, False, dtype, casting)


@meaning(np.stack)
def stack_(trace: Trace, arrays: Any, axis: int = 0, *, dtype: Any = None, casting: str = "same_kind") -> Traced:
    return _joined(trace, list(arrays), axis, True, dtype, casting)


@meaning(np.vstack)
def vstack(trace: Trace, tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Traced:
    return _joined(trace, [np.atleast_2d(as_traced(trace, a)) for a in tup], 0, False, dtype, casting)


@meaning(np.hstack)
def hstack(trace: Trace, tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Traced:
    parts = [np.atleast_1d(as_traced(trace, a)) for a in tup]
    return _joined(trace, parts, 0 if parts[0].ndim == 1 else 1, False, dtype, casting)


@meaning(np.dstack)
def dstack(trace: Trace, tup: Any) -> Traced:
    return _joined(trace, [np.atleast_3d(as_traced(trace, a)) for a in tup], 2, False)


@meaning(np.column_stack)
def column_stack(trace: Trace, tup: Any) -> Traced:
    parts = [as_traced(trace, a) for a in tup]
    return _joined(trace, [part if part.ndim > 1 else part.reshape(-1, 1) for part in parts], 1, False)


@meaning(np.append)
def append(trace: Trace, arr: Any, values: Any, axis: int | None = None) -> Traced:
    if axis is None:
        return _joined(trace, [np.ravel(as_traced(trace, arr)), np.ravel(as_traced(trace, values))], 0, False)
    return _joined(trace, [arr, values], axis, False)


def _split(function: Any) -> Callable[..., list[Any]]:
    def made(trace: Trace, ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
        x = as_traced(trace, ary)
        shadow = function(np.arange(x.shape[axis]), indices_or_sections)
        starts = [0, *np.cumsum([len(part) for part in shadow])]
        return [x[(slice(None),) * (axis % x.ndim) + (slice(int(a), int(b)),)] for a, b in pairwise(starts)]

    return meaning(function, shares=True)(made)


split, array_split = _split(np.split), _split(np.array_split)


def _split_along(function: Any, least: int, axis: int) -> None:
    def made(trace: Trace, ary: Any, indices_or_sections: Any) -> list[Any]:
        x = as_traced(trace, ary)
        if x.ndim < least:
            raise ValueError(f"{function.__name__} only works on arrays of {least} or more dimensions")
        return split(trace, x, indices_or_sections, 0 if function is np.hsplit and x.ndim == 1 else axis)

    meaning(function, shares=True)(made)


_split_along(np.hsplit, 1, 1)
_split_along(np.vsplit, 2, 0)
_split_along(np.dsplit, 3, 2)


@meaning(getattr(np, "unstack", None), shares=True)
def unstack(trace: Trace, x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    moved = np.moveaxis(as_traced(trace, x), axis, 0)
    return tuple([moved[k] for k in range(moved.shape[0])])


@meaning(np.block)
def block(trace: Trace, arrays: Any) -> Any:
    depth = _depth(arrays)
    rank = max([depth, *[as_traced(trace, x).ndim for x in _leaves(arrays)]])
    return _blocked(trace, arrays, depth, rank, 1)


def _depth(nested: Any) -> int:
    return 1 + max([_depth(part) for part in nested]) if isinstance(nested, list) else 0


def _leaves(nested: Any) -> list[Any]:
    return [leaf for part in nested for leaf in _leaves(part)] if isinstance(nested, list) else [nested]


def _blocked(trace: Trace, nested: Any, depth: int, rank: int, level: int) -> Any:
    """Lists of the innermost level are joined along the last axis, and so on outwards."""
    if not isinstance(nested, list):
        x = as_traced(trace, nested)
        return x.copy().reshape((1,) * (rank - x.ndim) + x.shape)
    if not nested:
        raise ValueError("List at arrays[0] cannot be empty")
    parts = [_blocked(trace, part, depth, rank, level + 1) for part in nested]
    return _joined(trace, parts, rank - depth + level - 1, False)


def positions_of(key: Any, n: int) -> Any:
    """The positions that a static key takes of an axis."""
    key = getattr(key, "constant", key)
    if key is None:
        raise errors.TraceError(errors.shape_depends_on_data("positions that are data, in np.insert or np.delete"))
    if isinstance(key, slice):
        return np.arange(n)[key]
    array = np.asarray(key)
    return array.astype(np.intp) if not array.size and array.dtype.kind == "f" else array


@meaning(np.delete)
@scattered
def delete(trace: Trace, arr: Any, obj: Any, axis: Any = None) -> Any:
    x = as_traced(trace, arr)
    if axis is None:
        x, axis = np.ravel(x), 0
    axis = normalize_axis_index(axis, x.ndim)
    key = obj if isinstance(obj, slice) else positions_of(obj, x.shape[axis])
    kept = np.delete(np.arange(x.shape[axis]), key)  # with NumPy's own errors
    return x[(slice(None),) * axis + (kept,)]


@meaning(np.insert)
def insert(trace: Trace, arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    x = as_traced(trace, arr)
    if axis is None:
        x, axis = np.ravel(x), 0
    axis = normalize_axis_index(axis, x.ndim)
    n = x.shape[axis]
    where, v = positions_of(obj, n), as_traced(trace, values)
    if where.dtype.kind == "b":
        where = np.flatnonzero(where)
    if not where.ndim and v.ndim:
        v = np.moveaxis(v.reshape((1,) * (x.ndim - v.ndim) + v.shape), 0, axis) if v.ndim <= x.ndim else v
    count = len(where) if where.size != 1 else None
    order = np.insert(
        np.arange(n),
        where if where.ndim else int(where),
        n if count is None and not v.ndim else _marks(n, v, axis, x.ndim, where),
    )
    added = int((order >= n).sum())
    shape = (*x.shape[:axis], added, *x.shape[axis + 1 :])
    both = np.concatenate([x, np.broadcast_to(v.astype(x.dtype), shape)], axis)
    return both[(slice(None),) * axis + (order,)]


def _marks(n: int, v: Any, axis: int, ndim: int, where: Any) -> Any:
    """Numbers for the inserted entries: how many there are follows from the positions, or from the values."""
    several = v.shape[axis - ndim] if v.ndim >= ndim - axis and v.ndim else 1
    count = where.size if where.size != 1 else several
    return n + np.arange(count) if count != 1 or where.ndim else n
