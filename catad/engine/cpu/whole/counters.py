"""Inputs of a loop that count its steps: constant progressions, such as the numbers of a `range`.

Such a number is computed from the index of the loop, not read, and the length of the loop is written into the text. So LLVM knows
between which bounds an index lies, and how far apart two indices are: it leaves out checks, and keeps in a register what the
next step reads of what this one has written. Another length is another text then. So loops that take few steps read the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from catad.category.boxes import Nesting
from catad.category.wiring import Wiring
from catad.engine.cpu.whole.text import Buffer, Text
from catad.engine.program import program_of
from catad.linear.families.clear import ClearedAt
from catad.linear.families.gather import Gathered, ScatterAdded
from catad.scalar.printing.llvm import LONG
from catad.vector.indexing.flat_index import FlatIndex
from catad.vector.indexing.gather import InRange
from catad.vector.indexing.overwrite import AddedAt, OverwrittenAt

FAR = 1 << 48  # no number of a progression is as far from zero, so that no sum with it overflows
INDEXED = (FlatIndex, InRange, Gathered, ScatterAdded, OverwrittenAt, AddedAt, ClearedAt, Nesting)


def counters(text: Text, body: Wiring, inputs: Sequence[Buffer], n: int) -> dict[int, tuple[int, int]]:
    """The inputs of n steps that are progressions: first number and step. None where no step indexes anything, or few do."""
    if n < 2 or text.times * n * _turns(body) <= LONG or not any(isinstance(box.primitive, INDEXED) for box in body.boxes):
        return {}
    found = {k: _progression(text.known(buffer), n) for k, buffer in enumerate(inputs)}
    return {k: one for k, one in found.items() if one is not None}


def _turns(wiring: Wiring) -> int:
    """The steps of the longest loops within each other that a wiring runs once."""
    found = 1
    for box in wiring.boxes:
        if isinstance(box.primitive, Nesting):
            for n, term, dom in box.primitive.programs():
                found = max(found, n * _turns(program_of(term, dom)[0].wiring))
    return found


def _progression(row: np.ndarray | None, n: int) -> tuple[int, int] | None:
    if row is None or row.shape != (n,) or row.dtype != np.int64:
        return None
    start, end = int(row[0]), int(row[-1])
    step = int(row[1]) - start
    if max(abs(start), abs(end)) >= FAR or end - start != step * (n - 1) or not np.all(np.diff(row) == step):
        return None
    return start, step


def count(text: Text, i: str, progression: tuple[int, int], n: int) -> Buffer:
    """The number of step i of n."""
    w, (start, step) = text.w, progression
    here, inside = Buffer(w.slot("i64"), 8), w.set(f"icmp ult i64 {i}, {n}")
    w.support["assume"] = "declare void @llvm.assume(i1)"
    w.do(f"call void @llvm.assume(i1 {inside})")
    moved = w.set(f"mul nsw i64 {i}, {step}")
    w.do(f"store i64 {w.set(f'add nsw i64 {moved}, {start}')}, ptr {here.pointer}")
    return here
