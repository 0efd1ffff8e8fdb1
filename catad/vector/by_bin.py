"""Folds by bin as primitives: the folds of the values of each bin, and for each value the folds of the others of its bin.

What they mean is a stable sort by bin and a segmented scan (`bins.py`), and so are their derivatives of higher order; an engine may
compute them in one pass in the order of the values, with a state for each bin.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import scalar
from catad.linear.block import assemble, chain
from catad.linear.contract import contract
from catad.linear.gather import Gather, Indexing, ScatterAdd, Take, rows_of, spread_over
from catad.linear.recurrence import ONE, ZERO
from catad.linear.reindex import Reshaped
from catad.linear.structure import Placed, Rule
from catad.primitive import Primitive, box
from catad.scalar import Function
from catad.spaces import Tensor, product
from catad.terms import D, above
from catad.vector.bins import Alone, by_sorting, inside, prefixes_by_sorting
from catad.vector.fold import of_one
from catad.vector.generate import Iota
from catad.vector.index import Integers
from catad.vector.map import mapped
from catad.vector.monoid import Monoid, check_laws, chooses, sampled, with_winner
from catad.vector.others import TIMES
from catad.vector.scan import entries, filled, pointwise_block
from catad.wiring import share

if TYPE_CHECKING:
    from catad.scalar import Node
    from catad.wiring import Builder, Wire, Wires


@share
class Meaning(D):
    """(index, values...) to what a box means, in smaller boxes."""

    __slots__ = ("bins", "monoid", "what")

    def __init__(self, what: str, monoid: Monoid, bins: int) -> None:
        self.what, self.monoid, self.bins = what, monoid, bins

    def data(self) -> Hashable:
        return (self.what, self.monoid, self.bins)

    def wired(self, b: Builder, x: Wires) -> Any:
        index, *values = x
        out = tuple(_MEANINGS[self.what](b, self.monoid, index, values, self.bins))
        return out[0] if len(out) == 1 else out

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return name(self, f"{self.what}_by_bin")


def _folds(b: Builder, monoid: Monoid, index: Wire, values: Sequence[Wire], bins: int) -> list[Wire]:
    return by_sorting(b, monoid, index, values, bins, ())


def _winners(b: Builder, monoid: Monoid, index: Wire, values: Sequence[Wire], bins: int) -> list[Wire]:
    (v,) = values
    positions = contract(b, [(0,)], [b.add(Iota(v.shape[0]))[0]], tuple(range(v.ndim)), v.shape)
    return by_sorting(b, with_winner(monoid), index, [v, positions], bins, ())[1:]


def _prefixes(b: Builder, monoid: Monoid, index: Wire, values: Sequence[Wire], bins: int) -> list[Wire]:
    before = prefixes_by_sorting(b, monoid, index, values, bins, False)
    return [*before, *prefixes_by_sorting(b, monoid, index, values, bins, True)]


def _products(b: Builder, monoid: Monoid, index: Wire, values: Sequence[Wire], bins: int) -> list[Wire]:
    _, before, _, after = _prefixes(b, TIMES, index, values, bins)
    own = contract(b, [(0,)], [index], tuple(range(before.ndim)), before.shape)
    both = scalar.apply("mul", scalar.param(0), scalar.param(1))
    return mapped(b, [scalar.apply("select", inside(scalar.param(2), bins), both, scalar.const(0.0))], [before, after, own])


def _quotients(b: Builder, monoid: Monoid, index: Wire, values: Sequence[Wire], bins: int) -> list[Wire]:
    x, total = values
    (whole,) = b.add(Take(rows_of(total.shape, index.shape)), index, total)
    own = contract(b, [(0,)], [index], tuple(range(x.ndim)), x.shape)
    by = scalar.apply("div", scalar.param(0), scalar.param(1))
    return mapped(b, [scalar.apply("select", inside(scalar.param(2), bins), by, scalar.const(0.0))], [whole, x, own])


_MEANINGS = {
    "folds": _folds,
    "winners": _winners,
    "prefixes": _prefixes,
    "products": _products,
    "quotients": _quotients,
}


@lru_cache(maxsize=4096)
def meaning(what: str, monoid: Monoid, bins: int) -> D:
    """One term for all calls, since programs are kept with their terms."""
    return Meaning(what, monoid, bins)


class _ByBin(Primitive):
    """What the boxes (index, values...) have in common; `general` says what they mean."""

    bins: int

    @property
    def general(self) -> D:
        raise NotImplementedError

    def with_bins(self, bins: int) -> Primitive:
        """The same box with another number of bins."""
        raise NotImplementedError

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        spaces = [Tensor(a.shape, a.dtype) for a in arrays]
        out = above().program_of(self.general, product(*spaces))[0](xp, arrays)
        return out[0] if len(out) == 1 else tuple(out)

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        total: int = above().cost_of_wiring(above().wire(self.general, product(*ins)))
        return total

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        """The new axis behind the elements'; where each lane has indices of its own, bins of its own as well."""
        index, *values = ins
        values = [v if flag else spread_over(b, v, size) for v, flag in zip(values, flags[1:], strict=True)]
        if not flags[0]:
            return tuple([_exchanged(b, out) for out in b.add(self, index, *[_exchanged(b, v) for v in values])])
        m, bins = index.shape[1], self.bins
        lanes = contract(b, [(0,)], [b.add(Iota(size))[0]], (0, 1), index.shape)
        own = scalar.apply("mul", scalar.param(1), scalar.const(bins))
        own = scalar.apply("add", scalar.cast(np.int64, scalar.param(0)), own)
        node = scalar.apply("select", inside(scalar.param(0), bins), own, scalar.const(-1))
        (apart,) = mapped(b, [node], [index, lanes])
        flat = [b.add(Reshaped((size * m, *w.shape[2:])), w)[0] for w in (apart, *values)]
        made = b.add(self.with_bins(size * bins), *flat)
        out = [b.add(Reshaped((size, w.shape[0] // size, *w.shape[1:])), w)[0] for w in made] if size else made
        return tuple(out)


def _exchanged(b: Builder, wire: Wire) -> Wire:
    """The first two axes exchanged."""
    rest = tuple(range(2, wire.ndim))
    return contract(b, [(0, 1, *rest)], [wire], (1, 0, *rest), wire.shape)


@box
class FoldByBin(_ByBin):
    """(indices (m,), values...) to the folds of each bin (bins, ...); an empty bin has the neutral element.

    Jacobian: of a minimum or maximum the gather of the winners; of any other operator a weighted scatter-add, whose weight is the
    partial of `op(op(before, x), after)` at the folds of what stands before and after the value in its bin. Of a product that
    is the product of the others; with a declared inverse it is the partial at the total without the value.
    """

    monoid: Monoid
    bins: int

    @property
    def arity(self) -> int:
        return 1 + self.monoid.width

    @property
    def general(self) -> D:
        return meaning("folds", self.monoid, self.bins)

    def with_bins(self, bins: int) -> Primitive:
        return FoldByBin(self.monoid, bins)

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple([Tensor((self.bins, *s.shape[1:]), s.dtype) for s in ins[1:]])

    def check(self, xp: Any, *arrays: Any) -> None:
        check_laws(self.monoid, sampled(xp, arrays[1:]))

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        floats = [k for k in range(self.monoid.width) if ins[1 + k].is_float]
        if not floats:
            return None
        if chooses(self.monoid):
            return self._winner(ins, outs)
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

    def _winner(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        axes, n = tuple(range(ins[1].ndim)), ins[1].ndim
        by = (n, *axes[1:])
        how = Indexing(axes, 0, by, by, (*ins[1].shape, self.bins))
        structure = Gather(how, None, np.dtype(np.int64), ins[1].dtype, outs[0].dtype, None)
        winner = WinnerByBin(self.monoid, self.bins)
        return Rule(structure, lambda wires, totals: list(wires[0].builder.add(winner, *wires, *totals)))

    def _product(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        how = rows_of(outs[0].shape, ins[0].shape)
        structure = ScatterAdd(how, how.dst, ins[0].dtype, outs[0].dtype, ins[1].dtype, ins[1].dtype)

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            return [wires[0], *wires[0].builder.add(ProductOfOthersByBin(self.bins), *wires, *results)]

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
            how = rows_of(results[0].shape, wires[0].shape)
            totals = [b.add(Take(how), wires[0], r)[0] for r in results]
            own = contract(b, [(0,)], [b.add(Alone(self.bins), wires[0])[0]], tuple(range(wires[1].ndim)), wires[1].shape)
            return [*totals, *wires[1:], own]

        return nodes, known

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.vector.FoldByBin({name(self.monoid, 'monoid')}, {self.bins})"


Known = Callable[["Builder", Sequence["Wire"], Sequence["Wire"]], "list[Wire]"]


def _params(d: int, first: int) -> list[Node]:
    return [scalar.param(first + k) for k in range(d + 1)]


def _rows(partials: Any, floats: list[int]) -> list[list[Node | None]]:
    return [partials[k] for k in floats]


@box
class WinnerByBin(Integers, _ByBin):
    """(indices (m,), values, the results) to the positions of the values that a minimum or maximum takes: (bins, ...), -1 in
    empty bins.

    The last argument only helps to compute it.
    """

    monoid: Monoid
    bins: int
    arity = 3

    @property
    def general(self) -> D:
        return meaning("winners", self.monoid, self.bins)

    def with_bins(self, bins: int) -> Primitive:
        return WinnerByBin(self.monoid, bins)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        return super().evaluate(xp, *arrays[:2])

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return super().cost(ins[:2], outs)

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (Tensor((self.bins, *ins[1].shape[1:]), np.int64),)

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        return _batched(self.general, b, ins[:2], flags[:2], size)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.vector.WinnerByBin({name(self.monoid, 'monoid')}, {self.bins})"


@box
class PrefixByBin(_ByBin):
    """(indices (m,), values...) to the folds of the values before each one in its bin, and of those after it.

    Results: whether there are any before (m, ...), their folds, whether there are any after, their folds; the neutral element
    where there are none and where the index is out of range.
    """

    monoid: Monoid
    bins: int

    @property
    def arity(self) -> int:
        return 1 + self.monoid.width

    @property
    def general(self) -> D:
        return meaning("prefixes", self.monoid, self.bins)

    def with_bins(self, bins: int) -> Primitive:
        return PrefixByBin(self.monoid, bins)

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        side = (Tensor(ins[1].shape, np.bool_), *ins[1:])
        return (*side, *side)

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        return _rule(self.general, ins) if any(s.is_float for s in ins) else None

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.vector.PrefixByBin({name(self.monoid, 'monoid')}, {self.bins})"


@box
class ProductOfOthersByBin(_ByBin):
    """(indices (m,), values, the products of the bins) to the products of the others of each value's bin; 0 out of range.

    The last argument only helps to compute it, as of `ProductOfOthers`: no derivative is taken with respect to it.
    """

    bins: int
    arity = 3

    @property
    def general(self) -> D:
        """What it means, as a morphism of indices and values."""
        return meaning("products", TIMES, self.bins)

    @property
    def by_total(self) -> D:
        """The product of the bin by the value: the same, of all arguments, where the products of all bins are normal numbers."""
        return meaning("quotients", TIMES, self.bins)

    def with_bins(self, bins: int) -> Primitive:
        return ProductOfOthersByBin(bins)

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins[1:2]

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        return super().evaluate(xp, *arrays[:2])

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return super().cost(ins[:2], outs)

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        if not ins[1].is_float:
            return None
        made = _rule(self.general, ins[:2])
        slots = made.structure.slots
        whole = assemble([[(made.structure, tuple(range(len(slots)))), None]], ins[1:], outs, slots)
        return Rule(whole, made.coefficients)

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        return _batched(self.general, b, ins[:2], flags[:2], size)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.vector.ProductOfOthersByBin({self.bins})"


def _batched(
    general: D, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int
) -> tuple[Wire, ...]:
    """What a box means, carrying the new axis; where only a result has it, its arguments repeated."""
    from catad.linear.batch import batch
    from catad.wiring import wire

    if not any(flags):
        ins, flags = tuple([spread_over(b, w, size) for w in ins]), (True,) * len(ins)
    spaces = [Tensor(w.shape[1:] if flag else w.shape, w.dtype) for w, flag in zip(ins, flags, strict=True)]
    return tuple(batch(b, wire(general, product(*spaces)), ins, flags, size))


def _rule(general: D, ins: tuple[Tensor, ...]) -> Rule:
    """The derivative of what a box means, as a morphism of its arguments."""
    valued, structure = above().linearised(general, product(*ins))

    def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
        b = wires[0].builder
        made = b.apply(valued, tuple(wires[: len(ins)]))[1]
        return list(made) if isinstance(made, tuple) else [made]

    return Rule(structure, coefficients)
