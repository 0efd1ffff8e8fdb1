"""Running a scan along one line in blocks, which threads share: fold tiles, then go through blocks from where these lead."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from catad import scalar
from catad.engine.cpu.call import Call
from catad.engine.cpu.nests.blocks import pieces
from catad.engine.cpu.nests.folds import TILE
from catad.engine.stages.layout import BLOCKS, LINE, Layout
from catad.engine.stages.scan_of_tiles import joins, of_totals
from catad.scalar import Function
from catad.values.buffers import address

LINES = 8  # from so many lines on, threads share lines
LONG = 1 << 18  # indices from which on a line is cut
COUNT = 32  # blocks of a line, or somewhat fewer


def blocked(how: Layout) -> bool:
    """True where a laid-out kernel runs in blocks. It depends on nothing but the program and its arrays: so do the results."""
    if how.kernel.kind != LINE or how.loops[-1].size < LONG:
        return False
    return math.prod([loop.size for loop in how.loops[:-1]]) < LINES and joins(how.kernel.body) is not None


class Blocked:
    """A laid-out kernel in blocks.

    Where a total is not finite, or has underflown and that matters, the line is gone through from its beginning instead, so that
    infinities, NaN and zeros come out as they do there.
    """

    def __init__(self, how: Layout, place: Sequence[int], large: bool) -> None:
        self.how, self.place = how, tuple(place)
        found = joins(how.kernel.body)
        assert found is not None
        self.joins = found
        self.dtypes = [dtype for join in found for dtype in join.dtypes]
        self.totals = Call(of_totals(how, found), place)
        at_once = pieces(how.kernel.body)
        tiles = -(-self.totals.units // (COUNT * at_once)) | 1  # odd: or pieces would meet in the same lines of a cache
        self.size = tiles * at_once * TILE
        self.count = -(-how.loops[-1].size // self.size)
        streaming = large and all(run in "cr" for run in how.kernel.classes[len(how.kernel.body.sources) :])
        kernel = how.kernel._replace(kind=BLOCKS, streaming=streaming)
        self.blocks = Call(how._replace(kernel=kernel), place, self.count)
        self.text = self.totals.text + "\n" + self.blocks.text
        self.seconds = self.totals.seconds + self.blocks.seconds

    @cached_property
    def whole(self) -> Call:
        """The line without blocks."""
        return Call(self.how, self.place)

    def run(self, arrays: Sequence[Any], outs: Sequence[Any]) -> None:
        """Runs the kernel on arrays and writes the results into `outs`."""
        room = self.totals.room()
        ends = [address(room), self.totals.units]
        table = self.totals.packed(arrays, (), ends)
        self.totals.start(table)
        if self._joined(table, room):
            self.blocks.run(arrays, outs, [*ends, self.count, self.size])
        else:
            self.whole.run(arrays, outs)

    def _joined(self, table: array[int], room: Any) -> bool:
        """Join each total with those before it; True where the joined totals can stand for their elements."""
        tiles = [self._numbers(room, k).copy() for k in range(len(self.dtypes))]
        floats = [a for a in tiles if a.dtype.kind == "f"]
        if not all(np.isfinite(a).all() for a in floats):
            return False
        self.totals.finish(table)
        if all((np.abs(a) >= np.finfo(a.dtype).tiny).all() for a in floats):
            return True
        at = 0
        for join in self.joins:
            own = range(at, at + len(join.dtypes))
            before = [self._numbers(room, k)[:, :-1] for k in own]
            if not _keeps(join.function, before, [tiles[k][:, 1:] for k in own]):
                return False
            at += len(join.dtypes)
        return True

    def _numbers(self, room: Any, k: int) -> Any:
        """One number of the totals of all tiles, a row for each line."""
        dtype = self.dtypes[k]
        return room.view(dtype)[:, k * (8 // dtype.itemsize)].reshape(self.totals.rows, self.totals.units)


def _keeps(function: Function, before: Sequence[Any], total: Sequence[Any]) -> bool:
    """True where it does not matter that totals have underflown: the least normal number in their place would make the same.

    What is smaller than that number itself need not be the same.
    """
    run = scalar.array_function(function)
    least = [
        np.where(np.abs(t) < np.finfo(t.dtype).tiny, np.finfo(t.dtype).tiny, t) if t.dtype.kind == "f" else t for t in total
    ]
    with np.errstate(all="ignore"):
        for made, other in zip(run(np, *before, *total), run(np, *before, *least), strict=True):
            if made.dtype.kind == "f":
                about, change = np.finfo(made.dtype), np.abs(other - made)
                if np.any((change > about.tiny) & (change > 4 * about.eps * np.abs(made))):
                    return False
    return True
