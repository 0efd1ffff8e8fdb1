"""Whether arrays are what they were, by compiled calls: shape, strides, dtype, place in memory, and the bits of their copies.

Asking each array for these in Python takes a microsecond; programs read dozens of small arrays. The function reads the fields
where NumPy's objects have them, in the order that compiled extensions rely on, too (`PyArrayObject_fields` in NumPy's
`ndarraytypes.h`). `supported()` makes sure of the order with a few arrays.

Reading an array beside its copy takes twice the memory, and twice the time where that is no longer in a cache. So each block of
4 KiB of large arrays has a tag, which is compared with that of the copy: the sum over GF(2) of products (a + k)(b + l) of
polynomials, of the words a, b of the block and words k, l of a key that is drawn when the process needs it first. Two blocks that
differ have equal tags for one key of 2^64 at most, whatever they hold, as the key does not depend on them. Source: D. Lemire, O.
Kaser, Faster 64-bit universal hashing using carry-less multiplications, Journal of Cryptographic Engineering (2016), section 4.
This takes a processor that multiplies eight words at once so (VPCLMULQDQ with AVX-512); others compare with the copy.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from catad.engine.cpu.run.target import Module, available, compiled, host
from catad.scalar.printing.llvm_writer import Writer
from catad.values.buffers import HEAD, address

_ROW = {"object": "ptr", "place": "ptr", "axes": "i64", "dtype": "i64", "shape": "ptr", "copy": "ptr", "size": "i64"}
_ROW |= {"tags": "ptr"}
"""The words of a row of the table: the object, where its numbers are, its axes and dtype, where its shape and strides are noted,
its copy, the bytes that are compared with that, and where the tags of the copy are, if there are any."""
BLOCK = 4096  # bytes that have one tag
_LANES = 8  # words of 64 bits in a vector, and in a tag
_STEPS = 16  # vectors of a block in one round of the loop
_V = f"<{_LANES} x i64>"


class Looks:
    """What arrays are now. `same()` tells whether they are that, and have the bits of their copies, which may be `tagged`.

    All are contiguous, and of NumPy.

    >>> import numpy as np
    >>> x = np.arange(6.0)
    >>> if supported():
    ...     looks = Looks([x], [x.copy()])
    ...     assert looks.same()
    ...     x[2] = -2.0
    ...     assert not looks.same()
    """

    __slots__ = ("_apart", "_differ", "_held")

    def __init__(self, arrays: Sequence[Any], copies: Sequence[Any], tagged: bool = False) -> None:
        functions = _functions(tagged)
        table = np.zeros((len(arrays), len(_ROW)), np.int64)
        shapes = [np.array([*array.shape, *array.strides], np.int64) for array in arrays]
        tags = [np.zeros((array.nbytes // BLOCK, _LANES), np.uint64) for array in arrays] if tagged else []
        for row, array, copy, shape in zip(table, arrays, copies, shapes, strict=True):
            row[:4] = id(array) + HEAD, address(array), array.ndim, id(array.dtype)
            row[4:7] = address(shape), address(copy), array.nbytes
        if tagged:
            table[:, 7] = [address(own) for own in tags]
        dtypes = [array.dtype for array in arrays]
        self._held = table, list(arrays), list(copies), shapes, tags, dtypes, functions  # what the addresses belong to
        given = address(table), len(arrays), address(functions.key)
        self._apart = partial(functions.apart, *given[:2])
        self._differ: Callable[[], int] | None = None
        if tagged:
            functions.fill(*given)
            self._differ = partial(functions.differ, *given)

    def same(self) -> bool:
        """Whether the arrays are what they were."""
        return not self._apart() and (self._differ is None or not self._differ())


@cache
def supported() -> bool:
    """True where NumPy's objects have their fields in the order that is known, and programs can be compiled."""
    return bool(HEAD) and available() and all(map(_is_known, _samples()))


@cache
def can_tag() -> bool:
    """True where this processor has the instructions for tags, too."""
    return supported() and {"+vpclmulqdq", "+avx512f"} <= set(host().features.split(","))


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


class _Functions(NamedTuple):
    apart: Any
    fill: Any
    differ: Any
    key: Any  # aligned
    module: Module


@cache
def _functions(tagged: bool) -> _Functions:
    names = ["apart", "fill", "differ"][: 3 if tagged else 1]
    module = compiled(lambda: _text(names), names)
    takes = ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p
    apart = ctypes.PYFUNCTYPE(*takes[:3])(module.address("apart"))  # no other thread may change an array meanwhile
    fill, differ = (ctypes.CFUNCTYPE(*takes)(module.address(name)) if tagged else None for name in ("fill", "differ"))
    drawn = np.frombuffer(bytearray(os.urandom(BLOCK + 64)), np.uint8)
    start = -address(drawn) % 64
    return _Functions(apart, fill, differ, drawn[start : start + BLOCK], module)


# -- the text


