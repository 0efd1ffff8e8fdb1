"""Scans, recurrences and folds of many lines on a GPU: a thread takes a line from its beginning to its end.

Where the lines are beside each other in memory (LANES), the threads of a warp read neighbouring numbers at each step. Sums are
folded in a cascade (`text/cascade.py`), in the order of the CPU, so results have the bits of the CPU engine.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from catad.engine.cuda.points import Points
from catad.engine.stages.body import state_dtypes
from catad.engine.stages.layout import LANES
from catad.engine.stages.stage import FoldResult
from catad.engine.text.cascade import LEAF, Cascade, leaves, rounds
from catad.engine.text.numbers import store
from catad.engine.text.places import is_index
from catad.scalar.llvm_writer import llvm_type


class Lanes(Points):
    """The kernel of lines, one to a thread."""

    threads = 64  # few, so that few lines are spread over many processors

    def text(self) -> str:
        """The module: `kernel(table, pointers)`."""
        self.over(self.simt.everywhere)
        return self._module()

    def over(self, share: Callable[[], tuple[str, str]]) -> None:
        """The lines of a thread: `share` writes the number of its first one, and how far those behind it lie apart."""
        w = self.w
        outer = [self.size(k) for k in range(self.kernel.outer)]
        many = self.size(self.loops - 1) if self.kernel.kind == LANES else "1"
        every = many
        for size in outer:
            every = w.set(f"mul nsw i64 {every}, {size}")
        states = {
            (k, i): w.slot(llvm_type(dtype))
            for k, op in enumerate(self.body.ops)
            for i, dtype in enumerate(state_dtypes(self.body, op))
        }
        mine, together = share()

        def line(u: str) -> None:
            row, lane = (u, "") if many == "1" else (w.set(f"udiv i64 {u}, {many}"), w.set(f"urem i64 {u}, {many}"))
            index = self.decoded(row, outer)
            self._line(lane, self._bases(index), self.positions(index), lambda k, i: states[k, i])

        def asked(u: str) -> None:
            w.when(self._asked(u), lambda: line(u))

        w.loop(mine, every, asked, together)

    def _asked(self, u: str) -> str:
        """True where a line is to be gone through."""
        return "true"

    def _line(self, lane: str, bases: list[str], positions: list[str], state: Callable[[int, int], str]) -> None:
        axis, loop = self.loops - 1 - bool(lane), self.loops - 1
        strides, along = self.inner_strides(loop), [self.stride(j, axis) for j in range(len(self.arrays))]

        def step(s: str, first: bool = False, anew: bool = False) -> None:
            here, there = self._at_step(s, bases, positions, along, axis) if lane else (bases, positions)
            self.element(lane or s, here, strides, there, bool(self.guards), state).run(first, anew)

        self._along(self.size(axis), step, state)
        for j, sink in enumerate(self.body.sinks):
            if isinstance(sink.value, FoldResult):
                at, dtype = len(self.body.sources) + j, np.dtype(sink.dtype)
                value = self.w.set(f"load {llvm_type(dtype)}, ptr {state(sink.value.op, sink.value.part)}")
                store(self.w, value, self.address(at, bases[at], lane, strides[at]) if lane else bases[at], dtype)

    def _along(self, n: str, step: Callable[..., None], state: Callable[[int, int], str]) -> None:
        """All steps; sums in leaves that a cascade joins."""
        w = self.w
        if not rounds(self.body):
            step("0", first=True)
            w.loop("1", n, step)
            return
        cascade, begin = Cascade(w, self.body, 1, lambda lane: state, lambda lane: lane("0")), "0"
        if any(op.kind not in ("map", "fold") for op in self.body.ops):
            step("0", first=True)
            begin = w.least(n, str(LEAF))
            w.loop("1", begin, step)

        def leaf(start: str, stop: str) -> None:
            if begin == "0":
                w.when(w.set(f"icmp ne i64 {start}, 0"), cascade.push)
            else:
                cascade.push()
            step(start, anew=True)
            w.loop(w.set(f"add i64 {start}, 1"), stop, step)

        leaves(w, begin, n, leaf)
        cascade.total()

    def _at_step(
        self, s: str, bases: list[str], positions: list[str], along: list[str], axis: int
    ) -> tuple[list[str], list[str]]:
        """Addresses at a step of the axis, and within which lanes the guards hold there."""
        w, here = self.w, []
        for j, array in enumerate(self.arrays):
            far = w.set(f"mul i64 {along[j]}, {s}")
            here.append(
                w.set(f"add i64 {bases[j]}, {far}" if is_index(array) else f"getelementptr i8, ptr {bases[j]}, i64 {far}")
            )
        return here, self.positions_at(positions, axis, s)
