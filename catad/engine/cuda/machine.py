"""A GPU as a machine that runs stages, compiled with LLVM. What has no kernel runs by its array code, with one notice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from catad.boxes import Primitive
from catad.engine.cuda.array_code import tell
from catad.engine.cuda.by_bin import added, multi_fold, scatter
from catad.engine.cuda.checks import EndedCheck, NumberedCheck, in_range
from catad.engine.cuda.flat_index import FlatIndexed
from catad.engine.cuda.kernel import Device
from catad.engine.cuda.launch import way_of
from catad.engine.cuda.positions import positions_by_bin
from catad.engine.cuda.rows import by_rows
from catad.engine.cuda.sweeps import sweep
from catad.engine.cuda.written import MAKERS as WRITTEN
from catad.engine.machine import Compiled, Known, Machine, Way
from catad.engine.stages.bins import Member
from catad.engine.stages.group import Rows
from catad.engine.stages.layout import Ready
from catad.linear.gather import ScatterAdded
from catad.linear.sweep import Sweep
from catad.spaces import Tensor
from catad.vector.arg_extremum import ArgExtremumByBin
from catad.vector.flat_index import FlatIndex
from catad.vector.index import Ended, InRange
from catad.vector.overwrite import AddedAt
from catad.vector.same_value import Fits
from catad.vector.segmented import NumberedByFlags, NumberedByLengths

MAKERS: dict[type, Callable[..., Compiled | None]] = {
    ScatterAdded: scatter,
    AddedAt: added,
    ArgExtremumByBin: positions_by_bin,
    InRange: in_range,
    Fits: in_range,
    Ended: EndedCheck,
    FlatIndex: FlatIndexed,
    NumberedByFlags: NumberedCheck,
    NumberedByLengths: NumberedCheck,
    Sweep: sweep,
    **WRITTEN,
}
"""What makes the kernels of a box, by its class: functions of a device, the box, and the spaces of its arguments."""


class GpuMachine(Machine):
    """See the module."""

    rows_from = 0  # a launch costs more than rows of any size

    def __init__(self, device: Device) -> None:
        self.device = device

    def way_of(self, stage: Ready, place: Sequence[int], arrays: Sequence[Any], outs: Sequence[Any]) -> Way:
        """Compiled code for a stage on arrays and results that lie as these do; raises CannotPrint."""
        return way_of(self.device, stage, place, arrays, outs)

    def by_rows(self, rows: Rows, arrays: Sequence[Any], outs: Sequence[Any]) -> Way | None:
        """One kernel for stages that share rows; None where what they exchange does not fit, and for scans."""
        return by_rows(self.device, rows, arrays, outs)

    def standalone(self, primitive: Primitive, ins: tuple[Tensor, ...], fixed: Known) -> Compiled | None:
        """Checks of indices that do not make the host wait, sums and writes at places, loops; the array code of other boxes."""
        maker = MAKERS.get(type(primitive))
        made = None if maker is None else maker(self.device, primitive, ins)
        if made is None:
            tell(primitive, ins)
        return made

    def multi_fold(self, members: Sequence[Member], arity: Sequence[int]) -> Compiled | None:
        """Folds by bin, by atomics; None for those whose array code, which sorts by bin, runs as stages of its own."""
        return multi_fold(self.device, members, arity)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Memory of the device."""
        return self.device.empty(shape, dtype)

    def prepared(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """Arrays in the memory of the device."""
        return self.device.prepared(arrays)

    def copy_bandwidth(self) -> float:
        """Bytes per second, read and written, of copying a large array."""
        return self.device.copy_bandwidth()

    def clock(self) -> Callable[[], float]:
        """Start a clock of the device."""
        return self.device.clock()
