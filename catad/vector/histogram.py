"""`histogram` and `reduce_by_index`: folds of the values that share a bin.

For `+` it is a `Put`, whose Jacobian is the `ScatterAdd` itself. For any other operator the values are sorted by bin, stably, and
folded segment by segment: a scan with the operator lifted to (segment starts here, value), read at the ends of the segments
(Bruun and Larsen 2022, section 6.1). It is made of smaller combinators and has no rule of its own. Indices out of range are
dropped: they sort into one bin more, which nobody reads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors, scalar
from catad.linear.block import assemble
from catad.linear.contract import contract
from catad.linear.gather import Indexing, Put, ScatterAdd, Take, rows_of
from catad.linear.structure import Placed, Rule
from catad.primitive import Primitive, box
from catad.scalar import Function
from catad.spaces import Space, Tensor, flatten, product, rebuild
from catad.terms import D, above
from catad.vector.fold import of_one
from catad.vector.generate import Iota
from catad.vector.index import Integers
from catad.vector.map import mapped
from catad.vector.monoid import Monoid, check_laws, check_types, chooses, monoid_of, parts, sampled, with_winner
from catad.vector.scan import Scan, check_params, filled, operator_code, params_code, rebuild_tree
from catad.wiring import share

if TYPE_CHECKING:
    from catad.scalar import Node
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
        key = _bin_of(xp, index, self.bins).astype(np.min_scalar_type(self.bins))  # short numbers are sorted by radix
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


@box
class Alone(Integers):
    """Indices to whether each is the only one of its bin. Axis `axis` counts the indices."""

    bins: int
    axis: int = 0
    arity = 1

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (Tensor(ins[0].shape, np.bool_),)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        key = xp.moveaxis(_bin_of(xp, arrays[0], self.bins), self.axis, -1)
        count = math.prod(key.shape[:-1])
        rows = xp.arange(count).reshape(*key.shape[:-1], 1) * (self.bins + 1)  # each row has bins of its own
        flat = (key + rows).reshape(-1)
        alone = xp.bincount(flat, minlength=count * (self.bins + 1)) == 1
        return xp.moveaxis(alone[flat].reshape(key.shape), -1, self.axis)

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        return b.add(Alone(self.bins, self.axis + 1), *ins)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.vector.Alone({self.bins}, {self.axis})"


def _bin_of(xp: Any, index: Any, bins: int) -> Any:
    """The bin of each index; one more for those out of range."""
    return xp.where((index >= 0) & (index < bins), index, bins).astype(np.int64)


def segmented(monoid: Monoid) -> Monoid:
    """The operator lifted to (segment starts here, element): what stands before a start does not matter."""
    d, free = monoid.width, monoid.free
    first, second = scalar.param(0), scalar.param(d + 1)
    left = [scalar.param(1 + k) for k in range(d)]
    right = [scalar.param(d + 2 + k) for k in range(d)]
    joined = scalar.substitute(monoid.op, [*left, *right, *[scalar.param(2 * d + 2 + k) for k in range(free)]])
    chosen = [scalar.apply("select", second, r, j) for r, j in zip(right, joined, strict=True)]
    tree = (None, monoid.tree)
    outputs = [scalar.apply("or", first, second), *chosen]
    trees = (tree, tree, *[None] * free)
    op = Function.make(2 * d + 2 + free, outputs, tree, trees, f"segmented {monoid.op.name or 'op'}")
    return Monoid(op, (False, *monoid.neutral), tree, None, free, monoid)


def by_bin(
    b: Builder, monoid: Monoid, index: Wire, values: Sequence[Wire], bins: int, free: Sequence[Wire] = ()
) -> list[Wire]:
    """The folds of the values of each bin, the independent parts of the operator apart."""
    made: dict[int, Wire] = {}
    for own, part in parts(monoid):
        wires = [values[k] for k in own]
        if scalar.recognise(part.op) == "add" and wires[0].space.is_float:
            how = rows_of((bins, *wires[0].shape[index.ndim :]), index.shape)
            totals = [b.add(Put(how), index, wires[0])[0]]
        elif index.ndim != 1:
            raise errors.SpaceError(errors.wrong_index_shape(index.space, [v.space for v in values], "ct.histogram"))
        elif chooses(part) and wires[0].space.is_float:
            totals = _by_winner(b, part, index, wires[0], bins)
        elif part.inverse is not None and not part.free:
            totals = list(b.add(Invertible(part, bins), index, *wires))
        else:
            totals = _by_sorting(b, part, index, wires, bins, free)
        made.update(zip(own, totals, strict=True))
    return [made[k] for k in range(len(values))]


def _by_sorting(
    b: Builder, monoid: Monoid, index: Wire, values: Sequence[Wire], bins: int, free: Sequence[Wire]
) -> list[Wire]:
    """Any operator: sort by bin, fold each segment, read the ends of the segments."""
    order, starts, last = b.add(SortByBin(bins), index)
    ordered = [b.add(Take(rows_of(v.shape, order.shape)), order, v)[0] for v in values]
    axes = tuple(range(values[0].ndim))
    flags = contract(b, [(0,)], [starts], axes, values[0].shape)
    _, *sums = b.add(Scan(segmented(monoid)), flags, *ordered, *free)
    end = contract(b, [(0,)], [last], axes, (bins, *values[0].shape[1:]))
    read = [b.add(Take(rows_of(s.shape, last.shape)), last, s)[0] for s in sums]
    return _or_neutral(b, monoid, end, read)


def _or_neutral(b: Builder, monoid: Monoid, position: Wire, read: Sequence[Wire]) -> list[Wire]:
    """What was read, and the neutral element where the position is negative: in an empty bin."""
    there = scalar.apply("ge", scalar.param(0), scalar.const(0))
    out = []
    for k, wire in enumerate(read):
        node = scalar.apply("select", there, scalar.param(1), scalar.const(monoid.neutral[k]))
        out += mapped(b, [node], [position, wire])
    return out


def _inside(index: Node, bins: int) -> Node:
    return scalar.apply("and", scalar.apply("ge", index, scalar.const(0)), scalar.apply("lt", index, scalar.const(bins)))


def _by_winner(b: Builder, monoid: Monoid, index: Wire, values: Wire, bins: int) -> list[Wire]:
    """A minimum or maximum: which value wins each bin, by the operator's own choice, and then that value is read."""
    axes = tuple(range(values.ndim))
    positions = contract(b, [(0,)], [b.add(Iota(values.shape[0]))[0]], axes, values.shape)
    _, winner = _by_sorting(b, with_winner(monoid), index, [values, positions], bins, ())
    n = values.ndim
    by = (n, *axes[1:])
    (read,) = b.add(Take(Indexing(axes, 0, by, by, (*values.shape, bins))), winner, values)
    return _or_neutral(b, monoid, winner, [read])


