"""`FlatIndex`: positions in flattened axes, from index arrays for some of these and arithmetic progressions for the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.boxes import Primitive, box
from catad.category.spaces import Tensor
from catad.linear.families.gather import Indexing
from catad.vector.indexing.gather import outside
from catad.vector.indexing.keys import Along
from catad.vector.pointwise.map import broadcast, lined_up

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


@box
class FlatIndex(Primitive):
    """Index arrays, one for each axis of kind "argument", to positions in the axes together, in C order.

    The shape is that to which the arrays broadcast, then the counts of the slices. A negative index counts from the end of its
    axis, as in NumPy; one out of range raises `IndexRangeError`.
    """

    axes: tuple[Along, ...]

    @property
    def arity(self) -> int:
        return sum(axis.kind == "argument" for axis in self.axes)

    @property
    def counts(self) -> tuple[int, ...]:
        """The counts of the slices."""
        return tuple([axis.length for axis in self.axes if axis.kind == "slice"])

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (Tensor((*broadcast(ins), *self.counts), np.int64),)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the axes that have an index array."""
        return tuple([axis.size for axis in self.axes if axis.kind == "argument"])

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        negative = [_some_negative(index, size) for index, size in zip(arrays, self.sizes, strict=True)]
        if xp is np and len(arrays) == len(self.axes) == 1:
            return _from_the_front(xp, arrays[0], self.sizes[0]) if negative[0] else arrays[0].astype(np.int64, copy=False)
        return self.positions(xp, arrays, negative)

    def positions(self, xp: Any, arrays: Sequence[Any], negative: Sequence[bool]) -> Any:
        """The positions, of indices in range; `negative` says which arrays may have indices that count from the end."""
        given, counts = iter(zip(arrays, self.sizes, negative, strict=True)), self.counts
        flat: Any = 0
        slices = 0
        for axis in self.axes:
            if axis.kind == "argument":
                index, size, some = next(given)
                index = _from_the_front(xp, index, size) if some else index.astype(np.int64, copy=False)
                at = index.reshape((*index.shape, *[1] * len(counts)))
            elif axis.kind == "index":
                at = axis.start
            else:
                slices += 1
                progression = axis.start + axis.step * xp.arange(axis.length, dtype=np.int64)
                at = progression.reshape((axis.length, *[1] * (len(counts) - slices)))
            flat = flat * axis.size + at
        shape = (*np.broadcast_shapes(*[a.shape for a in arrays]), *counts)
        return xp.broadcast_to(xp.asarray(flat, dtype=np.int64), shape)

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        return b.add(self, *lined_up(b, ins, flags, size))

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return outs[0].size


def _some_negative(index: Any, size: int) -> bool:
    """Whether some count from the end; raises `IndexRangeError` for those out of range."""
    if not index.size:
        return False
    low, high = (int(index),) * 2 if index.ndim == 0 else (int(index.min()), int(index.max()))
    if low < -size or high >= size:
        raise errors.IndexRangeError(errors.read_index_out_of_range(*outside(index, -size, size), size))
    return low < 0


def _from_the_front(xp: Any, index: Any, size: int) -> Any:
    """The index counted from the front."""
    wide = index.astype(np.int64, copy=False)
    return xp.where(wide < 0, wide + size, wide)


def indexing(before: Sequence[int], size: int, after: Sequence[int], index: Sequence[int], dst: Sequence[int]) -> Indexing:
    """Reading along an axis of `size`, between others, by a flat index.

    `dst` names the axes of the result: the axes of the array in their order, that of `size` left out, then those of the index.
    """
    sizes = (*before, size, *after, *index)
    at, rank = len(before), len(before) + 1 + len(after)
    names = [k for k in range(len(sizes)) if k != at]
    return Indexing(tuple(range(rank)), at, tuple(range(rank, len(sizes))), tuple([names[k] for k in dst]), sizes)
