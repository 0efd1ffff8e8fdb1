"""`Delta`: one coefficient array whose axes are tied to those of argument and result by labels.

    y[o...] = factor * sum_{labels not in o} slot[s...] * x[i...]

A label that the result shares with the argument is a Kronecker delta. This one family holds the identity, scaling,
diagonal, block-diagonal, I⊗M, M⊗I, dense, outer, broadcast, sum, transposition of axes, extracting and embedding
diagonals; without a slot the coefficient is 1. The product of two is again one, by one contraction over merged labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from catad.category.constant import const
from catad.category.spaces import Tensor
from catad.linear.families.contract import Labels, contract, place
from catad.linear.families.reindex import Reshaped
from catad.linear.matrix.entries import Entries, span
from catad.linear.matrix.patterns import Grid, Pattern, Range, full
from catad.linear.solving.solver import Leaves, Solver, divisor, laid, of_matrices, product, singular
from catad.linear.structure import Structure, WeightedMove, cast, family, scale_by
from catad.values.arrays import asarray

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

_NAMES = {  # (tied axes, free result axes, free argument axes, has a slot) -> what people call it
    (True, False, False, True): "diagonal",
    (True, False, False, False): "identity",
    (False, True, True, True): "dense",
    (False, True, False, False): "broadcast",
    (False, False, True, False): "sum",
    (False, True, False, True): "column",
    (False, False, True, True): "row",
    (False, False, False, True): "scale",
    (False, False, False, False): "identity",
    (True, True, True, True): "block-diagonal",
    (True, True, False, False): "broadcast",
    (True, False, True, False): "sum",
    (True, True, False, True): "columns",
    (True, False, True, True): "rows",
    (False, True, True, False): "ones",
    (True, True, True, False): "blocks of ones",
}


@family
class Delta(Structure):
    """See the module. `slot` is None where the coefficient is 1; labels are numbered by first use; make it by `delta`."""

    out: Labels
    ins: Labels
    slot: Labels | None
    sizes: tuple[int, ...]
    dom_dtype: np.dtype[Any]
    cod_dtype: np.dtype[Any]
    slot_dtype: np.dtype[Any] | None
    factor: float = 1.0

    @cached_property
    def dom(self) -> tuple[Tensor, ...]:
        return (Tensor([self.sizes[label] for label in self.ins], self.dom_dtype),)

    @cached_property
    def cod(self) -> tuple[Tensor, ...]:
        return (Tensor([self.sizes[label] for label in self.out], self.cod_dtype),)

    @cached_property
    def slots(self) -> tuple[Tensor, ...]:
        if self.slot is None:
            return ()
        return (Tensor([self.sizes[label] for label in self.slot], self.slot_dtype),)

    @property
    def T(self) -> Delta:
        return delta(self.ins, self.out, self.slot, self.sizes, self.cod_dtype, self.dom_dtype, self.slot_dtype, self.factor)

    def apply(self, b: Builder, slots: Sequence[Wire], xs: Sequence[Wire | None]) -> list[Wire | None]:
        (x,) = xs
        if x is None:
            return [None]
        if self.slot is None:
            y = contract(b, [self.ins], [x], self.out, self.sizes)
        else:
            y = contract(b, [self.slot, self.ins], [slots[0], x], self.out, self.sizes)
        return [cast(scale_by(y, self.factor), self.cod_dtype)]

    @cached_property
    def kind(self) -> str:
        tied = set(self.out) & set(self.ins)
        out = {label for label in self.out if label not in tied and self.sizes[label] != 1}
        ins = {label for label in self.ins if label not in tied and self.sizes[label] != 1}
        if len(set(self.out)) < len(self.out):
            return "diagonal embedding"
        if len(set(self.ins)) < len(self.ins):
            return "diagonal extraction"
        slot = self.slot is not None
        if slot and not set(self.slot or ()):
            slot = False
            if not out and not ins:
                return "scale" if tuple(self.out) == tuple(self.ins) else "scaled transposition"
        if not out and not ins and not slot:
            if tuple(self.out) == tuple(self.ins):
                return "identity" if self.factor == 1.0 else "scale"
            return "transposition"
        if tied and out and ins and slot and not tied & set(self.slot or ()):
            return "kronecker"
        return _NAMES[bool(tied), bool(out), bool(ins), slot]

    @cached_property
    def nnz(self) -> int:
        return math.prod(self.sizes[label] for label in {*self.out, *self.ins})

    @cached_property
    def bandwidths(self) -> tuple[int, int]:
        """The axes that argument and result share, and that come first in both, make blocks along the diagonal."""
        shared = 0
        while shared < min(len(self.out), len(self.ins)) and self.out[shared] == self.ins[shared]:
            shared += 1
        tall, wide = (math.prod(self.sizes[label] for label in labels[shared:]) for labels in (self.out, self.ins))
        return (max(0, tall - 1), max(0, wide - 1)) if tall == wide else super().bandwidths

    @cached_property
    def entry_count(self) -> int:
        return math.prod(self.sizes)

    def entries(self, xp: Any, slots: Sequence[Any]) -> Entries:
        labels = range(len(self.sizes))
        index = xp.indices(self.sizes) if labels else xp.zeros((0,), dtype=np.int64)
        at = {label: index[label] for label in labels}
        read = 1.0 if self.slot is None else slots[0][tuple(at[label] for label in self.slot)]
        values = asarray(xp, read * self.factor, self.cod_dtype)
        columns = [self._position(labels, at) for labels in (self.out, self.ins)]
        return Entries(*[xp.broadcast_to(xp.asarray(a), self.sizes).reshape(-1) for a in (*columns, values)])

    def _position(self, labels: Labels, at: Any) -> Any:
        """The position in the flattened array, from the indices of its axes."""
        flat: Any = 0
        for label in labels:
            flat = flat * self.sizes[label] + at[label]
        return flat

    def diagonal(self, xp: Any, slots: Sequence[Any], k: int = 0) -> Any:
        """At each position the indices of result and argument; the entry is zero where they disagree about a label."""
        where = span(self.rows, self.columns, k)
        at: dict[int, Any] = {}
        agree = xp.ones(where.length, dtype=bool)
        for labels, first in ((self.out, where.row), (self.ins, where.column)):
            flat = xp.arange(where.length) + first
            for label in reversed(labels):
                index, flat = flat % max(1, self.sizes[label]), flat // max(1, self.sizes[label])
                agree = agree & (index == at.setdefault(label, index))
        values = xp.ones((), dtype=self.cod_dtype)
        if self.slot is not None:
            kept = tuple([label for label in dict.fromkeys(self.slot) if label in at])
            values = place(self.slot, kept, self.sizes)(xp, slots[0])[tuple([at[label] for label in kept])]
        return xp.where(agree, values * self.factor, 0.0).astype(self.cod_dtype, copy=False)

    def solver(self, xp: Any, slots: Sequence[Any], rtol: float | None = None) -> Solver:
        """One matrix for each index of the axes that slot, argument and result share; axes of these two alone are carried."""
        out, ins = [[label for label in labels if self.sizes[label] != 1] for labels in (self.out, self.ins)]
        tied = [label for label in out if label in ins]
        rows, columns = [[label for label in labels if label not in tied] for labels in (out, ins)]
        if len({*out}) < len(out) or len({*ins}) < len(ins) or not {*rows, *columns} <= {*(self.slot or ())}:
            raise singular(self, "by structure: its rows, or its columns, repeat each other or are zero")
        here = [label for label in tied if label in (self.slot or ())]
        there = [label for label in tied if label not in here]
        coefficient = xp.ones((), dtype=self.cod_dtype) if self.slot is None else slots[0]
        M = place(self.slot or (), (*here, *rows, *columns), self.sizes)(xp, coefficient) * self.factor
        n = product(self.sizes, rows)
        h, t = product(self.sizes, here), product(self.sizes, there)
        if n == 1:
            d = divisor(xp, M.reshape(h, 1, 1), self)
            moved = "identity" if out == ins else "permutation"
            found = Solver(moved if self.slot is None and self.factor == 1.0 else "diagonal", "O(n)", lambda ys: [ys[0] / d])
        else:
            found = of_matrices(xp, M.reshape(h, n, n), self)

        def run(ys: Leaves) -> Leaves:
            k = len(ys[0])
            y = ys[0].reshape([k, *[self.sizes[label] for label in out]])
            B = laid(y, [None, *out], [*here, *rows, *there, None]).reshape(h, n, t * k)
            X = found.run([B])[0].reshape([self.sizes[label] for label in (*here, *columns, *there)] + [k])
            return [laid(X, [*here, *columns, *there, None], [None, *ins]).reshape((k, *self.dom[0].shape))]

        return Solver(found.method, found.order, run)

    @property
    def is_identity(self) -> bool:
        return (
            self.slot is None
            and self.out == self.ins
            and len(set(self.out)) == len(self.out)
            and self.factor == 1.0
            and self.dom_dtype == self.cod_dtype
        )

    @property
    def is_monomial(self) -> bool:
        """True where the axes of the result are those of the argument, in whatever order."""
        return len(self.out) == len(self.ins) == len(set(self.out)) and set(self.out) == set(self.ins)

    @property
    def is_diagonal(self) -> bool:
        """True where the map only multiplies each entry by a number."""
        return (
            self.out == self.ins
            and len(set(self.out)) == len(self.out)
            and (self.slot is None or set(self.slot) <= set(self.out))
        )

    @property
    def is_dense(self) -> bool:
        """True where argument and result share no label: each entry of the result may depend on each of the argument."""
        return not set(self.out) & set(self.ins) and len(set(self.out)) == len(self.out)

    @property
    def is_full(self) -> bool:
        if self.slot is None or not self.is_dense or not self.out:
            return False
        return len(self.slot) == len(set(self.slot)) == len(self.out) + len(self.ins)

    is_light = True

    @property
    def weighted_move(self) -> WeightedMove:
        return WeightedMove(None, self, None if self.slot is None else 0)

    def patterns(self) -> Grid:
        """An axis is tied where the same label stands at its place on both sides."""
        if len(self.out) != len(self.ins):
            return super().patterns()
        axes = []
        for out, ins in zip(self.out, self.ins, strict=True):
            n_in, n_out = self.sizes[ins], self.sizes[out]
            axes.append(Range(n_in, n_out, 0, 0) if out == ins else full(n_in, n_out))
        return ((Pattern(tuple(axes)),),)

    # -- its entries, read off the slot

    holds_matrix = True

    @cached_property
    def _is_slot(self) -> bool:
        """True where the slot is the array of the map as it is."""
        return self.slot == (*self.out, *self.ins) and len(set(self.slot)) == len(self.slot) and self.factor == 1.0

    def dense(self, xp: Any, slots: Sequence[Any]) -> Any:
        """The slot, put on the diagonals that the shared labels name."""
        labels = self.slot or ()
        array = xp.ones((), dtype=self.cod_dtype) if self.slot is None else slots[0]
        if self._is_slot and array.dtype == self.cod_dtype and array.ndim:
            return array.copy()
        dense = place(labels, (*self.out, *self.ins), self.sizes)(xp, array)
        return xp.asarray(dense * self.factor, dtype=self.cod_dtype)

    def dense_on(self, b: Builder, slots: Sequence[Wire]) -> Wire:
        one: Any = slots[0] if self.slot is not None else b.apply(const(np.ones((), self.cod_dtype)), ())
        wire = contract(b, [self.slot or ()], [one], (*self.out, *self.ins), self.sizes)
        return cast(scale_by(wire, self.factor), self.cod_dtype)

    @property
    def holds_columns(self) -> bool:
        """True where the slot is one array with every axis of result and argument."""
        if self.slot is None or not self.is_dense:
            return False
        return set(self.slot) == {*self.out, *self.ins} and len(set(self.ins)) == len(self.ins)

    def columns_on(self, b: Builder, slots: Sequence[Wire]) -> Wire:
        assert self.slot is not None
        wire = contract(b, [self.slot], [slots[0]], (*self.ins, *self.out), self.sizes)
        if self.factor != 1.0:
            wire = self.factor * wire
        shape = (math.prod(self.dom[0].shape), *self.cod[0].shape)
        return cast(b.add(Reshaped(shape), wire)[0], self.cod[0].dtype)


def delta(
    out: Sequence[int],
    ins: Sequence[int],
    slot: Sequence[int] | None,
    sizes: Sequence[int],
    dom_dtype: np.dtype[Any],
    cod_dtype: np.dtype[Any],
    slot_dtype: np.dtype[Any] | None = None,
    factor: float = 1.0,
) -> Delta:
    """A `Delta` with its labels renumbered by first use, so that equal maps are equal objects."""
    names: dict[int, int] = {}
    for labels in (out, ins, slot or ()):
        for label in labels:
            names.setdefault(label, len(names))
    used = [sizes[label] for label in names]
    return Delta(
        tuple([names[label] for label in out]),
        tuple([names[label] for label in ins]),
        None if slot is None else tuple([names[label] for label in slot]),
        tuple(used),
        np.dtype(dom_dtype),
        np.dtype(cod_dtype),
        None if slot is None or slot_dtype is None else np.dtype(slot_dtype),
        factor,
    )


def identity(space: Tensor) -> Delta:
    """The identity on a tensor space."""
    axes = tuple(range(space.ndim))
    return delta(axes, axes, None, space.shape, space.dtype, space.dtype)


def diagonal(space: Tensor, slot_dtype: np.dtype[Any] | None = None, cod: Tensor | None = None) -> Delta:
    """Multiplication by an array of the same shape, entry by entry."""
    axes = tuple(range(space.ndim))
    cod = space if cod is None else cod
    return delta(axes, axes, axes, space.shape, space.dtype, cod.dtype, slot_dtype or space.dtype)


def pointwise(dom: Tensor, cod: Tensor, slot: Tensor | None, factor: float = 1.0) -> Delta:
    """The Jacobian of a pointwise function with respect to an argument that NumPy's broadcasting spreads over `cod`."""
    sizes = list(cod.shape)
    out = tuple(range(cod.ndim))

    def spread(space: Tensor) -> Labels:
        labels = []
        for axis, size in enumerate(space.shape):
            label = cod.ndim - space.ndim + axis
            if size != sizes[label]:
                sizes.append(size)  # an axis of size 1 that is stretched
                label = len(sizes) - 1
            labels.append(label)
        return tuple(labels)

    ins = spread(dom)
    labels = None if slot is None else spread(slot)
    return delta(out, ins, labels, sizes, dom.dtype, cod.dtype, None if slot is None else slot.dtype, factor)


