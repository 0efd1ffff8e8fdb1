"""The tables of functions that mean something for stand-ins, by the function itself. `names/` fills them.

`FUNCTIONS` has those that NumPy hands to stand-ins (`__array_function__`): `meaning(trace, *args, **kwargs)`. `PYTHON` has those
that ask nobody, such as `np.zeros`, `math.sin`, `len` and `range`: `meaning(driver, *args, **kwargs)`. `HINTS` says of functions
without a meaning what to write instead. Functions of packages that need not be there
are entered when the first of them is called.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

FUNCTIONS: dict[Any, Callable[..., Any]] = {}
PYTHON: dict[Any, Callable[..., Any]] = {}
METHODS: dict[str, Callable[..., Any]] = {}
UFUNC_METHODS: dict[str, Callable[..., Any]] = {}
INSTANCES: dict[type, Callable[..., Any]] = {}
ITEMS: dict[type, Callable[..., Any]] = {}
MASKED_METHODS: frozenset[str] = frozenset(("sum", "mean", "any", "all", "astype", "copy", "round", "clip"))
SHARING: set[Any] = set()
SCATTERED: set[Callable[..., Any]] = set()  # meanings of functions that give arrays in another order than C, also of such
OWN_ORDER: set[Callable[..., Any]] = set()  # meanings that say themselves how their results lie in memory


def meaning(*functions: Any, shares: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: what functions of NumPy mean on stand-ins. Those that share memory with an argument, or write into one, have
    this meaning also where all arguments are constants; all others are computed by NumPy then."""

    def decorated(fn: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            if function is None:  # it came with a later NumPy
                continue
            FUNCTIONS[function] = fn
            if shares:
                SHARING.add(function)
                OWN_ORDER.add(fn)
        return fn

    return decorated


def scattered(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the function gives arrays in another order than C, also of arrays in C order."""
    SCATTERED.add(fn)
    return fn


def own_order(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the meaning says itself how its results lie in memory."""
    OWN_ORDER.add(fn)
    return fn


def python_meaning(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: what functions mean that do not ask their arguments."""

    def decorated(fn: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            PYTHON[function] = fn
        return fn

    return decorated


def meaning_anywhere(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: what functions mean whether or not they ask their arguments."""

    def decorated(fn: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            FUNCTIONS[function] = fn
            PYTHON[function] = lambda driver, *args, **kwargs: fn(driver.trace, *args, **kwargs)
        return fn

    return decorated


def item_meaning(kind: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: what `thing[key]` means for objects of a class, where stand-ins are in the key: `meaning(trace, key)`."""

    def decorated(fn: Callable[..., Any]) -> Callable[..., Any]:
        ITEMS[kind] = fn
        return fn

    return decorated


def method(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: a method of stand-ins, by the names that arrays have for it."""

    def decorated(fn: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            METHODS[name] = fn
        return fn

    return decorated


def attribute(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: an attribute of stand-ins, computed when it is asked for."""

    def decorated(fn: Callable[..., Any]) -> Callable[..., Any]:
        fn.is_property = True  # type: ignore[attr-defined]
        return method(*names)(fn)

    return decorated


RAGGED: dict[Callable[..., Any], Callable[..., Any]] = {}  # by a meaning: the one that it has on slices of traced length
HINTS: dict[str, str] = {}
PACKAGES: dict[str, Callable[[], None]] = {}


def of_package(name: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Decorator: what enters the functions of a package into the tables."""

    def decorated(fn: Callable[[], None]) -> Callable[[], None]:
        PACKAGES[name] = fn
        return fn

    return decorated


def enter_package(function: Any) -> bool:
    """Enter the functions of the package of a function, if that is not done; whether something was entered."""
    module = getattr(function, "__module__", None) or type(function).__module__
    name = str(module).partition(".")[0]
    if name == "numpy":  # a universal function of another package
        name = "scipy"
    fill = PACKAGES.pop(name, None) if name in sys.modules else None
    if fill is not None:
        fill()
    return fill is not None


def hint(name: str) -> str:
    """What to write instead of a function of NumPy: by its whole name, or by that of its module."""
    while name:
        if name in HINTS:
            return HINTS[name]
        name = name.rpartition(".")[0]
    return ""
