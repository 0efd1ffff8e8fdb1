"""`DotWithin`: the product of two vectors that are zero outside of a range, summed over that range alone.

It is a contraction whose zeros are left out, so the order of summation is that of NumPy's product of the two short vectors.
What does not depend on this order (derivatives, lanes) is that of the contraction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from catad.boxes import Primitive, box
from catad.linear.contract import Contract
from catad.linear.gather import spread_over
from catad.linear.structure import Rule
from catad.spaces import Tensor

if TYPE_CHECKING:
    from catad.wiring import Builder, Wire


@box
class DotWithin(Primitive):
    """(start, stop, a, b) to the sum of `a[k] * b[k]` over `start <= k < stop`; all other entries of both are zeros."""

    size: int
    arity = 4

    @property
    def whole(self) -> Contract:
        """The product of all entries."""
        return Contract(((0,), (0,)), (), (self.size,))

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        start, stop, a, b = ins
        assert start.dtype == stop.dtype == np.int64 and start.shape == stop.shape == ()
        assert a == b and a.is_float and a.shape == (self.size,)
        return (Tensor((), a.dtype),)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        start, stop, a, b = arrays
        if xp is not np:  # the range is not known there without waiting for the device
            return self.whole.evaluate(xp, a, b)
        within = slice(int(start), max(int(start), int(stop)))
        return np.asarray(a[within] @ b[within])

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        found = self.whole.rule(ins[2:], outs)
        return None if found is None else Rule(found.structure, lambda wires, made: found.coefficients(wires[2:], made))

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        left, right = ins[2:]
        own = flags[2:]
        if not any(own):
            left, own = spread_over(b, left, size), (True, False)
        return self.whole.batched(b, (left, right), own, size)

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return self.size
