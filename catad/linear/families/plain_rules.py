"""The product rules of the plain families; those of composite ones are in `block_rules`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from catad.category.constant import const
from catad.linear.apply import applying
from catad.linear.batch import batch
from catad.linear.families.block import Zero, chain
from catad.linear.families.contract import Labels, contract
from catad.linear.families.delta import Delta, delta, identity
from catad.linear.families.delta import multiply as multiply_deltas
from catad.linear.families.gather import Gather, Gathered, Indexing, ScatterAdd, ScatterAdded
from catad.linear.families.recurrence import Recurrence
from catad.linear.families.reindex import Reindex, Reshape, Reshaped, then
from catad.linear.products import MapProduct, Shared, Source, computed, flipped, left, right, rule
from catad.linear.structure import Structure, cast, scale_by

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


@rule(Structure, Structure)
def _stays(first: Structure, second: Structure, shared: Shared) -> MapProduct | None:
    """Two maps without a rule stay a chain."""
    return None


@rule(Delta, Delta)
def _deltas(first: Delta, second: Delta, shared: Shared) -> MapProduct | None:
    found = multiply_deltas(first, second)
    if found is None:
        return None
    if found.structure.slot is None:
        return MapProduct(found.structure, ())
    if found.renamed:
        return MapProduct(found.structure, (right(0) if first.slot is None else left(0),))
    return MapProduct(found.structure, (computed(lambda b, ls, rs: found.combine(b, ls, rs)[0]),))


def _spans(d: Delta) -> bool:
    """True where a map is dense and its array has every axis: it can take another map into its columns or rows."""
    return d.is_dense and d.slot is not None and set(d.slot) >= {*d.out, *d.ins}


SPREAD = 2  # times as many rows as entries that are moved to them: a dense map after which these stay a chain


def _spreads(second: Structure) -> bool:
    """True where a map puts its argument among zeros that are more than it."""
    return second.only_moves and second.rows > SPREAD * second.nnz


def push_columns(first: Delta, second: Structure, shared: Shared) -> MapProduct | None:
    """Dense, then anything: the map is applied to each column; unless that only writes many more zeros."""
    if not _spans(first) or len(second.cod) != 1 or _spreads(second):
        return None
    count = math.prod(first.dom[0].shape)
    cod = second.cod[0]
    n = len(first.sizes)
    out = tuple(range(n, n + cod.ndim))
    result = delta(
        out, first.ins, (*first.ins, *out), (*first.sizes, *cod.shape), first.dom_dtype, cod.dtype, cod.dtype, first.factor
    )

    def compute(b: Builder, ls: Sequence[Wire], rs: Sequence[Wire]) -> Wire:
        assert first.slot is not None
        columns = contract(b, [first.slot], ls, (*first.ins, *first.out), first.sizes)
        columns = cast(columns, second.dom[0].dtype)
        (columns,) = b.add(Reshaped((count, *second.dom[0].shape)), columns)
        wiring, _ = applying(second)
        flags = (False,) * len(rs) + (True,)
        (pushed,) = batch(b, wiring, [*rs, columns], flags, count)
        return b.add(Reshaped((*first.dom[0].shape, *cod.shape)), pushed)[0]

    return MapProduct(result, (computed(compute),))


_pull_rows = flipped(push_columns)


rule(Delta, Recurrence)(push_columns)
rule(Recurrence, Delta)(_pull_rows)
rule(Reindex, Delta)(_pull_rows)
rule(Reshape, Delta)(_pull_rows)


@rule(Reindex, Reindex)
def _reindexes(first: Reindex, second: Reindex, shared: Shared) -> MapProduct | None:
    axes = tuple([then(a, c) for a, c in zip(first.axes, second.axes, strict=True)])
    if any(ax.m == 0 for ax in axes):
        return MapProduct(Zero(first.dom, second.cod), ())
    return MapProduct(Reindex(axes, first.dtype), ())


@rule(Reshape, Reshape)
def _reshapes(first: Reshape, second: Reshape, shared: Shared) -> MapProduct | None:
    if first.before == second.after:
        return MapProduct(identity(first.dom[0]), ())
    return MapProduct(Reshape(first.before, second.after, first.dtype), ())


def through(first: Delta, second: Structure) -> Source:
    """The numbers of a diagonal, as an array of the full shape, with another map applied to them."""

    def compute(b: Builder, ls: Sequence[Wire], rs: Sequence[Wire]) -> Wire:
        assert first.slot is not None
        made = second.apply(b, rs, [contract(b, [first.slot], ls, first.out, first.sizes)])[0]
        assert made is not None
        return made

    return computed(compute)


@rule(Delta, Reindex)
@rule(Delta, Reshape)
def _passes(first: Delta, second: Reindex | Reshape, shared: Shared) -> MapProduct | None:
    """A diagonal passes through a move: `move(d * x) = move(d) * move(x)`. A dense map has its columns moved."""
    if not first.is_diagonal or first.slot is None or first.dom_dtype != first.cod_dtype:
        return push_columns(first, second, shared)
    space = second.cod[0]
    axes = tuple(range(space.ndim))
    after = delta(axes, axes, axes, space.shape, space.dtype, space.dtype, first.slot_dtype, first.factor)
    return MapProduct(chain([(second, ()), (after, (0,))]), (through(first, second),))


def _diagonal_labels(d: Delta, labels: Labels) -> Labels:
    """The slot's labels, in terms of the labels that the axes have on the other map."""
    name = dict(zip(d.out, labels, strict=True))
    return tuple([name[label] for label in d.slot or ()])


