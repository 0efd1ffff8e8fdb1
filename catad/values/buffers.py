"""Memory for large results, used again when they are gone.

The first touch of fresh memory costs a page fault a page, often more than the arithmetic that fills it. So the memory of a large
result, once no array refers to it, is kept for the next result of about its size. At most `KEPT` bytes lie idle, and with what is
in use never more than five quarters of the most that was; `release()` gives all of it back.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

LARGE = 1 << 17  # bytes: smaller results come from NumPy
KEPT = 1 << 29  # bytes that may lie idle
_ALIGNED = 64
_STEPS = (
    64  # results begin at different places of a page: a pass over many arrays else finds all of them in one set of a cache
)
_turns = itertools.count()
_word_at = ctypes.c_size_t.from_address

_lock = threading.RLock()  # a block may die while this thread holds it
_idle: OrderedDict[int, Any] = OrderedDict()  # by identity, the longest idle first
_used = 0
_most = 0
_waiting = 0


class _Block:
    """Some memory on loan: what NumPy arrays refer to as their base."""

    __slots__ = ("__array_interface__", "raw")

    def __init__(self, raw: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.raw = raw
        at = address(raw)
        at += -at % _ALIGNED + _ALIGNED * ((9 * next(_turns) + 4) % _STEPS)
        self.__array_interface__ = {"shape": shape, "typestr": dtype.str, "data": (at, False), "version": 3}

    def __del__(self) -> None:
        if _give_back is not None:  # as it is where Python ends, and clears its modules before its objects
            _give_back(self.raw)


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """An array whose numbers are not set yet.

    >>> empty((2, 3), np.dtype("float32")).shape
    (2, 3)
    """
    size = math.prod(shape) * dtype.itemsize
    if size < LARGE:
        return np.empty(shape, dtype)
    return np.asarray(_Block(_raw(size + _ALIGNED * _STEPS), shape, dtype))


def copied(array: Any, order: Literal["C", "K"] = "C") -> Any:
    """A copy of a NumPy array, as `array.copy(order)` makes it, in such memory.

    >>> copied(np.arange(3))
    array([0, 1, 2])
    """
    if array.nbytes < LARGE or (order == "K" and not array.flags.c_contiguous):
        return array.copy(order)
    made = empty(array.shape, array.dtype)
    np.copyto(made, array)
    return made


def is_new(array: Any) -> bool:
    """True where a NumPy array is no view of another: its memory is NumPy's or of the kind above."""
    return array.base is None or type(array.base) is _Block


def _raw(size: int) -> Any:
    global _used, _most, _waiting
    with _lock:
        found = None
        for key, raw in reversed(_idle.items()):  # the last one given back is the likeliest to be in a cache
            if size <= raw.nbytes <= size + (size >> 3):
                found = _idle.pop(key)
                _waiting -= found.nbytes
                break
        if found is None:
            try:
                found = np.empty(size, np.uint8)
            except MemoryError:
                release()  # what lies idle may be what is missing
                found = np.empty(size, np.uint8)
        _used += found.nbytes
        _most = max(_most, _used)
    return found


def _give_back(raw: Any) -> None:
    global _used, _waiting
    with _lock:
        _used -= raw.nbytes
        _idle[id(raw)] = raw
        _waiting += raw.nbytes
        while _idle and _waiting + _used > min(_most + (_most >> 2), _used + KEPT):  # a small block more drives no large one out
            _waiting -= _idle.popitem(last=False)[1].nbytes


def release() -> None:
    """Give the memory that lies idle back to the system."""
    global _most, _waiting
    with _lock:
        _idle.clear()
        _waiting = 0
        _most = _used


def address(array: Any) -> int:
    """The address at which an array begins in memory.

    >>> x = np.arange(3.0)
    >>> address(x[1:]) - address(x)
    8
    """
    if HEAD and type(array) is np.ndarray:
        return _word_at(id(array) + HEAD).value
    found: int = array.__array_interface__["data"][0]
    return found


def places(arrays: Sequence[Any]) -> Callable[[], list[int]]:
    """A function to the addresses at which arrays begin, now and whenever it is called.

    >>> x = np.arange(3.0)
    >>> found = places([x])
    >>> found() == [address(x)]
    True
    """
    if HEAD and all(type(array) is np.ndarray for array in arrays):
        words = [_word_at(id(array) + HEAD) for array in arrays]
        return lambda: [word.value for word in words]
    return lambda: [address(array) for array in arrays]


def same_bits(a: Any, b: Any) -> bool:
    """True where two contiguous arrays of one shape and dtype hold the same bits.

    >>> same_bits(np.zeros(3), np.zeros(3)), same_bits(np.zeros(1), -np.zeros(1))
    (True, False)
    """
    if _memcmp is not None:
        return not _memcmp(address(a), address(b), a.nbytes)
    return a.tobytes() == b.tobytes()  # type: ignore[no-any-return]


def _comparing() -> Any:
    """The C library's `memcmp`, which makes no array of truth values and no copies; None where Python does not show it."""
    found = getattr(ctypes.pythonapi, "memcmp", None)
    if found is not None:
        found.argtypes, found.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t], ctypes.c_int
    return found


_memcmp = _comparing()


def _head() -> int:
    """How far in an array of NumPy the address of its numbers lies behind the address of the object; 0 where that is not known.

    The address is the first field after the head of any object, on which compiled extensions rely, too (`PyArray_DATA`). Reading
    it takes a tenth of the time that NumPy's dictionary `__array_interface__` takes. Where it is known, `ITEMS` and `FLAGS` are.
    """
    head = object.__basicsize__
    if sys.implementation.name != "cpython":
        return 0
    whole = np.arange(6.0).reshape(2, 3)
    arrays = [whole, whole[1:, ::2], whole[::-1], np.broadcast_to(np.float32(1.0), (2, 2)), np.zeros((0, 2)), np.array(1)]
    items = _word_at(id(arrays) + head + 8).value
    for k, array in enumerate(arrays):
        place, flags = id(array) + head, ctypes.c_int.from_address(id(array) + head + 48).value
        if _word_at(items + 8 * k).value != id(array) or _word_at(place - 8).value != id(np.ndarray):
            return 0
        if _word_at(place).value != array.__array_interface__["data"][0] or flags & PLAIN != array.flags.num & PLAIN:
            return 0
    return head


PLAIN = 0x101  # NumPy's flags of arrays that are contiguous in the order of C, and aligned
HEAD = _head()
ITEMS, FLAGS = HEAD + 8, HEAD + 48  # where a list has the address of its items, and an array its flags
