"""Folds by bin within a whole program: elements go to their bins in their order, and each bin has a state.

The first element of a bin is its state, without the neutral element, as in `cpu/bins/text.py`. Elements whose index is out of
range are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from catad.engine.cpu.engine import SMALL
from catad.engine.cpu.whole.program import WRITERS
from catad.engine.cpu.whole.text import Buffer, Text
from catad.engine.stages.bin_boxes import bins_of
from catad.engine.stages.bins import Bins
from catad.engine.text import binned
from catad.engine.text.numbers import cast, load, store
from catad.errors import CannotPrint
from catad.spaces import Tensor
from catad.vector.arg_extremum import ArgExtremumByBin
from catad.vector.by_bin import PrefixByBin
from catad.vector.fold_by_bin import FoldByBin
from catad.vector.monoid import with_position

Array = tuple[Buffer, Tensor]
_INT, _BOOL = np.dtype(np.int64), np.dtype(np.bool_)


class _Bins:
    """The states of some bins, rows of `width` numbers, and which of the bins have any element."""

    def __init__(self, text: Text, what: Bins, bins: int, width: int, states: Sequence[str]) -> None:
        self.text, self.w, self.what, self.bins, self.width = text, text.w, what, bins, width
        self.states, self.dtypes = states, [np.dtype(s) for s in what.states]
        self.met = text.buffer(Tensor((bins,), _BOOL))

    def begin(self) -> None:
        """Write the neutral elements into all bins."""
        self.text.clear(self.met.pointer, self.bins)
        for state, dtype, start in zip(self.states, self.dtypes, self.what.starts, strict=True):

            def one(found: list[str], state: str = state, dtype: Any = dtype, start: str = start) -> None:
                store(self.w, start, self.text.at(state, found, [dtype.itemsize]), dtype)

            self.text.nest([self.bins * self.width], one)

    def found(self, index: Array, i: str) -> str:
        """The bin of element i, as it is given."""
        dtype = index[1].dtype
        return cast(self.w, load(self.w, self.text.at(index[0].pointer, [i], [dtype.itemsize]), dtype), dtype, _INT)

    def element(self, i: str, bin_: str, joined: Callable[[str, str, str], None]) -> None:
        """An element whose bin is there: `joined` is given whether the bin has any, and the places of numbers and states."""
        flag = self.text.at(self.met.pointer, [bin_], [1])
        known = load(self.w, flag, _BOOL)
        source, target = self.row(i), self.row(bin_)
        self.text.nest([self.width], lambda c: joined(known, self.nth(source, c[0]), self.nth(target, c[0])))
        store(self.w, "true", flag, _BOOL)

    def row(self, at: str) -> str:
        """The place of the first number of a row."""
        return at if self.width == 1 or at == "0" else self.w.set(f"mul nsw i64 {at}, {self.width}")

    def nth(self, start: str, at: str) -> str:
        """The place of a number of a row."""
        return start if at == "0" else self.w.set(f"add nsw i64 {start}, {at}")

    def inside(self, bin_: str) -> str:
        """True where there is such a bin."""
        return self.w.set(f"icmp ult i64 {bin_}, {self.bins}")

    def places(self, at: str) -> list[str]:
        """The addresses of a state."""
        return [binned.nth(self.w, state, dtype, at) for state, dtype in zip(self.states, self.dtypes, strict=True)]

    def read(self, places: Sequence[str]) -> list[str]:
        """A state."""
        return [load(self.w, place, dtype) for place, dtype in zip(places, self.dtypes, strict=True)]

    def write(self, made: Sequence[str], places: Sequence[str]) -> None:
        """Leave a state."""
        for value, place, dtype in zip(made, places, self.dtypes, strict=True):
            store(self.w, value, place, dtype)

    def free(self) -> None:
        """The bins are not needed any more."""
        self.text.free(self.met)


def _folded(text: Text, own: _Bins, index: Array, arrays: Sequence[str]) -> None:
    """Write a fold of elements that lie in these arrays, "" for their positions."""
    w, what = text.w, own.what
    own.begin()

    def one(found: list[str]) -> None:
        (i,) = found

        def joined(known: str, source: str, target: str) -> None:
            x, places = binned.values(w, what, i, source, arrays), own.places(target)
            both = binned.joined(w, what, own.read(places), x)
            own.write(binned.chosen(w, what, known, both, x), places)

        bin_ = own.found(index, i)
        w.when(own.inside(bin_), lambda: own.element(i, bin_, joined))

    text.nest([index[1].size], one)
    own.free()


def _checked(text: Text, elements: int) -> None:
    if text.depth == 1 and elements >= SMALL:
        raise CannotPrint("a fold by bin of many elements outside of loops", "a pass of its own folds several pieces at once")


def fold_by_bin(text: Text, box: FoldByBin, read: Sequence[Array], made: Sequence[Array]) -> None:
    """Write a `FoldByBin`."""
    ins = tuple([space for _, space in read])
    _checked(text, ins[1].size)
    names = tuple([space.dtype.str for space in ins[1:]])
    what, width = bins_of(box.monoid, ins, names, names), math.prod(ins[1].shape[1:])
    own = _Bins(text, what, box.bins, width, [buffer.pointer for buffer, _ in made])
    _folded(text, own, read[0], [buffer.pointer for buffer, _ in read[1:]])


def arg_extremum_by_bin(text: Text, box: ArgExtremumByBin, read: Sequence[Array], made: Sequence[Array]) -> None:
    """Write an `ArgExtremumByBin`: the fold of (value, position), whose numbers are kept beside."""
    ins = tuple([space for _, space in read])
    _checked(text, ins[1].size)
    (goal, space), value = made[0], ins[1].dtype.str
    what = bins_of(with_position(box.monoid), ins, (value, ""), (value, space.dtype.str))
    what = what._replace(states=(value, space.dtype.str), starts=(what.starts[0], "-1"))
    numbers = text.buffer(Tensor(space.shape, ins[1].dtype))
    own = _Bins(text, what, box.bins, math.prod(ins[1].shape[1:]), [numbers.pointer, goal.pointer])
    _folded(text, own, read[0], [read[1][0].pointer, ""])
    text.free(numbers)


def prefix_by_bin(text: Text, box: PrefixByBin, read: Sequence[Array], made: Sequence[Array]) -> None:
    """Write a `PrefixByBin`: one pass in the order of the elements, and one against it."""
    ins, d = tuple([space for _, space in read]), box.monoid.width
    _checked(text, ins[1].size)
    names, width = tuple([space.dtype.str for space in ins[1:]]), math.prod(ins[1].shape[1:])
    what = bins_of(box.monoid, ins, names, names)
    rooms = [text.buffer(Tensor((box.bins, width), space.dtype)) for space in ins[1:]]
    own = _Bins(text, what, box.bins, width, [room.pointer for room in rooms])
    arrays = [buffer.pointer for buffer, _ in read[1:]]
    for backwards in (False, True):
        outs = made[d + 1 :] if backwards else made[: d + 1]
        _prefixes(text, own, read[0], arrays, [buffer.pointer for buffer, _ in outs], backwards)
    own.free()
    for room in rooms:
        text.free(room)


def _prefixes(
    text: Text, own: _Bins, index: Array, arrays: Sequence[str], outs: Sequence[str], backwards: bool
) -> None:
    """Write the folds of what stands before each element, or after it, and whether there is any."""
    w, what, m = text.w, own.what, index[1].size
    own.begin()

    def note(known: str, values: Sequence[str], at: str) -> None:
        for value, out, dtype in zip((known, *values), outs, (_BOOL, *own.dtypes), strict=True):
            store(w, value, binned.nth(w, out, dtype, at), dtype)

    def one(found: list[str]) -> None:
        i = w.set(f"sub i64 {m - 1}, {found[0]}") if backwards else found[0]
        bin_ = own.found(index, i)

        def joined(known: str, source: str, target: str) -> None:
            x, places = binned.values(w, what, i, source, arrays), own.places(target)
            old = own.read(places)
            note(known, old, source)
            both = binned.joined(w, what, x, old) if backwards else binned.joined(w, what, old, x)
            own.write(binned.chosen(w, what, known, both, x), places)

        def outside() -> None:
            text.nest([own.width], lambda c: note("false", what.starts, own.nth(own.row(i), c[0])))

        there = own.inside(bin_)
        w.when(there, lambda: own.element(i, bin_, joined))
        w.when(w.set(f"xor i1 {there}, true"), outside)

    text.nest([m], one)


WRITERS |= {FoldByBin: fold_by_bin, ArgExtremumByBin: arg_extremum_by_bin, PrefixByBin: prefix_by_bin}
