"""`histogram` and `reduce_by_index`: folds of the values that share a bin.

With `+` a histogram is a `ScatterAdded`, whose Jacobian is a `ScatterAdd`; with any other operator it is a `FoldByBin`, whose
Jacobian is a weighted `ScatterAdd`. With free numbers each value carries them (Bruun and Larsen 2022, section 6.1). Indices
out of range are dropped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from catad import errors, scalar
from catad.category.constant import index_of
from catad.category.constructors import constructor, integer
from catad.category.spaces import Elements, flatten, rebuild
from catad.category.terms import D
from catad.linear.families.contract import repeated
from catad.linear.families.gather import ScatterAdded, rows_of
from catad.vector.bins.fold_by_bin import FoldByBin
from catad.vector.bins.sorted_bins import with_numbers
from catad.vector.deferred import OfOperator
from catad.vector.folds.monoid import Monoid, check_types, chooses, factors, monoid_of, parts
from catad.vector.indexing.gather import LastWriter
from catad.vector.pointwise.map import mapped
from catad.vector.scans.scan import check_params
from catad.vector.shapes.shape import broadcast_to

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires


def by_bin(
    b: Builder, monoid: Monoid, index: Wire, values: Sequence[Wire], bins: int, free: Sequence[Wire] = ()
) -> list[Wire]:
    """The folds of the values of each bin, one for each independent part of the operator."""
    made: dict[int, Wire] = {}
    for own, part in parts(monoid):
        wires = [values[k] for k in own]
        if scalar.recognise(part.op) == "add" and wires[0].space.is_float:
            how = rows_of((bins, *wires[0].shape[index.ndim :]), index.shape)
            totals: Sequence[Wire] = b.add(ScatterAdded(how), index, wires[0])
        elif index.ndim != 1:
            raise errors.SpaceError(errors.wrong_index_shape(index.space, [v.space for v in values], "ct.histogram"))
        elif part.free:
            carried = [b.apply(broadcast_to(wires[0].shape), p) for p in free]
            totals = b.add(FoldByBin(with_numbers(part), bins), index, *carried, *wires)[part.free :]
        else:
            totals = b.add(FoldByBin(part, bins), index, *wires)
        made.update(zip(own, totals, strict=True))
    return [made[k] for k in range(len(values))]


def _parts(b: Builder, index: Any, values: Any, monoid: Monoid, term: D) -> tuple[Wire, list[Wire]]:
    """Index wire and value wires, checked to fit each other and the operator."""
    wires = flatten(values)
    if isinstance(index, tuple):
        raise errors.SpaceError(errors.not_an_index(b.space(index)))
    index = index_of(index)
    if scalar.tree_of(values) != monoid.tree or len({w.shape for w in wires}) != 1:
        raise errors.SpaceError(errors.wrong_elements(b.space(values), monoid.neutral, term))
    if wires[0].shape[: index.ndim] != index.shape:
        raise errors.SpaceError(errors.wrong_index_shape(index.space, b.space(values), term))
    check_types(monoid, [w.dtype for w in wires])
    return index, wires


def _lay(b: Builder, x: Wires, term: OfOperator) -> Any:
    x, free = factors(b, x, ("indices", "values"), term.monoid, term)
    index, values = _parts(b, x[0], x[1], term.monoid, term)
    check_params(free, values[0], 0, term)
    return rebuild(b.space(x[1]), by_bin(b, term.monoid, index, values, term.parameters["bins"], free))


def _lay_onto(b: Builder, x: Wires, term: OfOperator) -> Any:
    x, free = factors(b, x, ("dst", "indices", "values"), term.monoid, term)
    dst = flatten(x[0])
    index, values = _parts(b, x[1], x[2], term.monoid, term)
    rest = values[0].shape[index.ndim :]
    for d, v in zip(dst, values, strict=False):
        if not d.ndim or d.shape[1:] != rest or d.dtype != v.dtype or len(dst) != len(values):
            raise errors.SpaceError(errors.unequal_rows(b.space(x[0]), b.space(x[2]), term))
    check_params(free, values[0], 0, term)
    folded = by_bin(b, term.monoid, index, values, dst[0].shape[0], free)
    return rebuild(b.space(x[0]), _onto(b, term.monoid, dst, index, folded, free))


def _onto(b: Builder, monoid: Monoid, dst: list[Wire], index: Wire, folded: list[Wire], free: list[Wire]) -> list[Wire]:
    """The operator on dst and what arrived; where the neutral element is not finite, dst itself where nothing did.

    There the operator's partials need not exist, such as those of `t * logaddexp(a / t, b / t)` at minus infinity.
    """
    outputs = list(monoid.op.outputs)
    if chooses(monoid) or index.ndim != 1 or all(math.isfinite(e) for e in monoid.neutral):
        return mapped(b, outputs, [*dst, *folded, *free])
    (last,) = b.add(LastWriter(dst[0].shape[0]), index)
    everywhere = repeated(b, last, (0,), dst[0].shape)
    d, m = monoid.width, 2 * monoid.width + monoid.free
    there = scalar.apply("ge", scalar.param(m), scalar.const(0))
    chosen = [scalar.apply("select", there, outputs[k], scalar.param(k)) for k in range(d)]
    return mapped(b, chosen, [*dst, *folded, *free, everywhere])


@constructor(morphisms="op")
def histogram(op: Callable[..., Any] | Monoid, neutral: Elements | None = None, bins: int = -1, params: int = 0) -> D:
    """Maps (indices, values) to the folds of the values that share an index, for the bins `0 .. bins - 1`.

    Values are taken in their order; an empty bin holds the neutral element; an index out of range is dropped, negative ones
    too. `values` may be a tuple of arrays nested as `neutral`, and may have more axes than the indices. With `params=k` the
    operator takes k more numbers, which follow in the domain. `op` may be a `ct.monoid`. Raises the errors of `ct.scan`.

    Work O(n + bins), depth O(log n), of the value and of its derivatives, beside the stable sort, by which array libraries
    fold with operators other than `+` and whose work is O(n) where it is a radix sort (Bruun and Larsen 2022, sections 6.1.4,
    6.2.1 and 6.4.1). Passes over the n values, of the histogram and of its gradient: `+` 1 and 1; `*` 1 and 4; a minimum or
    maximum 1 and 3; a declared inverse 6 beside the value's; any other operator on numbers 1 and 3, of which one folds each
    bin from both sides.

    Shapes: (...) integers and (..., more) values to (bins, more), in the dtype of the values. Raises `ArgumentError` where
    `bins` is no integer of at least 0.

    >>> import catad as ct, numpy as np
    >>> ct.histogram(ct.add, 0.0, 3)(np.array([0, 2, 2, -1]), np.array([1.0, 2.0, 3.0, 4.0]))
    array([1., 0., 5.])
    """
    bins = integer(bins, "the number of bins", 0)
    return OfOperator(histogram, _lay, monoid_of(op, neutral, params), bins=bins)


@constructor(morphisms="op")
def reduce_by_index(op: Callable[..., Any] | Monoid, neutral: Elements | None = None, params: int = 0) -> D:
    """Maps (dst, indices, values) to dst with the values of each bin folded onto it; dst is the left operand.

    `op`, `neutral` and `params` are as for `ct.histogram`. It is that on indices and values, and then the operator on dst and
    the bins. An entry of dst where nothing arrives becomes `op(dst, neutral)`, or stays as it is where the neutral element is
    not finite. Work O(n + bins), depth O(log n), as of the histogram; passes over the n values, of the result and of its
    gradient: `*` 1 and 4. Raises the errors of `ct.histogram`. Shapes: dst (bins, ...), and the result has its shape; dst has
    the values' dtype.

    >>> import catad as ct, numpy as np
    >>> ct.reduce_by_index(ct.add, 0.0)(np.ones(3), np.array([0, 2, 2]), np.array([1.0, 2.0, 3.0]))
    array([2., 1., 6.])
    """
    return OfOperator(reduce_by_index, _lay_onto, monoid_of(op, neutral, params))
