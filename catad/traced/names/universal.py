"""Universal functions that are more than one word: whole powers of integers, remainders, parts of numbers; and the methods of
universal functions (`reduce`, `accumulate`, `outer`, `at`)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from catad import errors, scalar
from catad.traced.arrays.indexing import parsed
from catad.traced.arrays.operators import cast, pointwise, resolved
from catad.traced.arrays.promotion import check_write
from catad.traced.arrays.protocols import put_in
from catad.traced.arrays.stand_in import Traced, computed, fresh, var_of
from catad.traced.control.decisions import unroll_for
from catad.traced.names.shapes import as_traced
from catad.traced.recorder import Trace
from catad.traced.table import FUNCTIONS, SPECIAL, ufunc_method
from catad.vector.folds.fold import fold
from catad.vector.indexing.at import at
from catad.vector.pointwise.map import MapOf
from catad.vector.scans.scan import scan


def _power(trace: Trace, x: Any, n: Any) -> Any:
    """Whole exponents of whole numbers by repeated squaring, which wraps as NumPy does; exponent 1/2 as NumPy's square root."""
    dtype = resolved(trace, np.power, x, n)[-1]
    known = n.constant if isinstance(n, Traced) else np.asarray(n)
    if dtype.kind == "f":
        is_root = known is not None and not known.ndim and known == 0.5
        if is_root and not (isinstance(x, Traced) and x.var_.weak) and not isinstance(x, (int, float)):
            return pointwise(trace, np.sqrt, x.astype(dtype, copy=False))
        return NotImplemented
    if known is not None and known.size and known.min() < 0 and (dtype.kind == "i" or not isinstance(n, int)):
        raise ValueError("Integers to negative integer powers are not allowed.")
    if known is not None and not known.ndim:
        return (
            NotImplemented
            if isinstance(n, int)
            else pointwise(trace, np.power, as_traced(trace, x).astype(dtype), int(known))
        )
    exponent = as_traced(trace, n)
    if known is None and exponent.dtype.kind == "i":
        unroll_for(trace, exponent.var_)
        raise errors.TraceError(errors.whole_power())
    bits = int(known.max(initial=0)).bit_length() if known is not None else 8 * exponent.dtype.itemsize
    base, exponent, one = as_traced(trace, x).astype(dtype), exponent.astype(dtype), dtype.type(1)
    made: Any = np.where(exponent & one == one, base, one)
    for k in range(1, bits):
        base = base * base
        made = np.where((exponent >> dtype.type(k)) & one == one, made * base, made)
    return made


def _reciprocal(trace: Trace, x: Any) -> Any:
    """Of integers: 1 and -1 stay, others become 0; of 0 what NumPy gives."""
    dtype = resolved(trace, np.reciprocal, x)[-1]
    if dtype.kind == "f":
        return NotImplemented
    array = as_traced(trace, x).astype(dtype)
    with np.errstate(all="ignore"):
        of_zero = np.reciprocal(np.zeros(1, dtype))[0]
    return np.where(array == 0, of_zero, np.where(abs(array) == 1, array, dtype.type(0)))


def _divmod(trace: Trace, x: Any, y: Any) -> Any:
    return pointwise(trace, np.floor_divide, x, y), pointwise(trace, np.remainder, x, y)


def _parts(ufunc: np.ufunc) -> Any:
    """Functions with two results."""

    def made(trace: Trace, x: Any) -> Any:
        dtypes = resolved(trace, ufunc, x)
        outs = computed(trace.region, MapOf(scalar.read(ufunc)), cast(trace, var_of(trace, x), dtypes[0]))
        return tuple([fresh(trace, cast(trace, out, dtype)) for out, dtype in zip(outs, dtypes[1:], strict=True)])

    return made


def _heaviside(trace: Trace, x: Any, y: Any) -> Any:
    dtype = resolved(trace, np.heaviside, x, y)[-1]
    x, y = (as_traced(trace, one).astype(dtype) for one in (x, y))
    step = np.where(x > 0, dtype.type(1), np.where(x == 0, y, dtype.type(0)))
    return np.where(np.isnan(x), x, step)


def _logaddexp2(trace: Trace, x: Any, y: Any) -> Any:
    dtype = resolved(trace, np.logaddexp2, x, y)[-1]
    x, y = (as_traced(trace, one).astype(dtype) * math.log(2.0) for one in (x, y))
    return pointwise(trace, np.logaddexp, x, y) / math.log(2.0)


def _conjugate(trace: Trace, x: Any) -> Any:
    return as_traced(trace, x).astype(resolved(trace, np.conjugate, x)[-1])


SPECIAL |= {
    np.power: _power, np.reciprocal: _reciprocal, np.divmod: _divmod, np.modf: _parts(np.modf), np.frexp: _parts(np.frexp),
    np.heaviside: _heaviside, np.logaddexp2: _logaddexp2, np.conjugate: _conjugate,
}  # fmt: skip


