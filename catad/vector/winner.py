"""The position of a minimum or maximum: what its derivative needs to know.

It means the fold of (number, position) by the operator's own choice. Where the result is a number, its position is that of the
first number that equals it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from catad.boxes import Primitive, box
from catad.linear.gather import spread_over
from catad.spaces import Tensor
from catad.vector.index import Integers
from catad.vector.monoid import Monoid, with_winner

if TYPE_CHECKING:
    from catad.wiring import Builder, Wire


@box
class Winner(Integers):
    """(x, positions along the axis, the minimum or maximum of x along the axis) to its position, -1 where x is empty.

    The last argument only helps to compute it.
    """

    monoid: Monoid
    axis: int = 0
    arity = 3

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        shape = ins[0].shape
        return (Tensor((*shape[: self.axis], *shape[self.axis + 1 :]), np.int64),)

    @property
    def meaning(self) -> Primitive:
        """The fold of (number, position), whose second result it is."""
        from catad.vector.fold import Fold

        return Fold(with_winner(self.monoid), self.axis)

    def general(self, b: Builder, x: Wire, positions: Wire) -> Wire:
        """What it means, without the result."""
        return b.add(self.meaning, x, positions)[1]

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        x, positions, total = arrays
        if x.shape[self.axis] == 0 or (x.dtype.kind == "f" and bool(xp.isnan(total).any())):
            return self.meaning.evaluate(xp, x, positions)[1]
        return xp.argmax(x == total[(*[slice(None)] * self.axis, None)], axis=self.axis)

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        carried = [w if flag else spread_over(b, w, size) for w, flag in zip(ins, flags, strict=True)]
        return b.add(Winner(self.monoid, self.axis + 1), *carried)

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return 2 * ins[0].size
