"""Arrays into which the steps of a loop only write, each step at indices of its own.

    for i in range(n): y[i] = f(x[i])           the steps do not depend on each other: all run at once

Such an array is no state. What the steps write is stacked, and written after the loop at the indices of all steps. A step may
also read the array where it writes, since no other step has changed it there. That the indices of two steps differ is proved,
from the numbers of the loop's counters; it is never assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from catad.category.wiring import Box, Builder, Wire, Wiring
from catad.linear.families.gather import Gathered, Indexing
from catad.linear.families.reindex import Reshaped
from catad.vector.indexing.flat_index import FlatIndex
from catad.vector.indexing.overwrite import OverwrittenAt
from catad.vector.indexing.static_indices import overwritten_at


class Write(NamedTuple):
    """A part of the state that a step only writes into: the wires of the index and of the values, and the boxes of the way from
    the state before the step to that after it, of which `box` writes."""

    at: int
    values: int
    box: Box
    way: tuple[Box, ...]

    @property
    def made(self) -> set[int]:
        """The wires of the array on that way."""
        return {k for box in self.way for k in box.outs}


def write_of(wiring: Wiring, start: int, end: int) -> Write | None:
    """How a step writes into a part of the state; None where it does anything else with it."""
    maker = {k: box for box in wiring.boxes for k in box.outs}
    way: list[Box] = []
    found: Box | None = None
    at = end
    while at != start:
        box = maker.get(at)
        if box is not None and isinstance(box.primitive, Reshaped):
            at = box.ins[0]
        elif box is not None and isinstance(box.primitive, OverwrittenAt) and found is None:
            found, at = box, box.ins[1]
        else:
            return None
        way.append(box)
    if found is None:
        return None
    write = Write(found.ins[0], found.ins[2], found, tuple(way[::-1]))
    own = {start, *write.made}
    others = [box for box in wiring.boxes if box not in write.way and not own.isdisjoint(box.ins)]
    given = wiring.outputs.count(end) > 1 or not own.isdisjoint([k for k in wiring.outputs if k != end])
    return None if given or not all(_reads_there(box, write) for box in others) else write


def _reads_there(box: Box, write: Write) -> bool:
    """Whether a box reads the array, as it was before the step, at the indices at which the step writes."""
    if not isinstance(box.primitive, Gathered) or box.ins != write.box.ins[:2]:
        return False
    ours, theirs = box.primitive.how, write.box.primitive.how  # type: ignore[attr-defined]
    return bool(ours[:3] == theirs[:3] and ours.sizes == theirs.sizes)


def are_apart(wiring: Wiring, index: int, numbers: Callable[[int], Any]) -> bool:
    """Whether each step writes at other indices; `numbers` gives the known integers of a wire, an axis for the steps first.

    A flat index differs where the index along one of its axes does; each counts from the end of its axis where it is negative.
    """
    maker = {k: box for box in wiring.boxes for k in box.outs}
    box = maker.get(index)
    if box is None or not isinstance(box.primitive, FlatIndex):
        return False
    sizes = [axis.size for axis in box.primitive.axes if axis.kind == "argument"]
    return any(_differ(numbers(k), size) for k, size in zip(box.ins, sizes, strict=True))


def _differ(steps: Any, size: int) -> bool:
    """Whether no number of one step is one of another step, modulo a size."""
    if steps is None or size == 0 or not steps.size:
        return False
    rows = np.sort((steps % size).reshape(len(steps), -1), axis=1)
    each = int((rows[:, 1:] != rows[:, :-1]).sum()) + len(rows)
    whole = np.sort(rows, axis=None)  # `np.unique` takes a hundred times as long
    return bool((whole[1:] != whole[:-1]).sum() + 1 == each)


def written(b: Builder, write: Write, state: Wire, index: Wire, values: Wire, n: int) -> Wire:
    """The array after n steps, from the indices and the values of all of them."""
    made = state
    for box in write.way:
        if box is write.box:
            made = overwritten_at(b, _stacked(box.primitive.how, n), index, made, values)  # type: ignore[attr-defined]
        else:
            (made,) = b.add(box.primitive, made)
    return made


def _stacked(how: Indexing, n: int) -> Indexing:
    """The indexing of the indices and values of n steps."""
    new = len(how.sizes)
    return Indexing(how.src, how.axis, (new, *how.by), (new, *how.dst), (*how.sizes, n))


def writes_of(wiring: Wiring, states: Sequence[tuple[int, int]]) -> dict[int, Write] | None:
    """How a step writes into each of these parts of the state, before and after the step; None where it does more with one."""
    found = {start: write_of(wiring, start, end) for start, end in states}
    made = {start: write for start, write in found.items() if write is not None}
    return made if len(made) == len(states) else None