def _text(names: Sequence[str]) -> str:
    """Functions of a table, the number of its rows, and a key.

    `apart` is not 0 where an array is not what it was, up to its numbers where these have tags; `fill` sets the tags of copies,
    and `differ` is not 0 where an array has others.
    """
    w = Writer()
    w.support["memcmp"] = "declare i32 @memcmp(ptr, ptr, i64)"
    return w.module([_Rows(w.beside()).text(name) for name in names])


class _Rows:
    """A function over the rows of a table while it is being written. It gives whether something was noted."""

    def __init__(self, w: Writer) -> None:
        self.w, self.found = w, w.slot("i64", start="0")

    def text(self, name: str) -> str:
        """The whole function; what comes after a change is not looked at."""
        w = self.w
        with w.each("0", "%rows") as r, w.where(w.set(f"icmp eq i64 {w.set(f'load i64, ptr {self.found}')}, 0")):
            row = w.set(f"getelementptr i64, ptr %table, i64 {w.set(f'mul i64 {r}, {len(_ROW)}')}")
            self.row = {field: self._read(row, kind, 8 * k) for k, (field, kind) in enumerate(_ROW.items())}
            if name == "apart":
                self._apart()
            else:
                self._over_blocks(fill=name == "fill")
        result = w.set(f"load i64, ptr {self.found}")
        key = "" if name == "apart" else ", ptr %key"
        return w.text(name, f"ptr %table, i64 %rows{key}", result=f"i64 {result}")

    def _read(self, base: str, kind: str, offset: int) -> str:
        return self.w.set(f"load {kind}, ptr {self.w.set(f'getelementptr i8, ptr {base}, i64 {offset}')}")

    def _note(self, changed: str) -> None:
        with self.w.where(changed):
            self.w.do(f"store i64 1, ptr {self.found}")

    @contextmanager
    def _unless(self, changed: str) -> Iterator[None]:
        self._note(changed)
        with self.w.otherwise(changed):
            yield

    def _unlike(self, one: str, two: str, size: str) -> str:
        return self.w.set(f"icmp ne i32 {self.w.set(f'call i32 @memcmp(ptr {one}, ptr {two}, i64 {size})')}, 0")

    def _apart(self) -> None:
        """What is behind a field that has changed is not looked at."""
        w, row = self.w, self.row
        fields = (("ptr", 0), ("i32", 8), ("ptr", 16), ("ptr", 24), ("i64", 40))
        data, ndim, own, strides, kind = (self._read(row["object"], *field) for field in fields)
        axes = w.set(f"sext i32 {ndim} to i64")
        pairs = ("ptr", data, row["place"]), ("i64", axes, row["axes"]), ("i64", kind, row["dtype"])
        changed = [w.set(f"icmp ne {type_} {now}, {before}") for type_, now, before in pairs]
        with self._unless(w.set(f"or i1 {w.set(f'or i1 {changed[0]}, {changed[1]}')}, {changed[2]}")):
            nbytes = w.set(f"mul i64 {row['axes']}, 8")
            behind = w.set(f"getelementptr i8, ptr {row['shape']}, i64 {nbytes}")
            shape, steps = self._unlike(own, row["shape"], nbytes), self._unlike(strides, behind, nbytes)
            plain = w.set(f"icmp eq ptr {row['tags']}, null")
            with self._unless(w.set(f"or i1 {shape}, {steps}")), w.where(plain):
                self._note(self._unlike(row["place"], row["copy"], row["size"]))

    def _over_blocks(self, fill: bool) -> None:
        """Set the tags of a copy, or compare those of an array; bytes behind the last block are compared with the copy."""
        w, row, size = self.w, self.row, self.row["size"]
        whole = w.set(f"sub i64 {size}, {w.set(f'urem i64 {size}, {BLOCK}')}")
        with w.each("0", whole, BLOCK) as i:
            tag = self._tag(w.set(f"getelementptr i8, ptr {row['copy' if fill else 'place']}, i64 {i}"))
            place = w.set(f"getelementptr {_V}, ptr {row['tags']}, i64 {w.set(f'udiv i64 {i}, {BLOCK}')}")
            if fill:
                w.do(f"store {_V} {tag}, ptr {place}, align 8")
            else:
                unlike = w.set(f"xor {_V} {w.set(f'load {_V}, ptr {place}, align 8')}, {tag}")
                w.support["any"] = f"declare i64 @llvm.vector.reduce.or.v{_LANES}i64({_V})"
                more = w.set(f"call i64 @llvm.vector.reduce.or.v{_LANES}i64({_V} {unlike})")
                before = w.set(f"load i64, ptr {self.found}")
                w.do(f"store i64 {w.set(f'or i64 {before}, {more}')}, ptr {self.found}")
        if not fill:
            now, copy = (w.set(f"getelementptr i8, ptr {row[field]}, i64 {whole}") for field in ("place", "copy"))
            self._note(self._unlike(now, copy, w.set(f"sub i64 {size}, {whole}")))

    def _tag(self, block: str) -> str:
        """The tag of a block."""
        w = self.w
        w.support["multiply"] = f"declare {_V} @llvm.x86.pclmulqdq.512({_V}, {_V}, i8)"
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
