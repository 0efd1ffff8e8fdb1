"""Folds by bin: a table of each block of values, and tables joined in a tree, or what stands before each block and after it.

Only elements that are there are joined: a bin in which a block has no value takes no part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import scalar
from catad.category.spaces import Tensor
from catad.chunks.parts import Window, blocks_of
from catad.chunks.plan import Plan
from catad.chunks.rules.indexing import cut_bins, from_start, to_positions
from catad.chunks.rules.present import fold_present, joined, present
from catad.chunks.rules.table import by_boxes, rule
from catad.chunks.wires import At, Chunked, Local
from catad.linear.families.contract import repeated
from catad.linear.families.gather import Gathered, ScatterAdded, rows_of
from catad.linear.families.reindex import reshaped
from catad.linear.structure import cast
from catad.vector.bins.fold_by_bin import FoldByBin
from catad.vector.bins.prefixes_by_bin import PrefixByBin
from catad.vector.folds.arg_extremum import ArgExtremumByBin
from catad.vector.folds.leave_one_out import LeaveOneOutProductByBin
from catad.vector.folds.monoid import with_position
from catad.vector.pointwise.map import mapped
from catad.vector.scans.scan import scanned

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

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
    k = table[0]
    wanted = cut_bins(outs[0], 0, reads, table)

    def lay(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        index, *values, start = wires
        at = from_start(b, index, start, sizes[k], primitive.bins)
        made = b.add(FoldByBin(monoid, sizes[k]), at, *values)
        return [*made, repeated(b, _there(b, at, sizes[k]), (0,), made[0].shape)]

    made = [(space, table) for space in (*outs, Tensor(outs[0].shape, np.bool_))]
    found, axes = plan.labelled("fold by bin", reads, made, lay, wanted=wanted, starts=[k])
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


@rule(LeaveOneOutProductByBin, cut="along the values: as its products in a longer range, by bin", exchanged="tables, in a tree")
def _products_by_bin(
    plan: Plan, primitive: LeaveOneOutProductByBin, ins: Sequence[Chunked], outs: Sequence[Tensor]
) -> Sequence[Chunked]:
    if len(ins[1].parts[0]) == len(ins[0].parts[0]) == 1:
        reads, table = _labels(ins[:2])
        reads.append((ins[2], table))
        local = lambda b, wires, sizes: b.add(primitive, *wires)  # noqa: E731
        return plan.labelled("products of others by bin", reads, [(outs[0], reads[1][1])], local, whole=(0, table[0]))[0]
    return by_boxes(plan, ins[:2], lambda b, wires: [b.apply(primitive.exact, tuple(wires))])


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
        local = lambda b, wires, sizes: b.add(primitive, *wires)  # noqa: E731
        return plan.labelled("prefixes by bin", reads, [(space, reads[1][1]) for space in outs], local, whole=[0])[0]

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
    order = sorted(cuts, key=lambda k: (len(cuts[k].starts), cuts[k]))
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
