"""Whether arrays are what they were, by one compiled call: shape, strides, dtype, place in memory, and the bits of their copies.

Asking each array for these in Python takes a microsecond; programs read dozens of small arrays. The function reads the fields
where NumPy's objects have them, in the order that compiled extensions rely on, too (`PyArrayObject_fields` in NumPy's
`ndarraytypes.h`). `supported()` makes sure of the order with a few arrays.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import numpy as np

from catad.engine.cpu.run.target import Module, available, compiled
from catad.scalar.printing.llvm_writer import Writer
from catad.values.buffers import HEAD, address

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
    module = compiled(_text, ["apart"])
    kind = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)  # no other thread may change an array meanwhile
    return kind(module.address("apart")), module


def _text() -> str:
    """`apart(table, rows)`: not 0 where an array is not what it was. What is behind a field that has changed is not looked at."""
    w = Writer()
    w.support["memcmp"] = "declare i32 @memcmp(ptr, ptr, i64)"
    found = w.slot("i64", start="0")

    @contextmanager
    def unless(changed: str) -> Iterator[None]:
        with w.where(changed):
            w.do(f"store i64 1, ptr {found}")
        with w.otherwise(changed):
            yield

    def read(base: str, kind: str, offset: int) -> str:
        return w.set(f"load {kind}, ptr {w.set(f'getelementptr i8, ptr {base}, i64 {offset}')}")

    def apart(one: str, two: str, size: str) -> str:
        return w.set(f"icmp ne i32 {w.set(f'call i32 @memcmp(ptr {one}, ptr {two}, i64 {size})')}, 0")

    with w.each("0", "%rows") as r, w.where(w.set(f"icmp eq i64 {w.set(f'load i64, ptr {found}')}, 0")):
        row = w.set(f"getelementptr i64, ptr %table, i64 {w.set(f'mul i64 {r}, {WORDS}')}")
        kinds = ("ptr", "i64", "i64", "i64", "ptr", "ptr", "i64")
        made, place, axes, dtype, shape, copy, size = (read(row, kind, 8 * k) for k, kind in enumerate(kinds))
        fields = (("i64", 0), ("i32", 8), ("ptr", 16), ("ptr", 24), ("i64", 40))
        data, ndim, own, strides, kind = (read(made, *field) for field in fields)
        pairs = (data, place), (w.set(f"sext i32 {ndim} to i64"), axes), (kind, dtype)
        changed = [w.set(f"icmp ne i64 {now}, {before}") for now, before in pairs]
        with unless(w.set(f"or i1 {w.set(f'or i1 {changed[0]}, {changed[1]}')}, {changed[2]}")):
            nbytes = w.set(f"mul i64 {axes}, 8")
            behind = w.set(f"getelementptr i8, ptr {shape}, i64 {nbytes}")
            with (
                unless(w.set(f"or i1 {apart(own, shape, nbytes)}, {apart(strides, behind, nbytes)}")),
                unless(apart(w.set(f"inttoptr i64 {place} to ptr"), copy, size)),
            ):
                pass
    result = w.set(f"load i64, ptr {found}")
    return w.module([w.text("apart", "ptr %table, i64 %rows", result=f"i64 {result}")])
