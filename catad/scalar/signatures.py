"""How many arguments the known builtin functions take; Python does not always say."""

from __future__ import annotations

import builtins
import inspect
import math
from typing import Any

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


def arity_of(fn: Any) -> int | None:
    """The number of arguments that must be supplied, or None."""
    try:
        if fn in KNOWN:
            return KNOWN[fn]
    except TypeError:
        pass
    if isinstance(fn, type):
        return 1
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return None
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(1 for one in parameters if one.kind in kinds and one.default is one.empty)