# -- methods


_REDUCTIONS = {
    np.add: np.sum, np.multiply: np.prod, np.maximum: np.max, np.minimum: np.min, np.logical_and: np.all, np.logical_or: np.any,
}  # fmt: skip
_CUMULATIVE = {np.add: np.cumsum, np.multiply: np.cumprod}
_NEUTRAL: dict[np.ufunc, Any] = {
    np.logaddexp: -math.inf, np.fmax: math.nan, np.fmin: math.nan, np.bitwise_or: 0, np.bitwise_xor: 0,
    np.bitwise_and: -1, np.maximum: -math.inf, np.minimum: math.inf, np.logical_and: True, np.logical_or: False,
    np.logical_xor: False,
}  # fmt: skip


def neutral_of(ufunc: np.ufunc, dtype: np.dtype[Any]) -> Any:
    """The neutral element of a universal function in a dtype."""
    number = _NEUTRAL.get(ufunc)
    if number is None:
        raise errors.TraceError(
            errors.unknown_function(f"np.{ufunc.__name__}.reduce", "write the steps as a loop, or use np.sum")
        )
    if dtype.kind == "f":
        return number
    if dtype.kind == "b":
        return bool(number == -1 or number is True or number == math.inf)
    limits = np.iinfo(dtype)
    if isinstance(number, float):
        return int(limits.max if ufunc in (np.minimum, np.fmin) else limits.min)
    return int(limits.max) if number == -1 and dtype.kind == "u" else int(number)


@ufunc_method("reduce")
def reduce(
    trace: Trace, ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False,
    initial: Any = None, where: Any = True,
) -> Any:  # fmt: skip
    """`ufunc.reduce`: along the first axis unless another one is given."""
    x = as_traced(trace, array)
    dtype = _asked(ufunc, x, dtype, out)
    if ufunc.nin != 2:
        raise ValueError("reduce only supported for binary functions")
    options: dict[str, Any] = {} if initial is None else {"initial": initial}
    options |= {} if where is True else {"where": where}
    if x.dtype.kind == "b":
        ufunc = np.maximum if ufunc is np.fmax else np.minimum if ufunc is np.fmin else ufunc
    if ufunc not in _REDUCTIONS:
        made = _folded(trace, ufunc, x if dtype is None else x.astype(dtype), axis, keepdims, **options)
    elif ufunc in (np.logical_and, np.logical_or):
        made = FUNCTIONS[_REDUCTIONS[ufunc]](trace, x, axis, keepdims=keepdims, **options)
    else:
        x = x if dtype is None else x.astype(dtype)
        made = FUNCTIONS[_REDUCTIONS[ufunc]](trace, x, axis, keepdims=keepdims, **options)
        made = made if dtype is None else made.astype(dtype, copy=False)
    return made if out is None else put_in(made, out)


def _asked(ufunc: np.ufunc, x: Any, dtype: Any, out: Any) -> Any:
    """The dtype to compute in: sums and products take that of the result."""
    target = out[0] if isinstance(out, tuple) else out
    finer = target is not None and dtype is None and ufunc in _CUMULATIVE and (x.dtype, target.dtype) == (np.float32, np.float64)
    return target.dtype if finer else dtype


def _folded(
    trace: Trace, ufunc: np.ufunc, x: Any, axis: Any, keepdims: bool, initial: Any = None, where: Any = True
) -> Any:
    """A fold by a universal function that has a neutral element."""
    dtypes = ufunc.resolve_dtypes((x.dtype, x.dtype, None))
    x = x.astype(dtypes[0], copy=False)
    neutral = neutral_of(ufunc, dtypes[0])
    if where is not True:
        x = np.where(where, x, dtypes[0].type(neutral))
    line, kept = lines(x, axis, True)
    if not line.shape[-1] and ufunc in (np.fmax, np.fmin):
        raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
    made: Any = fresh(trace, computed(trace.region, fold(ufunc, neutral, axis=line.ndim - 1), line.var_))
    made = made.reshape(kept) if keepdims else made
    return made if initial is None else pointwise(trace, ufunc, made, initial)


def lines(x: Any, axis: Any, lenient: bool = False) -> tuple[Any, tuple[int, ...]]:
    """The array with some axes as one, which is its last; and the shape of a result that keeps these axes with size 1."""
    if lenient and not x.ndim and axis in (0, -1):
        axis = None
    axes = tuple(range(x.ndim)) if axis is None else normalize_axis_tuple(axis, x.ndim)
    rest = [k for k in range(x.ndim) if k not in axes]
    kept = tuple([1 if k in axes else n for k, n in enumerate(x.shape)])
    if len(axes) == 1 and axes[0] == x.ndim - 1:
        return x, kept
    moved = np.transpose(x, [*rest, *sorted(axes)])
    return moved.reshape([x.shape[k] for k in rest] + [math.prod([x.shape[k] for k in axes])]), kept


