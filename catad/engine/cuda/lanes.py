"""Scans, recurrences and folds of many lines on a GPU: a thread takes a line from its beginning to its end.

Where the lines are beside each other in memory (LANES), the threads of a warp read neighbouring numbers at each step. Sums are
folded in a cascade (`text/cascade.py`), in the order of the CPU, so results have the bits of the CPU engine.
"""

from __future__ import annotations

from collections.abc import Callable

from catad.engine.cuda.maps import Points
from catad.engine.stages.layout import LANES
from catad.engine.text.cascade import Cascade, rounds


class Lanes(Points):
    """The kernel of lines, one to a thread."""

    threads = 64  # few, so that few lines are spread over many processors

    def over(self, share: Callable[[], tuple[str, str]]) -> None:
        """The lines of a thread: `share` writes the number of its first one, and how far those behind it lie apart."""
        w = self.w
        outer = [self.size(k) for k in range(self.kernel.outer)]
        many = self.size(self.loops - 1) if self.kernel.kind == LANES else "1"
        every = self._all(many, outer)
        states = self.slots()
        mine, together = share()
        with w.each(mine, every, together) as u, w.where(self._asked(u)):
            row, lane = (u, "") if many == "1" else (w.set(f"udiv i64 {u}, {many}"), w.set(f"urem i64 {u}, {many}"))
            index = self.decoded(row, outer)
            self._line(lane, self._bases(index), self.positions(index), lambda k, i: states[k, i][0])

    def _asked(self, u: str) -> str:
        """True where a line is to be gone through."""
        return "true"

    def _line(self, lane: str, bases: list[str], positions: list[str], state: Callable[[int, int], str]) -> None:
        axis, loop = self.loops - 1 - bool(lane), self.loops - 1
        strides, along = self.inner_strides(loop), [self.stride(j, axis) for j in range(len(self.arrays))]

        def step(s: str, first: bool = False, anew: bool = False) -> None:
            here, there = self._at_step(s, bases, positions, along, axis) if lane else (bases, positions)
            self.element(lane or s, here, strides, there, bool(self.guards), state).run(first, anew)

        cascade = Cascade(self.w, self.body, 1, lambda lane: state) if rounds(self.body) else None
        self._along(self.size(axis), step, cascade)
        self._store_folds(state, lambda j: self.address(j, bases[j], lane, strides[j]) if lane else bases[j])
