"""Large passes of a whole program: kernels that serve all sizes, called by address with a table of sizes and strides.

The kernel is that of `nests/`, compiled once for all programs with the same work. Its table is a constant of the program but for
the addresses, which the program puts into a copy on the stack. Threads share what is large.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from catad.category.spaces import Tensor
from catad.engine.cpu.blocked import Blocked, blocked
from catad.engine.cpu.call import GRAIN, Call
from catad.engine.cpu.rows import ByRows
from catad.engine.cpu.run import pool
from catad.engine.cpu.whole.text import Arrays, Buffer, Shared, Text
from catad.engine.stages.layout import FOLDS, POINTS, Layout
from catad.values import buffers

STREAMED = 1 << 24  # bytes of results from which on they are written by streaming stores
TILED = 1 << 6  # indices of a pass with folds from which on: it has vectors there
NARROW = 5  # numbers of an innermost loop below which it is written out, however many times it runs
FROM = 1 << 9  # indices of a pass from which on its sizes are read from a table: unrolled work does not pay any more


def streamed(how: Layout, outs: Sequence[int]) -> Layout:
    """The layout with streaming stores, where results of so many bytes are large and lie so that they can be."""
    if sum(outs) < STREAMED or not _straight(how, outs):
        return how
    return how._replace(kernel=how.kernel._replace(streaming=True))


def _straight(how: Layout, outs: Sequence[int]) -> bool:
    """True where results of so many bytes lie so that whole vectors are aligned: only large ones are sure to lie so."""
    kernel, first = how.kernel, len(how.kernel.body.sources)
    if kernel.kind != POINTS or kernel.body.guards:
        return False
    rows = all(loop.strides[first + j] % 64 == 0 for loop in how.loops[:-1] for j in range(len(outs)))
    straight = all(how == "c" for how in kernel.classes[first:]) and not any(how.offsets[first:])
    return rows and straight and all(nbytes >= buffers.LARGE for nbytes in outs)


def called(text: Text, how: Layout, read: Sequence[Buffer | None], made: Sequence[Buffer]) -> bool:
    """Write a call of the kernel of a laid-out pass that reads these arrays, None for loop indices, and writes those.

    False where the pass is better written for its sizes: where it is short, or may run for ever.
    """
    if not text.calls or math.prod([loop.size for loop in how.loops]) < (TILED if how.kernel.kind == FOLDS else FROM):
        return False
    if how.loops[-1].size < NARROW:
        return False
    sizes = [one.nbytes for one in made]
    place, given = list[int](), list[Buffer]()
    for one in read:
        place.append(-1 if one is None else len(given))
        if one is not None:
            given.append(one)
    pointers = [one.pointer for one in given], [one.pointer for one in made]
    if text.depth == 1 and blocked(how):
        _in_blocks(text, Blocked(how, place, sum(sizes) >= STREAMED), *pointers)
        return True
    call = Call(streamed(how, sizes) if text.depth == 1 else how, place)
    if call.code.stop is not None:
        return False
    room = text.buffer(call.room) if call.tiled else None
    _start(text, call, _filled(text, call, *pointers, [] if room is None else [f"ptr {room.pointer}", f"i64 {call.units}"]))
    if room is not None:
        text.free(room)
    return True


def _in_blocks(text: Text, own: Blocked, given: Sequence[str], made: Sequence[str]) -> None:
    """Write the calls of a scan in blocks: tiles are folded, and then it goes through blocks, or whole lines where in doubt."""
    w, doubt, room = text.w, text.w.slot("i1", start="false"), text.buffer(own.totals.room)
    ends = [f"ptr {room.pointer}", f"i64 {own.totals.units}"]
    _start(text, own.totals, _filled(text, own.totals, given, [], [*ends, f"ptr {doubt}"]))
    lost = doubtful(text, doubt)
    for one, whole in ((own.count, 1), (own.size, own.blocks.sizes[-1])):
        ends.append(f"i64 {w.set(f'select i1 {lost}, i64 {whole}, i64 {one}')}")
    table = _filled(text, own.blocks, given, made, ends)
    w.either(lost, lambda: _start(text, own.whole, table), lambda: _start(text, own.blocks, table))
    text.free(room)


def doubtful(text: Text, place: str) -> str:
    """Whether the totals of tiles, as is noted at a place, may not stand for the elements."""
    return text.w.set(f"load i1, ptr {place}")


def call_rows(group: ByRows, text: Text, read: Arrays, made: Arrays) -> None:
    """Write a call of a group that runs some rows at a time."""
    w, room = text.w, text.buffer(Tensor((group.room // 8,), np.dtype(np.int64)))
    pointers = [*[buffer.pointer for buffer, _ in (*read, *made)], *[text.kernel(*one, 0) for one in group.kernels]]
    known = [f"ptr {text.constant(group.plan).pointer}", f"i64 {len(group.plan)}"]
    known += [f"ptr {text.constant(group.moves).pointer}", f"i64 {len(group.moves)}"]
    table = table_of(text, [*known, *[f"ptr {one}" for one in pointers]])
    own = w.set(f"ptrtoint ptr {room.pointer} to i64")
    call_part(text, group, text.kernel(group.code, "rows", 0), table, [0, group.turns, own, 0])
    text.free(room)


def table_of(text: Text, entries: Sequence[str]) -> str:
    """Write a table of numbers and addresses, each behind its type."""
    table = text.w.slot("i64", len(entries))
    _put(text, table, 0, entries)
    return table


def _put(text: Text, table: str, first: int, entries: Sequence[str]) -> None:
    for k, one in enumerate(entries, first):
        text.w.do(f"store {one}, ptr {text.at(table, (), (), 8 * k)}")


def _filled(text: Text, call: Call, given: Sequence[str], made: Sequence[str], more: Sequence[str]) -> str:
    """Write the table of a call for arguments and results at these addresses; `more` end it."""
    values = call.table.values
    table = text.w.slot("i64", len(values) + len(more))
    text.copy(text.constant(np.array(values, np.int64)).pointer, table, 8 * len(values))
    for places, pointers in ((call.table.reads, given), (call.table.writes[: len(made)], made)):
        for where, k, offset in places:
            _put(text, table, where, [f"ptr {text.at(pointers[k], (), (), offset)}"])
    _put(text, table, len(values), more)
    return table


def _start(text: Text, call: Call, table: str) -> None:
    """Write the start of a kernel on its table; what tiles leave is joined at its end."""
    call_part(text, call, text.kernel(call.code, "kernel", call.work), table, call.whole[0])
    if call.tiled:
        finish = text.kernel(call.code, "finish", 0)
        text.w.do(f"call void {finish}(ptr {table}, i64 0, i64 {call.rows}, i64 0, i64 0)")


def call_part(text: Text, call: Shared, kernel: str, table: str, whole: Sequence[int | str]) -> None:
    """Write the call of a kernel on all of its work: on one thread, or on several where it is large."""

    def alone() -> None:
        text.w.do(f"call void {kernel}({', '.join([f'ptr {table}', *[f'i64 {one}' for one in whole]])})")

    if call.work < GRAIN or not pool.available():
        alone()
    else:
        several = text.w.set("icmp sgt i64 %threads, 1")
        text.w.either(several, lambda: text.share(call, kernel, table), alone)
