"""Stages on a CPU: their loops are laid over the arrays of a call and run in one kernel, in blocks, or as two stages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from catad import buffers
from catad.engine.cpu.blocked import Blocked, blocked
from catad.engine.cpu.call import Call
from catad.engine.machine import Way
from catad.engine.runner import Contiguous
from catad.engine.stages.layout import POINTS, Layout, Ready, layout
from catad.engine.stages.split_reduction import split_reduction

STREAMED = 1 << 24  # bytes of results from which on they are written by streaming stores


def way_of(stage: Ready, place: Sequence[int], arrays: Sequence[Any], outs: Sequence[Any]) -> Way:
    """Compiled code for a stage on arrays and results that lie as these do; raises CannotPrint."""
    strides = [arrays[at].strides if at >= 0 else (1,) for at in place] + [out.strides for out in outs]
    how = layout(stage, strides)
    if how is None:
        return _InTwo(stage, place, arrays, outs)
    large = sum(out.nbytes for out in outs) >= STREAMED
    if blocked(how):
        return Blocked(how, place, large)
    if large and _straight(how, outs):
        how = how._replace(kernel=how.kernel._replace(streaming=True))
    return Call(how, place)


class _InTwo:
    """A stage that folds over axes along which arrays do not lie as along one."""

    def __init__(self, stage: Ready, place: Sequence[int], arrays: Sequence[Any], outs: Sequence[Any]) -> None:
        strides = [arrays[at].strides if at >= 0 else (1,) for at in place]
        for last in reversed(range(1, len(stage.axis))):
            found = split_reduction(stage, last)
            made = [*[outs[k] for k in found.outs], *[Contiguous(shape, dtype) for shape, dtype in found.between]]
            if layout(found.first, [*strides, *[one.strides for one in made]]) is not None:
                break
        self.found = found
        self.first = way_of(found.first, place, arrays, made)
        self.rest = []
        for one in found.rest:
            read = [made[k] for k in one.reads]
            self.rest.append(way_of(one.stage, range(len(read)), read, [outs[j] for j in one.outs]))
        ways = [self.first, *self.rest]
        self.text, self.seconds = "\n".join([way.text for way in ways]), sum(way.seconds for way in ways)

    def run(self, arrays: Sequence[Any], outs: Sequence[Any]) -> None:
        between = [buffers.empty(shape, dtype) for shape, dtype in self.found.between]
        made = [*[outs[k] for k in self.found.outs], *between]
        self.first.run(arrays, made)
        for one, way in zip(self.found.rest, self.rest, strict=True):
            way.run([made[k] for k in one.reads], [outs[j] for j in one.outs])


def _straight(how: Layout, outs: Sequence[Any]) -> bool:
    """True where results lie so that whole vectors are aligned.

    The layout is used again for other results of the same shapes: only large ones are sure to be aligned as `buffers` does it.
    """
    kernel, first = how.kernel, len(how.kernel.body.sources)
    if kernel.kind != POINTS or kernel.body.guards:
        return False
    rows = all(loop.strides[first + j] % 64 == 0 for loop in how.loops[:-1] for j in range(len(outs)))
    straight = all(how == "c" for how in kernel.classes[first:]) and not any(how.offsets[first:])
    return rows and straight and all(out.nbytes >= buffers.LARGE for out in outs)
