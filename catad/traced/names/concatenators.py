"""`np.r_[...]` and `np.c_[...]`: objects that join what stands between their brackets."""

from __future__ import annotations

from typing import Any

import numpy as np

from catad import errors
from catad.traced.arrays.operators import common_dtype
from catad.traced.arrays.slicing import has_traced_bounds
from catad.traced.names.shapes import as_traced
from catad.traced.recorder import Trace
from catad.traced.table import item_meaning
from catad.values.complex_numbers import is_complex

ROWS, COLUMNS = (0, 1, -1), (-1, 2, 0)  # the axis, the least rank, where new axes stand


@item_meaning(type(np.r_))
def rows(trace: Trace, key: Any) -> Any:
    return _concatenated(trace, key, ROWS)


@item_meaning(type(np.c_))
def columns(trace: Trace, key: Any) -> Any:
    return _concatenated(trace, key, COLUMNS)


def _concatenated(trace: Trace, key: Any, how: tuple[int, int, int]) -> Any:
    items = list(key) if isinstance(key, tuple) else [key]
    if items and isinstance(items[0], str):
        how = _directive(items.pop(0), how)
    axis, rank, at = how
    if any(isinstance(item, str) for item in items):
        raise ValueError("special directives must be the first entry.")
    values = [_range(trace, item, rank, at) if isinstance(item, slice) else item for item in items]
    values = [as_traced(trace, v) if isinstance(v, (list, tuple)) else v for v in values]
    dtype = np.result_type(*values) if any(map(is_complex, values)) else common_dtype(trace, *values)
    parts = [_of_rank(as_traced(trace, value).astype(dtype), rank, at) for value in values]
    return np.concatenate(parts, axis)


def _directive(text: str, how: tuple[int, int, int]) -> tuple[int, int, int]:
    """A string `"axis, rank, place"`, or a part of it, that stands before the arrays."""
    try:
        axis, rank, at = (*[int(part) for part in text.split(",")], *how[1 + text.count(",") :])
    except ValueError:
        raise errors.TraceError(errors.directive_of_arrays(text)) from None
    return axis, rank, at


def _range(trace: Trace, item: slice, rank: int, at: int) -> Any:
    """`a:b:c` are the numbers of `np.arange`, and `a:b:5j` those of `np.linspace`."""
    if has_traced_bounds(item) or hasattr(item.step, "var_"):
        raise errors.TraceError(errors.shape_depends_on_data("a range of np.r_ whose ends are data"))
    start = item.start or 0
    step: Any = 1 if item.step is None else item.step
    if isinstance(step, (complex, np.complexfloating)):
        made = np.linspace(start, item.stop, num=int(np.abs(step)))
    else:
        made = np.arange(start, item.stop, step)
    return made if rank < 2 else np.swapaxes(made.reshape((1,) * (rank - 1) + made.shape), -1, at)


def _of_rank(x: Any, rank: int, at: int) -> Any:
    """An array of at least this rank: its own axes begin at `at`, where new axes are needed; -1 puts them last."""
    new = rank - x.ndim
    if new <= 0:
        return x
    first = at if at >= 0 else at + new + 1
    if not 0 <= first <= new:
        raise ValueError(f"new axes at {at} do not fit an array of {x.ndim} axes that gets {new} more")
    return x.reshape((1,) * first + x.shape + (1,) * (new - first))
