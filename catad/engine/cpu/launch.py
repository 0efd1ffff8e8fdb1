"""Stages on a CPU: their loops are laid over the arrays of a call and run in one kernel, in blocks, or as two stages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from catad import buffers
from catad.engine.cpu.blocked import Blocked, blocked
from catad.engine.cpu.call import Call
from catad.engine.in_two import InTwo
from catad.engine.machine import Way
from catad.engine.stages.layout import POINTS, Layout, Ready, layout

STREAMED = 1 << 24  # bytes of results from which on they are written by streaming stores


def way_of(stage: Ready, place: Sequence[int], arrays: Sequence[Any], outs: Sequence[Any]) -> Way:
    """Compiled code for a stage on arrays and results that lie as these do; raises CannotPrint."""
    strides = [arrays[at].strides if at >= 0 else (1,) for at in place] + [out.strides for out in outs]
    how = layout(stage, strides)
    if how is None:
        return InTwo(way_of, buffers.empty, stage, place, arrays, outs)
    sizes = [out.nbytes for out in outs]
    if blocked(how):
        return Blocked(how, place, sum(sizes) >= STREAMED)
    return Call(streamed(how, sizes), place)


def streamed(how: Layout, outs: Sequence[int]) -> Layout:
    """The layout with streaming stores, where results of so many bytes are large and lie so that they can be."""
    if sum(outs) < STREAMED or not _straight(how, outs):
        return how
    return how._replace(kernel=how.kernel._replace(streaming=True))


def _straight(how: Layout, outs: Sequence[int]) -> bool:
    """True where results of so many bytes lie so that whole vectors are aligned.

    The layout is used again for other results of the same shapes: only large ones are sure to be aligned as `buffers` does it.
    """
    kernel, first = how.kernel, len(how.kernel.body.sources)
    if kernel.kind != POINTS or kernel.body.guards:
        return False
    rows = all(loop.strides[first + j] % 64 == 0 for loop in how.loops[:-1] for j in range(len(outs)))
    straight = all(how == "c" for how in kernel.classes[first:]) and not any(how.offsets[first:])
    return rows and straight and all(nbytes >= buffers.LARGE for nbytes in outs)
