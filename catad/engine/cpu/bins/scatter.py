"""Adding by index on a CPU: `ScatterAdded` as a fold by bin with double-precision sums.

Where there are far more places than elements, nothing but the places that elements go to is touched: the zeros come from the
system as it gives memory out, so the one-hot gradient of a maximum costs one store.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from catad import buffers
from catad.engine.cpu.bins.by_bin import Pass, table_of
from catad.engine.cpu.bins.text import BinsText, Module
from catad.engine.cpu.run import threads
from catad.engine.cpu.run.kernel import Code, code_of, packed
from catad.engine.machine import Compiled
from catad.engine.stages.bin_boxes import are_many, summed, sums, with_own_indices
from catad.engine.stages.bins import Fold, Given
from catad.engine.text import binned
from catad.engine.text.numbers import add, cast, load, store
from catad.linear.gather import ScatterAdded, positions
from catad.scalar.llvm_writer import literal
from catad.spaces import Tensor

UNTOUCHED = 64  # places for each element, from which on most of the memory is never touched
SHARED = 1 << 16  # numbers added from which on threads share the places


class _Sparse(BinsText, Module):
    """Text that adds to zeros that are there already: `once` writes each element to its place and tells where there was one
    already (as the marks, a bit for each place, say); `kernel` adds in double precision, and `finish` writes the sums of the
    elements' places. Each looks at all elements, and takes those that go to the bins from the first to the last."""

    @property
    def bodies(self) -> dict[str, Callable[[], None]]:
        """The bodies of the functions of the module."""
        return {entry: lambda e=entry: self._all(e) for entry in ("once", "kernel", "finish")}  # type: ignore[misc]

    entry = ""

    def _all(self, entry: str) -> None:
        w, self.entry = self.w, entry
        index, flags = self._pointer("index"), self._pointer("flags")
        arrays, states = [self._value_array(0)], [self._state_array(0)]
        w.loop("0", self.field("count"), lambda i: self._element(i, index, arrays, states, flags))

    def _inside(self, bin_: str) -> str:
        above, count = self.w.set(f"sub i64 {bin_}, %first"), self.w.set("sub i64 %last, %first")
        return self.w.set(f"icmp ult i64 {above}, {count}")

    def _number(self, i: str, source: str, target: str, arrays: Any, states: Any, flags: str) -> None:
        w, (sum_,), wanted = self.w, self.states, np.dtype(self.what.outs[0])
        if self.entry == "kernel":
            super()._number(i, source, target, arrays, states, flags)
            return
        place = binned.nth(self.w, self._out_array(0), wanted, target)
        if self.entry == "finish":
            value = cast(w, load(self.w, binned.nth(self.w, states[0], sum_, target), sum_), sum_, wanted)
            store(w, value, place, wanted)
            return
        mark = w.set(f"getelementptr i8, ptr {flags}, i64 {w.set(f'lshr i64 {target}, 3')}")
        bit = w.set(f"trunc i64 {w.set(f'and i64 {target}, 7')} to i8")
        known, own = w.set(f"load i8, ptr {mark}"), w.set(f"shl i8 1, {bit}")
        w.do(f"store i8 {w.set(f'or i8 {known}, {own}')}, ptr {mark}")
        w.when(w.set(f"icmp ne i8 {w.set(f'and i8 {known}, {own}')}, 0"), lambda: w.do(f"store i8 1, ptr {states[0]}"))
        zero = literal(0, wanted)
        given = load(self.w, binned.nth(self.w, arrays[0], wanted, source), wanted)
        store(w, add(w, wanted, given, zero), place, wanted)  # -0.0 becomes 0.0, as added to it


class ScatterKernel(Compiled):
    """`ScatterAdded` for arguments in these spaces: (index, v) to x."""

    def __init__(self, put: ScatterAdded, ins: tuple[Tensor, ...]) -> None:
        self.how = how = put.how
        rows = set(how.by).isdisjoint(how.src)
        self.member = summed(put, ins) if rows else with_own_indices(put, ins)  # None: each position is computed
        self.dtype = ins[1].dtype
        if self.member is not None:
            self.fold = self.member.fold
            self.shape = self.member.shape
        else:
            self.fold = Fold(sums(np.dtype(np.int64), self.dtype, False), math.prod(how.shape(how.src)))
            self.shape = (ins[1].size, ())
        self.total = np.dtype(self.fold.what.states[0])
        self.dense = Pass([self.fold])

    @cached_property
    def sparse(self) -> Code:
        """The machine code that touches only the places that elements go to."""
        return code_of(_Sparse, self.fold.what, 0)

    @property
    def seconds(self) -> tuple[float, ...]:
        """The time that compiling took."""
        return *self.dense.seconds, *([self.sparse.seconds] if "sparse" in self.__dict__ else [])

    def moved(self, arrays: Sequence[Any], outs: Sequence[Any]) -> int:
        """The bytes of the elements, and of the places that they go to."""
        index, v = arrays
        few = v.size * UNTOUCHED < outs[0].size
        return int(index.nbytes + v.nbytes + (v.nbytes if few else outs[0].nbytes))

    def prepared(self, ins: tuple[Tensor, ...]) -> str:
        """Compile for these spaces; the LLVM text."""
        m, rest = self.shape
        if are_many(m * math.prod(rest), self.fold.bins * math.prod(rest)):
            return self.dense.prepared(m, [math.prod(rest)])
        return self.sparse.text

    def __call__(self, xp: Any, index: Any, v: Any) -> Any:
        how = self.how
        if self.member is None:
            flat = positions(np, how, index, v.shape)
            x = self._scattered(Given(flat.reshape(-1), [np.ascontiguousarray(v).reshape(-1)], ()))
            return x.reshape(how.shape(how.src))
        return self.member.result([self._scattered(self.member.given(index, v))])

    def _scattered(self, given: Given) -> Any:
        index, (v,), rest = given
        bins = self.fold.bins
        size = bins * math.prod(rest)
        if are_many(len(index) * math.prod(rest), size):
            return self.dense([given])[0][0]
        count = len(index)
        few = count * math.prod(rest) * UNTOUCHED < size
        out = np.zeros((bins, *rest), self.dtype) if few else buffers.empty((bins, *rest), self.dtype)
        if not few:
            out.fill(0)

        parts = threads.chunks(bins, 1) if count * math.prod(rest) >= SHARED else [(0, bins)]

        def run(name: str, flags: Any, sums: Any) -> None:
            table = table_of((count, math.prod(rest), bins, count, 1, size), (index, flags, v, sums, out))
            self.sparse.run(name, packed(table), parts, count * math.prod(rest))

        if self.total == self.dtype:
            run("kernel", out, out)
            return out
        twice = np.zeros(1, np.uint8)
        run("once", np.zeros(size // 8 + 1, np.uint8), twice)
        if twice[0]:  # sums in double precision, as everywhere
            sums = np.zeros(size, self.total)
            run("kernel", out, sums)
            run("finish", out, sums)
        return out


def scatter(put: ScatterAdded, ins: tuple[Tensor, ...]) -> Compiled | None:
    """A kernel for a `ScatterAdded` in these spaces; None where its array code is as good."""
    return None if ins[1].dtype.kind == "b" else ScatterKernel(put, ins)
