"""Reductions: sums, products, extrema, means, truth of all or any; and the same without NaN."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from catad import errors
from catad.category.terms import D
from catad.traced.arrays.masked import Masked
from catad.traced.arrays.operators import pointwise
from catad.traced.arrays.stand_in import Traced
from catad.traced.names.shapes import as_traced
from catad.traced.names.sums import accumulated, axes_of, masked_axes, named, one_line, selected, strong, total
from catad.traced.recorder import Trace
from catad.traced.table import meaning, method
from catad.vector.folds import moments, reduce


def only_if(test: Any, x: Any) -> Any:
    """The array, or an error at run time where a test fails: an index out of range."""
    return x[None][np.where(test, 0, 1)]


product = method("prod")(meaning(np.prod)(accumulated(reduce.prod, 1, np.multiply)))


def _extremum(word: Callable[..., D], ufunc: np.ufunc) -> Callable[..., Any]:
    """`np.max` and `np.min`."""

    def made(
        trace: Trace, a: Any, axis: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = True
    ) -> Any:
        if isinstance(a, Masked) and initial is None:
            what = f"np.{ufunc.__name__[:3]}(x[mask]), an error where the mask selects nothing"
            raise errors.TraceError(errors.shape_depends_on_data(what))
        if where is not True and initial is None:
            raise ValueError(
                f"reduction operation '{ufunc.__name__}' does not have an identity, so to use a where mask one has to specify "
                "'initial'"
            )
        axis = masked_axes(a, axis)
        x = selected(trace, a, where, initial)
        axes = axes_of(x, axis, True)
        many = math.prod([n for k, n in enumerate(x.shape) if axes is None or k in axes])
        if not many and initial is not None:
            kept = _kept(x, axes, keepdims)
            return np.full_like(x, initial, shape=kept)
        if not many:
            raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
        out = one_line(trace, word(named(x, axis), keepdims), x)
        return out if initial is None else pointwise(trace, ufunc, out, initial).astype(out.dtype, copy=False)

    return made


def _kept(x: Traced, axes: tuple[int, ...] | None, keepdims: bool) -> tuple[int, ...]:
    """The shape of a result."""
    gone = range(x.ndim) if axes is None else axes
    return tuple([1 if k in gone else n for k, n in enumerate(x.shape) if keepdims or k not in gone])


maximum = method("max")(meaning(np.max, np.amax)(_extremum(reduce.max, np.maximum)))
minimum = method("min")(meaning(np.min, np.amin)(_extremum(reduce.min, np.minimum)))


def _truth(word: Callable[..., D], neutral: bool, ufunc: np.ufunc) -> Callable[..., Any]:
    """`np.any` and `np.all`."""

    def made(
        trace: Trace, a: Any, axis: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = True
    ) -> Any:
        axis = masked_axes(a, axis)
        x = selected(trace, a, where, neutral)
        out = one_line(trace, word(named(x, axis), keepdims), x)
        return out if initial is None else pointwise(trace, ufunc, out, bool(initial))

    return made


any_ = method("any")(meaning(np.any)(_truth(reduce.any, False, np.logical_or)))
all_ = method("all")(meaning(np.all)(_truth(reduce.all, True, np.logical_and)))


@meaning(np.count_nonzero)
def count_nonzero(trace: Trace, a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return total(trace, as_traced(trace, a) != 0, axis, np.intp, keepdims=keepdims)


def _count(trace: Trace, a: Any, axis: Any, where: Any, keepdims: bool) -> Any:
    """How many entries are reduced: a number, or an array where a mask says so."""
    if isinstance(a, Masked):
        mask = np.broadcast_to(a.mask.reshape(a.mask.shape + (1,) * (a.full.ndim - a.mask.ndim)), a.full.shape)
        return total(trace, mask, masked_axes(a, axis), np.intp, keepdims=keepdims)
    x = as_traced(trace, a)
    if where is True:
        axes = axes_of(x, axis, True)
        return math.prod([n for k, n in enumerate(x.shape) if axes is None or k in axes])
    return total(trace, np.broadcast_to(as_traced(trace, where).astype(bool), x.shape), axis, np.intp, keepdims=keepdims)


def _present(trace: Trace, x: Traced, where: Any) -> Any:
    """Where an array has numbers that are not NaN, under a mask."""
    return pointwise(trace, np.logical_and, np.logical_not(np.isnan(x)), where)


@meaning(np.mean)
@method("mean")
def mean(trace: Trace, a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, where: Any = True) -> Any:
    if where is True and not isinstance(a, Masked):
        x = strong(trace, a)
        x = x if dtype is None else x.astype(dtype, copy=False)
        if x.dtype.kind == "f" or dtype is None:
            return one_line(trace, moments.mean(named(x, axis, False), keepdims), x)
    kind = a.dtype if isinstance(a, Masked) else as_traced(trace, a).dtype
    wide = np.float64 if dtype is None and kind.kind in "biu" else dtype
    made = total(trace, a, axis, wide, keepdims=keepdims, where=where)
    quotient = pointwise(trace, np.divide, made, _count(trace, a, axis, where, keepdims))
    return quotient.astype(made.dtype if dtype is None else dtype, copy=False)


def _moment(word: Callable[..., D], root: bool, skips_nan: bool) -> Callable[..., Any]:
    """`np.var` and `np.std`, and the same without NaN."""

    def made(
        trace: Trace, a: Any, axis: Any = None, dtype: Any = None, *, ddof: Any = 0, keepdims: bool = False,
        where: Any = True, mean: Any = None, correction: Any = None,
    ) -> Any:  # fmt: skip
        x = strong(trace, a)
        skips = skips_nan and x.dtype.kind == "f"
        ddof = ddof if correction is None else correction
        x = x if dtype is None else x.astype(dtype, copy=False)
        if where is True and mean is None and not isinstance(ddof, Traced) and not skips:
            return one_line(trace, word(named(x, axis, False), ddof, keepdims), x)
        where = _present(trace, x, where) if skips else where
        result = _deviation(trace, x, axis, ddof, keepdims, where, mean)
        if skips:
            count = _count(trace, x, axis, where, keepdims)
            result = np.where(count - ddof <= 0, x.dtype.type(np.nan), result)
        return np.sqrt(result) if root else result

    return made


def _deviation(trace: Trace, x: Traced, axis: Any, ddof: Any, keepdims: bool, where: Any, middle: Any) -> Any:
    """A variance under a mask, or around a given mean."""
    wide = x if x.dtype.kind == "f" else x.astype(np.float64)
    if middle is None:
        middle = mean(trace, wide, axis, keepdims=True, where=where)
    square = np.square(wide - middle)
    count = _count(trace, x, axis, where, keepdims)
    made = total(trace, square, axis, keepdims=keepdims, where=where)
    return (made / np.maximum(count - ddof, 0)).astype(wide.dtype, copy=False)


var = method("var")(meaning(np.var)(_moment(moments.var, False, False)))
std = method("std")(meaning(np.std)(_moment(moments.std, True, False)))


@meaning(np.ptp)
def ptp(trace: Trace, a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    x = as_traced(trace, a)
    return pointwise(
        trace, np.subtract, maximum(trace, x, axis, keepdims=keepdims), minimum(trace, x, axis, keepdims=keepdims)
    )


@meaning(np.average)
def average(
    trace: Trace, a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    x = as_traced(trace, a)
    axes = axes_of(x, axis)
    if weights is None:
        made = mean(trace, x, axis, keepdims=keepdims)
        scale: Any = np.full_like(made, x.size / made.size)
        return (made, scale) if returned else made
    w = as_traced(trace, weights)
    dtype = np.result_type(x.dtype, w.dtype, *([np.float64] if x.dtype.kind in "biu" else []))
    if w.shape != x.shape:
        if axes is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        if w.shape != tuple([x.shape[k] for k in axes]):
            raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
        order = np.argsort(axes)
        w = np.transpose(w, order).reshape([n if k in axes else 1 for k, n in enumerate(x.shape)])
    scale = total(trace, np.broadcast_to(w, x.shape), axis, dtype, keepdims=keepdims)
    if scale.constant is not None and np.any(scale.constant == 0):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    made = total(trace, pointwise(trace, np.multiply, x, w, dtype=dtype), axis, dtype, keepdims=keepdims) / scale
    return (made, np.broadcast_to(scale, made.shape).copy()) if returned else made


def _position(word: Callable[..., D]) -> Callable[..., Any]:
    """`np.argmax` and `np.argmin`."""

    def made(trace: Trace, a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        x = strong(trace, a)
        axes = axes_of(x, axis, True)
        if axes is not None and len(axes) != 1:
            raise TypeError("'tuple' object cannot be interpreted as an integer")
        if not math.prod([n for k, n in enumerate(x.shape) if axes is None or k in axes]):
            raise ValueError(f"attempt to get {word.__name__} of an empty sequence")
        if not x.ndim:
            x = x.reshape(1)
        return one_line(trace, word(named(x, axis), bool(keepdims) and bool(as_traced(trace, a).ndim)), x)

    return made


argmax = method("argmax")(meaning(np.argmax)(_position(reduce.argmax)))
argmin = method("argmin")(meaning(np.argmin)(_position(reduce.argmin)))


# -- without NaN


def _filled(trace: Trace, a: Any, number: Any) -> tuple[Traced, Any]:
    """The array with a number in the place of NaN, and where there is one."""
    x = strong(trace, a)
    if x.dtype.kind != "f":
        return x, False
    test = np.isnan(x)
    return np.where(test, x.dtype.type(number), x), test


def _without_nan(plain: Callable[..., Any], number: float) -> Callable[..., Any]:
    def made(trace: Trace, a: Any, axis: Any = None, dtype: Any = None, **options: Any) -> Any:
        x, _ = _filled(trace, a, number)
        return plain(trace, x, axis, dtype, **options)

    return made


nansum = meaning(np.nansum)(_without_nan(total, 0.0))
nanprod = meaning(np.nanprod)(_without_nan(product, 1.0))


def _nan_extremum(plain: Callable[..., Any], number: float, is_position: bool = False) -> Callable[..., Any]:
    def made(trace: Trace, a: Any, axis: Any = None, **options: Any) -> Any:
        x, missing = _filled(trace, a, number)
        out = plain(trace, x, axis, **options)
        if missing is False:
            return out
        rest = {key: value for key, value in options.items() if key in ("keepdims", "where")}
        none = all_(trace, missing, axis, **rest)
        if not is_position:
            return np.where(none, x.dtype.type(np.nan), out)
        count = x.size if axis is None or not x.ndim else x.shape[axis]  # NaN alone: an index out of range is an error
        return as_traced(trace, np.arange(count))[np.where(none, count, out)]

    return made


nanmax = meaning(np.nanmax)(_nan_extremum(maximum, -math.inf))
nanmin = meaning(np.nanmin)(_nan_extremum(minimum, math.inf))
meaning(np.nanargmax)(_nan_extremum(argmax, -math.inf, True))
meaning(np.nanargmin)(_nan_extremum(argmin, math.inf, True))


@meaning(np.nanmean)
def nanmean(trace: Trace, a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, where: Any = True) -> Any:
    x = strong(trace, a)
    if x.dtype.kind != "f":
        return mean(trace, x, axis, dtype, keepdims=keepdims, where=where)
    return mean(trace, x, axis, dtype, keepdims=keepdims, where=_present(trace, x, where))


nanvar = meaning(np.nanvar)(_moment(moments.var, False, True))
nanstd = meaning(np.nanstd)(_moment(moments.std, True, True))


