"""Positions of extrema, and prefixes, by bin as kernels on contiguous arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from catad import scalar
from catad.engine.cpu.bins.by_bin import Pass
from catad.engine.cpu.bins.prefixes import PrefixKernel
from catad.engine.cpu.bins.text import ChoicesPass, PositionsPass
from catad.engine.machine import Compiled
from catad.engine.stages.bin_boxes import bins_of
from catad.engine.stages.bins import Bins, Fold, Given
from catad.scalar import Function
from catad.spaces import Tensor
from catad.vector.arg_extremum import ArgExtremumByBin
from catad.vector.by_bin import PrefixByBin, position_dtype
from catad.vector.monoid import with_position

_FIRST = Function.make(
    2, [scalar.apply("select", scalar.apply("ge", scalar.param(0), scalar.const(0)), scalar.param(0), scalar.param(1))]
)


def arg_extremum(box: ArgExtremumByBin, ins: tuple[Tensor, ...]) -> Compiled:
    """`ArgExtremumByBin`: the first value that is the result of its bin; where a result is NaN, the fold of (value, position)."""
    position, dtype = position_dtype(ins[1].shape[0]).str, ins[1].dtype
    what = bins_of(with_position(box.monoid), ins, (dtype.str, ""), ("", position))
    choices = what._replace(states=(dtype.str, position), starts=("", "-1"), flagged=False)
    general = Pass([Fold(choices, box.bins)], ChoicesPass)
    first = Bins(_FIRST, what.by, (dtype.str, dtype.str), (position,), ("-1",), False, (position,), what.rows, 1)
    equal = Pass([Fold(first, box.bins)], PositionsPass)

    def run(index: Any, v: Any, total: Any) -> list[Any]:
        if dtype.kind == "f" and _is_any_nan(index, v, total):
            return general([Given(index, [v, None], v.shape[1:])])[0]
        return equal([Given(index, [v, total], v.shape[1:])])[0]

    return _OnRows(run, lambda m, width: equal.prepared(m, [width]), lambda: (*equal.seconds, *general.seconds))


def _is_any_nan(index: Any, v: Any, total: Any) -> bool:
    """True if a result is NaN: where there are more of them than values, one of a bin that a NaN goes to."""
    if total.size > v.size:
        met = index[np.isnan(v).any(axis=tuple(range(1, v.ndim)))]
        total = total[met[(met >= 0) & (met < len(total))]]
    return bool(np.isnan(total).any())


def prefixes(box: PrefixByBin, ins: tuple[Tensor, ...]) -> Compiled:
    """`PrefixByBin`."""
    names = tuple([s.dtype.str for s in ins[1:]])
    what = bins_of(box.monoid, ins, names, names)._replace(flagged=True)
    run = PrefixKernel(what, box.bins)
    def call(index: Any, *values: Any) -> list[Any]:
        return run(index, values, values[0].shape[1:])

    return _OnRows(call, lambda m, width: run.code.text, lambda: (run.code.seconds,), 2)


class _OnRows(Compiled):
    """A kernel called with contiguous arrays, and how it is compiled for so many elements of so many numbers.

    It goes through its arguments so many times.
    """

    def __init__(
        self,
        call: Callable[..., list[Any]],
        prepare: Callable[[int, int], str],
        compiled: Callable[[], tuple[float, ...]],
        times: int = 1,
    ) -> None:
        self.call, self.prepare, self.compiled, self.times = call, prepare, compiled, times

    @property
    def seconds(self) -> tuple[float, ...]:
        """The time that compiling took."""
        return self.compiled()

    def moved(self, arrays: Sequence[Any], outs: Sequence[Any]) -> int:
        """The bytes of arguments, each time, and of results."""
        return self.times * super().moved(arrays, ()) + super().moved((), outs)

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        out = self.call(*[np.ascontiguousarray(a) for a in arrays])
        return out[0] if len(out) == 1 else out

    def prepared(self, ins: tuple[Tensor, ...]) -> str:
        """Compile for these spaces; the LLVM text."""
        return self.prepare(ins[0].size, math.prod(ins[1].shape[1:]))
