"""Rearranging entries: `np.flip`, `roll`, `rot90`, `tile`, `repeat`, `pad`, `tril`, `triu` and their like."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from catad import errors
from catad.category.terms import identity
from catad.traced.arrays.stand_in import Traced, View, computed, fresh, var_of
from catad.traced.inlining import any_traced
from catad.traced.names.shapes import as_traced, sizes_of, transposed, view, write_back
from catad.traced.recorder import Trace
from catad.traced.table import meaning, method
from catad.vector.indexing.keys import arg
from catad.vector.indexing.subscript import index
from catad.vector.shapes import repeats as repeats_words
from catad.vector.shapes import shape as words
from catad.vector.shapes import split as words_of_pieces


@meaning(np.flip, shares=True)
def flip(trace: Trace, m: Any, axis: Any = None) -> Any:
    x = as_traced(trace, m)
    axes = tuple(range(x.ndim)) if axis is None else normalize_axis_tuple(axis, x.ndim)
    term = words.flip(None if len(axes) == x.ndim else axes if len(axes) > 1 else axes[0])
    return view(x, term, write_back(term), lambda s: np.flip(s, axes), keeps_axes=True)


def _flips(function: Any, axis: int) -> None:
    def made(trace: Trace, m: Any) -> Any:
        if as_traced(trace, m).ndim <= axis:
            raise ValueError(f"Input must be >= {axis + 1}-d.")
        return flip(trace, m, axis)

    meaning(function, shares=True)(made)


_flips(np.flipud, 0)
_flips(np.fliplr, 1)


@meaning(np.rot90, shares=True)
def rot90(trace: Trace, m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    x = as_traced(trace, m)
    np.rot90(np.empty(x.shape, bool), k, axes)  # NumPy's own errors
    first, second = normalize_axis_tuple(axes, x.ndim)
    order = list(range(x.ndim))
    order[first], order[second] = second, first
    k = k.__index__() % 4
    if k == 0:
        return x[...]
    if k == 2:
        return flip(trace, x, (first, second))
    return transposed(flip(trace, x, second), order) if k == 1 else flip(trace, transposed(x, order), second)


def along(x: Traced, axis: int, index: Any) -> Any:
    """The entries at positions along an axis."""
    return x[(slice(None),) * axis + (index,)]


@meaning(np.roll)
def roll(trace: Trace, a: Any, shift: Any, axis: Any = None) -> Any:
    x = as_traced(trace, a)
    if axis is None and not isinstance(shift, (tuple, list, Traced)) and not np.ndim(shift):
        return fresh(trace, computed(trace.region, words_of_pieces.roll(shift.__index__()), x.var_))
    if axis is None:
        return roll(trace, np.ravel(x), shift, 0).reshape(x.shape)
    axes = normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)
    shifts = list(shift) if isinstance(shift, (tuple, list)) or np.ndim(shift) else [shift]
    if len(axes) > 1 and len(shifts) > 1 and len(axes) != len(shifts):
        raise ValueError("shape mismatch: objects cannot be broadcast to a single shape.")
    if any(isinstance(by, Traced) and by.constant is None for by in shifts):
        for at, by in zip(
            axes * (len(shifts) if len(axes) == 1 else 1), shifts * (len(axes) if len(shifts) == 1 else 1), strict=True
        ):
            n = x.shape[at]
            x = along(x, at, (np.arange(n) - by) % max(n, 1))
        return x
    known = tuple([by.__index__() for by in shifts])
    word = words_of_pieces.roll(known if len(known) > 1 else known[0], axes if len(axes) > 1 else axes[0])
    return fresh(trace, computed(trace.region, word, x.var_))


@meaning(np.tile)
def tile(trace: Trace, A: Any, reps: Any) -> Any:
    x = as_traced(trace, A)
    counts = [n.__index__() for n in reps] if np.ndim(reps) or isinstance(reps, (list, tuple)) else [reps.__index__()]
    if any(n < 0 for n in counts):
        raise ValueError("negative dimensions are not allowed")
    word = repeats_words.tile(tuple(counts) if len(counts) != 1 else counts[0]) if counts else identity
    return fresh(trace, computed(trace.region, word, x.var_))


@meaning(np.repeat)
@method("repeat")
def repeat(trace: Trace, a: Any, repeats: Any, axis: Any = None) -> Any:
    x = as_traced(trace, a)
    if axis is None or not x.ndim:
        x, axis = np.ravel(x), axis or 0
    axis = normalize_axis_index(axis, x.ndim)
    if isinstance(repeats, Traced) and repeats.constant is None:
        raise errors.TraceError(errors.shape_depends_on_data("np.repeat with counts that are data"))
    counts = np.asarray(getattr(repeats, "constant", repeats))
    np.repeat(np.arange(x.shape[axis]), counts)  # NumPy's own errors
    numbers = int(counts.reshape(())) if counts.size == 1 else tuple(counts.tolist())
    return fresh(trace, computed(trace.region, repeats_words.repeat(numbers, axis), x.var_))


@meaning(np.lib.stride_tricks.sliding_window_view, shares=True)
def sliding_window_view(
    trace: Trace, x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    array = as_traced(trace, x)
    np.lib.stride_tricks.sliding_window_view(np.empty(array.shape, bool), window_shape, axis)  # NumPy's own errors
    sizes = [n.__index__() for n in (window_shape if np.iterable(window_shape) else (window_shape,))]
    axes = range(array.ndim) if axis is None else normalize_axis_tuple(axis, array.ndim, allow_duplicate=True)
    for at, size in zip(axes, sizes, strict=True):
        starts = np.arange(array.shape[at] - size + 1)[:, None] + np.arange(size)
        order = [k for k in range(array.ndim + 1) if k != at + 1] + [at + 1]
        read = index[(slice(None),) * at + (arg,)] >> words.transpose(tuple(order))
        like = partial(np.lib.stride_tricks.sliding_window_view, window_shape=size, axis=at)
        why = "np.lib.stride_tricks, a read-only view"
        array = Traced(trace, None, View(array, read, None, like, False, (var_of(trace, starts),), why))
    return array


@meaning(np.resize)
def resize(trace: Trace, a: Any, new_shape: Any) -> Any:
    x = np.ravel(as_traced(trace, a))
    shape = sizes_of(new_shape)
    size = math.prod(shape)
    if any(n < 0 for n in shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    if not size or not x.size:
        return np.zeros_like(x, shape=shape)
    return tile(trace, x, -(-size // x.size))[:size].reshape(shape)


def _triangle(name: str, function: Any) -> None:
    def made(trace: Trace, m: Any, k: int = 0) -> Any:
        x = as_traced(trace, m)
        if not x.ndim:
            raise TypeError("tri() missing 1 required positional argument: 'N'")
        rows, columns = (x.shape[-1], x.shape[-1]) if x.ndim == 1 else x.shape[-2:]
        mask = np.tri(rows, columns, k=(k if name == "tril" else k - 1), dtype=bool)
        zero = x.dtype.type(0)
        return np.where(mask, x, zero) if name == "tril" else np.where(mask, zero, x)

    made.__name__ = name
    meaning(function)(made)


_triangle("tril", np.tril)
_triangle("triu", np.triu)


@meaning(np.rollaxis, shares=True)
def rollaxis(trace: Trace, a: Any, axis: int, start: int = 0) -> Any:
    x = as_traced(trace, a)
    shadow = np.rollaxis(np.broadcast_to(False, tuple(range(2, x.ndim + 2))), axis, start)
    return transposed(x, [n - 2 for n in shadow.shape])


# -- padding


@meaning(np.pad)
def pad(trace: Trace, array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    """Axis by axis, as NumPy: what an axis is padded with is taken from what was padded before."""
    x = as_traced(trace, array)
    if callable(mode):
        raise errors.TraceError(errors.unknown_parameter("np.pad", "a function as mode"))
    np.pad(np.zeros((2,) * x.ndim), 0, mode, **_of_two(options))  # NumPy's own errors
    widths = _pairs(x, pad_width, "pad_width")
    for axis, (before, after) in enumerate(widths):
        if before < 0 or after < 0:
            raise ValueError("index can't contain negative values")
        if before or after:
            x = _padded(trace, x, axis, before, after, mode, options)
    return x.copy() if not any(n for pair in widths for n in pair) else x


def _of_two(options: dict[str, Any]) -> dict[str, Any]:
    """The parameters, for a call that only checks their names."""
    return {key: value if key == "reflect_type" else None if key == "stat_length" else 0 for key, value in options.items()}


def _pairs(x: Traced, value: Any, name: str) -> list[Any]:
    """Two numbers for each axis: NumPy's ways to write them."""
    if isinstance(value, dict):
        pairs: list[Any] = [(0, 0)] * x.ndim
        for axis, one in value.items():
            pairs[axis] = tuple(one) if np.ndim(one) else (one, one)
        return pairs
    if isinstance(value, Traced) or not any_traced(value):
        found = np.broadcast_to(value, (x.ndim, 2))
        if name == "pad_width" and np.asarray(found).dtype.kind not in "iu":
            raise TypeError("`pad_width` must be of integral type.")
        return [(found[k, 0], found[k, 1]) for k in range(x.ndim)] if isinstance(value, Traced) else found.tolist()
    return _pairs(x, as_traced(x.trace_, value), name)