@box
class Invertible(Primitive):
    """(indices, values...) to bins, for an operator with a declared inverse.

    Jacobian: a weighted scatter-add; the weight of a value is its partial at the total of its bin without it. A value that is
    alone in its bin is the total: its weight is the identity, without the inverse, whose own derivatives need not exist at
    the neutral element (those of `log(exp(total) - exp(x))` do not).
    """

    monoid: Monoid
    bins: int

    @property
    def arity(self) -> int:
        return 1 + self.monoid.width

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple([Tensor((self.bins, *s.shape[1:]), s.dtype) for s in ins[1:]])

    def check(self, xp: Any, *arrays: Any) -> None:
        check_laws(self.monoid, sampled(xp, arrays[1:]))

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        program, _ = above().program_of(
            _general(self.monoid, self.bins), self._domain([Tensor(a.shape, a.dtype) for a in arrays])
        )
        out = program(xp, arrays)
        return out[0] if len(out) == 1 else tuple(out)

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        d = self.monoid.width
        floats = [k for k in range(d) if ins[1 + k].is_float]
        if not floats:
            return None
        partials, _ = of_one(self.monoid, floats)
        how = rows_of(outs[0].shape, ins[0].shape)
        dtype = np.result_type(*[ins[1 + k].dtype for k in floats])
        alone = scalar.param(2 * d + 1)
        nodes = []
        rows: list[list[Placed | None]] = []
        for k in floats:
            row: list[Placed | None] = []
            for j, node in zip(floats, partials[k], strict=True):
                if node is None:
                    row.append(None)
                    continue
                nodes.append(scalar.apply("select", alone, scalar.const(float(j == k)), node))
                s = ScatterAdd(how, how.dst, ins[0].dtype, outs[k].dtype, ins[1 + j].dtype, dtype)
                row.append((s, (0, len(nodes))))
            rows.append(row)
        weight = Tensor(ins[1].shape, dtype)
        whole = assemble(rows, [ins[1 + k] for k in floats], [outs[k] for k in floats], (ins[0], *[weight] * len(nodes)))

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            b = wires[0].builder
            totals = [b.add(Take(how), wires[0], r)[0] for r in results]
            axes, shape = tuple(range(wires[1].ndim)), wires[1].shape
            known = [contract(b, [(0,)], [w], axes, shape) for w in (wires[0], b.add(Alone(self.bins), wires[0])[0])]
            inside = _inside(scalar.param(2 * d), self.bins)  # what is dropped has no total to be taken out of
            kept = [scalar.apply("select", inside, node, scalar.const(0.0)) for node in nodes]
            return [wires[0], *[filled(b, w, weight) for w in mapped(b, kept, [*totals, *wires[1:], *known])]]

        return Rule(whole, coefficients)

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        total: int = above().cost_of_wiring(above().wire(_general(self.monoid, self.bins), self._domain(ins)))
        return total

    def _domain(self, ins: Sequence[Tensor]) -> Space:
        values = ins[1] if self.monoid.tree is None else rebuild_tree(self.monoid.tree, list(ins[1:]), product)
        return product(ins[0], values)

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        """As the general one: an inverse saves scans, which a batch does not need to."""
        from catad.linear.batch import batch
        from catad.wiring import wire

        spaces = [Tensor(w.shape[1:] if flag else w.shape, w.dtype) for w, flag in zip(ins, flags, strict=True)]
        return tuple(batch(b, wire(_general(self.monoid, self.bins), self._domain(spaces)), ins, flags, size))

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return name(self, "invertible")


