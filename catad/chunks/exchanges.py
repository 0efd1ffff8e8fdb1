"""What tasks read of blocks that are not their own: how much, and in which way."""

from __future__ import annotations

import math
from typing import NamedTuple

from catad.chunks.parts import Piece, pieces, ranges_of
from catad.chunks.wires import Chunked, Read

EDGES = 0.25  # part of an array, up to which blocks pass edges; beyond it, the array is cut in another way


class Exchange(NamedTuple):
    """A read: `kind` is "block" (that of the same coordinate), "all" (an array without chunks), "edges" (parts of neighbours),
    "gather" (several whole chunks) or "rechunk"; `nbytes` are those that are not of the same coordinate."""

    kind: str
    array: Chunked
    nbytes: int


def exchange(read: Read) -> Exchange:
    """How a read gets what it shows."""
    array = read.array
    if not array.is_cut:
        return Exchange("all", array, array.nbytes)
    own, gathered = 1.0, False
    numbers = 1
    for sizes, window in zip(array.parts, read.windows, strict=True):
        if window is None:
            gathered = gathered or len(sizes) > 1
            numbers *= sum(sizes)
            continue
        numbers *= sum(window.ranges.sizes)
        if window.ranges != ranges_of(sizes):
            found = pieces(sizes, window.ranges)
            gathered = gathered or all(piece.whole for each in found for piece in each)
            own *= _own(found)
    moved = math.ceil((1 - own) * numbers) * array.space.dtype.itemsize
    if gathered:
        return Exchange("gather", array, array.nbytes)
    kind = "block" if not moved else "edges" if moved <= EDGES * array.nbytes else "rechunk"
    return Exchange(kind, array, moved)


def _own(found: list[tuple[Piece, ...]]) -> float:
    """The part of what ranges show that lies in the block from which each shows most."""
    sizes = [[piece.stop - piece.start for piece in own] for own in found]
    read = sum(map(sum, sizes))
    return sum(map(max, sizes)) / read if read else 1.0
