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
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.category.wiring import share
from catad.chunks.plan import Labels, Plan
from catad.chunks.rules.folds import fold_first
from catad.chunks.rules.moves import backwards
from catad.chunks.rules.pointwise import aligned
from catad.chunks.rules.sequences.affine import Maps, OrLonger, long_composition, normal
from catad.chunks.rules.sequences.in_sequence import Here, at_end, block_sizes, end_of, follows, in_sequence, one_later
from catad.chunks.rules.sequences.present import leaves_alone
from catad.chunks.rules.table import rule
from catad.chunks.wires import Chunked
from catad.linear.families.contract import repeated
from catad.linear.families.reindex import reshaped
from catad.linear.structure import cast
from catad.scalar import apply, const, param
from catad.vector.bins.sorted_bins import with_numbers
from catad.vector.decomposed import one_term
from catad.vector.folds.extended_range import TIMES
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
        x = joined_first(b, primitive.monoid, before, x, wires[d:], axis) if before and not later else x
        made: Sequence[Wire] = b.add(primitive, *x, *wires[d:])
        made = [turned(b, w, axis) for w in made] if reverse else made
        return mapped(b, list(primitive.monoid.op.outputs), [*before, *made]) if before and later else made

    if len(sizes) == 1:
        return plan.labelled("scan", given, results, lambda b, wires, sizes: run(b, wires, []), whole=[axis])[0]
    product = scalar.recognise(primitive.monoid.op) == "mul" and outs[0].is_float
    if product:
        before = products_before(plan, axis, given, outs, reverse)
    else:
        before = folds_before(plan, primitive.monoid, axis, given, outs, reverse)

    def state(b: Builder, carried: list[Wire]) -> Sequence[Wire]:
        if not product:
            return carried
        return [cast(w, outs[0].dtype) for w in mapped(b, [apply("ldexp", param(1), param(0))], carried)]

    def lay(b: Builder, wires: list[Wire], carried: list[Wire], here: Here) -> Sequence[Wire]:
        return run(b, wires, state(b, carried) if here.note and here.sizes[axis] else [])

    own = [(one, rest) for one in before]
    made = in_sequence(plan, "scan", given, results, axis, lay, own, follows(sizes, reverse))
    is_extremum = outs[0].is_float and not product and leaves_alone(primitive.monoid)
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

    With `reverse` it is what stands after each block, the last element first.
    """
    free, d = monoid.free, monoid.width
    labels = tuple(range(outs[0].ndim))
    rest = (*labels[:axis], *labels[axis + 1 :])
    forward = with_numbers(monoid) if free else monoid
    total = forward.flipped if reverse else forward

    def lay(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        numbers = [_met(b, p, [sizes[k] for k in labels]) for p in wires[d:]]
        folds = b.add(Fold(total, axis), *numbers, *wires[:d])
        return [*[_met(b, p, [sizes[k] for k in labels], axis) for p in wires[d:]], *folds[free:]]

    spaces = [Tensor([outs[0].shape[k] for k in rest], space.dtype) for space in [*[x.space for x, _ in given[d:]], *outs]]
    totals, _ = plan.labelled("fold of blocks", given, [(space, rest) for space in spaces], lay)
    scan = partial(suffixes if reverse else prefixes, forward, free)
    return plan.before_each("scan of folds", totals, partial(fold_first, total), scan, partial(joins, total), reverse)[free:]


def products_before(
    plan: Plan, axis: int, given: Sequence[tuple[Chunked, Labels]], outs: Sequence[Tensor], reverse: bool
) -> list[Chunked]:
    """The product of what stands before each block, or after it: a power of 2 and a number.

    So it leaves the range of floats only where it is a state.
    """
    rest = tuple([k for k in range(outs[0].ndim) if k != axis])

    def lay(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        number = cast(b.add(Fold(TIMES, axis), *wires)[0], np.dtype(np.float64))
        (helper,) = mapped(b, [apply("mul", param(0), const(0.0))], [number])
        (power,) = mapped(b, [scalar.cast(np.int64, param(0))], [helper])
        exact = [OrLonger(one_term(LongProduct, axis, k), 1) for k in range(2)]
        return [b.add(own, *wires, w, helper)[0] for own, w in zip(exact, [power, number], strict=True)]

    shape = [outs[0].shape[k] for k in rest]
    totals, _ = plan.labelled("product of blocks", given, [(Tensor(shape, dtype), rest) for dtype in (np.int64, np.float64)], lay)
    fold, scan = partial(fold_first, _PRODUCT), partial(suffixes if reverse else prefixes, _PRODUCT, 0)
    return plan.before_each("scan of products", totals, fold, scan, partial(joins, _PRODUCT), reverse)


@share
@of_fields
class LongProduct(D):
    """Numbers to their product along an axis in a longer range than that of floats: its power of 2, or the number beside it."""

    axis: int
    which: int

    def lay_out(self, b: Builder, x: Wires) -> Any:
        numbers = mapped(b, normal(scalar.cast(np.int64, const(0)), [param(0)]), [cast(x, np.dtype(np.float64))])
        return b.add(Fold(_PRODUCT, self.axis), *numbers)[self.which]


_PRODUCT = long_composition(Maps(((0,),), 0, False), False)


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


def joined_first(
    b: Builder, monoid: Monoid, before: Sequence[Wire], x: Sequence[Wire], free: Sequence[Wire], axis: int
) -> list[Wire]:
    """The elements of a block, the first of which is joined with what stands before it."""
    first = [end_of(b, w, axis) for w in x]
    return at_end(b, x, mapped(b, list(monoid.op.outputs), [*before, *first, *free]), axis)
