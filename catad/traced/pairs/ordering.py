"""Order of complex numbers, as NumPy has it: by the real part, then by the imaginary part; NaN last, and first among extrema.

Positions come from comparisons alone, and entries are read at them: so derivatives are those of reading.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from catad import errors
from catad.traced.arrays.stand_in import Traced
from catad.traced.pairs.stand_in import Complex, as_pair
from catad.traced.recorder import Trace


def _rank(re: Any, im: Any) -> Any:
    """Numbers before those with NaN as imaginary part, then those with NaN as real part, then those with both."""
    return np.where(np.isnan(re), 2, 0) + np.where(np.isnan(im), 1, 0)


def _line(z: Complex, axis: Any) -> tuple[Any, int]:
    if axis is None:
        return z.reshape(-1), 0
    return z, normalize_axis_index(axis, z.ndim)


def argsort(trace: Trace, a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    np.sort(np.empty(0), -1, kind, order, stable=stable)  # NumPy's own errors
    line, at = _line(as_pair(trace, a), axis)
    return np.lexsort((line.im, line.re, _rank(line.re, line.im)), axis=at)


def sort(trace: Trace, a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    line, at = _line(as_pair(trace, a), axis)
    return np.take_along_axis(line, argsort(trace, line, at, kind, order, stable=stable), at)


def _partitioned(whole: Callable[..., Any]) -> Callable[..., Any]:
    def made(trace: Trace, a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Any:
        known = kth.constant if isinstance(kth, Traced) else kth
        if known is None:
            raise errors.TraceError(errors.needs_a_number(kth, "kth of np.partition"))
        np.partition(np.empty(as_pair(trace, a).shape, bool), known, axis, kind, order)  # NumPy's own errors
        return whole(trace, a, axis)

    return made


def put_in_order(z: Complex, name: str, *args: Any, **options: Any) -> None:
    """The methods `sort` and `partition`, which change the array."""
    z[...] = OWN[name](z.trace_, z.copy(), *args, **options)


# -- extrema


def _position(extremum: Any, z: Complex, axis: int) -> Any:
    """The first largest or smallest entry along an axis; the first NaN, where there is one."""
    worst = -math.inf if extremum is np.max else math.inf
    missing = np.isnan(z)
    best = extremum(np.where(missing, worst, z.re), axis=axis, keepdims=True)
    there = (z.re == best) & ~missing
    second = extremum(np.where(there, z.im, worst), axis=axis, keepdims=True)
    hit = there & (z.im == second)
    return np.argmax(np.where(np.any(missing, axis=axis, keepdims=True), missing, hit), axis=axis, keepdims=True)


def _arg(extremum: Any) -> Callable[..., Any]:
    def made(trace: Trace, a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        z = as_pair(trace, a)
        line, at = _line(z, axis)
        if not line.shape[at]:
            return np.argmax(line.re, axis=at)  # NumPy's own error
        found = _position(extremum, line, at)
        if not keepdims:
            return np.squeeze(found, at) if axis is not None else found.reshape(())[()]
        return found if axis is not None else found.reshape((1,) * z.ndim)

    return made


def _extremum(extremum: Any, pairwise: np.ufunc) -> Callable[..., Any]:
    def made(trace: Trace, a: Any, axis: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = True) -> Any:
        name = f"np.{extremum.__name__}"
        z: Any = as_pair(trace, a)
        if where is not True:
            raise errors.TraceError(errors.not_for_complex(f"{name} with where="))
        axes = tuple(range(z.ndim)) if axis is None else normalize_axis_tuple(axis, z.ndim)
        rest = [k for k in range(z.ndim) if k not in axes]
        n = math.prod([z.shape[k] for k in axes])
        line: Any = np.transpose(z, [*rest, *axes]).reshape([*[z.shape[k] for k in rest], n])
        if not n:
            if initial is None:
                raise ValueError(f"zero-size array to reduction operation {pairwise.__name__} which has no identity")
            one = np.full(line.shape[:-1], initial, z.dtype)
        else:
            one = np.take_along_axis(line, _position(extremum, line, line.ndim - 1), -1)[..., 0]
            one = one if initial is None else pairwise(initial, one).astype(z.dtype)
        return one.reshape([1 if k in axes else m for k, m in enumerate(z.shape)]) if keepdims else one

    return made


largest, smallest = _extremum(np.max, np.maximum), _extremum(np.min, np.minimum)


def _clip(trace: Trace, a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = a_min if min is None else min, a_max if max is None else max
    made: Any = as_pair(trace, a)
    made = made if low is None else np.maximum(made, low)
    return np.positive(made) if high is None else np.minimum(made, high)


def _median(trace: Trace, a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Any:
    line, at = _line(as_pair(trace, a), axis)
    n = line.shape[at]
    if not n:
        raise errors.TraceError(errors.not_for_complex("np.median of no numbers"))
    found = np.moveaxis(sort(trace, line, at), at, -1)
    middle = found[..., (n - 1) // 2 : n // 2 + 1]
    made = np.where(np.isnan(found[..., -1]), found[..., -1], middle.mean(axis=-1))
    if not keepdims:
        return made
    return np.expand_dims(made, at) if axis is not None else made.reshape((1,) * as_pair(trace, a).ndim)


OWN: dict[str, Callable[..., Any]] = {
    "sort": sort, "argsort": argsort, "partition": _partitioned(sort), "argpartition": _partitioned(argsort),
    "argmax": _arg(np.max), "argmin": _arg(np.min), "max": largest, "min": smallest, "amax": largest, "amin": smallest,
    "clip": _clip, "median": _median,
    "ptp": lambda trace, a, *args, **more: largest(trace, a, *args, **more) - smallest(trace, a, *args, **more),
}  # fmt: skip
