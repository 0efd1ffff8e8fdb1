"""How axes are cut into blocks, and which pieces of blocks cover a range of positions."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from catad.support.lru import remembered

Sizes = tuple[int, ...]
"""The sizes of the blocks along an axis, in their order; an axis of one block is not cut."""

Parts = tuple[Sizes, ...]
"""The sizes along each axis of an array, as `chunks` of a Dask array."""


def uncut(shape: Sequence[int]) -> Parts:
    """The parts of an array in one block."""
    return tuple([(n,) for n in shape])


def numblocks(parts: Parts) -> tuple[int, ...]:
    """How many blocks there are along each axis."""
    return tuple([len(sizes) for sizes in parts])


@remembered
def bounds(sizes: Sizes) -> tuple[int, ...]:
    """Where the blocks start, and where the last one ends.

    >>> bounds((2, 0, 3))
    (0, 2, 2, 5)
    """
    return 0, *accumulate(sizes)


def sizes_between(edges: Sequence[int]) -> Sizes:
    """The sizes of blocks with these bounds."""
    return tuple([b - a for a, b in pairwise(edges)])


class Ranges(NamedTuple):
    """Ranges `starts[c] <= k < stops[c]` of positions along an axis, one for each coordinate c; they may overlap."""

    starts: tuple[int, ...]
    stops: tuple[int, ...]

    @property
    def sizes(self) -> Sizes:
        """How long each range is."""
        return tuple([b - a for a, b in zip(self.starts, self.stops, strict=True)])


class Window(NamedTuple):
    """Positions of an axis for each coordinate along the dimension `dim` of a grid; one range for all where it is None."""

    dim: int | None
    ranges: Ranges

    def at(self, coordinates: Sequence[int]) -> tuple[int, int]:
        """Start and stop at some coordinates."""
        c = 0 if self.dim is None else coordinates[self.dim]
        return self.ranges.starts[c], self.ranges.stops[c]


@remembered
def ranges_of(sizes: Sizes) -> Ranges:
    """The ranges that blocks cover."""
    edges = bounds(sizes)
    return Ranges(edges[:-1], edges[1:])


def in_order(cuts: Mapping[int, Ranges]) -> list[int]:
    """The labels, or axes, that are cut, in the order of the dimensions of a grid: those that are cut alike have equal grids.

    >>> in_order({4: Ranges((0, 3), (3, 5)), 2: Ranges((0,), (7,)), 1: Ranges((0, 2), (2, 5))})
    [2, 1, 4]
    """
    return sorted(cuts, key=lambda k: (len(cuts[k].starts), cuts[k]))


def cut_axes(parts: Parts) -> tuple[list[int | None], tuple[Sizes, ...]]:
    """The dimension of a grid for each cut axis of an array, and the sizes along each dimension."""
    order = in_order({k: ranges_of(sizes) for k, sizes in enumerate(parts) if len(sizes) > 1})
    return [order.index(k) if k in order else None for k in range(len(parts))], tuple([parts[k] for k in order])


def blocks_of(dim: int, sizes: Sizes) -> Window:
    """The window that shows block c at coordinate c."""
    return Window(dim, ranges_of(sizes))


def cut_like(parts: Sequence[Sizes]) -> list[Ranges | None]:
    """The ranges of the blocks along each axis, None along an axis of one block."""
    return [None if len(sizes) == 1 else ranges_of(sizes) for sizes in parts]


class Piece(NamedTuple):
    """Positions `start <= k < stop` within a block along an axis; all of the block where `whole`."""

    block: int
    start: int
    stop: int
    whole: bool


def pieces(sizes: Sizes, ranges: Ranges) -> list[tuple[Piece, ...]]:
    """For each range the pieces of blocks that cover it; one empty piece where it is empty.

    >>> [[(p.block, p.start, p.stop) for p in own] for own in pieces((2, 0, 3), Ranges((1, 3), (4, 3)))]
    [[(0, 1, 2), (2, 0, 2)], [(2, 0, 0)]]
    """
    edges = bounds(sizes)
    if ranges == ranges_of(sizes):
        return [(Piece(block, 0, size, True),) for block, size in enumerate(sizes)]
    return [_pieces(sizes, edges, start, stop) for start, stop in zip(*ranges, strict=True)]


def _pieces(sizes: Sizes, edges: tuple[int, ...], start: int, stop: int) -> tuple[Piece, ...]:
    block = min(max(bisect_right(edges, start) - 1, 0), len(sizes) - 1)
    if stop <= start:
        return (Piece(block, 0, 0, not sizes[block]),)
    found = []
    while start < stop:
        end = min(stop, edges[block + 1])
        if end > start:
            whole = start == edges[block] and end == edges[block + 1]
            found.append(Piece(block, start - edges[block], end - edges[block], whole))
        start, block = end, block + 1
    return tuple(found)
