"""Folds by bin as a primitive, and the derivative of a histogram.

    d total[bin] / d x_i = d op(op(before_i, x_i), after_i) / d x_i      in the bin of x_i, 0 in all others

with `before_i` and `after_i` the folds of the values before and after x_i in its bin. After a sort by bin this is the
derivative of a segmented fold (Bruun and Larsen 2022, section 6.1), but the formula needs no sort.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import scalar
from catad.category.boxes import box
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.linear.families.contract import repeated
from catad.linear.families.gather import Gather, Gathered, Indexing, ScatterAdd, rows_of
from catad.linear.structure import Rule
from catad.scalar import Function
from catad.vector.bins.prefixes_by_bin import BySorting, CarriedByBin, PrefixByBin, operations, position_dtype
from catad.vector.bins.sorted_bins import alone_in_bin, inside
from catad.vector.decomposed import one_term
from catad.vector.folds.arg_extremum import ArgExtremumByBin
from catad.vector.folds.fold import of_one
from catad.vector.folds.leave_one_out import LeaveOneOutProductByBin
from catad.vector.folds.monoid import Monoid, check_laws, chooses, sampled
from catad.vector.pointwise.map import mapped
from catad.vector.scans.scan import Known, after_pointwise, entries, entry_block, filled

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire
    from catad.scalar import Node


@box
class FoldByBin(CarriedByBin):
    """(indices (m,), values...) to the folds of each bin (bins, ...); an empty bin has the neutral element.

    Jacobian: of a minimum or maximum the gather at its positions; of any other operator a weighted scatter-add, whose weight
    is the partial of `op(op(before, x), after)` at the folds of what stands before and after the value in its bin. For a
    product this is the leave-one-out product; with a declared inverse it is the partial at the total without the value.
    """

    monoid: Monoid
    bins: int

    @property
    def decomposition(self) -> D:
        return one_term(BySorting, "folds", self.monoid, self.bins)

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple([Tensor((self.bins, *s.shape[1:]), s.dtype) for s in ins[1:]])

    def check(self, xp: Any, *arrays: Any) -> None:
        check_laws(self.monoid, sampled(xp, arrays[1:]))

    def checks(self, ins: tuple[Tensor, ...]) -> bool:
        return not self.monoid.is_lawful([space.dtype for space in ins[1:]])

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        floats = [k for k in range(self.monoid.width) if ins[1 + k].is_float]
        if chooses(self.monoid):
            return self._extremum(ins, outs)
        if self.monoid.inverse is not None:
            return self._weighted(ins, outs, floats, *self._at_totals(floats))
        if scalar.recognise(self.monoid.op) == "mul":
            return self._product(ins, outs)
        first, second = self._from_both_sides()
        whole = scalar.substitute(second, [*first.outputs, *_params(self.monoid.width, first.arity)])
        d = self.monoid.width
        joined = scalar.partials(Function.make(first.arity + d + 1, whole), [d + k for k in floats])
        nodes = [[joined[k][j] for j in range(len(floats))] for k in floats]
        apart = self._in_two(ins, outs, floats, first, second)
        stored = {n for row in nodes for n in row if n is not None and scalar.constant(n) is None}
        if len(apart.structure.slots) < len(stored):
            return apart
        return self._weighted(ins, outs, floats, nodes, self._prefixes)

    def _extremum(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        axes, n = tuple(range(ins[1].ndim)), ins[1].ndim
        by = (n, *axes[1:])
        how = Indexing(axes, 0, by, by, (*ins[1].shape, self.bins))
        structure = Gather(how, None, position_dtype(ins[1].shape[0]), ins[1].dtype, outs[0].dtype, None)
        positions = ArgExtremumByBin(self.monoid, self.bins)
        return Rule(structure, lambda wires, totals: list(wires[0].builder.add(positions, *wires, *totals)))

    def _product(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        how = rows_of(outs[0].shape, ins[0].shape)
        structure = ScatterAdd(how, how.dst, ins[0].dtype, outs[0].dtype, ins[1].dtype, ins[1].dtype)

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            return [wires[0], *wires[0].builder.add(LeaveOneOutProductByBin(self.bins), *wires, *results)]

        return Rule(structure, coefficients)

    def _weighted(
        self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...], floats: list[int], nodes: Any, known: Known
    ) -> Rule:
        """Scatter-adds whose weights are expressions (a row for each result) of known wires."""
        how = rows_of(outs[0].shape, ins[0].shape)
        dtype = np.result_type(*[ins[1 + k].dtype for k in floats])
        grid, slots = entries(nodes)
        weight = Tensor(ins[1].shape, dtype)

        def part(x: Tensor, y: Tensor, slot: Tensor | None) -> ScatterAdd:
            own = (None, None) if slot is None else (how.dst, slot.dtype)
            return ScatterAdd(how, own[0], ins[0].dtype, y.dtype, x.dtype, own[1])

        dom, cod = [ins[1 + k] for k in floats], [outs[k] for k in floats]
        whole = entry_block(grid, dom, cod, (ins[0], *[weight] * len(slots)), part, 1)

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            b = wires[0].builder
            found = known(b, wires, results)
            everywhere = repeated(b, wires[0], (0,), wires[1].shape)
            dropped = inside(scalar.param(len(found)), self.bins)  # whatever stands there, it has no influence
            kept = [scalar.apply("select", dropped, node, scalar.const(0.0)) for node, _ in slots]
            return [wires[0], *[filled(b, w, weight) for w in mapped(b, kept, [*found, everywhere])]]

        return Rule(whole, coefficients)

    def _in_two(
        self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...], floats: list[int], first: Function, second: Function
    ) -> Rule:
        """Through `op(before, x)`, value by value, then through `op(., after)`, added up by bin: as of a fold."""
        d = self.monoid.width
        outer = scalar.put(_rows(scalar.partials(second, floats), floats), [*first.outputs, *_params(d, first.arity)])
        inner = _rows(scalar.partials(first, [d + k for k in floats]), floats)
        after = self._weighted(ins, outs, floats, outer, self._prefixes)
        return after_pointwise(inner, [ins[1 + k] for k in floats], self._prefixes, after)

    # -- what the weights are expressions of

    def _from_both_sides(self) -> tuple[Function, Function]:
        """`op(before, x)` of (before..., x..., is there any), and `op(., after)` of (that..., after..., is there any)."""
        d = self.monoid.width
        joined = scalar.substitute(self.monoid.op, [scalar.param(k) for k in range(2 * d)])
        there = scalar.param(2 * d)
        first = [scalar.apply("select", there, joined[k], scalar.param(d + k)) for k in range(d)]
        second = [scalar.apply("select", there, joined[k], scalar.param(k)) for k in range(d)]
        return Function.make(2 * d + 1, first), Function.make(2 * d + 1, second)

    def _prefixes(self, b: Builder, wires: Sequence[Wire], results: Sequence[Wire]) -> list[Wire]:
        """(before..., x..., is there any, after..., is there any)"""
        d = self.monoid.width
        some, *found = b.add(PrefixByBin(self.monoid, self.bins), *wires)
        return [*found[:d], *wires[1:], some, *found[d + 1 :], found[d]]

    def _at_totals(self, floats: list[int]) -> tuple[Any, Known]:
        """The partials at the totals without the value. A value that is alone in its bin is the total: its weight is the
        identity, without the inverse, whose own derivatives need not exist at the neutral element."""
        d = self.monoid.width
        partials, _ = of_one(self.monoid, floats)
        alone = scalar.param(2 * d)

        def chosen(node: Node | None, one: bool) -> Node | None:
            return None if node is None else scalar.apply("select", alone, scalar.const(float(one)), node)

        nodes = [[chosen(n, j == k) for j, n in zip(floats, partials[k], strict=True)] for k in floats]

        def known(b: Builder, wires: Sequence[Wire], results: Sequence[Wire]) -> list[Wire]:
            single = alone_in_bin(b, wires[0], self.bins)  # first: an engine may count while it folds
            own = repeated(b, single, (0,), wires[1].shape)
            how = rows_of(results[0].shape, wires[0].shape)
            totals = [b.add(Gathered(how), wires[0], r)[0] for r in results]
            return [*totals, *wires[1:], own]

        return nodes, known

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return ins[1].size * operations(self.monoid)


def _params(d: int, first: int) -> list[Node]:
    return [scalar.param(first + k) for k in range(d + 1)]


def _rows(partials: Any, floats: list[int]) -> list[list[Node | None]]:
    return [partials[k] for k in floats]
