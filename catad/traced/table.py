"""The tables of functions that mean something for stand-ins, by the function itself. `names/` fills them.

`FUNCTIONS` has those that NumPy hands to stand-ins (`__array_function__`): `meaning(trace, *args, **kwargs)`. `PYTHON` has those that
ask nobody, such as `np.zeros`, `math.sin`, `len` and `range`: `meaning(driver, *args, **kwargs)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

FUNCTIONS: dict[Any, Callable[..., Any]] = {}
PYTHON: dict[Any, Callable[..., Any]] = {}
METHODS: dict[str, Callable[..., Any]] = {}


def meaning(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: what functions of NumPy mean on stand-ins."""

    def decorated(fn: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            FUNCTIONS[function] = fn
        return fn

    return decorated


def python_meaning(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: what functions mean that do not ask their arguments."""

    def decorated(fn: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            PYTHON[function] = fn
        return fn

    return decorated


def method(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: a method of stand-ins, by the names that arrays have for it."""

    def decorated(fn: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            METHODS[name] = fn
        return fn

    return decorated
