"""Folds by bin as a primitive, and the derivative of a histogram.

    d total[bin] / d x_i = d op(op(before_i, x_i), after_i) / d x_i      in the bin of x_i, 0 in all others

with `before_i` and `after_i` the folds of the values before and after x_i in its bin. After a sort by bin this is the
derivative of a segmented fold (Bruun and Larsen 2022, section 6.1), but the formula needs no sort.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import scalar
from catad.category.boxes import box
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.linear.families.block import assemble, chain
from catad.linear.families.contract import contract
from catad.linear.families.gather import Gather, Gathered, Indexing, ScatterAdd, rows_of
from catad.linear.families.recurrence import ONE, ZERO
from catad.linear.structure import Placed, Rule
from catad.scalar import Function
from catad.vector.bins.prefixes_by_bin import CarriedByBin, PrefixByBin, by_sorting_of, operations, position_dtype
from catad.vector.bins.sorted_bins import alone_in_bin, inside
from catad.vector.folds.arg_extremum import ArgExtremumByBin
from catad.vector.folds.fold import of_one
from catad.vector.folds.leave_one_out import LeaveOneOutProductByBin
from catad.vector.folds.monoid import Monoid, check_laws, chooses, sampled
from catad.vector.pointwise.map import mapped
from catad.vector.scans.scan import entries, filled, pointwise_block

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire
    from catad.scalar import Node

Known = Callable[["Builder", Sequence["Wire"], Sequence["Wire"]], "list[Wire]"]


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
        return by_sorting_of("folds", self.monoid, self.bins)

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple([Tensor((self.bins, *s.shape[1:]), s.dtype) for s in ins[1:]])

    def check(self, xp: Any, *arrays: Any) -> None:
        check_laws(self.monoid, sampled(xp, arrays[1:]))

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        floats = [k for k in range(self.monoid.width) if ins[1 + k].is_float]
        if not floats:
            return None
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
        rows: list[list[Placed | None]] = []
        for k, line in zip(floats, grid, strict=True):
            row: list[Placed | None] = []
            for j, entry in zip(floats, line, strict=True):
                own = None if entry == ONE else how.dst
                s = ScatterAdd(how, own, ins[0].dtype, outs[k].dtype, ins[1 + j].dtype, None if own is None else dtype)
                row.append(None if entry == ZERO else (s, (0,) if own is None else (0, 1 + entry)))
            rows.append(row)
        weight = Tensor(ins[1].shape, dtype)
        dom, cod = [ins[1 + k] for k in floats], [outs[k] for k in floats]
        whole = assemble(rows, dom, cod, (ins[0], *[weight] * len(slots)))

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            b = wires[0].builder
            found = known(b, wires, results)
            axes = tuple(range(wires[1].ndim))
            everywhere = contract(b, [(0,)], [wires[0]], axes, wires[1].shape)
            dropped = inside(scalar.param(len(found)), self.bins)  # whatever stands there, it has no influence
            kept = [scalar.apply("select", dropped, node, scalar.const(0.0)) for node, _ in slots]
            return [wires[0], *[filled(b, w, weight) for w in mapped(b, kept, [*found, everywhere])]]

        return Rule(whole, coefficients)

    def _in_two(
        self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...], floats: list[int], first: Function, second: Function
    ) -> Rule:
        """Through `op(before, x)`, value by value, then through `op(., after)`, added up by bin: as of a fold."""
        d = self.monoid.width
        inner, inner_slots = entries(_rows(scalar.partials(first, [d + k for k in floats]), floats))
        at = [*first.outputs, *_params(d, first.arity)]
        outer = [
            [None if node is None else scalar.substitute(Function.make(2 * d + 1, [node]), at)[0] for node in row]
            for row in _rows(scalar.partials(second, floats), floats)
        ]
        middle = tuple([ins[1 + k] for k in floats])
        slot = Tensor(ins[1].shape, np.result_type(*[s.dtype for s in middle]))
        before = pointwise_block(inner, middle, middle, [slot] * len(inner_slots))
        after = self._weighted(ins, outs, floats, outer, self._prefixes)
        cut = len(inner_slots)
        nodes = [node for node, _ in inner_slots]
        numbers = tuple(range(cut, cut + len(after.structure.slots)))

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            b = wires[0].builder
            own = mapped(b, nodes, self._prefixes(b, wires, results))
            return [*[filled(b, w, slot) for w in own], *after.coefficients(wires, results)]

        return Rule(chain([(before, tuple(range(cut))), (after.structure, numbers)]), coefficients)

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
            own = contract(b, [(0,)], [single], tuple(range(wires[1].ndim)), wires[1].shape)
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
