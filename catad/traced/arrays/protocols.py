"""NumPy's protocols for stand-ins: universal functions, functions, and the methods of arrays, looked up in the tables."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from catad import errors
from catad.traced import table
from catad.traced.arrays import layout
from catad.traced.arrays.masked import Masked
from catad.traced.arrays.operators import assign, matmul, pointwise, supported
from catad.traced.arrays.ragged import Ragged
from catad.traced.arrays.stand_in import Traced
from catad.traced.recorder import Trace
from catad.traced.table import FUNCTIONS, MASKED_METHODS, METHODS, RAGGED, UFUNC_METHODS, enter_package, hint
from catad.values.complex_numbers import ComplexPair, is_complex, is_complex_dtype


def unknown(name: str) -> errors.TraceError:
    """The error of a function without a meaning, with what to write instead."""
    return errors.TraceError(errors.unknown_function(name, hint(name)))


def universal(trace: Trace, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`ufunc(...)`, with `out=`, `where=` and `dtype=`; and its methods."""
    name = f"np.{ufunc.__name__}"
    if method != "__call__":
        found = UFUNC_METHODS.get(method)
        if found is None:
            raise unknown(f"{name}.{method}")
        return called(found, trace, f"{ufunc.__name__}.{method}", (ufunc, *inputs), kwargs)
    kwargs = dict(kwargs)
    out, where, dtype = kwargs.pop("out", None), kwargs.pop("where", True), kwargs.pop("dtype", None)
    casting = kwargs.pop("casting", "same_kind")
    inputs, positional = inputs[: ufunc.nin], inputs[ufunc.nin :]
    targets = (out if isinstance(out, tuple) else (out,)) if out is not None else positional
    axes: dict[str, Any] = {key: kwargs.pop(key) for key in ("axis", "axes", "keepdims") if key in kwargs and ufunc.signature}
    for key in kwargs:
        if key not in ("order", "subok"):
            raise errors.TraceError(errors.unknown_parameter(name, key))
    if ufunc not in FUNCTIONS and not supported(ufunc):
        enter_package(ufunc)
    if ufunc is np.matmul and not axes:
        asked: dict[str, Any] = {"dtype": dtype, "casting": casting}
        made = matmul(trace, *inputs, **asked)
    elif ufunc in FUNCTIONS:
        made = called(FUNCTIONS[ufunc], trace, ufunc.__name__, inputs, axes)
    elif axes or not supported(ufunc):
        raise unknown(name)
    else:
        made = pointwise(trace, ufunc, *[_array(trace, arg) for arg in inputs], dtype=dtype, casting=casting)
    return _written(trace, made, targets, where, name, casting)


def _array(trace: Trace, arg: Any) -> Any:
    """Nested lists as an array."""
    if not isinstance(arg, (list, tuple)):
        return arg
    from catad.traced.names.making import from_nested

    return from_nested(trace, arg)


def _written(trace: Trace, made: Any, targets: tuple[Any, ...], where: Any, name: str, casting: Any) -> Any:
    """Results, put where they are wanted: `out=` and `where=`."""
    results = made if isinstance(made, tuple) else (made,)
    targets = (*targets, *[None] * (len(results) - len(targets)))
    if where is not True and any(target is None for target in targets):
        raise errors.TraceError(errors.unknown_parameter(name, "where, without out="))
    outs = []
    for one, target in zip(results, targets, strict=True):
        if target is not None:
            if where is not True:
                one = called(FUNCTIONS[np.where], trace, "where", (where, one.astype(target.dtype, casting=casting), target), {})
            write_out(target, one, casting)
        outs.append(one if target is None else target)
    return tuple(outs) if isinstance(made, tuple) else outs[0]


def write_out(target: Any, made: Any, casting: Any = "same_kind") -> None:
    """Write a result into the array given by `out=`."""
    if isinstance(target, (Ragged, ComplexPair)):
        target.assign_(made, casting)
        return
    if not isinstance(target, Traced):
        raise errors.TraceError(errors.write_to_captured("the array given by out="))
    if isinstance(made, Ragged):
        made.unknown_("the length of a slice")
    if made.shape != target.shape and np.broadcast_shapes(made.shape, target.shape) != target.shape:
        raise errors.SpaceError(errors.unequal_spaces([made.space, target.space], "out="))
    assign(target, made, casting)


def put_in(made: Any, out: Any, casting: Any = "same_kind") -> Any:
    """Write a result into the array of its shape that is given by `out=`, which is the result then."""
    target = out[0] if isinstance(out, tuple) else out
    if made.shape != target.shape:
        raise errors.SpaceError(errors.unequal_spaces([made.space, target.space], "out="))
    write_out(target, made, casting)
    return target


