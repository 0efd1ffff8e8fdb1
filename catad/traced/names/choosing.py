"""Choosing by conditions: `np.where`, `np.clip` and their like; comparing whole arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from catad import errors
from catad.traced.arrays.masked import Masked
from catad.traced.arrays.operators import cast, common_dtype, operand, pointwise, weakened
from catad.traced.arrays.stand_in import Traced, computed, fresh, var_of
from catad.traced.inlining import any_traced
from catad.traced.names.shapes import as_traced
from catad.traced.recorder import Trace
from catad.traced.table import meaning, method, python_meaning
from catad.values.arrays import is_weak
from catad.vector.pointwise import logic

_side = operand if np.lib.NumpyVersion(np.__version__) >= "2.5.0" else cast  # an int that integers do not hold wrapped before


@meaning(np.where)
def where(trace: Trace, condition: Any, *sides: Any) -> Any:
    if not sides:
        raise errors.TraceError(errors.shape_depends_on_data("np.where(mask), which gives the positions"))
    if len(sides) == 1:
        raise ValueError("either both or neither of x and y should be given")
    if any(isinstance(one, Masked) for one in (condition, *sides)):
        raise errors.TraceError(errors.shape_depends_on_data("np.where of x[mask]"))
    test = as_traced(trace, condition)
    if test.dtype.kind != "b":
        test = pointwise(trace, np.not_equal, test, 0)
    a, b = (as_traced(trace, one) if isinstance(one, (list, tuple)) else one for one in sides)
    dtype = common_dtype(trace, a, b)
    vars_ = [_side(trace, var_of(trace, one), dtype) for one in (a, b)]
    np.broadcast_shapes(test.shape, *[var.space.shape for var in vars_])  # NumPy's own error
    made = fresh(trace, computed(trace.region, logic.where, (test.var_, *vars_)))
    made.is_array = True
    return made


@meaning(np.clip)
@method("clip")
def clip(
    trace: Trace,
    a: Any,
    a_min: Any = None,
    a_max: Any = None,
    *,
    min: Any = None,
    max: Any = None,
    dtype: Any = None,
    casting: Any = "same_kind",
) -> Any:
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    made = a if isinstance(a, Masked) else as_traced(trace, a)
    if dtype is not None:
        made, low, high = (
            one if one is None else as_traced(trace, one).astype(dtype, casting="unsafe" if is_weak(one) else casting)
            for one in (made, low, high)
        )
    if made.dtype.kind in "iu":  # numbers out of range are no bounds
        limits = np.iinfo(made.dtype)
        low = None if type(low) is int and low <= limits.min else low
        high = None if type(high) is int and high >= limits.max else high
    if low is None and high is None:
        made = pointwise(trace, np.positive, made)
    if low is not None:
        made = pointwise(trace, np.maximum, made, low)
    if high is not None:
        made = pointwise(trace, np.minimum, made, high)
    return made


@meaning(np.nan_to_num)
def nan_to_num(trace: Trace, x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    array = as_traced(trace, x)
    made: Any = array
    if array.dtype.kind == "f":
        limits = np.finfo(array.dtype)
        kind = array.dtype.type
        made = np.where(np.isnan(array), _number(nan, kind), array)
        made = np.where(array == np.inf, _number(limits.max if posinf is None else posinf, kind), made)
        made = np.where(array == -np.inf, _number(limits.min if neginf is None else neginf, kind), made)
    else:
        made = array.copy()
    if copy or not isinstance(x, Traced):
        return made
    x[...] = made
    return x


def _number(value: Any, kind: Any) -> Any:
    return value.astype(kind) if hasattr(value, "astype") else kind(value)


@meaning(np.select)
def select(trace: Trace, condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not len(condlist):
        raise ValueError("select with an empty condition list is not possible")
    tests = [as_traced(trace, one) for one in condlist]
    for k, test in enumerate(tests):
        if test.dtype.kind != "b":
            raise TypeError(f"invalid entry {k} in condlist: should be boolean ndarray")
    sides = [one if not isinstance(one, (list, tuple)) else as_traced(trace, one) for one in (*choicelist, default)]
    dtype = common_dtype(trace, *sides)
    for one in sides[:-1]:
        if not np.can_cast(as_traced(trace, one).dtype, dtype, "same_kind"):
            raise TypeError(
                f"Cannot cast array data from {as_traced(trace, one).dtype!r} to {dtype!r} according to the rule 'same_kind'"
            )
    arrays = [fresh(trace, cast(trace, var_of(trace, one), dtype)) for one in sides]
    shape = np.broadcast_shapes(*[one.shape for one in (*tests, *arrays)])
    made: Any = np.broadcast_to(arrays[-1], shape)
    for test, side in zip(tests[::-1], arrays[-2::-1], strict=True):
        made = np.where(test, side, made)
    return made.copy() if made.is_view else made


@python_meaning(np.piecewise)
def piecewise(driver: Any, x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    if not any_traced((x, condlist, funclist, args)):
        return np.piecewise(x, condlist, funclist, *args, **kw)
    trace = driver.trace
    array = as_traced(trace, x)
    is_one = np.isscalar(condlist) or (isinstance(condlist, Traced) and condlist.ndim == 0)
    if is_one or (array.ndim and not isinstance(condlist[0], (list, np.ndarray)) and not getattr(condlist[0], "ndim", 0)):
        condlist = [condlist]
    tests = [as_traced(trace, one) for one in condlist]
    tests = [one if one.dtype.kind == "b" else one.astype(bool) for one in tests]
    if len(funclist) == len(tests) + 1:
        covered = tests[0]
        for one in tests[1:]:
            covered = covered | one
        tests.append(~covered)
    elif len(funclist) != len(tests):
        raise ValueError(f"with {len(tests)} condition(s), either {len(tests)} or {len(tests) + 1} functions are expected")
    made: Any = np.zeros_like(array)
    for test, function in zip(tests, funclist, strict=True):
        chosen = array[test] if array.ndim else array
        value = driver.call(function, chosen, *args, **kw) if callable(function) else function
        if not array.ndim:
            made = np.where(test, as_traced(trace, value).astype(array.dtype), made)
        else:
            made[test] = value
    return made


# -- comparing


@meaning(np.isclose)
def isclose(trace: Trace, a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    x, y = (one if isinstance(one, (bool, int, float)) else as_traced(trace, one) for one in (a, b))
    wide = common_dtype(trace, y, 1.0)
    y = y if not isinstance(y, Traced) else y.astype(wide, copy=False)
    gap = abs(pointwise(trace, np.subtract, x, y)) if common_dtype(trace, x).kind != "b" else abs(x - y)
    near = gap <= atol + rtol * abs(y)
    made = near & np.isfinite(y) | pointwise(trace, np.equal, x, y)
    if equal_nan:
        made = made | (np.isnan(x) & np.isnan(y))
    return made


def _truth(trace: Trace, value: Any) -> Any:
    """A truth value of Python."""
    return fresh(trace, weakened(trace, as_traced(trace, value).var_))


@meaning(np.allclose)
def allclose(trace: Trace, a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    return _truth(trace, np.all(isclose(trace, a, b, rtol, atol, equal_nan)))


@meaning(np.array_equal)
def array_equal(trace: Trace, a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    x, y = as_traced(trace, a1), as_traced(trace, a2)
    if x.shape != y.shape:
        return False
    same: Any = pointwise(trace, np.equal, x, y)
    if equal_nan and x.dtype.kind == "f" and y.dtype.kind == "f":
        same = same | (np.isnan(x) & np.isnan(y))
    return _truth(trace, np.all(same))


@meaning(np.array_equiv)
def array_equiv(trace: Trace, a1: Any, a2: Any) -> Any:
    x, y = as_traced(trace, a1), as_traced(trace, a2)
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return False
    return _truth(trace, np.all(pointwise(trace, np.equal, x, y)))
