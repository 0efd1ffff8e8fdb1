"""Packages whose names are loaded at their first use, so that a process waits only for what it uses.

A module imports its names under `TYPE_CHECKING`, as type checkers read it. `first_use(__name__)` runs the module once more with
imports that only note the place of each name, and makes it one that looks a missing name up there.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any


class Package(ModuleType):
    """A module with such names: `_places` says of a name its module and its name there."""

    _places: dict[str, tuple[str, str]]
    _beside: tuple[str, ...]
    _others: Callable[[str], Any]
    __all__: list[str]

    def __getattr__(self, name: str) -> Any:
        if name in self._places:
            module, own = self._places[name]
            found = self.__dict__[name] = getattr(import_module(module), own)
            return found
        found = None if name.startswith("_") else _submodule(f"{self.__name__}.{name}") or self._others(name)
        if found is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}{self._near(name)}", name=name)
        return found

    def _near(self, name: str) -> str:
        """The public names that a reader may have meant, also those of the packages inside."""
        if name.startswith("_"):
            return ""
        import difflib

        own = [*self.__all__, *self._beside]
        inner = ((one, getattr(self, one)) for one in self.__all__ if one not in self._places)
        deeper = [f"{one}.{name}" for one, module in inner if name in getattr(module, "__all__", ())]
        close = difflib.get_close_matches(name, own, n=2, cutoff=0.75)
        near = dict.fromkeys([*deeper, *[one for one in own if len(one) > 2 and name.startswith(one)], *close])
        shown = [f"{self.__name__}.{one}" for one in near if one.rpartition(".")[2][0] == name[0]]
        return f"; did you mean {' or '.join(shown[:3])}?" if shown else ""

    def __setattr__(self, name: str, value: Any) -> None:
        """A submodule that is imported does not hide the public name that it has, such as `ct.linear.block`."""
        if name not in self._places or not isinstance(value, ModuleType):
            super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by its name, as `cloudpickle` does it for plain modules alone."""
        return import_module, (self.__name__,)

    def __dir__(self) -> list[str]:
        """The public names: what a reader who presses the tab key sees."""
        return [*self.__all__, *self._beside]


_TOOLS = ("typing", "catad.support.deprecation", __name__)  # no names of theirs are passed on


class _Place(tuple[str, str]):
    """A module and a name in it, where imports are only noted; what is done with them is not done twice."""

    def __call__(self, *args: Any, **kwargs: Any) -> None: ...


def _noted(module: str, _globals: Any, _locals: Any, names: tuple[str, ...] | None, _level: int) -> SimpleNamespace:
    """An `__import__` that loads nothing."""
    return SimpleNamespace(**{name: _Place((module, name)) for name in names or ()})


def first_use(package: str, beside: tuple[str, ...] = (), others: Callable[[str], Any] = lambda name: None) -> None:
    """Give the module that calls it the names that it imports for type checkers, loaded at their first use.

    `__all__` is all of them but those `beside`. `others` finds names that are not imported, or None, whenever one is used.
    """
    made: Any = sys.modules[package]
    seen: dict[str, Any] = {"__builtins__": {**vars(builtins), "__import__": _noted}}
    exec(sys._getframe(1).f_code, seen)
    found = {name: one for name, one in seen.items() if isinstance(one, _Place) and name[0] != "_" and one[0] not in _TOOLS}
    places = {name: place for name, place in found.items() if place[0] != package}  # the others are submodules
    made.__dict__.update(_places=places, _beside=beside, _others=others, __all__=sorted(found.keys() - set(beside)))
    made.__class__ = Package


def _submodule(name: str) -> ModuleType | None:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return None
