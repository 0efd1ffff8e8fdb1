"""`Gather` and `ScatterAdd`: reading and adding by an index array; each is the transpose of the other.

Axes carry labels as in `Delta`. With `src` the labels of the indexed array, one of which is the indexed axis, `index` those of
the index array and `dst` those of the entries read:

    gather:       v[dst] = w * x[src, with the indexed axis at index[...]]        (zero where the index is out of range)
    scatter-add:  x[src, with the indexed axis at index[...]] += w * v[dst]       (dropped where the index is out of range)

The weight `w` is optional. A selection, a permutation, a histogram and the one-hot row of a minimum are of this form.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from catad import upward
from catad.category.boxes import Primitive, box
from catad.category.spaces import Tensor
from catad.linear.families.contract import Labels, contract, repeated
from catad.linear.matrix import pairwise_sum
from catad.linear.matrix.columns import images
from catad.linear.matrix.entries import Entries, of_moves
from catad.linear.matrix.segment_sums import segment_sums
from catad.linear.solving.solver import Solver, divisor, singular
from catad.linear.structure import Rule, Structure, cast, family

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

FULL = 32  # numbers of a position, on average, that are added one after the other


class Indexing(NamedTuple):
    """The labels of `src`, of the index array and of `dst`, which tie their axes; `src[axis]` is the indexed axis."""

    src: Labels
    axis: int
    by: Labels
    dst: Labels
    sizes: tuple[int, ...]

    def shape(self, labels: Labels) -> tuple[int, ...]:
        return tuple([self.sizes[label] for label in labels])

    @property
    def bins(self) -> int:
        """The size of the indexed axis."""
        return self.sizes[self.src[self.axis]]

    @property
    def rest(self) -> Labels:
        """The labels of `src` but the indexed one."""
        return (*self.src[: self.axis], *self.src[self.axis + 1 :])

    @property
    def is_plain(self) -> bool:
        """False where numbers of a row have indices of their own."""
        return sorted((*self.rest, *self.by)) == sorted(self.dst) and len(set(self.dst)) == len(self.dst)

    def carried(self, index: bool, size: int) -> Indexing:
        """The same with a new leading axis in `src` and `dst`, and in the index array if it has one too."""
        new = len(self.sizes)
        rows = (new, *self.by) if index else self.by
        return Indexing((new, *self.src), self.axis + 1, rows, (new, *self.dst), (*self.sizes, size))


def lanes_of(how: Indexing, flags: tuple[bool, ...], size: int) -> Indexing:
    """The same with a new leading axis of the result, which the index array and the array that is read have where flagged."""
    carried = how.carried(flags[0], size)
    if flags[1]:
        return carried
    return carried._replace(src=carried.src[1:], axis=carried.axis - 1)  # the new axis is one of the index array only


def rows_of(shape: Sequence[int], index_shape: Sequence[int], axis: int = 0) -> Indexing:
    """Reading along one axis by an index array of any rank, whose axes take the place of the indexed one."""
    src = tuple(range(len(shape)))
    index = tuple(range(len(shape), len(shape) + len(index_shape)))
    return Indexing(src, axis, index, (*src[:axis], *index, *src[axis + 1 :]), (*shape, *index_shape))


def along_axis(shape: tuple[int, ...], axis: int) -> Indexing:
    """Reading along an axis by an index array of the same shape: `v[.., k, ..] = x[.., index[.., k, ..], ..]`."""
    n = len(shape)
    src = tuple(range(n))
    by = (*src[:axis], n, *src[axis + 1 :])
    return Indexing(src, axis, by, by, (*shape, shape[axis]))


@box
class Gathered(Primitive):
    """The primitive that applies an unweighted `Gather`: (index, x) to v."""

    drawn_as = "linear"
    how: Indexing
    arity = 2

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        assert ins[0].shape == self.how.shape(self.how.by) and ins[1].shape == self.how.shape(self.how.src)
        return (Tensor(self.how.shape(self.how.dst), ins[1].dtype),)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        index, x = arrays
        how = self.how
        inside = (index >= 0) & (index < how.bins)
        if how.bins == 0:
            return xp.zeros(how.shape(how.dst), dtype=x.dtype)
        whole = xp is np and bool(inside.all())
        safe = index if whole else xp.where(inside, index, 0)
        position = [_along(xp, how, label) for label in how.src]
        if set(how.by).isdisjoint(how.src):
            signed = safe.astype(np.int64) if safe.dtype == np.uint64 else safe  # NumPy 2.0 takes none without a sign
            out = xp.take(x, signed, axis=how.axis)
            order = [*how.src[: how.axis], *how.by, *how.src[how.axis + 1 :]]
            out = xp.transpose(out, [order.index(label) for label in how.dst])
        else:
            position[how.axis] = _spread(xp, safe, how.by, how.dst)
            out = xp.broadcast_to(x[tuple(position)], how.shape(how.dst))
        return out if whole else xp.where(_spread(xp, inside, how.by, how.dst), out, out.dtype.type(0))

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        structure = Gather(self.how, None, ins[0].dtype, ins[1].dtype, ins[1].dtype, None)
        return Rule(structure, lambda wires, _: wires[:1])

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        return b.add(Gathered(lanes_of(self.how, flags, size)), *ins)

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return outs[0].size


@box
class ScatterAdded(Primitive):
    """The primitive that applies an unweighted `ScatterAdd`: (index, v) to x; deterministic on every array library."""

    drawn_as = "linear"
    how: Indexing
    arity = 2

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        assert ins[0].shape == self.how.shape(self.how.by) and ins[1].shape == self.how.shape(self.how.dst)
        return (Tensor(self.how.shape(self.how.src), ins[1].dtype),)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        index, v = arrays
        how = self.how
        size = math.prod(how.shape(how.src))
        flat = positions(xp, how, index, v.shape).reshape(-1)
        return add_up(xp, flat, v.reshape(-1), size).reshape(how.shape(how.src))

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        structure = ScatterAdd(self.how, None, ins[0].dtype, ins[1].dtype, ins[1].dtype, None)
        return Rule(structure, lambda wires, _: wires[:1])

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        return b.add(ScatterAdded(self.how.carried(flags[0], size)), ins[0], *spread_beside(b, ins[1:], flags[1:], size))

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return ins[1].size


def spread_over(b: Builder, wire: Wire, size: int) -> Wire:
    """The wire repeated along a new leading axis."""
    return repeated(b, wire, range(1, 1 + wire.ndim), (size, *wire.shape))


def spread_beside(b: Builder, wires: Sequence[Wire], flags: Sequence[bool], size: int) -> list[Wire]:
    """The wires with a leading axis, which the flagged ones have already."""
    return [w if flag else spread_over(b, w, size) for w, flag in zip(wires, flags, strict=True)]


def positions(xp: Any, how: Indexing, index: Any, shape: tuple[int, ...]) -> Any:
    """The position in the flattened `src` of each entry of an array with labels `dst`; the size of `src` where it is dropped."""
    inside = (index >= 0) & (index < how.bins)
    flat: Any = _spread(xp, xp.where(inside, index, 0).astype(np.int64), how.by, how.dst) * _stride(how, how.axis)
    for k, label in enumerate(how.src):
        if k != how.axis:
            flat = flat + _spread(xp, xp.arange(how.sizes[label]), (label,), how.dst) * _stride(how, k)
    flat = xp.where(_spread(xp, inside, how.by, how.dst), flat, math.prod(how.shape(how.src)))
    return xp.broadcast_to(flat, shape)


def _stride(how: Indexing, k: int) -> int:
    return math.prod(how.sizes[label] for label in how.src[k + 1 :])


def _spread(xp: Any, array: Any, labels: Labels, dst: Labels) -> Any:
    """The array with its axes in the places that its labels have in `dst`, size 1 elsewhere."""
    order = [label for label in dst if label in labels]
    array = xp.transpose(array, [labels.index(label) for label in order])
    return array[tuple(slice(None) if label in labels else None for label in dst)]


def _along(xp: Any, how: Indexing, label: int) -> Any:
    return _spread(xp, xp.arange(how.sizes[label]), (label,), how.dst) if label in how.dst else None


def add_up(xp: Any, flat: Any, values: Any, size: int) -> Any:
    """The sums of the values that share a position; position `size` is dropped. The order of addition is fixed."""
    if xp is np:
        if values.dtype.kind == "f":
            return _sums(flat, values, size + 1)[:size].astype(values.dtype, copy=False)
        out = np.zeros(size + 1, dtype=values.dtype)
        np.add.at(out, flat, values)
        return out[:size]
    order = xp.argsort(flat, kind="stable")
    starts = xp.searchsorted(flat[order], xp.arange(size + 1))  # of all positions: nobody has to ask how many there are
    wide = values[order].astype(np.float64 if values.dtype.kind == "f" else values.dtype)
    return segment_sums(xp, wide, starts)[:size].astype(values.dtype)


def _sums(flat: Any, values: Any, size: int) -> Any:
    """The sums of each position, in double precision; of doubles, block by block where many share a position."""
    length = FULL * size
    count = len(values) // length
    if count < 2 or values.dtype.itemsize < 8:
        return np.bincount(flat, weights=values, minlength=size)
    whole = count * length
    apart = (flat[:whole].reshape(count, length) + size * np.arange(count)[:, None]).reshape(-1)
    blocks = np.bincount(apart, weights=values[:whole], minlength=count * size).reshape(count, size)
    rest = np.bincount(flat[whole:], weights=values[whole:], minlength=size)
    return pairwise_sum.total(np, np.concatenate([blocks, rest[None]]), [0])


@family
class _Indexed(Structure):
    """The common part of `Gather` and `ScatterAdd`: slots (index, weight if there is one)."""

    how: Indexing
    weight: Labels | None
    index_dtype: np.dtype[Any]
    src_dtype: np.dtype[Any]
    dst_dtype: np.dtype[Any]
    weight_dtype: np.dtype[Any] | None

    @cached_property
    def src(self) -> tuple[Tensor, ...]:
        return (Tensor(self.how.shape(self.how.src), self.src_dtype),)

    @cached_property
    def dst(self) -> tuple[Tensor, ...]:
        return (Tensor(self.how.shape(self.how.dst), self.dst_dtype),)

    @cached_property
    def slots(self) -> tuple[Tensor, ...]:
        index = Tensor(self.how.shape(self.how.by), self.index_dtype)
        if self.weight is None:
            return (index,)
        return (index, Tensor(self.how.shape(self.weight), self.weight_dtype))

    @cached_property
    def nnz(self) -> int:
        return self.dst[0].size

    @property
    def entry_count(self) -> int:
        return self.nnz

    def weighted(self, v: Wire, slots: Sequence[Wire]) -> Wire:
        """`v` times the weight."""
        if self.weight is None:
            return v
        how = self.how
        return contract(v.builder, [self.weight, how.dst], [slots[1], v], how.dst, how.sizes)


@family
class Gather(_Indexed):
    """Reading by index: see the module."""

    @property
    def dom(self) -> tuple[Tensor, ...]:
        return self.src

    @property
    def cod(self) -> tuple[Tensor, ...]:
        return self.dst

    @property
    def T(self) -> ScatterAdd:
        return ScatterAdd(self.how, self.weight, self.index_dtype, self.src_dtype, self.dst_dtype, self.weight_dtype)

    def apply(self, b: Builder, slots: Sequence[Wire], xs: Sequence[Wire | None]) -> list[Wire | None]:
        (x,) = xs
        if x is None:
            return [None]
        (v,) = b.add(Gathered(self.how), slots[0], x)
        return [cast(self.weighted(v, slots), self.dst_dtype)]

    @property
    def kind(self) -> str:
        return "gather" if self.weight is None else "weighted gather"

    def entries(self, xp: Any, slots: Sequence[Any]) -> Entries:
        """One in each row that reads an index in range."""
        rows, columns, _ = of_moves(replace(self, weight=None, weight_dtype=None), xp, slots[:1])
        ones = xp.ones(self.dom[0].shape, dtype=self.dom[0].dtype)
        values = xp.asarray(upward.run_structure(self, xp, slots, [ones])[0]).reshape(-1)
        return Entries(rows, columns, values[rows])

    def inverted(self, xp: Any, slots: Sequence[Any]) -> tuple[Gather, Any]:
        """The gather without its weight, and the weights, of one that reads each number once; else it is singular."""
        plain = replace(self, weight=None, weight_dtype=None)
        there = xp.ones(self.dst[0].shape, dtype=self.dst_dtype)
        counts = xp.asarray(upward.run_structure(replace(plain.T, src_dtype=self.dst_dtype), xp, slots[:1], [there])[0])
        if bool((counts != 1).any()):
            raise singular(self, f"{int((counts == 0).sum())} numbers are read never, {int((counts > 1).sum())} more than once")
        read = xp.ones(self.src[0].shape, dtype=self.src_dtype)
        return plain, divisor(xp, upward.run_structure(self, xp, slots, [read])[0], self)

    def solver(self, xp: Any, slots: Sequence[Any], rtol: float | None = None) -> Solver:
        plain, weights = self.inverted(xp, slots)
        return Solver("permutation", "O(n)", lambda ys: images(plain.T, xp, slots[:1], [ys[0] / weights], len(ys[0])))


@family
class ScatterAdd(_Indexed):
    """Adding by index: see the module."""

    @property
    def dom(self) -> tuple[Tensor, ...]:
        return self.dst

    @property
    def cod(self) -> tuple[Tensor, ...]:
        return self.src

    @property
    def T(self) -> Gather:
        return Gather(self.how, self.weight, self.index_dtype, self.src_dtype, self.dst_dtype, self.weight_dtype)

    def apply(self, b: Builder, slots: Sequence[Wire], xs: Sequence[Wire | None]) -> list[Wire | None]:
        (v,) = xs
        if v is None:
            return [None]
        (x,) = b.add(ScatterAdded(self.how), slots[0], self.weighted(v, slots))
        return [cast(x, self.src_dtype)]

    @property
    def kind(self) -> str:
        return "scatter-add" if self.weight is None else "weighted scatter-add"

    def entries(self, xp: Any, slots: Sequence[Any]) -> Entries:
        rows, columns, values = self.T.entries(xp, slots)
        return Entries(columns, rows, values)

    def solver(self, xp: Any, slots: Sequence[Any], rtol: float | None = None) -> Solver:
        plain, weights = self.T.inverted(xp, slots)
        return Solver("permutation", "O(n)", lambda ys: [images(plain, xp, slots[:1], ys, len(ys[0]))[0] / weights])
