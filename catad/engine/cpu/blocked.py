"""Scans along one line in blocks, which threads share: fold tiles, then go through blocks from where these lead."""

from __future__ import annotations

import math
from collections.abc import Sequence

from catad.engine.cpu.call import Call
from catad.engine.cpu.nests.blocks import pieces
from catad.engine.cpu.nests.folds import TILE
from catad.engine.stages.layout import BLOCKS, LINE, Layout
from catad.engine.stages.scan_of_tiles import joins, of_totals

LINES = 8  # from so many lines on, threads share lines
LONG = 1 << 18  # indices from which on a line is cut
COUNT = 32  # blocks of a line, or somewhat fewer


def blocked(how: Layout) -> bool:
    """True where a laid-out kernel runs in blocks. It depends on nothing but the program and its arrays: so do the results."""
    if how.kernel.kind != LINE or how.loops[-1].size < LONG:
        return False
    return math.prod([loop.size for loop in how.loops[:-1]]) < LINES and joins(how.kernel.body) is not None


class Blocked:
    """A laid-out kernel in blocks: the call that folds tiles, and the one that goes through `count` blocks of `size` indices.

    Where a total is not finite, or has underflown and that matters, a line is one block, so that infinities, NaN and zeros come
    out as they do from its beginning (`whole`).
    """

    def __init__(self, how: Layout, place: Sequence[int], large: bool) -> None:
        found = joins(how.kernel.body)
        assert found is not None
        self.totals = Call(of_totals(how, found), place)
        at_once = pieces(how.kernel.body)
        tiles = -(-self.totals.units // (COUNT * at_once)) | 1  # odd: or pieces would meet in the same lines of a cache
        self.size = tiles * at_once * TILE
        self.count = -(-how.loops[-1].size // self.size)
        streaming = large and all(run in "cr" for run in how.kernel.classes[len(how.kernel.body.sources) :])
        how = how._replace(kernel=how.kernel._replace(kind=BLOCKS, streaming=streaming))
        self.blocks, self.whole = Call(how, place, self.count), Call(how, place)
