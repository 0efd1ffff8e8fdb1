"""How many arguments a callable takes that must be supplied."""

from __future__ import annotations

import builtins
import functools
import inspect
import math
from types import FunctionType
from typing import Any

import numpy as np

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
"""What `functools.lru_cache` makes: the one wrapper that surely computes what the function in it does."""


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
