"""Running folds by bin on a GPU: which kernels, in which order, on which words."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from catad import scalar
from catad.arrays import common_module
from catad.engine.cuda.bins import THREADS, WORDS, Accumulate, Finish, Folded, Onto, room
from catad.engine.cuda.kernel import Code, Device, code_of
from catad.engine.cuda.written import added_at_one
from catad.engine.machine import Compiled
from catad.engine.stages.bin_boxes import contiguous, summed, sums, with_own_indices
from catad.engine.stages.bins import Bins, Fold, Given, Member
from catad.linear.gather import Indexing, ScatterAdded, positions
from catad.scalar import Function
from catad.scalar.llvm_writer import literal
from catad.spaces import Tensor
from catad.vector.overwrite import AddedAt


def kind_of(what: Bins) -> str:
    """How a fold by bin is made of operations whose order does not matter: a kind of `bins.WORDS`, "" where it is not."""
    if len(what.states) != 1 or what.values[0] == "" or what.outs[0] == "":
        return ""
    op, dtype = scalar.recognise(what.op), np.dtype(what.states[0])
    if op == "add" and dtype.kind in "iuf" and what.starts[0] == literal(0, dtype):
        return "exact" if dtype.kind == "f" else "sum"
    if op in ("min", "max") and (dtype.kind in "iu" or (dtype.kind == "f" and _passes_nan_on(what.op))):
        return op
    return ""


def _passes_nan_on(op: Function) -> bool:
    """True where NaN as either operand is the result: other minima and maxima depend on where it stands."""
    (output,) = op.outputs
    return output.op in ("minimum", "maximum")


class AtomicFold:
    """A fold by bin of so many elements of so many numbers, by atomics."""

    def __init__(
        self, device: Device, fold: Fold, shape: tuple[int, tuple[int, ...]], finish: type[Finish] = Finish
    ) -> None:
        self.device, self.fold, (self.count, rest) = device, fold, shape
        self.width = math.prod(rest)
        self.places, self.kind = fold.bins * self.width, kind_of(fold.what)
        self.kinds = ("peak", "exact") if self.kind == "exact" else (self.kind,)
        what = fold.what._replace(rows=True, flagged=False)
        made = [Folded(what, kind, room(self.places, kind)) for kind in self.kinds]
        self.codes = [code_of(Accumulate, one, device.dialect) for one in made]
        self.finish: Code = code_of(finish, made[-1]._replace(places=0), device.dialect)

    @property
    def text(self) -> str:
        """The PTX of all launches."""
        return "".join([code.ptx.text for code in (*self.codes, self.finish)])

    @property
    def seconds(self) -> float:
        """The time that compiling took."""
        return sum([code.ptx.seconds for code in (*self.codes, self.finish)])

    def __call__(self, given: Given, more: Sequence[Any] = ()) -> Any:
        """The result (bins, *rest); the last kernel reads more arrays."""
        device = self.device
        out = device.empty((self.fold.bins, *given.rest), np.dtype(self.fold.what.outs[0]))
        if not self.places:
            return out
        bits = max(self.count - 1, 0).bit_length()
        work = self.count * self.width
        numbers = array("q", [work, self.width, self.fold.bins, self.places, bits])
        words = [device.zeros(WORDS[kind] * self.places) for kind in self.kinds]
        reads = [device.address(a) for a in (given.index, *[v for v in given.values if v is not None])]
        peaks = device.address(words[0])  # of integers and extrema nobody reads them
        for code, own in zip(self.codes, words, strict=True):
            if work:
                device.launch(code, min(-(-work // THREADS), device.most), numbers, [*reads, peaks, device.address(own)])
        places = [peaks, *[device.address(a) for a in (words[-1], out, *more)]]
        device.launch(self.finish, min(-(-self.places // THREADS), device.most), numbers, places)
        return out


class AtomicFolds(Compiled):
    """Members on the arrays of all of them, one after the other: a result, or those of all of them in their order."""

    def __init__(self, device: Device, members: Sequence[Member], arity: Sequence[int]) -> None:
        self.members, self.arity = tuple(members), tuple(arity)
        self.folds = [AtomicFold(device, member.fold, member.shape) for member in members]

    @property
    def seconds(self) -> tuple[float, ...]:
        """The time that compiling took."""
        return tuple([fold.seconds for fold in self.folds])

    def prepared(self, ins: tuple[Tensor, ...]) -> str:
        """Compile; the PTX."""
        return "".join([fold.text for fold in self.folds])

    def moved(self, arrays: Sequence[Any], outs: Sequence[Any]) -> int:
        """The bytes of what members read, each array once, and of the results."""
        return super().moved(arrays[: sum(self.arity)], outs)

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        self.seconds  # noqa: B018  # what cannot be printed is known before anything is started
        made, at = [], 0
        for member, fold, count in zip(self.members, self.folds, self.arity, strict=True):
            made.append(member.result([fold(member.given(*arrays[at : at + count]))]))
            at += count
        return made[0] if len(made) == 1 else made


def multi_fold(device: Device, members: Sequence[Member], arity: Sequence[int]) -> Compiled | None:
    """Kernels for folds of the same elements by bin; None where one must be sorted by bin, as its array code does."""
    return AtomicFolds(device, members, arity) if all(kind_of(member.fold.what) for member in members) else None


def scatter(device: Device, put: ScatterAdded, ins: tuple[Tensor, ...]) -> Compiled | None:
    """Kernels for sums at places; None for truth values."""
    return None if ins[1].dtype.kind == "b" else AtomicFolds(device, [at_places(put.how, ins)], (2,))


def at_places(how: Indexing, ins: tuple[Tensor, ...]) -> Member:
    """The sums of (indices, values) at places as a fold by bin: of rows, of numbers with indices of their own, or of numbers
    whose places in the flattened result are computed first."""
    put = ScatterAdded(how)
    if set(how.by).isdisjoint(how.src):
        return summed(put, ins)
    return with_own_indices(put, ins) or _at_flat(how, ins)


def _at_flat(how: Indexing, ins: tuple[Tensor, ...]) -> Member:
    shape, count = how.shape(how.src), ins[1].size
    fold = Fold(sums(np.dtype(np.int64), ins[1].dtype, False), math.prod(shape))

    def given(index: Any, v: Any) -> Given:
        flat = positions(common_module([index]), how, index, v.shape)
        return Given(contiguous(flat).reshape(-1), [contiguous(v).reshape(-1)], ())

    return Member(fold, (count, ()), given, lambda outs: outs[0].reshape(shape))


class SumsOnto(Compiled):
    """`AddedAt`: a fold by bin of the values, whose last kernel adds what they are added to."""

    def __init__(self, device: Device, how: Indexing, ins: tuple[Tensor, ...]) -> None:
        self.member = at_places(how, (ins[0], ins[2]))
        self.fold = AtomicFold(device, self.member.fold, self.member.shape, Onto)
        rows = set(how.by).isdisjoint(how.src)
        self.axis = how.axis if rows else 0  # other folds have their places in the order of the result

    @property
    def seconds(self) -> tuple[float, ...]:
        """The time that compiling took."""
        return (self.fold.seconds,)

    def prepared(self, ins: tuple[Tensor, ...]) -> str:
        """Compile; the PTX."""
        return self.fold.text

    def __call__(self, xp: Any, index: Any, x: Any, values: Any) -> Any:
        self.seconds  # noqa: B018  # as above
        onto = contiguous(xp.moveaxis(x, self.axis, 0))
        return self.member.result([self.fold(self.member.given(index, values), (onto,))])


def added(device: Device, box: AddedAt, ins: tuple[Tensor, ...]) -> Compiled | None:
    """Kernels for sums added to an array at places; None for truth values."""
    if ins[1].dtype.kind == "b":
        return None
    return added_at_one(device, box.how, ins) or SumsOnto(device, box.how, ins)
