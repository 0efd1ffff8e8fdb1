"""Recurrences: the affine map of each block, these composed, and the states of each block from the one that it starts with.

    s_i = A_i s_{i-1} + b_i                a block maps s before it to its last state: its maps s -> A_i s + b_i composed
    s_{i-1} = A_i s_i + b_{i-1}            backwards it maps c_q = A_q s_q to c_p: its maps c -> A_i (c + b_i) composed

Both ways a block needs its own links alone, and nothing of its neighbours but the state. This is added to the first b of a
block, in the order of the steps, while it is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import scalar
from catad.category.constant import const
from catad.category.spaces import Tensor
from catad.chunks.plan import Labels, Plan
from catad.chunks.rules.affine import Maps, closed, composition
from catad.chunks.rules.folds import fold_first
from catad.chunks.rules.scans import joins, prefixes
from catad.chunks.rules.sequences import Here, block_sizes, follows, in_sequence, steps
from catad.chunks.rules.table import rule
from catad.chunks.wires import Chunked
from catad.linear.families.contract import repeated
from catad.linear.families.recurrence import ONE, Recurred
from catad.linear.structure import cast
from catad.scalar import Node, apply, param
from catad.vector.folds.fold import Fold
from catad.vector.folds.monoid import Monoid
from catad.vector.pointwise.map import mapped
from catad.vector.scans.scan import turned
from catad.vector.shapes.shape import summed

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


@rule(
    Recurred,
    cut="along its axis: affine maps of blocks, composed, then states of blocks from the ones before them; along others: local",
    exchanged="affine maps of blocks, scanned",
)
def _recurred(plan: Plan, primitive: Recurred, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    axis, labels = primitive.axis, tuple(range(outs[0].ndim))
    given: list[tuple[Chunked, Labels]] = [(x, labels) for x in ins]
    results = [(space, labels) for space in outs]
    sizes = block_sizes(plan, given, axis)
    if len(sizes) == 1:
        return plan.labelled("recurrence", given, results, lambda b, wires, sizes: b.add(primitive, *wires), whole=[axis])[0]
    before = states_before(plan, primitive, given, outs)
    rest = (axis, *labels[:axis], *labels[axis + 1 :])

    def lay(b: Builder, wires: list[Wire], carried: list[Wire], here: Here) -> Sequence[Wire]:
        if here.note and here.sizes[axis]:
            wires = from_state(b, primitive, wires, carried, here.sizes[axis])
        return b.add(primitive, *wires)

    own = [(x, rest) for x in before]
    return in_sequence(plan, "recurrence", given, results, axis, lay, own, follows(sizes, primitive.reverse))


def states_before(
    plan: Plan, primitive: Recurred, given: Sequence[tuple[Chunked, Labels]], outs: Sequence[Tensor]
) -> list[Chunked]:
    """The state that each block starts from, one for each component of each copy; axis 0 counts the blocks."""
    axis, labels = primitive.axis, tuple(range(outs[0].ndim))
    rest = (*labels[:axis], *labels[axis + 1 :])
    maps = Maps(closed(primitive.grid), primitive.copies, primitive.reset)
    op = composition(maps, primitive.reverse)

    def lay(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        if maps.width == 1:
            return [summed(b, cast(wires[0], outs[0].dtype), (axis,))]
        return b.add(Fold(op, axis), *elements(b, primitive, maps, wires, outs[0].dtype))

    shape = [outs[0].shape[k] for k in rest]
    dtypes = [*([np.dtype(np.bool_)] if maps.reset else []), *[outs[0].dtype] * (maps.width - int(maps.reset))]
    totals, _ = plan.labelled("affine map of blocks", given, [(Tensor(shape, dtype), rest) for dtype in dtypes], lay)
    fold, join = partial(fold_first, op), partial(joins, op)
    forward = composition(maps, False)
    scan = partial(_suffixes, forward) if primitive.reverse else partial(prefixes, op, 0)
    return plan.before_each("states before blocks", totals, fold, scan, join, primitive.reverse)[maps.first :]


def _suffixes(op: Monoid, b: Builder, wires: Sequence[Wire]) -> Sequence[Wire]:
    """What stands after each element along axis 0."""
    made = prefixes(op, 0, b, [turned(b, w, 0) for w in wires])
    return [turned(b, w, 0) for w in made]


def elements(b: Builder, primitive: Recurred, maps: Maps, wires: Sequence[Wire], dtype: np.dtype[Any]) -> list[Wire]:
    """The affine maps of the steps, as elements of the monoid that composes them."""
    numbers = []
    for r, c in maps.entries:
        e = primitive.grid[r][c]
        constant = np.asarray(float(e == ONE), dtype)
        numbers.append(cast(wires[e], dtype) if e >= 0 else repeated(b, b.apply(const(constant), ()), (), wires[0].shape))
    first, states = primitive.slots, list(wires[primitive.slots :])
    if primitive.reverse:
        states = mapped(b, _links_times(primitive, [param(first + k) for k in range(len(states))]), wires)
    return [*wires[first - primitive.reset : first], *numbers, *[cast(w, dtype) for w in states]]


def _links_times(primitive: Recurred, states: Sequence[Node]) -> list[Node]:
    """The links of a step times some states; zero where it is a reset."""
    own = Maps(primitive.grid, primitive.copies, False)
    made = own.applied([param(k) for k in range(primitive.links)], states)
    if not primitive.reset:
        return made
    return [apply("select", param(primitive.links), scalar.const(0.0), node) for node in made]


def from_state(b: Builder, primitive: Recurred, wires: list[Wire], before: Sequence[Wire], n: int) -> list[Wire]:
    """The arguments of a block that starts from a state: its part in the first step is added there."""
    first, count = primitive.slots, len(before)
    states: list[Node] = [param(first + count + k) for k in range(count)]
    if not primitive.reverse:
        states = _links_times(primitive, states)
    here = apply("eq", param(first + 2 * count), scalar.const(n - 1 if primitive.reverse else 0))
    nodes = [apply("select", here, apply("add", param(first + k), s), param(first + k)) for k, s in enumerate(states)]
    at = steps(b, n, primitive.axis, wires[-1].ndim)
    return [*wires[:first], *mapped(b, nodes, [*wires, *before, at])]
