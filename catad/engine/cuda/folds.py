"""Folds of long lines on a GPU: a block folds a tile, and the totals of tiles are folded by a second launch.

A tile has a fixed number of elements, whatever the GPU, so results are the same on all of them. Each thread folds some elements
in its registers: consecutive ones, or, of an operator that commutes, pieces of 16 bytes that lie one row of threads apart. Then
neighbouring threads are joined by shuffles, in their order, and warps through shared memory. So no number is added to more than
`PER` others in a row, and sums lose few digits. A line of at most `ROW` elements is folded by one warp.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from catad.engine.cuda.intrinsics import WARP, Simt
from catad.engine.cuda.maps import Points
from catad.engine.stages.layout import Kernel
from catad.engine.text.cascade import Numbers, commute, folded, join
from catad.engine.text.element import Element
from catad.engine.text.numbers import load, memory_type, store
from catad.scalar.printing.llvm_writer import llvm_type

ROW = 1024  # elements of a line up to which a warp folds it
PER = 16  # elements of a thread


class Tiled(NamedTuple):
    """A kernel of tiles: how a thread reads (see `points.Wide`), and whether a line is one tile, whose total is the result."""

    kernel: Kernel
    width: int
    pieces: tuple[bool, ...]
    whole: bool


class Tiles(Points):
    """A kernel in which the threads of a block fold the elements of a tile and join what they have."""

    threads = 256
    per = PER

    @cached_property
    def states(self) -> list[tuple[int, int, np.dtype]]:
        """The numbers that are folded: operation, number, dtype."""
        return folded(self.body)

    @property
    def tile(self) -> int:
        """The elements of a tile."""
        return self.threads * self.per

    def _tiles(self, n: str) -> str:
        """The tiles of a line of n elements."""
        return self.w.set(f"sdiv i64 {self.w.set(f'add nsw i64 {n}, {self.tile - 1}')}, {self.tile}")

    def _slots(self) -> Numbers:
        slots = {(k, i): self.w.slot(llvm_type(dtype)) for k, i, dtype in self.states}
        return lambda k, i: slots[k, i]

    def _from_lane(self, lane: str, source: Numbers, goal: Numbers) -> None:
        """Numbers of another thread of the warp."""
        w, there = self.w, self.w.set(f"and i64 {lane}, {WARP - 1}")
        for k, i, dtype in self.states:
            kind = llvm_type(dtype)
            given = self.simt.shuffle(w.set(f"load {kind}, ptr {source(k, i)}"), kind, there)
            w.do(f"store {kind} {given}, ptr {goal(k, i)}")

    def _put(self, source: Numbers, rooms: Sequence[str], at: str) -> None:
        """Write numbers to arrays, one for each."""
        for (k, i, dtype), room in zip(self.states, rooms, strict=True):
            value = self.w.set(f"load {llvm_type(dtype)}, ptr {source(k, i)}")
            store(self.w, value, self.w.set(f"getelementptr {memory_type(dtype)}, ptr {room}, i64 {at}"), dtype)

    def _get(self, rooms: Sequence[str], at: str, goal: Numbers) -> None:
        """Read numbers from arrays."""
        for (k, i, dtype), room in zip(self.states, rooms, strict=True):
            place = self.w.set(f"getelementptr {memory_type(dtype)}, ptr {room}, i64 {at}")
            self.w.do(f"store {llvm_type(dtype)} {load(self.w, place, dtype)}, ptr {goal(k, i)}")


class Folds(Tiles):
    """The kernel of tiles, each in a block; the tile of a line gives its result, or else leaves totals in scratch memory."""

    def __init__(self, what: Tiled, words: type[Simt] = Simt) -> None:
        super().__init__(what, words)  # type: ignore[arg-type]
        self.whole, self.commutes = what.whole, commute(self.body)

    def _pointers(self) -> list[str]:
        scratch = [] if self.whole else [f"ptr noalias %x{m}" for m in range(len(self.states))]
        return [*super()._pointers(), *scratch]

    def text(self) -> str:
        """The module: `kernel(table, pointers, scratch)`."""
        w = self.w
        outer, n = [self.size(k) for k in range(self.kernel.outer)], self.size(self.loops - 1)
        tiles = self._tiles(n)
        every = self._all(tiles, outer)
        self.thread, self.lane, self.warp = self.simt.thread(), self.simt.lane(), self.simt.warp()
        self.state, self.other = self._slots(), self._slots()
        self.shared = [
            self.simt.shared(memory_type(d), self.threads // WARP) for _, _, d in self.states if self.threads > WARP
        ]

        with w.each(self.simt.block(), every, self.simt.blocks()) as u:
            row, tile = w.set(f"udiv i64 {u}, {tiles}"), w.set(f"urem i64 {u}, {tiles}")
            index = self.decoded(row, outer)
            begin = w.set(f"mul nuw nsw i64 {tile}, {self.tile}")
            count = w.least(w.set(f"sub nsw i64 {n}, {begin}"), str(self.tile))
            bases = self._bases(index)
            self._tile(begin, count, bases, self.positions(index))
            self._join(self._some(count))
            w.when(w.set(f"icmp eq i64 {self.thread}, 0"), lambda: self._leave(u, bases))
            if self.shared:
                self.simt.barrier()  # what is shared is read before the next tile writes it
        return self.simt.module(self.numbers, self._pointers())

    # -- the elements of a thread

    def _place(self, k: str) -> str:
        """The place in a tile of element k of a thread."""
        w, one = self.w, self.what.width
        if not self.commutes:
            return w.set(f"add nuw nsw i64 {w.set(f'mul nuw nsw i64 {self.thread}, {self.per}')}, {k}")
        row = w.set(f"mul nuw nsw i64 {w.set(f'udiv i64 {k}, {one}')}, {self.threads * one}")
        mine = w.set(f"add nuw nsw i64 {row}, {w.set(f'mul nuw nsw i64 {self.thread}, {one}')}")
        return w.set(f"add nuw nsw i64 {mine}, {w.set(f'urem i64 {k}, {one}')}")

    def _tile(self, begin: str, count: str, bases: list[str], positions: Sequence[str]) -> None:
        """The elements of a thread, folded into its state: pieces at once where the tile is whole, else one by one."""
        w, loop = self.w, self.loops - 1
        strides, end = self.inner_strides(loop), w.set(f"add nsw i64 {begin}, {count}")

        def element(place: str, guarded: bool) -> Element:
            i = w.set(f"add nuw nsw i64 {begin}, {place}")
            return self.element(i, bases, strides, positions, guarded, self.state)

        full = w.set(f"and i1 {w.set(f'icmp eq i64 {count}, {self.tile}')}, {self.holds(positions, begin, end)}")
        w.either(full, lambda: self._pieces(element), lambda: self._one_by_one(element, count))

    def _pieces(self, element: Callable[[str, bool], Element]) -> None:
        w, one = self.w, self.what.width

        def piece(k: str, first: bool) -> None:
            start = self._place(k)
            self._work([element(w.set(f"add nuw nsw i64 {start}, {v}"), False) for v in range(one)], first)

        piece("0", True)
        w.loop(str(one), str(self.per), lambda k: piece(k, False), one)

    def _one_by_one(self, element: Callable[[str, bool], Element], count: str) -> None:
        w, guarded = self.w, bool(self.guards)

        def at(k: str, first: bool) -> None:
            place = self._place(k)
            w.when(w.set(f"icmp slt i64 {place}, {count}"), lambda: element(place, guarded).run(first))

        at("0", True)
        w.loop("1", str(self.per), lambda k: at(k, False))

    # -- joining threads

    def _some(self, count: str) -> str:
        """How many threads have a state."""
        w, each = self.w, self.what.width if self.commutes else self.per
        return w.least(w.set(f"sdiv i64 {w.set(f'add nsw i64 {count}, {each - 1}')}, {each}"), str(self.threads))

    def _join(self, some: str) -> None:
        """Join the states of the threads that have one, so many of the first, into that of the first thread."""
        w = self.w
        before = w.set(f"sub nsw i64 {some}, {w.set(f'mul nuw nsw i64 {self.warp}, {WARP}')}")
        self._join_warp(WARP, before)
        if not self.shared:
            return
        w.when(w.set(f"icmp eq i64 {self.lane}, 0"), self._share)
        self.simt.barrier()

        with w.where(w.set(f"icmp eq i64 {self.warp}, 0")):
            warps = self.threads // WARP
            self._get(self.shared, w.least(self.lane, str(warps - 1)), self.state)
            self._join_warp(warps, w.set(f"sdiv i64 {w.set(f'add nsw i64 {some}, {WARP - 1}')}, {WARP}"))

    def _join_warp(self, lanes: int, some: str) -> None:
        """Join the first so many of some lanes that have a state, neighbours first, into the first lane."""
        w = self.w
        last = w.least(some, str(lanes))

        with w.unrolled(lanes.bit_length() - 1) as level:
            lane = w.set(f"add nuw nsw i64 {self.lane}, {w.set(f'shl nuw nsw i64 1, {level}')}")
            self._from_lane(lane, self.state, self.other)
            with w.where(w.set(f"icmp slt i64 {lane}, {last}")):
                join(w, self.body, self.state, self.other, self.state)

    def _share(self) -> None:
        self._put(self.state, self.shared, self.warp)

    def _leave(self, u: str, bases: list[str]) -> None:
        """Write the results of a line, or the totals of a tile."""
        if self.whole:
            self._store_folds(self.state, lambda j: bases[j])
        else:
            self._put(self.state, [f"%x{m}" for m in range(len(self.states))], u)


class FoldRows(Folds):
    """The kernel of short lines, each in a warp."""

    threads = WARP
    per = ROW // WARP
