"""`histogram` and `reduce_by_index`: folds of the values that share a bin.

For `+` it is a `Put`, whose Jacobian is the `ScatterAdd` itself. For any other operator the values are sorted by bin, stably, and
folded segment by segment: a scan with the operator lifted to (segment starts here, value), read at the ends of the segments
(Bruun and Larsen 2022, section 5.2). It is made of smaller combinators and has no rule of its own. Indices out of range are
dropped: they sort into one bin more, which nobody reads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors, scalar
from catad.linear.contract import contract
from catad.linear.gather import Put, Take, rows_of
from catad.primitive import box
from catad.scalar import Function
from catad.spaces import Tensor, flatten, rebuild
from catad.terms import D
from catad.vector.index import Integers
from catad.vector.map import mapped
from catad.vector.monoid import Monoid, check_types, monoid_of
from catad.vector.scan import Scan, operator_code
from catad.wiring import share

if TYPE_CHECKING:
    from catad.wiring import Builder, Wire, Wires


@box
class SortByBin(Integers):
    """Indices (m,) to: positions in stable order of bins (m,), where segments start (m,), the last place of each bin (bins,).

    The last place of an empty bin is -1; indices out of range sort last. Axis `axis` counts the indices.
    """

    bins: int
    axis: int = 0
    arity = 1

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        shape = ins[0].shape
        ends = (*shape[: self.axis], self.bins, *shape[self.axis + 1 :])
        return Tensor(shape, np.int64), Tensor(shape, np.bool_), Tensor(ends, np.int64)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        index = xp.moveaxis(arrays[0], self.axis, -1)
        m = index.shape[-1]
        key = xp.where((index >= 0) & (index < self.bins), index, self.bins).astype(np.int64)
        order = xp.argsort(key, axis=-1, kind="stable")
        ordered = xp.take_along_axis(key, order, axis=-1)
        starts = xp.ones(index.shape, dtype=bool)
        if m:
            starts[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
        count = math.prod(index.shape[:-1])
        rows = ordered.reshape(count, m)
        last = xp.full((count, self.bins), -1, dtype=np.int64)
        for i in range(count if m else 0):
            end = xp.searchsorted(rows[i], xp.arange(self.bins), side="right")
            begin = xp.searchsorted(rows[i], xp.arange(self.bins), side="left")
            last[i] = xp.where(end > begin, end - 1, -1)
        last = last.reshape(*index.shape[:-1], self.bins)
        return tuple([xp.moveaxis(a, -1, self.axis) for a in (order, starts, last)])

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        return b.add(SortByBin(self.bins, self.axis + 1), *ins)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.vector.SortByBin({self.bins}, {self.axis})"


def segmented(monoid: Monoid) -> Monoid:
    """The operator lifted to (segment starts here, element): what stands before a start does not matter."""
    d = monoid.width
    first, second = scalar.param(0), scalar.param(d + 1)
    left = [scalar.param(1 + k) for k in range(d)]
    right = [scalar.param(d + 2 + k) for k in range(d)]
    joined = scalar.substitute(monoid.op, [*left, *right])
    chosen = [scalar.apply("select", second, r, j) for r, j in zip(right, joined, strict=True)]
    tree = (None, monoid.tree)
    outputs = [scalar.apply("or", first, second), *chosen]
    op = Function.make(2 * d + 2, outputs, tree, (tree, tree), f"segmented {monoid.op.name or 'op'}")
    return Monoid(op, (False, *monoid.neutral), tree)


def by_bin(b: Builder, monoid: Monoid, index: Wire, values: list[Wire], bins: int) -> list[Wire]:
    """The folds of the values of each bin."""
    if scalar.recognise(monoid.op) == "add" and values[0].space.is_float:
        how = rows_of((bins, *values[0].shape[index.ndim :]), index.shape)
        return [b.add(Put(how), index, values[0])[0]]
    if index.ndim != 1:
        raise errors.SpaceError(errors.wrong_index_shape(index.space, [v.space for v in values], "ct.histogram"))
    order, starts, last = b.add(SortByBin(bins), index)
    ordered = [b.add(Take(rows_of(v.shape, order.shape)), order, v)[0] for v in values]
    axes = tuple(range(values[0].ndim))
    flags = contract(b, [(0,)], [starts], axes, values[0].shape)
    _, *sums = b.add(Scan(segmented(monoid)), flags, *ordered)
    full = (bins, *values[0].shape[1:])
    end = contract(b, [(0,)], [last], axes, full)
    out = []
    for k, s in enumerate(sums):
        (read,) = b.add(Take(rows_of(s.shape, last.shape)), last, s)
        there = scalar.apply("ge", scalar.param(0), scalar.const(0))
        node = scalar.apply("select", there, scalar.param(1), scalar.const(monoid.neutral[k]))
        out += mapped(b, [node], [end, read])
    return out


def _parts(b: Builder, index: Any, values: Any, monoid: Monoid, term: D) -> tuple[Wire, list[Wire]]:
    """Index wire and value wires, checked to fit each other and the operator."""
    from catad.vector.monoid import _tree

    wires = flatten(values)
    if isinstance(index, tuple) or index.dtype.kind not in "iu":
        raise errors.SpaceError(errors.not_an_index(b.space(index)))
    if _tree(values) != monoid.tree or len({w.shape for w in wires}) != 1:
        raise errors.SpaceError(errors.wrong_elements(b.space(values), monoid.neutral, term))
    if wires[0].shape[: index.ndim] != index.shape:
        raise errors.SpaceError(errors.wrong_index_shape(index.space, b.space(values), term))
    check_types(monoid, [w.dtype for w in wires])
    return index, wires


@share
class HistogramOf(D):
    """`ct.histogram(...)`."""

    __slots__ = ("bins", "monoid")

    def __init__(self, monoid: Monoid, bins: int) -> None:
        self.monoid, self.bins = monoid, bins

    def data(self) -> Hashable:
        return (self.monoid, self.bins)

    def wired(self, b: Builder, x: Wires) -> Any:
        if not isinstance(x, tuple) or len(x) != 2:
            raise errors.SpaceError(errors.not_a_pattern("(indices, values)", b.space(x), self))
        index, values = _parts(b, x[0], x[1], self.monoid, self)
        return rebuild(b.space(x[1]), by_bin(b, self.monoid, index, values, self.bins))

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.histogram({operator_code(self.monoid, name)}, {self.bins})"


@share
class ReduceByIndex(D):
    """`ct.reduce_by_index(...)`."""

    __slots__ = ("monoid",)

    def __init__(self, monoid: Monoid) -> None:
        self.monoid = monoid

    def data(self) -> Hashable:
        return self.monoid

    def wired(self, b: Builder, x: Wires) -> Any:
        if not isinstance(x, tuple) or len(x) != 3:
            raise errors.SpaceError(errors.not_a_pattern("(dst, indices, values)", b.space(x), self))
        dst = flatten(x[0])
        index, values = _parts(b, x[1], x[2], self.monoid, self)
        rest = values[0].shape[index.ndim :]
        for d, v in zip(dst, values, strict=False):
            if not d.ndim or d.shape[1:] != rest or d.dtype != v.dtype or len(dst) != len(values):
                raise errors.SpaceError(errors.unequal_rows(b.space(x[0]), b.space(x[2]), self))
        folded = by_bin(b, self.monoid, index, values, dst[0].shape[0])
        outs = mapped(b, list(self.monoid.op.outputs), [*dst, *folded])
        return rebuild(b.space(x[0]), outs)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.reduce_by_index({operator_code(self.monoid, name)})"


def histogram(op: Any, neutral: Any, bins: int) -> D:
    """(indices, values) to the folds of the values that share an index, for the bins `0 .. bins - 1`.

    Values are taken in their order; an empty bin holds the neutral element; an index out of range is dropped, negative ones too.
    `values` may be a tuple of arrays nested as `neutral`, and may have more axes than the indices. Errors as `scan`.

    >>> import catad as ct, numpy as np
    >>> ct.histogram(ct.add, 0.0, 3)(np.array([0, 2, 2, -1]), np.array([1.0, 2.0, 3.0, 4.0]))
    array([1., 0., 5.])
    """
    if isinstance(bins, bool) or not isinstance(bins, (int, np.integer)) or bins < 0:
        raise errors.ArgumentError(errors.bad_bins(bins))
    return HistogramOf(_checked(op, neutral), int(bins))


def reduce_by_index(op: Any, neutral: Any) -> D:
    """(dst, indices, values) to dst with the values of each bin folded onto it; dst is the left operand.

    >>> import catad as ct, numpy as np
    >>> ct.reduce_by_index(ct.add, 0.0)(np.ones(3), np.array([0, 2, 2]), np.array([1.0, 2.0, 3.0]))
    array([2., 1., 6.])
    """
    return ReduceByIndex(_checked(op, neutral))


def _checked(op: Any, neutral: Any) -> Monoid:
    monoid = monoid_of(op, neutral)
    if scalar.recognise(monoid.op) == "add" and monoid.neutral[0] != 0:
        raise errors.MonoidError(errors.wrong_neutral(op, neutral, 1.0, 1.0 + monoid.neutral[0], "left"))
    return monoid
