"""Calls of constructors: `ct.sum(axis=0)` makes a morphism, and arrays come when that is called.

`constructor` decorates each public function that takes parameters and makes a morphism. A wrong call gets a message with the
right call: an array or a morphism among the parameters, too many parameters or too few.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from catad import errors
from catad.category.spaces import Space
from catad.category.terms import D
from catad.errors.places import here
from catad.errors.traceback_filtering import filter_traceback

P = ParamSpec("P")
R = TypeVar("R")
Fits = dict[str, tuple[bool, bool]]  # by parameter: whether it may be an array, and whether a morphism
NAMESPACES = ("fft", "linalg", "primitive")  # rooms whose names are public as ct.<room>.<name>
_PLAIN = {int, float, bool, str, type(None)}


def constructor(arrays: str = "", morphisms: str = "") -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator of a function that makes a morphism; named are the parameters that may be arrays, and morphisms."""
    fits: Fits = {
        name: (name in arrays.split(), name in morphisms.split()) for name in (*arrays.split(), *morphisms.split())
    }

    def decorated(fn: Callable[P, R]) -> Callable[P, R]:
        names = tuple(inspect.signature(fn).parameters)

        @wraps(fn)
        def made(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                for name, arg in (*zip(names, args, strict=False), *kwargs.items()):
                    if type(arg) not in _PLAIN and _misplaced(arg, *fits.get(name, (False, False))):
                        raise errors.SpaceError(_meant(fn, fits, args, kwargs, (name, arg)))
                try:
                    out = fn(*args, **kwargs)
                except TypeError as error:
                    if isinstance(error, errors.CatadError) or _binds(fn, args, kwargs):
                        raise
                    raise errors.SpaceError(_meant(fn, fits, args, kwargs, said=str(error))) from None
            except Exception as error:
                filter_traceback(error)
                raise
            if isinstance(out, D) and not hasattr(out, "_place"):
                out._place = here()
            return out

        return made

    return decorated


def _misplaced(arg: Any, array: bool, morphism: bool) -> bool:
    if isinstance(arg, (list, tuple)) and arg:
        return all(_misplaced(part, array, morphism) for part in arg)
    return (not morphism and isinstance(arg, D)) or (not array and is_data(arg))


def is_data(thing: Any) -> bool:
    """True where a thing is an array of some library, or stands for one; a NumPy scalar is a number."""
    if isinstance(thing, (type, np.generic, Space)) or callable(thing):  # linear maps have shapes, too
        return False
    return hasattr(thing, "dtype") and hasattr(thing, "shape")


def _binds(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    try:
        inspect.signature(fn).bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def _meant(
    fn: Callable[..., Any],
    fits: Fits,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    misplaced: tuple[str, Any] | None = None,
    said: str = "",
) -> str:
    """The message for a call, with what was probably meant: parameters in one call, arrays in a second one."""
    signature = inspect.signature(fn)
    names = list(signature.parameters)
    data: list[Any] = []
    terms: list[D] = []
    kept: tuple[list[str], list[str]] = ([], [])  # by position, and by name
    given = [("", *pair) for pair in zip([*names, *[""] * len(args)], args, strict=False)]
    for key, name, arg in [*given, *[(f"{name}=", name, arg) for name, arg in kwargs.items() if name in names]]:
        parts = list(arg) if isinstance(arg, (list, tuple)) and arg else [arg]
        array, morphism = fits.get(name, (False, False))
        if not array and all(map(is_data, parts)):
            data += parts
        elif not morphism and all(isinstance(part, D) for part in parts):
            terms += parts
        else:
            kept[bool(key)].append(key + _code(arg))
    if len(kept[0]) > len(names) and all(isinstance(arg, (int, np.integer)) for arg in args):
        kept[0][:] = [f"({', '.join(kept[0])})"]  # integers that belong together, as the axes of a shape
    needed = [p.name for p in list(signature.parameters.values())[len(kept[0]) :] if p.default is p.empty]
    missing = [name for name in needed if name not in kwargs]
    call = f"{public_name(fn)}({', '.join([*kept[0], *missing, *kept[1]])})"
    return errors.wrong_call(public_name(fn), signature.parameters.values(), call, len(data), terms, misplaced, said)


def public_name(constructor: Callable[..., Any]) -> str:
    """The name of a constructor as users write it, `ct.scan` or `ct.linalg.solve`."""
    room = constructor.__module__.partition(".")[2].partition(".")[0]
    return f"ct.{f'{room}.' if room in NAMESPACES else ''}{constructor.__name__}"


def _code(arg: Any) -> str:
    if inspect.isfunction(arg):
        return arg.__name__ if arg.__name__.isidentifier() else "fn"
    return errors.abbreviated(arg, 40)


def integer(value: Any, what: str, least: int | None = None) -> int:
    """A parameter that is one integer, of Python or NumPy."""
    if (
        isinstance(value, (bool, np.bool_))
        or not isinstance(value, (int, np.integer))
        or (least is not None and value < least)
    ):
        raise errors.ArgumentError(errors.not_an_integer(what, value, least))
    return operator.index(value)


def integers(value: Any, what: str) -> tuple[int, ...]:
    """A parameter that is one integer, or several."""
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return tuple([integer(each, what) for each in value])
    return (integer(value, what),)


def axes(value: Any) -> int | tuple[int, ...] | None:
    """A parameter that is one axis, or several, or None for all of them."""
    if value is None:
        return None
    return integers(value, "an axis") if isinstance(value, Sequence) else integer(value, "an axis")


def one_axis(value: Any) -> int:
    """A parameter that is one axis, where several would leave the order of what is folded open."""
    if isinstance(value, Sequence):
        raise errors.ArgumentError(errors.several_axes(value))
    return integer(value, "an axis")
