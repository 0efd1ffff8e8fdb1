"""Sums of entries within a whole program: a loop of as many steps as a number says, which adds up in place."""

from __future__ import annotations

from catad.category.cartesian import fork, it, proj
from catad.category.spaces import Product, Tensor, Unit
from catad.category.wiring import Box
from catad.engine.cpu.whole.nested import Loop
from catad.engine.cpu.whole.program import CHANGED, WRITERS
from catad.engine.cpu.whole.text import Arrays, Buffer, Text
from catad.vector.folds.entry_sum import COUNT, GUESS, Summed
from catad.vector.loops.sweep_map import Sweep


class _SumLoop(Loop):
    """The loop of a `Summed`: a sweep without states, whose input is the number of the step."""

    def __init__(self, text: Text, box: Summed, read: Arrays, made: Arrays) -> None:
        n = len(box.dom.leaves)
        self.starts = [buffer for buffer, _ in read[n:]]
        body = fork(it, fork(proj(2), proj(1)) >> box.f, it)
        sums = Product(tuple([space for _, space in made]))
        sweep = Sweep(body, GUESS, Unit, COUNT, Unit, False, box.x, sums)
        super().__init__(text, sweep, [*read[1:n], read[0]], made)
        self.counters = {}

    def begin(self, space: Tensor, goal: Buffer, old: Buffer | None) -> None:
        super().begin(space, goal, self.starts.pop(0) if self.starts else None)

    def input(self, k: int, i: str) -> Buffer:
        own = self.text.buffer(COUNT)
        self.w.do(f"store i64 {i}, ptr {own.pointer}")
        return own


def summed(text: Text, box: Summed, read: Arrays, made: Arrays) -> None:
    """Write a `Summed`."""
    _SumLoop(text, box, read, made).write(text.w.set(f"load i64, ptr {read[0][0].pointer}"))


def _in_place(box: Box) -> dict[int, int]:
    """Where the results of a sum may lie: in the place of what it adds to."""
    assert isinstance(box.primitive, Summed)
    first = len(box.primitive.dom.leaves)
    return {r: first + r for r in range(len(box.outs))} if box.primitive.onto else {}


WRITERS[Summed] = summed
CHANGED[Summed] = _in_place