@ufunc_method("accumulate")
def accumulate(trace: Trace, ufunc: np.ufunc, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    """`ufunc.accumulate`: all prefixes along an axis."""
    x = as_traced(trace, array)
    dtype = _asked(ufunc, x, dtype, out)
    if not x.ndim:
        raise TypeError("cannot accumulate on a scalar")
    axis = normalize_axis_index(axis, x.ndim)
    if ufunc in _CUMULATIVE:
        made = FUNCTIONS[_CUMULATIVE[ufunc]](trace, x, axis, dtype)
    else:
        x = x if dtype is None else x.astype(dtype)
        wanted = ufunc.resolve_dtypes((x.dtype, x.dtype, None))
        x = x.astype(wanted[0], copy=False)
        made = fresh(trace, computed(trace.region, scan(ufunc, neutral_of(ufunc, x.dtype), axis=axis), x.var_))
    return made if out is None else put_in(made, out)


@ufunc_method("outer")
def outer(trace: Trace, ufunc: np.ufunc, a: Any, b: Any, dtype: Any = None) -> Any:
    """`ufunc.outer`: all pairs."""
    x, y = (as_traced(trace, one if isinstance(one, (Traced, list, tuple)) else np.asarray(one)) for one in (a, b))
    wide = x.reshape(x.shape + (1,) * y.ndim) if y.ndim else x
    return pointwise(trace, ufunc, wide, y, dtype=dtype)


_AT = {np.add: "add", np.multiply: "mul", np.maximum: "max", np.minimum: "min", np.subtract: "add"}


@ufunc_method("at")
def at_(trace: Trace, ufunc: np.ufunc, a: Any, indices: Any, b: Any = None) -> None:
    """`ufunc.at`: in place, each index as often as it is there."""
    if not isinstance(a, Traced):
        raise errors.TraceError(errors.write_to_captured("the array given to ufunc.at"))
    if ufunc not in _AT:
        raise errors.TraceError(
            errors.unknown_function(f"np.{ufunc.__name__}.at", "add, multiply, maximum and minimum have .at")
        )
    wide = resolved(trace, ufunc, a, b)[-1]
    if not np.can_cast(wide, a.dtype, "same_kind"):
        raise errors.TraceError(errors.rounds_each_time(ufunc, wide, a.dtype))
    check_write(a, as_traced(trace, b).var_)
    value = as_traced(trace, b).astype(wide)
    var = (pointwise(trace, np.negative, value) if ufunc is np.subtract else value).var_
    key = parsed(a, indices if isinstance(indices, (tuple, slice)) else as_traced(trace, indices))
    term = getattr(at[key.parts], _AT[ufunc])
    a.write(computed(trace.region, term, (a.var_, *key.indices, var)))


_IN_LARGER = {np.logical_or: np.maximum, np.logical_and: np.minimum}


@ufunc_method("reduceat")
def reduceat(
    trace: Trace, ufunc: np.ufunc, array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None
) -> Any:
    """`ufunc.reduceat`: of the entries from each index to the next one, or the entry alone where that is not larger."""
    starts = as_traced(trace, np.zeros(0, np.intp) if isinstance(indices, list) and not indices else indices).constant
    name = f"np.{ufunc.__name__}.reduceat"
    if starts is None:
        raise errors.TraceError(errors.unknown_function(f"{name} with indices that are data", "np.add.at"))
    if ufunc not in _AT and ufunc not in _IN_LARGER:
        raise errors.TraceError(errors.unknown_function(name, "ufunc.reduce of slices"))
    x = as_traced(trace, array)
    kind = ufunc.reduceat(np.ones(1, x.dtype), [0], dtype=dtype).dtype
    axis = normalize_axis_index(axis, x.ndim)
    n = x.shape[axis]
    ufunc.reduceat(np.ones(n, x.dtype), starts)  # NumPy's own errors
    x = np.moveaxis(x, axis, 0).astype(bool if ufunc in _IN_LARGER else kind)
    x = x.astype(np.int8) if ufunc in _IN_LARGER else x
    further = [np.arange(a + 1, b) for a, b in zip(starts, [*starts[1:], n], strict=False)]
    made = np.take(x, starts, axis=0).copy()
    if any(len(part) for part in further):
        owner = np.repeat(np.arange(len(starts)), [len(part) for part in further])
        at_(trace, _IN_LARGER.get(ufunc, ufunc), made, owner, np.take(x, np.concatenate(further), axis=0))
    made = np.moveaxis(made.astype(kind), 0, axis)
    return made if out is None else put_in(made, out)
