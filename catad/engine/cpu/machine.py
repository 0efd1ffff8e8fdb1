"""The CPU as a machine that runs stages, compiled with LLVM, on arrays of NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from catad import buffers
from catad.boxes import Primitive
from catad.engine import profile
from catad.engine.cpu.bins.multi_fold import MultiFold
from catad.engine.cpu.bins.rows import arg_extremum, prefixes
from catad.engine.cpu.bins.scatter import scatter
from catad.engine.cpu.bins.written import MAKERS
from catad.engine.cpu.launch import way_of
from catad.engine.cpu.rows import CACHE, by_rows
from catad.engine.cpu.whole.run import loop
from catad.engine.machine import Compiled, Known, Machine, Way
from catad.engine.stages.bins import Member
from catad.engine.stages.group import Rows
from catad.engine.stages.layout import Ready
from catad.linear.gather import ScatterAdded
from catad.linear.sweep import Sweep
from catad.spaces import Tensor
from catad.vector.arg_extremum import ArgExtremumByBin
from catad.vector.by_bin import PrefixByBin
from catad.vector.revolve import BoundedPullback

_STANDALONE: dict[type, Callable[..., Compiled | None]] = {
    ScatterAdded: scatter,
    ArgExtremumByBin: arg_extremum,
    PrefixByBin: prefixes,
    **MAKERS,
}


def _aligned(array: Any) -> Any:
    """A NumPy array with its numbers where code may expect them: at multiples of their size."""
    found = np.asarray(array)
    return found if found.flags.aligned else found.copy()


def _normal(array: Any) -> bool:
    """True where all numbers are finite and not so small that they have lost digits."""
    size = np.abs(array)
    return bool(np.all((size >= np.finfo(array.dtype).tiny) & (size < np.inf)))


def _number(array: Any) -> bool:
    """True where no number is NaN."""
    return not np.isnan(array).any()


class CpuMachine(Machine):
    """See the module."""

    checks: Mapping[str, Callable[[Any], bool]] = {"normal": _normal, "number": _number}
    rows_from = CACHE

    def way_of(self, stage: Ready, place: Sequence[int], arrays: Sequence[Any], outs: Sequence[Any]) -> Way:
        """Compiled code for a stage on arrays and results that lie as these do; raises CannotPrint."""
        return way_of(stage, place, arrays, outs)

    def by_rows(self, rows: Rows, arrays: Sequence[Any], outs: Sequence[Any]) -> Way | None:
        """Compiled code for stages that run a few rows at a time, where what they exchange is large otherwise."""
        every = (*arrays, *outs)
        return by_rows(rows, sum([one.nbytes for one in every]), [one.strides for one in every])

    def standalone(self, primitive: Primitive, ins: tuple[Tensor, ...], fixed: Known) -> Compiled | None:
        """Compiled code for loops, scatters, writes at indices, positions of extrema and prefixes by bin."""
        if isinstance(primitive, Sweep | BoundedPullback):
            return loop(primitive, ins, fixed)
        maker = _STANDALONE.get(type(primitive))
        return None if maker is None else maker(primitive, ins)

    def multi_fold(self, members: Sequence[Member], arity: Sequence[int]) -> Compiled:
        """Folds by bin in one pass over their elements."""
        return MultiFold(members, arity)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Memory that is used again where it is large."""
        return buffers.empty(shape, dtype)

    def prepared(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """Arrays of NumPy whose numbers lie at multiples of their size."""
        return [a if type(a) is np.ndarray and a.flags.aligned else _aligned(a) for a in arrays]

    def copy_bandwidth(self) -> float:
        """Bytes per second, read and written, of copying a large array."""
        return profile.copy_bandwidth()


MACHINE = CpuMachine()
