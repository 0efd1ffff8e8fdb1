"""LLVM text of the loops around the work: one function a kernel, over a range of rows.

A row is one setting of the outer loops. The innermost loop runs in pieces in which no guard changes, so
that most of it needs no guards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from catad import scalar
from catad.engine.cpu.nests.streaming import BLOCK, VECTOR, settle, stream
from catad.engine.cpu.run.target import SPEED
from catad.engine.stages.body import Sink, Source
from catad.engine.stages.layout import FEW, FOLDS, LANES, LINE, POINTS, Kernel, Layout, folds_alone
from catad.engine.stages.stage import FoldResult
from catad.engine.stages.unswitch import unread
from catad.engine.text.cascade import LEAF, Cascade, Numbers, commute, copy, folded, join, leaves, rounds
from catad.engine.text.element import Element
from catad.engine.text.numbers import memory_type
from catad.engine.text.places import Guarded, Places, is_index, no_state
from catad.scalar import Function
from catad.scalar.printing.llvm_writer import llvm_type

WIDE = 300  # operations of a body from which on it is not made a vector loop: LLVM takes time in the square of its length
METADATA = """!0 = !{}
!1 = !{i32 1}
!2 = distinct !{!2, !3}
!3 = !{!"llvm.loop.vectorize.enable", i1 false}
"""
ROWS = 64  # rows that share the pieces of the innermost loop
WIDTH = 512  # lanes whose states are kept side by side
STATES, ONCE = 8, 128  # of a short row, which are kept side by side; elements that they fold at once, as those of NumPy's sums do


def with_few_states(how: Layout) -> Layout:
    """The layout of folds along short rows with a few states for each row, where elements may be folded in any order."""
    kernel, size = how.kernel, how.loops[-1].size
    short = kernel.kind in (LINE, FOLDS) and STATES <= size < 2 * ONCE and not kernel.tests
    if not short or not folds_alone(kernel.body) or not commute(kernel.body):
        return how
    return how._replace(kernel=kernel._replace(kind=FEW))

State = Callable[[str], Numbers]  # the numbers of a fold's state, of a lane or chain


class Nest(Places):
    """One kernel being written; `entries` are the functions of the module that are called from outside."""

    entries: tuple[str, ...] = ("kernel",)
    bounds = 4  # first row, last row, first index, last index
    level = SPEED
    row = "row"  # the name of the function of a row
    hoists = True  # whether rows share what does not depend on them

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        if sum(scalar.operations(op.data) for op in self.body.ops if isinstance(op.data, Function)) > WIDE:
            self.w.hint = ", !llvm.loop !2"

    @property
    def shifted(self) -> bool:
        """True where addresses in a row are those of its index %b, at whole vectors in memory."""
        return self.kernel.streaming

    # -- the kernel

    def text(self) -> str:
        """The module: `kernel(table, first row, last row, first index, last index)`, and the work on one row, inlined."""
        row = self._row()
        outer = self._outer()
        return self.w.module([row, outer]) + METADATA

    def _outer(self) -> str:
        """The loop over rows: addresses of each row, and the positions that its guards test."""
        inner, self.w = self.w, self.w.beside()
        w = self.w
        sizes = [self.size(k) for k in range(self.kernel.outer)]
        outer = range(self.kernel.outer)
        strides = [[self.stride(j, k) for k in outer] for j in range(len(self.arrays))]
        bases = [self.base(j) for j in range(len(self.arrays))]

        def row(unit: str, own: Sequence[str] = ()) -> None:
            r, more = self._unit(unit)
            more = [*own] or more
            index = self.decoded(r, sizes)
            given = ["ptr %t", *more]
            for j, array in enumerate(self.arrays):
                at = bases[j]
                for k in outer:
                    at = w.set(f"add i64 {at}, {w.set(f'mul i64 {strides[j][k]}, {index[k]}')}")
                if self.shifted:
                    at = w.set(f"add i64 {at}, {w.set(f'mul i64 {self.stride(j, self.loops - 1)}, %b')}")
                given.append(f"i64 {at}" if is_index(array) else f"ptr {w.set(f'inttoptr i64 {at} to ptr')}")
            given += [f"i64 {position}" for position in self.positions(index)]
            w.do(f"call void @row({', '.join(given)})")

        if self._hoisted:
            with w.each("%first", "%last", ROWS) as start:
                stop = w.least(w.set(f"add i64 {start}, {ROWS}"), "%last")

                def piece(begin: str, end: str, free: str, holds: Sequence[str]) -> None:
                    own = [f"i64 {begin}", f"i64 {end}", *[f"i1 {one}" for one in (free, *holds)]]
                    w.loop(start, stop, lambda unit: row(unit, own))

                self._pieces("%b", "%e", self.positions(["0"] * self.kernel.outer), piece)
        else:
            w.loop("%first", "%last", row)
        if self.kernel.streaming:
            settle(w)
        text = w.text("kernel", "ptr noalias readonly %t, i64 %first, i64 %last, i64 %b, i64 %e")
        self.w = inner
        return text

    def _unit(self, unit: str) -> tuple[str, list[str]]:
        """The row of a unit of work, and what the function of a row is told besides."""
        if self.shifted:  # addresses are those of index %b, so that a loop from 0 is known to be aligned
            return unit, ["i64 0", f"i64 {self.w.set('sub i64 %e, %b')}"]
        return unit, ["i64 %b", "i64 %e"]

    def _row(self) -> str:
        kinds = {POINTS: self._points, LINE: self._line, LANES: self._lanes, FEW: self._few}
        kinds[self.kernel.kind]()
        flags = ["i1 %free", *[f"i1 %h{guard}" for guard in self.guards]] if self._hoisted else []
        return self._row_text("i64 %b", "i64 %e", *flags)

    def _row_text(self, *more: str) -> str:
        given = ["ptr noalias readonly %t", *more]
        for j, array in enumerate(self.arrays):
            given.append(f"i64 %a{j}" if is_index(array) else f"ptr {self._apart(j)} {self._aligned(array)} %a{j}")
        given += [f"i64 {position}" for position in self._positions]
        return self.w.text(self.row, ", ".join(given), "internal", "alwaysinline")

    def _apart(self, j: int) -> str:
        """What LLVM is told of an array: that no other one overlaps it."""
        return "noalias"

    def _aligned(self, array: Source | Sink) -> str:
        return f"align {VECTOR}" if self.shifted and isinstance(array, Sink) else ""

    @property
    def _positions(self) -> list[str]:
        """The positions of the tests at a row, which its function is given."""
        return [f"%q{t}" for t in self.tests]

    def _split(self, begin: str, end: str, positions: Sequence[str], part: Callable[[str, str, Guarded], None]) -> None:
        """Run a range of the innermost loop in pieces; where all guards hold but the rare ones, the code needs none."""

        def either(start: str, stop: str, free: str, holds: Sequence[str]) -> None:
            self.w.either(free, lambda: part(start, stop, False), lambda: part(start, stop, holds))

        if not self.guards:
            part(begin, end, False)
        elif self._hoisted:
            either(begin, end, "%free", [f"%h{guard}" for guard in self.guards])
        else:
            self._pieces(begin, end, positions, either)

    def _pieces(
        self, begin: str, end: str, positions: Sequence[str], piece: Callable[[str, str, str, Sequence[str]], None]
    ) -> None:
        """The pieces of a range in which each guard holds everywhere or nowhere, whether they need no guards, and which hold."""
        w = self.w
        ends = [one for interval in self.intervals(positions) for one in interval]

        with w.onwards(begin, end) as (start, at):
            stop = end
            for one in ends:
                ahead = w.set(f"icmp sgt i64 {one}, {start}")
                stop = w.least(stop, w.set(f"select i1 {ahead}, i64 {one}, i64 {end}"))
            holds = [self.inside(positions, start, guard) for guard in self.guards]
            free = "true"
            for guard, one in enumerate(holds):
                usual = w.set(f"xor i1 {one}, true") if guard in self.kernel.rare else one
                free = w.set(f"and i1 {free}, {usual}")
            piece(start, stop, free, holds)
            w.do(f"store i64 {stop}, ptr {at}")

    @property
    def _hoisted(self) -> bool:
        """True where guards do not depend on the row, so that the pieces are found once for many rows."""
        alike = all(course[:-1].strip("z") == "" for _, course in self.kernel.tests)
        return self.hoists and alike and bool(self.guards) and self.kernel.kind == POINTS and self.kernel.outer > 0

    # -- the kinds of nest

    def _points(self) -> None:
        """No states: the innermost loop from %b to %e."""
        loop = self.loops - 1
        strides, bases = self.inner_strides(loop), [f"%a{j}" for j in range(len(self.arrays))]
        positions = self._positions

        buffers = self._buffers() if self.kernel.streaming else {}

        def element(i: str, guarded: Guarded, start: str = "") -> Element:
            made = self.element(i, bases, strides, positions, guarded, no_state)
            if start:
                direct, at = made.pointer, self.w.set(f"sub i64 {i}, {start}")
                made.pointer = lambda j: self._gep(j, buffers[j], at) if j in buffers else direct(j)
            return made

        def block(begin: str, end: str) -> None:
            self.w.loop(begin, end, lambda i: element(i, False, begin).run(False))

        def part(begin: str, end: str, guarded: Guarded) -> None:
            self.w.loop(begin, end, lambda i: element(i, guarded).run(False))

        def whole() -> None:
            if self.kernel.streaming:
                self._streamed(block, buffers)
            else:
                self._split("%b", "%e", positions, part)

        self.sides(lambda: element("0" if self.kernel.streaming else "%b", False), whole)

    def _buffers(self) -> dict[int, str]:
        """Buffers for a block of each result: the loop writes there before streaming stores write the block to memory."""
        first = len(self.body.sources)
        kinds = {j: memory_type(np.dtype(array.dtype)) for j, array in enumerate(self.arrays) if j >= first}
        return {j: self.w.slot(kind, BLOCK) for j, kind in kinds.items()}

    def _gep(self, j: int, base: str, at: str) -> str:
        return self.w.set(f"getelementptr inbounds {memory_type(np.dtype(self.arrays[j].dtype))}, ptr {base}, i64 {at}")

    def _streamed(self, block: Callable[[str, str], None], buffers: dict[int, str]) -> None:
        """The blocks of the row, each computed into a buffer and then written by streaming stores."""
        w = self.w
        with w.each("0", "%e", BLOCK) as start:
            stop = w.least(w.set(f"add i64 {start}, {BLOCK}"), "%e")
            block(start, stop)
            count = w.set(f"sub i64 {stop}, {start}")
            for j, base in buffers.items():
                if j - len(self.body.sources) not in unread(self.body):
                    size = w.set(f"mul i64 {count}, {np.dtype(self.arrays[j].dtype).itemsize}")
                    stream(w, self._gep(j, f"%a{j}", start), base, size)

    def _line(self) -> None:
        """States along the innermost loop, in stack slots; the first step by itself."""
        w, loop = self.w, self.loops - 1
        n = self.size(loop)
        strides, bases = self.inner_strides(loop), [f"%a{j}" for j in range(len(self.arrays))]
        positions = self._positions
        states = self.slots()

        def state(k: int, i: int) -> str:
            return states[k, i][0]

        def element(i: str, guarded: Guarded, first: bool = False, anew: bool = False) -> None:
            self.element(i, bases, strides, positions, guarded, state).run(first, anew)

        long = rounds(self.body) and not (n.isdigit() and int(n) <= LEAF)  # lengths of a whole program are known
        cascade = Cascade(w, self.body, 1, lambda lane: state) if long else None

        def part(begin: str, end: str, guarded: Guarded) -> None:
            if cascade is None:
                w.loop(begin, end, lambda i: element(i, guarded))
                return

            with leaves(w, begin, end) as (start, stop):
                self._next_leaf(cascade, start, begin)
                element(start, guarded, anew=True)
                w.loop(w.set(f"add i64 {start}, 1"), stop, lambda i: element(i, guarded))

        if cascade is not None and folds_alone(self.body) and not self.guards and n.isdigit():
            part("0", n, False)
        else:
            element("0", True, first=True)
            begun = "1"
            if cascade is not None and not self.guards:
                begun = w.least(n, str(LEAF))
                w.loop("1", begun, lambda i: element(i, False))
            self._split(begun, n, positions, part)
        if cascade is not None:
            cascade.total()
        self._store_folds(state, lambda j: bases[j])

    def _lanes_of(self, width: int) -> State:
        """States of folds side by side, which LLVM reads and writes as vectors."""
        w = self.w
        rooms = {(k, i): (w.slot(llvm_type(dtype), width), llvm_type(dtype)) for k, i, dtype in folded(self.body)}
        return lambda at: lambda k, i: w.set(f"getelementptr inbounds {rooms[k, i][1]}, ptr {rooms[k, i][0]}, i64 {at}")

    def _few(self) -> None:
        """Folds along the innermost loop, which is short, in the order of NumPy's sums of contiguous rows.

        `STATES` states side by side fold elements that far from each other and are joined, neighbours first; the last elements
        follow one by one. Rows of more than `ONCE` elements are folded in two parts.
        """
        w, loop = self.w, self.loops - 1
        strides, bases = self.inner_strides(loop), [f"%a{j}" for j in range(len(self.arrays))]
        state = self._lanes_of(STATES)
        totals = {(k, i): w.slot(llvm_type(dtype)) for k, i, dtype in folded(self.body)}

        def total(k: int, i: int) -> str:
            return totals[k, i]

        def element(i: str, lane: str, first: bool = False) -> None:
            self.element(i, bases, strides, [], False, state(lane)).run(first)

        def block(start: str, first: bool = False) -> None:
            w.loop("0", str(STATES), lambda lane: element(w.set(f"add i64 {start}, {lane}"), lane, first))

        n = self.size(loop)
        long = w.set(f"icmp sgt i64 {n}, {ONCE}")
        half = w.set(f"lshr i64 {n}, 1")
        cut = w.set(f"select i1 {long}, i64 {w.set(f'and i64 {half}, {-STATES}')}, i64 {n}")
        with w.each("0", w.set(f"select i1 {long}, i64 2, i64 1")) as k:
            first = w.set(f"icmp eq i64 {k}, 0")
            begin, end = (w.set(f"select i1 {first}, i64 {a}, i64 {b}") for a, b in (("0", cut), (cut, n)))
            whole = w.set(f"and i64 {w.set(f'sub i64 {end}, {begin}')}, {-STATES}")
            last = w.set(f"add i64 {begin}, {whole}")
            block(begin, True)
            w.loop(w.set(f"add i64 {begin}, {STATES}"), last, block, STATES)
            for gap in (1, 2, 4):
                for lane in range(0, STATES, 2 * gap):
                    join(w, self.body, state(str(lane)), state(str(lane + gap)), state(str(lane)))
            w.loop(last, end, lambda i: element(i, "0"))
            w.either(first, lambda: copy(w, self.body, state("0"), total), lambda: join(w, self.body, total, state("0"), total))
        self._store_folds(total, lambda j: bases[j])

    def _lanes(self) -> None:
        """States along the last but one loop, for many indices of the innermost at once."""
        w, axis, lane = self.w, self.loops - 2, self.loops - 1
        n = self.size(axis)
        strides = self.inner_strides(lane)
        along = [self.stride(j, axis) for j in range(len(self.arrays))]
        rooms = self.slots(WIDTH)

        def state(at: str) -> Callable[[int, int], str]:
            return lambda k, j: w.set(f"getelementptr inbounds {rooms[k, j][1]}, ptr {rooms[k, j][0]}, i64 {at}")

        with w.each("%b", "%e", WIDTH) as start:
            stop = w.least(w.set(f"add i64 {start}, {WIDTH}"), "%e")
            count = w.set(f"sub i64 {stop}, {start}")

            def states(i: str) -> Callable[[int, int], str]:
                return state(w.set(f"sub i64 {i}, {start}"))

            def step(s: str, first: bool = False, anew: bool = False) -> None:
                bases, positions = self._at_step(s, [f"%a{j}" for j in range(len(self.arrays))], self._positions, along, axis)

                def part(begin: str, end: str, guarded: Guarded) -> None:
                    with w.each(begin, end) as i:
                        self.element(i, bases, strides, positions, guarded, states(i)).run(first, anew)

                self._split(start, stop, positions, part)

            cascade = Cascade(w, self.body, WIDTH, state, lambda: w.each("0", count)) if rounds(self.body) else None
            self._along(n, step, cascade)
            if any(isinstance(sink.value, FoldResult) for sink in self.body.sinks):
                with w.each(start, stop) as i:
                    self._store_folds(states(i), lambda j: self.address(j, f"%a{j}", i, strides[j]))
