"""`Recent`: a bounded dictionary that forgets the entries which were not used for long."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Keys to values, in two generations: when the younger one has `size` keys, it becomes the older one, which is dropped.

    So the last `size` keys that were used are there, and never more than `2 * size`. Finding a young key is one look into one
    dictionary. Threads need no lock: what two of them do at once may at worst forget a key.

    >>> few = Recent(2)
    >>> for k in range(5):
    ...     few[k] = str(k)
    >>> few.get(0), few.get(3), few.get(4)
    (None, '3', '4')
    """

    __slots__ = ("_old", "_young", "size")

    def __init__(self, size: int) -> None:
        self.size = size
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
            self._old, self._young = self._young, {}
        self._young[key] = value

    def __len__(self) -> int:
        return len(self._young.keys() | self._old.keys())

    def clear(self) -> None:
        self._young, self._old = {}, {}
