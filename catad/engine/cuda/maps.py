"""Maps on a GPU: each thread takes some neighbouring numbers of a row, then those of a row further on.

A thread takes so many indices of the innermost loop at a time (`Wide.width`) that the contiguous arrays are read and written in
pieces of 16 bytes. It first reads all of them, then computes, then writes, so that LLVM makes one instruction of neighbouring
reads and writes. What lies at the ends of rows and of guards goes one index after the other.

A condition that a row shares (`stages/unswitch.py`) is a branch, which costs a warp one side where all its threads agree (J.
Revels et al., Dynamic automatic differentiation of GPU broadcast kernels, 2018, section 4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from catad import scalar
from catad.engine.cuda.intrinsics import Simt
from catad.engine.stages.body import Sink, Source
from catad.engine.stages.layout import Kernel, Layout
from catad.engine.text.element import Element
from catad.engine.text.places import Places, is_index, no_state
from catad.errors import CannotPrint
from catad.scalar import Function

THREADS = 256
PIECE = 16  # bytes that a thread reads or writes in one instruction
WORK = 400  # operations of a thread's indices together: more would take registers, and time to compile
MOST_NUMBERS = 400  # numbers and pointers that a kernel is given: CUDA allows 4096 bytes


class Wide(NamedTuple):
    """A kernel, how many indices a thread takes at a time, and which arrays lie so that these are one piece of memory."""

    kernel: Kernel
    width: int
    pieces: tuple[bool, ...]


def wide(how: Layout, aligned: bool = True) -> Wide:
    """How a thread goes through arrays that lie in this way; where they are not aligned, it takes one index at a time."""
    arrays: list[Source | Sink] = [*how.kernel.body.sources, *how.kernel.body.sinks]
    first, sizes = len(how.kernel.body.sources), [np.dtype(a.dtype).itemsize for a in arrays]
    contiguous = [kind == "c" and not is_index(a) for kind, a in zip(how.kernel.classes, arrays, strict=True)]
    width = PIECE // max([n for n, c in zip(sizes, contiguous, strict=True) if c], default=PIECE)
    operations = sum(scalar.operations(op.data) for op in how.kernel.body.ops if isinstance(op.data, Function))
    while width > 1 and width * operations > WORK:
        width //= 2
    pieces = tuple(
        [
            c and all(k % (width * n) == 0 for k in (how.offsets[j], *[loop.strides[j] for loop in how.loops[:-1]]))
            for j, (c, n) in enumerate(zip(contiguous, sizes, strict=True))
        ]
    )
    if width == 1 or not aligned or not all(pieces[j] or how.kernel.classes[j] == "z" for j in range(first, len(arrays))):
        return Wide(how.kernel, 1, (False,) * len(arrays))
    return Wide(how.kernel, width, pieces)


class Points(Places):
    """The kernel of a map. A thread takes unit after unit; a unit is `width` neighbouring indices of a row."""

    threads = THREADS

    def __init__(self, what: Wide, words: type[Simt] = Simt) -> None:
        super().__init__(what.kernel, gpu=True)
        self.what = what
        self.simt = words(self.w, self.threads)
        if self.length + len(self.arrays) > MOST_NUMBERS:
            raise CannotPrint(f"a pass over {len(self.arrays)} arrays", "a GPU's kernel takes fewer numbers")

    def text(self) -> str:
        """The module: `kernel(table, pointers)`."""
        self.over(self.simt.everywhere)
        return self.simt.module(self.numbers, self._pointers())

    def over(self, share: Callable[[], tuple[str, str]]) -> None:
        """The units of a thread: `share` writes the number of its first one, and how far those behind it lie apart."""
        w, inner = self.w, self.kernel.outer
        outer = [self.size(k) for k in range(inner)]
        n, one = self.size(inner), self.what.width
        units = n if one == 1 else w.set(f"sdiv i64 {w.set(f'add nsw i64 {n}, {one - 1}')}, {one}")
        every = self._all(units, outer)
        mine, together = share()

        with w.each(mine, every, together) as u:
            piece, index = u, list[str]()
            if outer:
                row = w.set(f"udiv i64 {u}, {units}")
                piece, index = w.set(f"urem i64 {u}, {units}"), self.decoded(row, outer)
            begin = piece if one == 1 else w.set(f"mul nuw nsw i64 {piece}, {one}")
            self._piece(begin, n, self._bases(index), self.positions(index))

    def _all(self, units: str, outer: Sequence[str]) -> str:
        """The units of all settings of the outer loops, which have these sizes."""
        for size in outer:
            units = self.w.set(f"mul nsw i64 {units}, {size}")
        return units

    @property
    def numbers(self) -> int:
        """How many numbers the kernel is given."""
        return self.length

    def _pointers(self) -> list[str]:
        """The parameters of the arrays; nobody else writes into results."""
        found = []
        for j, array in enumerate(self.arrays):
            if not is_index(array):
                about = "noalias" if isinstance(array, Sink) else "noalias readonly"
                found.append(f"ptr {about}{f' align {PIECE}' if self.what.pieces[j] else ''} %p{j}")
        return found

    def _bases(self, index: Sequence[str]) -> list[str]:
        """Where each array lies at a row."""
        w, found = self.w, []
        for j, array in enumerate(self.arrays):
            far = self.base(j)
            for k, i in enumerate(index):
                far = w.set(f"add i64 {far}, {w.set(f'mul i64 {self.stride(j, k)}, {i}')}")
            if self.what.pieces[j]:  # as it is in any case; LLVM then knows
                size = np.dtype(array.dtype).itemsize * self.what.width
                far = w.set(f"and i64 {far}, {-size}")
            found.append(far if is_index(array) else w.set(f"getelementptr i8, ptr {self._pointer(j)}, i64 {far}"))
        return found

    def _pointer(self, j: int) -> str:
        """What the offset of an array counts from."""
        return f"%p{j}"

    def _piece(self, begin: str, n: str, bases: list[str], positions: Sequence[str]) -> None:
        """A unit: all of it at a time where it is whole and no guard changes within it, else index by index."""
        w, loop, width = self.w, self.loops - 1, self.what.width
        strides = self.inner_strides(loop)

        def element(i: str, guarded: bool) -> Element:
            return self.element(i, bases, strides, positions, guarded, no_state)

        if width == 1 and not self.guards:
            self.sides(lambda: element(begin, False), lambda: self._at_once(begin, element))
            return
        end = w.set(f"add nsw i64 {begin}, {width}")
        whole = w.set(f"and i1 {w.set(f'icmp sle i64 {end}, {n}')}, {self.holds(positions, begin, end)}")
        with w.where(whole):
            self.sides(lambda: element(begin, False), lambda: self._at_once(begin, element))
        last = w.least(end, n)
        first = w.set(f"select i1 {whole}, i64 {last}, i64 {begin}")
        w.loop(first, last, lambda i: self._work([element(i, bool(self.guards))]))

    def _at_once(self, begin: str, element: Callable[[str, bool], Element]) -> None:
        """Reads at all indices of a unit, then the work, then the writes."""
        w = self.w
        places = [begin, *[w.set(f"add nuw nsw i64 {begin}, {k}") for k in range(1, self.what.width)]]
        self._work([element(i, False) for i in places])

    def _work(self, made: Sequence[Element], first: bool = False) -> None:
        """The work at some indices together; the first one may be that of a line."""
        for one in made:
            one.read()
        for k, one in enumerate(made):
            one.compute(first and k == 0)
        for one in made:
            one.write()
