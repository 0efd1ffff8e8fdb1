"""Whether arrays hold what they held, reading them once: each block of 4 KiB has a tag, which is compared with that of the copy.

The tag is the sum over GF(2) of products (a + k)(b + l) of polynomials, of the words a, b of the block and words k, l of a key
that is drawn when the process needs it first. Two blocks that differ have equal tags for one key of 2^64 at most, whatever they
hold, as the key does not depend on them. Reading an array beside its copy takes twice the memory, and twice the time where that
is no longer in a cache. Source: D. Lemire, O. Kaser, Faster 64-bit universal hashing using carry-less multiplications, Journal of
Cryptographic Engineering (2016), section 4.

This takes a processor that multiplies eight words at once so (VPCLMULQDQ with AVX-512); others compare with the copy.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from catad.engine.cpu.run.target import Module, available, compiled, host
from catad.scalar.printing.llvm_writer import Writer
from catad.values.buffers import address

BLOCK = 4096  # bytes that have one tag
_LANES = 8  # words of 64 bits in a vector, and in a tag
_STEPS = 16  # vectors of a block in one round of the loop


class _Functions(NamedTuple):
    fill: Any
    differ: Any
    key: Any  # aligned
    module: Module


class Tags:
    """The tags of copies of arrays. `same()` tells whether the arrays hold the bits of their copies; all are contiguous.

    >>> import numpy as np
    >>> x = np.arange(3000.0)
    >>> if supported():
    ...     tags = Tags([x], [x.copy()])
    ...     assert tags.same()
    ...     x[7] = -0.0
    ...     assert not tags.same()
    """

    __slots__ = ("_differ", "_held")

    def __init__(self, arrays: Sequence[Any], copies: Sequence[Any]) -> None:
        functions = _functions()
        table = np.zeros((len(arrays), 4), np.int64)
        made = [np.zeros((array.nbytes // BLOCK, _LANES), np.uint64) for array in arrays]
        for row, array, copy, tags in zip(table, arrays, copies, made, strict=True):
            row[:] = address(array), address(copy), array.nbytes, address(tags)
        self._held = table, list(arrays), list(copies), made, functions  # what the addresses belong to
        given = address(table), len(arrays), address(functions.key)
        functions.fill(*given)
        self._differ = partial(functions.differ, *given)

    def same(self) -> bool:
        """Whether the arrays hold the bits of their copies; the arrays have to be where they were."""
        return not self._differ()


@cache
def supported() -> bool:
    """True where this processor has the instructions, and programs can be compiled."""
    return available() and {"+vpclmulqdq", "+avx512f"} <= set(host().features.split(","))


@cache
def _functions() -> _Functions:
    module = compiled(_text, ["fill", "differ"])
    types = ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p
    fill = ctypes.CFUNCTYPE(ctypes.c_int64, *types)(module.address("fill"))
    differ = ctypes.CFUNCTYPE(ctypes.c_int64, *types)(module.address("differ"))
    drawn = np.frombuffer(bytearray(os.urandom(BLOCK + 64)), np.uint8)
    start = -address(drawn) % 64
    return _Functions(fill, differ, drawn[start : start + BLOCK], module)


# -- the text

_V = f"<{_LANES} x i64>"


def _text() -> str:
    """`fill` sets the tags of the copies of a table; `differ` is not 0 where an array of the table differs from its copy.

    A row of the table: the address of an array, that of its copy, its bytes, the address of its tags.
    """
    w = Writer()
    w.support["multiply"] = f"declare {_V} @llvm.x86.pclmulqdq.512({_V}, {_V}, i8)"
    w.support["any"] = f"declare i64 @llvm.vector.reduce.or.v{_LANES}i64({_V})"
    return w.module([_over_table(w.beside(), name) for name in ("fill", "differ")])


def _tag(w: Writer, block: str) -> str:
    """The tag of a block."""
    total = w.slot(_V, start="zeroinitializer")
    with w.each("0", str(BLOCK), 64 * _STEPS) as i:
        made = w.set(f"load {_V}, ptr {total}")
        for k in range(_STEPS):
            at = w.set(f"add i64 {i}, {64 * k}")
            x, key = (
                w.set(f"load {_V}, ptr {w.set(f'getelementptr i8, ptr {base}, i64 {at}')}, align {align}")
                for base, align in ((block, 1), ("%key", 64))
            )
            a = w.set(f"xor {_V} {x}, {key}")
            m = w.set(f"call {_V} @llvm.x86.pclmulqdq.512({_V} {a}, {_V} {a}, i8 16)")
            made = w.set(f"xor {_V} {made}, {m}")
        w.do(f"store {_V} {made}, ptr {total}")
    return w.set(f"load {_V}, ptr {total}")


def _over_table(w: Writer, name: str) -> str:
    """A function over a table: blocks have tags, and bytes behind the last block are compared one by one."""
    bad = w.slot("i64", start="0")

    def note(found: str) -> None:
        before = w.set(f"load i64, ptr {bad}")
        w.do(f"store i64 {w.set(f'or i64 {before}, {found}')}, ptr {bad}")

    def byte(base: str, at: str) -> str:
        return w.set(f"load i8, ptr {w.set(f'getelementptr i8, ptr {base}, i64 {at}')}")

    with w.each("0", "%rows") as r:
        row = w.set(f"getelementptr i64, ptr %table, i64 {w.set(f'mul i64 {r}, 4')}")
        array, copy, size, tags = (
            w.set(f"load {kind}, ptr {w.set(f'getelementptr i64, ptr {row}, i64 {k}')}")
            for k, kind in enumerate(("ptr", "ptr", "i64", "ptr"))
        )
        whole = w.set(f"sub i64 {size}, {w.set(f'urem i64 {size}, {BLOCK}')}")
        with w.each("0", whole, BLOCK) as i:
            tag = _tag(w, w.set(f"getelementptr i8, ptr {copy if name == 'fill' else array}, i64 {i}"))
            place = w.set(f"getelementptr {_V}, ptr {tags}, i64 {w.set(f'udiv i64 {i}, {BLOCK}')}")
            if name == "fill":
                w.do(f"store {_V} {tag}, ptr {place}, align 8")
            else:
                apart = w.set(f"xor {_V} {w.set(f'load {_V}, ptr {place}, align 8')}, {tag}")
                note(w.set(f"call i64 @llvm.vector.reduce.or.v{_LANES}i64({_V} {apart})"))
        if name == "differ":
            with w.each(whole, size) as j:
                note(w.set(f"zext i8 {w.set(f'xor i8 {byte(array, j)}, {byte(copy, j)}')} to i64"))
    result = w.set(f"load i64, ptr {bad}")
    return w.text(name, "ptr %table, i64 %rows, ptr %key", result=f"i64 {result}")
