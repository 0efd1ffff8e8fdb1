"""What derivatives of folds by bin need, as primitives: for each value the folds of the others of its bin, and who wins a bin.

What they mean is a stable sort by bin and a segmented scan (`bins.py`), and so are their derivatives; an engine may compute them
in one pass in the order of the values, with a state for each bin.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import scalar
from catad.boxes import Primitive, box
from catad.linear.batch import batch
from catad.linear.block import assemble
from catad.linear.contract import contract
from catad.linear.gather import spread_over
from catad.linear.reindex import Reshaped
from catad.linear.structure import Rule
from catad.spaces import Tensor, product
from catad.terms import D, above
from catad.vector.bins import by_sorting, inside, prefixes_by_sorting
from catad.vector.generate import Iota
from catad.vector.index import Integers
from catad.vector.map import mapped
from catad.vector.monoid import Monoid, with_winner
from catad.vector.unlimited import TIMES, is_normal, others_by_bin
from catad.wiring import share, wire

if TYPE_CHECKING:
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
        return f"{name(Meaning, 'Meaning')}({self.what!r}, {name(self.monoid, 'monoid')}, {self.bins})"


def _folds(b: Builder, monoid: Monoid, index: Wire, values: Sequence[Wire], bins: int) -> list[Wire]:
    return by_sorting(b, monoid, index, values, bins)


def _winners(b: Builder, monoid: Monoid, index: Wire, values: Sequence[Wire], bins: int) -> list[Wire]:
    (v,) = values
    positions = contract(b, [(0,)], [b.add(Iota(v.shape[0]))[0]], tuple(range(v.ndim)), v.shape)
    return by_sorting(b, with_winner(monoid), index, [v, positions], bins)[1:]


def _prefixes(b: Builder, monoid: Monoid, index: Wire, values: Sequence[Wire], bins: int) -> list[Wire]:
    before = prefixes_by_sorting(b, monoid, index, values, bins, False)
    return [*before, *prefixes_by_sorting(b, monoid, index, values, bins, True)]


def _products(b: Builder, monoid: Monoid, index: Wire, values: Sequence[Wire], bins: int) -> list[Wire]:
    _, before, _, after = _prefixes(b, TIMES, index, values, bins)
    own = contract(b, [(0,)], [index], tuple(range(before.ndim)), before.shape)
    both = scalar.apply("mul", scalar.param(0), scalar.param(1))
    return mapped(b, [scalar.apply("select", inside(scalar.param(2), bins), both, scalar.const(0.0))], [before, after, own])


_MEANINGS = {
    "folds": _folds,
    "winners": _winners,
    "prefixes": _prefixes,
    "products": _products,
}


@lru_cache(maxsize=4096)
def meaning(what: str, monoid: Monoid, bins: int) -> D:
    """One term for all calls, since programs are kept with their terms."""
    return Meaning(what, monoid, bins)


def operations(monoid: Monoid) -> int:
    """The operations of one value: the operator's, to see whether its bin is there (3), to read and write each number of the
    state (1 each, as of `Take` and `Put`)."""
    return scalar.operations(monoid.op) + 3 + 2 * monoid.width


class ByBin(Primitive):
    """What the boxes (index, values...) have in common; `general` says what they mean."""

    bins: int

    @property
    def general(self) -> D:
        raise NotImplementedError

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        spaces = [Tensor(a.shape, a.dtype) for a in arrays]
        out = above().program_of(self.general, product(*spaces))[0].inside(xp, arrays)
        return out[0] if len(out) == 1 else tuple(out)


class CarriedByBin(ByBin):
    """Boxes of indices and the values of an operator: how many these are, and how they carry a new axis."""

    monoid: Monoid

    @property
    def arity(self) -> int:
        return 1 + self.monoid.width

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
        made = b.add(replace(self, bins=size * bins), *flat)  # type: ignore[type-var]
        out = [b.add(Reshaped((size, w.shape[0] // size, *w.shape[1:])), w)[0] for w in made] if size else made
        return tuple(out)


def _exchanged(b: Builder, wire: Wire) -> Wire:
    """The first two axes exchanged."""
    rest = tuple(range(2, wire.ndim))
    return contract(b, [(0, 1, *rest)], [wire], (1, 0, *rest), wire.shape)


@box
class WinnerByBin(Integers, ByBin):
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

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        return super().evaluate(xp, *arrays[:2])

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return 2 * ins[1].size

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (Tensor((self.bins, *ins[1].shape[1:]), np.int64),)

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        return _batched(self.general, b, ins[:2], flags[:2], size)


@box
class PrefixByBin(CarriedByBin):
    """(indices (m,), values...) to the folds of the values before each one in its bin, and of those after it.

    Results: whether there are any before (m, ...), their folds, whether there are any after, their folds; the neutral element
    where there are none and where the index is out of range.
    """

    monoid: Monoid
    bins: int

    @property
    def general(self) -> D:
        return meaning("prefixes", self.monoid, self.bins)

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        side = (Tensor(ins[1].shape, np.bool_), *ins[1:])
        return (*side, *side)

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        return _rule(self.general, ins) if any(s.is_float for s in ins) else None

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return 2 * ins[1].size * operations(self.monoid)


@box
class ProductOfOthersByBin(ByBin):
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
    def exact(self) -> D:
        """How it is computed, whatever the numbers are, of the same."""
        return others_by_bin(self.bins)

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins[1:2]

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        index, x, total = arrays
        if self.bins and is_normal(xp, total):
            there = (index >= 0) & (index < self.bins)
            others = total[xp.where(there, index, 0).astype(np.int64)] / x
            return xp.where(there.reshape(index.shape + (1,) * (x.ndim - 1)), others, xp.zeros((), dtype=x.dtype))
        spaces = [Tensor(a.shape, a.dtype) for a in arrays[:2]]
        return above().program_of(self.exact, product(*spaces))[0].inside(xp, arrays[:2])[0]

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return 3 * ins[1].size

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        if not ins[1].is_float:
            return None
        made = _rule(self.general, ins[:2])
        slots = made.structure.slots
        whole = assemble([[(made.structure, tuple(range(len(slots)))), None]], ins[1:], outs, slots)
        return Rule(whole, made.coefficients)

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        return _batched(self.general, b, ins[:2], flags[:2], size)


def _batched(general: D, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
    """What a box means, carrying the new axis; where only a result has it, its arguments repeated."""
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
