"""Leave-one-out products: `y_i = product of x_j for j != i`, the gradient of a product, along an axis or by bin.

They are differentiated as the products of what stands before and after each element, so they are exact where elements are zero,
in every order of derivative. They are computed from the whole product in a range of exponents without end (`extended_range.py`),
so neither a part of the product nor the whole over- or underflows. Where the whole product is a normal number, the product
without an element is that by the element: it may be computed so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catad import scalar
from catad.category.boxes import AlongAxis, box, of_fields
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.category.wiring import share
from catad.scalar import Function
from catad.vector.bins.prefixes_by_bin import BySorting
from catad.vector.decomposed import one_term
from catad.vector.folds.extended_range import TIMES, LeaveOneOut, LeaveOneOutByBin
from catad.vector.folds.shortcut import INDEXED, Formula, Read, Shortcut
from catad.vector.scans.scan import scanned

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wires

QUOTIENT = Function.make(2, [scalar.apply("div", scalar.param(1), scalar.param(0))])  # of an element and the product
_IS_ZERO = scalar.apply("eq", scalar.param(1), scalar.const(0))
_QUOTIENT_BY_BIN = Function.make(
    3, [scalar.apply("select", _IS_ZERO, scalar.param(1), scalar.apply("div", scalar.param(1), scalar.param(2)))]
)  # of an index, the product of its bin, and an element


@share
@of_fields
class FromBothSides(D):
    """The products of what stands before and after each element along an axis."""

    axis: int

    def lay_out(self, b: Builder, x: Wires) -> Any:
        (before,) = scanned(b, TIMES, [x], self.axis, True, False)
        (after,) = scanned(b, TIMES, [x], self.axis, True, True)
        return before * after


@box
class LeaveOneOutProduct(Shortcut, AlongAxis):
    """(x, its product along the axis) to the products of all elements but one."""

    axis: int = 0
    arity = 2
    condition = "normal"

    @property
    def decomposition(self) -> D:
        return FromBothSides(self.axis)

    @property
    def exact(self) -> D:
        return one_term(LeaveOneOut, self.axis)

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins[:1]

    def formula(self, ins: tuple[Tensor, ...]) -> Formula | None:
        shape = ins[0].shape
        axes = tuple(range(len(shape)))
        return Formula(QUOTIENT, (Read(0, axes), Read(1, axes[: self.axis] + axes[self.axis + 1 :])), shape)

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return 3 * ins[0].size


@box
class LeaveOneOutProductByBin(Shortcut):
    """(indices (m,), values, the products of the bins) to the product of each value's bin without it; 0 out of range."""

    bins: int
    arity = 3
    condition = "normal"

    @property
    def decomposition(self) -> D:
        return one_term(BySorting, "products", TIMES, self.bins)

    @property
    def exact(self) -> D:
        return one_term(LeaveOneOutByBin, self.bins)

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins[1:2]

    def formula(self, ins: tuple[Tensor, ...]) -> Formula | None:
        axes = tuple(range(len(ins[1].shape)))
        reads = Read(0, axes[:1]), Read(2, (INDEXED, *axes[1:])), Read(1, axes)
        return Formula(_QUOTIENT_BY_BIN, reads, ins[1].shape, self.bins) if self.bins else None

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return 3 * ins[1].size
