"""Boxes without code within a loop: compiled code calls their array code, once for each step.

It is given copies of what it reads, so that it may keep them. Where it raises, the function gives up, and the array code of the
whole loop raises the error.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from catad.boxes import Primitive
from catad.engine.cpu.whole.text import Buffer, Text
from catad.spaces import Tensor

Arrays = Sequence[tuple[Buffer, Tensor]]
MOST = 1024  # arrays that are kept as they lie in memory

raised: dict[int, BaseException] = {}
"""What is to be raised once a call has ended, by the address of its error: `KeyboardInterrupt`, say."""


class Outside:
    """The array code of a box, as a function that compiled code calls with addresses and that of its error: 0 if it went well."""

    def __init__(self, primitive: Primitive, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> None:
        self.kernel, self.ins, self.outs = primitive.kernel(tuple(ins)), ins, outs
        self.kept: dict[tuple[int, int], Any] = {}
        self.function = _FUNCTION(self._run)  # kept as long as it may be called

    @property
    def address(self) -> int:
        """The address of the function."""
        return ctypes.cast(self.function, ctypes.c_void_p).value or 0

    def _run(self, places: Any, error: int) -> int:
        try:
            n = len(self.ins)
            given = [self._array(k, places[k], space).copy() for k, space in enumerate(self.ins)]
            with np.errstate(all="ignore"):
                made = self.kernel(np, *given)
            for k, (space, value) in enumerate(zip(self.outs, made if len(self.outs) > 1 else (made,), strict=True), n):
                self._array(k, places[k], space)[...] = value
        except Exception:  # the array code of the loop raises it
            return 1
        except BaseException as interrupt:
            raised[error] = interrupt
            return 1
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


def called_outside(text: Text, box: Primitive, read: Arrays, made: Arrays) -> None:
    """Write a call of a box's array code, unless something has failed before."""
    w, arrays = text.w, [*read, *made]
    name = text.outside(Outside(box, [space for _, space in read], [space for _, space in made]))
    places = w.slot("ptr", len(arrays))

    def call() -> None:
        for k, (buffer, _) in enumerate(arrays):
            w.do(f"store ptr {buffer.pointer}, ptr {text.at(places, (), (), 8 * k)}")
        found = w.set(f"call i32 {name}(ptr {places}, ptr %error)")
        text.fail(w.set(f"icmp ne i32 {found}, 0"))

    text.fail("false")
    failed = w.set(f"load i1, ptr {text.failed}")
    w.when(w.set(f"xor i1 {failed}, true"), call)
