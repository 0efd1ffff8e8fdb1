"""Dataclasses whose methods are closures and not texts that are compiled: making such a class takes a tenth of the time.

A process makes some hundred classes of boxes, terms and families before its first result.
"""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, dataclass, fields
from operator import attrgetter
from typing import Any


def of_fields(cls: type) -> Any:
    """The class as a dataclass with a constructor; fields have values as defaults, or none.

    >>> @of_fields
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> Point(1).y, Point(y=2, x=1).y
    (0, 2)
    """
    made: Any = dataclass(init=False, eq=False, repr=False, match_args=False)(cls)
    own = fields(made)
    names, defaults = tuple([each.name for each in own]), {each.name: each.default for each in own if each.default is not MISSING}

    def __init__(self: Any, *args: Any, **given: Any) -> None:
        if len(args) != len(names) or given:
            for name in names[len(args) :]:
                if name not in given and name not in defaults:
                    raise TypeError(f"{type(self).__name__}() is missing the argument {name!r}")
                args += (given.pop(name) if name in given else defaults[name],)
            if given or len(args) > len(names):
                raise TypeError(f"{type(self).__name__}() takes {', '.join(names) or 'no arguments'}")
        self.__dict__.update(zip(names, args, strict=True))

    made.__init__ = __init__
    return made


def frozen(cls: type) -> Any:
    """The same, compared and hashed by the fields, which nobody may set.

    >>> @frozen
    ... class Point:
    ...     x: int
    >>> Point(1), Point(1) == Point(1), hash(Point(1)) == hash(Point(1)), Point(1) == Point(2)
    (Point(x=1), True, True, False)
    """
    made = of_fields(cls)
    names = [each.name for each in fields(made)]
    read = attrgetter(*names) if names else lambda self: ()

    def __eq__(self: Any, other: object) -> bool:
        return bool(read(self) == read(other)) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(read(self))

    def __repr__(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join([f'{name}={getattr(self, name)!r}' for name in names])})"

    def __setattr__(self: Any, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self: Any, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    for method in (__eq__, __hash__, __setattr__, __delattr__):
        setattr(made, method.__name__, method)
    if "__repr__" not in vars(cls):
        made.__repr__ = __repr__
    return made
