"""`Row`: a result along some axes, with a derivative that is a row of known numbers; and `Normalised`, for softmax.

    y = f(x)        dy = factor * sum over the axes of p dx

The numbers p are computed from x and y by ordinary boxes, so derivatives of higher order follow from them.
"""

from __future__ import annotations

from dataclasses import replace

from catad.category.boxes import Primitive, box
from catad.category.spaces import Tensor
from catad.linear.families.block import assemble, chain, total
from catad.linear.families.delta import delta
from catad.linear.structure import Rule
from catad.vector.derivative_carriers import PassedOn


class _AlongAxes(PassedOn):
    """Boxes of arrays some axes of which are those of the result."""

    axes: tuple[int, ...]

    def labels(self, x: Tensor) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Labels of all axes, and of those that stay."""
        labels = tuple(range(x.ndim))
        return labels, tuple([k for k in labels if k not in self.axes])

    def carried(self, size: int) -> Primitive:
        return replace(self, axes=tuple([k + 1 for k in self.axes]))  # type: ignore[type-var]


@box
class Row(_AlongAxes):
    """(x, y, p) to y, whose derivative is that with respect to x alone."""

    axes: tuple[int, ...]
    factor: float = 1.0
    arity = 3
    xs = 1

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        x = ins[0]
        labels, rest = self.labels(x)
        row = delta(rest, labels, labels, x.shape, x.dtype, outs[0].dtype, x.dtype, self.factor)
        return Rule(assemble([[(row, (0,)), None, None]], ins, outs, row.slots), lambda wires, _: wires[2:])


@box
class Normalised(_AlongAxes):
    """(x, p) to p, where `dp = p dx - p (sum over the axes of p dx)`: a diagonal minus an outer product, both of p."""

    axes: tuple[int, ...]
    arity = 2
    xs = 1

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        x = ins[0]
        labels, rest = self.labels(x)
        own = delta(labels, labels, labels, x.shape, x.dtype, x.dtype, x.dtype)
        row = delta(rest, labels, labels, x.shape, x.dtype, x.dtype, x.dtype)
        column = delta(labels, rest, labels, x.shape, x.dtype, x.dtype, x.dtype, -1.0)
        structure = total([(own, (0,)), (chain([(row, (0,)), (column, (0,))]), (0,))])
        return Rule(assemble([[(structure, (0,)), None]], ins, outs, own.slots), lambda _, results: list(results))
