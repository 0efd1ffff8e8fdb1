"""The inverse of a map by factors of its entries, in the order that `linear/solving/ordering.py` finds.

With P from the leaves of a space to an array (..., m) of its numbers in that order, the inverse is

    P >> Inverse(P' >> of >> P) >> P'

The entries are read off the images of the colours by boxes, so compiled programs and loops do it, too; the derivative is that of
applying the map. In a stack of groups some places may have no unknown: there P gives 0, and the array is that of the identity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from catad import upward
from catad.category.constant import const
from catad.category.spaces import Tensor
from catad.linear.apply import applying
from catad.linear.batch import batch
from catad.linear.dead_results import at_places
from catad.linear.families.block import chain, grid
from catad.linear.families.contract import zeros
from catad.linear.families.delta import delta
from catad.linear.families.gather import Gather, Gathered, rows_of
from catad.linear.families.inverse import Factor, Inverse, stacked
from catad.linear.families.reindex import Reindex, Reshape, axis, reshaped
from catad.linear.matrix.materialise import matrix_on, seeds_on
from catad.linear.solving.ordering import Order, has_gaps, order_of, stacked_size
from catad.linear.structure import Placed, Structure, apart, cast, widest
from catad.values.arrays import Array

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

def widths_of(kind: str) -> tuple[int, int]:
    """The numbers of diagonals below and above the main one of a kind of bands."""
    lower, upper = [int(number) for number in kind.split()[1:]] or (1, 1)
    return lower, upper


Slots = Callable[["Builder", Sequence["Wire"]], "Sequence[Wire]"]


class Inverted(NamedTuple):
    """An inverse, and a function that adds the boxes of its slots to those of the map."""

    structure: Structure
    slots: Slots


def inverse_by_order(of: Structure, order: Order) -> Inverted:
    """The inverse by factors of an order's kind. Slots: two index arrays where unknowns are moved, those of the map, factors.

    What is returned holds no array: the order is asked for again where slots are laid out.
    """
    n, dtype = of.rows, widest(*of.dom, *of.cod)
    shape = stacked_size(order, n)
    into, out = [_flattened(leaves, dtype) for leaves in (of.cod, of.dom)]
    index = () if order.at is None or order.place is None else tuple([Tensor(a.shape, a.dtype) for a in (order.at, order.place)])
    there, back = (_moved(n, shape, index, dtype, 0), _moved(n, shape, index, dtype, 1)) if index else ([], [])
    k, kind = len(index), order.kind
    own = tuple(range(k, k + len(of.slots)))
    inner = chain([*back, (out.T, ()), (of, own), (into, ()), *there])
    inverse = Inverse(inner, kind)
    given = tuple(range(len(inverse.slots)))
    whole = chain([(into, ()), *there, (inverse, given), *back, (out.T, ())])

    def slots(b: Builder, wires: Sequence[Wire]) -> Sequence[Wire]:
        found = order_of(of)
        assert found is not None
        arrays = [b.apply(const(a), ()) for a in (found.at, found.place) if a is not None]
        return [*arrays, *wires, *b.add(Factor(kind), entries_on(b, of, wires, found))]

    return Inverted(whole, slots)


def inverse_of_entries(of: Structure, order: Order) -> Inverted:
    """The same where a slot is the array of the entries: where much is solved, what changes the array is added up."""
    n, dtype = of.rows, widest(*of.dom, *of.cod)
    shape = stacked_size(order, n)
    into, out = [_flattened(leaves, dtype) for leaves in (of.cod, of.dom)]
    index = () if order.at is None or order.place is None else tuple([Tensor(a.shape, a.dtype) for a in (order.at, order.place)])
    there, back = (_moved(n, shape, index, dtype, 0), _moved(n, shape, index, dtype, 1)) if index else ([], [])
    band = order.kind != "general"
    lower, upper = widths_of(order.kind) if band else (0, 0)
    at = _rows_of_band(n, lower, upper) if band else None
    inner = stacked(Tensor((*shape, shape[-1]), dtype), ()) if at is None else _band_of(at, dtype)
    inverse = Inverse(inner, order.kind)
    k = len(index)
    given = tuple(range(k, k + len(inverse.slots)))
    whole = chain([(into, ()), *there, (inverse, given), *back, (out.T, ())])

    def slots(b: Builder, wires: Sequence[Wire]) -> Sequence[Wire]:
        arrays = [b.apply(const(a), ()) for a in (order.at, order.place)] if index else []
        entries = entries_on(b, of, wires, order)
        own = [entries] if at is None else [entries, b.apply(const(at), ())]
        return [*arrays, *own, *b.add(Factor(order.kind), entries)]

    return Inverted(whole, slots)


def _rows_of_band(n: int, lower: int, upper: int) -> Array:
    """The row of each number of a band (w, n), and n outside of the matrix."""
    rows = np.arange(n) + np.arange(-upper, lower + 1)[:, None]
    return np.where((rows >= 0) & (rows < n), rows, n).astype(np.int32)


def _band_of(rows: Array, dtype: np.dtype[Any]) -> Structure:
    """The matrix of a band in the first slot: each column times a number, at the rows in the second."""
    w, n = rows.shape
    spread = delta((0, 1), (1,), None, (w, n), dtype, dtype)
    times = delta((0, 1), (0, 1), (0, 1), (w, n), dtype, dtype, dtype)
    added = Gather(rows_of((n,), (w, n)), None, rows.dtype, dtype, dtype, None).T
    return chain([(spread, ()), (times, (0,)), (added, (1,))])


# -- orders of unknowns


def _flattened(leaves: Sequence[Tensor], dtype: np.dtype) -> Structure:
    """Leaves to one vector of their numbers, in one dtype."""
    size, start = sum([leaf.size for leaf in leaves]), 0
    line = []
    for leaf in leaves:
        axes = tuple(range(leaf.ndim))
        retyped = delta(axes, axes, None, leaf.shape, leaf.dtype, dtype)
        flat = Reshape(leaf.shape, (leaf.size,), dtype)
        put = Reindex((axis(leaf.size, size, 0, 1, start, 1, leaf.size),), dtype)
        line.append(chain(apart(retyped, flat, put)))
        start += leaf.size
    return grid([line], leaves, (Tensor((size,), dtype),))


def _moved(n: int, shape: tuple[int, ...], index: Sequence[Tensor], dtype: np.dtype, slot: int) -> list[Placed]:
    """The unknowns to their places, by the index array `at` (slot 0), or back, by `place` (slot 1)."""
    how = rows_of((n,) if slot == 0 else (math.prod(shape),), index[slot].shape)
    read: Placed = (Gather(how, None, index[slot].dtype, dtype, dtype, None), (slot,))
    flat = Reshape(shape, (math.prod(shape),), dtype)
    return [read] if slot == 0 else [(flat, ()), read]


# -- entries


def entries_on(b: Builder, of: Structure, slots: Sequence[Wire], order: Order) -> Wire:
    """The array that is factorised, (..., m, m), or (w, n) of a band."""
    if order.read is None or order.colours is None:
        return matrix_on(b, of, slots, None)
    images = _images(b, of, slots, order.colours, order.vectors)
    read: Wire = b.apply(const(order.read), ())
    (made,) = b.add(Gathered(rows_of(images.shape, order.read.shape)), read, images)
    if order.at is None or not has_gaps(order, of.rows):
        return made
    alone = (order.at == of.rows)[..., None] * np.eye(order.at.shape[-1], dtype=made.dtype)
    ones: Wire = b.apply(const(alone.astype(made.dtype)), ())
    return made + ones


def diagonal_on(b: Builder, of: Structure, slots: Sequence[Wire]) -> Wire | None:
    """The numbers (n,) on the diagonal of a symmetric map; None where its entries are not written out.

    Where a place on the diagonal is empty, its row is.
    """
    order, n, j = order_of(of), of.rows, np.arange(of.rows)
    if order is None:
        return None
    if order.kind == "diagonal":
        flat = _images(b, of, slots, np.zeros(n, np.int64), 1)
        return reshaped(b, flat, (n,))
    if order.colours is None:
        flat, read = reshaped(b, matrix_on(b, of, slots, None), (n * n,)), j * n + j
    else:
        flat, read = _images(b, of, slots, order.colours, order.vectors), order.colours[j] * n + j
    at: Wire = b.apply(const(read), ())
    (made,) = b.add(Gathered(rows_of(flat.shape, read.shape)), at, flat)
    return made


def _images(b: Builder, of: Structure, slots: Sequence[Wire], colours: Array, count: int) -> Wire:
    """The images of the sums of the unit vectors of each colour, end to end."""
    dtype, start, seeds = widest(*of.dom, *of.cod), 0, []
    for leaf in of.dom:
        seeds.append(seeds_on(b, colours[start : start + leaf.size], count, leaf))
        start += leaf.size
    wiring, there = applying(of)
    made = at_places(there, batch(b, wiring, [*slots, *seeds], [*[False] * len(slots), *[True] * len(seeds)], count))
    pairs = zip(made, of.cod, strict=True)
    full = [zeros(b, Tensor((count, *leaf.shape), dtype)) if x is None else cast(x, dtype) for x, leaf in pairs]
    flat = [reshaped(b, x, (count, x.space.size // max(1, count))) for x in full]
    whole: Wire = flat[0] if len(flat) == 1 else b.apply(upward.concatenate(1), tuple(flat))
    return reshaped(b, whole, (whole.space.size,))
