"""`PreviousState`: the state of the step before, and nothing where a recurrence is reset.

Selecting by a condition would multiply the tangents of what is not selected by zero, and 0 * NaN is NaN. Here they are not read:
the Jacobian is a gather whose positions are out of range at the resets.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from catad.category.boxes import AlongAxis, box
from catad.category.spaces import Tensor
from catad.linear.families.gather import Gather, along_axis
from catad.linear.structure import Rule, Structure


@box
class PreviousState(AlongAxis):
    """(resets, states) to the state that each step starts from, `back` steps before it: zero at a reset and before the first."""

    axis: int
    back: int
    arity = 2

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins[1:]

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        resets, states = [xp.moveaxis(a, self.axis, 0) for a in arrays]
        before = xp.concatenate([xp.zeros_like(states[: self.back]), states[: len(states) - self.back]])[: len(states)]
        return xp.moveaxis(xp.where(resets, states.dtype.type(0), before), 0, self.axis)

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        origin = Origin(self.axis, self.back)
        return Rule(without_resets(ins[1], self.axis), lambda wires, _: wires[0].builder.add(origin, wires[0]))


@box
class Origin(AlongAxis):
    """Resets to positions along an axis: of the step that is `back` before each; -1 at a reset, and before the first."""

    axis: int
    back: int
    arity = 1

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (Tensor(ins[0].shape, np.int64),)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        resets = arrays[0]
        steps = xp.arange(resets.shape[self.axis]) - self.back
        return xp.where(resets, -1, steps.reshape(-1, *[1] * (resets.ndim - self.axis - 1)))


def without_resets(space: Tensor, axis: int) -> Structure:
    """Reading along one axis at the positions that `Origin` gives, zero where they are negative."""
    return Gather(along_axis(space.shape, axis), None, np.dtype(np.int64), space.dtype, space.dtype, None)
