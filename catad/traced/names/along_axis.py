"""Functions of the user applied to parts of an array: `np.apply_along_axis`, `np.vectorize`."""

from __future__ import annotations

import math
from types import CellType, FunctionType
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from catad import errors
from catad.category.spaces import Product, Tensor, flatten
from catad.traced.arrays.operators import weakened
from catad.traced.arrays.stand_in import Traced, computed, fresh, var_of
from catad.traced.inlining import any_traced
from catad.traced.names.shapes import as_traced
from catad.traced.names.sums import strong
from catad.traced.recorder import Region, Trace
from catad.traced.table import INSTANCES, python_meaning
from catad.vector.pointwise.map import map as ct_map
from catad.vector.shapes.shape import broadcast_to


def _mapped(driver: Any, function: Any, lanes: list[Any], *args: Any, weak: bool = False, **kwargs: Any) -> Any:
    """The function of each row of some arrays: recorded once, as a program of the rows and of what it reads from outside, and
    mapped. With `weak` rows without axes are Python numbers. A tuple of results where the function gives one."""
    trace: Trace = driver.trace
    region = Region(trace, trace.region, "row")
    rows = [region.input(Tensor(x.shape[1:], x.dtype)) for x in lanes]
    with trace.inside(region):
        made = driver.call(function, *[fresh(trace, weakened(trace, row) if weak else row) for row in rows], *args, **kwargs)
        several = isinstance(made, tuple)
        results = tuple([region.own(var_of(trace, one)) for one in (made if several else (made,))])
    given = list(region.outer.values())
    inputs = [*rows, *[region.own(var) for var in given]]
    program = region.close(results, inputs, Product(tuple([var.space for var in inputs])))
    n = lanes[0].shape[0]
    wide = [computed(trace.region, broadcast_to((n, *var.space.shape)), var) for var in given]
    outs = [
        fresh(trace, out) for out in flatten(computed(trace.region, ct_map(program), (*[x.var_ for x in lanes], *wide)))
    ]
    return tuple(outs) if several else outs[0]


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
        rows = [driver.call(func1d, lanes[k].copy(), *args, **kwargs) for k in range(count)]
        made: Any = np.stack([as_traced(driver.trace, row) for row in rows])
    else:
        made = _mapped(driver, func1d, [lanes], *args, **kwargs)
    rest = made.shape[1:]
    made = made.reshape((*outer, *rest))
    places = range(len(outer), len(outer) + len(rest))
    return np.moveaxis(made, list(places), [axis + k for k in range(len(rest))])


@python_meaning(ct_map)
def map_(driver: Any, f: Any) -> Any:
    """`ct.map(f)`: a morphism; where f reads values of the traced function around, a function that records f for each entry."""
    around = [one for one in _read_by(f) if isinstance(one, Traced)]
    if not around:
        return ct_map(f)

    def mapped(*args: Any) -> Any:
        trace = driver.trace
        arrays = [strong(trace, arg) for arg in args]
        if any(one.dtype != around[0].dtype for one in (*arrays, *around)):
            raise errors.TraceError(errors.reads_outside(f))
        shape = np.broadcast_shapes(*[x.shape for x in arrays])
        made = _mapped(driver, f, [np.broadcast_to(x, shape).reshape(-1) for x in arrays])
        return tuple([one.reshape(shape) for one in made]) if isinstance(made, tuple) else made.reshape(shape)

    return mapped


def _read_by(f: Any) -> list[Any]:
    """The values of the variables around a function, and its defaults."""
    if not isinstance(f, FunctionType):
        return []
    cells = [cell.cell_contents for cell in f.__closure__ or () if cell != CellType()]
    return [*cells, *(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()]


def vectorized(driver: Any, function: np.vectorize, *args: Any, **kwargs: Any) -> Any:
    """`np.vectorize(f)(x, ...)`: f is read as a function of numbers."""
    if not any_traced((args, kwargs)):
        return function(*args, **kwargs)
    trace = driver.trace
    if function.signature is not None or function.excluded or kwargs:
        named = "np.vectorize with a signature, excluded or named arguments"
        raise errors.TraceError(
            errors.unknown_function(named, "np.apply_along_axis, or ct.map of a function that is traced")
        )
    arrays = [strong(trace, arg) for arg in args]
    try:
        vars_ = tuple([x.var_ for x in arrays])
        outs = computed(trace.region, ct_map(function.pyfunc), vars_ if len(vars_) > 1 else vars_[0])
        made: Any = [fresh(trace, out) for out in outs] if isinstance(outs, tuple) else fresh(trace, outs)
    except errors.ScalarError:  # what is no function of numbers alone is traced
        shape = np.broadcast_shapes(*[x.shape for x in arrays])
        lines = [np.broadcast_to(x, shape).reshape(-1) for x in arrays]
        made = _mapped(driver, function.pyfunc, lines, weak=True)
        made = [one.reshape(shape) for one in made] if isinstance(made, tuple) else made.reshape(shape)
    results = made if isinstance(made, list) else [made]
    if function.otypes:
        results = [one.astype(kind) for one, kind in zip(results, function.otypes, strict=True)]
    return tuple(results) if isinstance(made, list) else results[0]


INSTANCES[np.vectorize] = vectorized
