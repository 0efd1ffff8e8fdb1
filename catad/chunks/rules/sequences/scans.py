"""Scans: the folds of blocks, what stands before each block, and the scan of each block from there, in one pass.

    s_i = op(s_{i-1}, x_i) within a block, from s_{-1} = op of all that stands before the block

Where an operator is seen to be associative for all numbers, NaN among them, but for rounding, what stands before a block is
joined with each result of a scan from nothing. Otherwise it is joined with the first element of the block while that is read.
The first steps of the whole array are taken as they are, since a neutral element need not be neutral for NaN and zeros with
signs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import scalar
from catad.category.boxes import of_fields
from catad.category.cartesian import proj
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.category.wiring import share
from catad.chunks.plan import Labels, Plan
from catad.chunks.rules.folds import fold_first
from catad.chunks.rules.moves import backwards
from catad.chunks.rules.pointwise import aligned
from catad.chunks.rules.sequences.in_sequence import Here, at_end, block_sizes, end_of, follows, in_sequence, one_later
from catad.chunks.rules.sequences.present import leaves_alone
from catad.chunks.rules.sequences.wide import LongFold, Totals, in_floats, in_range, is_wide, longer_of, pairs_of
from catad.chunks.rules.table import rule
from catad.chunks.wires import Chunked
from catad.linear.families.contract import repeated
from catad.linear.families.reindex import reshaped
from catad.scalar import param
from catad.vector.bins.sorted_bins import with_numbers
from catad.vector.decomposed import one_term
from catad.vector.folds.fold import Fold
from catad.vector.folds.monoid import Monoid
from catad.vector.pointwise.map import mapped
from catad.vector.scans.scan import Scan, filled, shifted, turned

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires


@rule(
    Scan,
    cut="along its axis: folds of blocks, then scans of blocks from what stands before them; along others: local",
    exchanged="folds of blocks, scanned",
)
def _scan(plan: Plan, primitive: Scan, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    axis, d = primitive.axis, primitive.monoid.width
    own = [plan.flips.get((x, axis)) for x in ins[:d]]
    elements = [x for x in own if x is not None]
    if len(elements) == d:  # from the end to the start of the arrays that have been flipped
        made = scanned_in_blocks(plan, primitive, elements, ins[d:], outs, True)
        return [backwards(plan, x, axis) for x in made]
    return scanned_in_blocks(plan, primitive, ins[:d], ins[d:], outs, False)


def scanned_in_blocks(
    plan: Plan, primitive: Scan, x: Sequence[Chunked], free: Sequence[Chunked], outs: Sequence[Tensor], reverse: bool
) -> list[Chunked]:
    """The scan of some elements, or that of the flipped elements, flipped."""
    axis, d, shape = primitive.axis, primitive.monoid.width, outs[0].shape
    labels = tuple(range(len(shape)))
    given: list[tuple[Chunked, Labels]] = [*[(one, labels) for one in x], *[_free(p, shape, axis) for p in free]]
    results = [(space, labels) for space in outs]
    sizes = block_sizes(plan, given, axis)
    rest = (axis, *labels[:axis], *labels[axis + 1 :])

    def run(b: Builder, wires: list[Wire], before: Sequence[Wire]) -> Sequence[Wire]:
        x = [turned(b, w, axis) for w in wires[:d]] if reverse else wires[:d]
        later = is_associative(primitive.monoid, outs[0].dtype)
        args = [*before, *x, *wires[d:]]
        if not before or later:
            made: Sequence[Wire] = b.add(primitive, *args[len(before) :])
        else:
            made = b.apply(ScannedFrom(primitive), tuple(args))
        if before and later:
            last = [end_of(b, w, axis, True) for w in made]
            made = mapped(b, list(primitive.monoid.op.outputs), [*before, *made])
            if d == 1:
                made = [in_range(b, made[0], last[0], ScannedFrom(primitive) >> proj(0), args)]
        return [turned(b, w, axis) for w in made] if reverse else made

    if len(sizes) == 1:
        return plan.labelled("scan", given, results, lambda b, wires, sizes: run(b, wires, []), whole=[axis])[0]
    before = folds_before(plan, primitive.monoid, axis, given, outs, reverse)
    longer = len(before) > d

    def state(b: Builder, carried: list[Wire]) -> Sequence[Wire]:
        return in_floats(b, carried, [space.dtype for space in outs]) if longer else carried

    def lay(b: Builder, wires: list[Wire], carried: list[Wire], here: Here) -> Sequence[Wire]:
        return run(b, wires, state(b, carried) if here.note and here.sizes[axis] else [])

    own = [(one, rest) for one in before]
    made = in_sequence(plan, "scan", given, results, axis, lay, own, follows(sizes, reverse))
    is_extremum = outs[0].is_float and scalar.recognise(primitive.monoid.op) != "mul" and leaves_alone(primitive.monoid)
    one_later(plan, made, axis, before, sizes, state, reverse, primitive.monoid if is_extremum else None)
    return made


def _free(p: Chunked, shape: Sequence[int], axis: int) -> tuple[Chunked, Labels]:
    """A free number with the labels of the axes that it meets; it has none along the steps."""
    x, labels = aligned(p, shape)
    return x, [None if k == axis else k for k in labels]


def folds_before(
    plan: Plan,
    monoid: Monoid,
    axis: int,
    given: Sequence[tuple[Chunked, Labels]],
    outs: Sequence[Tensor],
    reverse: bool = False,
) -> list[Chunked]:
    """The fold of what stands before each block along an axis, one for each number of an element; axis 0 counts the blocks.

    With `reverse` it is what stands after each block, the last element first. Where folds may leave the range of floats, the
    numbers are those of the longer range.
    """
    free, d = monoid.free, monoid.width
    labels = tuple(range(outs[0].ndim))
    rest = (*labels[:axis], *labels[axis + 1 :])
    forward = with_numbers(monoid) if free else monoid
    total = forward.flipped if reverse else forward
    dtypes = [*[x.space.dtype for x, _ in given[d:]], *[space.dtype for space in outs]]
    longer = is_wide(forward, dtypes)

    def lay(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        numbers = [_met(b, p, [sizes[k] for k in labels]) for p in wires[d:]]
        x = [*numbers, *wires[:d]]
        folds = b.add(Fold(total, axis), *x)
        plain = [*[_met(b, p, [sizes[k] for k in labels], axis) for p in wires[d:]], *folds[free:]]
        made = Totals(plain, x, partial(one_term, LongFold, total, axis), wires[:d], folds[free:], total, axis)
        return made.in_range(b) if longer else plain

    shape = [outs[0].shape[k] for k in rest]
    spaces = [Tensor(shape, dtype) for dtype in (pairs_of(dtypes) if longer else dtypes)]
    totals, _ = plan.labelled("fold of blocks", given, [(space, rest) for space in spaces], lay)
    op, kept = total, free
    if longer:
        forward, op, kept = longer_of(forward, dtypes), longer_of(total, dtypes), len(pairs_of(dtypes[:free]))
    scan = partial(suffixes if reverse else prefixes, forward, kept)
    return plan.before_each("scan of folds", totals, partial(fold_first, op), scan, partial(joins, op), reverse)[kept:]


def _met(b: Builder, p: Wire, shape: Sequence[int], axis: int | None = None) -> Wire:
    """A free number as large as the elements that it meets, or as their folds along an axis."""
    shape = list(shape)
    if axis is not None:
        shape[axis] = 1
    first = len(shape) - p.ndim
    own = [k for k, n in enumerate(p.shape) if n == shape[first + k]]
    small = reshaped(b, p, [p.shape[k] for k in own])
    wide = repeated(b, small, [first + k for k in own], shape)
    return wide if axis is None else reshaped(b, wide, [n for k, n in enumerate(shape) if k != axis])


def prefixes(monoid: Monoid, kept: int, b: Builder, wires: Sequence[Wire]) -> Sequence[Wire]:
    """What stands before each element along axis 0; the first numbers stay where they are."""
    made = b.add(Scan(monoid, 0), *wires)
    return [*wires[:kept], *[shifted(b, made[k], 0, monoid.neutral[k]) for k in range(kept, len(made))]]


def suffixes(monoid: Monoid, kept: int, b: Builder, wires: Sequence[Wire]) -> Sequence[Wire]:
    """What stands after each element along axis 0, the last element first."""
    made = prefixes(monoid, kept, b, [turned(b, w, 0) for w in wires])
    return [turned(b, w, 0) for w in made]


def joins(monoid: Monoid, b: Builder, wires: Sequence[Wire]) -> Sequence[Wire]:
    """The operator on two arrays of elements, entry by entry, repeated where one has an entry for all."""
    n = max([w.shape[0] for w in wires])
    made = mapped(b, list(monoid.op.outputs), wires)
    return [filled(b, w, Tensor((n, *w.shape[1:]), w.dtype)) for w in made]


def is_associative(monoid: Monoid, dtype: np.dtype[Any]) -> bool:
    """Whether an operator is associative for all numbers but for rounding: products of floats leave their range on other ways."""
    if dtype.kind != "f":
        return scalar.recognise(monoid.op) is not None
    first, *others = monoid.op.outputs
    return not others and first.op in ("add", "minimum", "maximum") and set(first.args) == {param(0), param(1)}


@share
@of_fields
class ScannedFrom(D):
    """(what stands before, elements, free numbers) to the scan of the elements, the first of which is joined with what stands
    before it.
    """

    scan: Scan

    def lay_out(self, b: Builder, x: Wires) -> Any:
        d = self.scan.monoid.width
        before, elements, free = x[:d], x[d : 2 * d], x[2 * d :]
        return b.add(self.scan, *joined_first(b, self.scan.monoid, before, elements, free, self.scan.axis), *free)


def joined_first(
    b: Builder, monoid: Monoid, before: Sequence[Wire], x: Sequence[Wire], free: Sequence[Wire], axis: int
) -> list[Wire]:
    """The elements of a block, the first of which is joined with what stands before it."""
    first = [end_of(b, w, axis) for w in x]
    return at_end(b, x, mapped(b, list(monoid.op.outputs), [*before, *first, *free]), axis)
