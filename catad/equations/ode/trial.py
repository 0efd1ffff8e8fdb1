"""`Tried`: values of a step that has been tried, with the derivative that it has where it is taken.

Whether a step is taken follows from its values. Those of one that is not may be NaN or infinite, and so may its partials be; no
cotangent of 0 must meet them. So values are computed without derivatives, and the partials at another point: the same one where
the step is taken, else one of a step of length 0, which is as finite as the state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catad.category.boxes import box, of_fields
from catad.category.spaces import Product, Space, Tensor, flatten, rebuild
from catad.category.terms import D
from catad.derivative.functors import as_chain, fused, linear_graph, network_at
from catad.linear.families.gather import spread_beside
from catad.linear.structure import Rule
from catad.vector.derivative_carriers import PassedOn
from catad.vector.loops.batching import BatchedMap

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires


@box
class Tried(PassedOn):
    """(leaves of x, leaves of y) to the leaves of y, with the derivative of f, a morphism of `dom`, at x."""

    f: D
    dom: Space
    xs: int
    ys: int

    @property
    def arity(self) -> int:
        return self.xs + self.ys

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins[self.xs :]

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        floats = [sum(space.is_float for space in spaces) for spaces in (ins, outs)]
        return self.rule_within(ins, outs, (True,) * floats[0], (True,) * floats[1])

    def rule_within(
        self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...], by: tuple[bool, ...], of: tuple[bool, ...]
    ) -> Rule | None:
        flags = iter(by)
        given = tuple([k for k, space in enumerate(ins) if space.is_float and next(flags) and k < self.xs])
        if not given:
            return None
        own = tuple([k in given for k, space in enumerate(ins) if space.is_float])
        structure = as_chain(network_at(self.f, self.dom, given))

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            b = wires[0].builder
            return list(linear_graph(b, fused(self.f, self.dom), wires[: self.xs], given)[2])

        return Rule(structure, coefficients, own)

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        wide: Space = rebuild(self.dom, [Tensor((size, *space.shape), space.dtype) for space in self.dom.leaves], Product)
        return b.add(Tried(BatchedMap(self.f), wide, self.xs, self.ys), *spread_beside(b, ins, flags, size))


@of_fields
class WithDerivative(D):
    """(x, y) to y, with the derivative of f at x."""

    f: D

    def lay_out(self, b: Builder, x: Wires) -> Any:
        point, values = x
        xs, ys = flatten(point), flatten(values)
        return rebuild(b.space(values), b.add(Tried(self.f, b.space(point), len(xs), len(ys)), *xs, *ys))
