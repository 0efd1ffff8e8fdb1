"""Folds by bin within a whole program: elements go to their bins in their order, and each bin has a state.

The first element of a bin is its state, without the neutral element. Elements whose index is out of range are left out. Where an
operator rounds, elements are cut into units of 32 for each bin, on average, which are folded apart and joined in their order, and
so are units of units.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from catad.category.spaces import Tensor
from catad.engine.cpu.nests.levels import SHORT, in_levels
from catad.engine.cpu.whole.program import WRITERS, tested
from catad.engine.cpu.whole.text import Buffer, Text
from catad.engine.stages.bins import Bins, bins_of
from catad.engine.text import binned
from catad.engine.text.numbers import cast, load, store
from catad.scalar.printing.llvm_writer import llvm_type
from catad.vector.bins.fold_by_bin import FoldByBin
from catad.vector.bins.prefixes_by_bin import PrefixByBin
from catad.vector.folds.arg_extremum import ArgExtremumByBin
from catad.vector.folds.monoid import with_position

Array = tuple[Buffer, Tensor]
_INT, _BOOL = np.dtype(np.int64), np.dtype(np.bool_)


class _Bins:
    """The states of some bins, rows of `width` numbers, and which of the bins have any element."""

    def __init__(self, text: Text, what: Bins, bins: int, width: int, states: Sequence[str]) -> None:
        self.text, self.w, self.what, self.bins, self.width = text, text.w, what, bins, width
        self.states, self.dtypes = states, [np.dtype(s) for s in what.states]
        self.met = text.buffer(Tensor((bins,), _BOOL))
        self.rooms: list[Buffer] = []  # of states that nobody else holds

    def begin(self) -> None:
        """Write the neutral elements into all bins."""
        self.text.clear(self.met.pointer, self.bins)
        for state, dtype, start in zip(self.states, self.dtypes, self.what.starts, strict=True):
            with self.text.each([self.bins * self.width]) as found:
                store(self.w, start, self.text.at(state, found, [dtype.itemsize]), dtype)

    def found(self, index: Array, i: str) -> str:
        """The bin of element i, as it is given."""
        dtype = index[1].dtype
        return cast(self.w, load(self.w, self.text.at(index[0].pointer, [i], [dtype.itemsize]), dtype), dtype, _INT)

    @contextmanager
    def element(self, i: str, bin_: str) -> Iterator[tuple[str, str, str]]:
        """An element whose bin is there: whether the bin has any, and the places of a number and of its state."""
        flag = self.text.at(self.met.pointer, [bin_], [1])
        known = load(self.w, flag, _BOOL)
        source, target = self.row(i), self.row(bin_)
        with self.text.each([self.width]) as (c,):
            yield known, self.nth(source, c), self.nth(target, c)
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

    def put(self, known: str, x: Sequence[str], at: str) -> None:
        """Fold a value behind the state at a place, or leave it there as the first one."""
        places = self.places(at)
        both = binned.joined(self.w, self.what, self.read(places), x)
        self.write(binned.chosen(self.w, self.what, known, both, x), places)

    def apart(self) -> _Bins:
        """Other states of the same bins, empty."""
        rooms = [self.text.buffer(Tensor((self.bins * self.width,), dtype)) for dtype in self.dtypes]
        made = _Bins(self.text, self.what, self.bins, self.width, [room.pointer for room in rooms])
        made.rooms = rooms
        made.begin()
        return made

    def join(self, later: _Bins) -> None:
        """Fold the states of later elements behind these."""
        w = self.w
        with self.text.each([self.bins]) as found:
            flag = self.text.at(self.met.pointer, found, [1])
            with w.where(load(w, self.text.at(later.met.pointer, found, [1]), _BOOL)):
                known, row = load(w, flag, _BOOL), self.row(found[0])
                with self.text.each([self.width]) as (c,):
                    at = self.nth(row, c)
                    self.put(known, later.read(later.places(at)), at)
                store(w, "true", flag, _BOOL)

    def write(self, made: Sequence[str], places: Sequence[str]) -> None:
        """Leave a state."""
        for value, place, dtype in zip(made, places, self.dtypes, strict=True):
            store(self.w, value, place, dtype)

    def free(self) -> None:
        """The bins are not needed any more."""
        for room in (self.met, *self.rooms):
            self.text.free(room)


def _folded(text: Text, own: _Bins, index: Array, arrays: Sequence[str], rounds: bool) -> None:
    """Write a fold of elements that lie in these arrays, "" for their positions."""
    n, w = index[1].size, text.w
    own.begin()

    def fold(begin: str, end: str, into: _Bins) -> None:
        with w.each(begin, end) as i:
            bin_ = into.found(index, i)
            with w.where(into.inside(bin_)), into.element(i, bin_) as (known, source, target):
                into.put(known, binned.values(w, into.what, i, source, arrays), target)

    def join(sums: _Bins, into: _Bins) -> None:
        into.join(sums)
        sums.begin()

    if rounds:
        in_levels(w, n, SHORT * own.bins, own, fold, own.apart, join, _Bins.free)
    else:
        fold("0", str(n), own)
    own.free()


def fold_by_bin(text: Text, box: FoldByBin, read: Sequence[Array], made: Sequence[Array]) -> None:
    """Write a `FoldByBin`."""
    ins = tuple([space for _, space in read])
    names = tuple([space.dtype.str for space in ins[1:]])
    what, width = bins_of(box.monoid, ins, names, names), math.prod(ins[1].shape[1:])
    own = _Bins(text, what, box.bins, width, [buffer.pointer for buffer, _ in made])
    _folded(text, own, read[0], [buffer.pointer for buffer, _ in read[1:]], what.rounds)


def arg_extremum_by_bin(text: Text, box: ArgExtremumByBin, read: Sequence[Array], made: Sequence[Array]) -> None:
    """Write an `ArgExtremumByBin`: the first value that is the result of its bin; a fold of (value, position) for NaN."""
    w, ins, space = text.w, tuple([one for _, one in read]), made[0][1]
    value = ins[1].dtype.str
    what = bins_of(with_position(box.monoid), ins, (value, ""), (value, space.dtype.str))
    what = what._replace(states=(value, space.dtype.str), starts=(what.starts[0], "-1"))
    if not ins[1].is_float:
        _first_equal(text, what, read, made[0])
        return
    numbers = tested(text, "number", *read[2])
    w.either(numbers, lambda: _first_equal(text, what, read, made[0]), lambda: _extremum(text, what, read, made[0]))


def _first_equal(text: Text, what: Bins, read: Sequence[Array], goal: Array) -> None:
    """Write the positions of the first values that equal the results of their bins."""
    w, (index, values, total) = text.w, read
    dtype, position = values[1].dtype, goal[1].dtype
    own = _Bins(text, what, goal[1].shape[0], math.prod(goal[1].shape[1:]), [])
    text.fill(goal[0].pointer, goal[1], -1)
    with text.each([index[1].size]) as (i,):
        bin_ = own.found(index, i)
        with w.where(own.inside(bin_)):
            source, target = own.row(i), own.row(bin_)
            with text.each([own.width]) as (c,):
                at = own.nth(target, c)
                x = load(w, binned.nth(w, values[0].pointer, dtype, own.nth(source, c)), dtype)
                best = load(w, binned.nth(w, total[0].pointer, dtype, at), dtype)
                place = binned.nth(w, goal[0].pointer, position, at)
                test = "fcmp oeq" if dtype.kind == "f" else "icmp eq"
                with w.where(w.set(f"{test} {llvm_type(dtype)} {x}, {best}")):
                    free = w.set(f"icmp slt {llvm_type(position)} {load(w, place, position)}, 0")
                    with w.where(free):
                        store(w, cast(w, i, _INT, position), place, position)
    own.free()


def _extremum(text: Text, what: Bins, read: Sequence[Array], goal: Array) -> None:
    """Write the fold of (value, position), whose numbers are kept beside."""
    space = goal[1]
    numbers = text.buffer(Tensor(space.shape, read[1][1].dtype))
    own = _Bins(text, what, space.shape[0], math.prod(space.shape[1:]), [numbers.pointer, goal[0].pointer])
    _folded(text, own, read[0], [read[1][0].pointer, ""], False)
    text.free(numbers)


def prefix_by_bin(text: Text, box: PrefixByBin, read: Sequence[Array], made: Sequence[Array]) -> None:
    """Write a `PrefixByBin`: one pass in the order of the elements, and one against it."""
    ins, d = tuple([space for _, space in read]), box.monoid.width
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

    with text.each([m]) as (k,):
        i = w.set(f"sub i64 {m - 1}, {k}") if backwards else k
        bin_ = own.found(index, i)
        there = own.inside(bin_)
        with w.where(there), own.element(i, bin_) as (known, source, target):
            x, places = binned.values(w, what, i, source, arrays), own.places(target)
            old = own.read(places)
            note(known, old, source)
            both = binned.joined(w, what, x, old) if backwards else binned.joined(w, what, old, x)
            own.write(binned.chosen(w, what, known, both, x), places)
        with w.otherwise(there), text.each([own.width]) as (c,):
            note("false", what.starts, own.nth(own.row(i), c))


WRITERS |= {FoldByBin: fold_by_bin, ArgExtremumByBin: arg_extremum_by_bin, PrefixByBin: prefix_by_bin}
