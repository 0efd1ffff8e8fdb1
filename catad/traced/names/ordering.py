"""Order: sorting, medians, quantiles, positions in sorted arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from catad import errors
from catad.traced.arrays.operators import cast
from catad.traced.arrays.stand_in import Traced, computed, fresh
from catad.traced.names.moving import along
from catad.traced.names.shapes import as_traced
from catad.traced.names.sums import axes_of, one_line, strong
from catad.traced.names.universal import lines
from catad.traced.recorder import Trace
from catad.traced.table import meaning, method, scattered
from catad.vector.bins import sort as words
from catad.vector.bins.searchsorted import searchsorted as positions


def _ordered(word: Callable[..., Any]) -> Callable[..., Any]:
    def made(trace: Trace, a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
        np.sort(np.empty(0), -1, kind, order, stable=stable)  # NumPy's own errors
        x = strong(trace, a)
        if axis is None:
            x, axis = np.ravel(x), 0
        if not x.ndim:
            if word is words.argsort and axis in (-1, 0):
                return as_traced(trace, np.zeros(1, np.intp))
            normalize_axis_index(axis, x.ndim)
        normalize_axis_index(axis, x.ndim)  # NumPy's own error
        return one_line(trace, word(axis.__index__()), x)

    return made


sort = meaning(np.sort)(_ordered(words.sort))
argsort = method("argsort")(meaning(np.argsort)(_ordered(words.argsort)))


# A partition is a sorted array: the entries around each kth one may stand in any order.


def _partitioned(whole: Callable[..., Any]) -> Callable[..., Any]:
    def made(trace: Trace, a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Any:
        known = kth.constant if isinstance(kth, Traced) else kth
        if known is None:
            raise errors.TraceError(errors.needs_a_number(kth, "kth of np.partition"))
        np.partition(np.empty(strong(trace, a).shape, bool), known, axis, kind, order)  # NumPy's own errors
        return whole(trace, a, axis)

    return made


partition = meaning(np.partition)(_partitioned(sort))
argpartition = method("argpartition")(meaning(np.argpartition)(_partitioned(argsort)))


def _in_place(name: str, function: Callable[..., Any]) -> None:
    """The method that leaves in an array what a function makes of it."""

    def made(trace: Trace, x: Any, *args: Any, **options: Any) -> None:
        x[...] = function(trace, x, *args, **options)

    method(name)(made)


_in_place("sort", sort)
_in_place("partition", partition)


@meaning(np.lexsort)
def lexsort(trace: Trace, keys: Any, axis: int = -1) -> Any:
    first, *others = [as_traced(trace, key) for key in keys]
    axis = normalize_axis_index(axis, first.ndim)
    order = argsort(trace, first, axis)
    for key in others:
        again = argsort(trace, np.take_along_axis(key, order, axis), axis)
        order = np.take_along_axis(order, again, axis)
    return order


# -- quantiles

_METHODS = {  # alpha and beta of Hyndman and Fan (1996), as NumPy has them
    "linear": (1.0, 1.0), "interpolated_inverted_cdf": (0.0, 1.0), "hazen": (0.5, 0.5), "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8),
}  # fmt: skip
_OF_LINEAR: dict[str, Callable[[Any], Any]] = {
    "lower": np.floor,
    "higher": np.ceil,
    "nearest": np.rint,
    "midpoint": lambda v: 0.5 * (np.floor(v) + np.ceil(v)),
}

_OF_COUNTS = ("inverted_cdf", "averaged_inverted_cdf", "closest_observation")
_ENTRIES = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")  # no interpolation


def _place(n: Any, q: Any, how: str) -> Any:
    """Where the quantile lies among n sorted numbers, counted from 0."""
    if how in _OF_LINEAR:
        return _OF_LINEAR[how]((n - 1) * q)
    if how == "linear":
        return (n - 1) * q
    if how in _METHODS:
        alpha, beta = _METHODS[how]
        return n * q + (alpha + q * (1 - alpha - beta)) - 1
    if not isinstance(n, int) or not isinstance(q, np.ndarray):
        raise errors.TraceError(
            errors.unknown_parameter("np.quantile", f"method={how!r} and levels or counts that are data")
        )
    return np.quantile(np.arange(float(n)), q, method=how)  # type: ignore[call-overload]


def _between(low: Any, high: Any, t: Any) -> Any:
    """NumPy's interpolation: from the nearer end."""
    step = high - low
    return np.where(t >= 0.5, high - step * (1 - t), low + step * t)


