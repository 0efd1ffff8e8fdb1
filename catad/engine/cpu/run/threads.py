"""How many threads a call uses, and how work is cut for them; `pool.py` runs it."""

from __future__ import annotations

import os
import threading

from catad import errors
from catad.errors.notices import notice

ALIGNMENT = 64  # elements: pieces of an array of any dtype then start on a cache line where the array does
_default: int | None = None  # for threads that have chosen none


class _Choice(threading.local):
    """The number that one thread has chosen, if any."""

    count: int | None = None


_chosen = _Choice()


def set_num_threads(n: int | None) -> None:
    """Use at most `n` threads for one call of a compiled program from the calling thread.

    `n` is a whole number, at least 1; None follows the default of all threads (`ct.set_default_num_threads`) again. Other threads
    keep their numbers, and a new thread begins with the default. Results do not depend on it. With `threadpoolctl` installed, its
    `threadpool_limits` sets the number of the calling thread, too, under the API "catad".
    Raises `ArgumentError` where `n` is no whole number >= 1.

    >>> import catad as ct
    >>> ct.set_num_threads(1)
    >>> ct.get_num_threads()
    1
    >>> ct.set_num_threads(None)
    """
    _chosen.count = _checked(n)


def set_default_num_threads(n: int | None) -> None:
    """Use at most `n` threads for one call of a compiled program from any thread that has chosen no number of its own.

    `n` is a whole number, at least 1; None takes the default from the environment again: what `CATAD_NUM_THREADS` says, or else
    `OMP_NUM_THREADS` (the first number of its list), or else the number of processors that this process may run on.
    Raises `ArgumentError` where `n` is no whole number >= 1.

    >>> import catad as ct
    >>> ct.set_default_num_threads(2)
    >>> ct.get_num_threads()
    2
    >>> ct.set_default_num_threads(None)
    """
    global _default
    _default = _checked(n)


class num_threads:
    """`with ct.num_threads(n):` uses at most `n` threads for calls inside, from the calling thread.

    It sets the number as `ct.set_num_threads` does, and afterwards the number that held before.
    Raises `ArgumentError` where `n` is no whole number >= 1.

    >>> import catad as ct
    >>> with ct.num_threads(1):
    ...     ct.get_num_threads()
    1
    """

    def __init__(self, n: int) -> None:
        if n is None:
            raise errors.ArgumentError(errors.bad_thread_count(n))
        self.count = _checked(n)
        self._before: list[int | None] = []

    def __enter__(self) -> None:
        self._before.append(_chosen.count)
        _chosen.count = self.count

    def __exit__(self, *_: object) -> None:
        _chosen.count = self._before.pop()


def get_num_threads() -> int:
    """The number of threads (dimensionless, at least 1) that a call of a compiled program from the calling thread uses at most.

    It is that of `ct.set_num_threads` where the thread has chosen one, else that of `ct.set_default_num_threads`.

    >>> import catad as ct
    >>> ct.get_num_threads() >= 1
    True
    """
    global _default
    if _chosen.count is not None:
        return _chosen.count
    if _default is None:
        _default = _of_the_environment()
    return _default


def _checked(n: int | None) -> int | None:
    if n is None:
        return None
    if isinstance(n, bool) or not hasattr(n, "__index__") or n.__index__() < 1:
        raise errors.ArgumentError(errors.bad_thread_count(n))
    return n.__index__()


def _of_the_environment() -> int:
    said = os.environ.get("CATAD_NUM_THREADS", "").strip()
    if said.isdecimal() and int(said) >= 1:
        return int(said)
    if said:
        notice("CATAD_NUM_THREADS", errors.bad_thread_variable(said))
    outer = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()  # of nested levels: the outermost
    if outer.isdecimal() and int(outer) >= 1:
        return int(outer)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def chunks(n: int, least: int, multiple: int = ALIGNMENT) -> list[tuple[int, int]]:
    """Cut `range(n)` into at most as many pieces (start, stop) as there are threads, none smaller than `least`.

    Boundaries are multiples of `multiple`. The pieces are as equal as that allows; there is one where `n` is small, and none
    where it is 0.

    >>> with num_threads(3):
    ...     chunks(1000, 100), chunks(1000, 600), chunks(10, 1, 1), chunks(0, 1)
    ([(0, 320), (320, 640), (640, 1000)], [(0, 1000)], [(0, 4), (4, 7), (7, 10)], [])
    """
    if n <= 0:
        return []
    units = n // multiple  # whole ones; what is left over goes to the last piece
    pieces = max(1, min(get_num_threads(), units, n // max(least, 1)))
    while pieces > 1 and (units // pieces) * multiple < least:
        pieces -= 1
    bounds = [multiple * -(-units * k // pieces) for k in range(pieces)]
    return list(zip(bounds, [*bounds[1:], n], strict=True))