@rule(Gather, Delta)
def _gather_delta(first: Gather, second: Delta, shared: Shared) -> MapProduct | None:
    """A diagonal after a gather joins its weight."""
    if not second.is_diagonal:
        return _pull_rows(first, second, shared)
    how = first.how
    own = _diagonal_labels(second, how.dst)
    labels = tuple([label for label in how.dst if label in own or label in (first.weight or ())])
    dtype = np.result_type(*[s.dtype for s in (*first.slots[1:], *second.slots)] or [second.cod_dtype])
    result = Gather(how, labels, first.index_dtype, first.src_dtype, second.cod_dtype, dtype)

    def compute(b: Builder, ls: Sequence[Wire], rs: Sequence[Wire]) -> Wire:
        parts = [(first.weight, w) for w in ls[1:]] + [(own, w) for w in rs]
        return _weight(b, parts, labels, how, second)

    return MapProduct(result, (left(0), computed(compute)))


def _weight(b: Builder, parts: Sequence[tuple[Labels | None, Wire]], labels: Labels, how: Indexing, d: Delta) -> Wire:
    if not parts:
        constant: Wire = b.apply(const(np.asarray(d.factor, d.cod_dtype)), ())
        return constant
    operands = [own or () for own, _ in parts]
    return scale_by(contract(b, operands, [w for _, w in parts], labels, how.sizes), d.factor)


@rule(Delta, Gather)
def _delta_gather(first: Delta, second: Gather, shared: Shared) -> MapProduct | None:
    """A diagonal before a gather is read by it and joins its weight; a dense map has its rows read."""
    if not first.is_diagonal:
        return push_columns(first, second, shared)
    how = second.how
    own = _diagonal_labels(first, how.src)
    indexed = how.src[how.axis]
    read = tuple([x for x in how.dst if x in own or (indexed in own and x in how.by)])
    labels = tuple([x for x in how.dst if x in read or x in (second.weight or ())])
    dtype = np.result_type(*[s.dtype for s in (*second.slots[1:], *first.slots)] or [first.dom_dtype])
    result = Gather(how, labels, second.index_dtype, first.dom_dtype, second.dst_dtype, dtype)

    def compute(b: Builder, ls: Sequence[Wire], rs: Sequence[Wire]) -> Wire:
        parts = [(second.weight, w) for w in rs[1:]]
        if ls:
            part = ls[0]
            if indexed in own:
                part = b.add(Gathered(Indexing(own, own.index(indexed), how.by, read, how.sizes)), rs[0], part)[0]
            parts.append((read, part))
        return _weight(b, parts, labels, how, first)

    return MapProduct(result, (right(0), computed(compute)))


rule(Delta, ScatterAdd)(flipped(_gather_delta))
rule(ScatterAdd, Delta)(flipped(_delta_gather))


@rule(Gather, Gather)
def _gathers(first: Gather, second: Gather, shared: Shared) -> MapProduct | None:
    """Reading from what was read along the same axis: one gather by the composed indices."""
    name = dict(zip(second.how.src, first.how.dst, strict=True))
    indexed = name[second.how.src[second.how.axis]]
    plain = set(first.how.by).isdisjoint(first.how.src)
    if indexed not in first.how.by or not plain or len(first.how.by) != 1:
        return None
    if not set(second.how.by).isdisjoint(second.how.src) or first.weight is not None or second.weight is not None:
        return None
    n = len(first.how.sizes)
    index = tuple([n + k for k in range(len(second.how.by))])
    for old, new in zip(second.how.by, index, strict=True):
        name[old] = new
    sizes = (*first.how.sizes, *[second.how.sizes[label] for label in second.how.by])
    dst = tuple([name[label] for label in second.how.dst])
    how = Indexing(first.how.src, first.how.axis, index, dst, sizes)
    result = Gather(how, None, first.index_dtype, first.src_dtype, second.dst_dtype, None)
    inner = Indexing((0,), 0, tuple(range(1, 1 + len(index))), tuple(range(1, 1 + len(index))),
                     (first.slots[0].size, *[sizes[label] for label in index]))  # fmt: skip

    def compute(b: Builder, ls: Sequence[Wire], rs: Sequence[Wire]) -> Wire:
        """Positions out of range must stay so: index -1 for them."""
        shifted = ls[0] + 1
        (taken,) = b.add(Gathered(inner), rs[0], shifted)
        return taken - 1

    return MapProduct(result, (computed(compute),))


rule(ScatterAdd, ScatterAdd)(flipped(_gathers))


@rule(Gather, ScatterAdd)
def _gather_scatter(first: Gather, second: ScatterAdd, shared: Shared) -> MapProduct | None:
    """Reading and adding back by the same indices: a diagonal of how often each entry was read, times the weights."""
    if (0, 0) not in shared or first.how != second.how:
        return None
    how = first.how
    indexed = how.src[how.axis]
    weights = [w for w in (first.weight, second.weight) if w is not None]
    over = tuple([x for x in how.dst if x in how.by or any(x in w for w in weights)])
    kept = tuple([x for x in how.src if x == indexed or x in over])
    short = Indexing(kept, kept.index(indexed), how.by, over, how.sizes)
    dtypes = [d for d in (first.weight_dtype, second.weight_dtype) if d is not None] or [first.src_dtype]
    result = delta(how.src, how.src, kept, how.sizes, first.src_dtype, second.src_dtype, np.result_type(*dtypes))

    def compute(b: Builder, ls: Sequence[Wire], rs: Sequence[Wire]) -> Wire:
        wires = [*ls[1:], *rs[1:]]
        operands: list[Labels] = list(weights)
        if not wires:
            wires, operands = [b.apply(const(np.ones((), result.slot_dtype)), ())], [()]
        values = contract(b, operands, wires, over, how.sizes)
        return b.add(ScatterAdded(short), ls[0], values)[0]

    return MapProduct(result, (computed(compute),))
