"""`fold`: reduction by an associative operator.

The Jacobian for any operator is a row, `d(l_i op x_i op r_i) / d x_i`, with `l_i` and `r_i` the folds of the elements before
and after x_i: two exclusive scans, from both sides (Bruun and Larsen 2022, section 4.1). The fold with `+` is `sum`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors, scalar
from catad.category.boxes import Primitive, box
from catad.category.constructors import axes as axes_
from catad.category.constructors import constructor, one_axis
from catad.category.spaces import Elements, Tensor, rebuild
from catad.category.terms import D
from catad.linear.families.block import assemble, chain, grid
from catad.linear.families.contract import contract
from catad.linear.families.delta import delta
from catad.linear.families.gather import Gather, Indexing, spread_over
from catad.linear.families.recurrence import ONE, ZERO
from catad.linear.families.reindex import Reshaped, whole
from catad.linear.families.reindex import axis as ap
from catad.linear.structure import Placed, Rule, Structure
from catad.scalar import Function
from catad.vector.deferred import OfOperator
from catad.vector.folds.arg_extremum import ArgExtremum
from catad.vector.folds.array_operator import ArrayFold
from catad.vector.folds.leave_one_out import LeaveOneOutProduct
from catad.vector.folds.log_sum_exp import log_sum_exp
from catad.vector.folds.merge_axes import merge, unit_axes
from catad.vector.folds.monoid import Monoid, check_laws, chooses, elements, monoid_of, parts, sampled, with_params
from catad.vector.pointwise.generate import Iota
from catad.vector.pointwise.map import mapped
from catad.vector.scans.scan import check_params, entries, filled, pointwise_block, scanned
from catad.vector.shapes.shape import axes_of, moved, sum_of_elements

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires
    from catad.scalar import Node


@box
class Fold(Primitive):
    """The fold of one operator along one axis; one array for each number of an element. Work O(n), depth O(log n)."""

    monoid: Monoid
    axis: int = 0

    @property
    def arity(self) -> int:
        return self.monoid.width

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple([Tensor((*s.shape[: self.axis], *s.shape[self.axis + 1 :]), s.dtype) for s in ins])

    def check(self, xp: Any, *arrays: Any) -> None:
        check_laws(self.monoid, sampled(xp, arrays))

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        x = [xp.moveaxis(a, self.axis, 0) for a in arrays]
        run = scalar.array_function(self.monoid.op)
        if len(x[0]) == 0:
            x = [xp.full((1, *a.shape[1:]), e, dtype=a.dtype) for a, e in zip(x, self.monoid.neutral, strict=True)]
        while len(x[0]) > 1:  # neighbours are joined, so the order of operands is kept
            m = len(x[0]) // 2
            joined = run(xp, *[a[0 : 2 * m : 2] for a in x], *[a[1 : 2 * m : 2] for a in x])
            x = [xp.concatenate([j, a[2 * m :]]) for j, a in zip(joined, x, strict=True)]
        out = [a[0] for a in x]
        return out[0] if len(out) == 1 else tuple(out)

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        floats = [k for k in range(self.monoid.width) if ins[k].is_float]
        if not floats:
            return None
        if ins[0].shape[self.axis] == 1:
            return self._alone(ins, outs, floats)
        if chooses(self.monoid):
            return self._extremum(ins, outs)
        if scalar.recognise(self.monoid.op) == "mul" and self.monoid.inverse is None:
            partials, others = _of_product()
        else:
            partials, others = of_one(self.monoid, floats)
            apart = self._in_two(ins, outs, floats, others)
            stored = {node for k in floats for node in partials[k] if scalar.constant(node) is None and node is not None}
            if self.monoid.inverse is None and len(apart.structure.slots) < len(stored):
                return apart
        labels = tuple(range(ins[0].ndim))
        rest = (*labels[: self.axis], *labels[self.axis + 1 :])
        dtype = np.result_type(*[ins[k].dtype for k in floats])
        slot_space = Tensor(ins[0].shape, dtype)
        nodes: list[Node] = []
        rows: list[list[Structure | None]] = []
        for k in floats:
            row: list[Structure | None] = []
            for j, node in zip(floats, partials[k], strict=True):
                number = None if node is None else scalar.constant(node)
                if node is None or number == 0:
                    row.append(None)
                elif number is not None:
                    row.append(delta(rest, labels, None, ins[0].shape, ins[j].dtype, outs[k].dtype, None, float(number)))
                else:
                    row.append(delta(rest, labels, labels, ins[0].shape, ins[j].dtype, outs[k].dtype, dtype))
                    nodes.append(node)
            rows.append(row)

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            b = wires[0].builder
            made = mapped(b, nodes, others(b, wires, results, self.axis))
            return [filled(b, w, slot_space) for w in made]

        return Rule(grid(rows, [ins[k] for k in floats], [outs[k] for k in floats]), coefficients)

    def _alone(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...], floats: list[int]) -> Rule:
        """The only element is the fold: the operator, and an inverse that may be singular here, are not asked."""
        labels = tuple(range(ins[0].ndim))
        rest = (*labels[: self.axis], *labels[self.axis + 1 :])
        passed = {k: delta(rest, labels, None, ins[k].shape, ins[k].dtype, outs[k].dtype) for k in floats}
        rows = [[passed[k] if j == k else None for j in floats] for k in floats]
        return Rule(grid(rows, [ins[k] for k in floats], [outs[k] for k in floats]))

    def _in_two(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...], floats: list[int], others: Others) -> Rule:
        """The row `d op(op(l, x), r) / d x` as two factors: through `op(l, x)`, then through `op(., r)`, summed.

        For matrix products this is l dx r, which stores l and r; multiplied out it would store all their products.
        """
        d = self.monoid.width
        inner = scalar.partials(self.monoid.op, [d + k for k in floats])
        joined = scalar.substitute(self.monoid.op, [scalar.param(k) for k in range(2 * d)])
        at = [*joined, *[scalar.param(2 * d + k) for k in range(d)]]
        outer = [
            [None if node is None else scalar.substitute(Function.make(2 * d, [node]), at)[0] for node in row]
            for row in scalar.partials(self.monoid.op, floats)
        ]
        first, inner_slots = entries([inner[k] for k in floats])
        second, outer_slots = entries([outer[k] for k in floats])
        dtype = np.result_type(*[ins[k].dtype for k in floats])
        slot = Tensor(ins[0].shape, dtype)
        middle = tuple([ins[k] for k in floats])
        labels = tuple(range(ins[0].ndim))
        rest = (*labels[: self.axis], *labels[self.axis + 1 :])
        rows: list[list[Placed | None]] = []
        for k, line in zip(floats, second, strict=True):
            row: list[Placed | None] = []
            for j, entry in zip(floats, line, strict=True):
                own = None if entry == ONE else labels
                part = delta(rest, labels, own, ins[0].shape, ins[j].dtype, outs[k].dtype, None if own is None else dtype)
                row.append(None if entry == ZERO else (part, () if own is None else (entry,)))
            rows.append(row)
        before = pointwise_block(first, middle, middle, [slot] * len(inner_slots))
        after = assemble(rows, middle, tuple([outs[k] for k in floats]), [slot] * len(outer_slots))
        cut, count = len(inner_slots), len(inner_slots) + len(outer_slots)
        nodes = [node for node, _ in (*inner_slots, *outer_slots)]

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            b = wires[0].builder
            return [filled(b, w, slot) for w in mapped(b, nodes, others(b, wires, results, self.axis))]

        return Rule(chain([(before, tuple(range(cut))), (after, tuple(range(cut, count)))]), coefficients)

    def _extremum(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        """A minimum or maximum: one-hot at its position, which the operator itself chooses, positions beside the numbers."""
        labels = tuple(range(ins[0].ndim))
        rest = (*labels[: self.axis], *labels[self.axis + 1 :])
        how = Indexing(labels, self.axis, rest, rest, ins[0].shape)
        structure = Gather(how, None, np.dtype(np.int64), ins[0].dtype, outs[0].dtype, None)

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            b = wires[0].builder
            steps = b.add(Iota(ins[0].shape[self.axis]))[0]
            everywhere = contract(b, [(self.axis,)], [steps], labels, ins[0].shape)
            return list(b.add(ArgExtremum(self.monoid, self.axis), wires[0], everywhere, results[0]))

        return Rule(structure, coefficients)

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        carried = [w if flag else spread_over(b, w, size) for w, flag in zip(ins, flags, strict=True)]
        return b.add(Fold(self.monoid, self.axis + 1), *carried)

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return ins[0].size * scalar.operations(self.monoid.op)


Others = Callable[["Builder", Sequence["Wire"], Sequence["Wire"], int], "list[Wire]"]


def of_one(monoid: Monoid, floats: list[int]) -> tuple[Any, Others]:
    """The partials of the total with respect to one element, and the wires that they are expressions of.

    In general `op(op(l, x), r)` with l and r the folds from both sides; with a declared inverse `op(total without x, x)`.
    """
    d = monoid.width
    if monoid.inverse is not None:
        without = scalar.substitute(monoid.inverse, [scalar.param(k) for k in range(2 * d)])
        element = [scalar.param(d + k) for k in range(d)]
        inner = Function.make(2 * d, [*without])
        partials = scalar.partials(monoid.op, [d + k for k in floats])
        put = [*scalar.substitute(inner, [scalar.param(k) for k in range(2 * d)]), *element]

        def at(node: Node | None) -> Node | None:
            return None if node is None else scalar.substitute(Function.make(2 * d, [node]), put)[0]

        return [[at(node) for node in row] for row in partials], _with_total
    first = scalar.substitute(monoid.op, [scalar.param(k) for k in range(2 * d)])
    outputs = scalar.substitute(monoid.op, [*first, *[scalar.param(2 * d + k) for k in range(d)]])
    partials = scalar.partials(Function.make(3 * d, outputs), [d + k for k in floats])

    def both_sides(b: Builder, wires: Sequence[Wire], results: Sequence[Wire], axis: int) -> list[Wire]:
        before = scanned(b, monoid, wires, axis, True, False)
        return [*before, *wires, *scanned(b, monoid, wires, axis, True, True)]

    return partials, both_sides


def _of_product() -> tuple[Any, Others]:
    """The partials of a product are its leave-one-out products."""
    return [[scalar.param(0)]], _leave_one_out


def _leave_one_out(b: Builder, wires: Sequence[Wire], results: Sequence[Wire], axis: int) -> list[Wire]:
    return list(b.add(LeaveOneOutProduct(axis), wires[0], results[0]))


def _with_total(b: Builder, wires: Sequence[Wire], results: Sequence[Wire], axis: int) -> list[Wire]:
    labels = tuple(range(wires[0].ndim))
    rest = (*labels[:axis], *labels[axis + 1 :])
    return [*[contract(b, [rest], [r], labels, wires[0].shape) for r in results], *wires]


def folded(b: Builder, monoid: Monoid, x: Sequence[Wire], axis: int, free: Sequence[Wire]) -> list[Wire]:
    """Lay a fold out: each independent part by itself, a sum for `+`, the last of the prefixes where there are free numbers."""
    made: dict[int, Wire] = {}
    for own, part in parts(monoid):
        wires = [x[k] for k in own]
        if scalar.recognise(part.op) == "add":
            totals: Sequence[Wire] = [b.apply(sum_of_elements(axis), wires[0])]
        elif scalar.recognise(part.op) == "logaddexp" and part.inverse is None:
            totals = [log_sum_exp(b, wires[0], axis)]
        elif part.free:
            totals = _last(b, part, scanned(b, part, wires, axis, False, False, free), axis)
        else:
            totals = b.add(Fold(part, axis), *wires)
        made.update(zip(own, totals, strict=True))
    return [made[k] for k in range(len(x))]


def _last(b: Builder, monoid: Monoid, prefixes: Sequence[Wire], axis: int) -> list[Wire]:
    """The last prefix along an axis; the neutral element where there is none."""
    out = []
    for k, s in enumerate(prefixes):
        n = s.shape[axis]
        cut = ap(n, 1, n - 1, 1, 0, 1, min(n, 1))
        one = moved(b, s, [cut if a == axis else whole(m) for a, m in enumerate(s.shape)], monoid.neutral[k])
        out.append(b.add(Reshaped((*s.shape[:axis], *s.shape[axis + 1 :])), one)[0])
    return out


def _lay(b: Builder, x: Wires, term: OfOperator) -> Any:
    x, free = with_params(b, x, term.monoid, term)
    wires: Sequence[Wire] = elements(b, x, term.monoid, term)
    axes = axes_of(term.parameters["axis"], wires[0], term)
    for axis in axes:
        check_params(free, wires[0], axis, term)
    made = folded_along(b, term.monoid, wires, axes, free)
    if term.parameters["keepdims"]:
        made = [unit_axes(b, y, wires[0].shape, axes) for y in made]
    return rebuild(b.space(x), made)


def folded_along(
    b: Builder, monoid: Monoid, x: Sequence[Wire], axes: Sequence[int], free: Sequence[Wire] = ()
) -> list[Wire]:
    """Lay a fold along several axes out: along one that has the indices of all in C order."""
    if len(axes) == 1:
        return folded(b, monoid, x, axes[0], free)
    one = merge(x[0].ndim, axes)
    return folded(b, monoid, [one.into(b, w) for w in x], one.at, [one.into(b, p) if p.ndim else p for p in free])


@constructor("neutral", morphisms="op")
def fold(
    op: Callable[..., Any] | Monoid,
    neutral: Elements | None = None,
    axis: int | Sequence[int] | None = 0,
    params: int = 0,
    keepdims: bool = False,
) -> D:
    """The reduction by an associative operator along an axis, for each index of the other axes; an empty fold is the neutral
    element. Along several axes, or all (None), the elements are taken in C order.

    `op` takes two elements, numbers or tuples nested as `neutral`; an array of elements is a tuple of arrays of one shape.
    Operands keep their order. With `params=k` the operator takes k more numbers, which follow the elements in the domain:
    `(elements, p, ...)`; derivatives with respect to them are right. `op` may be a `ct.monoid`, or a morphism on arrays such
    as `ct.matmul`, whose elements lie along axis 0. Raises the errors of `ct.scan`.

    Work O(n), depth O(log n), of the value and of its derivatives (Bruun and Larsen 2022, sections 4.1 and 4.2). Passes over
    the n elements, of the value and of its gradient: `+` 1 and 1; `*` 1 and 3 where the product of all is a normal number,
    else 1 and 4; a minimum or maximum 1 and 4; a declared inverse 1 and 3; `logaddexp` 4 and 6; any other operator on numbers
    1 and 7, of which two are exclusive scans and four move their ends.

    The result has the shape of the elements without `axis`, or with size 1 there if `keepdims` is true, and their dtype.

    >>> import catad as ct, numpy as np
    >>> product = ct.fold(lambda a, b: a * b, 1.0)
    >>> ct.value_and_grad(product)(np.array([2.0, 3.0, 0.0]))
    (np.float64(0.0), array([0., 0., 6.]))
    >>> soft = ct.fold(lambda a, b, t: t * np.logaddexp(a / t, b / t), -np.inf, params=1)
    >>> ct.grad(soft, argnums=1)(np.array([0.0, 0.0]), 1.0)
    np.float64(0.6931471805599453)
    """
    axis, keepdims = axes_(axis), bool(keepdims)
    if isinstance(op, D) and not hasattr(op, "__scalar_function__"):
        if keepdims:
            raise errors.ArgumentError(errors.array_operator_keepdims(op))
        return ArrayFold(op, neutral, one_axis(axis))
    monoid = monoid_of(op, neutral, params)
    if scalar.recognise(monoid.op) == "add":
        return sum_of_elements(axis, keepdims)
    return OfOperator(fold, _lay, monoid, axis=axis, keepdims=keepdims)
