"""Some rows of a group at a time, a turn: how its stages lie over them, and how the numbers of a call go on with each row.

Where a turn begins only moves the addresses of arrays, the first numbers of loop indices and the positions of guards: entries of
the table of a stage, which all go on by as much with each row. What the stages exchange has the rows of one turn alone.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

from catad.engine.stages.access import Access, along, moved
from catad.engine.stages.group import Rows
from catad.engine.stages.layout import Layout, Place, Ready, layout
from catad.engine.stages.table import Table
from catad.spaces import Tensor


class Turn(NamedTuple):
    """A stage over the rows of the first turn: its layout, which array each read is of (-1: a loop index), and by how much each
    entry of its table, and each array, goes on with a row."""

    how: Layout
    place: tuple[int, ...]
    moves: tuple[int, ...]
    strides: tuple[int, ...]

    def numbers(self) -> array[int]:
        """The table of the first turn for arrays that all begin at 0."""
        return _numbers(self.how, self.place)


def rooms(rows: Rows, size: int) -> list[Tensor]:
    """The spaces of what the stages exchange in a turn of so many rows."""
    found = []
    for space, axis in zip(rows.between, rows.axes, strict=True):
        found.append(Tensor((*space.shape[:axis], size, *space.shape[axis + 1 :]), space.dtype))
    return found


def turns(rows: Rows, size: int, strides: Sequence[Sequence[int]]) -> list[Turn] | None:
    """The stages of a group over turns of so many rows, whose arguments and results have these strides, and what they exchange
    those of C order; None where one of them cannot be laid out, or not every turn as the first."""
    given = [*strides, *[_strides(room) for room in rooms(rows, size)]]
    made = []
    for stage, loop, numbers in zip(rows.stages, rows.loops, rows.arrays, strict=True):
        own = [given[k] if k >= 0 else (1,) for k in numbers]
        fixed = [k >= len(strides) for k in numbers]
        first, second = (layout(_at_row(stage, loop, size, row, fixed), own) for row in range(2))
        if first is None or second is None or first.kernel != second.kernel:
            return None
        place = tuple(numbers[: len(stage.reads)])
        entries = zip(_numbers(first, place), _numbers(second, place), strict=True)
        offsets = zip(first.offsets, second.offsets, strict=True)
        made.append(Turn(first, place, tuple([b - a for a, b in entries]), tuple([b - a for a, b in offsets])))
    return made


def _numbers(how: Layout, place: Sequence[int]) -> array[int]:
    return Table(how, place).filled([0] * (1 + max(place, default=0)), [0] * len(how.kernel.body.sinks))


def _at_row(stage: Ready, loop: int, size: int, row: int, fixed: Sequence[bool]) -> Ready:
    """A stage over some rows from one on; what is `fixed` has these rows alone."""
    at = [along(k, row if k == loop else 0) for k in range(len(stage.shape))]

    def place(one: Place, still: bool) -> Place:
        access = moved(one.access, at)
        return one._replace(access=Access(one.access.axes, access.guards, access.fill) if still else access)

    shape = tuple([size if k == loop else n for k, n in enumerate(stage.shape)])
    places = [place(one, still) for one, still in zip((*stage.reads, *stage.writes), fixed, strict=True)]
    return stage._replace(shape=shape, reads=tuple(places[: len(stage.reads)]), writes=tuple(places[len(stage.reads) :]))


def _strides(space: Tensor) -> tuple[int, ...]:
    """The strides of an array in C order."""
    found = [space.dtype.itemsize]
    for n in reversed(space.shape[1:]):
        found.append(found[-1] * n)
    return tuple(reversed(found[: len(space.shape)]))
