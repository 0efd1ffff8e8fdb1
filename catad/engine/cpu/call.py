"""A kernel as machine code, laid over arrays: the table that it reads, and what each thread does."""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from catad.buffers import address
from catad.engine.cpu.nests.blocks import Blocks, Totals
from catad.engine.cpu.nests.folds import TILE, Folds
from catad.engine.cpu.nests.nest import Nest
from catad.engine.cpu.run import target, threads
from catad.engine.cpu.run.stop import run_all, stop_of
from catad.engine.keys import key_of
from catad.engine.stages.plan import BLOCKS, FOLDS, LINE, TOTALS, Kernel, Layout

GRAIN = 1 << 16  # below this many indices one thread is faster (measured on 2-core x86-64 machines)
_NESTS: dict[str, type[Nest]] = {FOLDS: Folds, TOTALS: Totals, BLOCKS: Blocks}
_Call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 4)


class Compiled:
    """A kernel as machine code."""

    __slots__ = ("__weakref__", "call", "finish", "kernel", "module", "seconds", "states", "stop")

    def __init__(self, kernel: Kernel) -> None:
        begun = time.perf_counter()
        self.kernel = kernel
        nest = self._nest()
        self.module = target.compiled(nest.text, nest.entries, key_of(type(nest), kernel))
        self.call = _Call(self.module.address("kernel"))
        self.finish = _Call(self.module.address("finish")) if "finish" in nest.entries else None
        self.stop = stop_of(self.module)
        self.states = len(nest.states) if isinstance(nest, Folds) else 0
        self.seconds = time.perf_counter() - begun

    @property
    def text(self) -> str:
        """The LLVM text."""
        return self._nest().text()

    def _nest(self) -> Nest:
        return _NESTS.get(self.kernel.kind, Nest)(self.kernel)


_compiled: WeakValueDictionary[Kernel, Compiled] = WeakValueDictionary()  # for as long as a stage holds it


def compiled(kernel: Kernel) -> Compiled:
    """The machine code of a kernel, made once in a process."""
    found = _compiled.get(kernel)
    if found is None:
        found = _compiled[kernel] = Compiled(kernel)
    return found


class Call:
    """A laid-out kernel: the table but for the addresses, and how the work is shared among threads.

    `place` has for each array that is read which one of the arguments it is, -1 for a loop index.
    """

    __slots__ = ("bases", "code", "offsets", "place", "rows", "sizes", "table", "units", "work")

    def __init__(self, how: Layout, place: Sequence[int], units: int = 1) -> None:
        self.code = compiled(how.kernel)
        self.place, self.offsets = tuple(place), how.offsets
        self.sizes = [loop.size for loop in how.loops]
        self.table, self.bases = list(self.sizes), []
        for j, offset in enumerate(how.offsets):
            self.bases.append(len(self.table))
            is_index = j < len(place) and place[j] < 0
            self.table += [offset if is_index else 0, *[loop.strides[j] for loop in how.loops]]
        for guard in range(how.kernel.body.guards):
            for loop in how.loops:
                self.table += loop.guards[guard] or (0, loop.size)
        for pair in how.indexed:
            self.table += pair
        self.work = math.prod(self.sizes)
        self.rows = math.prod(self.sizes[: how.kernel.outer])
        self.units = -(-self.sizes[-1] // TILE) if how.kernel.kind in (FOLDS, TOTALS) else units  # of a row

    @property
    def text(self) -> str:
        """The LLVM text."""
        return self.code.text

    @property
    def seconds(self) -> float:
        """What compiling it took."""
        return self.code.seconds

    def run(self, arrays: Sequence[Any], outs: Sequence[Any], more: Sequence[int] = ()) -> None:
        """From arrays to results; `more` ends the table."""
        if self.code.finish is None:
            self.start(self.packed(arrays, outs, more))
        else:
            totals = self.room()
            table = self.packed(arrays, outs, (address(totals), self.units))
            self.start(table)
            self.finish(table)

    def room(self) -> Any:
        """Where tiles leave their totals, 8 bytes for each number."""
        return np.empty((self.rows * self.units, self.code.states), np.int64)

    def packed(self, arrays: Sequence[Any], outs: Sequence[Any], more: Sequence[int]) -> Any:
        """The table for these arrays."""
        table = self.table.copy()
        addresses = [address(a) for a in arrays]
        for j, at in enumerate(self.place):
            if at >= 0:
                table[self.bases[j]] = addresses[at] + self.offsets[j]
        for j, out in enumerate(outs, len(self.place)):
            table[self.bases[j]] = address(out) + self.offsets[j]
        table += more
        return (ctypes.c_int64 * len(table))(*table)

    def start(self, table: Any) -> None:
        """All of the work, in threads where it is large."""
        run_all(self.code.call, self.code.stop, ctypes.addressof(table), self.ranges())

    def finish(self, table: Any) -> None:
        """What follows once all tiles have left their totals."""
        assert self.code.finish is not None
        run_all(self.code.finish, self.code.stop, ctypes.addressof(table), [(0, self.rows, 0, 0)])

    def ranges(self) -> list[tuple[int, int, int, int]]:
        """What each thread does: a range of rows, or of the units of all rows, and a range of the innermost loop."""
        rows, inner = self.rows * self.units, self.sizes[-1]
        count = threads.get_num_threads() if self.work >= GRAIN else 1
        if count == 1:
            return [(0, rows, 0, inner)]
        if rows >= count:
            return [(a, b, 0, inner) for a, b in threads.chunks(rows, 1, 1)]
        if self.code.kernel.kind in (LINE, FOLDS, TOTALS, BLOCKS):
            return [(0, rows, 0, inner)]
        return [(0, rows, a, b) for a, b in threads.chunks(inner, 64)]
