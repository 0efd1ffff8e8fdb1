"""Stages that run a few rows at a time, so that what they exchange stays in a cache.

Each stage is compiled for these few rows. Where they begin only moves the addresses of arrays and the positions of guards, which
are entries of a table: those go on by as much with each row. One function for all groups sets them and calls stage after stage.
Threads share the turns, each with a room of its own for the tables and for what the stages exchange.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from catad.category.spaces import Tensor
from catad.engine.cpu.blocked import blocked
from catad.engine.cpu.call import GRAIN, Call
from catad.engine.cpu.nests.nest import METADATA
from catad.engine.cpu.run import threads
from catad.engine.cpu.run.kernel import code_of
from catad.engine.cpu.run.target import SPEED
from catad.engine.stages.group import Rows
from catad.engine.stages.row_blocks import Turn, rooms, turns
from catad.scalar.printing.llvm_writer import Writer
from catad.values.buffers import address

CACHE = 1 << 18  # bytes that the rows of one turn take
LINE = 64  # bytes at which arrays of a room begin
LEAST, MOST = 2, 4  # rows: loops over one would be merged in another way; times that cache


class Turns:
    """The function of all groups: `rows(table, first turn, last turn, room, nothing)` does turns of some rows each.

    The table has the address of a plan, its words, where its moves are listed, how many there are, and then addresses. The plan
    is copied into the room, and each move puts one of the addresses there, or that of the room itself, so many bytes on.
    The plan has how many rows a turn has, the first row of the last turn, the number of calls, and for each of them the address
    of its code, of its table, the four numbers that it is called with, how many entries go on and where these are listed: the
    entry, what it is at row 0, and by how much it goes on with a row.
    """

    entries = ("rows",)
    bounds = 4
    level = SPEED

    def __init__(self, what: Any) -> None:
        self.w = Writer()

    def text(self) -> str:
        """The module."""
        w = self.w

        def place(base: str, at: str) -> str:
            return w.set(f"getelementptr i64, ptr {base}, i64 {at}")

        def word(base: str, at: str) -> str:
            return w.set(f"load i64, ptr {place(base, at)}")

        def pointer(number: str) -> str:
            return w.set(f"inttoptr i64 {number} to ptr")

        def triple(base: str, k: str) -> list[str]:
            one = place(base, w.set(f"mul i64 {k}, 3"))
            return [word(one, str(j)) for j in range(3)]

        given, words, listed, many = (word("%t", str(k)) for k in range(HEAD))
        plan, moves = pointer("%room"), pointer(listed)
        w.copy(pointer(given), plan, w.set(f"mul i64 {words}, 8"))
        with w.each("0", many) as m:
            where, which, far = triple(moves, m)
            own = w.set(f"icmp slt i64 {which}, 0")
            known = w.set(f"select i1 {own}, i64 0, i64 {which}")
            begin = w.set(f"select i1 {own}, i64 %room, i64 {word('%t', w.set(f'add i64 {known}, {HEAD}'))}")
            w.do(f"store i64 {w.set(f'add i64 {begin}, {far}')}, ptr {place(plan, where)}")
        size, last, count = (word(plan, str(k)) for k in range(3))
        with w.each("%first", "%last") as k:
            row = w.least(w.set(f"mul i64 {k}, {size}"), last)
            with w.each("0", count) as c:
                call = place(plan, w.set(f"add i64 3, {w.set(f'mul i64 {c}, {CALL}')}"))
                code, table = pointer(word(call, "0")), pointer(word(call, "1"))
                numbers = [word(call, str(2 + j)) for j in range(4)]
                entries, listed = word(call, "6"), pointer(word(call, "7"))
                with w.each("0", entries) as m:
                    entry, start, step = triple(listed, m)
                    far = w.set(f"mul i64 {row}, {step}")
                    w.do(f"store i64 {w.set(f'add i64 {start}, {far}')}, ptr {place(table, entry)}")
                w.do(f"call void {code}({', '.join(['ptr ' + table, *[f'i64 {one}' for one in numbers]])})")
        return w.module([w.text("rows", "ptr %t, i64 %first, i64 %last, i64 %room, i64 %d")]) + METADATA


HEAD, CALL = 4, 8  # words of a table before its addresses, and of a call in a plan


class Member:
    """A stage over the rows of one turn: its call, and the entries of its table that go on, by how much with each row."""

    def __init__(self, turn: Turn, numbers: Sequence[int]) -> None:
        self.numbers, self.reads = numbers, len(turn.place)
        self.call = Call(turn.how, turn.place)
        self.call.code.complete()
        (self.moves,) = turn.moves


class _Plan:
    """The words of a plan, and which of them are addresses: the word, the number of an address, and bytes.

    The number is -1 for the room, and less for the arrays in it, one after the other.
    """

    def __init__(self, head: Sequence[int], calls: int) -> None:
        self.words = [*head, calls, *[0] * (CALL * calls)]
        self.moves: list[tuple[int, int, int]] = []

    def add(self, words: Sequence[int], moves: Sequence[tuple[int, int, int]]) -> int:
        """Add words with their own moves; the place of the first."""
        begin = len(self.words)
        self.words += words
        self.moves += [(begin + where, which, far) for where, which, far in moves]
        return begin

    def put(self, k: int, code: int, table: int, numbers: Sequence[int], listed: tuple[int, int]) -> None:
        """Write a call: the number of the address of its code, where its table lies, and its entries that go on."""
        at = 3 + CALL * k
        self.words[at + 2 : at + CALL] = [*numbers, listed[0], 0]
        self.moves += [(at, code, 0), (at + 1, -1, 8 * table), (at + 7, -1, 8 * listed[1])]


class ByRows:
    """A group laid out over arrays, which runs some rows at a time."""

    def __init__(self, count: int, size: int, members: Sequence[Member], rooms: Sequence[Tensor], arrays: int) -> None:
        self.count, self.size, self.members = count, size, members
        self.arrays = arrays  # that it reads and writes
        self.turns = -(-count // size)
        self.work = sum([one.call.work for one in members]) * count // size
        self.code = code_of(Turns, None, GRAIN)
        self.code.complete()
        kernels = [(one.call.code, name) for one in members for name in ("kernel", "finish")[: 1 + one.call.tiled]]
        self.kernels = [*dict.fromkeys(kernels)]  # their addresses follow those of the arrays
        self._lay_out(rooms)

    def _lay_out(self, rooms: Sequence[Tensor]) -> None:
        """Make the plan; what the stages exchange, and totals of tiles, lie behind it in a room."""
        tiled = [one.call for one in self.members if one.call.tiled]
        plan = _Plan([self.size, self.count - self.size], len(self.members) + len(tiled))
        own = [*rooms, *[Tensor((call.rows * call.units, max(call.states, 1)), np.dtype(np.int64)) for call in tiled]]
        places, end = list[int](), 0  # behind the plan
        for space in own:
            places.append(end)
            end += -(-space.nbytes // LINE) * LINE

        def number(k: int) -> int:
            return k if k < self.arrays else self.arrays - 2 - k

        k = 0
        for one in self.members:
            call, table, words = one.call, one.call.table, [*one.call.table.values]
            moves = [(where, number(which), far) for where, which, far in table.reads]
            moves += [(where, number(one.numbers[one.reads + j]), far) for where, j, far in table.writes]
            if call.tiled:
                moves.append((len(words), number(self.arrays + len(rooms) + tiled.index(call)), 0))
                words += [0, call.units]
            addresses = {where: (which, far) for where, which, far in moves}
            entries = [entry for entry, step in enumerate(one.moves) if step]
            listed = [n for entry in entries for n in (entry, words[entry], one.moves[entry])]
            starts = [(3 * j + 1, *addresses[entry]) for j, entry in enumerate(entries) if entry in addresses]
            at, goes_on = plan.add(words, moves), (len(entries), plan.add(listed, starts))
            for name, numbers in [("kernel", call.whole[0]), ("finish", (0, call.rows, 0, 0))][: 1 + call.tiled]:
                code = self.arrays + self.kernels.index((call.code, name))
                plan.put(k, code, at, numbers, goes_on if name == "kernel" else (0, 0))
                k += 1
        self.plan = np.array(plan.words, np.int64)
        begin = -(-self.plan.nbytes // LINE) * LINE
        self.room = begin + end
        inside = [(where, -1, begin + places[-2 - which] + far) for where, which, far in plan.moves if which < -1]
        self.moves = np.array([*[one for one in plan.moves if one[1] >= -1], *inside], np.int64)

    def listed(self) -> Any:
        """The parts for threads as `share` reads them, each with a room of its own behind them."""
        parts = threads.chunks(self.turns, 1, 1)
        words = self.room // 8
        first = 1 + 4 * len(parts)
        made = np.empty(first + LINE // 8 + words * len(parts), np.int64)
        begin = address(made) + 8 * first
        begin += -begin % LINE
        made[:first] = [len(parts), *[n for k, (a, b) in enumerate(parts) for n in (a, b, begin + self.room * k, 0)]]
        return made


def by_rows(rows: Rows, nbytes: int, strides: Sequence[Sequence[int]]) -> ByRows | None:
    """Compiled code for a group on arrays and results of so many bytes that lie so; None where rows are too large or too few."""
    bytes_ = nbytes + sum([space.nbytes for space in rows.between])
    ways, count = rows.ways[:1], rows.ways[0].size
    size = min(max(LEAST, CACHE * count // max(bytes_, 1)), count)
    if size < LEAST or LEAST * bytes_ > MOST * CACHE * count:
        return None
    laid = turns(rows, ways, size, strides)
    if laid is None or any(blocked(turn.how) for turn in laid):
        return None
    members = []
    for turn, numbers in zip(laid, rows.arrays, strict=True):
        made = Member(turn, numbers)
        if made.call.code.stop is not None:
            return None
        members.append(made)
    return ByRows(count, size, members, rooms(rows, ways, size), len(strides))
