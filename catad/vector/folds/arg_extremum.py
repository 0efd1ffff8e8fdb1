"""The position of a minimum or maximum (arg-extremum), along an axis or by bin: what its derivative needs to know.

It means the fold of (number, position) by the operator's own choice. Where the result is a number, its position is that of the
first number that equals it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from catad import scalar
from catad.category.boxes import AlongAxis, box, of_fields
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.category.wiring import share
from catad.scalar import Function
from catad.vector.bins.prefixes_by_bin import BySorting, position_dtype
from catad.vector.decomposed import one_term
from catad.vector.folds.monoid import Monoid, with_position
from catad.vector.folds.shortcut import First, Formula, Read, Shortcut

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wires

_EQUAL = Function.make(3, [scalar.apply("eq", scalar.param(0), scalar.param(2))])  # of an element, its position and the result


@share
@of_fields
class Position(D):
    """(x, positions) to the position that the fold of both along an axis ends with."""

    monoid: Monoid
    axis: int

    def lay_out(self, b: Builder, x: Wires) -> Any:
        from catad.vector.folds.fold import Fold

        return b.add(Fold(with_position(self.monoid), self.axis), *x)[1]


@box
class ArgExtremum(Shortcut, AlongAxis):
    """(x, positions along the axis, the minimum or maximum of x along the axis) to its position, -1 where x is empty."""

    monoid: Monoid
    axis: int = 0
    arity = 3
    condition = "number"

    @property
    def decomposition(self) -> D:
        return one_term(Position, self.monoid, self.axis)

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        shape = ins[0].shape
        return (Tensor((*shape[: self.axis], *shape[self.axis + 1 :]), np.int64),)

    def formula(self, ins: tuple[Tensor, ...]) -> Formula | None:
        shape = ins[0].shape
        if shape[self.axis] == 0:
            return None
        axes = tuple(range(len(shape)))
        reads = Read(0, axes), Read(1, axes), Read(2, axes[: self.axis] + axes[self.axis + 1 :])
        return Formula(_EQUAL, reads, shape, first=First(self.axis, 1))

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return 2 * ins[0].size


@box
class ArgExtremumByBin(Shortcut):
    """(indices (m,), values, the results of the bins) to the positions of the values that a minimum or maximum takes.

    The result is (bins, ...), -1 in empty bins. Its formula is a fold by bin, not one of elements: an engine that folds by bin
    looks in its pass for the first value that equals the result of its bin.
    """

    monoid: Monoid
    bins: int
    arity = 3
    condition = "number"

    @property
    def decomposition(self) -> D:
        return one_term(BySorting, "positions", self.monoid, self.bins)

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (Tensor((self.bins, *ins[1].shape[1:]), position_dtype(ins[1].shape[0])),)

    def formula(self, ins: tuple[Tensor, ...]) -> Formula | None:
        return None

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return 2 * ins[1].size
