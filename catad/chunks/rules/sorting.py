"""Sorting: the rank of each entry is how many stand before it, counted block by block, and the order is the inverse of the ranks.

Each block is sorted. Each entry of it then finds its place in each sorted block, before equal ones of blocks behind its own and
after those of blocks before it, as a stable sort has it, and these places add up to its rank. So each block meets each other one,
in a task that has two blocks: n blocks need 2 n n tasks, beside those that add.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from catad import scalar
from catad.category.spaces import Tensor
from catad.chunks.parts import ranges_of
from catad.chunks.plan import Plan
from catad.chunks.rules.contractions import added
from catad.chunks.rules.indexing import TABLE, is_cut, together
from catad.chunks.rules.sequences.present import PLUS
from catad.chunks.rules.table import by_boxes, itself, rule
from catad.chunks.wires import Chunked
from catad.linear.families.contract import contract, zeros
from catad.linear.families.gather import Gathered, ScatterAdded, along_axis
from catad.vector.bins.searchsorted import SortedPositions
from catad.vector.bins.sort import StableOrder
from catad.vector.bins.sorted_bins import SortByBin, inside
from catad.vector.pointwise.generate import steps_along
from catad.vector.pointwise.map import mapped
from catad.vector.scans.scan import scanned, shifted

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

_PLUS, _MINUS = (scalar.apply(op, scalar.param(0), scalar.param(1)) for op in ("add", "sub"))
_BEHIND, _BEFORE = scalar.apply("gt", scalar.param(4), scalar.param(3)), scalar.apply("lt", scalar.param(4), scalar.param(3))
_RANK = scalar.apply("select", _BEFORE, scalar.param(0), scalar.apply("select", _BEHIND, scalar.param(1), scalar.param(2)))
"""Of places after equal entries, before these, and in the own block, and where this and the other block start, the right one."""


def _last(b: Builder, x: Wire, axis: int, back: bool = False) -> Wire:
    """The wire with an axis behind all others, or the last one there."""
    labels = tuple(range(x.ndim))
    moved = (*labels[:axis], *labels[axis + 1 :], axis)
    return contract(b, [moved], [x], labels, _sizes(x, moved)) if back else contract(b, [labels], [x], moved, x.shape)


def _sizes(x: Wire, labels: Sequence[int]) -> list[int]:
    return [x.shape[labels.index(label)] for label in range(x.ndim)]


@rule(
    SortedPositions,
    cut="along the numbers: local; a sorted array of more than 64 MiB that is cut: counts of its blocks",
    exchanged="the sorted array, to all that read it; counts, in a tree",
)
def _sorted_positions(
    plan: Plan, primitive: SortedPositions, ins: Sequence[Chunked], outs: Sequence[Tensor]
) -> Sequence[Chunked]:
    ordered, numbers = ins
    labels = tuple(range(numbers.ndim))
    k = numbers.ndim
    own = (*labels[: primitive.lead], k)
    whole = [k] if ordered.nbytes <= TABLE else []
    reads = [(together(plan, ordered, own, whole), own), (numbers, labels)]
    found, axes = plan.labelled("places in a sorted array", reads, [(outs[0], labels)], itself(primitive), whole=whole)
    return plan.combined("sum of places", found, added, axes)


@rule(
    StableOrder,
    cut="along its axis: sorted blocks, of which each meets each; along others: local",
    exchanged="sorted blocks, ranks",
)
def _stable_order(plan: Plan, primitive: StableOrder, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    (x,) = ins
    axis, labels = primitive.axis, tuple(range(x.ndim))
    if not is_cut(x, labels, [axis]):
        return plan.labelled("order", [(x, labels)], [(outs[0], labels)], itself(primitive), whole=[axis])[0]
    other = x.ndim
    across = (*labels[:axis], other, *labels[axis + 1 :])

    def lay_blocks(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        x, start = wires
        (order,) = b.add(primitive, x)
        return [*b.add(Gathered(along_axis(x.shape, axis)), order, x), *mapped(b, [_PLUS], [order, start])]

    made = [(x.space, labels), (outs[0], labels)]
    (blocks, places), _ = plan.labelled("sorted blocks", [(x, labels)], made, lay_blocks, starts=[axis])
    blocks.again = places.again = None  # other blocks are others when they are sorted

    def lay_ranks(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        x, block, start, first = wires
        if not sizes[other]:
            return [zeros(b, Tensor(x.shape, np.int64))]
        turned = _last(b, block, axis), _last(b, x, axis)
        before, behind = [_last(b, b.add(SortedPositions(right, x.ndim - 1), *turned)[0], axis, True) for right in (True, False)]
        return mapped(b, [_RANK], [before, behind, steps_along(b, x.shape, axis), start, first])

    reads = [(blocks, labels), (blocks, across)]
    found, axes = plan.labelled("places in a sorted block", reads, [(outs[0], labels)], lay_ranks, starts=[axis, other])
    (ranks,) = plan.combined("ranks", found, added, axes)

    def lay_order(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        rank, place, first = wires
        how = along_axis((*rank.shape[:axis], sizes[other], *rank.shape[axis + 1 :]), axis)
        how = how._replace(sizes=(*how.sizes[:-1], sizes[axis]))
        return b.add(ScatterAdded(how), mapped(b, [_MINUS], [rank, first])[0], place)

    reads = [(ranks, labels), (places, labels)]
    wanted = {other: ranges_of(x.parts[axis])}
    found, axes = plan.labelled("order", reads, [(outs[0], across)], lay_order, wanted=wanted, starts=[other])
    return plan.combined("order", found, added, axes)


@rule(SortByBin, cut="along its axis: as the order of the bins, and their counts; along others: local", exchanged="as an order")
def _sort_by_bin(plan: Plan, primitive: SortByBin, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    (index,) = ins
    axis, bins, labels = primitive.axis, primitive.bins, tuple(range(index.ndim))
    if not is_cut(index, labels, [axis]):
        table = (*labels[:axis], index.ndim, *labels[axis + 1 :])
        made = [(outs[0], labels), (outs[1], labels), (outs[2], table)]
        return plan.labelled("order by bin", [(index, labels)], made, itself(primitive), whole=[axis])[0]
    x, other = scalar.param(0), scalar.param(1)
    bin_of = scalar.apply("select", inside(x, bins), scalar.cast(np.int64, x), scalar.const(bins))
    is_first = scalar.apply("or", scalar.apply("eq", scalar.param(2), scalar.const(0)), scalar.apply("ne", x, other))
    last = scalar.apply("sub", other, scalar.const(1))
    end = scalar.apply("select", scalar.apply("gt", x, scalar.const(0)), last, scalar.const(-1))

    def lay(b: Builder, wires: Sequence[Wire]) -> Sequence[Wire]:
        (key,) = mapped(b, [bin_of], wires)
        (order,) = b.add(StableOrder(axis), key)
        (ordered,) = b.add(Gathered(along_axis(key.shape, axis)), order, key)
        before, steps = shifted(b, ordered, axis, -1), steps_along(b, key.shape, axis)
        how = along_axis((*key.shape[:axis], bins, *key.shape[axis + 1 :]), axis)
        how = how._replace(sizes=(*how.sizes[:-1], key.shape[axis]))
        (one,) = mapped(b, [scalar.cast(np.int64, scalar.const(1))], [key])
        (count,) = b.add(ScatterAdded(how), key, one)
        (until,) = scanned(b, PLUS, [count], axis, False, False)
        return order, *mapped(b, [is_first], [ordered, before, steps]), *mapped(b, [end], [count, until])

    return by_boxes(plan, ins, lay)
