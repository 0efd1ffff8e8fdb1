"""Running folds by bin: how the elements are cut, where the states lie, which thread does what."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from catad import buffers
from catad.buffers import address
from catad.engine.cpu.bins.text import PassText
from catad.engine.cpu.run import threads
from catad.engine.cpu.run.kernel import Code, code_of, packed
from catad.engine.stages.bins import Bins, Fold, Given

PIECE = 1 << 16  # no piece of the elements is smaller
MOST = 16  # groups of pieces at most
LANES = ((1 << 11, 4), (1 << 13, 2))  # bytes of the states of a piece up to which so many pieces advance together
LINE = 64  # numbers, of a byte or more: a line of a cache is no longer
FULL = 32  # elements of a bin, on average, that a piece of sums adds one after the other
WRITTEN = 1 << 15  # numbers of bins that one call merges at least


class Pass:
    """Folds by bin of the same elements, ready to run in one pass: for each the results (bins, *rest), in the order of
    `what.outs` without those that nobody asked for."""

    def __init__(self, folds: Sequence[Fold], printer: type[PassText] = PassText) -> None:
        self.folds, self.printer = tuple(folds), printer
        self.kept: dict[int, Code] = {}

    def code(self, lanes: int, work: int) -> Code:
        """The machine code, where so many pieces advance together and a call runs so many indices."""
        found = self.kept.get(lanes)
        if found is None:
            found = self.kept[lanes] = code_of(self.printer, self._what(lanes), work)
        return found

    def _what(self, lanes: int) -> tuple[Bins, ...]:
        return tuple([fold.what._replace(lanes=lanes) for fold in self.folds])

    def prepared(self, m: int, widths: Sequence[int]) -> str:
        """Compile for so many elements of so many numbers each; the LLVM text."""
        return self.code(self._cut(m, widths)[1], m).text

    @property
    def seconds(self) -> tuple[float, ...]:
        """The time that compiling took, for each number of lanes that was met."""
        return tuple([code.seconds for code in self.kept.values()])

    def _cut(self, m: int, widths: Sequence[int]) -> tuple[int, int]:
        sizes = [fold.bins * width for fold, width in zip(self.folds, widths, strict=True)]
        held = sum(fold.bytes * size for fold, size in zip(self.folds, sizes, strict=True))
        groups, lanes = cut(m * max(*widths, 1), m, max(sizes), held, any(fold.rounds for fold in self.folds))
        return groups, max(1, lanes // len(sizes))  # several folds hide each other's waits

    def __call__(self, given: Sequence[Given]) -> list[list[Any]]:
        m = len(given[0].index)
        widths = [math.prod(one.rest) for one in given]
        groups, lanes = self._cut(m, widths)
        work = m * max(*widths, 1)
        code = self.code(lanes, work)
        runs = [
            _Run(fold, one, width, -(-m // groups), groups * lanes)
            for fold, one, width in zip(self.folds, given, widths, strict=True)
        ]
        table = packed([number for run in runs for number in run.table])
        parts = [(g, g + 1) for g in range(groups)] if groups <= MOST else threads.chunks(groups, 1, 1)
        code.run("kernel", table, parts, max(work, 1))
        for k, run in enumerate(runs):
            if run.merged:
                code.run(f"merge{k}", table, threads.chunks(run.size, WRITTEN), 0)
        return [[out for out in run.outs if out is not None] for run in runs]


class _Run:
    """The arrays of one fold of a pass, and its part of the table."""

    def __init__(self, fold: Fold, given: Given, width: int, length: int, pieces: int) -> None:
        what = fold.what
        self.size = fold.bins * width
        stride = distance(self.size) if 1 < pieces <= MOST * LANES[0][1] else self.size
        self.outs = [buffers.empty((fold.bins, *given.rest), np.dtype(o)) if o else None for o in what.outs]
        self.states = []
        for out, dtype in zip(self.outs, map(np.dtype, what.states), strict=True):
            own = pieces == 1 and out is not None and out.dtype == dtype
            self.states.append(out if own else buffers.empty((pieces * stride,), dtype))
        self.flags = np.empty(pieces * stride if what.flagged else 0, np.uint8)
        self.merged = any(o is not None and o is not s for o, s in zip(self.outs, self.states, strict=True))
        arrays = [given.index, self.flags, *given.values, *self.states, *self.outs]
        self.table = table_of((len(given.index), width, fold.bins, length, pieces, stride), arrays)


def table_of(numbers: tuple[int, int, int, int, int, int], arrays: Sequence[Any]) -> list[int]:
    """The table of a fold by bin: the numbers of its fields, then where arrays begin, of the indices and flags first."""
    return [*numbers, *[0 if a is None else address(a) for a in arrays]]


def distance(size: int) -> int:
    """The distance from the states of a piece to those of the next, in numbers.

    Threads that write in one line of a cache take it from each other.
    """
    return (size // LINE + 2) * LINE


def cut(work: int, count: int, size: int, held: int, rounds: bool = False) -> tuple[int, int]:
    """Groups of pieces, and pieces that advance together, for so much work, elements, bins and bytes of states.

    They depend on nothing else, so that results do not depend on the number of threads. With `rounds` pieces are short, so that
    few numbers are added one after the other.
    """
    lanes = 1
    if count >= 16 * size and work >= PIECE:
        lanes = next((most for limit, most in LANES if held <= limit), 1)
    groups = min(MOST, work // PIECE, work // (4 * lanes * max(size, 1)))
    if rounds:
        groups = max(groups, work // (FULL * lanes * max(size, 1)))
    groups = max(1, min(groups, count))
    return groups, lanes
