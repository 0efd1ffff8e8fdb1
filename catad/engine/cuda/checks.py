"""Checks of indices on a GPU: a kernel notes what is out of range in words of the device, and the host looks at them later."""

from __future__ import annotations

from collections.abc import Sequence
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

_INT = np.dtype(np.int64)


class Checked(Points):
    """Notes the least and the greatest of the indices that are out of range in two words; atomics, so in any order.

    The last number of the table is the size of the range. The first word starts at 0, the second at size - 1.
    """

    @property
    def numbers(self) -> int:
        return self.length + 1

    def _pointers(self) -> list[str]:
        return [*super()._pointers(), "ptr %bad"]

    def _work(self, made: Sequence[Element]) -> None:
        w, size = self.w, self.entry(self.length)
        for one in made:
            one.read()
        for one in made:
            index = cast(w, one.value(0), one.dtypes[0], _INT)
            w.when(w.set(f"icmp uge i64 {index}, {size}"), lambda index=index: self._note(index))  # type: ignore[misc]

    def _note(self, index: str) -> None:
        self.simt.atomic("min", "%bad", "i64", index)
        self.simt.atomic("max", self.w.set("getelementptr i64, ptr %bad, i64 1"), "i64", index)


class InRangeCheck:
    """`InRange` on a device: the index array, passed on; what is out of range raises `IndexRangeError` when the host looks."""

    def __init__(self, device: Device, size: int, ins: tuple[Tensor, ...]) -> None:
        self.device, self.size = device, size
        (space,) = ins
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
            found = self.calls[strides] = PointsCall(self.device, how, [0], Checked, (self.size,))
        return found

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        (index,) = arrays
        if not self.empty:
            words = self.device.words([0, self.size - 1])
            self._call(index.strides).run(arrays, (), (words,))
            self.device.after(words, self._look)
        return index

    def _look(self, words: Sequence[int]) -> None:
        low, high = words
        if low < 0 or high >= self.size:
            raise errors.IndexRangeError(errors.index_out_of_range(low, high, self.size))

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
