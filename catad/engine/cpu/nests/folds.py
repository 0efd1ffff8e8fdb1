"""LLVM text of folds along the innermost loop: tiles of fixed size, folded independently and joined in their order.

The total of a tile does not depend on the number of threads, so the result does not either. Within a tile there are many
independent states, so that the latency of the operator is hidden: of a commutative operator one for each index modulo
`WIDTH`, which LLVM turns into vectors; of any other one for each of `CHAINS` consecutive pieces, joined in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from catad.engine.cpu.nests.nest import METADATA, Nest, State
from catad.engine.stages.stage import FoldResult
from catad.engine.text.cascade import LEAF, Numbers, commute, copy, folded, halve, join, leaves, neighbours, rounds
from catad.engine.text.numbers import store
from catad.scalar.printing.llvm_writer import llvm_type

TILE = 8384  # indices of a tile: not a power of two, or its pieces would meet in the same lines of a cache
WIDTH = 64  # states of a commutative operator
CHAINS = 8  # states of any other one


class Folds(Nest):
    """A kernel of folds. `kernel` folds the tiles from the first to the last, `finish` joins those of each row."""

    entries = ("kernel", "finish")
    chains = CHAINS

    @cached_property
    def states(self) -> list[tuple[int, int, np.dtype]]:
        """The states of all folds: operation, number, dtype."""
        return folded(self.body)

    @property
    def commutes(self) -> bool:
        return commute(self.body)

    def text(self) -> str:
        row = self._row()
        outer = self._outer()
        finish = self._finish()
        return self.w.module([row, outer, finish]) + METADATA

    def _scratch(self) -> str:
        return self.entry(self.length)

    def _tiles(self) -> str:
        return self.entry(self.length + 1)

    def _unit(self, unit: str) -> tuple[str, list[str]]:
        w = self.w
        tiles = self._tiles()
        tile = w.set(f"urem i64 {unit}, {tiles}")
        begin = w.set(f"mul i64 {tile}, {TILE}")
        end = w.least(w.set(f"add i64 {begin}, {TILE}"), self.size(self.loops - 1))
        return w.set(f"udiv i64 {unit}, {tiles}"), [f"i64 {begin}", f"i64 {end}", f"i64 {unit}"]

    def _room(self, unit: str, at: int) -> str:
        """The address where a tile leaves one of its totals."""
        w = self.w
        place = w.set(f"mul i64 {unit}, {8 * len(self.states)}")
        offset = w.set(f"add i64 {place}, {8 * at}")
        return w.set(f"inttoptr i64 {w.set(f'add i64 {offset}, {self._scratch()}')} to ptr")

    def _total(self, unit: str) -> Numbers:
        """The addresses of the totals of a tile."""
        places = {(k, i): at for at, (k, i, _) in enumerate(self.states)}
        return lambda k, i: self._room(unit, places[k, i])

    def _row(self) -> str:
        if self.commutes:
            self._tile(bool(self.guards))
        else:
            self._where_free("%b", "%e", self._tile)
        return self._row_text("i64 %b", "i64 %e", "i64 %u")

    def _where_free(self, begin: str, end: str, part: Callable[[bool], None]) -> None:
        """Code for a range of the innermost loop: one without guards where it needs none, and one with guards."""
        if not self.guards:
            part(False)
            return
        free = self.holds(self._positions, begin, end)
        self.w.either(free, lambda: part(False), lambda: part(True))

    def _tile(self, guarded: bool) -> None:
        w, loop = self.w, self.loops - 1
        strides, bases = self.inner_strides(loop), [f"%a{j}" for j in range(len(self.arrays))]
        width = WIDTH if self.commutes else self.chains
        places = self._lanes_of if self.commutes else self._chains_of
        state, total = places(width), places(width)

        def element(i: str, numbers: Numbers, first: bool, guarded: bool = guarded) -> None:
            self.element(i, bases, strides, self._positions, guarded, numbers).run(first)

        count = w.set("sub i64 %e, %b")
        many = w.set(f"icmp sge i64 {count}, {width * (4 if self.commutes else 64)}")

        def wide() -> None:
            if self.commutes:
                self._by_lanes(element, state, total, count)
                halve(w, self.body, total, width)
                return
            self._by_chains(element, state, total, count)
            for chain in range(1, width):
                join(w, self.body, total("0"), total(str(chain)), total("0"))

        def narrow() -> None:
            def leaf(start: str, stop: str) -> None:
                element(w.set(f"add i64 %b, {start}"), state("0"), True)
                w.loop(w.set(f"add i64 {start}, 1"), stop, lambda s: element(w.set(f"add i64 %b, {s}"), state("0"), False))

            self._in_leaves(count, LEAF, leaf, lambda take: take(state("0"), total("0")))

        w.either(many, wide, narrow)
        copy(w, self.body, total("0"), self._total("%u"))

    def _in_leaves(
        self,
        end: str,
        size: int,
        leaf: Callable[[str, str], None],
        each: Callable[[Callable[[Numbers, Numbers], None]], None],
    ) -> None:
        """Steps from 0 to the end in leaves of so many, each begun anew and then taken into the totals.

        `each` gives states and totals to what takes them in. What loses no digits is one leaf.
        """
        w, body = self.w, self.body

        def begin(state: Numbers, total: Numbers) -> None:
            copy(w, body, state, total)

        def more(state: Numbers, total: Numbers) -> None:
            join(w, body, total, state, total)

        if rounds(body):
            with leaves(w, "0", end, size) as (start, stop):
                leaf(start, stop)
                first = w.set(f"icmp eq i64 {start}, 0")
                w.either(first, lambda: each(begin), lambda: each(more))
        else:
            leaf("0", end)
            each(begin)

    def _chains_of(self, width: int) -> State:
        """Independent states, which LLVM keeps in registers."""
        rooms = {(k, i, str(at)): self.w.slot(llvm_type(d)) for k, i, d in self.states for at in range(width)}
        return lambda at: lambda k, i: rooms[k, i, at]

    def _by_lanes(self, element: Callable[..., None], state: State, total: State, count: str) -> None:
        """Folds elements by their index modulo the width: full blocks, then the rest. Most blocks need no guards."""
        w = self.w

        def block(start: str, size: str, places: State, first: bool) -> None:
            begin = w.set(f"add i64 %b, {start}")
            end = w.set(f"add i64 {begin}, {size}")

            def part(guarded: bool) -> None:
                w.loop(begin, end, lambda i: element(i, places(w.set(f"sub i64 {i}, {begin}")), first, guarded))

            self._where_free(begin, end, part)

        def leaf(start: str, stop: str) -> None:
            block(start, str(WIDTH), state, True)
            w.loop(w.set(f"add i64 {start}, {WIDTH}"), stop, lambda s: block(s, str(WIDTH), state, False), WIDTH)

        def each(take: Callable[[Numbers, Numbers], None]) -> None:
            w.loop("0", str(WIDTH), lambda lane: take(state(lane), total(lane)))

        rest = w.set(f"urem i64 {count}, {WIDTH}")
        whole = w.set(f"sub i64 {count}, {rest}")
        self._in_leaves(whole, LEAF * WIDTH, leaf, each)
        block(whole, rest, total, False)

    def _by_chains(self, element: Callable[[str, Numbers, bool], None], state: State, total: State, count: str) -> None:
        """Consecutive pieces at once, their steps interleaved; the rest goes on with the last piece."""
        w, chains = self.w, range(self.chains)
        piece = w.set(f"udiv i64 {count}, {self.chains}")
        starts = [w.set(f"add i64 %b, {w.set(f'mul i64 {piece}, {k}')}") for k in chains]

        def step(s: str, first: bool) -> None:
            for k, start in enumerate(starts):
                element(w.set(f"add i64 {start}, {s}"), state(str(k)), first)

        def leaf(start: str, stop: str) -> None:
            step(start, True)
            w.loop(w.set(f"add i64 {start}, 1"), stop, lambda s: step(s, False))

        def each(take: Callable[[Numbers, Numbers], None]) -> None:
            for k in chains:
                take(state(str(k)), total(str(k)))

        self._in_leaves(piece, LEAF, leaf, each)
        last = total(str(chains[-1]))
        w.loop(w.set(f"add i64 {starts[-1]}, {piece}"), "%e", lambda i: element(i, last, False))

    def _finish(self) -> str:
        """Join the tiles of each row, neighbours first, and store."""
        inner, self.w = self.w, self.w.beside()
        w = self.w
        outer = range(self.kernel.outer)
        sizes = [self.size(k) for k in outer]
        tiles = self._tiles()

        with w.each("%first", "%last") as r:
            begin = w.set(f"mul i64 {r}, {tiles}")

            def pair(left: str, right: str) -> None:
                total, other = (self._total(w.set(f"add i64 {begin}, {at}")) for at in (left, right))
                join(w, self.body, total, other, total)

            neighbours(w, tiles, pair)
            index = self.decoded(r, sizes)
            for j, sink in enumerate(self.body.sinks):
                if isinstance(sink.value, FoldResult):
                    self._store_total(j, np.dtype(sink.dtype), index, self._total(begin)(*sink.value))
        text = w.text("finish", "ptr noalias readonly %t, i64 %first, i64 %last, i64 %b, i64 %e")
        self.w = inner
        return text

    def _store_total(self, j: int, dtype: np.dtype, index: Sequence[str], total: str) -> None:
        """Write a result of a row."""
        w, j = self.w, len(self.body.sources) + j
        at = self.base(j)
        for k, step in enumerate(index):
            at = w.set(f"add i64 {at}, {w.set(f'mul i64 {self.stride(j, k)}, {step}')}")
        value = w.set(f"load {llvm_type(dtype)}, ptr {total}")
        store(w, value, w.set(f"inttoptr i64 {at} to ptr"), dtype)
