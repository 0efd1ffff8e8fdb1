"""The products of the others: `y_i = product of x_j for j != i`, the gradient of a product.

It is differentiated as the products of what stands before and after each element, so it is exact where elements are zero, in
every order of derivative. It is computed from the whole product in a range of exponents without end (`unlimited.py`), so
neither a part of the product nor the whole over- or underflows. Where the whole product is a normal number, the product of the
others is that by the element: it may be computed so.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from catad.boxes import Primitive, box
from catad.linear.block import assemble
from catad.linear.gather import spread_over
from catad.linear.structure import Rule
from catad.spaces import Tensor
from catad.terms import D, above
from catad.vector.scan import scanned
from catad.vector.unlimited import TIMES, is_normal, others
from catad.wiring import share

if TYPE_CHECKING:
    from catad.wiring import Builder, Wire, Wires


@share
class FromBothSides(D):
    """The products of what stands before and after each element along an axis."""

    __slots__ = ("axis",)

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def data(self) -> Hashable:
        return self.axis

    def wired(self, b: Builder, x: Wires) -> Any:
        (before,) = scanned(b, TIMES, [x], self.axis, True, False)
        (after,) = scanned(b, TIMES, [x], self.axis, True, True)
        return before * after

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"{name(FromBothSides, 'FromBothSides')}({self.axis})"


@box
class ProductOfOthers(Primitive):
    """(x, its product along the axis) to the products of the others.

    The second argument only helps to compute it: no derivative is taken with respect to it.
    """

    axis: int = 0
    arity = 2

    @property
    def general(self) -> D:
        """What it means, as a morphism of x alone."""
        return FromBothSides(self.axis)

    @property
    def exact(self) -> D:
        """How it is computed, whatever the numbers are, of x alone."""
        return others(self.axis)

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins[:1]

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        x, total = arrays
        if is_normal(xp, total):
            return total[(*[slice(None)] * self.axis, None)] / x
        program, _ = above().program_of(self.exact, Tensor(x.shape, x.dtype))
        return program.inside(xp, [x])[0]

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        valued, structure = above().linearised(self.general, ins[0])
        whole = assemble([[(structure, tuple(range(len(structure.slots)))), None]], ins, outs, structure.slots)
        return Rule(whole, lambda wires, _: wires[0].builder.apply(valued, wires[0])[1])

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        carried = [w if flag else spread_over(b, w, size) for w, flag in zip(ins, flags, strict=True)]
        return b.add(ProductOfOthers(self.axis + 1), *carried)

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return 3 * ins[0].size