def _known(q: Any) -> Any:
    """The levels, where they depend on no data."""
    return getattr(q, "constant", None) if hasattr(q, "constant") else np.asarray(q)


def _quantile(trace: Trace, a: Any, q: Any, axis: Any, how: str, keepdims: bool, skips_nan: bool) -> Any:
    x = strong(trace, a)
    axes_of(x, axis)
    known = _known(q)
    if known is not None and not (np.all(known >= 0) and np.all(known <= 1)):
        raise ValueError("Quantiles must be in the range [0, 1]")
    if how not in _METHODS and how not in _OF_LINEAR and how not in _OF_COUNTS:
        raise ValueError(f"{how!r} is not a valid method. Use one of: {', '.join([*_METHODS, *_OF_LINEAR, *_OF_COUNTS])}")
    if x.dtype.kind == "b":
        raise errors.TraceError(errors.unknown_function("np.quantile of truth values", "convert them, x.astype(np.float64)"))
    line, kept = lines(x, axis)
    shape = kept if keepdims else line.shape[:-1]
    kind = _kind(x.dtype, q, how)
    if not line.shape[-1]:
        if not skips_nan:
            raise IndexError("cannot do a non-empty take from an empty axes.")
        return np.full(np.shape(q) + shape, kind.type(np.nan))
    ordered = one_line(trace, words.sort(), line)
    one = _of_present if skips_nan and x.dtype.kind == "f" else _of_all
    results = [one(ordered, level, how).astype(kind, copy=False) for level in ([q] if not np.ndim(q) else np.ravel(q))]
    if not np.ndim(q):
        return results[0].reshape(shape)
    return np.stack(results).reshape(np.shape(q) + shape) if results else np.zeros((0, *shape))


def _kind(dtype: Any, q: Any, how: str) -> Any:
    """The dtype of a quantile: an entry keeps its own, levels that are arrays are strong."""
    level = q.dtype if hasattr(q, "dtype") else np.asarray(q).dtype
    if how in _ENTRIES:
        return dtype
    if dtype.kind in "iu":
        return dtype if level.kind in "iu" and how == "linear" else np.dtype(np.float64)
    return np.result_type(dtype, level) if hasattr(q, "dtype") and level.kind == "f" else dtype


def _of_present(ordered: Any, q: Any, how: str) -> Any:
    """The quantile of the numbers that are not NaN, which come first."""
    count = np.sum(~np.isnan(ordered), axis=-1)
    last = np.maximum(count - 1, 0)
    place = np.clip(_place(count, q, how), 0, last)
    low = np.floor(place)
    ends = [_entry(ordered, np.minimum(low + k, last).astype(np.intp)) for k in (0, 1)]
    return ends[0] if how in _ENTRIES else _between(ends[0], ends[1], place - low)


def _entry(ordered: Any, index: Any) -> Any:
    return np.take_along_axis(ordered, index[..., None], ordered.ndim - 1)[..., 0]


def _of_all(ordered: Any, q: Any, how: str) -> Any:
    """The quantile of all entries; NaN, the last in order, where there is one."""
    axis, n = ordered.ndim - 1, ordered.shape[-1]
    known = _known(q)
    place = np.clip(_place(n, q if known is None else known, how), 0, n - 1)
    low = np.floor(place)
    if how == "averaged_inverted_cdf" and low == place and low:
        low = low - 1  # NumPy counts from the entry before
    if known is None:
        low = np.where((q >= 0) & (q <= 1), low, n)  # another level is an error: out of range
        ends = [along(ordered, axis, k.astype(np.intp)) for k in (low, np.minimum(low + 1, np.maximum(low, n - 1)))]
        made = ends[0] if how in _ENTRIES else _between(ends[0], ends[1], place - low)
    else:
        part = place - low
        ends = [along(ordered, axis, int(k)) for k in (low, min(low + 1, n - 1))]
        part = part if hasattr(q, "dtype") else float(part)
        made = ends[0] if known.dtype.kind in "iu" or how in _ENTRIES else _between(ends[0], ends[1], part)
    if ordered.dtype.kind != "f":
        return made
    last = along(ordered, axis, -1)
    return np.where(np.isnan(last), last, made)


