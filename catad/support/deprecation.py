"""Names and arguments that a later version removes: they work as before, and warn at the line of the user who has them.

docs/versions.md says for how long. The warning is a `DeprecationWarning`, which Python shows in `__main__` and in tests, and in
the last minor version before the removal a `FutureWarning`, which it shows everywhere. Type checkers know a deprecated function
if `@typing_extensions.deprecated(text, category=None)` stands above it, which warns of nothing when the program runs.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

from catad.version import __version__

P = ParamSpec("P")
R = TypeVar("R")


def deprecated(name: str, *, since: str, removed_in: str, use: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator of a function that is deprecated: each call warns, at the line of the call.

    >>> import warnings
    >>> @deprecated("ct.half", since="0.2", removed_in="0.4", use="x / 2")
    ... def half(x):
    ...     return x / 2
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     half(6.0)
    3.0
    >>> print(seen[0].message)
    ct.half is deprecated since catad 0.2, and catad 0.4 will not have it: use x / 2
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def warning(*args: P.args, **kwargs: P.kwargs) -> R:
            warn(name, since=since, removed_in=removed_in, use=use)
            return function(*args, **kwargs)

        return warning

    return decorate


def renamed_argument(old: str, new: str, *, since: str, removed_in: str) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Decorator of a function whose keyword `old` is now called `new`. A call with both raises `TypeError`, as Python does it.

    >>> import warnings
    >>> @renamed_argument("n", "count", since="0.2", removed_in="0.4")
    ... def stars(count):
    ...     return "*" * count
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     stars(n=3)
    '***'
    >>> print(seen[0].message)
    the argument n of stars is deprecated since catad 0.2, and catad 0.4 will not have it: use count
    """

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        @functools.wraps(function)
        def renaming(*args: Any, **kwargs: Any) -> R:
            if old in kwargs:
                if new in kwargs:
                    raise TypeError(f"{function.__name__}() got both {new!r} and its former name {old!r}")
                what = f"the argument {old} of {function.__name__}"
                warn(what, since=since, removed_in=removed_in, use=new)
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return renaming

    return decorate


def former_names(package: str, names: Mapping[str, str], *, since: str, removed_in: str) -> Callable[[str], Any]:
    """What `first_use(..., others=...)` takes to find names that a package had, and under which it has each of them now.

    >>> import warnings
    >>> find = former_names("catad", {"fold_left": "fold"}, since="0.2", removed_in="0.4")
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     find("fold_left").__name__, find("another") is None
    ('fold', True)
    >>> print(seen[0].message)
    catad.fold_left is deprecated since catad 0.2, and catad 0.4 will not have it: use catad.fold
    """

    def find(name: str) -> Any:
        if name not in names:
            return None
        now = names[name]
        warn(f"{package}.{name}", since=since, removed_in=removed_in, use=f"{package}.{now}", stacklevel=3)
        return getattr(import_module(package), now)

    return find


def warn(name: str, *, since: str, removed_in: str, use: str, stacklevel: int = 2) -> None:
    """Warn of a deprecated name; `stacklevel` counts as in `warnings.warn`: 2 is the caller of the function that warns."""
    text = f"{name} is deprecated since catad {since}, and catad {removed_in} will not have it: use {use}"
    warnings.warn(text, category(removed_in), stacklevel=stacklevel + 1)


def category(removed_in: str, version: str = __version__) -> type[Warning]:
    """`FutureWarning` in the last minor version before the removal, and later; else `DeprecationWarning`.

    >>> category("0.4", "0.2.1").__name__, category("0.4", "0.3.0").__name__, category("1.0", "0.9.0").__name__
    ('DeprecationWarning', 'FutureWarning', 'DeprecationWarning')
    """
    (major, minor), (to_major, to_minor) = [tuple(map(int, text.split(".")[:2])) for text in (version, removed_in)]
    return FutureWarning if (major, minor + 1) >= (to_major, to_minor) else DeprecationWarning
