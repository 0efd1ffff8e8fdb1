"""Running folds by bin on a GPU: how boxes find their arrays, which kernels run, in which order, on which words."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from catad import scalar
from catad.category.boxes import Primitive
from catad.category.spaces import Tensor
from catad.engine.cuda.bins import WORDS, Accumulate, Finish, Folded, Onto, room
from catad.engine.cuda.indexed_writes import added_at_one
from catad.engine.cuda.kernel import Compiled, Device, code_of, contiguous, start
from catad.engine.stages.bins import Before, Bins, bins_of
from catad.linear.families.gather import Indexing, ScatterAdded, positions
from catad.scalar import Function
from catad.scalar.printing.llvm_writer import literal
from catad.values.arrays import common_module
from catad.vector.bins.fold_by_bin import FoldByBin
from catad.vector.indexing.overwrite import AddedAt

_ADD = Function.make(2, [scalar.apply("add", scalar.param(0), scalar.param(1))])


class Given(NamedTuple):
    """The arguments of a fold: indices (m,) and values (m, *rest), C-contiguous."""

    index: Any
    values: Sequence[Any]
    rest: tuple[int, ...]


class Member(NamedTuple):
    """A box as a fold into so many bins: `given` lays out its arrays, `result` is what it gives of the result (bins, *rest).

    `shape` are the number of elements, and the shape of each.
    """

    what: Bins
    bins: int
    shape: tuple[int, tuple[int, ...]]
    given: Callable[..., Given]
    result: Callable[[Any], Any]


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


# -- boxes as folds by bin


def _folded(box: FoldByBin, ins: tuple[Tensor, ...], before: Before | None) -> Member:
    names = tuple([s.dtype.str for s in ins[1:]])

    def given(*arrays: Any) -> Given:
        index, *values = [contiguous(a) for a in arrays]
        return Given(index, values, values[0].shape[1:])

    what = bins_of(box.monoid, ins, names, names, before)
    return Member(what, box.bins, (ins[0].size, ins[1].shape[1:]), given, lambda out: out)


def _sums(index: np.dtype, dtype: np.dtype, before: Before | None = None, own: bool = False) -> Bins:
    """Sums by bin of numbers of a dtype, in double precision where they are floats."""
    total = np.dtype(np.float64) if dtype.kind == "f" else dtype
    return Bins(_ADD, index.str, (dtype.str,), (total.str,), (literal(0, total),), (dtype.str,), before, own)


def at_places(how: Indexing, ins: tuple[Tensor, ...], before: Before | None = None) -> Member:
    """The sums of (indices, values) at places as a fold by bin: of rows, of numbers with indices of their own, or of numbers
    whose places in the flattened result are computed first."""
    if by_rows(how):
        return _of_rows(how, ins, before)
    return _with_own_indices(how, ins) or _at_flat(how, ins)


def by_rows(how: Indexing) -> bool:
    """True where all numbers of a row have one index."""
    return set(how.by).isdisjoint(how.src)


def _of_rows(how: Indexing, ins: tuple[Tensor, ...], before: Before | None) -> Member:
    rest = tuple([label for label in how.src if label != how.src[how.axis]])
    shape, order = how.shape(rest), [how.dst.index(label) for label in (*how.by, *rest)]

    def given(index: Any, *values: Any) -> Given:
        lined = [contiguous(a.transpose(order)).reshape(index.size, *shape) for a in values]
        return Given(contiguous(index).reshape(-1), lined, shape)

    what = _sums(ins[0].dtype, ins[1].dtype, before)
    return Member(what, how.bins, (ins[0].size, shape), given, lambda out: np.moveaxis(out, 0, how.axis))


def _with_own_indices(how: Indexing, ins: tuple[Tensor, ...]) -> Member | None:
    """Sums along the first axis in which numbers of a row have their own indices, as positions of extrema."""
    rest = how.src[1:]
    others = tuple([label for label in how.by if label not in rest])
    if how.axis or not set(rest) & set(how.by) or sorted(how.dst) != sorted((*others, *rest)):
        return None
    shape, count = how.shape(rest), math.prod(how.shape(others))
    order = (*others, *rest)
    by = [label for label in order if label in how.by]

    def given(index: Any, v: Any) -> Given:
        lined = index.transpose([how.by.index(label) for label in by])
        lined = lined[tuple([slice(None) if label in how.by else None for label in order])]
        index = contiguous(common_module([index]).broadcast_to(lined, how.shape(order)))
        v = contiguous(v.transpose([how.dst.index(label) for label in order]))
        return Given(index.reshape(count, *shape), [v.reshape(count, *shape)], shape)

    return Member(_sums(ins[0].dtype, ins[1].dtype, own=True), how.bins, (count, shape), given, lambda out: out)


def _at_flat(how: Indexing, ins: tuple[Tensor, ...]) -> Member:
    shape, count = how.shape(how.src), ins[1].size

    def given(index: Any, v: Any) -> Given:
        flat = positions(common_module([index]), how, index, v.shape)
        return Given(contiguous(flat).reshape(-1), [contiguous(v).reshape(-1)], ())

    what = _sums(np.dtype(np.int64), ins[1].dtype)
    return Member(what, math.prod(shape), (count, ()), given, lambda out: out.reshape(shape))


# -- kernels


class AtomicFold(Compiled):
    """A fold by bin, by atomics."""

    def __init__(self, device: Device, member: Member, finish: type[Finish] = Finish) -> None:
        self.device, self.member, (self.count, rest) = device, member, member.shape
        self.width = math.prod(rest)
        self.places, kind = member.bins * self.width, kind_of(member.what)
        self.kinds = ("peak", "exact") if kind == "exact" else (kind,)
        made = [Folded(member.what, kind, room(self.places, kind)) for kind in self.kinds]
        self.codes = [code_of(Accumulate, one, device.dialect) for one in made]
        self.finish = code_of(finish, made[-1]._replace(places=0), device.dialect)
        self.parts, self.arity = (*self.codes, self.finish), 1 + len(member.what.reads)

    def moved(self, arrays: Sequence[Any], outs: Sequence[Any]) -> int:
        """The bytes of what the fold reads, each array once, and of the result."""
        return super().moved(arrays[: self.arity], outs)

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        return self.run(arrays[: self.arity])

    def run(self, arrays: Sequence[Any], more: Sequence[Any] = ()) -> Any:
        """The result; the last kernel reads more arrays."""
        self.seconds  # noqa: B018  # what cannot be printed is known before anything is started
        device, member, given = self.device, self.member, self.member.given(*arrays)
        out = device.empty((member.bins, *given.rest), np.dtype(member.what.outs[0]))
        if not self.places:
            return member.result(out)
        bits = max(self.count - 1, 0).bit_length()
        work = self.count * self.width
        numbers = array("q", [work, self.width, member.bins, self.places, bits])
        words = [device.zeros(WORDS[kind] * self.places) for kind in self.kinds]
        for code, own in zip(self.codes, words, strict=True):  # the first words are peaks, of which integers need none
            start(device, code, work, numbers, (given.index, *given.values, words[0], own))
        start(device, self.finish, self.places, numbers, (words[0], words[-1], out, *more))
        return member.result(out)


class SumsOnto(AtomicFold):
    """`AddedAt`: a fold by bin of the values, whose last kernel adds what they are added to."""

    def __init__(self, device: Device, how: Indexing, ins: tuple[Tensor, ...]) -> None:
        super().__init__(device, at_places(how, (ins[0], ins[2])), Onto)
        self.axis = how.axis if by_rows(how) else 0  # other folds have their places in the order of the result
        self.arity = 3

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        index, x, values = arrays
        return self.run((index, values), (contiguous(xp.moveaxis(x, self.axis, 0)),))


def fold_by_bin(
    device: Device, box: FoldByBin, ins: tuple[Tensor, ...], before: Before | None = None
) -> Compiled | None:
    """Kernels for a fold by bin; None where elements must be sorted by bin, as its array code does."""
    member = _folded(box, ins, before)
    return AtomicFold(device, member) if kind_of(member.what) else None


def computes_values(box: Primitive, ins: tuple[Tensor, ...]) -> bool:
    """True where the kernel of a box may compute the values that it folds."""
    if isinstance(box, FoldByBin):
        return kind_of(_folded(box, ins, None).what) != ""
    return isinstance(box, ScatterAdded) and by_rows(box.how) and ins[1].dtype.kind != "b"


def scatter(device: Device, put: ScatterAdded, ins: tuple[Tensor, ...], before: Before | None = None) -> Compiled | None:
    """Kernels for sums at places; None for truth values."""
    return None if ins[1].dtype.kind == "b" else AtomicFold(device, at_places(put.how, ins, before))


def added(device: Device, box: AddedAt, ins: tuple[Tensor, ...]) -> Compiled | None:
    """Kernels for sums added to an array at places; None for truth values."""
    if ins[1].dtype.kind == "b":
        return None
    return added_at_one(device, box.how, ins) or SumsOnto(device, box.how, ins)
