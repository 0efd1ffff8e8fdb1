"""Along an axis: prefix sums and products, differences, gradients, integrals, convolutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from catad import errors
from catad import fft as words
from catad.category.terms import D
from catad.traced.arrays.operators import common_dtype, matmul, pointwise
from catad.traced.names.moving import along
from catad.traced.names.shapes import as_traced
from catad.traced.names.sums import one_line, strong
from catad.traced.recorder import Trace
from catad.traced.table import meaning, method
from catad.vector.scans import cumulative
from catad.vector.shapes import split


def _prefixes(word: Callable[..., D], neutral: int, skips_nan: bool) -> Callable[..., Any]:
    def made(trace: Trace, a: Any, axis: Any = None, dtype: Any = None) -> Any:
        x = strong(trace, a)
        if skips_nan and x.dtype.kind == "f":
            x = np.where(np.isnan(x), x.dtype.type(neutral), x)
        x = x if dtype is None else x.astype(dtype)
        if axis is not None:
            axis = normalize_axis_index(axis, max(x.ndim, 1))
        if not x.ndim:
            x = x.reshape(1)
        out = one_line(trace, word(axis), x)
        return out if dtype is None else out.astype(dtype, copy=False)

    return made


cumsum = method("cumsum")(meaning(np.cumsum)(_prefixes(cumulative.cumsum, 0, False)))
cumprod = method("cumprod")(meaning(np.cumprod)(_prefixes(cumulative.cumprod, 1, False)))
meaning(np.nancumsum)(_prefixes(cumulative.cumsum, 0, True))
meaning(np.nancumprod)(_prefixes(cumulative.cumprod, 1, True))


def _cumulative(plain: Callable[..., Any], neutral: int) -> Callable[..., Any]:
    def made(trace: Trace, x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
        array = as_traced(trace, x)
        if axis is None:
            if array.ndim > 1:
                raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
            axis = 0
        out = plain(trace, array, axis, dtype)
        if not include_initial:
            return out
        axis = normalize_axis_index(axis, out.ndim)
        first = np.full((*out.shape[:axis], 1, *out.shape[axis + 1 :]), neutral, out.dtype)
        return np.concatenate([first, out], axis)

    return made


meaning(getattr(np, "cumulative_sum", None))(_cumulative(cumsum, 0))
meaning(getattr(np, "cumulative_prod", None))(_cumulative(cumprod, 1))


@meaning(np.diff)
def diff(trace: Trace, a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    x = strong(trace, a)
    n = n.__index__()
    if n == 0:
        return x
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    if not x.ndim:
        raise ValueError("diff requires input that is at least one dimensional")
    given, axis = axis, normalize_axis_index(axis, x.ndim)
    parts = []
    for part in (prepend, x, append):
        if part is not None:
            one = as_traced(trace, part)
            parts.append(np.broadcast_to(one, (*x.shape[:axis], 1, *x.shape[axis + 1 :])) if not one.ndim else one)
    x = np.concatenate(parts, axis) if len(parts) > 1 else x
    return one_line(trace, split.diff(n, given.__index__()), x)


@meaning(np.ediff1d)
def ediff1d(trace: Trace, ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    x = np.ravel(strong(trace, ary))
    ends = [None if end is None else np.ravel(as_traced(trace, end)) for end in (to_begin, to_end)]
    for name, end in zip(("to_begin", "to_end"), ends, strict=True):
        if end is not None and not np.can_cast(end.dtype, x.dtype, "same_kind"):
            raise TypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")
    middle = x[1:] - x[:-1]
    parts = [ends[0], middle, ends[1]]
    return np.concatenate([part.astype(x.dtype, copy=False) for part in parts if part is not None])


@meaning(np.gradient)
def gradient(trace: Trace, f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    x = as_traced(trace, f)
    axes = tuple(range(x.ndim)) if axis is None else normalize_axis_tuple(axis, x.ndim)
    spacings = list(varargs) * (len(axes) if len(varargs) == 1 and np.ndim(varargs[0]) == 0 else 1) or [1.0] * len(axes)
    if len(spacings) != len(axes):
        raise TypeError("invalid number of arguments")
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    x = x.astype(np.float64) if x.dtype.kind in "iu" else x
    made = [_slope(trace, x, at, h, edge_order) for at, h in zip(axes, spacings, strict=True)]
    return made[0] if len(made) == 1 else tuple(made)


def _steps(trace: Trace, h: Any, n: int) -> Any:
    """One step, or the steps between given coordinates."""
    if not np.ndim(h):
        return h
    places = as_traced(trace, h)
    if places.ndim != 1:
        raise ValueError("distances must be either scalars or 1d")
    if len(places) != n:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    steps = diff(trace, places if places.dtype.kind == "f" else places.astype(np.float64))
    known = steps.constant
    return known[0] if known is not None and known.size and (known == known[0]).all() else steps


def _slope(trace: Trace, x: Any, axis: int, h: Any, order: int) -> Any:
    n = x.shape[axis]
    if n < order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are required."
        )
    h = _steps(trace, h, n)

    def part(first: int | None, last: int | None) -> Any:
        return along(x, axis, slice(first, last))

    def wide(step: Any) -> Any:
        return step.reshape([-1 if k == axis else 1 for k in range(x.ndim)]) if np.ndim(step) else step

    uniform = not np.ndim(h)
    if uniform:
        middle = (part(2, None) - part(None, -2)) / (2.0 * h)
        low = high = h
    else:
        d1, d2 = wide(h[:-1]), wide(h[1:])
        a, b, c = -d2 / (d1 * (d1 + d2)), (d2 - d1) / (d1 * d2), d1 / (d2 * (d1 + d2))
        middle = a * part(None, -2) + b * part(1, -1) + c * part(2, None)
        low, high = h[0], h[-1]
    if order == 1:
        ends = [(part(1, 2) - part(0, 1)) / low, (part(n - 1, n) - part(n - 2, n - 1)) / high]
    else:
        (a, b, c), (d, e, f) = _edges(h, uniform)
        ends = [
            a * part(0, 1) + b * part(1, 2) + c * part(2, 3),
            d * part(n - 3, n - 2) + e * part(n - 2, n - 1) + f * part(n - 1, n),
        ]
    return np.concatenate([ends[0], middle, ends[1]], axis).astype(x.dtype, copy=False)


def _edges(h: Any, uniform: bool) -> tuple[tuple[Any, Any, Any], tuple[Any, Any, Any]]:
    """The weights of slopes of second order at both ends."""
    if uniform:
        return (-1.5 / h, 2.0 / h, -0.5 / h), (0.5 / h, -2.0 / h, 1.5 / h)
    d1, d2 = h[0], h[1]
    first = (-(2.0 * d1 + d2) / (d1 * (d1 + d2)), (d1 + d2) / (d1 * d2), -d1 / (d2 * (d1 + d2)))
    d1, d2 = h[-2], h[-1]
    return first, (d2 / (d1 * (d1 + d2)), -(d2 + d1) / (d1 * d2), (2.0 * d2 + d1) / (d2 * (d1 + d2)))


@meaning(np.trapezoid)
def trapezoid(trace: Trace, y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    values = as_traced(trace, y)
    axis = normalize_axis_index(axis, values.ndim)
    if x is not None:
        places = as_traced(trace, x)
        dx = diff(trace, places, axis=-1 if places.ndim == 1 else axis)
        dx = dx.reshape([-1 if k == axis else 1 for k in range(values.ndim)]) if places.ndim == 1 else dx
    pairs = along(values, axis, slice(1, None)) + along(values, axis, slice(None, -1))
    return np.sum((pairs if not np.ndim(dx) and isinstance(dx, (int, float)) and dx == 1 else dx * pairs) / 2.0, axis=axis)


# -- convolutions

LONG = 64  # entries of the shorter array from which spectra are quicker than sums: examples/experiments/convolutions.py

def _convolved(trace: Trace, a: Any, v: Any, mode: str) -> Any:
    """Sums over shifts: the longer array in windows, times the shorter one turned around; long ones by their spectra."""
    n, m = len(a), len(v)
    before, after = {"full": (m - 1, m - 1), "same": (m // 2, (m - 1) // 2), "valid": (0, 0)}[mode]
    dtype = np.result_type(a.dtype, v.dtype)
    if m >= LONG and dtype.kind == "f":
        return one_line(trace, words.fftconvolve(mode, local=True), a.astype(dtype), v.astype(dtype))
    padded = np.pad(a.astype(dtype), (before, after))
    count = n + before + after - m + 1
    windows = padded[np.arange(count)[:, None] + np.arange(m)]
    return matmul(trace, windows, v.astype(dtype)[::-1])


def _checked(trace: Trace, a: Any, v: Any, mode: Any) -> tuple[Any, Any]:
    x, y = (np.atleast_1d(as_traced(trace, one)) for one in (a, v))
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    if x.ndim > 1 or y.ndim > 1:
        raise ValueError("object too deep for desired array")
    if not len(x):
        raise ValueError("a cannot be empty")
    if not len(y):
        raise ValueError("v cannot be empty")
    return x, y


@meaning(np.convolve)
def convolve(trace: Trace, a: Any, v: Any, mode: str = "full") -> Any:
    x, y = _checked(trace, a, v, mode)
    return _convolved(trace, *((y, x) if len(y) > len(x) else (x, y)), mode)


@meaning(np.correlate)
def correlate(trace: Trace, a: Any, v: Any, mode: str = "valid") -> Any:
    x, y = _checked(trace, a, v, mode)
    if len(y) > len(x):
        return _convolved(trace, y, x[::-1], mode)[::-1]
    return _convolved(trace, x, y[::-1], mode)


# -- polynomials


@meaning(np.polyval)
def polyval(trace: Trace, p: Any, x: Any) -> Any:
    coefficients, at = as_traced(trace, p), as_traced(trace, x)
    made: Any = np.zeros_like(at)
    for k in range(len(coefficients)):
        made = made * at + coefficients[k]
    return made


@meaning(np.vander)
def vander(trace: Trace, x: Any, N: Any = None, increasing: bool = False) -> Any:
    array = as_traced(trace, x)
    if array.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    n = len(array) if N is None else N.__index__()
    dtype = np.result_type(array.dtype, int)
    columns = [np.ones(len(array), dtype)]
    for _ in range(n - 1):
        columns.append(columns[-1] * array.astype(dtype))
    made = np.stack(columns[:n], 1) if n else np.zeros((len(array), 0), dtype)
    return made if increasing else np.flip(made, 1)


@meaning(np.cov)
def cov(
    trace: Trace, m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, fweights: Any = None,
    aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    x = as_traced(trace, m)
    if fweights is not None or aweights is not None:
        raise errors.TraceError(errors.unknown_parameter("np.cov", "fweights" if fweights is not None else "aweights"))
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    if x.ndim > 2 or (y is not None and as_traced(trace, y).ndim > 2):
        raise ValueError("m has more than 2 dimensions" if x.ndim > 2 else "y has more than 2 dimensions")
    kinds = [x.dtype, np.dtype(np.float64), *([] if y is None else [as_traced(trace, y).dtype])]
    kind = np.dtype(dtype) if dtype is not None else np.result_type(*kinds)
    parts = [np.atleast_2d(as_traced(trace, one).astype(kind)) for one in ([x] if y is None else [x, y])]
    parts = [one.T if not rowvar and one.shape[0] != 1 else one for one in parts]
    rows = parts[0] if y is None else np.concatenate(parts, 0)
    ddof = (0 if bias else 1) if ddof is None else ddof
    count = max(rows.shape[1] - ddof, 0.0)
    centred = rows - np.mean(rows, axis=1, keepdims=True)
    return np.squeeze(pointwise(trace, np.divide, matmul(trace, centred, centred.T), float(count)))


@meaning(np.unwrap)
def unwrap(trace: Trace, p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Any:
    x = as_traced(trace, p)
    step = np.diff(x, axis=axis)
    kind = common_dtype(trace, step, period)
    half, rest = (period / 2, 0) if kind.kind == "f" else divmod(period, 2)
    small = np.mod(step + half, period) - half
    if not rest:
        small = np.where((small == -half) & (step > 0), half, small)
    jump = np.where(np.abs(step) < (period / 2 if discont is None else discont), 0, small - step)
    made = x.astype(kind)
    moved = np.moveaxis(made, axis, 0)
    moved[1:] += np.moveaxis(np.cumsum(jump, axis), axis, 0)
    return made


@meaning(np.corrcoef)
def corrcoef(trace: Trace, x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    c = cov(trace, x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return c / c
    deviation = np.sqrt(np.diagonal(c))
    return np.clip(c / deviation[:, None] / deviation[None, :], -1, 1)
