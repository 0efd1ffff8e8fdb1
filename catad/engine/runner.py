"""Running stages and single boxes on a machine: compile once for the way in which arrays lie, call, fall back.

Boxes that cannot be compiled run by their array code, with one notice that names them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from catad import errors
from catad.engine import notices, profile
from catad.engine.machine import Compiled, Machine, Way
from catad.engine.stages.layout import Ready
from catad.errors import CannotPrint
from catad.spaces import Tensor


class Contiguous:
    """A contiguous array as it would lie in memory, at the address 0."""

    __slots__ = ("__array_interface__", "nbytes", "strides")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        steps = [dtype.itemsize]
        for n in reversed(shape[1:]):
            steps.append(steps[-1] * max(n, 1))
        self.strides = tuple(reversed(steps[: len(shape)])) if shape else ()
        self.nbytes = math.prod(shape) * dtype.itemsize
        self.__array_interface__ = {"data": (0, False)}


class _timed:
    """The time of one call of compiled code, for the open profiles; what is in it says what compiling took, and the bytes."""

    __slots__ = ("machine", "moved", "name", "seconds", "took")

    def __init__(self, machine: Machine, name: str) -> None:
        self.machine, self.name = machine, name
        self.seconds: tuple[float, ...] = ()
        self.moved = 0

    def __enter__(self) -> _timed:
        self.took = self.machine.clock()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            profile.record(self.name, self.seconds, self.took(), self.moved, self.machine.copy_bandwidth)


def tell(boxes: str, error: CannotPrint) -> None:
    """Give the notice that the array code of boxes runs: once for what cannot be printed, or once for boxes without a kernel."""
    key = (error.construct, boxes if error.why == errors.NO_KERNEL else "")
    notices.notice(key, errors.array_code_runs(error.construct, error.why, boxes), 3)


class StageRunner:
    """A stage ready to run: one array for each wire that it reads, in these spaces, one result for each that it writes."""

    def __init__(
        self,
        machine: Machine,
        stage: Ready,
        ins: Sequence[int],
        spaces: tuple[Sequence[Tensor], Sequence[Tensor]],
        fallback: Callable[..., Any],
        name: str,
    ) -> None:
        self.machine, self.stage, self.fallback, self.name = machine, stage, fallback, name
        self.empty, self.given = machine.empty, machine.prepared
        self.ins, outs = spaces
        self.place = [ins.index(p.wire) if p.wire >= 0 else -1 for p in stage.reads]
        self.results = [(out.shape, np.dtype(sink.dtype)) for out, sink in zip(outs, stage.body.sinks, strict=True)]
        self.nothing = 0 in stage.shape  # there is no number to compute
        self.ways: dict[Any, Way | None] = {}

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        outs = [self.empty(shape, dtype) for shape, dtype in self.results]
        if self.nothing:
            return outs[0] if len(outs) == 1 else outs
        given = self.given(arrays)
        key = tuple([a.strides for a in given])
        try:
            way = self.ways[key]
        except KeyError:
            way = self.ways[key] = self._way(given, outs)
        if way is None:
            return self.fallback(xp, *given)
        try:
            if profile.active():
                with _timed(self.machine, self.name) as found:
                    way.run(given, outs)
                    found.seconds, found.moved = (way.seconds,), sum(a.nbytes for a in (*given, *outs))
            else:
                way.run(given, outs)
        except CannotPrint as error:  # of a device that cannot hold the code
            tell(self.name, error)
            self.ways[key] = None
            return self.fallback(xp, *given)
        return outs[0] if len(outs) == 1 else outs

    def prepared(self) -> str | None:
        """Compile for contiguous arrays; the text, or None where the array code runs."""
        arrays = [Contiguous(space.shape, space.dtype) for space in self.ins]
        key = tuple([a.strides for a in arrays])
        if key not in self.ways:
            self.ways[key] = self._way(arrays, [Contiguous(shape, dtype) for shape, dtype in self.results])
        way = self.ways[key]
        return None if way is None else way.text

    def _way(self, arrays: Sequence[Any], outs: Sequence[Any]) -> Way | None:
        try:
            return self._compiled(arrays, outs)
        except CannotPrint as error:
            tell(self.name, error)
            return None

    def _compiled(self, arrays: Sequence[Any], outs: Sequence[Any]) -> Way | None:
        return self.machine.way_of(self.stage, self.place, arrays, outs)


class Standalone:
    """Compiled code that is no stage, on arrays in these spaces, and the array code where it cannot be printed."""

    def __init__(
        self, machine: Machine, name: str, made: Compiled, plain: Callable[..., Any], ins: tuple[Tensor, ...]
    ) -> None:
        self.machine, self.name, self.plain, self.ins = machine, name, plain, ins
        self.made: Compiled | None = made
        self.ahead = False  # whether it was compiled before a call was timed

    def prepared(self) -> str | None:
        """Compile for arrays in its spaces; the text, or None where the array code runs."""
        try:
            return None if self.made is None else self.made.prepared(self.ins)
        except CannotPrint as error:
            self._cannot(error)
            return None

    def _cannot(self, error: CannotPrint) -> None:
        tell(self.name, error)
        self.made = None

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        if self.made is not None:
            try:
                return self._run(self.made, xp, self.machine.prepared(arrays))
            except CannotPrint as error:
                self._cannot(error)
        return self.plain(xp, *arrays)

    def _run(self, made: Compiled, xp: Any, given: Sequence[Any]) -> Any:
        if not profile.active():
            return made(xp, *given)
        if not self.ahead:
            made.prepared(self.ins)
            self.ahead = True
        with _timed(self.machine, self.name) as found:
            result = made(xp, *given)
            outs = result if isinstance(result, (list, tuple)) else [result]
            found.seconds, found.moved = made.seconds, made.moved(given, outs)
        return result
