"""`fold`: reduction by an associative operator.

The Jacobian for any operator is a row, `d(l_i op x_i op r_i) / d x_i`, with `l_i` and `r_i` the folds of the elements before
and after x_i: two exclusive scans, from both sides (Bruun and Larsen 2022, section 4.1). The fold with `+` is `sum`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors, scalar
from catad.category.boxes import AlongAxis, box
from catad.category.constructors import axes as axes_
from catad.category.constructors import constructor, one_axis
from catad.category.spaces import Elements, Tensor, rebuild
from catad.category.terms import D
from catad.linear.families.delta import delta
from catad.linear.families.gather import Gather, Indexing
from catad.linear.families.reindex import axis as ap
from catad.linear.families.reindex import moved_along, reshaped
from catad.linear.structure import Rule, Structure
from catad.scalar import Function
from catad.support.options import truth_value
from catad.vector.deferred import OfOperator
from catad.vector.folds.arg_extremum import ArgExtremum
from catad.vector.folds.array_operator import ArrayFold, neutral_of
from catad.vector.folds.leave_one_out import LeaveOneOutProduct
from catad.vector.folds.log_sum_exp import log_sum_exp
from catad.vector.folds.merge_axes import merge, spread, unit_axes
from catad.vector.folds.monoid import Monoid, check_laws, chooses, elements, monoid_of, parts, sampled, with_params
from catad.vector.pointwise.generate import steps_along
from catad.vector.pointwise.map import mapped
from catad.vector.scans.scan import Known, after_pointwise, check_params, entries, entry_block, filled, scanned
from catad.vector.shapes.shape import axes_of, sum_of_elements

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires


@box
class Fold(AlongAxis):
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

    def checks(self, ins: tuple[Tensor, ...]) -> bool:
        return not self.monoid.is_lawful([space.dtype for space in ins])

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
        if ins[0].shape[self.axis] == 1:  # the only element is the fold: neither the operator nor its inverse is asked
            same = [[scalar.const(1.0) if j == k else None for j in floats] for k in floats]
            return self._weighted(ins, outs, floats, same, lambda b, wires, results: [])
        if chooses(self.monoid):
            return self._extremum(ins, outs)
        if scalar.recognise(self.monoid.op) == "mul" and self.monoid.inverse is None:
            product = LeaveOneOutProduct(self.axis)
            known: Known = lambda b, wires, results: list(b.add(product, wires[0], results[0]))  # noqa: E731
            return self._weighted(ins, outs, floats, [[scalar.param(0)]], known)
        partials, others = of_one(self.monoid, floats)
        nodes, known = [partials[k] for k in floats], partial(others, self.axis)
        stored = {node for row in nodes for node in row if scalar.constant(node) is None and node is not None}
        apart = None if self.monoid.inverse is not None else self._in_two(ins, outs, floats, known)
        if apart is not None and len(apart.structure.slots) < len(stored):
            return apart
        return self._weighted(ins, outs, floats, nodes, known)

    def _weighted(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...], floats: list[int], nodes: Any, known: Known) -> Rule:
        """Sums along the axis, weighted by expressions (a row for each result) of known wires."""
        labels, shape = tuple(range(ins[0].ndim)), ins[0].shape
        rest = (*labels[: self.axis], *labels[self.axis + 1 :])
        weight = Tensor(shape, np.result_type(*[ins[k].dtype for k in floats]))
        grid, slots = entries(nodes)

        def part(x: Tensor, y: Tensor, slot: Tensor | None) -> Structure:
            own = (None, None) if slot is None else (labels, slot.dtype)
            return delta(rest, labels, own[0], shape, x.dtype, y.dtype, own[1])

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            b = wires[0].builder
            return [filled(b, w, weight) for w in mapped(b, [node for node, _ in slots], known(b, wires, results))]

        dom, cod = [ins[k] for k in floats], [outs[k] for k in floats]
        return Rule(entry_block(grid, dom, cod, [weight] * len(slots), part), coefficients)

    def _in_two(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...], floats: list[int], known: Known) -> Rule:
        """The row `d op(op(l, x), r) / d x` as two factors: through `op(l, x)`, then through `op(., r)`, summed.

        For matrix products this is l dx r, which stores l and r; multiplied out it would store all their products.
        """
        d = self.monoid.width
        inner, own = scalar.partials(self.monoid.op, [d + k for k in floats]), scalar.partials(self.monoid.op, floats)
        joined = scalar.substitute(self.monoid.op, [scalar.param(k) for k in range(2 * d)])
        at = [*joined, *[scalar.param(2 * d + k) for k in range(d)]]
        outer = scalar.put([own[k] for k in floats], at)
        after = self._weighted(ins, outs, floats, outer, known)
        return after_pointwise([inner[k] for k in floats], [ins[k] for k in floats], known, after)

    def _extremum(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        """A minimum or maximum: one-hot at its position, which the operator itself chooses, positions beside the numbers."""
        labels = tuple(range(ins[0].ndim))
        rest = (*labels[: self.axis], *labels[self.axis + 1 :])
        how = Indexing(labels, self.axis, rest, rest, ins[0].shape)
        structure = Gather(how, None, np.dtype(np.int64), ins[0].dtype, outs[0].dtype, None)

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            b = wires[0].builder
            steps = steps_along(b, ins[0].shape, self.axis)
            return list(b.add(ArgExtremum(self.monoid, self.axis), wires[0], steps, results[0]))

        return Rule(structure, coefficients)

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return ins[0].size * scalar.operations(self.monoid.op)


Others = Callable[[int, "Builder", Sequence["Wire"], Sequence["Wire"]], "list[Wire]"]  # of an axis, as `Known`


def of_one(monoid: Monoid, floats: list[int]) -> tuple[Any, Others]:
    """The partials of the total with respect to one element, and the wires that they are expressions of.

    In general `op(op(l, x), r)` with l and r the folds from both sides; with a declared inverse `op(total without x, x)`.
    """
    d = monoid.width
    if monoid.inverse is not None:
        partials = scalar.partials(monoid.op, [d + k for k in floats])
        both = [scalar.param(k) for k in range(2 * d)]
        return scalar.put(partials, [*scalar.substitute(monoid.inverse, both), *both[d:]]), _with_total
    first = scalar.substitute(monoid.op, [scalar.param(k) for k in range(2 * d)])
    outputs = scalar.substitute(monoid.op, [*first, *[scalar.param(2 * d + k) for k in range(d)]])
    partials = scalar.partials(Function.make(3 * d, outputs), [d + k for k in floats])

    def both_sides(axis: int, b: Builder, wires: Sequence[Wire], results: Sequence[Wire]) -> list[Wire]:
        before = scanned(b, monoid, wires, axis, True, False)
        return [*before, *wires, *scanned(b, monoid, wires, axis, True, True)]

    return partials, both_sides


def _with_total(axis: int, b: Builder, wires: Sequence[Wire], results: Sequence[Wire]) -> list[Wire]:
    return [*[spread(b, r, wires[0], (axis,)) for r in results], *wires]


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
        one = moved_along(b, s, axis, ap(n, 1, n - 1, 1, 0, 1, min(n, 1)), monoid.neutral[k])
        out.append(reshaped(b, one, (*s.shape[:axis], *s.shape[axis + 1 :])))
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
    axis, keepdims = axes_(axis), truth_value(keepdims, "keepdims")
    if isinstance(op, D) and not hasattr(op, "__scalar_function__"):
        if keepdims:
            raise errors.ArgumentError(errors.array_operator_keepdims(op))
        return ArrayFold(op, neutral_of(op, neutral, one_axis(axis)))
    monoid = monoid_of(op, neutral, params)
    if scalar.recognise(monoid.op) == "add":
        return sum_of_elements(axis, keepdims)
    return OfOperator(fold, _lay, monoid, axis=axis, keepdims=keepdims)
