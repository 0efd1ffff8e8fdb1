"""Functions in pickles: a plain function stands there by its module and name, which may mean its decorated form by now.

A function without such a name (a lambda, a local function) is an error for `pickle`; `cloudpickle`, which takes functions by
value, takes it as it is.
"""

from __future__ import annotations

import importlib
import sys
from types import FunctionType
from typing import Any

from catad import errors
from catad.category.terms import D


class Reference:
    """Stands for a function in a record; what is read from the record is the function itself.

    `in_programs` says whether a program still has the function in it, so that pickling the program would not help.
    """

    __slots__ = ("fn", "in_programs")

    def __init__(self, fn: Any, in_programs: bool = False) -> None:
        self.fn, self.in_programs = fn, in_programs
        library = sys.modules.get("cloudpickle")
        if library is not None:
            library.CloudPickler.dispatch_table[Reference] = _by_value_or_name

    def __reduce__(self) -> Any:
        if not isinstance(self.fn, FunctionType):
            return _itself, (self.fn,)
        try:
            found = named(self.fn.__module__, self.fn.__qualname__)
        except (ImportError, AttributeError):
            found = None
        if found is not self.fn:
            raise errors.ArgumentError(errors.function_without_name(self.fn, self.in_programs))
        return named, (self.fn.__module__, self.fn.__qualname__)


def named(module: str, qualname: str) -> Any:
    """The plain function under a name."""
    found: Any = importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    if not isinstance(found, D):
        return found
    frozen = getattr(found, "frozen", None)  # of `ct.D(fn)`, which keeps a copy of fn beside it
    return getattr(found, "fn", found) if frozen is None else frozen.given


def _by_value_or_name(reference: Reference) -> Any:
    """The record for cloudpickle: functions of the main program, and those without a name, by value."""
    try:
        return (_itself, (reference.fn,)) if getattr(reference.fn, "__module__", "") == "__main__" else reference.__reduce__()
    except errors.ArgumentError:
        return _itself, (reference.fn,)


def _itself(fn: Any) -> Any:
    return fn
