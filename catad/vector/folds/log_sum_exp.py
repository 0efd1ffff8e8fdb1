"""The fold of `logaddexp`: the greatest number m, then the sum of the exponentials of x_i - m.

    y = log(sum over i of exp(x_i)) = m + log(s),   s = sum over i of exp(x_i - m)
    dy = sum over i of p_i dx_i,   p_i = exp(x_i - m) / s,   dp_i = p_i (dx_i - dy)

Where the greatest number is infinite, all numbers equal to it share the derivative, as the operands of `logaddexp` do.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from catad import scalar
from catad.category.boxes import AlongAxis, box
from catad.category.spaces import Tensor
from catad.linear.families.block import assemble
from catad.linear.families.delta import delta
from catad.linear.structure import Rule
from catad.scalar import Function, Node, apply, param
from catad.vector.derivative_carriers import PassedOn
from catad.vector.folds.merge_axes import spread
from catad.vector.folds.monoid import Monoid
from catad.vector.pointwise.map import mapped
from catad.vector.shapes.shape import summed

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

_LARGEST = Monoid(Function.make(2, [apply("maximum", param(0), param(1))], None, (None, None)), (-math.inf,), None)


def _below(x: Node, m: Node) -> Node:
    """x - m, and 0 where they are equal, infinities too."""
    return apply("select", apply("eq", x, m), scalar.const(0.0), apply("sub", x, m))


def log_sum_exp(b: Builder, x: Wire, axis: int) -> Wire:
    """The fold of `logaddexp` along an axis."""
    from catad.vector.folds.fold import Fold

    (most,) = b.add(Fold(_LARGEST, axis), x)
    (power,) = mapped(b, [apply("exp", _below(param(0), param(1)))], [x, spread(b, most, x, (axis,))])
    total = summed(b, power, (axis,))
    (y,) = mapped(b, [apply("add", param(0), apply("log", param(1)))], [most, total])
    return b.add(LogSumExp(axis), x, y, most, total)[0]


def _rest(x: Tensor, axis: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Labels of all axes, and without one."""
    labels = tuple(range(x.ndim))
    return labels, (*labels[:axis], *labels[axis + 1 :])


@box
class LogSumExp(PassedOn, AlongAxis):
    """(x, y, m, s) to y; there is no derivative with respect to the others."""

    axis: int = 0
    arity = 4
    xs = 1

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        labels, rest = _rest(ins[0], self.axis)
        row = delta(rest, labels, labels, ins[0].shape, ins[0].dtype, outs[0].dtype, ins[0].dtype)

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            b, (x, _, *found) = wires[0].builder, wires
            share = apply("div", apply("exp", _below(param(0), param(1))), param(2))
            (p,) = mapped(b, [share], [x, *[spread(b, w, x, (self.axis,)) for w in found]])
            return list(b.add(Softmax(self.axis), x, *results, p))

        return Rule(assemble([[(row, (0,)), None, None, None]], ins, outs, row.slots), coefficients)


@box
class Softmax(PassedOn, AlongAxis):
    """(x, y, p) to p; there is no derivative with respect to p itself."""

    axis: int = 0
    arity = 3
    xs = 2

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        labels, rest = _rest(ins[0], self.axis)
        shape, dtype = ins[0].shape, ins[0].dtype
        own = delta(labels, labels, labels, shape, dtype, dtype, dtype)
        whole = delta(labels, rest, labels, shape, dtype, dtype, dtype, -1.0)
        return Rule(assemble([[(own, (0,)), (whole, (0,)), None]], ins, outs, own.slots), lambda _, results: list(results))
