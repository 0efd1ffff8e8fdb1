"""`scan` and `recurrence`: all prefixes of an associative operator.

    s_i = op(s_{i-1}, x_i)        ds_i = (d op / d left)(s_{i-1}, x_i) ds_{i-1} + (d op / d right)(s_{i-1}, x_i) dx_i

So the Jacobian is `Block(d op / d right) >> Recurrence(d op / d left)`, whatever the operator; for `+` it has no coefficients at
all. Partials that are 0 or 1 by structure are not stored, equal ones are stored once (J. Bruun and U. Larsen, Reverse automatic
differentiation in Futhark, 2022, chapter 7). Exclusive and reversed scans are an inclusive one with its ends moved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors, scalar
from catad.category.boxes import Primitive, box
from catad.category.cartesian import in_pattern
from catad.category.constructors import constructor, one_axis
from catad.category.spaces import Elements, Tensor, rebuild
from catad.category.terms import D
from catad.linear.families.block import assemble, chain
from catad.linear.families.contract import zeros
from catad.linear.families.delta import identity, pointwise
from catad.linear.families.gather import spread_beside
from catad.linear.families.prefixes import prefixes
from catad.linear.families.previous_state import PreviousState
from catad.linear.families.recurrence import ONE, ZERO, Recurred, Recurrence, stepping_pays
from catad.linear.families.reindex import axis as ap
from catad.linear.families.reindex import moved, moved_along, reshaped, whole
from catad.linear.structure import Placed, Rule, Structure, apart, cast, widest
from catad.support.help import documented
from catad.support.options import truth_value
from catad.vector.deferred import Named, OfOperator
from catad.vector.folds.array_operator import ArrayScan, neutral_of
from catad.vector.folds.monoid import Monoid, check_laws, chooses, elements, monoid_of, parts, sampled, with_params
from catad.vector.pointwise.map import mapped
from catad.vector.scans.resets import reset_of
from catad.vector.scans.tangent_pairs import cheaper_pairs
from catad.vector.shapes.shape import Concatenate, axes_of, broadcast_to, flipped
from catad.vector.shapes.split import piece

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires
    from catad.scalar import Node


@box
class Scan(Primitive):
    """The inclusive scan of one operator along one axis; one array for each number of an element.

    Work O(n), depth O(log n) applications of the operator to arrays.

    Its derivative is a recurrence, whose links are the d x d Jacobians of the operator; composing them costs up to 2 d^3 for each
    step. Reverse mode, `linearize` (which keeps the links for many applications) and explicit Jacobians use it always. Forward
    mode of an operator on tuples (d > 1) is one scan of pairs of tangent and value instead, without Jacobians, where

        2 ops(T[op]) <= 2 ops(op) + ops(coefficients) + ops(block) + ops(recurrence) + moves

    in scalar operations for each step, and the operator has no kinks (`vector/scans/tangent_pairs.py`). Products of d x d
    matrices cost the same both ways but for the moves, so they go by pairs; operators whose partials cost more than themselves by
    the recurrence.
    """

    monoid: Monoid
    axis: int = 0

    @property
    def arity(self) -> int:
        return self.monoid.width + self.monoid.free

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins[: self.monoid.width]

    def check(self, xp: Any, *arrays: Any) -> None:
        check_laws(self.monoid, sampled(xp, arrays[: self.monoid.width]))

    def checks(self, ins: tuple[Tensor, ...]) -> bool:
        return not self.monoid.is_lawful([space.dtype for space in ins[: self.monoid.width]])

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        d = self.monoid.width
        x = [xp.moveaxis(a, self.axis, 0) for a in arrays[:d]]
        free = [_one_step(xp, p, x[0].ndim, self.axis) for p in arrays[d:]]
        run = scalar.array_function(self.monoid.op)

        def op(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
            return list(run(xp, *a, *b, *free))

        if scalar.recognise(self.monoid.op) == "mul" and x[0].dtype.kind == "f":
            return xp.moveaxis(xp.cumprod(x[0], axis=0, dtype=x[0].dtype), 0, self.axis)
        work = scalar.operations(self.monoid.op)
        stepping = stepping_pays(2 * work, work, work + 2 * d, x[0].size // max(len(x[0]), 1))
        s = prefixes(xp, x, d, op, op, stepping)
        out = [xp.moveaxis(a, 0, self.axis) for a in s]
        return out[0] if len(out) == 1 else tuple(out)

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        d = self.monoid.width
        floats = [k for k in range(d) if ins[k].is_float]
        free = [k for k in range(d, len(ins)) if ins[k].is_float]
        partials = scalar.partials(self.monoid.op, [*floats, *[d + k for k in (*floats, *free)]])
        m = len(floats)
        same = [[k == j for j in (*floats, *free)] for k in floats]
        right, right_slots = entries(
            [partials[k][m:] for k in floats], self._first_steps([partials[k] for k in floats], m, same)
        )
        reset, remaining = reset_of([partials[k][:m] for k in floats])
        left, left_slots = entries(remaining)
        spaces = tuple([outs[k] for k in floats])
        into = tuple([ins[k] for k in (*floats, *free)])
        slot = Tensor(ins[0].shape, np.result_type(*[s.dtype for s in ins if s.is_float]))
        before = pointwise_block(right, into, spaces, [slot] * len(right_slots))
        resets = None if reset is None else Tensor(slot.shape, np.bool_)
        after = Recurrence(left, self.axis, False, spaces, (slot,) * len(left_slots), resets)
        first = len(right_slots)

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            b = wires[0].builder
            if self.monoid.lifts is not None:  # what stands before a start is not read, in no order of derivative
                before_ = [b.add(PreviousState(self.axis, 1), wires[0], s)[0] for s in results]
            elif self._regular_at_neutral or chooses(self.monoid):
                before_ = [shifted(b, s, self.axis, self.monoid.neutral[k]) for k, s in enumerate(results)]
            else:
                before_ = [_held(b, s, self.axis) for s in results]
            nodes = [*[node for node, _ in (*right_slots, *left_slots)], *([] if reset is None else [reset])]
            made = mapped(b, nodes, [*before_, *wires])
            full = [filled(b, w, space) for w, space in zip(made, (*[slot] * first, *after.slots), strict=True)]
            for k, (_, fill) in enumerate(right_slots):
                full[k] = full[k] if fill is None else _after_first(b, full[k], self.axis, fill)
            return full

        return Rule(chain(apart(before, after)), coefficients)

    def pushed(
        self, b: Builder, ins: tuple[Wire, ...], tangents: Sequence[Wire | None]
    ) -> tuple[tuple[Wire, ...], list[Wire | None]] | None:
        """One scan of pairs of tangent and value, where that is cheaper."""
        spaces = tuple([wire.space for wire in ins])
        floats = [k for k, space in enumerate(spaces) if space.is_float]
        at = dict(zip(floats, tangents, strict=True))
        found = cheaper_pairs(self.monoid, self.rule, spaces, tuple([k for k in floats if at[k] is not None]))
        if found is None:
            return None
        d, m, first = self.monoid.width, len(found.live), found.first
        before = [zeros(b, spaces[k]) if (t := at[k]) is None else t for k in found.live]
        free = [t for k in floats if k >= d and (t := at[k]) is not None]
        made = b.add(Scan(found.monoid, self.axis), *ins[:first], *before, *ins[first:], *free)
        known = dict(zip(found.live, made[first : first + m], strict=True))
        return (*made[:first], *made[first + m :]), [known.get(k) for k in floats if k < d]

    @property
    def _regular_at_neutral(self) -> bool:
        """True where the partials with respect to the right operand are by formula those of the identity at the neutral element.

        They need not even exist there, as those of `t * logaddexp(a / t, b / t)` at minus infinity.
        """
        d, free = self.monoid.width, self.monoid.free
        neutral = [scalar.const(e) for e in self.monoid.neutral]
        at = [*neutral, *[scalar.param(k) for k in range(d, 2 * d + free)]]
        if not all(np.isfinite(e) for e in self.monoid.neutral):
            return False
        for k, row in enumerate(scalar.put(scalar.partials(self.monoid.op, range(d, 2 * d + free)), at)):
            for j, node in enumerate(row):
                if node is not None and scalar.constant(node) != (1.0 if j == k else 0.0):
                    return False
        return True

    def _first_steps(
        self, partials: Sequence[Sequence[Node | None]], m: int, same: list[list[bool]]
    ) -> list[list[float | None]] | None:
        """The partials with respect to the right operand at the first step, where no formula gives them.

        The first prefix is the first element, so its derivative is the identity.
        """
        if self._regular_at_neutral:
            return None
        return [
            [None if node is None else float(one) for node, one in zip(row[m:], ones, strict=True)]
            for row, ones in zip(partials, same, strict=True)
        ]

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        d = self.monoid.width
        carried = spread_beside(b, ins[:d], flags[:d], size)
        free = [_aligned(b, w, carried[0].ndim) if flag else w for w, flag in zip(ins[d:], flags[d:], strict=True)]
        return b.add(Scan(self.monoid, self.axis + 1), *carried, *free)

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return outs[0].size * scalar.operations(self.monoid.op)


Slot = tuple["Node", "float | None"]  # an expression, and what stands at the first step instead
Known = Callable[["Builder", Sequence["Wire"], Sequence["Wire"]], "list[Wire]"]  # of a builder, arguments and results


def entries(
    rows: Sequence[Sequence[Node | None]], firsts: Sequence[Sequence[float | None]] | None = None
) -> tuple[tuple[tuple[int, ...], ...], list[Slot]]:
    """Partials as entries 0, 1 or slot numbers, equal partials sharing a slot; and the expressions of the slots."""
    slots: list[Slot] = []
    grid = []
    for r, row in enumerate(rows):
        line = []
        for c, node in enumerate(row):
            number = None if node is None else scalar.constant(node)
            if node is None or number == 0:
                line.append(ZERO)
            elif number == 1:
                line.append(ONE)
            else:
                slot = (node, None if firsts is None else firsts[r][c])
                if slot not in slots:
                    slots.append(slot)
                line.append(slots.index(slot))
        grid.append(tuple(line))
    return tuple(grid), slots


def _after_first(b: Builder, wire: Wire, axis: int, first: float) -> Wire:
    """The wire with another number at the first step."""
    n = wire.shape[axis]
    return moved_along(b, wire, axis, ap(n, n, 1, 1, 1, 1, n - 1), first)


def _aligned(b: Builder, p: Wire, ndim: int) -> Wire:
    """A free number that got a leading axis, which meets that of the elements and none of their further ones."""
    return reshaped(b, p, (*p.shape[:1], *(1,) * (ndim - p.ndim), *p.shape[1:]))


def _one_step(xp: Any, p: Any, ndim: int, axis: int) -> Any:
    """A free number as it meets elements whose axis of steps comes first."""
    if not p.ndim:
        return p
    return xp.moveaxis(p.reshape((1,) * (ndim - p.ndim) + p.shape), axis, 0)


def entry_block(
    grid: tuple[tuple[int, ...], ...],
    dom: Sequence[Tensor],
    cod: Sequence[Tensor],
    slots: Sequence[Tensor],
    part: Callable[[Tensor, Tensor, Tensor | None], Structure],
    first: int = 0,
) -> Structure:
    """The block with given entries: `part` makes the map between two leaves, with a slot or with 1.

    Each has so many `first` slots, after which those of the entries begin.
    """
    shared = tuple(range(first))

    def placed(x: Tensor, y: Tensor, entry: int) -> Placed | None:
        if entry == ZERO:
            return None
        return (part(x, y, None), shared) if entry == ONE else (part(x, y, slots[first + entry]), (*shared, first + entry))

    rows = [[placed(x, y, entry) for x, entry in zip(dom, line, strict=True)] for y, line in zip(cod, grid, strict=True)]
    return assemble(rows, dom, cod, slots)


def pointwise_block(
    grid: tuple[tuple[int, ...], ...], dom: Sequence[Tensor], cod: Sequence[Tensor], slots: Sequence[Tensor]
) -> Structure:
    """The block of pointwise maps with given entries."""

    def part(x: Tensor, y: Tensor, slot: Tensor | None) -> Structure:
        return identity(x) if slot is None and x == y else pointwise(x, y, slot)

    return entry_block(grid, dom, cod, slots, part)


def after_pointwise(nodes: Sequence[Sequence[Node | None]], spaces: Sequence[Tensor], known: Known, rule: Rule) -> Rule:
    """A rule after pointwise maps of elements in some spaces, whose entries are expressions of known wires."""
    grid, slots = entries(nodes)
    slot = Tensor(spaces[0].shape, widest(*spaces))
    before = pointwise_block(grid, spaces, spaces, [slot] * len(slots))

    def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
        b = wires[0].builder
        own = mapped(b, [node for node, _ in slots], known(b, wires, results))
        return [*[filled(b, w, slot) for w in own], *rule.coefficients(wires, results)]

    return Rule(chain(apart(before, rule.structure)), coefficients)


def shifted(b: Builder, s: Wire, axis: int, fill: Any) -> Wire:
    """One step later along an axis, with `fill` first."""
    n = s.shape[axis]
    return moved_along(b, s, axis, ap(n, n, 0, 1, 1, 1, n - 1), fill)


def _held(b: Builder, s: Wire, axis: int) -> Wire:
    """One step later along an axis, the first step kept where it is too."""
    n = s.shape[axis]
    if n == 0:
        return s
    return b.add(Concatenate(axis, 2), piece(b, s, axis, 0, 1), piece(b, s, axis, 0, n - 1))[0]


def turned(b: Builder, x: Wire, axis: int) -> Wire:
    """Backwards along an axis."""
    return moved_along(b, x, axis, flipped(x.shape[axis]))


def filled(b: Builder, wire: Wire, space: Tensor) -> Wire:
    """A coefficient as it stands in its slot: converted, and spread over the steps where it is the same at all."""
    wire = cast(wire, space.dtype)
    if wire.shape == space.shape:
        return wire
    made: Wire = b.apply(broadcast_to(space.shape), wire)
    return made


def scanned(
    b: Builder,
    monoid: Monoid,
    x: Sequence[Wire],
    axis: int,
    exclusive: bool,
    reverse: bool,
    free: Sequence[Wire] = (),
) -> list[Wire]:
    """Lay a scan out: the general one by flipping and shifting the inclusive forward one, each independent part by itself."""
    split = parts(monoid)
    if len(split) > 1:
        made: dict[int, Wire] = {}
        for own, part in split:
            made.update(zip(own, scanned(b, part, [x[k] for k in own], axis, exclusive, reverse, free), strict=True))
        return [made[k] for k in range(len(x))]
    used = monoid.flipped if reverse else monoid
    turned_ = [turned(b, w, axis) for w in x] if reverse else list(x)
    if scalar.recognise(monoid.op) == "add":
        out = list(b.add(Recurred(((ONE,),), axis, False), *turned_))
    else:
        out = list(b.add(Scan(used, axis), *turned_, *free))
    if exclusive:
        out = [shifted(b, s, axis, monoid.neutral[k]) for k, s in enumerate(out)]
    return [turned(b, w, axis) for w in out] if reverse else out


def _lay(b: Builder, x: Wires, term: OfOperator) -> Any:
    x, free = with_params(b, x, term.monoid, term)
    wires = elements(b, x, term.monoid, term)
    (axis,) = axes_of(term.parameters["axis"], wires[0], term)
    check_params(free, wires[0], axis, term)
    exclusive, reverse = term.parameters["exclusive"], term.parameters["reverse"]
    return rebuild(b.space(x), scanned(b, term.monoid, wires, axis, exclusive, reverse, free))


def check_params(free: Sequence[Wire], element: Wire, axis: int, term: D) -> None:
    """Free numbers are the same at every step, and meet the elements by NumPy's rules."""
    for p in free:
        at = p.ndim - (element.ndim - axis)
        if p.ndim > element.ndim or (at >= 0 and p.shape[at] != 1):
            raise errors.SpaceError(errors.params_along_the_steps(p.space, axis, term))


