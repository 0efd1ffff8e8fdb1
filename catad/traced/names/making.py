"""Making arrays: they are constants, which can be written into."""

from __future__ import annotations

from typing import Any

import numpy as np

from catad import errors
from catad.late import late
from catad.traced.follow import any_traced, wrapped
from catad.traced.masked import Masked
from catad.traced.operators import assign, cast
from catad.traced.recorder import Trace, Uniform
from catad.traced.stand_in import Traced, checked_array, computed, constant, fresh, var_of
from catad.traced.table import meaning, meaning_anywhere, method, python_meaning
from catad.vector.shape import stack


def _shape(shape: Any) -> tuple[int, ...]:
    if isinstance(shape, (int, np.integer)) or isinstance(shape, Traced):
        return (shape.__index__(),)
    return tuple([n.__index__() for n in shape])


def _filled(trace: Trace, shape: Any, value: Any, dtype: Any) -> Traced:
    """An array of one number."""
    if isinstance(value, Traced) and value.var_.constant is None:
        var = value.var_ if dtype is None else cast(trace, value.var_, np.dtype(dtype))
        return fresh(trace, computed(trace.region, late().broadcast_to(_shape(shape)), var))
    if np.ndim(value):
        return constant(trace, np.full(_shape(shape), value, dtype))
    number = checked_array(np.full((), value, dtype))[()]
    return constant(trace, Uniform(number, _shape(shape)))


def _maker(number: Any, function: Any) -> None:
    def made(trace: Trace, shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None, like: Any = None) -> Any:
        return _filled(trace, shape, number, float if dtype is None else dtype)

    meaning_anywhere(function)(made)


def _liker(number: Any, function: Any) -> None:
    def made(
        trace: Trace, a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
    ) -> Any:
        source = a if isinstance(a, Traced) else np.asarray(a)
        size = source.shape if shape is None else shape
        return _filled(trace, size, number, source.dtype if dtype is None else dtype)

    meaning_anywhere(function)(made)


for _number, _function, _like in (
    (0, np.zeros, np.zeros_like), (0, np.empty, np.empty_like), (1, np.ones, np.ones_like), (0, np.ndarray, None),
):  # fmt: skip
    _maker(_number, _function)
    if _like is not None:
        _liker(_number, _like)


@meaning_anywhere(np.full)
def full(
    trace: Trace, shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None, like: Any = None
) -> Any:
    return _filled(trace, shape, fill_value, dtype)


@meaning_anywhere(np.full_like)
def full_like(
    trace: Trace, a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *,
    device: Any = None,
) -> Any:  # fmt: skip
    source = a if isinstance(a, Traced) else np.asarray(a)
    return _filled(trace, source.shape if shape is None else shape, fill_value, source.dtype if dtype is None else dtype)


@python_meaning(np.array)
def array(driver: Any, thing: Any, dtype: Any = None, *, copy: Any = True, order: str = "K", ndmin: int = 0, **more: Any) -> Any:
    if not any_traced(thing):
        made = np.array(thing, dtype=dtype, ndmin=ndmin)
        return constant(driver.trace, made) if made.dtype.kind in "biuf" else made
    made = from_nested(driver.trace, thing, dtype)
    if isinstance(thing, Traced) and copy is not True and made.dtype == thing.dtype and made.ndim >= ndmin:
        return thing
    while made.ndim < ndmin:
        made = made[None]
    return made


@python_meaning(np.asarray, np.ascontiguousarray, np.asanyarray, np.asfortranarray)
def asarray(driver: Any, thing: Any, dtype: Any = None, order: Any = None, **more: Any) -> Any:
    if isinstance(thing, Traced):
        return thing if dtype is None or np.dtype(dtype) == thing.dtype else thing.astype(dtype)
    if any_traced(thing):
        return from_nested(driver.trace, thing, dtype)
    made = np.asarray(thing, dtype=dtype)
    return wrapped(driver, made, (thing,), "np.asarray")


def from_nested(trace: Trace, thing: Any, dtype: Any = None) -> Traced:
    """`np.array` of nested lists with stand-ins in them."""
    if isinstance(thing, Masked):
        raise errors.TraceError(errors.shape_depends_on_data("np.array(x[mask])"))
    if isinstance(thing, (list, tuple)) and any_traced(thing):
        parts = [from_nested(trace, part) for part in thing]
        shapes = {part.shape for part in parts}
        if len(shapes) > 1:
            raise ValueError(
                "setting an array element with a sequence. The requested array has an inhomogeneous shape: "
                f"{sorted(shapes)} side by side"
            )
        common = np.result_type(*[part.dtype for part in parts]) if dtype is None else np.dtype(dtype)
        vars_ = tuple([cast(trace, part.var_, common) for part in parts])
        return fresh(trace, computed(trace.region, stack(), vars_))
    var = var_of(trace, thing if isinstance(thing, Traced) else np.asarray(thing))
    made = cast(trace, var, np.dtype(dtype) if dtype is not None else var.space.dtype)
    return fresh(trace, made)


@meaning(np.copy)
@method("copy")
def copy(trace: Trace, x: Any, order: str = "K", subok: bool = False) -> Any:
    return fresh(trace, _strong(trace, var_of(trace, x)))


def _strong(trace: Trace, var: Any) -> Any:
    return cast(trace, var, var.space.dtype)


@method("astype")
def astype(trace: Trace, x: Traced, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True) -> Any:
    wanted = checked_array(np.empty(0, dtype)).dtype
    if wanted == x.dtype and not copy:
        return x
    return fresh(trace, cast(trace, x.var_, wanted))


def _scalar_type(kind: Any) -> Any:
    def made(driver: Any, x: Any = 0) -> Any:
        if isinstance(x, Traced):
            return fresh(driver.trace, cast(driver.trace, x.var_, np.dtype(kind)))
        return kind(x) if not any_traced(x) else from_nested(driver.trace, x, np.dtype(kind))

    return made


for _kind in (np.float32, np.float64, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.bool_):
    python_meaning(_kind)(_scalar_type(_kind))


@method("fill")
def fill(trace: Trace, x: Any, value: Any) -> None:
    x[...] = value


@meaning(np.copyto)
def copyto(trace: Trace, dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:


    if where is True:
        assign(dst, src, casting)
    else:
        dst[np.broadcast_to(where, dst.shape)] = src



