"""Joining and splitting arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from catad.traced.names.shapes import as_traced
from catad.traced.operators import cast
from catad.traced.recorder import Trace
from catad.traced.stand_in import Traced, computed, fresh
from catad.traced.table import meaning
from catad.vector.shape import concatenate, stack


def _joined(trace: Trace, arrays: Sequence[Any], axis: int | None, new: bool, dtype: Any = None) -> Traced:
    parts = [as_traced(trace, a) for a in arrays]
    if not parts:
        raise ValueError("need at least one array to concatenate")
    if axis is None:
        parts, axis = [np.ravel(part) for part in parts], 0
    shapes = [part.shape for part in parts]
    shadow = (np.stack if new else np.concatenate)([np.broadcast_to(False, shape) for shape in shapes], axis)
    at = axis + shadow.ndim if axis < 0 else axis
    common = np.result_type(*[part.dtype for part in parts]) if dtype is None else np.dtype(dtype)
    vars_ = tuple([cast(trace, part.var_, common) for part in parts])
    return fresh(trace, computed(trace.region, (stack if new else concatenate)(at), vars_))


@meaning(np.concatenate, np.concat)
def concatenate_(trace: Trace, arrays: Any, axis: int | None = 0, *, dtype: Any = None, casting: str = "same_kind") -> Traced:
    return _joined(trace, list(arrays), axis, False, dtype)


@meaning(np.stack)
def stack_(trace: Trace, arrays: Any, axis: int = 0, *, dtype: Any = None, casting: str = "same_kind") -> Traced:
    return _joined(trace, list(arrays), axis, True, dtype)


@meaning(np.vstack)
def vstack(trace: Trace, tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Traced:
    return _joined(trace, [np.atleast_2d(as_traced(trace, a)) for a in tup], 0, False, dtype)


@meaning(np.hstack)
def hstack(trace: Trace, tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Traced:
    parts = [np.atleast_1d(as_traced(trace, a)) for a in tup]
    return _joined(trace, parts, 0 if parts[0].ndim == 1 else 1, False, dtype)


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


def _split(trace: Trace, ary: Any, sections: Any, axis: int, even: bool) -> list[Any]:
    x = as_traced(trace, ary)
    shadow = (np.split if even else np.array_split)(np.arange(x.shape[axis]), sections)
    at = axis % x.ndim
    starts = [0, *np.cumsum([len(part) for part in shadow])]
    return [x[(slice(None),) * at + (slice(int(a), int(b)),)] for a, b in zip(starts[:-1], starts[1:], strict=True)]


@meaning(np.split)
def split(trace: Trace, ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    return _split(trace, ary, indices_or_sections, axis, True)


@meaning(np.array_split)
def array_split(trace: Trace, ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    return _split(trace, ary, indices_or_sections, axis, False)


@meaning(np.hsplit)
def hsplit(trace: Trace, ary: Any, sections: Any) -> list[Any]:
    return _split(trace, ary, sections, 0 if np.ndim(ary) == 1 else 1, True)


@meaning(np.vsplit)
def vsplit(trace: Trace, ary: Any, sections: Any) -> list[Any]:
    return _split(trace, ary, sections, 0, True)


@meaning(np.unstack)
def unstack(trace: Trace, x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    moved = np.moveaxis(as_traced(trace, x), axis, 0)
    return tuple([moved[k] for k in range(moved.shape[0])])



