"""Positions of extrema by bin on a GPU: of the elements that are the result of their bin, the first one.

The results of the bins are known, by a pass of their own. Which element is the first is the least of their positions: each place
has a word that is 0 at first, and threads raise it to m - i for the element i of m. So the order of threads does not matter.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from catad import scalar
from catad.category.spaces import Tensor
from catad.engine.cuda.bins import WORDS, Accumulate, Finish, Folded, room
from catad.engine.cuda.kernel import Compiled, Device, code_of, contiguous, start
from catad.engine.stages.bins import Bins
from catad.engine.text import binned
from catad.engine.text.numbers import load
from catad.scalar import Function
from catad.scalar.printing.llvm_writer import Writer, llvm_type
from catad.vector.bins.prefixes_by_bin import position_dtype
from catad.vector.folds.arg_extremum import ArgExtremumByBin
from catad.vector.folds.monoid import Monoid

_GREATER = Function.make(2, [scalar.apply("maximum", scalar.param(0), scalar.param(1))])
_WORD = np.dtype(np.int64)


def takes_first(monoid: Monoid, dtype: np.dtype[Any]) -> bool:
    """True where an extremum comes from the first element that equals it, or is NaN as it is, for all numbers of a dtype.

    Choices such as `a if a >= b else b` depend on what stands before and after a NaN.
    """
    (output,) = monoid.op.outputs
    return dtype.kind != "f" or output.op in ("minimum", "maximum", "fmin", "fmax")


def _strange(w: Writer, kind: str, x: str) -> str:
    """True of NaN."""
    return w.set(f"fcmp uno {kind} {x}, {x}")


class Equal(Accumulate):
    """Notes of each number that is the result of its place, which lies at %peaks, that its element is there."""

    def _element(self, i: str, j: str, place: str, arrays: Sequence[str]) -> list[str]:
        w, dtype = self.w, np.dtype(self.what.reads[0])
        kind = llvm_type(dtype)
        x, found = (load(w, binned.nth(w, base, dtype, at), dtype) for base, at in ((arrays[0], j), ("%peaks", place)))
        equal = w.set(f"{'fcmp oeq' if dtype.kind == 'f' else 'icmp eq'} {kind} {x}, {found}")
        if dtype.kind == "f":
            both = w.set(f"and i1 {_strange(w, kind, x)}, {_strange(w, kind, found)}")
            equal = w.set(f"or i1 {equal}, {both}")
        left = w.set(f"sub i64 {self._count()}, {i}")
        return [w.set(f"select i1 {equal}, i64 {left}, i64 0")]


class First(Finish):
    """The positions that words stand for, -1 where no element is there."""

    def _value(self, words: Sequence[str], place: str) -> str:
        w = self.w
        some = w.set(f"icmp ne i64 {words[0]}, 0")
        return w.set(f"select i1 {some}, i64 {w.set(f'sub i64 {self._count()}, {words[0]}')}, i64 -1")


class PositionsByBin(Compiled):
    """`ArgExtremumByBin` of elements of so many numbers."""

    def __init__(self, device: Device, box: ArgExtremumByBin, ins: tuple[Tensor, ...]) -> None:
        self.device, self.bins = device, box.bins
        index, values, _ = ins
        self.count, self.rest = index.size, values.shape[1:]
        self.width = math.prod(self.rest)
        self.places = box.bins * self.width
        self.out = position_dtype(self.count)
        what = Bins(_GREATER, index.dtype.str, (values.dtype.str,), (_WORD.str,), ("0",), (self.out.str,))
        self.equal = code_of(Equal, Folded(what, "first", room(self.places, "first")), device.dialect)
        self.first = code_of(First, Folded(what, "first", 0), device.dialect)
        self.parts = self.equal, self.first

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        device = self.device
        out = device.empty((self.bins, *self.rest), self.out)
        if not self.places:
            return out
        work = self.count * self.width
        numbers = array("q", [work, self.width, self.bins, self.places, 0])
        words = device.zeros(WORDS["first"] * self.places)
        index, values, totals = (contiguous(a) for a in arrays)
        start(device, self.equal, work, numbers, (index, values, totals, words))
        start(device, self.first, self.places, numbers, (totals, words, out))
        return out


def positions_by_bin(device: Device, box: ArgExtremumByBin, ins: tuple[Tensor, ...]) -> Compiled | None:
    """Kernels for positions of extrema by bin; None where the operator's choice depends on where NaN stands."""
    return PositionsByBin(device, box, ins) if takes_first(box.monoid, ins[1].dtype) else None
