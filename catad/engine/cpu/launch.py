"""Running a stage: lay the loops over the arrays at hand, compile once, fill in the table, call.

What cannot be compiled is run by the reference engine, with one notice that names it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from catad import buffers
from catad.engine import notices
from catad.engine.cpu import profile
from catad.engine.cpu.apart import apart
from catad.engine.cpu.blocked import Blocked, blocked
from catad.engine.cpu.call import Call
from catad.engine.cpu.plan import POINTS, Layout, Ready, layout
from catad.errors import CannotPrint
from catad.spaces import Tensor

STREAMED = 1 << 24  # bytes of results from which on they are written past the caches


class Way(Protocol):
    """Compiled code for arrays that lie in memory in some way."""

    @property
    def text(self) -> str: ...

    @property
    def seconds(self) -> float: ...

    def run(self, arrays: Sequence[Any], outs: Sequence[Any]) -> None: ...


class _Shape:
    """How a contiguous array would lie in memory."""

    __slots__ = ("__array_interface__", "nbytes", "strides")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype) -> None:
        steps = [dtype.itemsize]
        for n in reversed(shape[1:]):
            steps.append(steps[-1] * max(n, 1))
        self.strides = tuple(reversed(steps[: len(shape)])) if shape else ()
        self.nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        self.__array_interface__ = {"data": (0, False)}


class StageKernel:
    """A stage ready to run on arrays: one array for each wire that it reads, one result for each that it writes."""

    def __init__(
        self, stage: Ready, ins: Sequence[int], shapes: Sequence[tuple[int, ...]], fallback: Callable[..., Any], name: str
    ) -> None:
        self.stage, self.fallback, self.name = stage, fallback, name
        self.place = [ins.index(p.wire) if p.wire >= 0 else -1 for p in stage.reads]
        self.needs = [(ins.index(k), _CHECKS[what]) for k, what in stage.needs]
        self.results = [(shape, np.dtype(sink.dtype)) for shape, sink in zip(shapes, stage.body.sinks, strict=True)]
        self.ways: dict[Any, Way | None] = {}

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        outs = [buffers.empty(shape, dtype) for shape, dtype in self.results]
        if 0 in self.stage.shape:
            return outs[0] if len(outs) == 1 else outs
        arrays = tuple([a if type(a) is np.ndarray and a.flags.aligned else _aligned(a) for a in arrays])
        key = tuple([a.strides for a in arrays])
        try:
            way = self.ways[key]
        except KeyError:
            way = self.ways[key] = self._way(arrays, outs)
        if way is None or not all(holds(arrays[at]) for at, holds in self.needs):
            return self.fallback(xp, *arrays)
        begun = time.perf_counter() if profile.active() else 0.0
        way.run(arrays, outs)
        if begun:
            moved = sum(a.nbytes for a in (*arrays, *outs))
            profile.record(self.name, way.seconds, time.perf_counter() - begun, moved)
        return outs[0] if len(outs) == 1 else outs

    def prepared(self, spaces: Sequence[Tensor]) -> str | None:
        """Compile for contiguous arrays in these spaces; the LLVM text, or None where the array code runs."""
        arrays = [_Shape(space.shape, space.dtype) for space in spaces]
        key = tuple([a.strides for a in arrays])
        if key not in self.ways:
            self.ways[key] = self._way(arrays, [_Shape(shape, dtype) for shape, dtype in self.results])
        way = self.ways[key]
        return None if way is None else way.text

    def _way(self, arrays: Sequence[Any], outs: Sequence[Any]) -> Way | None:
        try:
            return way_of(self.stage, self.place, arrays, outs)
        except CannotPrint as error:
            notices.notice(error.message, error.message)
            return None


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
            found = apart(stage, last)
            made = [*[outs[k] for k in found.outs], *[_Shape(shape, dtype) for shape, dtype in found.between]]
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
    """Whether results lie so that whole vectors are aligned.

    The layout is used again for other results of the same shapes: only large ones are sure to be aligned as `buffers` does it.
    """
    kernel, first = how.kernel, len(how.kernel.body.sources)
    if kernel.kind != POINTS or kernel.body.guards:
        return False
    rows = all(loop.strides[first + j] % 64 == 0 for loop in how.loops[:-1] for j in range(len(outs)))
    straight = all(how == "c" for how in kernel.classes[first:]) and not any(how.offsets[first:])
    return rows and straight and all(out.nbytes >= buffers.LARGE for out in outs)


def _aligned(array: Any) -> Any:
    """A NumPy array with its numbers where code may expect them: at multiples of their size."""
    found = np.asarray(array)
    return found if found.flags.aligned else found.copy()


def _normal(array: Any) -> bool:
    """Whether all numbers are finite and not so small that they have lost digits."""
    size = np.abs(array)
    return bool(np.all((size >= np.finfo(array.dtype).tiny) & (size < np.inf)))


def _number(array: Any) -> bool:
    """Whether no number is NaN."""
    return not np.isnan(array).any()


_CHECKS = {"normal": _normal, "number": _number}
