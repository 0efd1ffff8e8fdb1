"""Stages on a GPU: their loops are laid over the arrays of a call, and run in one launch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from catad.engine.cuda.kernel import Code, Device, code_of
from catad.engine.cuda.lanes import Lanes
from catad.engine.cuda.points import PIECE, Points, Wide, wide
from catad.engine.machine import Way
from catad.engine.stages.layout import FOLDS, LANES, LINE, POINTS, Layout, Ready, layout
from catad.engine.stages.table import Table
from catad.errors import CannotPrint

LONG = 1 << 12  # indices of a line up to which one thread goes through it
MANY = 1 << 10  # lines from which on one thread goes through each, however long they are


def way_of(device: Device, stage: Ready, place: Sequence[int], arrays: Sequence[Any], outs: Sequence[Any]) -> Way:
    """Compiled code for a stage on arrays and results that lie as these do; raises CannotPrint for what has no kernel."""
    if stage.needs:
        raise unprinted("a pass that holds for some numbers only")
    strides = [arrays[at].strides if at >= 0 else (1,) for at in place] + [out.strides for out in outs]
    how = layout(stage, strides)
    if how is None:
        raise unprinted("a fold over axes that do not lie as one")
    if how.kernel.kind == POINTS:
        return PointsCall(device, how, place)
    if how.kernel.kind == LANES or (how.kernel.kind == LINE and (how.loops[-1].size <= LONG or _lines(how) >= MANY)):
        return LanesCall(device, how, place)
    raise unprinted("a fold of a long line" if how.kernel.kind == FOLDS else "a scan or recurrence along a long line")


def _lines(how: Layout) -> int:
    return math.prod([loop.size for loop in how.loops[:-1]])


def unprinted(what: str) -> CannotPrint:
    """The error for what has no kernel."""
    return CannotPrint(f"{what}, on a GPU", "the CUDA engine has no kernel for it yet, so its array code runs")


class PointsCall:
    """A laid-out map: its table, and its kernel for arrays that begin at multiples of 16 bytes, and for others.

    `more` are numbers that end the table, for a printer that reads them.
    """

    def __init__(
        self,
        device: Device,
        how: Layout,
        place: Sequence[int],
        printer: type[Points] = Points,
        more: Sequence[int] = (),
    ) -> None:
        self.device, self.how, self.printer = device, how, printer
        table = Table(how, place)
        self.reads, self.writes = [k for _, k, _ in table.reads], [k for _, k, _ in table.writes]
        self.numbers = table.filled([0] * (1 + max(self.reads, default=0)), [0] * len(self.writes), more)
        self.aligned = self._wide(True)
        sources = [piece for piece, at in zip(self.aligned.pieces, place, strict=False) if at >= 0]
        self.pieces = [k for k, piece in enumerate([*sources, *self.aligned.pieces[len(place) :]]) if piece]
        self._code(self.aligned).ptx  # noqa: B018  # what cannot be printed is known from here on

    def _wide(self, aligned: bool) -> Wide:
        return wide(self.how, aligned)

    def _units(self, what: Wide) -> int:
        """How many units of work threads share."""
        *outer, inner = [loop.size for loop in self.how.loops]
        return math.prod(outer) * -(-inner // what.width)

    def _code(self, what: Wide) -> Code:
        return code_of(self.printer, what, self.device.dialect)

    @property
    def text(self) -> str:
        """The PTX."""
        return self._code(self.aligned).ptx.text

    @property
    def seconds(self) -> float:
        """The time that compiling took."""
        return self._code(self.aligned).ptx.seconds

    def run(self, arrays: Sequence[Any], outs: Sequence[Any], more: Sequence[Any] = ()) -> None:
        """Starts the kernel on arrays, and on `more`; it writes into the results."""
        address = self.device.address
        given = [*[arrays[k] for k in self.reads], *[outs[k] for k in self.writes], *more]
        places = [address(array) for array in given]
        what = self.aligned
        if any(places[k] % PIECE for k in self.pieces):
            what = self._wide(False)
        blocks = -(-self._units(what) // self.printer.threads)
        self.device.launch(self._code(what), min(blocks, self.device.most), self.numbers, places)


class LanesCall(PointsCall):
    """A laid-out stage whose lines go from their beginnings to their ends, each in a thread."""

    def __init__(self, device: Device, how: Layout, place: Sequence[int]) -> None:
        super().__init__(device, how, place, Lanes)

    def _wide(self, aligned: bool) -> Wide:
        return Wide(self.how.kernel, 1, (False,) * len(self.how.kernel.classes))

    def _units(self, what: Wide) -> int:
        carried = [loop.carried for loop in self.how.loops]
        last = max(k for k, along in enumerate(carried) if along) if any(carried) else len(carried) - 1
        return math.prod([loop.size for k, loop in enumerate(self.how.loops) if k != last])