def rebuild_tree(tree: Any, leaves: list[Any], node: Callable[..., Any] = lambda *parts: parts) -> Any:
    """Leaves in the nesting of a tree: tuples, or what `node` makes of the parts."""
    return leaves.pop(0) if tree is None else node(*[rebuild_tree(part, leaves, node) for part in tree])


@constructor("neutral", morphisms="op")
def scan(
    op: Callable[..., Any] | Monoid,
    neutral: Elements | None = None,
    exclusive: bool = False,
    reverse: bool = False,
    axis: int = 0,
    params: int = 0,
) -> D:
    """All prefixes of an associative operator along an axis, for each index of the other axes.

    `op` takes two elements, numbers or tuples nested as `neutral`; an array of elements is a tuple of arrays of one shape.
    Entry i of the result is `x_0 op ... op x_i`. With `exclusive` it is `x_0 op ... op x_{i-1}`, which is `neutral` for i = 0;
    with `reverse` it is `x_i op ... op x_{n-1}`, whose operands keep their order. With `params=k` the operator takes k more
    numbers, as that of `ct.fold` does. Raises `MonoidError` for an operator that is not closed, and at the first call for a
    wrong neutral element or an operator that is not associative.

    Work O(n), depth O(log n), of the value and of its derivatives (Bruun and Larsen 2022, sections 7.1.2 and 7.2). Passes over
    the n elements, of the value and of its gradient: `+` 1 and 1; `*` 1 and 4; a minimum or maximum 1 and 6; affine maps 1 and 5.
    Where an element has d numbers and the Jacobian of `op` has no zeros, a step of the derivative takes O(d^3) operations; zero
    blocks of this Jacobian take none.

    The result has the shape and dtype of the elements. Raises `ArgumentError` for an axis that is no integer, `SpaceError`
    for elements that are nested otherwise or have no such axis.

    >>> import catad as ct, numpy as np
    >>> ct.scan(lambda a, b: a + b, 0.0)(np.array([1.0, 2.0, 3.0]))
    array([1., 3., 6.])
    >>> affine = ct.scan(lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1]), (1.0, 0.0))
    >>> affine(np.array([2.0, 3.0]), np.array([1.0, 1.0]))[1]
    array([1., 4.])
    """
    axis, exclusive, reverse = one_axis(axis), truth_value(exclusive, "exclusive"), truth_value(reverse, "reverse")
    if isinstance(op, D) and not hasattr(op, "__scalar_function__"):
        return ArrayScan(op, neutral_of(op, neutral, axis), exclusive, reverse)
    monoid = monoid_of(op, neutral, params)
    return OfOperator(scan, _lay, monoid, exclusive=exclusive, reverse=reverse, axis=axis)


