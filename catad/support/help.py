"""Help for values: `help(ct.sin)` shows a text about the sine, although `ct.sin` is an instance of a class.

Python takes the text of an instance from its class. `documented` gives a text to a single value. The `__doc__` of its class
becomes a descriptor, which answers with the text of the class for the class and with the text of the value for the value.
`help`, `inspect.getdoc` and IPython's `?` all read it. Source: the ufuncs of NumPy, whose `__doc__` is a property of the
value as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class _Texts:
    """The `__doc__` of a class, some of whose instances have texts of their own, found by their identity."""

    def __init__(self, own: str | None) -> None:
        self.own = own
        # by identity, with the value, so that it stays and no other gets its identity
        self.texts: dict[int, tuple[Any, str | Callable[[], str]]] = {}

    def __get__(self, value: Any, owner: type | None = None) -> str | None:
        found = self.texts.get(id(value)) if value is not None else None
        if found is None:
            return self.own
        return found[1] if isinstance(found[1], str) else found[1]()


def documented(value: T, text: str | Callable[[], str]) -> T:
    """The value itself, with a text of its own, for public values that live as long as their module; not for those of a call.

    The class of the value is written in Python. A text that is composed may be a function, called when somebody reads it.

    >>> class Unit:
    ...     "A unit of length."
    >>> metre = documented(Unit(), "The distance that light travels in 1/299792458 s.")
    >>> metre.__doc__, Unit.__doc__, Unit().__doc__
    ('The distance that light travels in 1/299792458 s.', 'A unit of length.', 'A unit of length.')
    """
    cls: Any = type(value)
    texts = cls.__dict__.get("__doc__")
    if not isinstance(texts, _Texts):
        texts = cls.__doc__ = _Texts(texts)
    texts.texts[id(value)] = (value, text)
    return value
