"""Folds by bin by sorting, for any operator.

The values are sorted by bin, stably, and folded segment by segment: a scan with the operator lifted to (segment starts here,
value), read at the ends of the segments (Bruun and Larsen 2022, section 6.1). The prefixes of each element within its bin
are read before each place and go back to where their elements stand. It consists of smaller combinators, so it needs no
rule. Indices out of range sort into one more bin, which nobody reads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import scalar
from catad.category.boxes import AlongAxis, box
from catad.category.spaces import Tensor
from catad.linear.families.contract import repeated
from catad.linear.families.gather import Gathered, ScatterAdded, rows_of
from catad.linear.families.previous_state import PreviousState
from catad.scalar import Function
from catad.support.lru import remembered
from catad.vector.bins.sort import StableOrder
from catad.vector.folds.monoid import Monoid
from catad.vector.pointwise.map import mapped
from catad.vector.scans.scan import Scan, turned

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire
    from catad.scalar import Node


@box
class SortByBin(AlongAxis):
    """Indices (m,) to: positions in stable order of bins (m,), where segments start (m,), the last place of each bin (bins,).

    The last place of an empty bin is -1; indices out of range sort last. Axis `axis` counts the indices.
    """

    bins: int
    axis: int = 0
    arity = 1

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        shape = ins[0].shape
        ends = (*shape[: self.axis], self.bins, *shape[self.axis + 1 :])
        return Tensor(shape, np.int64), Tensor(shape, np.bool_), Tensor(ends, np.int64)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        index = xp.moveaxis(arrays[0], self.axis, -1)
        m = index.shape[-1]
        key = _bin_of(xp, index, self.bins).astype(np.min_scalar_type(self.bins))  # short numbers are sorted by radix
        order = xp.argsort(key, axis=-1, kind="stable")
        ordered = xp.take_along_axis(key, order, axis=-1)
        starts = xp.ones(index.shape, dtype=bool)
        if m:
            starts[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
        count = math.prod(index.shape[:-1])
        rows = ordered.reshape(count, m)
        last = xp.full((count, self.bins), -1, dtype=np.int64)
        for i in range(count if m else 0):
            end = xp.searchsorted(rows[i], xp.arange(self.bins), side="right")
            begin = xp.searchsorted(rows[i], xp.arange(self.bins), side="left")
            last[i] = xp.where(end > begin, end - 1, -1)
        last = last.reshape(*index.shape[:-1], self.bins)
        return tuple([xp.moveaxis(a, -1, self.axis) for a in (order, starts, last)])


def alone_in_bin(b: Builder, index: Wire, bins: int) -> Wire:
    """True where each of some indices (m,) is the only one of its bin; those out of range are not."""
    how = rows_of((bins,), index.shape)
    (one,) = mapped(b, [scalar.cast(np.int64, scalar.const(1))], [index])
    (count,) = b.add(Gathered(how), index, b.add(ScatterAdded(how), index, one)[0])
    return mapped(b, [scalar.apply("eq", scalar.param(0), scalar.const(1))], [count])[0]


def _bin_of(xp: Any, index: Any, bins: int) -> Any:
    """The bin of each index; one more for those out of range."""
    return xp.where((index >= 0) & (index < bins), index, bins).astype(np.int64)


def segmented(monoid: Monoid) -> Monoid:
    """The operator lifted to (segment starts here, element): what stands before a start does not matter."""
    d, free = monoid.width, monoid.free
    first, second = scalar.param(0), scalar.param(d + 1)
    left = [scalar.param(1 + k) for k in range(d)]
    right = [scalar.param(d + 2 + k) for k in range(d)]
    joined = scalar.substitute(monoid.op, [*left, *right, *[scalar.param(2 * d + 2 + k) for k in range(free)]])
    chosen = [scalar.apply("select", second, r, j) for r, j in zip(right, joined, strict=True)]
    tree = (None, monoid.tree)
    outputs = [scalar.apply("or", first, second), *chosen]
    trees = (tree, tree, *[None] * free)
    op = Function.make(2 * d + 2 + free, outputs, tree, trees, f"segmented {monoid.op.name or 'op'}")
    return Monoid(op, (False, *monoid.neutral), tree, None, free, monoid)


@remembered
def with_numbers(monoid: Monoid) -> Monoid:
    """An operator with free numbers p on elements (p..., x...) that carry them: `(p, x), (q, y)` to `(q, op(x, y, q))`.

    Where all elements carry the same numbers that is the operator. Each step uses those of its own element, so the derivative by
    the numbers of an element is that of its step, and they add up to the derivative by the free numbers.
    """
    d, free = monoid.width, monoid.free
    w = d + free
    own = [scalar.param(w + k) for k in range(free)]
    operands = [scalar.param(side * w + free + k) for side in (0, 1) for k in range(d)]
    tree = (None,) * w
    op = Function.make(2 * w, [*own, *scalar.substitute(monoid.op, [*operands, *own])], tree, (tree, tree), monoid.op.name)
    return Monoid(op, (*[0.0] * free, *monoid.neutral), tree, None, 0, monoid)


def by_sorting(b: Builder, monoid: Monoid, index: Wire, values: Sequence[Wire], bins: int) -> list[Wire]:
    """Any operator: sort by bin, fold each segment, read the ends of the segments."""
    _, last, _, sums = _folded(b, monoid, index, values, bins)
    end = repeated(b, last, (0,), (bins, *values[0].shape[1:]))  # negative in an empty bin
    there = scalar.apply("ge", scalar.param(0), scalar.const(0))
    read = [b.add(Gathered(rows_of(s.shape, last.shape)), last, s)[0] for s in sums]
    return [_or_neutral(b, monoid, k, there, end, wire) for k, wire in enumerate(read)]


def _folded(
    b: Builder, monoid: Monoid, index: Wire, values: Sequence[Wire], bins: int
) -> tuple[Wire, Wire, Wire, Sequence[Wire]]:
    """The order by bin, the last place of each bin, where bins start, and the prefixes within each bin, in this order."""
    order, starts, last = b.add(SortByBin(bins), index)
    ordered = [b.add(Gathered(rows_of(v.shape, order.shape)), order, v)[0] for v in values]
    _, *sums = b.add(Scan(segmented(monoid)), repeated(b, starts, (0,), values[0].shape), *ordered)
    return order, last, starts, sums


def _or_neutral(b: Builder, monoid: Monoid, k: int, there: Node, known: Wire, read: Wire) -> Wire:
    """What was read, where a condition on another wire holds, and a number of the neutral element elsewhere.

    Of integers that is an integer, also where it was given as 0.0.
    """
    number = monoid.neutral[k]
    neutral = scalar.const(int(number) if read.dtype.kind in "iu" else number)
    return mapped(b, [scalar.apply("select", there, scalar.param(1), neutral)], [known, read])[0]


def prefixes_by_sorting(
    b: Builder, monoid: Monoid, index: Wire, values: Sequence[Wire], bins: int, after: bool
) -> list[Wire]:
    """True where anything stands before each value in its bin, and the fold of that; `after`: what stands behind it.

    Where nothing does, and where the index is out of range, false and the neutral element.
    """
    if after:
        back = [turned(b, v, 0) for v in values]
        found = prefixes_by_sorting(b, monoid.flipped, turned(b, index, 0), back, bins, False)
        return [turned(b, w, 0) for w in found]
    (order, _, starts, sums), shape = _folded(b, monoid, index, values, bins), values[0].shape
    back_to = b.add(StableOrder(0), order)[0]  # a permutation's own order is its inverse
    first = repeated(b, b.add(Gathered(rows_of(starts.shape, order.shape)), back_to, starts)[0], (0,), shape)
    own, flags = repeated(b, index, (0,), shape), repeated(b, starts, (0,), shape)
    there = scalar.apply("and", scalar.apply("not", scalar.param(0)), inside(scalar.param(1), bins))
    out = mapped(b, [there], [first, own])
    for k, s in enumerate(sums):
        (before,) = b.add(PreviousState(0, 1), flags, s)
        (read,) = b.add(Gathered(rows_of(shape, order.shape)), back_to, before)
        out.append(_or_neutral(b, monoid, k, scalar.param(0), out[0], read))
    return out


def inside(index: Node, bins: int) -> Node:
    """True where an index names a bin."""
    return scalar.apply("and", scalar.apply("ge", index, scalar.const(0)), scalar.apply("lt", index, scalar.const(bins)))
