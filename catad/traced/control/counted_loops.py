"""`for` over a range whose bounds data decide: a `while` loop with a counter."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from catad.traced.arrays.affine import note_bounds
from catad.traced.arrays.stand_in import Traced, var_of
from catad.traced.control.decisions import unroll_for
from catad.traced.control.loop import DataLoop, Names, Slot
from catad.traced.control.loop_items import TracedRange

if TYPE_CHECKING:
    from catad.traced.trace import Driver


class CountedLoop(DataLoop):
    """A `for` statement over a range whose bounds are data: a while loop with a counter."""

    what = "for loop over a range of data"

    def __init__(self, driver: Driver, items: TracedRange, names: Names, site: Any) -> None:
        super().__init__(driver, names, site)
        self.range = items
        self.limits = tuple([end.var_ for end in (items.start, items.stop) if isinstance(end, Traced)])
        if not self.simple or site in self.trace.findings.unrolled:
            iter(items)  # an error, or a restart: Python has no number of steps
        if self.trace.unroll == sys.maxsize:  # `ct.unrolled()`
            for var in self.limits:
                unroll_for(self.trace, var)
        self.counter = Slot(var_of(self.trace, items.start), int)

    def open(self) -> None:
        super().open()
        self.current = self.stand_in(self.counter)
        note_bounds(self.current.var_, *self.range.ends)

    def item(self) -> Iterator[Any]:
        stop, step = self.range.stop, self.range.step
        self.holds = var_of(self.trace, self.current < stop if step > 0 else self.current > stop)
        yield self.current

    def close(self, frame: Any) -> bool:
        self.counter.value = var_of(self.trace, self.current + self.range.step)
        return super().close(frame)

    def most_steps(self) -> int | None:
        return self.range.most

    def all_slots(self) -> list[Slot]:
        return [self.counter, *super().all_slots()]
