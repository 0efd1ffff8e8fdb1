"""Sums, and what other reductions need as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from catad import errors
from catad.category.terms import D
from catad.traced.arrays.masked import Masked
from catad.traced.arrays.operators import cast, pointwise
from catad.traced.arrays.stand_in import Traced, computed, fresh
from catad.traced.names.shapes import as_traced
from catad.traced.recorder import Trace
from catad.traced.table import meaning, method
from catad.vector.shapes.shape import sum as sum_


def one_line(trace: Trace, term: D, *xs: Any) -> Any:
    """The result of a term, applied to one stand-in or several."""
    vars_ = tuple([x.var_ for x in xs])
    return fresh(trace, computed(trace.region, term, vars_ if len(vars_) > 1 else vars_[0]))


def axes_of(x: Traced, axis: Any, lenient: bool = False) -> tuple[int, ...] | None:
    """Axes as NumPy checks them, counted from the front; None for all. Some functions take numbers to have an axis."""
    if lenient and not x.ndim and isinstance(axis, (int, np.integer)) and axis in (0, -1):
        return None
    return None if axis is None else normalize_axis_tuple(axis if not isinstance(axis, Traced) else axis.__index__(), x.ndim)


def named(x: Traced, axis: Any, lenient: bool = True) -> Any:
    """Axes as they are given, checked."""
    axes = axes_of(x, axis, lenient)
    if axes is None:
        return None
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    return given[0].__index__() if len(given) == 1 else tuple([one.__index__() for one in given])


def strong(trace: Trace, a: Any) -> Any:
    """A stand-in with the dtype of its array, also for a Python number."""
    x = as_traced(trace, a)
    return x if x.var_.weak is None else fresh(trace, cast(trace, x.var_, x.dtype))


def selected(trace: Trace, a: Any, where: Any, neutral: Any) -> Any:
    """The array with a neutral number where a mask, or the mask of a masked read, is false."""
    if isinstance(a, Masked):
        mask, full = a.mask, a.full
        if mask.ndim < full.ndim:
            mask = mask.reshape(mask.shape + (1,) * (full.ndim - mask.ndim))
        return np.where(mask, full, full.dtype.type(neutral))
    x = strong(trace, a)
    if where is True:
        return x
    return np.where(where, x, x.dtype.type(neutral))


def masked_axes(a: Any, axis: Any) -> Any:
    """Of a masked read the first axis is that of the selected entries."""
    if not isinstance(a, Masked):
        return axis
    several = tuple(range(a.mask.ndim))
    if axis is None:
        return None
    axes = normalize_axis_tuple(axis, a.ndim)
    if 0 not in axes:
        raise errors.TraceError(errors.shape_depends_on_data("x[mask] along another axis"))
    return several + tuple([k - 1 + a.mask.ndim for k in axes if k])


def accumulated(word: Callable[..., D], neutral: int, ufunc: np.ufunc) -> Callable[..., Any]:
    """`np.sum` and `np.prod`."""

    def made(
        trace: Trace,
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        *,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        axis = masked_axes(a, axis)
        x = selected(trace, a, where, neutral)
        x = x if dtype is None else x.astype(dtype, copy=False)
        out = one_line(trace, word(named(x, axis), keepdims), x)
        if dtype is not None:
            out = out.astype(dtype, copy=False)
        return out if initial is None else pointwise(trace, ufunc, out, initial).astype(out.dtype, copy=False)

    return made


total = method("sum")(meaning(np.sum)(accumulated(sum_, 0, np.add)))
