"""Checks of integers on a GPU: a kernel notes what is out of range in words of the device, and the host looks at them later."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from catad import errors
from catad.category.spaces import Tensor
from catad.engine.cuda.kernel import Compiled, Device
from catad.engine.cuda.launch import PointsCall
from catad.engine.cuda.maps import Points
from catad.engine.stages.access import straight
from catad.engine.stages.body import Body, Source
from catad.engine.stages.layout import Place, Ready, layout, strides_of
from catad.engine.text.element import Element
from catad.engine.text.numbers import cast
from catad.values.stream_capture import check_not_captured
from catad.vector.indexing.gather import Ended, Within
from catad.vector.scans.segmented import Numbered

_INT = np.dtype(np.int64)
_MOST = 2**63 - 1


class Checked(Points):
    """A map that notes, of each integer array that it reads, the least and the greatest of the numbers that are out of range.

    The last numbers of the table are the least number in range of each array, and how many are. Atomics note in two words of each
    array, so in any order; the first word starts at the greatest integer, the second at the least one.
    """

    @property
    def numbers(self) -> int:
        return self.length + 2 * len(self.kernel.body.sources)

    def _pointers(self) -> list[str]:
        return [*super()._pointers(), "ptr %bad"]

    def _work(self, made: Sequence[Element], first: bool = False) -> None:
        for one in made:
            one.read()
        for k, source in enumerate(self.body.sources):
            if source.is_index:
                continue
            least, count = (self.entry(self.length + 2 * k + i) for i in range(2))
            for one in made:
                self._check(k, cast(self.w, one.value(k), one.dtypes[k], _INT), least, count)
        for one in made:
            one.compute(False)
        for one in made:
            one.write()

    def _check(self, k: int, number: str, least: str, count: str) -> None:
        w = self.w
        place = w.set(f"sub i64 {number}, {least}")
        w.when(w.set(f"icmp uge i64 {place}, {count}"), lambda: self._note(k, number))

    def _note(self, k: int, number: str) -> None:
        for i, what in enumerate(("min", "max")):
            self.simt.atomic(what, self.w.set(f"getelementptr i64, ptr %bad, i64 {2 * k + i}"), "i64", number)


def unnoted(device: Device, arrays: int) -> Any:
    """The words of so many arrays, in which nothing is noted yet."""
    return device.words([_MOST, -_MOST] * arrays)


class RangeCheck(Compiled):
    """An array of integers, passed on; those not in `least <= number < least + size` raise an error when the host looks.

    `error` makes it of the least and the greatest of them.
    """

    def __init__(
        self, device: Device, least: int, size: int, space: Tensor, error: Callable[[int, int], errors.CatadError]
    ) -> None:
        self.device, self.range, self.error = device, (least, size), error
        body = Body((Source(0, space.dtype.str, False, -1, None),), (), ())
        self.stage = Ready(space.shape, (), 0, body, (Place(0, straight(space.ndim)),), (), ())
        self.space = space
        self.calls: dict[tuple[int, ...], PointsCall] = {}

    @property
    def parts(self) -> list[PointsCall]:  # type: ignore[override]
        """The kernels for arrays that lie as those so far."""
        return [*self.calls.values()]

    def _call(self, strides: tuple[int, ...]) -> PointsCall:
        found = self.calls.get(strides)
        if found is None:
            how = layout(self.stage, [strides])
            assert how is not None
            least, size = self.range
            found = self.calls[strides] = PointsCall(self.device, how, [0], Checked, (least, ctypes.c_int64(size).value))
        return found

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        (index,) = arrays
        if self.space.size:
            words = unnoted(self.device, 1)
            self._call(index.strides).run(arrays, (), (words,))
            self.device.after(words, self._look)
        return index

    def _look(self, words: Sequence[int]) -> None:
        low, high = words
        if low <= high:  # some were noted
            if self.space.dtype == np.uint64:  # of these some from 2^63 stand below others
                low, high = sorted([low % 2**64, high % 2**64])
            raise self.error(low, high)

    def prepared(self) -> str:
        """The PTX for contiguous indices."""
        return self._call(strides_of(self.space)).text


def in_range(device: Device, box: Within, ins: tuple[Tensor, ...]) -> RangeCheck:
    """`InRange` and `Fits`."""
    return RangeCheck(device, box.least, box.size, ins[0], box.error)


def indices(device: Device, least: int, size: int, space: Tensor, said: Callable[..., str]) -> RangeCheck:
    """A check of indices whose error `said` writes, of the least and the greatest of them and the size."""
    return RangeCheck(device, least, size - least, space, lambda low, high: errors.IndexRangeError(said(low, high, size)))


class EndedCheck(RangeCheck):
    """`Ended`: loops of kernels that have not ended. Nobody would tell of those of a graph, so they are not captured."""

    def __init__(self, device: Device, box: Ended, ins: tuple[Tensor, ...]) -> None:
        said = errors.while_without_end(box.most, box.where)
        super().__init__(device, 0, box.most + 1, ins[0], lambda low, high: errors.ArgumentError(said))

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        check_not_captured(xp, "the trips of a loop of a kernel, which the host checks")
        return super().__call__(xp, *arrays)


class NumberedCheck(Compiled):
    """Boxes that number segments: their array code, and what tells whether the argument is right goes to the host later."""

    def __init__(self, device: Device, primitive: Numbered, ins: tuple[Tensor, ...]) -> None:
        self.device, self.primitive = device, primitive

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        (given,) = arrays
        self.device.after(self.primitive.facts(xp, given), self.primitive.judge)
        return self.primitive.numbers(xp, given)

    def prepared(self) -> None:
        """Nothing is compiled."""
