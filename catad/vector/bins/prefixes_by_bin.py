"""The primitive of derivatives of folds by bin: for each value the folds of the values before and after it in its bin.

Its decomposition is a stable sort by bin and a segmented scan (`sorted_bins.py`), which also gives its derivative; an engine may
compute it in one pass in the order of the values, with a state for each bin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import scalar
from catad.category.boxes import box, of_fields
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.category.wiring import share
from catad.linear.families.contract import contract, repeated
from catad.linear.families.gather import spread_over
from catad.linear.families.reindex import Reshaped
from catad.vector.bins.sorted_bins import by_sorting, inside, prefixes_by_sorting
from catad.vector.decomposed import Decomposed, one_term
from catad.vector.folds.extended_range import TIMES
from catad.vector.folds.merge_axes import exchanged
from catad.vector.folds.monoid import Monoid, with_position
from catad.vector.pointwise.generate import Iota
from catad.vector.pointwise.map import mapped

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires


@share
@of_fields
class BySorting(D):
    """(index, values...) to what is found of each bin by sorting."""

    what: str
    monoid: Monoid
    bins: int

    def lay_out(self, b: Builder, x: Wires) -> Any:
        index, *values = x
        out = tuple(_FOUND[self.what](b, self.monoid, index, values, self.bins))
        return out[0] if len(out) == 1 else out


def _positions(b: Builder, monoid: Monoid, index: Wire, values: Sequence[Wire], bins: int) -> list[Wire]:
    (v,) = values
    (own,) = mapped(b, [scalar.cast(position_dtype(v.shape[0]), scalar.param(0))], [b.add(Iota(v.shape[0]))[0]])
    positions = repeated(b, own, (0,), v.shape)
    return by_sorting(b, with_position(monoid), index, [v, positions], bins)[1:]


def _prefixes(b: Builder, monoid: Monoid, index: Wire, values: Sequence[Wire], bins: int) -> list[Wire]:
    before = prefixes_by_sorting(b, monoid, index, values, bins, False)
    return [*before, *prefixes_by_sorting(b, monoid, index, values, bins, True)]


def _products(b: Builder, monoid: Monoid, index: Wire, values: Sequence[Wire], bins: int) -> list[Wire]:
    _, before, _, after = _prefixes(b, TIMES, index, values, bins)
    own = repeated(b, index, (0,), before.shape)
    both = scalar.apply("mul", scalar.param(0), scalar.param(1))
    return mapped(b, [scalar.apply("select", inside(scalar.param(2), bins), both, scalar.const(0.0))], [before, after, own])


_FOUND = {
    "folds": by_sorting,
    "positions": _positions,
    "prefixes": _prefixes,
    "products": _products,
}


def position_dtype(m: int) -> np.dtype[Any]:
    """The dtype of positions among m values: with half the bytes of int64 a pass takes half the time."""
    return np.dtype(np.int32 if m < 2**31 else np.int64)


def operations(monoid: Monoid) -> int:
    """The operations of one value: the operator's, to see whether its bin is there (3), to read and write each number of the
    state (1 each, as of `Gathered` and `ScatterAdded`)."""
    return scalar.operations(monoid.op) + 3 + 2 * monoid.width


class CarriedByBin(Decomposed):
    """Boxes of indices and the values of an operator: how many these are, and how they carry a new axis."""

    monoid: Monoid
    bins: int

    @property
    def arity(self) -> int:
        return 1 + self.monoid.width

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        """The new axis behind the elements'; where each lane has indices of its own, bins of its own as well."""
        index, *values = ins
        values = [v if flag else spread_over(b, v, size) for v, flag in zip(values, flags[1:], strict=True)]
        if not flags[0]:
            return tuple([exchanged(b, out) for out in b.add(self, index, *[exchanged(b, v) for v in values])])
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


@box
class PrefixByBin(CarriedByBin):
    """(indices (m,), values...) to the folds of the values before each one in its bin, and of those after it.

    Results: whether there are any before (m, ...), their folds, whether there are any after, their folds; the neutral element
    where there are none and where the index is out of range.
    """

    monoid: Monoid
    bins: int

    @property
    def decomposition(self) -> D:
        return one_term(BySorting, "prefixes", self.monoid, self.bins)

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        side = (Tensor(ins[1].shape, np.bool_), *ins[1:])
        return (*side, *side)

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return 2 * ins[1].size * operations(self.monoid)
