"""The boxes of folds by bin as kernels: arrays brought into rows, and what is known about the operator."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from catad import scalar
from catad.engine.cpu.bins import Before, Bins, WinnersPass, start
from catad.engine.cpu.by_bin import Fold, Given, Pass
from catad.engine.cpu.prefixes import PrefixKernel
from catad.engine.cpu.together import Member
from catad.scalar import Function
from catad.spaces import Tensor
from catad.vector.by_bin import PrefixByBin, WinnerByBin, position_dtype
from catad.vector.fold_by_bin import FoldByBin
from catad.vector.monoid import Monoid, with_winner

Kernel = Callable[..., Any]
_FIRST = Function.make(
    2, [scalar.apply("select", scalar.apply("ge", scalar.param(0), scalar.const(0)), scalar.param(0), scalar.param(1))]
)
_EXACT = ("add", "mul")  # recognised operators with op(neutral, x) = x to the last bit (sums of floats are `Put`s)


def bins_of(
    monoid: Monoid, ins: tuple[Tensor, ...], values: tuple[str, ...], outs: tuple[str, ...], before: Before | None = None
) -> Bins:
    """What is compiled for an operator at these spaces of (indices, values...)."""
    states = tuple([name or np.dtype(np.int64).str for name in values])
    starts = tuple([start(e, np.dtype(s)) for e, s in zip(monoid.neutral, states, strict=True)])
    rows = math.prod(ins[1].shape[1:]) != 1
    flagged = scalar.recognise((monoid.lifts or monoid).op) not in _EXACT or np.dtype(states[-1]).kind != "f"
    return Bins(monoid.op, ins[0].dtype.str, values, states, starts, flagged, outs, rows, 1, before)


def fold(box: FoldByBin, ins: tuple[Tensor, ...], before: Before | None = None) -> Member:
    """`FoldByBin`, of values that are computed first."""
    names = tuple([s.dtype.str for s in ins[1:]])
    made = Fold(bins_of(box.monoid, ins, names, names, before), box.bins)

    def given(*arrays: Any) -> Given:
        index, *values = [np.ascontiguousarray(a) for a in arrays]
        return Given(index, values, values[0].shape[1:])

    return Member(made, (ins[0].size, ins[1].shape[1:]), given, lambda outs: outs if len(outs) > 1 else outs[0])


def winner(box: WinnerByBin, ins: tuple[Tensor, ...]) -> Kernel:
    """`WinnerByBin`: the first value that is the result of its bin; where a result is NaN, the fold of (value, position)."""
    position, dtype = position_dtype(ins[1].shape[0]).str, ins[1].dtype
    what = bins_of(with_winner(box.monoid), ins, (dtype.str, ""), ("", position))
    general = Pass([Fold(what, box.bins)], "WinnerByBin")
    first = Bins(_FIRST, what.by, (dtype.str, dtype.str), (position,), ("-1",), False, (position,), what.rows, 1)
    equal = Pass([Fold(first, box.bins)], "WinnerByBin", WinnersPass)

    def run(index: Any, v: Any, total: Any) -> list[Any]:
        if dtype.kind == "f" and np.isnan(total).any():
            return general([Given(index, [v, None], v.shape[1:])])[0]
        return equal([Given(index, [v, total], v.shape[1:])])[0]

    return _OnRows(run, lambda m, width: equal.prepared(m, [width]))


def prefixes(box: PrefixByBin, ins: tuple[Tensor, ...]) -> Kernel:
    """`PrefixByBin`."""
    names = tuple([s.dtype.str for s in ins[1:]])
    what = bins_of(box.monoid, ins, names, names)._replace(flagged=True)
    run = PrefixKernel(what, box.bins, "PrefixByBin")
    return _OnRows(lambda index, *values: run(index, values, values[0].shape[1:]), run.prepared)


class _OnRows:
    """A kernel called with contiguous arrays, and how it is compiled for so many elements of so many numbers."""

    def __init__(self, call: Callable[..., list[Any]], prepare: Callable[[int, int], str]) -> None:
        self.call, self.prepare = call, prepare

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        out = self.call(*[np.ascontiguousarray(a) for a in arrays])
        return out[0] if len(out) == 1 else out

    def prepared(self, ins: tuple[Tensor, ...]) -> str:
        """Compile for these spaces; the LLVM text."""
        return self.prepare(ins[0].size, math.prod(ins[1].shape[1:]))
