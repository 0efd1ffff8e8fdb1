"""A quick look at arrays that somebody could write to: whether a value, of arrays in lists, is surely what it was.

A look says "surely the same", or nothing; then what the value holds is compared with what it held, part by part. For the look
nothing is taken apart again: the containers have the same parts, the arrays stand where they stood, and their memory has the bits
of their copies. Where a function is called often, one compiled function tells this for all arrays, and another one compares
the tags of large ones (`engine/cpu/run/unchanged_arrays.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter, is_
from typing import Any

import numpy as np

from catad.engine.cpu.run import unchanged_arrays
from catad.values.buffers import places, same_bits

OFTEN = 50  # looks after which compiled code is worth what it takes to make
LARGE = 1 << 18  # bytes in all whose tags are compared
_meaning = attrgetter("shape", "strides", "dtype")  # what can be changed in place beside the numbers


class Watch:
    """What a value is made of: containers with their parts, contiguous arrays with their copies, and arrays that are closed."""

    __slots__ = (
        "_arrays", "_at_once", "_closed", "_containers", "_copies", "_looks", "_meanings", "_places", "_starts", "_whole",
    )  # fmt: skip

    def __init__(
        self,
        whole: Any,
        containers: Sequence[tuple[Any, tuple[Any, ...]]],
        arrays: Sequence[tuple[Any, Any]],
        closed: Sequence[Any],
    ) -> None:
        self._whole, self._containers, self._closed = whole, containers, closed
        self._arrays, self._copies = [array for array, _ in arrays], [copy for _, copy in arrays]
        self._places = places(self._arrays)
        self._starts, self._meanings = self._places(), list(map(_meaning, self._arrays))
        self._looks = 0
        self._at_once: unchanged_arrays.Looks | None = None

    def same(self, whole: Any) -> bool:
        """True where this is the same value and nothing in it has changed; False where something may have."""
        if whole is not self._whole:
            return False
        for container, parts in self._containers:
            if len(container) != len(parts) or not all(map(is_, container, parts)):
                return False
        if self._closed and not all(map(is_closed, self._closed)):
            return False
        if not self._arrays:
            return True
        if self._at_once is not None:
            return self._at_once.same()
        if self._places() != self._starts or list(map(_meaning, self._arrays)) != self._meanings:
            return False
        self._looks += 1
        if self._looks == OFTEN and unchanged_arrays.supported():
            large = sum([array.nbytes for array in self._arrays]) >= LARGE and unchanged_arrays.can_tag()
            self._at_once = unchanged_arrays.Looks(self._arrays, self._copies, large)
        return all(map(same_bits, self._arrays, self._copies))


def is_closed(value: Any) -> bool:
    """True for an array of NumPy that nobody can write to."""
    while type(value) is np.ndarray and not value.flags.writeable:
        if value.base is None:
            return True
        value = value.base
    return isinstance(value, bytes)
