"""Scans and recurrences along long lines on a GPU: tiles that learn from the tiles before them where they begin.

A block folds a tile, publishes its total, looks back for what the tiles before it make, and then goes through the tile from
there (D. Merrill and M. Garland, Single-pass parallel prefix scan with decoupled look-back, 2016). That paper joins whichever
prefixes are there first, which brackets sums in another way at each run. Here tiles stand in groups of `GROUP`: a tile joins the
prefix of its group and then the totals of the tiles of its group before it, in their order, and the last tile of a group
publishes the prefix of the next. So the result is the same on every run. Tickets give tiles to blocks in their order, so whoever
waits, waits for blocks that run.

A fold by joins (`engine/stages/scan_of_tiles.py`) may leave the range of floats where no state does. Where a total is not finite,
or has underflown so that it matters, the kernel notes it in a word of the line, and a second kernel (`Again`), which otherwise
returns at once, goes through that line from its beginning. The host decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from catad.engine.cuda.folds import Tiles
from catad.engine.cuda.intrinsics import WARP, Simt
from catad.engine.cuda.lanes import Lanes
from catad.engine.cuda.maps import MOST_NUMBERS, Points, Wide
from catad.engine.stages.layout import Kernel
from catad.engine.stages.scan_of_tiles import Join, joins
from catad.engine.text.cascade import Doubt, Numbers, copy, folded, join, leaves_range
from catad.engine.text.numbers import memory_type
from catad.errors import CannotPrint
from catad.scalar.printing.llvm_writer import Writer, llvm_type

GROUP = WARP
LONGEST = 128  # operations of all joins: a product of 4 x 4 matrices has 112, and takes all registers of a thread


class Looking(NamedTuple):
    """A kernel of a scan, and that of its totals, whose table begins at number `after`."""

    kernel: Kernel
    totals: Kernel
    after: int


class Part(Points):
    """The numbers of a second kernel in the text of a first one: its table follows, its arrays are the first of the same."""

    def __init__(self, kernel: Kernel, w: Writer, after: int) -> None:
        super().__init__(Wide(kernel, 1, (False,) * len(kernel.classes)))
        self.w, self.after = w, after

    def entry(self, at: int) -> str:
        return super().entry(self.after + at)


class Scans(Tiles):
    """The kernel of tiles. It is also given a ticket, words of tiles, groups and lines, and totals of tiles and of groups."""

    def __init__(self, what: Looking, words: type[Simt] = Simt) -> None:
        super().__init__(Wide(what.kernel, 1, (False,) * len(what.kernel.classes)), words)
        found = joins(self.body, LONGEST)
        if found is None:
            raise CannotPrint(
                "a scan whose totals have no short operator", "on a GPU it would go through a long line in one thread"
            )
        self.joins: list[Join] = found
        if self.length + len(self.arrays) + what.after > MOST_NUMBERS:
            raise CannotPrint(f"a scan over {len(self.arrays)} arrays", "a GPU's kernel takes fewer numbers")
        self.part = Part(what.totals, self.w, what.after)

    @cached_property
    def states(self) -> list[tuple[int, int, np.dtype]]:
        """The numbers of the totals."""
        return folded(self.part.body)

    @property
    def numbers(self) -> int:
        return self.part.after + self.part.length

    def _pointers(self) -> list[str]:
        n = range(len(self.states))
        more = ["%ticket", "%told", "%led", "%again", *[f"%total{m}" for m in n], *[f"%prefix{m}" for m in n]]
        return [*super()._pointers(), *[f"ptr {name}" for name in more]]

    # -- the whole

    def text(self) -> str:
        """The module: `kernel(table, pointers, words, totals, prefixes)`."""
        w, simt = self.w, self.simt
        outer, self.n = [self.size(k) for k in range(self.kernel.outer)], self.size(self.loops - 1)
        self.tiles = self._tiles(self.n)
        every = self._all(self.tiles, outer)
        self.thread, self.lane, self.warp = simt.thread(), simt.lane(), simt.warp()
        self.mine, self.other, self.before, self.start = (self._slots() for _ in range(4))
        self.doubt = Doubt(w, w.slot("i1"), results=True)
        taken = simt.shared("i64", 1)
        kinds = [memory_type(d) for _, _, d in self.states]
        self.of_warps = [simt.shared(kind, self.threads // WARP) for kind in kinds]
        self.to_tile = [simt.shared(kind, 1) for kind in kinds]
        states = {(k, i): w.slot(llvm_type(one.dtypes[at])) for one in self.joins for k, i, at in one.states}
        units = list[str]()

        def ticket() -> str:
            with w.where(w.set(f"icmp eq i64 {self.thread}, 0")):
                w.do(f"store i64 {simt.atomic('add', '%ticket', 'i64', '1')}, ptr {taken}")
            simt.barrier()  # here all have read what is shared
            units.append(w.set(f"load i64, ptr {taken}"))
            return w.set(f"icmp slt i64 {units[0]}, {every}")

        with w.repeated(ticket):
            (u,) = units
            row, tile = w.set(f"udiv i64 {u}, {self.tiles}"), w.set(f"urem i64 {u}, {self.tiles}")
            self._tile(u, row, tile, self.decoded(row, outer), states)
        return self.simt.module(self.numbers, self._pointers())

    def _slots(self) -> Numbers:
        slots = super()._slots()
        for k, i, dtype in self.states:
            self.w.do(f"store {llvm_type(dtype)} zeroinitializer, ptr {slots(k, i)}")
        return slots

    def _tile(self, u: str, row: str, tile: str, index: list[str], states: dict[tuple[int, int], str]) -> None:
        w = self.w
        w.do(f"store i1 false, ptr {self.doubt.place}")
        start, mine = w.set(f"mul nuw nsw i64 {tile}, {self.tile}"), w.set(f"mul nuw nsw i64 {self.thread}, {self.per}")
        begin = w.set(f"add nuw nsw i64 {start}, {mine}")
        end = w.least(w.set(f"add nuw nsw i64 {begin}, {self.per}"), self.n)
        some = w.set(f"icmp slt i64 {begin}, {end}")
        w.when(some, lambda: self._fold(begin, end, self.part._bases(index), self.part.positions(index)))
        self._scan_block(some)
        left = w.set(f"sub nsw i64 {self.n}, {start}")
        have = w.least(w.set(f"sdiv i64 {w.set(f'add nsw i64 {left}, {self.per - 1}')}, {self.per}"), str(self.threads))
        last = w.set(f"icmp eq i64 {self.thread}, {w.set(f'sub nsw i64 {have}, 1')}")
        w.when(last, lambda: self._publish(u))
        first_warp = w.set(f"icmp eq i64 {self.warp}, 0")
        w.when(first_warp, lambda: self._look_back(u, row, tile))
        self.simt.barrier()
        w.when(some, lambda: self._go_through(begin, end, tile, index, states))
        doubtful = w.set(f"load i1, ptr {self.doubt.place}")
        w.when(doubtful, lambda: self._note(row))

    def _note(self, row: str) -> None:
        self.simt.atomic("or", self.w.set(f"getelementptr i64, ptr %again, i64 {row}"), "i64", "1")

    # -- joins that notice where they leave the range of floats

    def _join(self, left: Numbers, right: Numbers, out: Numbers) -> None:
        """`out = op(left, right)`, and a doubt where that is not finite, or depends on how far `right` has underflown."""
        if "join" not in self.w.support:
            self._print_join()
        places = [side(k, i) for side in (left, right, out) for k, i, _ in self.states]
        self.w.do(f"call void @join({', '.join([f'ptr {place}' for place in (*places, self.doubt.place)])})")

    def _print_join(self) -> None:
        """The function that joins, which LLVM puts in its places: it is printed once."""
        whole, names = self.w, [f"%{side}{m}" for side in "abc" for m in range(len(self.states))]
        w, at = whole.beside(), {(side, k, i): f"%{side}{m}" for side in "abc" for m, (k, i, _) in enumerate(self.states)}
        left, right, out = [lambda k, i, side=side: at[side, k, i] for side in "abc"]
        join(w, self.part.body, left, right, out, Doubt(w, "%doubt", results=True))
        given = ", ".join([f"ptr {name}" for name in (*names, "%doubt")])
        whole.support["join"] = w.text("join", given, "internal", "alwaysinline nounwind")

    # -- the elements of a thread, folded

    def _fold(self, begin: str, end: str, bases: list[str], positions: Sequence[str]) -> None:
        w, part = self.w, self.part
        strides = part.inner_strides(part.loops - 1)
        part.element(begin, bases, strides, positions, bool(part.guards), self.mine).run(True)
        with w.each(w.set(f"add nuw nsw i64 {begin}, 1"), end) as at:
            part.element(at, bases, strides, positions, bool(part.guards), self.mine).run(False)
        for k, op in enumerate(part.body.ops):
            dtypes = [d for a, _, d in self.states if a == k]
            if op.kind == "fold" and leaves_range(op.data, dtypes):
                for i, dtype in enumerate(dtypes):
                    self.doubt.infinite(w.set(f"load {llvm_type(dtype)}, ptr {self.mine(k, i)}"), dtype)

    # -- within the block

    def _scan_block(self, some: str) -> None:
        """`mine` becomes the total up to the thread, where it has elements; `before` that up to the one before it."""
        w = self.w
        with w.each("0", str(WARP.bit_length() - 1)) as level:
            far = w.set(f"shl nuw nsw i64 1, {level}")
            self._from_lane(w.set(f"sub i64 {self.lane}, {far}"), self.mine, self.other)
            with w.where(w.set(f"and i1 {some}, {w.set(f'icmp sge i64 {self.lane}, {far}')}")):
                self._join(self.other, self.mine, self.mine)
        self._from_lane(w.set(f"sub i64 {self.lane}, 1"), self.mine, self.before)
        w.when(w.set(f"icmp eq i64 {self.lane}, {WARP - 1}"), lambda: self._put(self.mine, self.of_warps, self.warp))
        self.simt.barrier()

        with w.where(w.set(f"and i1 {some}, {w.set(f'icmp ne i64 {self.warp}, 0')}")):
            self._get(self.of_warps, "0", self.start)
            with w.each("1", self.warp) as j:
                self._get(self.of_warps, j, self.other)
                self._join(self.start, self.other, self.start)
            self._join(self.start, self.mine, self.mine)
            inner = w.set(f"icmp ne i64 {self.lane}, 0")
            w.either(inner, lambda: self._join(self.start, self.before, self.before), lambda: self._copy(self.start, self.before))

    def _copy(self, source: Numbers, goal: Numbers) -> None:
        copy(self.w, self.part.body, source, goal)

    # -- among blocks

    def _word(self, name: str, at: str) -> str:
        return self.w.set(f"getelementptr i64, ptr {name}, i64 {at}")

    def _arrays(self, name: str) -> list[str]:
        return [f"%{name}{m}" for m in range(len(self.states))]

    def _publish(self, u: str) -> None:
        """The total of a tile, for the others of its group."""
        self._put(self.mine, self._arrays("total"), u)
        self.simt.store_word(self._word("%told", u), "1")

    def _wait(self, word: str) -> None:
        """Until a word is set."""
        with self.w.repeated(lambda: self.w.set(f"icmp eq i64 {self.simt.load_word(word)}, 0")):
            pass

    def _look_back(self, u: str, row: str, tile: str) -> None:
        """The first warp finds the total of all before the tile, leaves it for the block, and leads the next group."""
        w = self.w
        place, group = w.set(f"and i64 {tile}, {GROUP - 1}"), w.set(f"lshr i64 {tile}, 5")
        groups = w.set(f"lshr i64 {w.set(f'add i64 {self.tiles}, {GROUP - 1}')}, 5")
        mine = w.set(f"add i64 {w.set(f'sub i64 {u}, {place}')}, {self.lane}")

        with w.where(w.set(f"icmp slt i64 {self.lane}, {place}")):
            self._wait(self._word("%told", mine))
            self._get(self._arrays("total"), mine, self.mine)
        with w.each("0", str(GROUP.bit_length() - 1)) as level:
            lane = w.set(f"add i64 {self.lane}, {w.set(f'shl nuw nsw i64 1, {level}')}")
            self._from_lane(lane, self.mine, self.other)
            with w.where(w.set(f"icmp slt i64 {lane}, {place}")):
                self._join(self.mine, self.other, self.mine)
        at = w.set(f"add i64 {w.set(f'mul i64 {row}, {groups}')}, {group}")
        leads = w.set(f"icmp eq i64 {self.lane}, 0")
        w.when(leads, lambda: self._lead(u, tile, place, group, at))

    def _lead(self, u: str, tile: str, place: str, group: str, at: str) -> None:
        w = self.w
        with w.where(w.set(f"icmp ne i64 {group}, 0")):
            self._wait(self._word("%led", at))
            self._get(self._arrays("prefix"), at, self.other)
            some = w.set(f"icmp ne i64 {place}, 0")
            w.either(some, lambda: self._join(self.other, self.mine, self.mine), lambda: self._copy(self.other, self.mine))
        self._put(self.mine, self.to_tile, "0")
        more = w.set(f"icmp slt i64 {w.set(f'add i64 {tile}, 1')}, {self.tiles}")
        with w.where(w.set(f"and i1 {more}, {w.set(f'icmp eq i64 {place}, {GROUP - 1}')}")):
            self._wait(self._word("%told", u))
            self._get(self._arrays("total"), u, self.other)
            self._join(self.mine, self.other, self.mine)
            following = w.set(f"add i64 {at}, 1")
            self._put(self.mine, self._arrays("prefix"), following)
            self.simt.store_word(self._word("%led", following), "1")

    # -- through the tile

    def _go_through(self, begin: str, end: str, tile: str, index: list[str], states: dict[tuple[int, int], str]) -> None:
        """The work at the elements of a thread, from the states to which all before it lead."""
        w, loop = self.w, self.loops - 1
        behind, inner = w.set(f"icmp ne i64 {tile}, 0"), w.set(f"icmp ne i64 {self.thread}, 0")

        with w.where(behind):
            self._get(self.to_tile, "0", self.other)
            w.either(inner, lambda: self._join(self.other, self.before, self.before), lambda: self._copy(self.other, self.before))
        at = 0
        for one in self.joins:
            for k, i, part in one.states:
                op, number, dtype = self.states[at + part]
                value = w.set(f"load {llvm_type(dtype)}, ptr {self.before(op, number)}")
                w.do(f"store {llvm_type(dtype)} {value}, ptr {states[k, i]}")
            at += len(one.dtypes)
        bases, positions, strides = self._bases(index), self.positions(index), self.inner_strides(loop)

        def element(i: str, first: bool) -> None:
            self.element(i, bases, strides, positions, bool(self.guards), lambda k, i: states[k, i]).run(first)

        first = w.set(f"xor i1 {w.set(f'or i1 {behind}, {inner}')}, true")
        w.when(first, lambda: element(begin, True))
        w.loop(w.set(f"add nuw nsw i64 {begin}, {w.set(f'zext i1 {first} to i64')}"), end, lambda i: element(i, False))


class Again(Lanes):
    """The kernel that goes through those lines whose word is set, each from its beginning in a thread."""

    def _pointers(self) -> list[str]:
        return [*super()._pointers(), "ptr %again"]

    def _asked(self, u: str) -> str:
        word = self.w.set(f"load i64, ptr {self.w.set(f'getelementptr i64, ptr %again, i64 {u}')}")
        return self.w.set(f"icmp ne i64 {word}, 0")
