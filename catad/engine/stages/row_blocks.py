"""Some rows of a group at a time, a turn: how its stages lie over them, and how the numbers of a call go on with each row.

Where a turn begins only moves the addresses of arrays, the first numbers of loop indices and the positions of guards: entries of
the table of a stage, which all go on by as much with each row. What the stages exchange has the rows of one turn alone.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from catad.category.spaces import Tensor
from catad.engine.stages.access import Access, along, moved
from catad.engine.stages.group import Along, Rows
from catad.engine.stages.layout import Layout, Place, Ready, layout, strides_of
from catad.engine.stages.table import Table


class Turn(NamedTuple):
    """A stage over the rows of the first turn: its layout, which array each read is of (-1: a loop index), and by how much each
    entry of its table, and each array, goes on with a row, for the rows of each way."""

    how: Layout
    place: tuple[int, ...]
    moves: tuple[tuple[int, ...], ...]
    strides: tuple[tuple[int, ...], ...]

    def numbers(self) -> array[int]:
        """The table of the first turn for arrays that all begin at 0."""
        return _numbers(self.how, self.place)


def rooms(rows: Rows, ways: Sequence[Along], size: int) -> list[Tensor]:
    """The spaces of what the stages exchange in a turn: so many rows of the last way, within one row of each other one."""
    found = []
    for k, space in enumerate(rows.between):
        sizes = {way.axes[k]: 1 for way in ways[:-1]} | {ways[-1].axes[k]: size}
        found.append(Tensor(tuple([sizes.get(axis, n) for axis, n in enumerate(space.shape)]), space.dtype))
    return found


def turns(rows: Rows, ways: Sequence[Along], size: int, strides: Sequence[Sequence[int]]) -> list[Turn] | None:
    """The stages of a group over turns of so many rows of the last way, within one row of each other one.

    Arguments and results have these strides, and what the stages exchange has those of C order. None where a stage cannot be
    laid out, or not every turn as the first.
    """
    given = [*strides, *[strides_of(room) for room in rooms(rows, ways, size)]]
    made = []
    for g, (stage, numbers) in enumerate(zip(rows.stages, rows.arrays, strict=True)):
        own = [given[k] if k >= 0 else (1,) for k in numbers]
        fixed = [k >= len(strides) for k in numbers]
        sizes = {way.loops[g]: 1 for way in ways[:-1]} | {ways[-1].loops[g]: size}
        first = layout(_at_rows(stage, sizes, {}, fixed), own)
        if first is None:
            return None
        place = tuple(numbers[: len(stage.reads)])
        moves, steps = list[tuple[int, ...]](), list[tuple[int, ...]]()
        for way in ways:
            next_ = layout(_at_rows(stage, sizes, {way.loops[g]: 1}, fixed), own)
            if next_ is None or next_.kernel != first.kernel:
                return None
            entries = zip(_numbers(first, place), _numbers(next_, place), strict=True)
            moves.append(tuple([b - a for a, b in entries]))
            steps.append(tuple([b - a for a, b in zip(first.offsets, next_.offsets, strict=True)]))
        made.append(Turn(first, place, tuple(moves), tuple(steps)))
    return made


def _numbers(how: Layout, place: Sequence[int]) -> array[int]:
    return Table(how, place).filled([0] * (1 + max(place, default=0)), [0] * len(how.kernel.body.sinks))


def _at_rows(stage: Ready, sizes: Mapping[int, int], rows: Mapping[int, int], fixed: Sequence[bool]) -> Ready:
    """A stage over so many rows along some loops, from a row on along each; what is `fixed` has these rows alone."""
    at = [along(k, rows.get(k, 0)) for k in range(len(stage.shape))]

    def place(one: Place, still: bool) -> Place:
        access = moved(one.access, at)
        return one._replace(access=Access(one.access.axes, access.guards, access.fill) if still else access)

    shape = tuple([sizes.get(k, n) for k, n in enumerate(stage.shape)])
    places = [place(one, still) for one, still in zip((*stage.reads, *stage.writes), fixed, strict=True)]
    return stage._replace(shape=shape, reads=tuple(places[: len(stage.reads)]), writes=tuple(places[len(stage.reads) :]))
