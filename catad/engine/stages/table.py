"""The numbers of a call, in the order in which the text of a kernel reads them: sizes, addresses and strides, guards, axes."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from catad.engine.stages.layout import Layout


class Table:
    """The table of a laid-out kernel but for the addresses; `text/places.py` reads it.

    `place` has for each array that is read which one of the arguments it is, -1 for a loop index.
    """

    __slots__ = ("reads", "values", "writes")

    def __init__(self, how: Layout, place: Sequence[int]) -> None:
        self.reads, self.writes = list[tuple[int, int, int]](), list[tuple[int, int, int]]()  # where, of which array, offset
        values = [loop.size for loop in how.loops]
        for j, offset in enumerate(how.offsets):
            where, is_index = len(values), j < len(place) and place[j] < 0
            if j >= len(place):
                self.writes.append((where, j - len(place), offset))
            elif not is_index:
                self.reads.append((where, place[j], offset))
            values += [offset if is_index else 0, *[loop.strides[j] for loop in how.loops]]
        for t, (lo, hi) in enumerate(how.tests):
            values += [lo, *[loop.tests[t] for loop in how.loops], hi]
        for pair in how.indexed:
            values += pair
        self.values = array("q", values)

    def filled(self, arguments: Sequence[int], results: Sequence[int], more: Sequence[int] = ()) -> array[int]:
        """The table for arguments and results at these addresses; `more` ends it."""
        made = self.values[:]
        for where, k, offset in self.reads:
            made[where] = arguments[k] + offset
        for where, k, offset in self.writes[: len(results)]:
            made[where] = results[k] + offset
        made.extend(more)
        return made
