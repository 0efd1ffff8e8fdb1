"""`searchsorted`: where numbers stand in a sorted array. The positions are integers, so the derivative is zero."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.boxes import Primitive, box
from catad.category.constructors import constructor
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.linear.families.gather import spread_beside
from catad.linear.structure import cast
from catad.vector.deferred import Shaped

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


@box
class SortedPositions(Primitive):
    """(sorted arrays, numbers) to how many entries are less than each number, or not greater; the first `lead` axes are of
    several arrays. Work O(m log n)."""

    right: bool
    lead: int = 0
    arity = 2

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (Tensor(ins[1].shape, np.int64),)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        ordered, numbers = arrays
        side = "right" if self.right else "left"
        if not self.lead:
            return xp.searchsorted(ordered, numbers, side=side).astype(np.int64, copy=False)
        rows = ordered.reshape(math.prod(ordered.shape[: self.lead]), ordered.shape[-1])
        many = numbers.reshape((rows.shape[0], *numbers.shape[self.lead :]))
        out = xp.empty(many.shape, dtype=np.int64)
        for i in range(rows.shape[0]):
            out[i] = xp.searchsorted(rows[i], many[i], side=side)
        return out.reshape(numbers.shape)

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        if not flags[0] and not self.lead:
            return b.add(self, *ins)
        carried = spread_beside(b, ins, flags, size)
        return b.add(SortedPositions(self.right, self.lead + 1), *carried)

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return outs[0].size * ins[0].shape[-1].bit_length()


def _lay(b: Builder, x: Any, term: Any) -> Wire:
    if not isinstance(x, tuple) or len(x) != 2 or any(isinstance(part, tuple) for part in x):
        raise errors.SpaceError(errors.not_sorted_and_numbers(b.space(x), term))
    ordered, numbers = x
    if ordered.ndim != 1:
        raise errors.SpaceError(errors.not_one_axis(ordered.space, term))
    dtype = np.result_type(ordered.dtype, numbers.dtype)
    return b.add(SortedPositions(term.parameters["side"] == "right"), cast(ordered, dtype), cast(numbers, dtype))[0]


@constructor()
def searchsorted(side: str = "left") -> D:
    """The positions (int64) at which numbers would be put into a sorted array: `(sorted, numbers) -> positions`.

    `sorted` is (n,), in ascending order, NaN last; the result has the shape of the numbers. With side "left" a position counts
    the entries that are less than the number, with "right" those that are not greater, as `numpy.searchsorted`. The dtypes are
    any; the derivative is zero. Work O(m log n). Raises `ArgumentError` for another side, `SpaceError` for other arguments.

    >>> import catad as ct, numpy as np
    >>> ct.searchsorted()(np.array([1.0, 2.0, 2.0, 5.0]), np.array([0.0, 2.0, 9.0]))
    array([0, 1, 4])
    >>> ct.searchsorted("right")(np.array([1.0, 2.0, 2.0, 5.0]), 2.0)
    np.int64(3)
    """
    if not isinstance(side, str) or side not in ("left", "right"):
        raise errors.ArgumentError(errors.no_such_side(side))
    return Shaped(searchsorted, _lay, side=side)
