"""Operators on elements that may be absent: tables of blocks are joined with them, of which a block fills some places only.

An element is a truth value, whether it is there, and its numbers. So nothing is joined with a neutral element, which an operator
with rounding, with positions or with numbers of its own does not always leave alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from catad import scalar
from catad.linear.families.contract import repeated
from catad.scalar import Function
from catad.support.lru import remembered
from catad.vector.folds.fold import Fold
from catad.vector.folds.monoid import Monoid
from catad.vector.pointwise.map import mapped

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire
    from catad.scalar import Node


def _of_number(node: Node) -> Function:
    return Function.make(2, [node], None, (None, None))


LAST = Monoid(_of_number(scalar.param(1)), (0,), None)
"""Of two elements that are there the last one."""

PLUS = Monoid(_of_number(scalar.apply("add", scalar.param(0), scalar.param(1))), (0,), None)
GREATEST = Monoid(_of_number(scalar.apply("maximum", scalar.param(0), scalar.param(1))), (-1,), None)
"""The operators of sums, and of positions that are -1 where there are none."""


@remembered
def present(monoid: Monoid) -> Monoid:
    """An operator without free numbers on elements that may be absent."""
    d = monoid.width
    first, second = scalar.param(0), scalar.param(d + 1)
    left = [scalar.param(1 + k) for k in range(d)]
    right = [scalar.param(d + 2 + k) for k in range(d)]
    both = scalar.substitute(monoid.op, [*left, *right])
    outputs = [scalar.apply("or", first, second)]
    for one, joined, other in zip(left, both, right, strict=True):
        outputs.append(scalar.apply("select", first, scalar.apply("select", second, joined, one), other))
    tree = (None, *[None] * d)
    op = Function.make(2 * d + 2, outputs, tree, (tree, tree), f"{monoid.op.name or 'op'} of what is there")
    return Monoid(op, (False, *monoid.neutral), tree)


def fold_present(b: Builder, monoid: Monoid, there: Wire, values: Sequence[Wire]) -> list[Wire]:
    """The folds along axis 0 of what is there, with whether anything is; `there` may lack axes at the end."""
    wide = repeated(b, there, range(there.ndim), values[0].shape)
    return list(b.add(Fold(present(monoid), 0), wide, *values))


def joined(b: Builder, monoid: Monoid, first: Sequence[Wire], second: Sequence[Wire]) -> list[Wire]:
    """Two elements, each a wire that says whether it is there and its numbers, as one."""
    return mapped(b, list(present(monoid).op.outputs), [*first, *second])