@lru_cache(maxsize=4096)
def _general(monoid: Monoid, bins: int) -> D:
    """The histogram without the inverse; one term for all calls, since programs are kept with their terms."""
    return HistogramOf(replace(monoid, inverse=None), bins)


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


def _split_params(b: Builder, x: Any, count: int, monoid: Monoid, term: D) -> tuple[Any, list[Wire]]:
    """The factors of the argument, and the free numbers that follow them."""
    names = ("dst", "indices", "values")[3 - count :]
    if not isinstance(x, tuple) or len(x) != count + monoid.free:
        pattern = ", ".join([*names, *["p"] * monoid.free])
        raise errors.SpaceError(errors.not_a_pattern(f"({pattern})", b.space(x), term))
    return x[:count], list(x[count:])


@share
class HistogramOf(D):
    """`ct.histogram(...)`."""

    __slots__ = ("bins", "monoid")

    def __init__(self, monoid: Monoid, bins: int) -> None:
        self.monoid, self.bins = monoid, bins

    def data(self) -> Hashable:
        return (self.monoid, self.bins)

    def wired(self, b: Builder, x: Wires) -> Any:
        x, free = _split_params(b, x, 2, self.monoid, self)
        index, values = _parts(b, x[0], x[1], self.monoid, self)
        check_params(free, values[0], 0, self)
        return rebuild(b.space(x[1]), by_bin(b, self.monoid, index, values, self.bins, free))

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.histogram({operator_code(self.monoid, name)}, bins={self.bins}{params_code(self.monoid)})"