def _quantiles(function: Any, scale: float, skips_nan: bool) -> None:
    def made(
        trace: Trace, a: Any, q: Any, axis: Any = None, *, overwrite_input: bool = False, method: str = "linear",
        keepdims: bool = False, weights: Any = None,
    ) -> Any:  # fmt: skip
        if weights is not None:
            raise errors.TraceError(errors.unknown_parameter(f"np.{function.__name__}", "weights"))
        q = q if not isinstance(q, (list, tuple)) else as_traced(trace, q)
        q = getattr(q, "constant", None) if getattr(q, "constant", None) is not None else q
        q = q if scale == 1 else q / scale if not isinstance(q, (int, float)) else np.true_divide(q, scale).item()
        return _quantile(trace, a, q, axis, method, keepdims, skips_nan)

    meaning(function)(scattered(made) if skips_nan else made)


_quantiles(np.quantile, 1, False)
_quantiles(np.percentile, 100, False)
_quantiles(np.nanquantile, 1, True)
_quantiles(np.nanpercentile, 100, True)


def _medians(function: Any, skips_nan: bool) -> None:
    def made(
        trace: Trace, a: Any, axis: Any = None, *, overwrite_input: bool = False, keepdims: bool = False
    ) -> Any:
        x = strong(trace, a)
        x = x if x.dtype.kind == "f" else x.astype(np.float64)
        line, kept = lines(x, axis)
        n = line.shape[-1]
        result: Any
        if not n:
            result = np.full(kept if keepdims else line.shape[:-1], x.dtype.type(np.nan))
        else:
            ordered = one_line(trace, words.sort(), line)
            count: Any = np.sum(~np.isnan(line), axis=-1) if skips_nan else n
            result = _middle(ordered, count)
            last = along(ordered, line.ndim - 1, 0 if skips_nan else -1)
            result = np.where(np.isnan(last), last, result).reshape(kept if keepdims else line.shape[:-1])
        return result

    meaning(function)(made)


def _middle(ordered: Any, count: Any) -> Any:
    """The entry in the middle, or the mean of two."""
    axis = ordered.ndim - 1
    if isinstance(count, int):
        high = along(ordered, axis, count // 2)
        return high if count % 2 else (along(ordered, axis, count // 2 - 1) + high) / 2
    low, high = (
        _entry(ordered, np.maximum(k, 0)) for k in ((count - 1) // 2, np.minimum(count // 2, ordered.shape[-1] - 1))
    )
    return np.where(count % 2 == 1, low, (low + high) / 2)


_medians(np.median, False)
_medians(np.nanmedian, True)


# -- positions


@meaning(np.searchsorted)
@method("searchsorted")
def searchsorted(trace: Trace, a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    x, values = as_traced(trace, a), as_traced(trace, v)
    if x.ndim != 1:
        raise ValueError(
            "object too deep for desired array" if x.ndim > 1 else "object of too small depth for desired array"
        )
    if sorter is not None:
        x = x[sorter]
    if not isinstance(side, str) or side not in ("left", "right"):
        raise ValueError(f"search side must be 'left' or 'right' (got {side!r})")
    dtype = np.result_type(x.dtype, values.dtype)
    args = (cast(trace, x.var_, dtype), cast(trace, values.var_, dtype))
    return fresh(trace, computed(trace.region, positions(side), args))


@meaning(np.digitize)
def digitize(trace: Trace, x: Any, bins: Any, right: bool = False) -> Any:
    edges, values = as_traced(trace, bins), as_traced(trace, x)
    known = edges.constant
    if known is None:
        raise errors.TraceError(
            errors.unknown_function("np.digitize with bins that are data", "np.searchsorted with bins in order")
        )
    if known.ndim != 1:
        raise ValueError("object too deep for desired array")
    rising, falling = bool(np.all(known[1:] >= known[:-1])), bool(np.all(known[1:] <= known[:-1]))
    if not rising and not falling:
        raise ValueError("bins must be monotonically increasing or decreasing")
    if rising:
        return searchsorted(trace, edges, values, "left" if right else "right")
    return len(known) - searchsorted(trace, known[::-1].copy(), values, "left" if right else "right")
