"""Whether arrays are what they were, by one compiled call: shape, strides, dtype, place in memory, and the bits of their copies.

Asking each array for these in Python takes a microsecond; programs read dozens of small arrays. The function reads the fields
where NumPy's objects have them, in the order that compiled extensions rely on, too (`PyArrayObject_fields` in NumPy's
`ndarraytypes.h`). `supported()` makes sure of the order with a few arrays.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from catad.buffers import HEAD, address
from catad.engine.cpu.run.target import Module, available, compiled

WORDS = 8  # of a row of the table: the object, its address, axes, dtype, shape and strides, its copy, bytes that are compared


class Looks:
    """What arrays are now. `same()` tells whether they are that, and have the bits of their copies if `contents`.

    All are contiguous, and of NumPy.

    >>> import numpy as np
    >>> x = np.arange(6.0)
    >>> if supported():
    ...     looks = Looks([x], [x.copy()])
    ...     assert looks.same()
    ...     x[2] = -2.0
    ...     assert not looks.same()
    """

    __slots__ = ("_apart", "_held")

    def __init__(self, arrays: Sequence[Any], copies: Sequence[Any], contents: bool = True) -> None:
        function, module = _function()
        table = np.zeros((len(arrays), WORDS), np.int64)
        shapes = [np.array([*array.shape, *array.strides], np.int64) for array in arrays]
        for row, array, copy, shape in zip(table, arrays, copies, shapes, strict=True):
            row[:4] = id(array) + HEAD, address(array), array.ndim, id(array.dtype)
            row[4:7] = address(shape), address(copy), array.nbytes if contents else 0
        dtypes = [array.dtype for array in arrays]
        self._held = table, list(arrays), list(copies), shapes, dtypes, module  # what the addresses belong to
        self._apart = partial(function, address(table), len(arrays))

    def same(self) -> bool:
        """Whether the arrays are what they were."""
        return not self._apart()


@cache
def supported() -> bool:
    """True where NumPy's objects have their fields in the order that is known, and programs can be compiled."""
    return bool(HEAD) and available() and all(map(_is_known, _samples()))


def _samples() -> list[Any]:
    whole = np.arange(6.0).reshape(2, 3)
    views = [whole, whole[1:, ::2], whole[::-1].astype(np.float32)]
    return [*views, np.zeros((0, 2), np.int8), np.array(1), np.zeros((2, 1, 3), bool)]


def _is_known(array: Any) -> bool:
    at = id(array) + HEAD
    ndim = ctypes.c_int.from_address(at + 8).value
    if ndim != array.ndim or ctypes.c_size_t.from_address(at + 40).value != id(array.dtype):
        return False
    axes = [ctypes.c_size_t.from_address(at + offset).value for offset in (16, 24)]
    found = [[ctypes.c_ssize_t.from_address(first + 8 * k).value for k in range(ndim)] for first in axes]
    return found == [list(array.shape), list(array.strides)]


@cache
def _function() -> tuple[Any, Module]:
    module = compiled(_TEXT, ["apart"])
    kind = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)  # no other thread may change an array meanwhile
    return kind(module.address("apart")), module


_LOADED = "".join([
    f"""
  %at{k} = getelementptr i64, ptr %row, i64 {k}
  %word{k} = load i64, ptr %at{k}, align 8"""
    for k in range(WORDS - 1)
])  # fmt: skip
_FIELDS = "".join([
    f"""
  %{name}.at = getelementptr i8, ptr %object, i64 {offset}
  %{name} = load {kind}, ptr %{name}.at, align {align}"""
    for name, offset, kind, align in (
        ("data", 0, "i64", 8), ("ndim", 8, "i32", 4), ("shape", 16, "ptr", 8), ("strides", 24, "ptr", 8), ("dtype", 40, "i64", 8)
    )
])  # fmt: skip

_TEXT = f"""
declare i32 @memcmp(ptr, ptr, i64)

define i64 @apart(ptr %table, i64 %rows) {{
start:
  br label %test
test:
  %r = phi i64 [0, %start], [%next, %content]
  %more = icmp ult i64 %r, %rows
  br i1 %more, label %one, label %end
one:
  %offset = mul i64 %r, {WORDS}
  %row = getelementptr i64, ptr %table, i64 %offset{_LOADED}
  %object = inttoptr i64 %word0 to ptr{_FIELDS}
  %moved = icmp ne i64 %data, %word1
  %axes = sext i32 %ndim to i64
  %other.axes = icmp ne i64 %axes, %word2
  %other.dtype = icmp ne i64 %dtype, %word3
  %either = or i1 %moved, %other.axes
  %any = or i1 %either, %other.dtype
  br i1 %any, label %changed, label %sizes
sizes:
  %bytes = mul i64 %axes, 8
  %old.shape = inttoptr i64 %word4 to ptr
  %old.strides = getelementptr i8, ptr %old.shape, i64 %bytes
  %by.shape = call i32 @memcmp(ptr %shape, ptr %old.shape, i64 %bytes)
  %by.strides = call i32 @memcmp(ptr %strides, ptr %old.strides, i64 %bytes)
  %both = or i32 %by.shape, %by.strides
  %reshaped = icmp ne i32 %both, 0
  br i1 %reshaped, label %changed, label %content
content:
  %array = inttoptr i64 %word1 to ptr
  %copy = inttoptr i64 %word5 to ptr
  %written = call i32 @memcmp(ptr %array, ptr %copy, i64 %word6)
  %is.written = icmp ne i32 %written, 0
  %next = add i64 %r, 1
  br i1 %is.written, label %changed, label %test
changed:
  ret i64 1
end:
  ret i64 0
}}
"""
