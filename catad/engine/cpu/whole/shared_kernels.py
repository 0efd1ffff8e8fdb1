"""Large passes of a whole program: kernels that serve all sizes, called by address with a table of sizes and strides.

The kernel is that of `nests/`, compiled once for all programs with the same work. Its table is a constant of the program but for
the addresses, which the program puts into a copy on the stack. Threads share what is large.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from catad.category.spaces import Tensor
from catad.engine.cpu.blocked import Blocked, blocked
from catad.engine.cpu.call import GRAIN, Call
from catad.engine.cpu.rows import ByRows
from catad.engine.cpu.run import pool
from catad.engine.cpu.whole.callbacks import run_way
from catad.engine.cpu.whole.text import Arrays, Buffer, Text
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
    if text.depth == 1 and blocked(how):
        flat = [(one, Tensor((max(one.nbytes, 1),), np.int8)) for one in (*given, *made)]  # it asks only where they lie
        run_way(text, Blocked(how, place, sum(sizes) >= STREAMED), flat[: len(given)], flat[len(given) :])
        return True
    call = Call(streamed(how, sizes) if text.depth == 1 else how, place)
    if call.code.stop is not None:
        return False
    _write(text, call, [one.pointer for one in given], [one.pointer for one in made])
    return True


def call_rows(text: Text, group: ByRows, read: Arrays, made: Arrays) -> None:
    """Write a call of a group that runs some rows at a time."""
    w = text.w
    pointers = [*[buffer.pointer for buffer, _ in (*read, *made)], *[text.kernel(*one, 0) for one in group.kernels]]
    known = [text.constant(group.plan).pointer, str(len(group.plan)), text.constant(group.moves).pointer, str(len(group.moves))]
    table = w.slot("i64", len(known) + len(pointers))
    for k, one in enumerate([*known, *pointers]):
        w.do(f"store {'i64' if one.isdigit() else 'ptr'} {one}, ptr {text.at(table, (), (), 8 * k)}")
    rows, room = text.kernel(group.code, "rows", 0), text.buffer(Tensor((group.room // 8,), np.dtype(np.int64)))

    def alone() -> None:
        own = w.set(f"ptrtoint ptr {room.pointer} to i64")
        w.do(f"call void {rows}(ptr {table}, i64 0, i64 {group.turns}, i64 {own}, i64 0)")

    _alone_or_shared(text, group, rows, table, alone)
    text.free(room)


def _alone_or_shared(text: Text, call: Call | ByRows, kernel: str, table: str, alone: Callable[[], None]) -> None:
    """Write the call of a kernel on one thread, or on several where it is large."""
    if call.work < GRAIN or not pool.available():
        alone()
    else:
        several = text.w.set("icmp sgt i64 %threads, 1")
        text.w.either(several, lambda: text.share(call, kernel, table), alone)


def _write(text: Text, call: Call, given: Sequence[str], made: Sequence[str]) -> None:
    w, values = text.w, call.table.values
    end = 8 * len(values)
    table = w.slot("i64", len(values) + 2)
    text.copy(text.constant(np.array(values, np.int64)).pointer, table, end)

    def put(at: int, number: str) -> None:
        w.do(f"store i64 {number}, ptr {text.at(table, (), (), at)}")

    def point(at: int, pointer: str, offset: int = 0) -> None:
        put(at, w.set(f"ptrtoint ptr {text.at(pointer, (), (), offset)} to i64"))

    for where, k, offset in call.table.reads:
        point(8 * where, given[k], offset)
    for where, k, offset in call.table.writes:
        point(8 * where, made[k], offset)
    room = None
    if call.tiled:
        room = text.buffer(Tensor((call.rows * call.units, max(call.states, 1)), np.int64))
        point(end, room.pointer)
        put(end + 8, str(call.units))
    kernel = text.kernel(call.code, "kernel", call.work)
    ((first, last, begin, stop),) = call.whole

    def alone() -> None:
        w.do(f"call void {kernel}(ptr {table}, i64 {first}, i64 {last}, i64 {begin}, i64 {stop})")

    _alone_or_shared(text, call, kernel, table, alone)
    if room is not None:
        w.do(f"call void {text.kernel(call.code, 'finish', 0)}(ptr {table}, i64 0, i64 {call.rows}, i64 0, i64 0)")
        text.free(room)
