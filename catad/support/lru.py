"""What is kept of the past, within bounds: `Recent`, a dictionary, and `remembered`, the results of functions.

What is made of a user's functions and sizes is kept here, or in the cache of a term (`category/cache.py`), and nowhere else: so a
process that makes new functions for ever stays as large as it is once these are full.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import fields
from functools import _lru_cache_wrapper, lru_cache, wraps
from typing import Any, Generic, TypeVar, overload

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")

HELD = 1 << 26  # bytes of arrays that a generation of a dictionary may hold
RESULTS = 1 << 13  # of all remembered functions together; one takes 2 KB on average, with what it alone refers to


class Recent(Generic[K, V]):
    """Keys to values, in two generations: when the younger one is full, it becomes the older one, which is dropped.

    It is full with `size` keys, or when the arrays that its values hold (`hold`) have HELD bytes. So the last `size` keys that
    were used are there, unless they hold much, and never more than `2 * size`. Finding a young key is one look into one
    dictionary. Threads need no lock: what two of them do at once may at worst forget a key.

    >>> few = Recent(2)
    >>> for k in range(5):
    ...     few[k] = str(k)
    >>> few.get(0), few.get(3), few.get(4)
    (None, '3', '4')
    """

    __slots__ = ("_held", "_old", "_young", "size")

    def __init__(self, size: int) -> None:
        self.size, self._held = size, 0
        self._young: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        found = self._young.get(key)
        if found is None:
            found = self._old.get(key)
            if found is not None:
                self[key] = found  # used: young again
        return found

    def __setitem__(self, key: K, value: V) -> None:
        if len(self._young) >= self.size:
            self._turn()
        self._young[key] = value

    def hold(self, nbytes: int) -> None:
        """Note that a value which was just used holds so many bytes of arrays more."""
        self._held += nbytes
        if self._held > HELD:
            self._turn()

    def _turn(self) -> None:
        self._old, self._young, self._held = self._young, {}, 0

    def __len__(self) -> int:
        return len(self._young.keys() | self._old.keys())

    def clear(self) -> None:
        self._old, self._young, self._held = {}, {}, 0


def hashed_once(made: type[T]) -> type[T]:
    """Class decorator for frozen dataclasses: the hash is computed once, and pickled without it: another process has others."""
    cls: Any = made
    compute, names = cls.__hash__, [each.name for each in fields(cls)]

    def cached(self: Any) -> int:
        found: int | None = self.__dict__.get("_hash")
        if found is None:
            found = self.__dict__["_hash"] = compute(self)
        return found

    def reduced(self: Any) -> tuple[Any, ...]:
        return type(self), tuple([getattr(self, name) for name in names])

    cls.__hash__, cls.__reduce__ = cached, reduced
    return made


# -- results of functions

_remembered: list[_lru_cache_wrapper[Any]] = []
_results = 0  # that are there, each by its weight


@overload
def remembered(make: Callable[..., V], /) -> _lru_cache_wrapper[V]: ...
@overload
def remembered(*, weight: Callable[[Any], int]) -> Callable[[Callable[..., V]], _lru_cache_wrapper[V]]: ...
def remembered(make: Any = None, /, *, weight: Callable[[Any], int] | None = None) -> Any:
    """The function, whose results are kept for calls with equal arguments.

    All functions of this kind have one bound: when they have RESULTS results together, all of these are forgotten, and those in
    use are made once more. So a search may fill it with products, and a process of many small functions with their code.
    `weight` says of a result for how many it counts. No argument may hold a large array.

    >>> @remembered
    ... def double(n):
    ...     print("made")
    ...     return 2 * n
    >>> double(4) + double(4)
    made
    16
    """
    if make is None:
        return lambda make: _remembering(make, weight)
    return _remembering(make, None)


def _remembering(make: Callable[..., V], weight: Callable[[Any], int] | None) -> _lru_cache_wrapper[V]:
    @wraps(make)
    def counted(*args: Any, **options: Any) -> V:
        global _results
        result = make(*args, **options)
        counts = 1 if weight is None else 1 + weight(result)
        if _results + counts > RESULTS:
            forget()
        _results += counts
        return result

    made = lru_cache(maxsize=None)(counted)
    _remembered.append(made)
    return made


def forget() -> None:
    """Let go of the results of all remembered functions."""
    global _results
    _results = 0
    for each in _remembered:
        each.cache_clear()
