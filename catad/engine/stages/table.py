"""The numbers of a call, in the order in which the text of a kernel reads them: sizes, addresses and strides, guards, axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from catad.engine.stages.layout import Layout


class Table:
    """The table of a laid-out kernel but for the addresses; `text/places.py` reads it.

    `place` has for each array that is read which one of the arguments it is, -1 for a loop index.
    """

    __slots__ = ("bases", "offsets", "place", "values")

    def __init__(self, how: Layout, place: Sequence[int]) -> None:
        self.place, self.offsets = tuple(place), how.offsets
        self.values, self.bases = [loop.size for loop in how.loops], list[int]()
        for j, offset in enumerate(how.offsets):
            self.bases.append(len(self.values))
            is_index = j < len(place) and place[j] < 0
            self.values += [offset if is_index else 0, *[loop.strides[j] for loop in how.loops]]
        for guard in range(how.kernel.body.guards):
            for loop in how.loops:
                self.values += loop.guards[guard] or (0, loop.size)
        for pair in how.indexed:
            self.values += pair

    def filled(self, arguments: Sequence[int], results: Iterable[int], more: Sequence[int] = ()) -> list[int]:
        """The table for arguments and results at these addresses; `more` ends it."""
        made = self.values.copy()
        for j, at in enumerate(self.place):
            if at >= 0:
                made[self.bases[j]] = arguments[at] + self.offsets[j]
        for j, start in enumerate(results, len(self.place)):
            made[self.bases[j]] = start + self.offsets[j]
        made += more
        return made
