"""Boxes of a step of Newton's method: the correction by the structured Jacobian, and products with the Jacobian."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catad.category.boxes import of_fields
from catad.category.spaces import flatten
from catad.category.terms import D
from catad.category.wiring import wire
from catad.derivative.functors import fused, linear_graph
from catad.equations.implicit import corrected
from catad.linear.families.contract import zeros
from catad.linear.solving.lenient import made_lenient

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wires


@of_fields
class _Strict(D):
    """`Correction`, with an error for a Jacobian that has no inverse."""

    equation: D

    def lay_out(self, b: Builder, x: Wires) -> Any:
        return tuple(corrected(b, self.equation, b.space(x), flatten(x), len(flatten(x[0])))[1])


@of_fields
class Correction(D):
    """`(x, args)` to the leaves of Newton's correction d, with `J_x d = F(x, args)`; NaN where the Jacobian has no inverse."""

    equation: D

    def lay_out(self, b: Builder, x: Wires) -> Any:
        wiring = wire(_Strict(self.equation), b.space(x))
        return tuple(b.inline(made_lenient(wiring), flatten(x)))


@of_fields
class JacobianProduct(D):
    """`(x, args)` and the leaves of a tangent of x to the leaves of the derivative of the equation along it."""

    equation: D

    def lay_out(self, b: Builder, x: Wires) -> Any:
        point, v = x
        leaves = flatten(point)
        _, network, slots = linear_graph(b, fused(self.equation, b.space(point)), leaves, tuple(range(len(v))))
        made = network.apply(b, slots, list(v))
        return tuple([zeros(b, leaf) if y is None else y for y, leaf in zip(made, network.cod, strict=True)])
