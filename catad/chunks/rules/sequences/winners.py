"""Positions of minima and maxima, products of all elements but one, and checks of operators on arrays.

A block gives its extremum with its position, and the operator chooses among blocks as it does among elements. Products of
blocks are joined in a range of exponents without end; a block takes its elements out of the product of all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import scalar
from catad.category.boxes import AlongAxis, box, of_fields
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.category.wiring import share
from catad.chunks.plan import Labels, Plan
from catad.chunks.rules.folds import fold_first
from catad.chunks.rules.sequences.in_sequence import Here, block_sizes, in_sequence
from catad.chunks.rules.sequences.present import fold_present
from catad.chunks.rules.table import WHOLE, itself, rule
from catad.chunks.wires import Chunked
from catad.linear.families.contract import repeated
from catad.linear.families.reindex import reshaped
from catad.scalar import Function, apply, const, param
from catad.vector.decomposed import one_term
from catad.vector.folds.arg_extremum import ArgExtremum
from catad.vector.folds.array_operator import Lawful
from catad.vector.folds.extended_range import TIMES, any_number, divided_by_each, kind_of, product_of_any, total_along
from catad.vector.folds.fold import Fold
from catad.vector.folds.leave_one_out import QUOTIENT, LeaveOneOutProduct
from catad.vector.folds.monoid import with_position
from catad.vector.folds.shortcut import Formula, Read, Shortcut
from catad.vector.pointwise.generate import steps_along
from catad.vector.pointwise.map import mapped

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires

_OFFSET = apply("select", apply("ge", param(0), const(0)), apply("add", param(0), param(1)), const(-1))
NORMAL = *scalar.read(kind_of).outputs, scalar.read(any_number).outputs[1]  # of a normal number


@rule(
    ArgExtremum,
    cut="along its axis: extrema of blocks with their positions; along others: local",
    exchanged="extrema and positions of blocks, in a tree",
)
def _arg_extremum(plan: Plan, primitive: ArgExtremum, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    x, axis, monoid = ins[0], primitive.axis, primitive.monoid
    labels = tuple(range(x.ndim))
    rest = (*labels[:axis], *labels[axis + 1 :])
    given: list[tuple[Chunked, Labels]] = [(x, labels)]
    sizes = block_sizes(plan, given, axis)
    if len(sizes) == 1:
        reads = [(x, labels), (ins[1], labels), (ins[2], rest)]
        return plan.labelled("position", reads, [(outs[0], rest)], itself(primitive), whole=[axis])[0]

    def lay(b: Builder, wires: list[Wire], carried: list[Wire], here: Here) -> Sequence[Wire]:
        assert here.start is not None
        (most,) = b.add(Fold(monoid, axis), *wires)
        at = b.add(primitive, *wires, steps_along(b, wires[0].shape, axis), most)
        (there,) = mapped(b, [apply("ge", param(0), const(0))], at)
        found = [most, *mapped(b, [_OFFSET], [*at, here.start]), there]
        return [reshaped(b, w, (1, *w.shape)) for w in found]

    shape = (len(sizes), *[x.shape[k] for k in rest])
    made = [(Tensor(shape, dtype), (axis, *rest)) for dtype in (x.space.dtype, np.dtype(np.int64), np.dtype(np.bool_))]
    found = in_sequence(plan, "extremum of blocks", given, made, axis, lay, starts=True, each=True)
    positions = with_position(monoid)
    return plan.combined("extremum", found, lambda b, wires: fold_present(b, wires, positions))[1:2]


@share
@of_fields
class OneOfTotal(D):
    """The product along an axis in a range without end, as two numbers: one of these."""

    axis: int
    which: int

    def lay_out(self, b: Builder, x: Wires) -> Any:
        return total_along(b, x, self.axis)[self.which]


@share
@of_fields
class Without(D):
    """(x, a product in a range without end, as two numbers) to the product without each element of x."""

    axis: int

    def lay_out(self, b: Builder, x: Wires) -> Any:
        values, *totals = x
        others = [k for k in range(values.ndim) if k != self.axis]
        many = self.axis == values.ndim - 1
        return divided_by_each(b, values, totals, many, lambda w: repeated(b, w, others[: w.ndim], values.shape))


@box
class BlockTotal(Shortcut, AlongAxis):
    """(x, its product along the axis) to one of the two numbers of the product in a range without end."""

    which: int
    axis: int = 0
    arity = 2
    condition = "normal"

    @property
    def decomposition(self) -> D:
        return one_term(OneOfTotal, self.axis, self.which)

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (Tensor(ins[1].shape, (np.int64, np.float64)[self.which]),)

    def formula(self, ins: tuple[Tensor, ...]) -> Formula | None:
        shape = ins[1].shape
        return Formula(Function.make(1, [NORMAL[self.which]]), (Read(1, tuple(range(len(shape)))),), shape)


@box
class WithoutEach(Shortcut, AlongAxis):
    """(x, the two numbers of a product in a range without end, the product) to the product without each element of x."""

    axis: int = 0
    arity = 4
    condition = "normal"

    @property
    def decomposition(self) -> D:
        return one_term(Without, self.axis)

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins[:1]

    def formula(self, ins: tuple[Tensor, ...]) -> Formula | None:
        axes = tuple(range(len(ins[0].shape)))
        return Formula(QUOTIENT, (Read(0, axes), Read(3, axes[: self.axis] + axes[self.axis + 1 :])), ins[0].shape)


WHOLE[BlockTotal] = WHOLE[WithoutEach] = "it is a part of plans"


@rule(
    LeaveOneOutProduct,
    cut="along its axis: products of blocks in a range without end, then quotients; along others: local",
    exchanged="products of blocks, in a tree",
)
def _others(plan: Plan, primitive: LeaveOneOutProduct, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    (x, product), axis = ins, primitive.axis
    labels = tuple(range(x.ndim))
    rest = (*labels[:axis], *labels[axis + 1 :])
    if len(block_sizes(plan, [(x, labels)], axis)) == 1:
        given = [(x, labels), (product, rest)]
        return plan.labelled("products of others", given, [(outs[0], labels)], itself(primitive), whole=[axis])[0]
    op = product_of_any(x.space.dtype)

    def lay_total(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        (own,) = b.add(Fold(TIMES, axis), *wires)
        return [b.add(BlockTotal(k, axis), *wires, own)[0] for k in range(2)]

    def lay(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        return b.add(WithoutEach(axis), *wires)

    made = [(Tensor(product.shape, dtype), rest) for dtype in (np.int64, np.float64)]
    found, axes = plan.labelled("products of blocks", [(x, labels)], made, lay_total)
    totals = plan.combined("product of products", found, lambda b, wires: fold_first(op, b, wires), axes)
    reads: list[tuple[Chunked, Labels]] = [(x, labels), *[(w, rest) for w in totals], (product, rest)]
    return plan.labelled("products of others", reads, [(outs[0], labels)], lay)[0]


@rule(Lawful, cut="along the elements: local, checked in the first block; along others: read whole")
def _lawful(plan: Plan, primitive: Lawful, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    def labels(x: Chunked | Tensor) -> Labels:
        return (0, *[None] * (x.ndim - 1))

    reads, results = [(x, labels(x)) for x in ins], [(space, labels(space)) for space in outs]
    return plan.labelled("check of an operator", reads, results, lambda b, wires, sizes: b.add(primitive, *wires))[0]
