"""`Implicit`: solutions of an equation, with their derivative by what the equation is given.

    F(x, a) = 0        dx = -J_x^-1 J_a da

It does not matter who found x. The chain `J_a >> -1 >> J_x^-1` keeps the structure of the equation: J_x is multiplied out as the
planner says, and inverted by its bands or blocks. Its numbers follow from the results of the box, so that the rule can be
differentiated again. (The implicit function theorem; as a rule for automatic differentiation in A. Griewank and A. Walther,
*Evaluating Derivatives*, 2008, chapter 15.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from catad.category.boxes import box
from catad.category.spaces import Product, Space, Tensor, rebuild
from catad.category.terms import D
from catad.derivative.functors import as_chain, fused, linear_graph, network_at
from catad.linear.families.block import chain, diagonal_block, grid
from catad.linear.families.contract import zeros
from catad.linear.families.delta import delta, pointwise
from catad.linear.families.gather import spread_beside
from catad.linear.families.inverses import inverse_of
from catad.linear.families.ordered_inverse import Inverted
from catad.linear.families.reindex import reshaped
from catad.linear.matrix.materialise import blocks_on
from catad.linear.structure import Rule, Structure, apart, cast, widest
from catad.planner.plan import plan
from catad.support.lru import remembered
from catad.vector.derivative_carriers import PassedOn
from catad.vector.loops.batching import BatchedMap

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

FEW = 256  # unknowns of a Jacobian through loops up to which its array is made


class MultipliedOut(NamedTuple):
    """A Jacobian that is multiplied out, and a function that adds the boxes of its slots to those of its factors."""

    result: Structure
    slots: Callable[[Builder, Sequence[Wire]], list[Wire]]


@remembered
def multiplied_out(structure: Structure) -> MultipliedOut:
    """A Jacobian that is to be inverted, multiplied out as a plan says, which is the same on every machine.

    One of few unknowns that goes through loops is an array, which a basis gives that is pushed through all of it at once.
    """
    if min(structure.rows, structure.columns) <= FEW and _goes_through_loops(structure):
        return _as_arrays(structure)
    found = plan(structure, cost="operations")
    return MultipliedOut(found.result, lambda b, slots: list(b.inline(found.wiring, slots)))


def _goes_through_loops(structure: Structure) -> bool:
    """True where a factor is known only by how it is applied."""
    graph = structure.graph
    parts = structure.pieces if graph is None else [node.part[0] for node in graph.nodes]
    return structure.is_lazy if parts is None else any(map(_goes_through_loops, parts))


def _as_arrays(structure: Structure) -> MultipliedOut:
    def dense(row: Tensor, column: Tensor) -> Structure:
        n = row.ndim
        labels = tuple(range(n + column.ndim))
        sizes, dtype = (*row.shape, *column.shape), widest(row, column)
        return delta(labels[:n], labels[n:], labels, sizes, column.dtype, row.dtype, dtype)

    def slots(b: Builder, given: Sequence[Wire]) -> list[Wire]:
        blocks, made = blocks_on(b, structure, given), []
        for (r, row), (c, column) in product(enumerate(structure.cod), enumerate(structure.dom)):
            space, found = Tensor((*row.shape, *column.shape), widest(row, column)), blocks.get((r, c))
            made.append(zeros(b, space) if found is None else cast(reshaped(b, found, space.shape), space.dtype))
        return made

    return MultipliedOut(grid([[dense(r, c) for c in structure.dom] for r in structure.cod], structure.dom, structure.cod), slots)


@remembered
def inverted(structure: Structure, rtol: float | None = None) -> Inverted:
    """The inverse of a Jacobian that is multiplied out, or by products with it, with a residual up to `rtol`."""
    return inverse_of(structure, rtol)


@box
class Implicit(PassedOn):
    """(leaves of a, leaves of x) to the leaves of x, for which `equation` is zero: a morphism of `dom`, which is (x, a)."""

    equation: D
    dom: Space
    xs: int  # leaves of a
    rtol: float | None = None  # of a system with J_x by products alone

    @property
    def arity(self) -> int:
        return len(self.dom.leaves)

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins[self.xs :]

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        return self.rule_within(ins, outs, (True,) * sum(space.is_float for space in ins), (True,) * len(outs))

    def rule_within(
        self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...], by: tuple[bool, ...], of: tuple[bool, ...]
    ) -> Rule | None:
        n, flags = len(outs), iter(by)
        given = [k for k, space in enumerate(ins) if space.is_float and next(flags) and k < self.xs]
        if not given:
            return None
        own = tuple([k in given for k, space in enumerate(ins) if space.is_float])
        unknowns, places = tuple(range(n)), tuple([n + k for k in given])
        by_x, by_a = [as_chain(network_at(self.equation, self.dom, part)) for part in (unknowns, places)]
        multiplied = multiplied_out(by_x) if self.rtol is None else None
        inverse = inverted(by_x if multiplied is None else multiplied.result, self.rtol)
        less = [pointwise(space, space, None, -1.0) for space in by_a.cod]
        minus = less[0] if len(less) == 1 else diagonal_block(less)

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            b, point = wires[0].builder, [*results, *wires[: self.xs]]
            wiring = fused(self.equation, self.dom)
            slots_a = linear_graph(b, wiring, point, places)[2]
            slots_x = linear_graph(b, wiring, point, unknowns)[2]
            slots_x = slots_x if multiplied is None else multiplied.slots(b, slots_x)
            return [*slots_a, *inverse.slots(b, slots_x)]

        return Rule(chain(apart(by_a, minus, inverse.structure)), coefficients, own)

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        wide: Space = rebuild(self.dom, [Tensor((size, *space.shape), space.dtype) for space in self.dom.leaves], Product)
        return b.add(Implicit(BatchedMap(self.equation), wide, self.xs, self.rtol), *spread_beside(b, ins, flags, size))


def corrected(b: Builder, equation: D, dom: Space, point: Sequence[Wire], n: int) -> tuple[list[Wire], list[Wire | None]]:
    """The values of an equation at a point (x, a), and the solution d of `J_x d = F`; x has n leaves."""
    results, network, slots = linear_graph(b, fused(equation, dom), point, tuple(range(n)))
    multiplied = multiplied_out(as_chain(network))
    inverse = inverted(multiplied.result)
    made = inverse.structure.apply(b, inverse.slots(b, multiplied.slots(b, slots)), results)
    return results, made
