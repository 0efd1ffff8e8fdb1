"""Which thread stores into each cell, at indices that may be equal: two threads that meet in a cell are a race.

Every call looks for it, since the data of the call decide. Positions are those of all threads in linear order, trip after trip.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from catad import errors
from catad.category.boxes import Primitive, box
from catad.category.spaces import Tensor
from catad.simt.thread_axes import Lanes
from catad.support.current_engine import every_call
from catad.vector.indexing.gather import LastWriter

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


class Stored(NamedTuple):
    """A store: its array, the shape of that with axes of blocks in front, how many axes are its own, and the place in the file.

    Or another access ("read", "store", "atomic") that may meet the store at the place `other`.
    """

    lanes: Lanes
    array: str
    shape: tuple[int, ...]
    own: int
    where: str
    kind: str = "store"
    other: str = ""

    @property
    def threads(self) -> int:
        """How many positions in a row are those of different threads; 0 for all of them."""
        trips = self.lanes.trips
        return 0 if not trips else trips[0].step if trips[0].of else math.prod(self.lanes.sizes[1:])

    def error(self, cell: int, *positions: int) -> errors.ScalarError:
        """The error of threads at some positions that store into one cell."""
        index = [int(k) for k in np.unravel_index(cell, self.shape)][len(self.shape) - self.own :]
        threads = [f" by thread {self.lanes.named(self.lanes.place(k))}" for k in positions] + [" by another one"]
        said = [f"{self.kind}{threads[0]} at {self.where}", f"store{threads[1]} at {self.other or self.where}"]
        return errors.ScalarError(errors.race(self.array, index, said, None, bool(self.other)))


@box
class OneWriter(Primitive):
    """A `LastWriter` of the stores of one statement; raises where two threads store into one cell."""

    writer: LastWriter
    stored: Stored
    arity = 1

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return self.writer.typed(ins)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        made, positions = self.writer.written(xp, arrays[0])
        if every_call() and int(xp.count_nonzero(made >= 0)) != positions:
            self._look(xp, *[xp.moveaxis(array, self.writer.axis, -1) for array in (*arrays, made)])
        return made

    def _look(self, xp: Any, index: Any, writer: Any) -> None:
        """Raise where positions of different threads write one cell."""
        for at, last in zip(*[array.reshape(-1, array.shape[-1]) for array in (index, writer)], strict=True):
            (own,) = xp.nonzero((at >= 0) & (at < self.writer.size))
            other = last[at[own]]
            (bad,) = xp.nonzero((own - other) % self.stored.threads if self.stored.threads else own != other)
            if len(bad):
                raise self.stored.error(*[int(array[bad[0]]) for array in (at[own], own, other)])

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        return b.add(OneWriter(LastWriter(self.writer.size, self.writer.axis + 1), self.stored), *ins)
