"""Operators on elements that may be absent: tables of blocks are joined with them, of which a block fills some places only.

An element is its numbers, and a truth value: whether it is there. So nothing is joined with a neutral element, which an operator
with rounding, with positions or with numbers of its own does not always leave alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from catad import scalar
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
THERE = Monoid(_of_number(scalar.apply("or", scalar.param(0), scalar.param(1))), (False,), None)
"""The operators of sums, of positions that are -1 where there are none, and of whether anything is there."""


@remembered
def present(monoid: Monoid) -> Monoid:
    """An operator without free numbers on elements that may be absent: on their numbers, and whether they are there.

    Its laws, which a first call checks, are those of the truth value: boxes that make elements check those of the operator.
    """
    d = monoid.width
    left, right = ([scalar.param(side + k) for k in range(d)] for side in (0, d + 1))
    first, second = scalar.param(d), scalar.param(2 * d + 1)
    outputs = []
    for one, both, other in zip(left, scalar.substitute(monoid.op, [*left, *right]), right, strict=True):
        outputs.append(scalar.apply("select", first, scalar.apply("select", second, both, one), other))
    tree = (*[None] * d, None)
    outputs.append(scalar.apply("or", first, second))
    op = Function.make(2 * d + 2, outputs, tree, (tree, tree), f"{monoid.op.name or 'op'} of what is there")
    return Monoid(op, (*monoid.neutral, False), tree, None, 0, THERE)


def leaves_alone(monoid: Monoid) -> bool:
    """Whether the neutral element leaves every number as it is, NaN and signs of zeros too, so that all may be joined with it."""
    (node, *others), number = monoid.op.outputs, monoid.neutral[0]
    if others or {*node.args} != {scalar.param(0), scalar.param(1)}:
        return False
    return number == {"mul": 1, "maximum": -math.inf, "minimum": math.inf}.get(node.op)


def fold_present(b: Builder, wires: Sequence[Wire], monoid: Monoid) -> Sequence[Wire]:
    """The folds along axis 0 of what is there, and whether anything is."""
    return b.add(Fold(present(monoid), 0), *wires)


def joined(b: Builder, monoid: Monoid, first: Sequence[Wire], second: Sequence[Wire]) -> list[Wire]:
    """Two elements as one."""
    return mapped(b, list(present(monoid).op.outputs), [*first, *second])
