"""The number of required arguments of a callable."""

from __future__ import annotations

import builtins
import functools
import inspect
import math
import sys
from types import FunctionType
from typing import Any

import numpy as np

from catad import errors

KNOWN: dict[Any, int] = {
    builtins.min: 2,
    builtins.max: 2,
    builtins.pow: 2,
    builtins.float: 1,
    builtins.int: 1,
    builtins.bool: 1,
    builtins.round: 1,
    math.log: 1,
    math.hypot: 2,
}
"""Builtin functions of which Python does not say it, or where more arguments may be left out than a scalar function leaves."""

CACHED = type(functools.lru_cache(lambda: None))
"""The type that `functools.lru_cache` makes: the one wrapper that surely computes what the function in it does."""


def arity_of(fn: Any) -> int | None:
    """The number of arguments that must be supplied; None where that cannot be known, as for `lambda *a`."""
    if isinstance(fn, np.ufunc):
        return fn.nin
    if isinstance(fn, FunctionType) and not fn.__code__.co_flags & inspect.CO_VARARGS:
        return fn.__code__.co_argcount - len(fn.__defaults__ or ())
    try:
        if fn in KNOWN:
            return KNOWN[fn]
    except TypeError:
        pass
    if isinstance(fn, type):
        return 1
    try:
        parameters = inspect.signature(fn).parameters.values()  # of functools.wraps: what is wrapped
    except (TypeError, ValueError):
        return None
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = sum(1 for one in parameters if one.kind in kinds and one.default is one.empty)
    return None if not needed and any(one.kind is one.VAR_POSITIONAL for one in parameters) else needed


def most_of(fn: Any) -> float | None:
    """The largest number of arguments that can be supplied by position; None where that cannot be known."""
    if isinstance(fn, np.ufunc):
        return fn.nin
    try:
        parameters = inspect.signature(fn, follow_wrapped=False).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        return math.inf
    return sum(1 for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD))


def takes(fn: Any, count: int) -> bool:
    """True where a plain function can be called with so many arguments; what is not plain is asked when it is called."""
    if not isinstance(fn, FunctionType):
        return True
    code, defaults = fn.__code__, len(fn.__defaults__ or ())
    most = math.inf if code.co_flags & inspect.CO_VARARGS else code.co_argcount
    return code.co_argcount - defaults <= count <= most


def said_arity(fn: FunctionType) -> str:
    """The number of parameters of a plain function, in words."""
    most = fn.__code__.co_argcount
    least = most - len(fn.__defaults__ or ())
    return f"{most if least == most else f'{least} to {most}'} parameter{'' if least == most == 1 else 's'}"


# -- what works on arrays

_LIBRARIES = ("numpy", "scipy", "cupy", "pandas", "torch", "jax")


def is_array_function(function: FunctionType) -> bool:
    """True where a Python function is a public one of catad, a constructor of morphisms, or the call of a morphism."""
    if not str(function.__module__).startswith("catad."):
        return False
    public = getattr(sys.modules["catad"], function.__name__, None)
    return public is function or function.__qualname__ == "D.__call__"


def not_readable(thing: Any) -> str:
    """The message for what cannot be called in a scalar function."""
    module = str(getattr(thing, "__module__", None) or "").partition(".")
    name = getattr(thing, "__name__", None)
    if module[0] in _LIBRARIES and name is not None and not isinstance(thing, type) and "random" not in module[2]:
        return errors.array_function(f"{module[0]}.{name}")
    return errors.not_a_scalar_function(thing)
