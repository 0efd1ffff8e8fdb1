"""A GPU as a machine that runs stages, compiled with LLVM. What has no kernel runs by its array code, with one notice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from catad.boxes import Primitive
from catad.engine.cuda.by_bin import multi_fold, scatter
from catad.engine.cuda.checks import FlatIndexCheck, InRangeCheck, NumberedCheck
from catad.engine.cuda.kernel import Device
from catad.engine.cuda.launch import way_of
from catad.engine.cuda.rows import by_rows
from catad.engine.cuda.sweeps import sweep
from catad.engine.cuda.written import MAKERS
from catad.engine.machine import Compiled, Known, Machine, Way
from catad.engine.stages.bins import Member
from catad.engine.stages.group import Rows
from catad.engine.stages.layout import Ready
from catad.linear.gather import ScatterAdded
from catad.linear.sweep import Sweep
from catad.spaces import Tensor
from catad.vector.flat_index import FlatIndex
from catad.vector.index import InRange
from catad.vector.segmented import Numbered


def _unknown(array: Any) -> bool:
    """Looking at numbers would make the host wait for them."""
    return False


class GpuMachine(Machine):
    """See the module."""

    checks: Mapping[str, Callable[[Any], bool]] = {"normal": _unknown, "number": _unknown}

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
        if isinstance(primitive, ScatterAdded):
            return scatter(self.device, primitive, ins)
        if isinstance(primitive, InRange):
            return InRangeCheck(self.device, primitive.size, ins[0])
        if isinstance(primitive, FlatIndex):
            return FlatIndexCheck(self.device, primitive, ins)
        if isinstance(primitive, Numbered):
            return NumberedCheck(self.device, primitive)
        if type(primitive) is Sweep:
            return sweep(self.device, primitive, ins)
        maker = MAKERS.get(type(primitive))
        return None if maker is None else maker(self.device, primitive, ins)

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
