"""Boxes that read and write at indices: indices in blocks, and tables whole or in blocks along the axis that is indexed.

A block of a table takes the indices that fall into it, counted from its start; what a box does with indices out of range is
nothing. So each block of indices meets each block of the table, and the partial results are added, or the one that is there is
chosen. Up to `TABLE` bytes a table is not cut: all tasks read it, or each writes its own, and these are joined in a tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from catad import scalar
from catad.category.spaces import Tensor
from catad.chunks.parts import Ranges
from catad.chunks.plan import Labels, Plan
from catad.chunks.rules.contractions import added
from catad.chunks.rules.pointwise import aligned
from catad.chunks.rules.sequences.present import GREATEST, LAST, PLUS, fold_present
from catad.chunks.rules.table import by_boxes, itself, rule
from catad.chunks.wires import Chunked
from catad.linear.families.clear import ClearedAt
from catad.linear.families.contract import contract, repeated, zeros
from catad.linear.families.gather import Gathered, Indexing, ScatterAdded, rows_of
from catad.linear.families.reindex import reshaped
from catad.vector.bins.sorted_bins import inside
from catad.vector.folds.fold import Fold
from catad.vector.folds.monoid import Monoid
from catad.vector.indexing.flat_index import FlatIndex
from catad.vector.indexing.gather import LastWriter
from catad.vector.indexing.overwrite import AddedAt, LastOnly, OverwrittenAt
from catad.vector.pointwise.generate import Iota
from catad.vector.pointwise.map import mapped

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire
    from catad.scalar import Node

TABLE = 2**26  # bytes of a table, or of indices and values, up to which a task has all of it
BLOCKS = 8  # blocks of a table from which on one task puts it together for all others

_X, _START = scalar.param(0), scalar.param(1)
_FROM_START = scalar.apply("sub", scalar.cast(np.int64, _X), _START)


def from_start(b: Builder, index: Wire, start: Wire, size: int, whole: int) -> Wire:
    """Indices counted from where a block of `size` places starts; as they are where it has all that there are."""
    return index if size == whole else mapped(b, [_FROM_START], [index, start])[0]


def to_positions(b: Builder, own: Wire, start: Wire) -> Wire:
    """Positions within a block as those in the array; -1, which is none, stays."""
    node = scalar.apply("select", scalar.apply("ge", _X, scalar.const(0)), scalar.apply("add", _X, _START), scalar.const(-1))
    return mapped(b, [node], [own, start])[0]


def is_cut(x: Chunked, labels: Labels, some: Sequence[int]) -> bool:
    """Whether an array is cut along one of some labels."""
    return any(label in some and len(sizes) > 1 for sizes, label in zip(x.parts, labels, strict=True))


def together(plan: Plan, x: Chunked, labels: Labels, whole: Sequence[int]) -> Chunked:
    """An array to be read whole along some labels: of many blocks one task makes one."""
    blocks = [len(sizes) for sizes, label in zip(x.parts, labels, strict=True) if label in whole]
    if max(blocks, default=1) < BLOCKS:
        return x
    return plan.labelled("table", [(x, labels)], [(x.space, labels)], lambda b, wires, sizes: wires[:1], whole=whole)[0][0]


def cut_bins(space: Tensor, at: int, ins: Sequence[tuple[Chunked, Labels]], labels: Labels) -> dict[int, Ranges | None]:
    """How to cut a table that is written, along its axis `at`: into blocks of at most `TABLE` bytes."""
    cuts: dict[int | None, int] = {}
    for x, own in ins:
        for sizes, label in zip(x.parts, own, strict=True):
            cuts[label] = max(cuts.get(label, 1), len(sizes))
    nbytes = space.size * space.dtype.itemsize
    for label in labels:
        nbytes //= cuts.get(label, 1)
    n, label = space.shape[at], labels[at]
    count = min(max(-(-nbytes // TABLE), 1), max(n, 1))
    assert label is not None
    if count == 1:
        return {}
    edges = [n * k // count for k in range(count + 1)]
    return {label: Ranges(tuple(edges[:-1]), tuple(edges[1:]))}


def _local(how: Indexing, sizes: Mapping[int, int]) -> Indexing:
    return how._replace(sizes=tuple([sizes.get(k, n) for k, n in enumerate(how.sizes)]))


def _indexed(how: Indexing) -> int:
    return how.src[how.axis]


# -- reading


@rule(
    Gathered,
    cut="along axes of the result: local; a table of more than 64 MiB that is cut where it is indexed: block by block",
    exchanged="the table, to all that read it; partial results of a large one, in a tree",
)
def _gathered(plan: Plan, primitive: Gathered, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    how, (index, x) = primitive.how, ins
    k = _indexed(how)

    def lay(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        return b.add(Gathered(_local(how, sizes)), *wires)

    if not is_cut(x, how.src, [k]) or x.nbytes <= TABLE:
        reads = [(index, how.by), (together(plan, x, how.src, [k]), how.src)]
        return plan.labelled("gather", reads, [(outs[0], how.dst)], lay, whole=[k], light=True)[0]

    def lay_block(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        index, x, start = wires
        own = _local(how, sizes)
        at = from_start(b, index, start, own.bins, how.bins)
        (there,) = mapped(b, [inside(_X, own.bins)], [at])
        return b.add(Gathered(own), at, x)[0], contract(b, [how.by], [there], how.dst, own.sizes)

    made = [(outs[0], how.dst), (Tensor(outs[0].shape, np.bool_), how.dst)]
    found, axes = plan.labelled("gather from a block", [(index, how.by), (x, how.src)], made, lay_block, starts=[k])
    return plan.combined("gather", found, partial(fold_present, monoid=LAST), axes)[:1]


# -- adding and writing


@rule(ScatterAdded, cut="along axes of the table: local; along others: tables of blocks", exchanged="tables, added in a tree")
def _scatter_added(plan: Plan, primitive: ScatterAdded, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    how = primitive.how

    def lay(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        index, v, start = wires
        own = _local(how, sizes)
        return b.add(ScatterAdded(own), from_start(b, index, start, own.bins, how.bins), v)

    reads = [(ins[0], how.by), (ins[1], how.dst)]
    wanted = cut_bins(outs[0], how.axis, reads, how.src)
    found, axes = plan.labelled("scatter-add", reads, [(outs[0], how.src)], lay, wanted=wanted, starts=[_indexed(how)])
    return plan.combined("sum of tables", found, added, axes)


_THERE, _OLD, _NEW = (scalar.param(k) for k in range(3))
_STORED: dict[type, tuple[Monoid, Node]] = {
    AddedAt: (PLUS, scalar.apply("add", _OLD, _NEW)),
    OverwrittenAt: (LAST, _NEW),
}
"""For each box how tables of blocks are joined, and what an old and a new number become."""


@rule(
    AddedAt,
    OverwrittenAt,
    cut="as the array into which it writes: local, with all indices; many values and a small array: tables of blocks",
    exchanged="indices and values, to all blocks; or tables, in a tree",
)
def _written(
    plan: Plan, primitive: AddedAt | OverwrittenAt, ins: Sequence[Chunked], outs: Sequence[Tensor]
) -> Sequence[Chunked]:
    how, (index, x, v) = primitive.how, ins
    own = [label for label in how.by if label not in how.src]
    many = is_cut(index, how.by, own) or is_cut(v, how.dst, own)
    given = index.nbytes + v.nbytes
    if many and (given > TABLE or x.nbytes <= given):
        return _written_by_tables(plan, primitive, ins, outs)

    def lay(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        at, x, v, start = wires
        block = _local(how, sizes)
        if not block.bins:
            return [x]
        return b.add(replace(primitive, how=block), from_start(b, at, start, block.bins, how.bins), x, v)

    reads = [(together(plan, index, how.by, own), how.by), (x, how.src), (together(plan, v, how.dst, own), how.dst)]
    return plan.labelled("store", reads, [(outs[0], how.src)], lay, whole=own, starts=[_indexed(how)])[0]


def _written_by_tables(
    plan: Plan, primitive: AddedAt | OverwrittenAt, ins: Sequence[Chunked], outs: Sequence[Tensor]
) -> Sequence[Chunked]:
    """Each block of values into a table of its own; then the table into the array."""
    how, (index, x, v) = primitive.how, ins
    monoid, node = _STORED[type(primitive)]

    def lay(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        at, v, start = wires
        block = _local(how, sizes)
        at = from_start(b, at, start, block.bins, how.bins)
        there = _touched(b, block, at)
        if isinstance(primitive, AddedAt):
            return b.add(ScatterAdded(block), at, v)[0], there
        empty = zeros(b, Tensor(block.shape(how.src), v.dtype))
        return b.add(OverwrittenAt(block), at, empty, v)[0], there

    reads = [(index, how.by), (v, how.dst)]
    wanted = cut_bins(outs[0], how.axis, reads, how.src)
    made = [(outs[0], how.src), (Tensor(outs[0].shape, np.bool_), how.src)]
    found, axes = plan.labelled("table of stores", reads, made, lay, wanted=wanted, starts=[_indexed(how)])
    found = plan.combined("join of tables", found, partial(fold_present, monoid=monoid), axes)

    def lay_onto(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        new, there, x = wires
        return mapped(b, [scalar.apply("select", _THERE, node, _OLD)], [there, x, new])

    labels = how.src
    return plan.labelled("store", [(found[0], labels), (found[1], labels), (x, labels)], [(outs[0], labels)], lay_onto)[0]


def _touched(b: Builder, how: Indexing, index: Wire) -> Wire:
    """Which places of a table some indices name."""
    kept = [j for j, label in enumerate(how.src) if j == how.axis or label in how.by]
    counts = how._replace(src=tuple([how.src[j] for j in kept]), axis=kept.index(how.axis), dst=how.by)
    (one,) = mapped(b, [scalar.cast(np.int64, scalar.const(1))], [index])
    (some,) = mapped(b, [scalar.apply("gt", _X, scalar.const(0))], list(b.add(ScatterAdded(counts), index, one)))
    return repeated(b, some, kept, how.shape(how.src))


@rule(
    ClearedAt,
    cut="as the array: local, with all indices; many indices: tables of blocks",
    exchanged="indices, to all blocks; or tables, in a tree",
)
def _cleared(plan: Plan, primitive: ClearedAt, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    how, (index, x) = primitive.how, ins
    own = [label for label in how.by if label not in how.src]
    if is_cut(index, how.by, own) and (index.nbytes > TABLE or x.nbytes <= index.nbytes):
        kept = scalar.apply("select", _X, scalar.const(0), scalar.param(1))
        return by_boxes(plan, ins, lambda b, wires: mapped(b, [kept], [_touched(b, how, wires[0]), wires[1]]))

    def lay(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        at, x, start = wires
        block = _local(how, sizes)
        return b.add(ClearedAt(block), from_start(b, at, start, block.bins, how.bins), x)

    reads = [(together(plan, index, how.by, own), how.by), (x, how.src)]
    return plan.labelled("clear", reads, [(outs[0], how.src)], lay, whole=own, starts=[_indexed(how)])[0]


def greatest(b: Builder, wires: Sequence[Wire]) -> Sequence[Wire]:
    """The greatest of positions along axis 0."""
    return [b.add(Fold(GREATEST, 0), w)[0] for w in wires]


@rule(LastWriter, cut="along the positions: tables of blocks; along others: local", exchanged="tables of positions, in a tree")
def _last_writer(plan: Plan, primitive: LastWriter, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    (index,) = ins
    axis, k = primitive.axis, index.ndim
    labels = tuple(range(index.ndim))
    out = (*labels[:axis], k, *labels[axis + 1 :])

    def lay(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        index, first, start = wires
        at = from_start(b, index, first, sizes[k], primitive.size)
        (last,) = b.add(LastWriter(sizes[k], axis), at)
        return [to_positions(b, last, start)]

    reads = [(index, labels)]
    wanted = cut_bins(outs[0], axis, reads, out)
    found, axes = plan.labelled("last writer", reads, [(outs[0], out)], lay, wanted=wanted, starts=[k, axis])
    return plan.combined("last of the last writers", found, greatest, axes)


@rule(LastOnly, cut="along all axes: local, from the last position of each index", exchanged="tables of positions, in a tree")
def _last_only(plan: Plan, primitive: LastOnly, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    (index,) = ins
    lead, k = index.ndim - primitive.axes, index.ndim
    labels = tuple(range(index.ndim))
    own = labels[lead:]
    if not is_cut(index, labels, own):
        return plan.labelled("last only", [(index, labels)], [(outs[0], labels)], itself(primitive), whole=own)[0]
    space, out = Tensor((*index.shape[:lead], primitive.size), np.int64), (*labels[:lead], k)

    def positions(b: Builder, starts: Sequence[Wire], sizes: Mapping[int, int]) -> Wire:
        """The positions of the entries of a block, in C order of the last axes."""
        shape = [sizes[label] for label in own]
        wire = zeros(b, Tensor(shape, np.int64))
        for axis, start in enumerate(starts):
            stride = int(np.prod(index.shape[lead + axis + 1 :], dtype=np.int64))
            each = repeated(b, b.add(Iota(shape[axis]))[0], (axis,), shape)
            node = scalar.apply("mul", scalar.apply("add", scalar.param(1), scalar.param(2)), scalar.const(stride))
            (wire,) = mapped(b, [scalar.apply("add", scalar.param(0), node)], [wire, each, start])
        return wire

    def lay_last(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        index, first, *starts = wires
        at = from_start(b, index, first, sizes[k], primitive.size)
        n = int(np.prod([sizes[label] for label in own], dtype=np.int64))
        (last,) = b.add(LastWriter(sizes[k], lead), reshaped(b, at, (*index.shape[:lead], n)))
        flat = reshaped(b, positions(b, starts, sizes), (n,))
        (found,) = b.add(Gathered(rows_of((n,), last.shape)), last, flat)
        there = scalar.apply("ge", _X, scalar.const(0))
        return mapped(b, [scalar.apply("select", there, _START, scalar.const(-1))], [last, found])

    def lay_kept(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        index, last, *starts = wires
        own_at = repeated(b, positions(b, starts, sizes), own, index.shape)
        kept = scalar.apply("select", scalar.apply("eq", scalar.param(1), scalar.param(2)), _X, scalar.const(-1))
        return mapped(b, [kept], [index, last, own_at])

    reads: list[tuple[Chunked, Labels]] = [(index, labels)]
    wanted = cut_bins(space, lead, reads, out)
    found, axes = plan.labelled("last position", reads, [(space, out)], lay_last, wanted=wanted, starts=[k, *own])
    table = plan.combined("last of the last positions", found, greatest, axes)
    how = Indexing(out, lead, labels, labels, (*index.shape, primitive.size))
    last = _gathered(plan, Gathered(how), [index, *table], [Tensor(index.shape, np.int64)])
    return plan.labelled("last only", [(index, labels), (last[0], labels)], [(outs[0], labels)], lay_kept, starts=own)[0]


@rule(FlatIndex, cut="along axes of the index arrays: local; those of slices are not cut")
def _flat_index(plan: Plan, primitive: FlatIndex, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    counts = len(primitive.counts)
    shape = outs[0].shape[: outs[0].ndim - counts]
    reads = [aligned(x, shape) for x in ins]
    there = {label for _, labels in reads for label in labels}
    out = [*[k if k in there else None for k in range(len(shape))], *[None] * counts]
    return plan.labelled("flat index", reads, [(outs[0], out)], lambda b, wires, sizes: b.add(primitive, *wires), light=True)[0]
