"""The signature of an integral or a solution, whose first arguments are not those of the function in it."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from catad.traced.function import Function
from catad.traced.function import function as make_function


def with_first(function: Function, own: Sequence[str], count: int, what: str) -> Function:
    """A function by whose signature arguments are sorted: `own`, and all of `function` but the first `count`; nobody calls it.

    `what` says in messages what it is. A name that the function has already gets an underscore.
    """
    given = list(function.signature.parameters.values())
    rest = given[count:]
    kinds = [p for p in given[:count] if p.kind is p.VAR_POSITIONAL]
    rest = kinds + rest
    names = {p.name for p in rest}
    first = [
        inspect.Parameter(name if name not in names else f"{name}_", inspect.Parameter.POSITIONAL_ONLY) for name in own
    ]

    def stands_for(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    stands_for.__name__ = stands_for.__qualname__ = f"{what} {getattr(function, '__name__', 'f')}"
    vars(stands_for).update(__signature__=inspect.Signature([*first, *rest]), __wrapped__=function.fn)
    made: Function = make_function(stands_for, static=[name for name in function.static if name in names])
    return made
