"""Stages that run a few rows at a time, so that what they exchange stays in a cache.

Each stage is compiled for these few rows. Where they begin only moves the addresses of arrays and the positions of guards, which
are entries of a table: those go on by as much with each row. One function for all groups sets them and calls stage after stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from catad.buffers import address
from catad.engine.cpu.blocked import blocked
from catad.engine.cpu.call import GRAIN, Call
from catad.engine.cpu.nests.nest import METADATA
from catad.engine.cpu.run import pool, threads
from catad.engine.cpu.run.kernel import code_of, packed
from catad.engine.cpu.run.target import SPEED
from catad.engine.stages.group import Rows
from catad.engine.stages.turns import Turn, rooms, turns
from catad.scalar.llvm_writer import Writer
from catad.spaces import Tensor

CACHE = 1 << 18  # bytes that the rows of one turn take
LEAST, MOST = 2, 4  # rows: loops over one would be merged in another way; times that cache


class Turns:
    """The function of all groups: `rows(nothing, plan, first turn, last turn, nothing)` does turns of some rows each.

    The plan is a table: how many rows a turn has, the first row of the last turn, the number of calls, and for each of them the
    address of its code, of its table, the four numbers that it is called with, how many entries move and where these are listed:
    the entry, what it is at row 0, and by how much it goes on with a row.
    """

    entries = ("rows",)
    bounds = 4
    level = SPEED

    def __init__(self, what: Any) -> None:
        self.w = Writer()

    def text(self) -> str:
        """The module."""
        w = self.w

        def word(base: str, at: str) -> str:
            place = w.set(f"getelementptr i64, ptr {base}, i64 {at}")
            return w.set(f"load i64, ptr {place}")

        def pointer(number: str) -> str:
            return w.set(f"inttoptr i64 {number} to ptr")

        w.do("%plan = inttoptr i64 %at to ptr")
        size, last, count = (word("%plan", str(k)) for k in range(3))

        def turn(k: str) -> None:
            row = w.least(w.set(f"mul i64 {k}, {size}"), last)

            def call(c: str) -> None:
                eighth = w.set(f"mul i64 {c}, 8")
                own = w.set(f"getelementptr i64, ptr %plan, i64 {w.set(f'add i64 3, {eighth}')}")
                code, table = pointer(word(own, "0")), pointer(word(own, "1"))
                numbers = [word(own, str(2 + j)) for j in range(4)]
                moves, listed = word(own, "6"), pointer(word(own, "7"))

                def move(m: str) -> None:
                    one = w.set(f"getelementptr i64, ptr {listed}, i64 {w.set(f'mul i64 {m}, 3')}")
                    entry, start, step = (word(one, str(j)) for j in range(3))
                    far = w.set(f"mul i64 {row}, {step}")
                    place = w.set(f"getelementptr i64, ptr {table}, i64 {entry}")
                    w.do(f"store i64 {w.set(f'add i64 {start}, {far}')}, ptr {place}")

                w.loop("0", moves, move)
                given = ", ".join(["ptr " + table, *[f"i64 {one}" for one in numbers]])
                w.do(f"call void {code}({given})")

            w.loop("0", count, call)

        w.loop("%first", "%last", turn)
        return w.module([w.text("rows", "ptr %t, i64 %at, i64 %first, i64 %last, i64 %d")]) + METADATA


class Member:
    """A stage over the rows of one turn: its call, and the entries of its table that move, by how much with each row."""

    def __init__(self, turn: Turn, numbers: Sequence[int]) -> None:
        self.numbers, self.reads = numbers, len(turn.place)
        self.call = Call(turn.how, turn.place)
        self.call.code.complete()
        (moves,) = turn.moves
        self.entries = np.flatnonzero(moves)
        self.moves = np.array(moves)[self.entries]

    def calls(self, addresses: Sequence[int], kept: list[Any]) -> list[list[int]]:
        """What the plan has of its calls; `kept` are the tables, which must live as long."""
        results = [addresses[k] for k in self.numbers[self.reads :]]
        more: tuple[int, ...] = ()
        if self.call.tiled:
            kept.append(self.call.room())
            more = address(kept[-1]), self.call.units
        table = self.call.table.filled(addresses, results, more)
        moved_ = np.empty((len(self.entries), 3), np.int64)
        moved_[:, 0], moved_[:, 1], moved_[:, 2] = self.entries, np.array(table)[self.entries], self.moves
        kept += [table, moved_]
        own, code = [table.buffer_info()[0]], self.call.code.modules[-1]
        ((first, last, begin, end),) = self.call.whole
        found = [[code.address("kernel"), *own, first, last, begin, end, len(moved_), address(moved_)]]
        if self.call.tiled:
            found.append([code.address("finish"), *own, 0, self.call.rows, 0, 0, 0, 0])
        return found


class ByRows:
    """A group laid out over arrays, which runs some rows at a time."""

    def __init__(self, count: int, size: int, members: Sequence[Member], rooms: Sequence[Tensor]) -> None:
        self.count, self.size, self.members, self.rooms = count, size, members, rooms
        self.work = sum([one.call.work for one in members]) * count // size
        self.code = code_of(Turns, None, GRAIN)
        self.code.complete()

    @property
    def text(self) -> str:
        """The LLVM text of the stages, and of what runs them in turn."""
        return "\n".join([*[one.call.text for one in self.members], self.code.text])

    @property
    def seconds(self) -> float:
        """The time that compiling took."""
        return sum([one.call.seconds for one in self.members])

    def run(self, arrays: Sequence[Any], outs: Sequence[Any]) -> None:
        """Runs the stages on arrays and writes the results into `outs`."""
        turns = -(-self.count // self.size)
        several = self.work >= GRAIN and threads.get_num_threads() > 1
        parts = threads.chunks(turns, 1, 1) if several else [(0, turns)]
        own, kept = [address(a) for a in (*arrays, *outs)], list[Any]()
        pool.run(self.code, "rows", packed([]), [(self._plan(own, kept), a, b, 0) for a, b in parts], 0)

    def _plan(self, own: Sequence[int], kept: list[Any]) -> int:
        """The address of a plan with rooms of its own for what the stages exchange."""
        rooms = [np.empty(space.shape, space.dtype) for space in self.rooms]
        addresses = [*own, *[address(room) for room in rooms]]
        calls = [call for one in self.members for call in one.calls(addresses, kept)]
        plan = np.array([self.size, self.count - self.size, len(calls), *[n for call in calls for n in call]], np.int64)
        kept += [plan, *rooms]
        return address(plan)


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
    return ByRows(count, size, members, rooms(rows, ways, size))
