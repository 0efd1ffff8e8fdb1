"""LLVM text that finds the numbers of a kernel: the table of a call, addresses of arrays, guards.

A table of 64-bit integers gives the sizes of the loops, then for each array its address and strides, then for each guard the
interval of each loop, then the stride and the size of each indexed axis. All machines address alike; they differ in what runs at
the same time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from catad.engine.stages.body import Sink, Source
from catad.engine.stages.layout import Kernel
from catad.engine.text.element import Element
from catad.engine.text.numbers import memory_type
from catad.scalar.llvm_writer import Writer


class Places:
    """The text of a kernel while it is being written, which reads its table through the register %t."""

    def __init__(self, kernel: Kernel, gpu: bool = False) -> None:
        self.kernel, self.body, self.loops = kernel, kernel.body, kernel.loops
        self.arrays: list[Source | Sink] = [*self.body.sources, *self.body.sinks]
        self.guards = range(self.body.guards)
        self.indexed = [j for j, source in enumerate(self.body.sources) if source.by >= 0]
        self.w = Writer(gpu)

    @property
    def length(self) -> int:
        """The entries of the table."""
        guards = 2 * len(self.guards) * self.loops
        return self.loops + len(self.arrays) * (1 + self.loops) + guards + 2 * len(self.indexed)

    def entry(self, at: int) -> str:
        """A number of the table; the module must define the metadata !0 as empty."""
        pointer = self.w.set(f"getelementptr i64, ptr %t, i64 {at}")
        return self.w.set(f"load i64, ptr {pointer}, !invariant.load !0")

    def size(self, loop: int) -> str:
        """The number of indices of a loop."""
        return self.entry(loop)

    def stride(self, j: int, loop: int) -> str:
        """The distance by which array j goes on at each step of a loop, in bytes; for a loop index, in steps."""
        return self.entry(self.loops + j * (1 + self.loops) + 1 + loop)

    def base(self, j: int) -> str:
        """The address of array j; the first number of a loop index."""
        return self.entry(self.loops + j * (1 + self.loops))

    def interval(self, guard: int, loop: int) -> tuple[str, str]:
        """The interval of a loop in which a guard holds: from the first index to before the second."""
        start = self.loops + len(self.arrays) * (1 + self.loops) + 2 * guard * self.loops + 2 * loop
        return self.entry(start), self.entry(start + 1)

    def at_index(self, j: int) -> tuple[str, str, bool]:
        """The stride and the size of the axis of array j that an index gives the position along, and whether both are near."""
        start = self.length - 2 * len(self.indexed) + 2 * self.indexed.index(j)
        return self.entry(start), self.entry(start + 1), self.kernel.near

    def decoded(self, row: str, sizes: list[str]) -> list[str]:
        """The indices of the outer loops at a row."""
        index, rest = [""] * len(sizes), row
        for k in reversed(range(len(sizes))):
            index[k] = rest if k == 0 else self.w.set(f"urem i64 {rest}, {sizes[k]}")
            rest = rest if k == 0 else self.w.set(f"udiv i64 {rest}, {sizes[k]}")
        return index

    def address(self, j: int, base: str, i: str, stride: str) -> str:
        """The address (or, of an index, the number) of array j at the index of the innermost loop."""
        array, w = self.arrays[j], self.w
        if is_index(array):
            return w.set(f"add i64 {base}, {w.set(f'mul i64 {i}, {stride}')}")
        how = self.kernel.classes[j]
        kind = memory_type(np.dtype(array.dtype))
        if how == "z":
            return base
        if how == "c":
            return w.set(f"getelementptr inbounds {kind}, ptr {base}, i64 {i}")
        if how == "r":
            return w.set(f"getelementptr inbounds {kind}, ptr {base}, i64 {w.set(f'sub i64 0, {i}')}")
        return w.set(f"getelementptr i8, ptr {base}, i64 {w.set(f'mul i64 {i}, {stride}')}")

    def holds(self, begin: str, end: str) -> str:
        """True where all guards hold in a range of the innermost loop."""
        w, every = self.w, "true"
        for guard in self.guards:
            lo, hi = self.interval(guard, self.loops - 1)
            low, high = w.set(f"icmp sge i64 {begin}, {lo}"), w.set(f"icmp sle i64 {end}, {hi}")
            own = w.set(f"and i1 %g{guard}, {w.set(f'and i1 {low}, {high}')}")
            every = w.set(f"and i1 {every}, {own}")
        return every

    def element(
        self,
        i: str,
        loop: int,
        bases: list[str],
        strides: list[str],
        flags: list[str],
        guarded: bool,
        state: Callable[[int, int], str],
    ) -> Element:
        """The work at index i of a loop, given where arrays and states are; `flags` say which guards hold in the other loops."""
        w = self.w

        def inside(guard: int) -> str:
            lo, hi = self.interval(guard, loop)
            low, high = w.set(f"icmp sge i64 {i}, {lo}"), w.set(f"icmp slt i64 {i}, {hi}")
            return w.set(f"and i1 {flags[guard]}, {w.set(f'and i1 {low}, {high}')}")

        def pointer(j: int) -> str:
            return self.address(j, bases[j], i, strides[j])

        return Element(w, self.body, pointer, state, inside if guarded else None, self.at_index)

    def inner_strides(self, loop: int) -> list[str]:
        """The strides of a loop that addresses need: of loop indices and of what does not lie contiguously."""
        return [
            self.stride(j, loop) if how == "s" or is_index(array) else ""
            for j, (how, array) in enumerate(zip(self.kernel.classes, self.arrays, strict=True))
        ]


def is_index(array: Source | Sink) -> bool:
    """True where it is a loop index, and no array."""
    return isinstance(array, Source) and array.is_index
