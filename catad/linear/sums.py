"""Sums of products between the same spaces, with as few terms as their patterns allow.

Terms whose entries stand in the same places are one term whose slots are added: two diagonals, two dense arrays with any
order of their axes, two shifts by the same offset with different weights. So the square of a band is the band that is twice
as wide, and not the sum of nine products. Two terms are merged only where the result stores no more than both together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from catad.category.constant import const
from catad.linear.families.block import chain, total
from catad.linear.families.contract import Labels, contract
from catad.linear.families.delta import Delta, delta
from catad.linear.families.reindex import Axis, Reindex, StridedCopy, axis, whole
from catad.linear.products import MapProduct, Source, computed, moved, product_of
from catad.linear.structure import Placed, scale_by

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


class Term(NamedTuple):
    """A product as a move (or none) and then a `Delta`, with the source of its slot (None where the coefficient is 1)."""

    move: Reindex | None
    weight: Delta
    source: Source | None


def added(terms: Sequence[MapProduct]) -> MapProduct:
    """The sum of products between the same spaces; equal patterns add their slots."""
    done: list[MapProduct] = []
    known: list[Term | None] = []
    for one in [part for each in terms for part in _apart(each) if not part.structure.is_zero]:
        term = _term(one)
        for i, other in enumerate(known):
            merged = _merged(other, term) if other is not None and term is not None else _by_family(done[i], one)
            if merged is not None:
                done[i], known[i] = merged, _term(merged)
                break
        else:
            done.append(one)
            known.append(term)
    if not done:
        return terms[0]
    if len(done) == 1:
        return done[0]
    sources, placed = pool(done)
    return MapProduct(total(placed), sources)


def _apart(product: MapProduct) -> list[MapProduct]:
    """The terms of a sum, or the product itself."""
    terms = product.structure.terms
    if terms[0][0] is product.structure:
        return [product]
    return [MapProduct(s, tuple([product.sources[k] for k in own])) for s, own in terms]


def pool(products: Sequence[MapProduct]) -> tuple[tuple[Source, ...], list[Placed]]:
    """The slots of several products as one list, each source once, and the products as placed parts."""
    sources: list[Source] = []
    at: dict[Source, int] = {}
    placed: list[Placed] = []
    for product in products:
        numbers = []
        for source in product.sources:
            if source not in at:
                at[source] = len(sources)
                sources.append(source)
            numbers.append(at[source])
        placed.append((product.structure, tuple(numbers)))
    return tuple(sources), placed


def _by_family(one: MapProduct, two: MapProduct) -> MapProduct | None:
    """The sum of two products by what the family of either says of it."""
    found = one.structure.plus(two.structure)
    if found is not None:
        return moved(product_of(found), one.sources, two.sources)
    found = two.structure.plus(one.structure)
    return None if found is None else moved(product_of(found), two.sources, one.sources)


def _merged(s: Term, t: Term) -> MapProduct | None:
    """The sum of two products as one, where their entries stand in the same places; None elsewhere."""
    if s.move == t.move:
        weight = _one_pattern(s.weight, t.weight)
        return None if weight is None else _product(s.move, weight, [(s, None), (t, None)])
    return _same_offset(s, t)


def _term(product: MapProduct) -> Term | None:
    found = product.structure.weighted_move
    if found is None:
        return None
    return Term(found.move, found.weight, None if found.slot is None else product.sources[found.slot])


def _one_pattern(a: Delta, c: Delta) -> Delta | None:
    """The `Delta` of which both are cases; None where there is none, or nothing to add.

    It is the one with the larger slot, where both tie the same axes, or one that has a number for each of its places, among
    which are those of the other: a dense array takes a diagonal in.
    """
    if (a.dom, a.cod) != (c.dom, c.cod) or (a.slot is None and c.slot is None):
        return None
    if (a.out, a.ins) == (c.out, c.ins):
        big, small = (a, c) if set(a.slot or ()) >= set(c.slot or ()) else (c, a)
        if big.slot is None or not set(big.slot) >= set(small.slot or ()):
            return None
    else:
        big, small = (a, c) if len(a.sizes) > len(c.sizes) else (c, a)
        if big.slot is None or set(big.slot) != {*big.out, *big.ins} or _within(small, big) is None:
            return None
    if not set(big.slot) <= {*big.out, *big.ins} or len(set(big.slot)) != len(big.slot):
        return None
    return replace(big, factor=1.0, slot_dtype=_dtype(a, c))


def _within(small: Delta, big: Delta) -> dict[int, int] | None:
    """The labels of a `Delta` by those of another that ties fewer axes; None where the other ties what this one does not."""
    found: dict[int, int] = {}
    for at, label in zip((*big.out, *big.ins), (*small.out, *small.ins), strict=True):
        if found.setdefault(at, label) != label:
            return None
    return found


def _dtype(*deltas: Delta) -> np.dtype[np.generic]:
    dtypes = [d.slot_dtype for d in deltas if d.slot_dtype is not None]
    return np.result_type(*dtypes) if dtypes else deltas[0].cod_dtype


def _same_offset(s: Term, t: Term) -> MapProduct | None:
    """Two moves by the same offset, of other ranges, each with a diagonal: the move of the whole range with one diagonal.

    Outside its own range a diagonal is made zero there.
    """
    s, t = _with_move(s), _with_move(t)
    assert s.move is not None and t.move is not None
    if s.move.dom != t.move.dom or s.move.cod != t.move.cod:
        return None
    if not (s.weight.is_diagonal and t.weight.is_diagonal) or s.weight.cod != t.weight.cod:
        return None
    axes = tuple([_whole_range(a, c) for a, c in zip(s.move.axes, t.move.axes, strict=True)])
    if any(ax is None for ax in axes):
        return None
    move = Reindex(tuple([ax for ax in axes if ax is not None]), s.move.dtype)
    space = move.cod[0]
    labels = tuple(range(space.ndim))
    dtype = _dtype(s.weight, t.weight)
    weight = delta(labels, labels, labels, space.shape, space.dtype, s.weight.cod_dtype, dtype)
    if weight.stored > max(1, s.weight.stored) + max(1, t.weight.stored):
        return None
    return _product(move, weight, [(s, _mask(s.move)), (t, _mask(t.move))])


def _with_move(term: Term) -> Term:
    """The term with a move; one that stays is the move by 0."""
    if term.move is not None:
        return term
    space = term.weight.dom[0]
    return term._replace(move=Reindex(tuple([whole(n) for n in space.shape]), space.dtype))


def _whole_range(a: Axis, c: Axis) -> Axis | None:
    """The move of all positions that have a partner, where both move by the same offset."""
    if a == c:
        return a
    steps = {(ax.s, ax.t) for ax in (a, c) if ax.m > 1}
    if steps - {(1, 1)} or a.c - a.a != c.c - c.a:
        return None
    offset = a.c - a.a
    start = max(0, -offset)
    return axis(a.n_in, a.n_out, start, 1, start + offset, 1, min(a.n_in, a.n_out - offset) - start)


def _mask(move: Reindex) -> StridedCopy:
    """Keeps the positions that a move writes, and makes the others zero."""
    return StridedCopy(tuple([axis(ax.n_out, ax.n_out, ax.c, ax.t, ax.c, ax.t, ax.m) for ax in move.axes]))


def _product(move: Reindex | None, weight: Delta, terms: Sequence[tuple[Term, StridedCopy | None]]) -> MapProduct:
    """The product whose slot is the sum of the weights of some terms, each perhaps masked."""

    def compute(b: Builder, ls: Sequence[Wire], rs: Sequence[Wire]) -> Wire:
        summed = None
        for term, mask in terms:
            wire = _spread(b, term, weight, ls, rs, mask is not None)
            if mask is not None and not all(ax.is_whole for ax in mask.axes):
                (wire,) = b.add(mask, wire)
            summed = wire if summed is None else summed + wire
        assert summed is not None
        return summed if summed.shape == weight.slots[0].shape else _as_wide(b, summed, weight)

    source = computed(compute)
    if move is None or move.is_identity:
        return MapProduct(weight, (source,))
    return MapProduct(chain([(move, ()), (weight, (0,))]), (source,))


def _spread(b: Builder, term: Term, weight: Delta, ls: Sequence[Wire], rs: Sequence[Wire], full: bool) -> Wire:
    """The coefficient of a term with the axes of the slot of `weight`; without those that broadcasting adds, unless `full`."""
    own = term.weight
    names = _within(own, weight)
    assert weight.slot is not None and names is not None
    slot = tuple([names[label] for label in weight.slot])
    full = full or len(set(slot)) < len(slot)
    if term.source is None:
        one: Wire = b.apply(const(np.asarray(own.factor, weight.slot_dtype)), ())
        return contract(b, [()], [one], slot, own.sizes) if full else one
    wire = scale_by(term.source.wire(b, ls, rs), own.factor)
    have: Labels = own.slot or ()
    order = slot if full else tuple([label for label in slot if label in have])
    if order != slot[len(slot) - len(order) :]:
        order = slot  # what NumPy's broadcasting does not line up is written out
    return contract(b, [have], [wire], order, own.sizes)


def _as_wide(b: Builder, wire: Wire, weight: Delta) -> Wire:
    """A sum of coefficients of which none has all axes."""
    assert weight.slot is not None
    own = weight.slot[len(weight.slot) - wire.ndim :]
    return contract(b, [own], [wire], weight.slot, weight.sizes)
