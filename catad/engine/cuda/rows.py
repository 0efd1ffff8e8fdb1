"""Groups on a GPU: stages that share rows run in one launch, in which a block takes a few rows at a time
(`engine/stages/row_blocks.py`).

A block does stage after stage, and waits at a barrier behind each. What stages exchange lies in the memory that the block shares,
in rooms that are used again once they have been read for the last time; only what others read is written to the memory of the
device. The threads of a block share the indices of a map. A line of a fold is folded by a thread, a warp or the block, and what
the threads have folded is joined in their order, so the bits are the same in every order of threads.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from catad.category.spaces import Tensor
from catad.engine.cuda.folds import Folds
from catad.engine.cuda.intrinsics import WARP, Simt
from catad.engine.cuda.kernel import Code, Device, Launched, Strides, code_of
from catad.engine.cuda.lanes import Lanes
from catad.engine.cuda.maps import MOST_NUMBERS, PIECE, THREADS, Points, wide
from catad.engine.stages.group import Along, Rows
from catad.engine.stages.layout import LANES, POINTS, Kernel, Layout, Loop
from catad.engine.stages.row_blocks import Turn, rooms, turns
from catad.engine.text.cascade import LEAF, commute, folded, rounds
from catad.engine.text.element import Element
from catad.engine.text.places import Places
from catad.errors import CannotPrint
from catad.scalar.printing.llvm_writer import Writer

SHARED = 48 * 1024  # bytes that a block may share without being asked for more
TURN = 1 << 10  # indices of a turn that shorter rows share
LONGEST = 1 << 14  # indices of a turn beyond which stage after stage runs, each on the whole GPU
BESIDE = 32  # rows of a turn where rows lie beside each other in memory, which is read in pieces of 32 bytes and more
HEAD = 3  # first numbers: how many turns, the rows of one, the first row of the last one; then how many rows each way has
TEAMS = ((1, LEAF, THREADS // 8), (WARP, WARP * LEAF, THREADS // WARP // 2))  # threads to a line: the longest, fewest lines


class Part(NamedTuple):
    """A stage of a turn: its kernel, how a thread reads (see `points.Wide`), the number of each array among those of the group
    (-1: a loop index), the entries of its table that go on with the row, each with the way, and how many threads fold a line (0:
    a map)."""

    kernel: Kernel
    width: int
    pieces: tuple[bool, ...]
    arrays: tuple[int, ...]
    moves: tuple[tuple[int, int], ...]
    team: int


class Grouped(NamedTuple):
    """Stages in their order, and how many ways of rows, arguments, results and rooms they have."""

    parts: tuple[Part, ...]
    ways: int
    arguments: int
    results: int
    rooms: int


class Member(Points):
    """The text of one stage within that of its group. Entries that go on with the row do so by numbers behind the table."""

    def __init__(self, part: Part, group: RowsKernel, first: int) -> None:
        Places.__init__(self, part.kernel, True, group.w)
        self.part, self.group, self.first = part, group, first
        self.what, self.simt = part, group.simt  # type: ignore[assignment]
        self.steps = [(at, way, first + self.length + k) for k, (at, way) in enumerate(part.moves)]

    @property
    def numbers(self) -> int:
        """How many numbers of the kernel are its own."""
        return self.length + len(self.part.moves)

    def entry(self, at: int) -> str:
        """A number of its table at the row."""
        number = super().entry(self.first + at)
        for moved, way, step in self.steps:
            if moved == at:
                far = self.w.set(f"mul i64 {super().entry(step)}, {self.group.row[way]}")
                number = self.w.set(f"add i64 {number}, {far}")
        return number

    def _pointer(self, j: int) -> str:
        return self.group.pointers[self.part.arrays[j]]

    def _work(self, made: Sequence[Element], first: bool = False) -> None:
        """LLVM is told where pieces begin, since it does not know that rooms do at multiples of 16 bytes."""
        if len(made) == self.what.width:
            sizes = [np.dtype(one.dtype).itemsize * self.what.width for one in self.arrays]
            made[0].alignment = {j: n for j, (n, piece) in enumerate(zip(sizes, self.what.pieces, strict=True)) if piece}
        super()._work(made, first)

    def write(self) -> None:
        """The work of the block on the rows of a turn, with a barrier behind it."""
        self.over(lambda: (self.group.thread, str(THREADS)))
        self.simt.barrier()


class LineMember(Member, Lanes):
    """A fold whose lines each have a thread."""


class FoldMember(Member, Folds):
    """A fold whose lines each have a warp, or one after the other the block.

    A thread takes pieces of some neighbouring elements, those of an operator that commutes as far apart as there are threads.
    """

    def __init__(self, part: Part, group: RowsKernel, first: int) -> None:
        super().__init__(part, group, first)
        self.whole, self.commutes, self.threads = True, commute(self.body), part.team

    @property
    def room(self) -> int:
        """The bytes that its warps share while they are joined."""
        return 8 * (self.threads // WARP) * len(self.states) if self.threads > WARP else 0

    def write(self) -> None:
        """See `Member`; the block meets behind each line that it folds."""
        w, group, one = self.w, self.group, self.what.width
        outer, n = [self.size(k) for k in range(self.kernel.outer)], self.size(self.loops - 1)
        lines = self._all("1", outer)
        together = self.threads > WARP
        self.thread, self.lane, self.warp = (group.thread if together else group.lane), group.lane, group.warp
        first, step = "0", "1"
        if not together:
            first, step, self.warp = group.warp, str(THREADS // WARP), "0"
        self.state, self.other = self._slots(), self._slots()
        self.shared = [group.room(8 * (self.threads // WARP) * m) for m in range(len(self.states) if together else 0)]
        pieces = w.set(f"sdiv i64 {w.set(f'add nsw i64 {n}, {one - 1}')}, {one}")
        each = w.set(f"sdiv i64 {w.set(f'add nsw i64 {pieces}, {self.threads - 1}')}, {self.threads}")
        some = w.least(pieces, str(self.threads))
        if not self.commutes:
            less = w.set(f"sub nsw i64 {each}, 1")
            some = w.set(f"sdiv i64 {w.set(f'add nsw i64 {pieces}, {less}')}, {each}")

        with w.each(first, lines, step) as u:
            index = self.decoded(u, outer)
            bases = self._bases(index)
            self._elements(n, each, bases, self.positions(index))
            self._join(some)
            w.when(w.set(f"icmp eq i64 {self.thread}, 0"), lambda: self._leave(u, bases))
            if together:
                self.simt.barrier()
        if not together:
            self.simt.barrier()

    def _elements(self, n: str, each: str, bases: list[str], positions: Sequence[str]) -> None:
        """The pieces of a thread, so many, folded into its state; the first one begins it."""
        w, one, strides, guarded = self.w, self.what.width, self.inner_strides(self.loops - 1), bool(self.guards)

        def element(i: str, guarded: bool) -> Element:
            return self.element(i, bases, strides, positions, guarded, self.state)

        def single(i: str, first: bool = False) -> None:
            element(i, guarded).run(first)

        def at_once(begin: str, first: bool) -> None:
            self._work([element(w.set(f"add nuw nsw i64 {begin}, {v}"), False) for v in range(one)], first)

        def piece(k: str, first: bool = False) -> None:
            begin = self._begin(k, each)
            end = w.least(w.set(f"add nsw i64 {begin}, {one}"), n)
            rest = begin
            if one > 1 or guarded:
                full = w.set(f"icmp sle i64 {w.set(f'add nsw i64 {begin}, {one}')}, {n}")
                whole = w.set(f"and i1 {full}, {self.holds(positions, begin, end)}")
                w.when(whole, lambda: at_once(begin, first))
                rest = w.set(f"select i1 {whole}, i64 {end}, i64 {begin}")
            left = w.set(f"icmp slt i64 {rest}, {end}")
            if first or one == 1:
                w.when(left, lambda: single(rest, first))
                rest = w.set(f"add nsw i64 {rest}, 1")
            if one > 1:
                w.loop(rest, end, single)

        piece("0", True)
        w.loop("1", each, piece)

    def _begin(self, k: str, each: str) -> str:
        """Where piece k of a thread begins in its line."""
        w = self.w
        if self.commutes:
            at = w.set(f"add nuw nsw i64 {w.set(f'mul nuw nsw i64 {k}, {self.threads}')}, {self.thread}")
        else:
            at = w.set(f"add nuw nsw i64 {w.set(f'mul nuw nsw i64 {self.thread}, {each}')}, {k}")
        return at if self.what.width == 1 else w.set(f"mul nuw nsw i64 {at}, {self.what.width}")


class RowsKernel:
    """The kernel of a group: a block takes turn after turn."""

    threads = THREADS

    def __init__(self, what: Grouped, words: type[Simt] = Simt) -> None:
        self.what, self.w = what, Writer(gpu=True)
        self.simt = words(self.w, self.threads)
        self.members: list[Member] = []
        self.numbers = self.head = HEAD + what.ways + what.rooms
        for part in what.parts:
            self.members.append(member(part, self, self.numbers))
            self.numbers += self.members[-1].numbers
        if self.numbers + what.arguments + what.results > MOST_NUMBERS:
            raise CannotPrint(f"{len(what.parts)} passes that share rows", "a GPU's kernel takes fewer numbers")

    def text(self) -> str:
        """The module: `kernel(table, pointers)`."""
        w, simt, what = self.w, self.simt, self.what
        given = what.arguments + what.results
        self.thread, self.lane, self.warp, self.shared = simt.thread(), simt.lane(), simt.warp(), simt.room()
        count, size, last, *more = [self._number(k) for k in range(self.head)]
        ways, offsets = more[: what.ways], more[what.ways :]
        self.pointers = [*[f"%p{k}" for k in range(given)], *[self.room(offset) for offset in offsets]]

        with w.each(simt.block(), count, simt.blocks()) as u:
            self.row = self._rows(u, size, last, ways)
            for one in self.members:
                one.write()
        return simt.module(self.numbers, self._pointers())

    def _rows(self, u: str, size: str, last: str, ways: Sequence[str]) -> list[str]:
        """The row of each way at which a turn begins."""
        w, found = self.w, list[str]()
        for k in reversed(range(len(ways))):
            many = ways[k]
            if not found:  # of the last way some rows make a turn
                less = w.set(f"sub nsw i64 {size}, 1")
                many = w.set(f"udiv i64 {w.set(f'add nuw nsw i64 {many}, {less}')}, {size}")
            at = u if k == 0 else w.set(f"urem i64 {u}, {many}")
            u = u if k == 0 else w.set(f"udiv i64 {u}, {many}")
            found.insert(0, at if found else w.least(w.set(f"mul nuw nsw i64 {at}, {size}"), last))
        return found

    def _number(self, at: int) -> str:
        pointer = self.w.set(f"getelementptr i64, ptr %t, i64 {at}")
        return self.w.set(f"load i64, ptr {pointer}, !invariant.load !0")

    def room(self, offset: int | str) -> str:
        """An address in the memory that the block shares."""
        return self.w.set(f"getelementptr i8, ptr {self.shared}, i64 {offset}")

    def _pointers(self) -> list[str]:
        """The parameters of the arrays. Other threads write what a later stage reads, so LLVM must not take that for its own."""
        parts = self.what.parts
        aligned = {k for part in parts for k, piece in zip(part.arrays, part.pieces, strict=True) if piece}
        read = {k for part in parts for k in part.arrays[: len(part.kernel.body.sources)]}
        found = []
        for k in range(self.what.arguments + self.what.results):
            about = " noalias readonly" if k < self.what.arguments else "" if k in read else " noalias"
            found.append(f"ptr{about}{f' align {PIECE}' if k in aligned else ''} %p{k}")
        return found


def member(part: Part, group: RowsKernel, first: int) -> Member:
    """The text of a stage, whose numbers begin at one of its group."""
    kind = Member if part.team == 0 else LineMember if part.team == 1 else FoldMember
    return kind(part, group, first)


class RowsCall(Launched):
    """A group laid out over arrays: its table, and its kernel for arrays that begin at multiples of 16 bytes, and for others."""

    def __init__(
        self, device: Device, rows: Rows, ways: Sequence[Along], size: int, laid: Sequence[Turn], given: tuple[int, int]
    ) -> None:
        self.device, self.rows, self.laid, self.given = device, rows, laid, (len(ways), *given)
        *others, last = [way.size for way in ways]
        self.turns = math.prod(others) * -(-last // size)
        parts = self._parts(True)
        scratch = max([8 * (THREADS // WARP) * len(folded(p.kernel.body)) for p in parts if p.team > WARP], default=0)
        offsets, self.shared = rooms_packed(rows, rooms(rows, ways, size), sum(given), scratch)
        if self.shared > SHARED:
            raise CannotPrint("rows that exchange more than a block can share", "they run stage after stage")
        numbers = [self.turns, size, last - size, *others, last, *offsets]
        for turn, part in zip(laid, parts, strict=True):
            numbers += [*turn.numbers(), *[turn.moves[way][at] for at, way in part.moves]]
        self.numbers = array("q", numbers)
        inside = {k for part in parts for k, piece in zip(part.arrays, part.pieces, strict=True) if piece}
        self.pieces = [k for k in range(sum(given)) if k in inside]
        self.aligned = self._code(parts)
        self.parts = (self.aligned,)
        self.text  # noqa: B018  # what cannot be printed is known from here on

    def _parts(self, aligned: bool) -> list[Part]:
        return [part_of(turn, numbers, aligned) for turn, numbers in zip(self.laid, self.rows.arrays, strict=True)]

    def _code(self, parts: Sequence[Part]) -> Code:
        return code_of(RowsKernel, Grouped(tuple(parts), *self.given, len(self.rows.between)), self.device.dialect)

    def run(self, arrays: Sequence[Any], outs: Sequence[Any]) -> None:
        """Starts the kernel on arrays; it writes into the results."""
        places = [self.device.address(one) for one in (*arrays, *outs)]
        code = self.aligned
        if any(places[k] % PIECE for k in self.pieces):
            code = self._code(self._parts(False))
        self.device.launch(code, min(self.turns, self.device.most), self.numbers, places, self.shared)


def part_of(turn: Turn, numbers: Sequence[int], aligned: bool) -> Part:
    """A stage as the kernel has it, for arrays that begin at multiples of 16 bytes, or anywhere."""
    how = turn.how
    over = [Loop(2, False, steps, (0,) * len(how.tests)) for steps in turn.strides]  # along rows pieces stay what they are
    what = wide(how._replace(loops=(*over, *how.loops)), aligned and how.kernel.kind != LANES)
    moves = [(at, way) for way, own in enumerate(turn.moves) for at, move in enumerate(own) if move]
    return Part(how.kernel, what.width, what.pieces, tuple(numbers), tuple(moves), team_of(how))


def team_of(how: Layout) -> int:
    """How many threads take a line of a stage; 0 for a map."""
    if how.kernel.kind == POINTS:
        return 0
    if how.kernel.kind == LANES:
        return 1
    n, lines = how.loops[-1].size, math.prod([loop.size for loop in how.loops[:-1]])
    return next((team for team, longest, least in TEAMS if n <= longest and lines >= least), THREADS)


def rooms_packed(rows: Rows, spaces: Sequence[Tensor], given: int, first: int) -> tuple[list[int], int]:
    """Where the rooms of what the stages exchange lie in the memory that a block shares, behind its first bytes, and their end.

    Two of them lie at one place where one is read for the last time before the other is made.
    """
    reads = [set(own[: len(stage.reads)]) for own, stage in zip(rows.arrays, rows.stages, strict=True)]
    made = {k: g for g, own in enumerate(rows.arrays) for k in own[len(rows.stages[g].reads) :]}
    placed: list[tuple[int, int, int, int]] = []  # the first and the last stage of a room, its first byte, the one behind it
    for k, space in enumerate(spaces, given):
        begun, bytes_ = made[k], -(-space.size * space.dtype.itemsize // PIECE) * PIECE
        done = max([g for g, own in enumerate(reads) if k in own], default=begun)
        at = first
        for _, _, low, high in sorted([one for one in placed if one[0] <= done and begun <= one[1]], key=lambda one: one[2]):
            if at + bytes_ > low:
                at = max(at, high)
        placed.append((begun, done, at, at + bytes_))
    return [one[2] for one in placed], max([first, *[one[3] for one in placed]])


def by_rows(device: Device, rows: Rows, arrays: Strides, results: Strides) -> RowsCall | None:
    """Compiled code for a group on arrays and results with these strides; None where stages run one after the other."""
    given, strides = (len(arrays), len(results)), [*arrays, *results]
    points, ways = max([math.prod(stage.shape) for stage in rows.stages]), list[Along]()
    for way in rows.ways:
        if not ways or points > TURN:
            ways.append(way)
            points //= way.size
    size = max(TURN // points, 1)
    if size < BESIDE and _beside(turns(rows, ways, 1, strides)):
        size = BESIDE
    size = min(size, ways[-1].size)
    if points * size > LONGEST:
        return None
    laid = turns(rows, ways, size, strides)
    if laid is None or not all(_can(turn.how) for turn in laid):
        return None
    try:
        return RowsCall(device, rows, ways, size, laid, given)
    except CannotPrint:  # the stages say so themselves
        return None


def _beside(laid: Sequence[Turn] | None) -> bool:
    """True where an array goes on with the rows in smaller steps than within one."""
    for how, place, _, (*_, strides) in laid or ():
        for j, step in enumerate(strides):
            within = [abs(loop.strides[j]) for loop in how.loops if loop.strides[j]]
            if 0 < abs(step) < min(within, default=0) and (j >= len(place) or place[j] >= 0):
                return True
    return False


def _can(how: Layout) -> bool:
    """False for scans, and for sums of which a thread would add many elements one after the other."""
    body = how.kernel.body
    if any(op.kind not in ("map", "fold") for op in body.ops):
        return False
    team = team_of(how)
    return team < 2 or not rounds(body) or how.loops[-1].size <= LEAF * team


