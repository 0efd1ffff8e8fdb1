"""A stage that folds over axes along which arrays do not lie as along one: run as two stages, on any machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from catad.engine.machine import Way
from catad.engine.runner import Contiguous
from catad.engine.stages.layout import Ready, layout
from catad.engine.stages.split_reduction import split_reduction


class InTwo:
    """The way of such a stage; `way_of` compiles each part, `empty` makes the arrays between them."""

    def __init__(
        self,
        way_of: Callable[[Ready, Sequence[int], Sequence[Any], Sequence[Any]], Way],
        empty: Callable[..., Any],
        stage: Ready,
        place: Sequence[int],
        arrays: Sequence[Any],
        outs: Sequence[Any],
    ) -> None:
        self.empty = empty
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
        """Both stages, one after the other."""
        between = [self.empty(shape, dtype) for shape, dtype in self.found.between]
        made = [*[outs[k] for k in self.found.outs], *between]
        self.first.run(arrays, made)
        for one, way in zip(self.found.rest, self.rest, strict=True):
            way.run([made[k] for k in one.reads], [outs[j] for j in one.outs])
