"""What a whole program calls of Python: the array code of boxes without code within a loop.

Array code is given copies of what it reads, so that it may keep them, unless the box says that it does not. Where what is called
raises, the function gives up, and the array code of the whole program raises the error.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from catad.category.boxes import Primitive
from catad.category.spaces import Tensor
from catad.engine.cpu.whole.text import Arrays, Text

MOST = 1024  # arrays that are kept as they lie in memory

raised: dict[int, BaseException] = {}
"""What is to be raised once a call has ended, by the address of its error: `KeyboardInterrupt`, say."""


class FromOutside:
    """A function that compiled code calls by its address; kept as long as it may be called."""

    function: Any

    @property
    def address(self) -> int:
        """The address of the function."""
        return ctypes.cast(self.function, ctypes.c_void_p).value or 0


class Outside(FromOutside):
    """What runs on arrays, as a function that compiled code calls with addresses and that of its error: 0 if it went well."""

    def __init__(self, run: Callable[[list[Any]], None], spaces: Sequence[Tensor], once: bool) -> None:
        self.run, self.spaces, self.once = run, spaces, once
        self.kept: dict[tuple[int, int], Any] = {}
        self.function = _FUNCTION(self._run)

    def _run(self, places: Any, error: int) -> int:
        try:
            self.run([self._array(k, places[k], space) for k, space in enumerate(self.spaces)])
        except BaseException as interrupt:
            if self.once or not isinstance(interrupt, Exception):
                raised[error] = interrupt
            return 1  # within a loop, the array code of the loop raises it
        return 0

    def _array(self, k: int, place: int, space: Tensor) -> Any:
        """The array of a space at an address."""
        found = self.kept.get((k, place))
        if found is None:
            if len(self.kept) >= MOST:
                self.kept.clear()
            memory = (ctypes.c_char * max(space.nbytes, 1)).from_address(place)
            found = self.kept[k, place] = np.ndarray(space.shape, space.dtype, memoryview(memory))
        return found


_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p)


class Clock(FromOutside):
    """The times at which compiled code calls it, by the address of the error of the call that it belongs to."""

    def __init__(self) -> None:
        self.ticks: dict[int, list[float]] = {}
        self.function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._tick)

    def _tick(self, error: int) -> None:
        self.ticks.setdefault(error, []).append(time.perf_counter())


def called_outside(text: Text, box: Primitive, read: Arrays, made: Arrays) -> None:
    """Write a call of a box's array code, unless something has failed before."""
    text.runs_boxes = True
    call_array_code(text, box.kernel(tuple([space for _, space in read])), read, made, box.borrows)


def call_array_code(text: Text, kernel: Callable[..., Any], read: Arrays, made: Arrays, borrows: bool = False) -> None:
    """Write a call of array code, unless something has failed before; code that borrows keeps nothing of what it reads."""
    n = len(read)

    def run(arrays: list[Any]) -> None:
        with np.errstate(all="ignore"):
            found = kernel(np, *(arrays[:n] if borrows else [array.copy() for array in arrays[:n]]))
        for array, value in zip(arrays[n:], found if len(made) > 1 else (found,), strict=True):
            array[...] = value

    arrays = [*read, *made]
    w, name = text.w, text.outside(Outside(run, [space for _, space in arrays], text.depth <= 1))
    places = w.slot("ptr", len(arrays))
    text.fail("false")
    with w.otherwise(w.set(f"load i1, ptr {text.failed}")):
        for k, (buffer, _) in enumerate(arrays):
            w.do(f"store ptr {buffer.pointer}, ptr {text.at(places, (), (), 8 * k)}")
        found = w.set(f"call i32 {name}(ptr {places}, ptr %error)")
        text.fail(w.set(f"icmp ne i32 {found}, 0"))
