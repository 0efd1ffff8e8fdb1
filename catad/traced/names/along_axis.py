"""Functions of the user applied to parts of an array: `np.apply_along_axis`, `np.vectorize`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from catad.late import late
from catad.spaces import Product, flatten
from catad.traced.follow import any_traced
from catad.traced.names.shapes import as_traced
from catad.traced.recorder import Region, Trace
from catad.traced.stand_in import computed, fresh, var_of
from catad.traced.table import INSTANCES, python_meaning


def _mapped(driver: Any, function: Any, lanes: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The function of each row: recorded once, as a program of a row and of what it reads from outside, and mapped."""
    trace: Trace = driver.trace
    region = Region(trace, trace.region, "row")
    row = region.input(lanes.space.__class__(lanes.shape[1:], lanes.dtype))
    with trace.inside(region):
        made = var_of(trace, driver.call(function, fresh(trace, row), *args, **kwargs))
        made = region.own(made)
    given = list(region.outer.values())
    inputs = [row, *[region.own(var) for var in given]]
    program = region.close((made,), inputs, Product(tuple([var.space for var in inputs])))
    n = lanes.shape[0]
    wide = [computed(trace.region, late().broadcast_to((n, *var.space.shape)), var) for var in given]
    outs = computed(trace.region, late().map(program), (lanes.var_, *wide))
    return fresh(trace, flatten(outs)[0])


@python_meaning(np.apply_along_axis)
def apply_along_axis(driver: Any, func1d: Any, axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    x = as_traced(driver.trace, arr)
    axis = normalize_axis_index(axis, x.ndim)
    moved = np.moveaxis(x, axis, -1)
    outer = moved.shape[:-1]
    count = math.prod(outer)
    if not count:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    lanes = moved.reshape((count, moved.shape[-1]))
    if count <= 16:
        made: Any = np.stack([as_traced(driver.trace, driver.call(function, lanes[k].copy(), *args, **kwargs)) for k in range(count)
                              for function in (func1d,)])  # fmt: skip
    else:
        made = _mapped(driver, func1d, lanes, args, kwargs)
    rest = made.shape[1:]
    made = made.reshape((*outer, *rest))
    places = range(len(outer), len(outer) + len(rest))
    return np.moveaxis(made, list(places), [axis + k for k in range(len(rest))])


def vectorized(driver: Any, function: np.vectorize, *args: Any, **kwargs: Any) -> Any:
    """`np.vectorize(f)(x, ...)`: f is read as a function of numbers."""
    if not any_traced((args, kwargs)):
        return function(*args, **kwargs)
    trace = driver.trace
    if function.signature is not None or function.excluded or kwargs:
        raise _refused()
    arrays = [as_traced(trace, arg) for arg in args]
    term = late().map(function.pyfunc)
    vars_ = tuple([x.var_ for x in arrays])
    outs = computed(trace.region, term, vars_ if len(vars_) > 1 else vars_[0])
    kinds = function.otypes
    results = [fresh(trace, out) for out in flatten(outs)]
    if kinds:
        results = [out.astype(kind) for out, kind in zip(results, kinds, strict=True)]
    return tuple(results) if isinstance(outs, tuple) else results[0]


def _refused() -> Exception:
    from catad import errors

    return errors.TraceError(errors.unknown_function("np.vectorize with a signature, excluded or named arguments"))


INSTANCES[np.vectorize] = vectorized
