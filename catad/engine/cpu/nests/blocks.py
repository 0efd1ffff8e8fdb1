"""LLVM text of scans along one line in blocks: each begins where the totals of the tiles before it lead.

A first kernel folds each tile independently, and then joins each with those before it (`Totals`); a second goes through blocks of
tiles element by element, several pieces of a block at once, so that one does not wait for the state of the other (`Blocks`).
Tiles, pieces and blocks are of fixed size: what comes out does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from catad import scalar
from catad.engine.cpu.nests.folds import TILE, Folds
from catad.engine.cpu.nests.nest import METADATA, Nest
from catad.engine.cpu.nests.streaming import BLOCK, stream
from catad.engine.stages.body import Body
from catad.engine.stages.scan_of_tiles import joins
from catad.engine.text.cascade import Doubt, Numbers, copy, join
from catad.engine.text.places import Guarded
from catad.scalar.printing.llvm_writer import llvm_type

PIECES, LITTLE = 2, 64  # pieces of a block, unless an element is more work than so many operations

States = dict[tuple[int, int], str]  # the slots of the states: of which operation, which number


def pieces(body: Body) -> int:
    """The number of pieces of a block that advance at once."""
    work = sum(scalar.operations(op.data) for op in body.ops if op.kind == "map")
    return PIECES if work <= LITTLE else 1


class Totals(Folds):
    """A kernel of tiles. `kernel` folds those from the first to the last, `finish` joins each with all before it in its row.

    Its table ends with where there may be doubt about that.
    """

    chains = 4  # elements of several numbers are as many streams from memory for each

    def _finish(self) -> str:
        inner, self.w = self.w, self.w.beside()
        w = self.w
        tiles = self._tiles()
        slots = {(k, i): w.slot(llvm_type(dtype)) for k, i, dtype in self.states}

        doubt = Doubt(w, w.set(f"inttoptr i64 {self.entry(self.length + 2)} to ptr"), results=False)

        def state(k: int, i: int) -> str:
            return slots[k, i]

        def total(unit: str) -> Numbers:
            own = self._total(unit)
            for k, i, dtype in self.states:
                doubt.infinite(w.set(f"load {llvm_type(dtype)}, ptr {own(k, i)}"), dtype)
            return own

        with w.each("%first", "%last") as r:
            begin = w.set(f"mul i64 {r}, {tiles}")
            copy(w, self.body, total(begin), state)
            with w.each(w.set(f"add i64 {begin}, 1"), w.set(f"add i64 {begin}, {tiles}")) as unit:
                join(w, self.body, state, total(unit), state, doubt)
                copy(w, self.body, state, self._total(unit))
        text = w.text("finish", "ptr noalias readonly %t, i64 %first, i64 %last, i64 %b, i64 %e")
        self.w = inner
        return text


class Blocks(Nest):
    """A kernel of blocks. Its table ends with the address of the totals, the tiles and blocks of a line, and a block's size.

    A line that is one block is gone through from its beginning, without the totals.
    """

    def text(self) -> str:
        found = joins(self.body)
        assert found is not None
        self.numbers: list[
            tuple[int, int, np.dtype, int]
        ] = []  # of states: operation, number, dtype, place among the totals
        at = 0
        for one in found:
            self.numbers += [(op, i, one.dtypes[k], at + k) for op, i, k in one.states]
            at += len(one.dtypes)
        self.width = 8 * at
        row = self._row()
        return self.w.module([row, self._outer()]) + METADATA

    @property
    def shifted(self) -> bool:
        return False

    def _end(self, k: int) -> str:
        """An entry of the end of the table."""
        return self.entry(self.length + k)

    def _unit(self, unit: str) -> tuple[str, list[str]]:
        w = self.w
        tiles, blocks, size = (self._end(k) for k in (1, 2, 3))
        block, row = w.set(f"urem i64 {unit}, {blocks}"), w.set(f"udiv i64 {unit}, {blocks}")
        begin = w.set(f"mul i64 {block}, {size}")
        end = w.least(w.set(f"add i64 {begin}, {size}"), self.size(self.loops - 1))
        tile = w.set(f"add i64 {w.set(f'mul i64 {row}, {tiles}')}, {w.set(f'udiv i64 {begin}, {TILE}')}")
        return row, [f"i64 {begin}", f"i64 {end}", f"i64 {tile}"]

    def _row(self) -> str:
        w, count = self.w, pieces(self.body)
        states = [{(k, i): w.slot(llvm_type(d)) for k, i, d, _ in self.numbers} for _ in range(count)]
        begins = w.set("icmp eq i64 %b, 0")
        skipped = w.set(f"zext i1 {begins} to i64")  # the very first element has no state before it
        start = w.set(f"add i64 %b, {skipped}")
        w.either(begins, lambda: self._at(states[0], "%b", True, True), lambda: self._load_states(states[0], "%u"))
        interleaved, positions = "false", self._positions
        if count > 1:
            tiles = w.set(f"udiv i64 {w.set('sub i64 %e, %b')}, {TILE * count}")
            several = w.set(f"and i1 {w.set(f'icmp sgt i64 {tiles}, 0')}, {w.set(f'icmp sgt i64 {self._end(2)}, 1')}")
            interleaved = w.set(f"and i1 {several}, {self.holds(positions, start, '%e')}")
            w.when(interleaved, lambda: self._interleaved(states, tiles, skipped))

        def part(begin: str, end: str, guarded: Guarded) -> None:
            w.loop(begin, end, lambda i: self._at(states[0], i, False, guarded))

        one_piece = w.set(f"xor i1 {interleaved}, true")
        w.when(one_piece, lambda: self._split(start, "%e", positions, part))
        return self._row_text("i64 %b", "i64 %e", "i64 %u")

    def _at(self, states: States, i: str, first: bool, guarded: Guarded, beside: Mapping[int, str] | None = None) -> None:
        """The work at one index; some results may be written beside."""
        loop = self.loops - 1
        strides, bases = self.inner_strides(loop), [f"%a{j}" for j in range(len(self.arrays))]
        element = self.element(i, bases, strides, self._positions, guarded, lambda k, j: states[k, j])
        if beside is not None:
            element.pointer = lambda j, direct=element.pointer: beside[j] if j in beside else direct(j)  # type: ignore[misc]
        element.run(first)

    def _load_states(self, states: States, tile: str) -> None:
        """Loads the states to which the tiles before one lead."""
        w = self.w
        before = w.set(f"mul i64 {w.set(f'sub i64 {tile}, 1')}, {self.width}")
        base = w.set(f"add i64 {self._end(0)}, {before}")
        for k, i, dtype, at in self.numbers:
            place = w.set(f"inttoptr i64 {w.set(f'add i64 {base}, {8 * at}')} to ptr")
            w.do(f"store {llvm_type(dtype)} {w.set(f'load {llvm_type(dtype)}, ptr {place}')}, ptr {states[k, i]}")

    def _interleaved(self, states: Sequence[States], tiles: str, skipped: str) -> None:
        """Pieces of so many tiles at once, their steps interleaved; the rest goes on with the last."""
        w = self.w
        size = w.set(f"mul i64 {tiles}, {TILE}")
        begins = [w.set(f"add i64 %b, {w.set(f'mul i64 {size}, {k}')}") for k in range(len(states))]
        for k, own in enumerate(states[1:], 1):
            self._load_states(own, w.set(f"add i64 %u, {w.set(f'mul i64 {tiles}, {k}')}"))

        for own, begin in zip(states[1:], begins[1:], strict=True):
            with w.each("0", skipped):
                self._at(own, begin, False, False)
        buffers = [self._buffers() for _ in begins] if self.kernel.streaming else None

        with w.each("0", tiles) as t:  # each from where the totals before it lead: a running sum is no worse than in one tile
            later, first = w.set(f"icmp ne i64 {t}, 0"), w.set(f"mul i64 {t}, {TILE}")
            with w.where(later):
                for k, own in enumerate(states):
                    before = w.set(f"mul i64 {tiles}, {k}")
                    self._load_states(own, w.set(f"add i64 %u, {w.set(f'add i64 {before}, {t}')}"))
            last, first = w.set(f"add i64 {first}, {TILE}"), w.set(f"select i1 {later}, i64 {first}, i64 {skipped}")
            if buffers is None:
                w.loop(first, last, lambda s: self._step(states, begins, s))
            else:
                self._pieces_streamed(states, begins, first, last, buffers)
        w.loop(w.set(f"add i64 {begins[-1]}, {size}"), "%e", lambda i: self._at(states[-1], i, False, False))

    def _step(
        self, states: Sequence[States], begins: Sequence[str], s: str, beside: Sequence[Mapping[int, str]] | None = None
    ) -> None:
        """One step of each piece; results may be written beside."""
        for k, (own, begin) in enumerate(zip(states, begins, strict=True)):
            self._at(own, self.w.set(f"add i64 {begin}, {s}"), False, False, None if beside is None else beside[k])

    def _pieces_streamed(
        self, states: Sequence[States], begins: Sequence[str], first: str, last: str, buffers: Sequence[Mapping[int, str]]
    ) -> None:
        """The steps from the first to the last in blocks; streaming stores write their results from buffers."""
        w = self.w
        with w.each(first, last, BLOCK) as start:
            stop = w.least(w.set(f"add i64 {start}, {BLOCK}"), last)
            with w.each(start, stop) as s:
                up, down = w.set(f"sub i64 {s}, {start}"), w.set(f"sub i64 {w.set(f'sub i64 {stop}, 1')}, {s}")
                at = {"c": up, "r": down}
                beside = [
                    {j: self._gep(j, base, at[self.kernel.classes[j]]) for j, base in held.items()} for held in buffers
                ]
                self._step(states, begins, s, beside)
            count = w.set(f"sub i64 {stop}, {start}")
            for begin, held in zip(begins, buffers, strict=True):
                ends = w.set(f"add i64 {begin}, {start}"), w.set(f"sub i64 {w.set(f'add i64 {begin}, {stop}')}, 1")
                for j, base in held.items():
                    low = self.address(j, f"%a{j}", ends[self.kernel.classes[j] == "r"], "")
                    size = w.set(f"mul i64 {count}, {np.dtype(self.arrays[j].dtype).itemsize}")
                    stream(w, low, base, size)
