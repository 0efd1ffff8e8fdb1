"""Checks of indices on a GPU: a kernel notes what is out of range in words of the device, and the host looks at them later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from catad import errors
from catad.engine.cuda.kernel import Device
from catad.engine.cuda.launch import PointsCall
from catad.engine.cuda.points import Points
from catad.engine.stages.access import straight
from catad.engine.stages.body import Body, Source
from catad.engine.stages.layout import Place, Ready, layout
from catad.engine.text.element import Element
from catad.engine.text.numbers import cast
from catad.spaces import Tensor
from catad.vector.flat_index import FlatIndex
from catad.vector.segmented import Numbered

_INT = np.dtype(np.int64)
_MOST = 2**63 - 1


class Checked(Points):
    """Notes the least and the greatest of the indices that are out of range in two words; atomics, so in any order.

    The last numbers of the table are the least index that is in range, and how many are. The first word starts at the greatest
    integer, the second at the least one.
    """

    @property
    def numbers(self) -> int:
        return self.length + 2

    def _pointers(self) -> list[str]:
        return [*super()._pointers(), "ptr %bad"]

    def _work(self, made: Sequence[Element], first: bool = False) -> None:
        w, least, count = self.w, self.entry(self.length), self.entry(self.length + 1)
        for one in made:
            one.read()
        for one in made:
            index = cast(w, one.value(0), one.dtypes[0], _INT)
            place = w.set(f"sub i64 {index}, {least}")
            w.when(w.set(f"icmp uge i64 {place}, {count}"), lambda index=index: self._note(index))  # type: ignore[misc]

    def _note(self, index: str) -> None:
        self.simt.atomic("min", "%bad", "i64", index)
        self.simt.atomic("max", self.w.set("getelementptr i64, ptr %bad, i64 1"), "i64", index)


class InRangeCheck:
    """An index array, passed on; those not in `least <= index < size` raise `IndexRangeError` when the host looks.

    `said` makes the message of the least and the greatest of them, and the size.
    """

    def __init__(
        self, device: Device, size: int, space: Tensor, least: int = 0, said: Callable[..., str] = errors.index_out_of_range
    ) -> None:
        self.device, self.range, self.said = device, (least, size), said
        body = Body((Source(0, space.dtype.str, False, -1, None),), (), ())
        self.stage = Ready(space.shape, (), 0, body, (Place(0, straight(space.ndim)),), (), ())
        self.empty = space.size == 0
        self.calls: dict[tuple[int, ...], PointsCall] = {}

    @property
    def seconds(self) -> tuple[float, ...]:
        """What compiling took."""
        return tuple([call.seconds for call in self.calls.values()])

    def _call(self, strides: tuple[int, ...]) -> PointsCall:
        found = self.calls.get(strides)
        if found is None:
            how = layout(self.stage, [strides])
            assert how is not None
            least, size = self.range
            found = self.calls[strides] = PointsCall(self.device, how, [0], Checked, (least, size - least))
        return found

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        (index,) = arrays
        if not self.empty:
            words = self.device.words([_MOST, -_MOST])
            self._call(index.strides).run(arrays, (), (words,))
            self.device.after(words, self._look)
        return index

    def _look(self, words: Sequence[int]) -> None:
        low, high = words
        if low <= high:  # some were noted
            raise errors.IndexRangeError(self.said(low, high, self.range[1]))

    def prepared(self, ins: tuple[Tensor, ...]) -> str:
        """The PTX for contiguous indices."""
        strides, step = list[int](), ins[0].dtype.itemsize
        for n in reversed(ins[0].shape):
            strides.insert(0, step)
            step *= max(n, 1)
        return self._call(tuple(strides)).text

    def moved(self, arrays: Sequence[Any], outs: Sequence[Any]) -> int:
        """The bytes of the indices."""
        return sum([array.nbytes for array in arrays])


class FlatIndexCheck:
    """`FlatIndex` on a device: a check for each index array, then the array code, which asks the host for nothing."""

    def __init__(self, device: Device, primitive: FlatIndex, ins: tuple[Tensor, ...]) -> None:
        self.primitive = primitive
        self.checks = [
            InRangeCheck(device, size, space, -size, errors.read_index_out_of_range)
            for size, space in zip(primitive.sizes, ins, strict=True)
        ]

    @property
    def seconds(self) -> tuple[float, ...]:
        """What compiling took."""
        return tuple([seconds for check in self.checks for seconds in check.seconds])

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        for check, index in zip(self.checks, arrays, strict=True):
            check(xp, index)
        return self.primitive.positions(xp, arrays, [True] * len(arrays))

    def prepared(self, ins: tuple[Tensor, ...]) -> str:
        """The PTX of the checks."""
        return "\n".join([check.prepared((space,)) for check, space in zip(self.checks, ins, strict=True)])

    def moved(self, arrays: Sequence[Any], outs: Sequence[Any]) -> int:
        """The bytes of the indices and of the positions."""
        return sum([array.nbytes for array in (*arrays, *outs)])


class NumberedCheck:
    """Boxes that number segments: their array code, and what tells whether the argument is right goes to the host later."""

    seconds = ()

    def __init__(self, device: Device, primitive: Numbered) -> None:
        self.device, self.primitive = device, primitive

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        (given,) = arrays
        self.device.after(self.primitive.facts(xp, given), self.primitive.judge)
        return self.primitive.numbers(xp, given)

    def prepared(self, ins: tuple[Tensor, ...]) -> None:
        """Nothing is compiled."""

    def moved(self, arrays: Sequence[Any], outs: Sequence[Any]) -> int:
        """The bytes of the flags or lengths and of the numbers."""
        return sum([array.nbytes for array in (*arrays, *outs)])
