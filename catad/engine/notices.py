"""Notices: what a user should know once, and not at every call.

A notice has a key; it is given the first time that its key is met in a process, as a warning of the category
`CatadNotice`. `warnings.filterwarnings("error", category=ct.CatadNotice)` turns notices into errors.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Hashable

from catad.errors import CatadNotice

_lock = threading.Lock()
_given: set[Hashable] = set()


def notice(key: Hashable, text: str, stacklevel: int = 2) -> bool:
    """Warn with `text`, unless a notice with this key was given before; True where it was given now.

    `stacklevel` counts as in `warnings.warn`: 2 points at the caller of this function.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     notice("doctest", "said once"), notice("doctest", "said once")
    (True, False)
    >>> len(seen)
    1
    >>> forget("doctest")
    """
    with _lock:
        if key in _given:
            return False
        _given.add(key)
    # The lock is free by now: what a warning is turned into may be an error, or code that gives a notice itself.
    warnings.warn(text, CatadNotice, stacklevel=stacklevel + 1)
    return True


def forget(key: Hashable | None = None) -> None:
    """Let the notice with this key (all notices, where it is None) be given again."""
    with _lock:
        if key is None:
            _given.clear()
        else:
            _given.discard(key)