def array_ufunc(self: Any, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """A universal function that NumPy hands to a stand-in."""
    return universal(self.trace_, ufunc, method, inputs, kwargs)


def array_function(self: Any, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function of NumPy on stand-ins."""
    found = FUNCTIONS.get(function)
    if found is None:
        raise unknown(f"{_module(function)}.{function.__name__}")
    return called(found, self.trace_, function.__name__, args, kwargs)


def _module(function: Any) -> str:
    """The module of a function of NumPy, as users write it."""
    return "np" + str(function.__module__).removeprefix("numpy")


def called(found: Callable[..., Any], trace: Trace, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the meaning of a function; a parameter that it has not is a named error."""
    kwargs = dict(kwargs)
    if any(is_complex(part) or is_complex_dtype(part) for part in layout.parts_in((args, kwargs))):
        from catad.traced.pairs import functions  # late: few functions have complex numbers

        return functions.called(found, trace, name, args, kwargs)
    ragged = _slice_in((args, kwargs))
    if ragged is not None:
        if found not in RAGGED:
            ragged.unknown_("the length of a slice")
        found = RAGGED[found]
    code = found.__code__
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if len(args) >= code.co_argcount and not code.co_flags & inspect.CO_VARARGS:
        args, kwargs = _named(name, args, code.co_argcount - 1, kwargs)
    target = kwargs.pop("out", None) if "out" not in parameters else None
    target = target[0] if isinstance(target, tuple) else target
    if target is not None and "dtype" in parameters and _is_finer(target, args[0]):  # NumPy sums in the dtype of the result
        at = parameters.index("dtype") - 1
        if at < len(args):
            args = (*args[:at], target.dtype if args[at] is None else args[at], *args[at + 1 :])
        else:
            kwargs["dtype"] = kwargs.get("dtype") or target.dtype
    try:
        made = found(trace, *args, **kwargs)
    except TypeError as error:
        if isinstance(error, errors.CatadError) or "unexpected keyword argument" not in str(error):
            raise
        raise errors.TraceError(errors.unknown_parameter(f"np.{name}", str(error).split("'")[-2])) from None
    if target is None:
        if found not in table.OWN_ORDER:
            layout.note(made, (args, kwargs), found in table.SCATTERED)
        return made
    return put_in(made, target)


def _slice_in(value: Any) -> Ragged | None:
    """A slice of traced length among arguments."""
    return next((part for part in layout.parts_in(value) if isinstance(part, Ragged)), None)


def _is_finer(target: Any, x: Any) -> bool:
    return getattr(x, "dtype", None) == np.float32 and bool(target.dtype == np.float64)


def _named(name: str, args: tuple[Any, ...], n: int, kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The first n positional arguments, and the others under the names that NumPy has for them."""
    known = _parameters(name)
    if len(known) < len(args) or any(key in kwargs for key in known[n : len(args)]):
        return args, kwargs
    return args[:n], {**kwargs, **dict(zip(known[n:], args[n:], strict=False))}


_UNSIGNED = {"concatenate": ["arrays", "axis", "out"], "dot": ["a", "b", "out"]}  # as NumPy 2.4 says it, and 2.0 does not


def _parameters(name: str) -> list[str]:
    """The names of the parameters of a function of NumPy, where they are known."""
    function = getattr(np, name, None)
    if not callable(function) or isinstance(function, np.ufunc):
        return []
    try:
        return list(inspect.signature(function).parameters)
    except ValueError:  # it is written in C, and has no signature
        return _UNSIGNED.get(name, [])


def attribute(self: Traced, name: str) -> Any:
    """A method or an attribute of arrays."""
    found = METHODS.get(name)
    if found is None:
        _must_have(name)
        raise unknown(f"x.{name}")
    return _bound(self, found, name)


def _must_have(name: str) -> None:
    """NumPy's error for what is no method or attribute of arrays."""
    if name.startswith("__") or not hasattr(np.ndarray, name):
        raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")


def _bound(self: Any, found: Callable[..., Any], name: str) -> Any:
    if getattr(found, "is_property", False):
        return found(self.trace_, self)

    def method(*args: Any, **kwargs: Any) -> Any:
        return called(found, self.trace_, name, (self, *args), kwargs)

    return method


def masked_attribute(self: Masked, name: str) -> Any:
    """A method of what was read under a mask: those whose results have a shape that is known."""
    _must_have(name)
    if name not in MASKED_METHODS:
        raise errors.TraceError(errors.shape_depends_on_data(f"x[mask].{name}"))
    return _bound(self, METHODS[name], name)


def ragged_attribute(self: Ragged, name: str) -> Any:
    """A method of a slice of traced length."""
    _must_have(name)
    found = METHODS.get(name)
    if found not in RAGGED:
        self.unknown_("the length of a slice")
    return RAGGED[found](self.trace_, self) if getattr(found, "is_property", False) else _bound(self, found, name)


def namespace(self: Traced, *, api_version: str | None = None) -> Any:
    """The namespace that the array API standard asks arrays for."""
    from catad.traced.names.array_api import Namespace  # late: few ask

    return Namespace(np)


Traced.__array_namespace__ = namespace  # type: ignore[attr-defined]
for _class, _attribute in ((Traced, attribute), (Masked, masked_attribute), (Ragged, ragged_attribute)):
    setattr(_class, "__array_ufunc__", array_ufunc)  # noqa: B010
    setattr(_class, "__array_function__", array_function)  # noqa: B010
    setattr(_class, "__getattr__", _attribute)  # noqa: B010
