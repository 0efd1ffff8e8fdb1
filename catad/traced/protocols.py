"""NumPy's protocols for stand-ins: universal functions, functions, and the methods of arrays, looked up in the tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from catad import errors
from catad.traced.masked import Masked
from catad.traced.operators import assign, matmul, pointwise
from catad.traced.recorder import Trace
from catad.traced.stand_in import Traced
from catad.traced.table import FUNCTIONS, METHODS, UFUNC_METHODS


def array_ufunc(self: Any, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """`ufunc(...)`, with `out=`, `where=` and `dtype=`; and its methods."""
    trace: Trace = self.trace
    if method != "__call__":
        found = UFUNC_METHODS.get(method)
        if found is None:
            raise errors.TraceError(errors.unknown_function(f"np.{ufunc.__name__}.{method}"))
        return found(trace, ufunc, *inputs, **kwargs)
    out, where, dtype = kwargs.pop("out", None), kwargs.pop("where", True), kwargs.pop("dtype", None)
    kwargs.pop("casting", None)
    if kwargs:
        raise errors.TraceError(errors.unknown_parameter(f"np.{ufunc.__name__}", next(iter(kwargs))))
    if ufunc is np.matmul:
        made = matmul(trace, *inputs)
    elif ufunc in FUNCTIONS:
        made = FUNCTIONS[ufunc](trace, *inputs)
    else:
        made = pointwise(trace, ufunc, *inputs, dtype=dtype)
    target = out[0] if isinstance(out, tuple) else out
    if where is not True:
        if target is None:
            raise errors.TraceError(errors.unknown_parameter(f"np.{ufunc.__name__}", "where, without out="))
        made = FUNCTIONS[np.where](trace, where, made, target)
    if target is None:
        return made
    write_out(target, made)
    return target


def write_out(target: Any, made: Any) -> None:
    """Write a result into the array given by `out=`."""
    if not isinstance(target, Traced):
        raise errors.TraceError(errors.write_to_captured("the array given by out="))
    if made.shape != target.shape:
        made = made if np.broadcast_shapes(made.shape, target.shape) == target.shape else _does_not_fit(made, target)
    assign(target, made, "same_kind")


def _does_not_fit(made: Any, target: Any) -> Any:
    raise errors.SpaceError(errors.unequal_spaces([made.space, target.space], "out="))


def array_function(self: Any, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function of NumPy on stand-ins."""
    found = FUNCTIONS.get(function)
    if found is None:
        raise errors.TraceError(errors.unknown_function(f"np.{function.__name__}"))
    return called(found, self.trace, function.__name__, args, kwargs)


def called(found: Callable[..., Any], trace: Trace, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the meaning of a function; a parameter that it has not is a named error."""
    target = kwargs.pop("out", None) if "out" not in found.__code__.co_varnames else None
    try:
        made = found(trace, *args, **kwargs)
    except TypeError as error:
        if isinstance(error, errors.CatadError) or "keyword argument" not in str(error):
            raise
        raise errors.TraceError(errors.unknown_parameter(f"np.{name}", str(error).split("'")[-2])) from None
    if target is None:
        return made
    write_out(target, made)
    return target


def attribute(self: Traced, name: str) -> Any:
    """A method of arrays."""
    found = METHODS.get(name)
    if found is None:
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")
        raise errors.TraceError(errors.unknown_function(f"x.{name}"))
    if getattr(found, "is_property", False):
        return found(self.trace, self)

    def method(*args: Any, **kwargs: Any) -> Any:
        return called(found, self.trace, name, (self, *args), kwargs)

    return method


Traced.__array_ufunc__ = array_ufunc  # type: ignore[attr-defined]
Traced.__array_function__ = array_function  # type: ignore[attr-defined]
Traced.__getattr__ = attribute  # type: ignore[attr-defined]
Masked.__array_ufunc__ = array_ufunc  # type: ignore[attr-defined]
Masked.__array_function__ = array_function  # type: ignore[attr-defined]