_BY_INDEX = ("edge", "reflect", "symmetric", "wrap")


def _padded(trace: Trace, x: Any, axis: int, before: int, after: int, mode: str, options: dict[str, Any]) -> Any:
    n = x.shape[axis]
    if mode in _BY_INDEX:
        if not n:
            raise ValueError(f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'")
        positions: Any = np.pad
        made = along(x, axis, positions(np.arange(n), (before, after), mode))
        odd = mode in ("reflect", "symmetric") and options.get("reflect_type", "even") == "odd"
        return _turned(x, made, axis, before, after, mode == "symmetric") if odd else made
    if mode == "empty":
        low = high = 0
    elif mode == "constant":
        low, high = _pairs(x, options.get("constant_values", 0), "constant_values")[axis]
        fill = _one_number(low, high, x.dtype)
        if fill is not None:
            return fresh(trace, computed(trace.region, words.pad(int(before), int(after), fill, axis), x.var_))
    elif mode == "linear_ramp":
        return _ramps(x, axis, (before, after), _pairs(x, options.get("end_values", 0), "end_values")[axis])
    elif mode in _STATISTICS:
        low, high = _statistics(x, axis, mode, options.get("stat_length"))
    else:
        raise ValueError(f"mode '{mode}' is not supported")
    parts = []
    for count, value in ((before, low), (after, high)):
        shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
        parts.append(np.broadcast_to(value.astype(x.dtype) if isinstance(value, Traced) else _as_entry(value, x.dtype), shape))
    return np.concatenate([parts[0], x, parts[1]], axis)


def _one_number(low: Any, high: Any, dtype: np.dtype[Any]) -> float | None:
    """The number with which a floating array is padded on both sides; None where it is not known, or where there are two."""
    if dtype.kind != "f" or any(isinstance(one, Traced) or np.ndim(one) for one in (low, high)):
        return None
    first, second = np.asarray(low).astype(dtype), np.asarray(high).astype(dtype)
    return float(first) if first.tobytes() == second.tobytes() else None


def _as_entry(value: Any, dtype: np.dtype[Any]) -> Any:
    """A number as an entry of an array of a dtype; one that the dtype does not hold is NumPy's error."""
    made = np.zeros(np.shape(value), dtype)
    made[...] = value
    return made


def _turned(x: Any, made: Any, axis: int, before: int, after: int, repeats: bool) -> Any:
    """The reflected entries, turned around the ends of the array."""
    n = x.shape[axis]
    if max(before, after) > n - (not repeats):
        raise errors.TraceError(errors.unknown_parameter("np.pad", "reflect_type='odd' and more entries than the axis has"))
    low, high = (along(x, axis, slice(k, k + 1)) for k in (0, n - 1))
    parts = [along(made, axis, part) for part in (slice(0, before), slice(before, before + n), slice(before + n, None))]
    ends = [(2 * end - part).astype(x.dtype, copy=False) for end, part in ((low, parts[0]), (high, parts[2]))]
    return np.concatenate([ends[0], parts[1], ends[1]], axis)


_STATISTICS: dict[str, Callable[..., Any]] = {"maximum": np.max, "minimum": np.min, "mean": np.mean, "median": np.median}


def _statistics(x: Any, axis: int, mode: str, length: Any) -> list[Any]:
    n = x.shape[axis]
    lengths = (None, None) if length is None else _pairs(x, length, "stat_length")[axis]
    ends = [slice(0, lengths[0]), slice(None if lengths[1] is None else max(n - lengths[1], 0), None)]
    made = [_STATISTICS[mode](along(x, axis, end), axis=axis, keepdims=True) for end in ends]
    return [np.rint(one) if x.dtype.kind in "iu" and mode in ("mean", "median") else one for one in made]


def _ramps(x: Any, axis: int, widths: tuple[int, int], ends: Any) -> Any:
    """Straight lines from the ends of the array to given values."""
    parts = []
    for width, end, edge in zip(widths, ends, (slice(0, 1), slice(-1, None)), strict=True):
        if x.dtype.kind == "u" and not (isinstance(end, Traced) or end >= 0):
            raise errors.TraceError(errors.unknown_parameter("np.pad", "end_values below 0 for unsigned integers"))
        start = np.squeeze(along(x, axis, edge), axis)
        parts.append(np.linspace(end, start, width, endpoint=False, dtype=x.dtype, axis=axis))
    return np.concatenate([parts[0], x, np.flip(parts[1], axis)], axis)
