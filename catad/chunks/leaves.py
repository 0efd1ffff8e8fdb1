"""What a read of a region is for its tasks: blocks, and edges of blocks beside them, which a program puts together itself.

Where a window shows most of one block and edges of a few others, these are leaves of their own, so that compiled code reads them
where they are, and nothing is copied. All else is put together before the program runs. Edges of large blocks are cut by a task
beside the one that makes the block, so that a task does not receive a block for an edge of it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from catad.category.constant import Constant
from catad.category.spaces import Tensor
from catad.chunks.parts import Piece, Ranges, Sizes, numblocks, pieces
from catad.chunks.wires import Chunked, Read
from catad.linear.families.reindex import axis, moved
from catad.vector.shapes.shape import Concatenate

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

KINDS = 4  # ways in which windows along an axis may consist of pieces, each of which is a program of its own
PIECES = 3  # of which a window may consist along an axis
LARGE = 2**20  # bytes of a block, from which on its edges are passed by themselves
EDGE = 8  # times as long as an edge a block is at least

Slices = tuple["tuple[int, int] | None", ...]


class Leaves:
    """A read of a region: its pieces along each axis, and whether they are leaves of the program (`split`) or one leaf."""

    def __init__(self, read: Read) -> None:
        self.read = read
        counts = numblocks(read.array.parts)
        self.strides = [math.prod(counts[k + 1 :]) for k in range(len(counts))]
        self.dims = [None if window is None else window.dim for window in read.windows]
        self.pieces: list[list[tuple[Piece, ...]]] = []
        for n, sizes, window in zip(read.array.shape, read.array.parts, read.windows, strict=True):
            self.pieces.append(pieces(sizes, Ranges((0,), (n,)) if window is None else window.ranges))
        self.simple = all(len(own) == 1 and own[0].whole for axis in self.pieces for own in axis)
        each = [_facts(own, sizes) for own, sizes in zip(self.pieces, read.array.parts, strict=True)]
        few = all(len(set(own)) <= KINDS and max(map(len, own)) <= PIECES for own in each)
        self.split = few and not self.simple
        self.facts: list[list[Hashable]] = []
        for own, found in zip(self.pieces, each, strict=True):
            self.facts.append(list(found) if self.split else [sum([p.stop - p.start for p in piece]) for piece in own])

    def at(self, at: Sequence[int]) -> list[tuple[Piece, ...]]:
        """The pieces along each axis at a coordinate."""
        return [own[0 if dim is None else at[dim]] for dim, own in zip(self.dims, self.pieces, strict=True)]

    def shown(self, at: Sequence[int]) -> list[tuple[int, Slices]]:
        """The blocks at a coordinate, by their numbers, and which part of each a leaf is."""
        own = self.at(at)
        main = [_main(along, sizes) for along, sizes in zip(own, self.read.array.parts, strict=True)]
        found = []
        for each in itertools.product(*own):
            is_main = self.split and all(k >= 0 and p is along[k] for p, along, k in zip(each, own, main, strict=True))
            slices = tuple([None if is_main or p.whole else (p.start, p.stop) for p in each])
            found.append((sum([stride * p.block for stride, p in zip(self.strides, each, strict=True)]), slices))
        return found

    def wire(self, b: Builder, at: Sequence[int]) -> tuple[list[Wire], Wire]:
        """The leaves at a coordinate, and what is read, put together of them."""
        shape, dtype = self.read.shape(at), self.read.array.space.dtype
        if 0 in shape:
            return [], b.add(Constant(np.zeros(shape, dtype)))[0]
        if not self.split:
            leaf = b.wire(Tensor(shape, dtype))
            return [leaf], leaf
        own, parts = self.at(at), self.read.array.parts
        main = [_main(along, sizes) for along, sizes in zip(own, parts, strict=True)]
        leaves, wires = [], []
        for each in itertools.product(*[range(len(along)) for along in own]):
            sizes = [along[k].stop - along[k].start for along, k in zip(own, each, strict=True)]
            if list(each) == main:
                whole = [n[along[k].block] for along, k, n in zip(own, each, parts, strict=True)]
                leaves.append(b.wire(Tensor(whole, dtype)))
                starts = [along[k].start for along, k in zip(own, each, strict=True)]
                moves = [axis(n, size, k, 1, 0, 1, size) for n, size, k in zip(whole, sizes, starts, strict=True)]
                wires.append(moved(b, leaves[-1], moves))
            else:
                leaves.append(b.wire(Tensor(sizes, dtype)))
                wires.append(leaves[-1])
        for d in reversed(range(len(own))):
            n = len(own[d])
            if n > 1:
                wires = [b.add(Concatenate(d, n), *wires[k : k + n])[0] for k in range(0, len(wires), n)]
        return leaves, wires[0]

    @property
    def has_large_blocks(self) -> bool:
        """Whether edges are passed by themselves."""
        array = self.read.array
        return array.is_cut and math.prod([max(sizes) for sizes in array.parts]) * array.space.dtype.itemsize >= LARGE

    def are_edges(self, block: int, parts: Iterable[Slices]) -> bool:
        """Whether parts of a large block are small, all together."""
        sizes = [n[block // stride % len(n)] for n, stride in zip(self.read.array.parts, self.strides, strict=True)]
        each = [math.prod([n if s is None else s[1] - s[0] for n, s in zip(sizes, one, strict=True)]) for one in parts]
        size = math.prod(sizes)
        return size * self.read.array.space.dtype.itemsize >= LARGE and sum(each) * EDGE <= size


Edges = dict[int, dict[Slices, int]]
"""For each block of an array that is large the edges of it that tasks read, numbered."""


def edges_of(reads: Sequence[Leaves], counts: Sequence[int]) -> dict[Chunked, Edges]:
    """The edges that the tasks of a region read of each array."""
    found: dict[Chunked, Edges] = {}
    for one in reads:
        if one.split and one.has_large_blocks:
            known = found.setdefault(one.read.array, {})
            for at in itertools.product(*map(range, counts)):
                if 0 not in one.read.shape(at):
                    for block, slices in one.shown(at):
                        if any(slices):
                            own = known.setdefault(block, {})
                            own.setdefault(slices, len(own))
            found[one.read.array] = {block: own for block, own in known.items() if one.are_edges(block, own)}
    return found


def _main(own: Sequence[Piece], sizes: Sizes) -> int:
    """The longest piece, of which a task receives the block; -1 where that is much longer."""
    k = max(range(len(own)), key=lambda k: own[k].stop - own[k].start)
    return k if own[k].whole or 2 * (own[k].stop - own[k].start) >= sizes[own[k].block] else -1


def _facts(own: Sequence[tuple[Piece, ...]], sizes: Sizes) -> list[tuple[Hashable, ...]]:
    """What a program depends on where pieces are its leaves: the place of the longest in its block, and how long others are."""
    found: list[tuple[Hashable, ...]] = []
    for along in own:
        main = _main(along, sizes)
        found.append(tuple([(sizes[p.block], p.start, p.stop) if k == main else p.stop - p.start for k, p in enumerate(along)]))
    return found
