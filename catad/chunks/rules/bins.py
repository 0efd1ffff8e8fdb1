"""Folds by bin: a table of each block of values, and tables joined in a tree, or what stands before each block and after it.

Only elements that are there are joined: a bin in which a block has no value takes no part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import scalar
from catad.category.boxes import box, of_fields
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.category.wiring import share
from catad.chunks.parts import Window, blocks_of, in_order
from catad.chunks.plan import Plan
from catad.chunks.rules.folds import fold_first
from catad.chunks.rules.indexing import cut_bins, from_start, to_positions
from catad.chunks.rules.sequences.present import fold_present, joined, leaves_alone, present
from catad.chunks.rules.sequences.winners import NORMAL
from catad.chunks.rules.table import WHOLE, itself, rule
from catad.chunks.wires import At, Chunked, Local
from catad.linear.families.contract import repeated
from catad.linear.families.gather import Gathered, ScatterAdded, rows_of
from catad.linear.families.reindex import reshaped
from catad.linear.structure import cast
from catad.scalar import Function
from catad.vector.bins.fold_by_bin import FoldByBin
from catad.vector.bins.prefixes_by_bin import PrefixByBin
from catad.vector.decomposed import one_term
from catad.vector.folds.arg_extremum import ArgExtremumByBin
from catad.vector.folds.extended_range import TIMES, any_number, divided_in_bins, product_of_any
from catad.vector.folds.leave_one_out import LeaveOneOutProductByBin
from catad.vector.folds.monoid import with_position
from catad.vector.folds.shortcut import Formula, Read, Shortcut
from catad.vector.pointwise.map import mapped
from catad.vector.scans.scan import scanned

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires

_SOME = scalar.apply("gt", scalar.param(0), scalar.const(0))
_FOUND = scalar.apply("ge", scalar.param(0), scalar.const(0))


def _there(b: Builder, index: Wire, bins: int) -> Wire:
    """Which bins some indices name."""
    (one,) = mapped(b, [scalar.cast(np.int64, scalar.const(1))], [index])
    return mapped(b, [_SOME], list(b.add(ScatterAdded(rows_of((bins,), index.shape)), index, one)))[0]


def _labels(ins: Sequence[Chunked]) -> tuple[list[tuple[Chunked, Sequence[int]]], tuple[int, ...]]:
    """What is read, with labels, and the labels of a table: its bins are the last label."""
    axes = tuple(range(ins[1].ndim))
    return [(ins[0], (0,)), *[(x, axes) for x in ins[1:]]], (ins[1].ndim, *axes[1:])


@rule(FoldByBin, cut="along the values: tables of blocks; along others: local", exchanged="tables, in a tree")
def _fold_by_bin(plan: Plan, primitive: FoldByBin, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    monoid, (reads, table) = primitive.monoid, _labels(ins)
    k, simple = table[0], leaves_alone(monoid)
    wanted = cut_bins(outs[0], 0, reads, table)

    def lay(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        index, *values, start = wires
        at = from_start(b, index, start, sizes[k], primitive.bins)
        made = b.add(FoldByBin(monoid, sizes[k]), at, *values)
        return made if simple else [*made, repeated(b, _there(b, at, sizes[k]), (0,), made[0].shape)]

    made = [(space, table) for space in (outs if simple else (*outs, Tensor(outs[0].shape, np.bool_)))]
    found, axes = plan.labelled("fold by bin", reads, made, lay, wanted=wanted, starts=[k])
    if simple:
        return plan.combined("join of tables", found, partial(fold_first, monoid), axes)
    return plan.combined("join of tables", found, partial(fold_present, monoid=monoid), axes)[:-1]


@rule(ArgExtremumByBin, cut="along the values: tables of blocks; along others: local", exchanged="tables, in a tree")
def _extremum_by_bin(
    plan: Plan, primitive: ArgExtremumByBin, ins: Sequence[Chunked], outs: Sequence[Tensor]
) -> Sequence[Chunked]:
    monoid, (reads, table) = primitive.monoid, _labels(ins[:2])
    k, dtype = table[0], outs[0].dtype
    wanted = cut_bins(outs[0], 0, reads, table)

    def lay(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        index, values, first, start = wires
        at = from_start(b, index, first, sizes[k], primitive.bins)
        tops = b.add(FoldByBin(monoid, sizes[k]), at, values)
        (own,) = b.add(ArgExtremumByBin(monoid, sizes[k]), at, values, *tops)
        return [*tops, cast(to_positions(b, own, start), dtype)]

    def fold(b: Builder, wires: Sequence[Wire]) -> Sequence[Wire]:
        return fold_present(b, [*wires, *mapped(b, [_FOUND], wires[1:])], with_position(monoid))[:-1]

    made = [(Tensor(outs[0].shape, ins[1].space.dtype), table), (outs[0], table)]
    found, axes = plan.labelled("extrema by bin", reads, made, lay, wanted=wanted, starts=[k, 0])
    return plan.combined("join of tables", found, fold, axes)[1:]


@share
@of_fields
class OneOfTotals(D):
    """(indices, values) to the products of the bins in a range without end, which are two numbers: one of these."""

    bins: int
    which: int

    def lay_out(self, b: Builder, x: Wires) -> Any:
        index, values = x
        numbers = mapped(b, list(scalar.read(any_number).outputs), [values])
        return b.add(FoldByBin(product_of_any(values.dtype), self.bins), index, *numbers)[self.which]


@share
@of_fields
class Without(D):
    """(indices, values, products of the bins in a range without end, as two numbers) to the products without each value."""

    bins: int

    def lay_out(self, b: Builder, x: Wires) -> Any:
        index, values, *totals = x
        return divided_in_bins(b, self.bins, index, values, totals)


@box
class BlockTotalByBin(Shortcut):
    """(indices, values, products of the bins) to one of the two numbers of the products in a range without end."""

    bins: int
    which: int
    arity = 3
    condition = "normal"

    @property
    def decomposition(self) -> D:
        return one_term(OneOfTotals, self.bins, self.which)

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (Tensor(ins[2].shape, (np.int64, np.float64)[self.which]),)

    def formula(self, ins: tuple[Tensor, ...]) -> Formula | None:
        shape = ins[2].shape
        return Formula(Function.make(1, [NORMAL[self.which]]), (Read(2, tuple(range(len(shape)))),), shape)


@box
class WithoutEachByBin(Shortcut):
    """(indices, values, the two numbers of products in a range without end, the products) to the products without each value."""

    bins: int
    arity = 5
    condition = "normal"

    @property
    def decomposition(self) -> D:
        return one_term(Without, self.bins)

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins[1:2]

    def formula(self, ins: tuple[Tensor, ...]) -> Formula | None:
        plain = LeaveOneOutProductByBin(self.bins).formula((*ins[:2], ins[4]))
        if plain is None:
            return None
        index, product, value = plain.reads
        return plain._replace(reads=(index, Read(4, product.axes), value))


WHOLE[BlockTotalByBin] = WHOLE[WithoutEachByBin] = "it is a part of plans"


@rule(
    LeaveOneOutProductByBin,
    cut="along the values: products of blocks in a range without end, then quotients; along others: local",
    exchanged="tables of products, in a tree",
)
def _products_by_bin(
    plan: Plan, primitive: LeaveOneOutProductByBin, ins: Sequence[Chunked], outs: Sequence[Tensor]
) -> Sequence[Chunked]:
    bins, (reads, table) = primitive.bins, _labels(ins[:2])
    values, totals = reads[1][1], (ins[2], table)
    if not any(0 in labels and len(x.parts[0]) > 1 for x, labels in reads):
        given, whole = [*reads, totals], (0, table[0])
        return plan.labelled("products of others by bin", given, [(outs[0], values)], itself(primitive), whole=whole)[0]
    op = product_of_any(outs[0].dtype)

    def lay_total(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        own = b.add(FoldByBin(TIMES, bins), *wires)
        return [b.add(BlockTotalByBin(bins, k), *wires, *own)[0] for k in range(2)]

    def lay(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        return b.add(WithoutEachByBin(bins), *wires)

    made = [(Tensor(ins[2].shape, dtype), table) for dtype in (np.int64, np.float64)]
    found, axes = plan.labelled("products by bin", reads, made, lay_total)
    found = plan.combined("products of tables", found, partial(fold_first, op), axes)
    reads = [*reads, *[(x, table) for x in found], totals]
    return plan.labelled("products of others by bin", reads, [(outs[0], values)], lay, whole=table[:1])[0]


@rule(
    PrefixByBin,
    cut="along the values: local, and the folds of other blocks; along others: local",
    exchanged="tables, before each block and after it",
)
def _prefixes_by_bin(plan: Plan, primitive: PrefixByBin, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    monoid, bins, (reads, table) = primitive.monoid, primitive.bins, _labels(ins)
    d, rest = monoid.width, ins[1].shape[1:]

    def lay_tables(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        made = b.add(FoldByBin(monoid, bins), *wires)
        return [*made, repeated(b, _there(b, wires[0], bins), (0,), made[0].shape)]

    spaces = [Tensor((bins, *rest), dtype) for dtype in (*[x.space.dtype for x in ins[1:]], np.dtype(np.bool_))]
    totals, axes = plan.labelled("fold by bin", reads, [(space, table) for space in spaces], lay_tables)
    if not axes:
        return plan.labelled("prefixes by bin", reads, [(space, reads[1][1]) for space in outs], itself(primitive), whole=[0])[0]

    def join(b: Builder, wires: Sequence[Wire]) -> Sequence[Wire]:
        first, second = ([_like(b, w, wires) for w in own] for own in (wires[: d + 1], wires[d + 1 :]))
        return joined(b, monoid, first, second)

    carried = []
    for reverse in (False, True):

        def scan(b: Builder, wires: Sequence[Wire], reverse: bool = reverse) -> Sequence[Wire]:
            return scanned(b, present(monoid), wires, 0, True, reverse)

        name = "after each block" if reverse else "before each block"
        carried += plan.before_each(name, totals, partial(fold_present, monoid=monoid), scan, join, reverse)
    return _with_carries(plan, primitive, ins, carried, outs)


def _like(b: Builder, x: Wire, wires: Sequence[Wire]) -> Wire:
    """A wire repeated along its first axis to the size that the largest one has."""
    n = max([w.shape[0] for w in wires])
    return x if x.shape[0] == n else repeated(b, reshaped(b, x, x.shape[1:]), range(1, x.ndim), (n, *x.shape[1:]))


def _with_carries(
    plan: Plan, primitive: PrefixByBin, ins: Sequence[Chunked], carried: Sequence[Chunked], outs: Sequence[Tensor]
) -> list[Chunked]:
    """The prefixes within each block, joined with what stands before it and after it in each bin."""
    reads = _labels(ins)[0]
    monoid, d, x = primitive.monoid, primitive.monoid.width, ins[1]
    cuts = plan.cuts(reads, (), {})
    order = in_order(cuts)
    dim = {k: d for d, k in enumerate(order)}
    windows = [Window(dim[k], cuts[k]) if k in dim else None for k in range(x.ndim)]
    block = blocks_of(dim[0], (1,) * len(cuts[0].starts))
    shown = [plan.read(array, [windows[k] for k in labels]) for array, labels in reads]
    shown += [plan.read(c, [block, None, *windows[1:]]) for c in carried]

    def lay(b: Builder, wires: list[Wire], at: At) -> Sequence[Wire]:
        index, own = wires[0], b.add(primitive, *wires[: 1 + d])
        before, after = [*own[1 : d + 1], own[0]], [*own[d + 2 :], own[d + 1]]
        at_bin = list[Any]()
        for wire in wires[1 + d :]:
            table = reshaped(b, wire, wire.shape[1:])
            at_bin += b.add(Gathered(rows_of(table.shape, index.shape)), index, table)
        made = [*joined(b, monoid, at_bin[: d + 1], before), *joined(b, monoid, after, at_bin[d + 1 :])]
        return _neutral_elsewhere(b, primitive, made)

    box = Local("prefixes by bin", tuple([cuts[k].sizes for k in order]), shown, lay, salt=plan.salt)
    return [box.result(space, [dim.get(k) for k in range(x.ndim)]) for space in outs]


def _neutral_elsewhere(b: Builder, primitive: PrefixByBin, made: Sequence[Wire]) -> list[Wire]:
    """Results, with the neutral element where nothing is there."""
    d, out = primitive.monoid.width, list[Any]()
    for side in (made[: d + 1], made[d + 1 :]):
        out.append(side[d])
        for wire, number in zip(side[:d], primitive.monoid.neutral, strict=True):
            neutral = scalar.const(int(number) if wire.dtype.kind in "iu" else number)
            node = scalar.apply("select", scalar.param(0), scalar.param(1), neutral)
            out += mapped(b, [node], [side[d], wire])
    return out
