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

from catad.buffers import address
from catad.engine.cpu.run.target import Module, available, compiled, host

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
    module = compiled(_text(), ["fill", "differ"])
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
    steps = "".join([
        f"""
  %i{k} = add i64 %i, {64 * k}
  %p{k} = getelementptr i8, ptr %x, i64 %i{k}
  %x{k} = load {_V}, ptr %p{k}, align 1
  %q{k} = getelementptr i8, ptr %key, i64 %i{k}
  %k{k} = load {_V}, ptr %q{k}, align 64
  %a{k} = xor {_V} %x{k}, %k{k}
  %m{k} = call {_V} @llvm.x86.pclmulqdq.512({_V} %a{k}, {_V} %a{k}, i8 16)
  %s{k} = xor {_V} {"%sum" if k == 0 else f"%s{k - 1}"}, %m{k}"""
        for k in range(_STEPS)
    ])  # fmt: skip
    tag = f"""
declare {_V} @llvm.x86.pclmulqdq.512({_V}, {_V}, i8)
declare i64 @llvm.vector.reduce.or.v{_LANES}i64({_V})

define internal {_V} @tag(ptr %x, ptr %key) alwaysinline {{
start:
  br label %loop
loop:
  %i = phi i64 [0, %start], [%next, %loop]
  %sum = phi {_V} [zeroinitializer, %start], [%s{_STEPS - 1}, %loop]{steps}
  %next = add i64 %i, {64 * _STEPS}
  %more = icmp ult i64 %next, {BLOCK}
  br i1 %more, label %loop, label %end
end:
  ret {_V} %s{_STEPS - 1}
}}
"""
    compared = f"""%old = load {_V}, ptr %t, align 8
  %apart = xor {_V} %old, %tag
  %found = call i64 @llvm.vector.reduce.or.v{_LANES}i64({_V} %apart)
  call void @note(ptr %bad, i64 %found)"""
    note = """
define internal void @note(ptr %bad, i64 %found) alwaysinline {
  %before = load i64, ptr %bad
  %after = or i64 %before, %found
  store i64 %after, ptr %bad
  ret void
}
"""
    filled = f"store {_V} %tag, ptr %t, align 8"
    return tag + note + _over_table("fill", "%copy", filled, "%bytes") + _over_table("differ", "%array", compared, "%whole")


def _over_table(name: str, read: str, block: str, rest: str) -> str:
    """A function over a table: what it does with the tag of each block, and from which byte on it compares single bytes."""
    words = "".join([
        f"""
  %at{k} = getelementptr i64, ptr %row, i64 {k}
  %word{k} = load i64, ptr %at{k}, align 8"""
        for k in range(4)
    ])  # fmt: skip
    return f"""
define i64 @{name}(ptr %table, i64 %rows, ptr %key) {{
start:
  %bad = alloca i64
  store i64 0, ptr %bad
  br label %rows.test
rows.test:
  %r = phi i64 [0, %start], [%r.next, %rows.end]
  %more = icmp ult i64 %r, %rows
  br i1 %more, label %row.start, label %end
row.start:
  %offset = mul i64 %r, 4
  %row = getelementptr i64, ptr %table, i64 %offset{words}
  %array = inttoptr i64 %word0 to ptr
  %copy = inttoptr i64 %word1 to ptr
  %bytes = add i64 %word2, 0
  %tags = inttoptr i64 %word3 to ptr
  %over = urem i64 %bytes, {BLOCK}
  %whole = sub i64 %bytes, %over
  br label %blocks.test
blocks.test:
  %i = phi i64 [0, %row.start], [%i.next, %block]
  %inside = icmp ult i64 %i, %whole
  br i1 %inside, label %block, label %bytes.test
block:
  %x = getelementptr i8, ptr {read}, i64 %i
  %tag = call {_V} @tag(ptr %x, ptr %key)
  %number = udiv i64 %i, {BLOCK}
  %t = getelementptr {_V}, ptr %tags, i64 %number
  {block}
  %i.next = add i64 %i, {BLOCK}
  br label %blocks.test
bytes.test:
  %j = phi i64 [{rest}, %blocks.test], [%j.next, %byte]
  %left = icmp ult i64 %j, %bytes
  br i1 %left, label %byte, label %rows.end
byte:
  %one = getelementptr i8, ptr %array, i64 %j
  %two = getelementptr i8, ptr %copy, i64 %j
  %a = load i8, ptr %one
  %b = load i8, ptr %two
  %c = xor i8 %a, %b
  %d = zext i8 %c to i64
  call void @note(ptr %bad, i64 %d)
  %j.next = add i64 %j, 1
  br label %bytes.test
rows.end:
  %r.next = add i64 %r, 1
  br label %rows.test
end:
  %result = load i64, ptr %bad
  ret i64 %result
}}
"""
