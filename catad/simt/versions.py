"""The versions of the arrays of a kernel: what stands in each cell after the statements so far.

A store into a range of cells is a piece on top of the version before. A read of cells that lie in one piece reads that piece, so
that a shared array of which few threads write a part is made nowhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from catad import scalar
from catad.category.constant import Constant
from catad.linear.families.contract import contract
from catad.linear.families.reindex import axis, moved
from catad.scalar import Node, apply, param
from catad.simt.arrays import Array
from catad.vector.pointwise.map import mapped

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

TOGETHER = 8
"""So many pieces are put on top of an array in one pass."""


class Piece(NamedTuple):
    """The numbers of a range of cells, which begins at `starts`."""

    starts: tuple[int, ...]
    wire: Wire

    @property
    def stops(self) -> tuple[int, ...]:
        """The ends of the range."""
        return tuple([a + n for a, n in zip(self.starts, self.wire.shape, strict=True)])

    def has(self, starts: Sequence[int], stops: Sequence[int]) -> bool:
        """Whether a range lies in this one."""
        return all(a <= b and d <= c for a, b, c, d in zip(self.starts, starts, self.stops, stops, strict=True))

    def meets(self, starts: Sequence[int], stops: Sequence[int]) -> bool:
        """Whether a range has cells in common with this one."""
        return all(a < d and b < c for a, b, c, d in zip(self.starts, starts, self.stops, stops, strict=True))


class Versions:
    """The version of each array, by the array."""

    def __init__(self, b: Builder) -> None:
        self.b = b
        self._below: dict[Array, Piece] = {}
        self._pieces: dict[Array, list[Piece]] = {}

    def __contains__(self, array: Array) -> bool:
        return array in self._below

    def __setitem__(self, array: Array, wire: Wire) -> None:
        self._below[array], self._pieces[array] = Piece((0,) * wire.ndim, wire), []

    def __getitem__(self, array: Array) -> Wire:
        """The whole array as one wire."""
        pieces = self._pieces[array]
        if pieces:
            size = math.prod(self._below[array].wire.shape)
            apart = sum([math.prod(piece.wire.shape) for piece in pieces]) == size and not any(
                one.meets(other.starts, other.stops) for k, one in enumerate(pieces) for other in pieces[:k]
            )
            wire = self._below[array].wire
            for first in range(0, len(pieces), TOGETHER):
                wire = self._together(wire, pieces[first : first + TOGETHER], apart and len(pieces) <= TOGETHER)
            self[array] = wire
        return self._below[array].wire

    def update(self, found: Mapping[Array, Wire] | Iterable[tuple[Array, Wire]]) -> None:
        """New versions of some arrays."""
        for array, wire in dict(found).items():
            self[array] = wire

    def space(self, array: Array) -> tuple[tuple[int, ...], np.dtype[np.generic]]:
        """The shape and the dtype of an array."""
        wire = self._below[array].wire
        return wire.shape, wire.dtype

    def part(self, array: Array, starts: Sequence[int], stops: Sequence[int]) -> Piece:
        """A piece that has all cells of a range."""
        for piece in reversed(self._pieces[array]):
            if piece.has(starts, stops):
                return piece
            if piece.meets(starts, stops):
                self[array] = self[array]
                break
        return self._below[array]

    def put(self, array: Array, piece: Piece) -> None:
        """A new version, with a piece on top."""
        below = self._below[array]
        if piece.has(below.starts, below.stops):
            self[array] = piece.wire
            return
        self._pieces[array] = [one for one in self._pieces[array] if not piece.has(one.starts, one.stops)] + [piece]

    def _together(self, below: Wire, pieces: Sequence[Piece], alone: bool) -> Wire:
        """An array with pieces on top; where they are `alone`, nothing is left of the array."""
        (true,) = self.b.add(Constant(np.asarray(True)))
        wires, node = [self._at(pieces[0], below) if alone else below], param(0)
        for piece in pieces[1:] if alone else pieces:
            node = _chosen(node, len(wires))
            wires += [self._at(Piece(piece.starts, self._spread(true, piece.wire.shape)), below), self._at(piece, below)]
        return mapped(self.b, [node], wires)[0]

    def _at(self, piece: Piece, below: Wire) -> Wire:
        """The numbers of a piece at their cells, 0 elsewhere."""
        sizes = zip(below.shape, piece.wire.shape, piece.starts, strict=True)
        return moved(self.b, piece.wire, [axis(m, n, 0, 1, start, 1, m) for n, m, start in sizes])

    def _spread(self, wire: Wire, shape: tuple[int, ...]) -> Wire:
        return contract(self.b, [()], [wire], tuple(range(len(shape))), list(shape))


def _chosen(node: Node, k: int) -> Node:
    """The number of a piece where its mask, argument k, holds."""
    return apply("select", scalar.truth(param(k)), param(k + 1), node)
