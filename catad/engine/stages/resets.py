"""What a recurrence with resets needs of the step before, as maps: the previous state, and where it stands.

A stage reads a shifted array in its place, and computes a choice as it reads; array code would write both.
"""

from __future__ import annotations

from catad import scalar
from catad.category.spaces import Tensor
from catad.category.wiring import Box, Wiring, replaced
from catad.linear.families.contract import Contract
from catad.linear.families.previous_state import Origin, PreviousState
from catad.linear.families.reindex import StridedCopy, axis, whole
from catad.scalar import Function
from catad.vector.pointwise.generate import Iota
from catad.vector.pointwise.map import Map


def with_resets(wiring: Wiring) -> Wiring:
    """The wiring with such boxes written as maps."""
    return replaced(wiring, {PreviousState: _previous, Origin: _origin})


def _previous(wires: list[Tensor], box: Box, previous: PreviousState) -> list[Box]:
    """The states shifted, and zeros where there is a reset. `wires` grows."""
    resets, states = box.ins
    space, shifted = wires[states], len(wires)
    axes = [whole(n) for n in space.shape]
    n, back = space.shape[previous.axis], previous.back
    axes[previous.axis] = axis(n, n, 0, 1, back, 1, n - back)
    wires.append(space)
    zero = scalar.const(space.dtype.type(0).item())
    kept = Function.make(2, [scalar.apply("select", scalar.param(0), zero, scalar.param(1))])
    return [Box(StridedCopy(tuple(axes)), (states,), (shifted,)), Box(Map(kept), (resets, shifted), box.outs)]


def _origin(wires: list[Tensor], box: Box, origin: Origin) -> list[Box]:
    """The positions along the axis before each step, and -1 where there is a reset. `wires` grows."""
    shape = wires[box.ins[0]].shape
    labels, n, at = tuple(range(len(shape))), shape[origin.axis], len(wires)
    wires += [Tensor((n,), "int64"), Tensor(shape, "int64")]
    before = scalar.apply("sub", scalar.param(1), scalar.const(origin.back))
    kept = Function.make(2, [scalar.apply("select", scalar.param(0), scalar.const(-1), before)])
    spread = Contract(((origin.axis,),), labels, shape)
    return [Box(Iota(n), (), (at,)), Box(spread, (at,), (at + 1,)), Box(Map(kept), (*box.ins, at + 1), box.outs)]
