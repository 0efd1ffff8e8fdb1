"""What a user allows programs on arrays in chunks to do: `ct.chunking`, `ct.no_waiting`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from catad import errors
from catad.chunks.parts import Parts

REPLICATED = 64 * 2**20
"""The bytes of an array of NumPy, or of a constant, that every task may read."""
_waits: ContextVar[bool] = ContextVar("waits", default=True)
_whole: ContextVar[int] = ContextVar("whole", default=2**30)


_cuts: ContextVar[tuple[Parts, ...]] = ContextVar("cuts", default=())


def cuts() -> tuple[Parts, ...]:
    """In which parts the results of a program are wanted, where that costs nothing."""
    return _cuts.get()


@contextmanager
def cut_as(parts: tuple[Parts, ...]) -> Iterator[None]:
    """Inside, results of programs are wanted in these parts."""
    token = _cuts.set(parts)
    try:
        yield
    finally:
        _cuts.reset(token)


def whole_limit() -> int:
    """The bytes up to which a box without a rule for cut arrays may run on whole ones."""
    return _whole.get()


class chunking:
    """`with ct.chunking(whole_limit=4 * 2**30):` lets boxes without a rule for chunks run on whole arrays of up to 4 GiB.

    `whole_limit` counts the bytes that such a box reads and writes, in one task; 1 GiB is the default. The choice holds in this
    thread, for programs that are called inside. Raises `ArgumentError` for a limit that is no integer of at least 0.

    >>> import catad as ct
    >>> with ct.chunking(whole_limit=2**32):
    ...     ct.sin(0.0)
    np.float64(0.0)
    """

    def __init__(self, whole_limit: int) -> None:
        if isinstance(whole_limit, bool) or not isinstance(whole_limit, (int, np.integer)) or whole_limit < 0:
            raise errors.ArgumentError(errors.not_a_whole_limit(whole_limit))
        self.whole_limit = int(whole_limit)

    def __enter__(self) -> None:
        self._token = _whole.set(self.whole_limit)

    def __exit__(self, *_: object) -> None:
        _whole.reset(self._token)


def may_wait() -> bool:
    """Whether a call on arrays in chunks may wait for numbers."""
    return _waits.get()


class no_waiting:
    """`with ct.no_waiting():` forbids calls on arrays of Dask to compute anything before they return.

    Derivatives of while loops need their numbers of steps, for which a call waits otherwise: it raises `EngineError` inside.
    The choice holds in this thread; arrays without chunks are computed as always.

    >>> import catad as ct
    >>> with ct.no_waiting():
    ...     ct.sin(0.0)
    np.float64(0.0)
    """

    def __enter__(self) -> None:
        self._token = _waits.set(False)

    def __exit__(self, *_: object) -> None:
        _waits.reset(self._token)