class Merged(NamedTuple):
    """The product of two: its structure, the contraction that makes its slot, and whether that changes nothing."""

    structure: Delta
    combine: Callable[[Builder, Sequence[Wire], Sequence[Wire]], list[Wire]]
    renamed: bool


def multiply(first: Delta, second: Delta) -> Merged | None:
    """`first >> second` as one `Delta`, and the contraction that makes its slot; None for a pure outer product.

    An outer product of two slots that share no label would store more than its factors: it stays rank one.
    """
    shift = len(first.sizes)
    sizes = [*first.sizes, *second.sizes]
    name = list(range(len(sizes)))

    def find(label: int) -> int:
        while name[label] != label:
            label = name[label]
        return label

    for a, c in zip(first.out, second.ins, strict=True):
        name[find(c + shift)] = find(a)

    def merged(labels: Sequence[int], offset: int) -> Labels:
        return tuple([find(label + offset) for label in labels])

    out, ins = merged(second.out, shift), merged(first.ins, 0)
    middle = merged(first.out, 0)
    slots = [merged(d.slot, o) for d, o in ((first, 0), (second, shift)) if d.slot is not None]
    if len(slots) == 2 and not set(slots[0]) & set(slots[1]) and _outer(slots, sizes):
        return None
    present = {*out, *ins, *(label for labels in slots for label in labels)}
    lost = math.prod(sizes[label] for label in set(middle) - present)
    order = slots[0] if len(slots) == 1 else (*out, *ins)  # one slot keeps its axes as they are
    kept = tuple(dict.fromkeys(k for k in order if k in (*out, *ins) and any(k in labels for labels in slots)))
    dtypes = [d.slot_dtype for d in (first, second) if d.slot_dtype is not None]
    slot_dtype = np.result_type(*dtypes) if dtypes else None
    factor = first.factor * second.factor * lost
    result = delta(out, ins, kept if slots else None, sizes, first.dom_dtype, second.cod_dtype, slot_dtype, factor)

    def combine(b: Builder, left: Sequence[Wire], right: Sequence[Wire]) -> list[Wire]:
        wires = [*left, *right]
        return [contract(b, slots, wires, kept, sizes)] if slots else []

    return Merged(result, combine, len(slots) == 1 and kept == slots[0])


def _outer(slots: Sequence[Labels], sizes: Sequence[int]) -> bool:
    return all(math.prod(sizes[label] for label in set(labels)) > 1 for labels in slots)