@share
class ReduceByIndex(D):
    """`ct.reduce_by_index(...)`."""

    __slots__ = ("monoid",)

    def __init__(self, monoid: Monoid) -> None:
        self.monoid = monoid

    def data(self) -> Hashable:
        return self.monoid

    def wired(self, b: Builder, x: Wires) -> Any:
        x, free = _split_params(b, x, 3, self.monoid, self)
        dst = flatten(x[0])
        index, values = _parts(b, x[1], x[2], self.monoid, self)
        rest = values[0].shape[index.ndim :]
        for d, v in zip(dst, values, strict=False):
            if not d.ndim or d.shape[1:] != rest or d.dtype != v.dtype or len(dst) != len(values):
                raise errors.SpaceError(errors.unequal_rows(b.space(x[0]), b.space(x[2]), self))
        check_params(free, values[0], 0, self)
        folded = by_bin(b, self.monoid, index, values, dst[0].shape[0], free)
        return rebuild(b.space(x[0]), self._onto(b, dst, index, folded, free))

    def _onto(self, b: Builder, dst: list[Wire], index: Wire, folded: list[Wire], free: list[Wire]) -> list[Wire]:
        """The operator on dst and what arrived; where the neutral element is not finite, dst itself where nothing did.

        There the operator's partials need not exist, such as those of `t * logaddexp(a / t, b / t)` at minus infinity.
        """
        outputs = list(self.monoid.op.outputs)
        if chooses(self.monoid) or index.ndim != 1 or all(math.isfinite(e) for e in self.monoid.neutral):
            return mapped(b, outputs, [*dst, *folded, *free])
        last = b.add(SortByBin(dst[0].shape[0]), index)[2]
        everywhere = contract(b, [(0,)], [last], tuple(range(dst[0].ndim)), dst[0].shape)
        d, m = self.monoid.width, 2 * self.monoid.width + self.monoid.free
        there = scalar.apply("ge", scalar.param(m), scalar.const(0))
        chosen = [scalar.apply("select", there, outputs[k], scalar.param(k)) for k in range(d)]
        return mapped(b, chosen, [*dst, *folded, *free, everywhere])

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.reduce_by_index({operator_code(self.monoid, name)}{params_code(self.monoid)})"


def histogram(op: Any, neutral: Any = None, bins: int = -1, params: int = 0) -> D:
    """(indices, values) to the folds of the values that share an index, for the bins `0 .. bins - 1`.

    Values are taken in their order; an empty bin holds the neutral element; an index out of range is dropped, negative ones too.
    `values` may be a tuple of arrays nested as `neutral`, and may have more axes than the indices. With `params=k` the operator
    takes k more numbers, which follow in the domain. `op` may be a `ct.monoid`. Errors as `scan`.

    Work O(n + bins), depth O(log n), of the value and of its derivatives, beside the stable sort, which operators other than `+`
    need and whose work is O(n) where it is a radix sort (Bruun and Larsen 2022, sections 6.1.4, 6.2.1 and 6.4.1). Passes over
    the n values, of the histogram and of its gradient: `+` 1 and 1; a minimum or maximum 7 and 7; a declared inverse 4 beside the
    value's; any other operator on numbers 4 and 9, of which one sorts, one is a segmented scan and one its recurrence.

    >>> import catad as ct, numpy as np
    >>> ct.histogram(ct.add, 0.0, 3)(np.array([0, 2, 2, -1]), np.array([1.0, 2.0, 3.0, 4.0]))
    array([1., 0., 5.])
    """
    if isinstance(bins, bool) or not isinstance(bins, (int, np.integer)) or bins < 0:
        raise errors.ArgumentError(errors.bad_bins(bins))
    return HistogramOf(monoid_of(op, neutral, params), int(bins))


def reduce_by_index(op: Any, neutral: Any = None, params: int = 0) -> D:
    """(dst, indices, values) to dst with the values of each bin folded onto it; dst is the left operand.

    As `ct.histogram` on indices and values, then the operator on dst and the bins; a bin where nothing arrives stays as it is.
    Work O(n + bins), depth O(log n), as of the histogram; passes over the n values, of the result and of its gradient: any
    other operator on numbers 4 and 10. Errors as `ct.histogram`; dst, with one row for each bin, has the values' dtype.

    >>> import catad as ct, numpy as np
    >>> ct.reduce_by_index(ct.add, 0.0)(np.ones(3), np.array([0, 2, 2]), np.array([1.0, 2.0, 3.0]))
    array([2., 1., 6.])
    """
    return ReduceByIndex(monoid_of(op, neutral, params))