def _recurrence(b: Builder, x: Wires, term: D) -> Wire:
    links, inputs = in_pattern(b, x, "(A, b)", 0, term)
    if not inputs.ndim or not inputs.space.is_float or not links.space.is_float:
        raise errors.SpaceError(errors.wrong_recurrence(links.space, inputs.space))
    if links.shape == inputs.shape:
        return b.add(Recurred(((0,),)), links, inputs)[0]
    if inputs.ndim != 2 or links.shape != (*inputs.shape, inputs.shape[1]):
        raise errors.SpaceError(errors.wrong_recurrence(links.space, inputs.space))
    return _matrix_recurrence(b, links, inputs)


def _matrix_recurrence(b: Builder, links: Wire, inputs: Wire) -> Wire:
    """Links that are matrices: their entries become the slots of a grid."""
    n, d = inputs.shape

    def entry(wire: Wire, *at: int) -> Wire:
        axes = [whole(n), *[ap(m, 1, k, 1, 0, 1, 1) for m, k in zip(wire.shape[1:], at, strict=True)]]
        return reshaped(b, moved(b, wire, axes), (n,))

    grid = tuple([tuple([r * d + c for c in range(d)]) for r in range(d)])
    slots = [entry(links, r, c) for r in range(d) for c in range(d)]
    states = b.add(Recurred(grid), *slots, *[entry(inputs, k) for k in range(d)])
    columns = [reshaped(b, s, (n, 1)) for s in states]
    return columns[0] if d == 1 else b.add(Concatenate(1, d), *columns)[0]


recurrence = documented(
    Named("recurrence", _recurrence),
    """`ct.recurrence(A, b)` is the linear recurrence `s_i = A_i s_{i-1} + b_i` along axis 0, with `s_{-1} = 0`.

Shapes: A and b (n, ...), entry by entry, or A (n, d, d) and b (n, d), by matrices; the result has the shape of b.
Dtypes: both floating; the result has the wider of the two.
Derivative: by b a recurrence with the same A, by A one whose input is `dA_i s_{i-1}`; transposed, the steps go backwards.
Errors: `SpaceError` for other shapes and dtypes, or another number of arguments.
Source: G. Blelloch, Prefix Sums and Their Applications, 1990, section 1.4.

>>> import catad as ct, numpy as np
>>> ct.recurrence(np.full(3, 2.0), np.ones(3))
array([1., 3., 7.])
""",
)
