"""`FlatIndex` on a GPU: one kernel checks the index arrays and writes the positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from catad import errors, scalar
from catad.category.spaces import Product, Tensor
from catad.category.wiring import Builder, Wire
from catad.engine.cuda.checks import Checked, indices, unnoted
from catad.engine.cuda.kernel import Compiled, Device, Part
from catad.engine.cuda.launch import PointsCall
from catad.engine.stages.layout import Ready, layout, ready, strides_of
from catad.engine.stages.partition import Partition
from catad.engine.stages.stage import Stage
from catad.linear.families.reindex import Reshaped
from catad.vector.indexing.flat_index import FlatIndex
from catad.vector.pointwise.generate import Iota
from catad.vector.pointwise.map import mapped


class FlatIndexed(Compiled):
    """`FlatIndex`; where its kernel does not know how arrays lie, the array code, which asks the host for nothing."""

    def __init__(self, device: Device, box: FlatIndex, ins: tuple[Tensor, ...]) -> None:
        self.device, self.box, self.ins, self.space = device, box, ins, box.typed(ins)[0]
        self.stage = None if self.space.size == 0 else positions(box, ins)
        said = errors.read_index_out_of_range
        self.checks = [indices(device, -n, n, space, said) for n, space in zip(box.sizes, ins, strict=True)]
        self.calls: dict[Any, PointsCall | None] = {}

    @property
    def parts(self) -> list[Part]:  # type: ignore[override]
        """The kernels for arrays that lie as those so far."""
        made = [call for call in self.calls.values() if call is not None]
        return [*made, *[part for check in self.checks for part in check.parts]]

    def _call(self, strides: Sequence[tuple[int, ...]], out: tuple[int, ...]) -> PointsCall | None:
        """The kernel for arrays and a result that lie so."""
        key = (*strides, out)
        if key not in self.calls:
            self.calls[key] = None if self.stage is None else self._made(self.stage, strides, out)
        return self.calls[key]

    def _made(self, stage: Ready, strides: Sequence[tuple[int, ...]], out: tuple[int, ...]) -> PointsCall | None:
        place = [max(p.wire, -1) for p in stage.reads]  # the wires of the arguments are the first ones
        how = layout(stage, [*[strides[at] if at >= 0 else (1,) for at in place], out])
        if how is None:
            return None
        ranges = [(0, 1) if at < 0 else (-self.box.sizes[at], 2 * self.box.sizes[at]) for at in place]
        return PointsCall(self.device, how, place, Checked, [number for both in ranges for number in both])

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        out = self.device.empty(self.space.shape, self.space.dtype)
        call = self._call([array.strides for array in arrays], out.strides)
        if call is None or self.stage is None:
            for check, index in zip(self.checks, arrays, strict=True):
                check(xp, index)
            return self.box.positions(xp, arrays, [True] * len(arrays))
        words = unnoted(self.device, len(self.stage.reads))
        call.run(arrays, (out,), (words,))
        self.device.after(words, self._look)
        return out

    def _look(self, words: Sequence[int]) -> None:
        assert self.stage is not None
        for k, place in enumerate(self.stage.reads):
            low, high = words[2 * k : 2 * k + 2]
            if place.wire >= 0 and low <= high:  # some were noted
                raise errors.IndexRangeError(errors.read_index_out_of_range(low, high, self.box.sizes[place.wire]))

    def prepared(self) -> str:
        """The PTX for contiguous indices."""
        call = self._call([*map(strides_of, self.ins)], strides_of(self.space))
        return call.text if call is not None else "".join([check.prepared() for check in self.checks])


def positions(box: FlatIndex, ins: tuple[Tensor, ...]) -> Ready | None:
    """The positions as a map of the index arrays, whose wires are the first ones; None where they are several stages."""
    b = Builder()
    starts = tuple([b.wire(space) for space in ins])
    given, nodes, flat = list[Wire](), iter(starts), scalar.const(0)
    slices = 0
    for axis in box.axes:
        if axis.kind == "index":
            at = scalar.const(axis.start)
        else:
            own = scalar.cast(np.dtype(np.int64), scalar.param(len(given)))
            if axis.kind == "argument":
                index, behind = next(nodes), len(box.counts)
                counted = scalar.apply("add", own, scalar.const(axis.size))
                at = scalar.apply("select", scalar.apply("lt", own, scalar.const(0)), counted, own)
            else:
                slices += 1
                index, behind = b.add(Iota(axis.length))[0], len(box.counts) - slices
                at = scalar.apply("add", scalar.apply("mul", own, scalar.const(axis.step)), scalar.const(axis.start))
            given.append(b.add(Reshaped((*index.shape, *[1] * behind)), index)[0])
        flat = scalar.apply("add", scalar.apply("mul", flat, scalar.const(axis.size)), at)
    (out,) = mapped(b, [flat], given)
    wiring = b.finish(Product(ins), starts, (out,))
    found = Partition(wiring)
    (stage, *rest) = found.items
    if rest or not isinstance(stage, Stage):
        return None
    return ready(stage, wiring.outputs, wiring.wires)
