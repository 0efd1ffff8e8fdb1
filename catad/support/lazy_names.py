"""Packages whose names are loaded at their first use, so that a process waits only for what it uses.

`first_use(__name__, {module: names})` makes a module one that looks a missing name up in the table. Type checkers read imports
under `TYPE_CHECKING` that say the same; `tests/docs/test_layers.py` compares the two.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any


class Package(ModuleType):
    """A module with such a table: `_places` says of a name its module and its name there."""

    _places: dict[str, tuple[str, str]]
    _beside: tuple[str, ...]
    _others: Callable[[str], Any]
    __all__: list[str]

    def __getattr__(self, name: str) -> Any:
        if name in self._places:
            module, own = self._places[name]
            found = getattr(import_module(module), own) if own else import_module(module)
        else:
            found = None if name.startswith("_") else _submodule(f"{self.__name__}.{name}") or self._others(name)
        if found is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        self.__dict__[name] = found
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        """A submodule that is imported does not hide the public name that it has, such as `ct.linear.block`."""
        if name not in self._places or not isinstance(value, ModuleType) or not self._places[name][1]:
            super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by its name, as `cloudpickle` does it for plain modules alone."""
        return import_module, (self.__name__,)

    def __dir__(self) -> list[str]:
        """The public names: what a reader who presses the tab key sees."""
        return [*self.__all__, *self._beside]


def first_use(
    package: str, table: dict[str, str], beside: tuple[str, ...] = (), others: Callable[[str], Any] = lambda name: None
) -> None:
    """Give a module names from other modules, loaded at their first use; `__all__` is all but those `beside`.

    The table has names by module, below `catad`; `old:new` is a name with another one here, and a module without names is itself
    one of them. `others` finds names that no table has, or None.
    """
    places = {}
    for module, names in table.items():
        for name in names.split() or [f":{module.rpartition('.')[2]}"]:
            own, _, new = name.partition(":")
            places[new or own] = f"catad.{module}", own
    made: Any = sys.modules[package]
    made.__dict__.update(_places=places, _beside=beside, _others=others, __all__=sorted(places.keys() - set(beside)))
    made.__class__ = Package


def _submodule(name: str) -> ModuleType | None:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return None
