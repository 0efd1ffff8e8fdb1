"""Counting and interpolating: `np.bincount`, `np.histogram`, `np.interp`, with positions that have no derivative."""

from __future__ import annotations

from typing import Any

import numpy as np

from catad import errors
from catad.traced.names.reductions import only_if
from catad.traced.names.shapes import as_traced
from catad.traced.pairs.stand_in import Complex, as_pair
from catad.traced.recorder import Trace
from catad.traced.table import COMPLEX_TOO, UFUNC_METHODS, meaning
from catad.values.complex_numbers import is_complex


def added(trace: Trace, size: int, positions: Any, values: Any) -> Any:
    """Values summed by position."""
    out = as_traced(trace, np.zeros(size, values.dtype)).copy()
    UFUNC_METHODS["at"](trace, np.add, out, positions, values)
    return out


@meaning(np.bincount)
def bincount(trace: Trace, x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    index = as_traced(trace, x)
    known = index.constant
    if known is None and not minlength:
        raise errors.TraceError(errors.length_of_bincount())
    plain = np.bincount(np.zeros(index.shape, index.dtype) if known is None else known, minlength=minlength)  # NumPy's errors
    if weights is None and known is not None:
        return as_traced(trace, plain)
    w = as_traced(trace, np.ones(index.shape, np.intp) if weights is None else weights)
    if w.shape != index.shape:
        raise ValueError("The weights and list don't have the same length.")
    index = index if known is not None else np.where(index < 0, len(plain), index)  # out of range is an error
    return added(trace, len(plain), index.astype(np.intp), w if weights is None else w.astype(np.float64))


def _edges(trace: Trace, x: Any, bins: Any, limits: Any) -> Any:
    """The edges of the bins: an array, or a stand-in where they follow from data."""
    bins = getattr(bins, "constant", None) if getattr(bins, "constant", None) is not None else bins
    if x.constant is not None and not hasattr(bins, "constant"):
        return np.histogram_bin_edges(x.constant, bins, limits)
    if isinstance(bins, str):
        raise errors.TraceError(errors.shape_depends_on_data(f"np.histogram with bins={bins!r}"))
    if np.ndim(bins):
        edges = as_traced(trace, bins)
        if edges.constant is not None and np.any(edges.constant[:-1] > edges.constant[1:]):
            raise ValueError("`bins` must increase monotonically, when an array")
        return edges
    if limits is not None:
        kind = np.result_type(x.dtype, *limits) if x.dtype.kind == "f" else np.float64
        return np.histogram_bin_edges(np.zeros(0, kind), bins, limits)
    if bins < 1:
        raise ValueError("`bins` must be positive, when an integer")
    if not x.size:
        return np.histogram_bin_edges(np.zeros(0, x.dtype), bins)
    low, high = np.min(x), np.max(x)
    if x.dtype.kind == "f":
        low = only_if(np.isfinite(low) & np.isfinite(high), low)
    same = low == high
    kind = x.dtype if x.dtype.kind == "f" else np.float64
    return np.linspace(np.where(same, low - 0.5, low), np.where(same, high + 0.5, high), bins + 1, dtype=kind)


@meaning(np.histogram_bin_edges)
def histogram_bin_edges(trace: Trace, a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    return _edges(trace, np.ravel(as_traced(trace, a)), bins, range)


@meaning(np.histogram)
def histogram(trace: Trace, a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    x = np.ravel(as_traced(trace, a))
    if weights is not None and isinstance(bins, str):
        raise TypeError("Automated estimation of the number of bins is not supported for weighted data")
    if weights is not None and as_traced(trace, weights).dtype.kind == "b":
        raise errors.TraceError(
            errors.unknown_function("np.histogram with truth values as weights", "convert them, w.astype(int)")
        )
    if weights is not None and np.shape(as_traced(trace, weights)) != np.shape(as_traced(trace, a)):
        raise ValueError("weights should have the same shape as a.")
    edges = as_traced(trace, _edges(trace, x, bins, range))
    count = len(edges) - 1
    where = np.searchsorted(edges, x, "right") - 1
    where = np.where(x == edges[-1], count - 1, where)  # the last bin has both its edges
    inside = (where >= 0) & (where < count) & (x == x)
    where = np.where(inside, where, count)
    if weights is None:
        values = as_traced(trace, np.ones(x.size, np.intp))
    else:
        w = np.ravel(as_traced(trace, weights))
        values = w if w.dtype.kind == "f" else w.astype(np.float64)
    made = added(trace, count + 1, where, values)[:-1]
    if weights is not None:
        made = made.astype(as_traced(trace, weights).dtype, copy=False)
    if density:
        made = made / np.diff(edges).astype(np.float64) / np.sum(made)
    return made, edges


@meaning(np.interp)
def interp(trace: Trace, x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """NaN where points that are known only when the program runs do not increase: NumPy then gives some number."""
    if any(map(is_complex, (fp, left, right))):
        return _complex_interp(trace, x, xp, fp, left, right, period)
    at, places, values = (as_traced(trace, one).astype(np.float64) for one in (x, xp, fp))
    if places.ndim != 1 or values.ndim != 1:
        raise ValueError("Data points must be 1-D sequences" if period is not None else "object too deep for desired array")
    if len(places) != len(values):
        raise ValueError("fp and xp are not of the same length.")
    if period is not None:
        if period == 0:
            raise ValueError("period must be a non-zero value")
        period = abs(period)
        at, places = at % period, places % period
        order = np.argsort(places)
        places, values = places[order], values[order]
        places = np.concatenate([places[-1:] - period, places, places[:1] + period])
        values = np.concatenate([values[-1:], values, values[:1]])
        left = right = None
    n = len(places)
    if not n:
        raise ValueError("array of sample points is empty")
    first, last = values[0] if left is None else left, values[-1] if right is None else right
    if n == 1:
        return np.where(at < places[0], first, np.where(at > places[0], last, values[0]))
    falls = np.any(places[1:] < places[:-1]) | np.any(np.isnan(places[:-1]))
    known = getattr(falls, "constant", falls)
    if known is not None and known:
        raise errors.TraceError(errors.points_fall())
    k = np.clip(np.searchsorted(places, at, "right") - 1, 0, n - 2)
    low, start, end = places[k], values[k], values[k + 1]
    slope = (end - start) / (places[k + 1] - low)
    made = slope * (at - low) + start
    made = np.where(np.isnan(made), slope * (at - places[k + 1]) + end, made)
    made = np.where(np.isnan(made) & ((start == end) | (at == low)), start, made)
    made = np.where(at == places[-1], values[-1], np.where(at > places[-1], last, np.where(at < places[0], first, made)))
    made = np.where(np.isnan(at), at, made)
    return made if known is not None else np.where(falls, np.nan, made)


def _complex_interp(trace: Trace, x: Any, xp: Any, fp: Any, left: Any, right: Any, period: Any) -> Any:
    """Both parts; NaN has no imaginary part."""
    if is_complex(x) or is_complex(xp):
        raise TypeError("Cannot cast array data from dtype('complex128') to dtype('float64') according to the rule 'safe'")
    values = as_pair(trace, fp)
    ends = [None if end is None else as_pair(trace, end) for end in (left, right)]
    re, im = [
        interp(trace, x, xp, getattr(values, part), *[None if end is None else getattr(end, part) for end in ends], period)
        for part in ("re", "im")
    ]
    return Complex(re, np.where(np.isnan(as_traced(trace, x)), 0.0, im))


COMPLEX_TOO.add(interp)
