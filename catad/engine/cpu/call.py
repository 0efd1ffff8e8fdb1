"""A kernel as machine code, laid over arrays: its table, and what each thread does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from catad.category.spaces import Tensor
from catad.engine.cpu.nests.blocks import Blocks, Totals
from catad.engine.cpu.nests.folds import TILE, Folds
from catad.engine.cpu.nests.nest import Nest, with_few_states
from catad.engine.cpu.run import pool, threads
from catad.engine.cpu.run.kernel import code_of
from catad.engine.stages.layout import BLOCKS, FOLDS, LINE, TOTALS, Layout
from catad.engine.stages.table import Table
from catad.engine.text.cascade import folded

GRAIN = 1 << 16  # below this many indices one thread is faster (measured on 2-core x86-64 machines)
_NESTS: dict[str, type[Nest]] = {FOLDS: Folds, TOTALS: Totals, BLOCKS: Blocks}


class Call:
    """A laid-out kernel: its table, and how the work is shared among threads.

    `place` has for each array that is read which one of the arguments it is, -1 for a loop index.
    """

    __slots__ = ("code", "rows", "sizes", "states", "table", "tiled", "units", "work")

    def __init__(self, how: Layout, place: Sequence[int], units: int = 1) -> None:
        how = with_few_states(how)
        self.sizes = [loop.size for loop in how.loops]
        self.work = math.prod(self.sizes)
        self.code = code_of(_NESTS.get(how.kernel.kind, Nest), how.kernel, self.work)
        self.table = Table(how, place)
        self.rows = math.prod(self.sizes[: how.kernel.outer])
        self.tiled = how.kernel.kind in (FOLDS, TOTALS)
        self.states = len(folded(how.kernel.body))
        self.units = -(-self.sizes[-1] // TILE) if self.tiled else units  # of a row

    @property
    def room(self) -> Tensor:
        """The space of the totals of tiles, 8 bytes for each number."""
        return Tensor((self.rows * self.units, max(self.states, 1)), np.dtype(np.int64))

    @property
    def whole(self) -> list[tuple[int, int, int, int]]:
        """All of the work, for one thread."""
        return [(0, self.rows * self.units, 0, self.sizes[-1])]

    def ranges(self) -> list[tuple[int, int, int, int]]:
        """The work of each thread: a range of rows, or of the units of all rows, and a range of the innermost loop."""
        rows, inner = self.rows * self.units, self.sizes[-1]
        count = threads.get_num_threads() if self.work >= GRAIN else 1
        if count == 1:
            return self.whole
        if rows >= count:
            return [(a, b, 0, inner) for a, b in threads.chunks(rows, 1, 1)]
        if self.code.what.kind in (LINE, FOLDS, TOTALS, BLOCKS):
            return [(0, rows, 0, inner)]
        return [(0, rows, a, b) for a, b in threads.chunks(inner, 64)]

    def listed(self) -> Any:
        """The work of each thread as the pool reads it."""
        return pool.listed(self.ranges())
