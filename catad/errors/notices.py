"""Notices: what a user should know once, and not at every call.

A notice has a key; it is given the first time that its key is met in a process, as a warning of the category
`CatadNotice`. `warnings.filterwarnings("error", category=ct.CatadNotice)` turns notices into errors.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from catad import errors
from catad.errors import CannotPrint, CatadNotice
from catad.errors.places import frames_inside

_lock = threading.Lock()
_given: set[Hashable] = set()


def notice(key: Hashable, text: str) -> bool:
    """Warn with `text`, unless a notice with this key was given before; True where it was given now.

    The warning names the line of the call that led here, in the first frame outside this package.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     notice("doctest", "said once"), notice("doctest", "said once")
    (True, False)
    >>> len(seen)
    1
    >>> forget("doctest")
    """
    holder = _held.get()
    if holder is not None:
        holder.append(lambda: notice(key, text))
        return False
    with _lock:
        if key in _given:
            return False
        _given.add(key)
    # The lock is free by now: what a warning is turned into may be an error, or code that gives a notice itself.
    warnings.warn(text, CatadNotice, stacklevel=1 + frames_inside())
    return True


def tell(boxes: str, error: CannotPrint) -> None:
    """Give the notice that the array code of boxes runs: once for what cannot be printed, or once for boxes without a kernel."""
    key = (error.construct, boxes if error.why == errors.NO_KERNEL else "")
    notice(key, errors.array_code_runs(error.construct, error.why, boxes))


_held: ContextVar[list[Callable[[], Any]] | None] = ContextVar("held notices", default=None)


@contextmanager
def held(found: list[Callable[[], Any]]) -> Iterator[None]:
    """Notices of this block are kept, to be given later by calling what is in the list."""
    token = _held.set(found)
    try:
        yield
    finally:
        _held.reset(token)


def forget(key: Hashable | None = None) -> None:
    """Let the notice with this key (all notices, where it is None) be given again."""
    with _lock:
        if key is None:
            _given.clear()
        else:
            _given.discard(key)
