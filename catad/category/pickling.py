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

    def __reduce__(self) -> Any:
        if not isinstance(self.fn, FunctionType):
            return _itself, (self.fn,)
        module = self.fn.__module__
        try:
            found = named(module, self.fn.__qualname__)
        except (ImportError, AttributeError):
            found = None
        if (found is not self.fn or module == "__main__") and _takes_functions_by_value():
            return _itself, (self.fn,)
        if found is not self.fn:
            raise errors.ArgumentError(errors.function_without_name(self.fn, self.in_programs))
        return named, (module, self.fn.__qualname__)


def named(module: str, qualname: str) -> Any:
    """The plain function under a name."""
    found: Any = importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    if not isinstance(found, D):
        return found
    frozen = getattr(found, "frozen", None)  # of `ct.D(fn)`, which keeps a copy of fn beside it
    return getattr(found, "fn", found) if frozen is None else frozen.given


def _takes_functions_by_value() -> bool:
    """True where the pickler at work is that of cloudpickle, or one made of it.

    A pickler does not say who it is to what it pickles, and joblib copies its table of types before it begins, so that no entry
    made then is seen. But the frame of its `dump` is below.
    """
    frame = sys._getframe(1)
    while frame is not None:
        pickler = frame.f_locals.get("self") if frame.f_code.co_name == "dump" else None
        if any("cloudpickle" in kind.__module__ for kind in type(pickler).__mro__):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _itself(fn: Any) -> Any:
    return fn
