"""`DotWithin`: the product of two vectors that are zero outside of a range, summed over that range alone.

It is a contraction whose zeros are left out, so the order of summation is that of NumPy's product of the two short vectors.
What does not depend on this order, its derivative, is that of the contraction.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from catad.category.boxes import Primitive, box
from catad.category.spaces import Tensor
from catad.linear.families.contract import Contract
from catad.linear.structure import Rule


@box
class DotWithin(Primitive):
    """(start, stop, a, b) to the sum of `a[k] * b[k]` over `start <= k < stop`; all other entries of both are zeros.

    `lanes` are the sizes of the leading axes over which the box is mapped; all arguments have them.
    """

    size: int
    lanes: tuple[int, ...] = ()
    arity = 4

    @property
    def whole(self) -> Contract:
        """The product of all entries."""
        lanes = tuple(range(1, 1 + len(self.lanes)))
        return Contract(((*lanes, 0), (*lanes, 0)), lanes, (self.size, *self.lanes))

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        start, stop, a, b = ins
        assert start.dtype == stop.dtype == np.int64 and start.shape == stop.shape == self.lanes
        assert a == b and a.is_float and a.shape == (*self.lanes, self.size)
        return (Tensor(self.lanes, a.dtype),)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        start, stop, a, b = arrays
        if xp is not np:  # the range is not known there without waiting for the device
            return self.whole.evaluate(xp, a, b)
        out = np.empty(self.lanes, a.dtype)
        for lane in np.ndindex(self.lanes):
            within = slice(int(start[lane]), max(int(start[lane]), int(stop[lane])))
            out[lane] = a[lane][within] @ b[lane][within]
        return out

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        found = self.whole.rule(ins[2:], outs)
        return None if found is None else Rule(found.structure, lambda wires, made: found.coefficients(wires[2:], made))

    def carried(self, size: int) -> DotWithin:
        return DotWithin(self.size, (size, *self.lanes))

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return self.size * math.prod(self.lanes)
