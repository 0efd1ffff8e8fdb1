"""Boxes that fold by bin, as data: how arrays are brought into rows, and what is known about the operator."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from catad import scalar
from catad.arrays import common_module
from catad.boxes import Primitive
from catad.engine.stages.bins import Before, Bins, Fold, Given, Member
from catad.linear.gather import ScatterAdded
from catad.scalar import Function
from catad.scalar.llvm_writer import literal
from catad.spaces import Tensor
from catad.vector.fold_by_bin import FoldByBin
from catad.vector.monoid import Monoid

SPARSE = 4  # places for each element, from which on a scatter only touches those that elements go to
_ADD = Function.make(2, [scalar.apply("add", scalar.param(0), scalar.param(1))])
_EXACT = ("add", "mul")  # recognised operators with op(neutral, x) = x to the last bit (sums of floats are `ScatterAdded`s)


def is_member(primitive: Primitive, ins: tuple[Tensor, ...]) -> bool:
    """True where a box in these spaces may share a pass over the elements that it folds by bin."""
    return isinstance(primitive, FoldByBin) or (isinstance(primitive, ScatterAdded) and is_dense(primitive, ins))


def member(primitive: Primitive, ins: tuple[Tensor, ...], before: Before | None = None) -> Member:
    """Such a box as a part of a pass."""
    if isinstance(primitive, FoldByBin):
        return fold(primitive, ins, before)
    assert isinstance(primitive, ScatterAdded)
    return summed(primitive, ins, before)


def bins_of(
    monoid: Monoid, ins: tuple[Tensor, ...], values: tuple[str, ...], outs: tuple[str, ...], before: Before | None = None
) -> Bins:
    """The `Bins` that are compiled for an operator at these spaces of (indices, values...)."""
    states = tuple([name or np.dtype(np.int64).str for name in values])
    starts = tuple([literal(e, np.dtype(s)) for e, s in zip(monoid.neutral, states, strict=True)])
    rows = math.prod(ins[1].shape[1:]) != 1
    flagged = scalar.recognise((monoid.lifts or monoid).op) not in _EXACT or np.dtype(states[-1]).kind != "f"
    return Bins(monoid.op, ins[0].dtype.str, values, states, starts, flagged, outs, rows, before)


def fold(box: FoldByBin, ins: tuple[Tensor, ...], before: Before | None = None) -> Member:
    """`FoldByBin`, of values that are computed first."""
    names = tuple([s.dtype.str for s in ins[1:]])
    made = Fold(bins_of(box.monoid, ins, names, names, before), box.bins)

    def given(*arrays: Any) -> Given:
        index, *values = [contiguous(a) for a in arrays]
        return Given(index, values, values[0].shape[1:])

    return Member(made, (ins[0].size, ins[1].shape[1:]), given, lambda outs: outs if len(outs) > 1 else outs[0])


def summed(put: ScatterAdded, ins: tuple[Tensor, ...], before: Before | None = None) -> Member:
    """A `ScatterAdded` for arguments in these spaces, (index, v) to x or what v is computed of, as sums by bin."""
    how, dtype = put.how, ins[1].dtype
    rest = tuple([label for label in how.src if label != how.src[how.axis]])
    shape = how.shape(rest)
    fold = Fold(sums(ins[0].dtype, dtype, math.prod(shape) != 1, before), how.bins)
    order = [how.dst.index(label) for label in (*how.by, *rest)]

    def given(index: Any, *values: Any) -> Given:
        lined = [contiguous(a.transpose(order)).reshape(index.size, *shape) for a in values]
        return Given(contiguous(index).reshape(-1), lined, shape)

    return Member(fold, (ins[0].size, shape), given, lambda outs: np.moveaxis(outs[0], 0, how.axis))


def sums(index: np.dtype, dtype: np.dtype, rows: bool, before: Before | None = None, own: bool = False) -> Bins:
    """Sums by bin of numbers of a dtype, in double precision where they are floats."""
    total = np.dtype(np.float64) if dtype.kind == "f" else dtype
    starts = (literal(0, total),)
    return Bins(_ADD, index.str, (dtype.str,), (total.str,), starts, False, (dtype.str,), rows, before, own)


def with_own_indices(put: ScatterAdded, ins: tuple[Tensor, ...]) -> Member | None:
    """A `ScatterAdded` along the first axis in which numbers of a row have their own indices, as positions of extrema."""
    how = put.how
    rest = how.src[1:]
    others = tuple([label for label in how.by if label not in rest])
    if how.axis or not set(rest) & set(how.by) or sorted(how.dst) != sorted((*others, *rest)):
        return None
    shape, count = how.shape(rest), math.prod(how.shape(others))
    fold = Fold(sums(ins[0].dtype, ins[1].dtype, True, own=True), how.bins)
    order = (*others, *rest)
    by = [label for label in order if label in how.by]

    def given(index: Any, v: Any) -> Given:
        lined = index.transpose([how.by.index(label) for label in by])
        lined = lined[tuple([slice(None) if label in how.by else None for label in order])]
        index = contiguous(common_module([index]).broadcast_to(lined, how.shape(order)))
        v = contiguous(v.transpose([how.dst.index(label) for label in order]))
        return Given(index.reshape(count, *shape), [v.reshape(count, *shape)], shape)

    return Member(fold, (count, shape), given, lambda outs: outs[0])


def is_dense(put: ScatterAdded, ins: tuple[Tensor, ...]) -> bool:
    """True where a `ScatterAdded` in these spaces is a fold by bin over all places, which may compute its values as it reads."""
    rows = set(put.how.by).isdisjoint(put.how.src)
    return rows and ins[1].dtype.kind != "b" and are_many(ins[1].size, math.prod(put.how.shape(put.how.src)))


def are_many(elements: int, places: int) -> bool:
    """True where so many elements touch so many places that each of these is gone through."""
    return elements * SPARSE > places


def contiguous(array: Any) -> Any:
    """The array with its numbers in order, of any array library."""
    return array if array.flags.c_contiguous else array.copy()
