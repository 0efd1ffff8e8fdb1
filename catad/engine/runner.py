"""Running stages and single boxes on a machine: compile once for the way in which arrays lie, call, fall back.

What cannot be compiled is run by array code, with one notice that names it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from catad.engine import notices, profile
from catad.engine.backend import Machine, Way
from catad.engine.stages.plan import Ready
from catad.errors import CannotPrint
from catad.spaces import Tensor


class Contiguous:
    """How a contiguous array would lie in memory, at the address 0."""

    __slots__ = ("__array_interface__", "nbytes", "strides")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        steps = [dtype.itemsize]
        for n in reversed(shape[1:]):
            steps.append(steps[-1] * max(n, 1))
        self.strides = tuple(reversed(steps[: len(shape)])) if shape else ()
        self.nbytes = math.prod(shape) * dtype.itemsize
        self.__array_interface__ = {"data": (0, False)}


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
        self.needs = [(ins.index(k), machine.checks[what]) for k, what in stage.needs]
        self.results = [(out.shape, np.dtype(sink.dtype)) for out, sink in zip(outs, stage.body.sinks, strict=True)]
        self.ways: dict[Any, Way | None] = {}

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        outs = [self.empty(shape, dtype) for shape, dtype in self.results]
        if 0 in self.stage.shape:
            return outs[0] if len(outs) == 1 else outs
        given = self.given(arrays)
        key = tuple([a.strides for a in given])
        try:
            way = self.ways[key]
        except KeyError:
            way = self.ways[key] = self._way(given, outs)
        if way is None or not all(holds(given[at]) for at, holds in self.needs):
            return self.fallback(xp, *given)
        begun = time.perf_counter() if profile.active() else 0.0
        way.run(given, outs)
        if begun:
            moved = sum(a.nbytes for a in (*given, *outs))
            profile.record(self.name, way.seconds, time.perf_counter() - begun, moved)
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
            return self.machine.way_of(self.stage, self.place, arrays, outs)
        except CannotPrint as error:
            notices.notice(error.message, error.message)
            return None


class Standalone:
    """Compiled code that is no stage, on arrays in these spaces, and the array code where it cannot be printed."""

    def __init__(
        self, machine: Machine, name: str, made: Callable[..., Any], plain: Callable[..., Any], ins: tuple[Tensor, ...]
    ) -> None:
        self.machine, self.name, self.plain, self.ins = machine, name, plain, ins
        self.made: Callable[..., Any] | None = made

    def prepared(self) -> str | None:
        """Compile for arrays in its spaces; the text, or None where the array code runs or other programs do the work."""
        prepare = getattr(self.made, "prepared", None)
        try:
            return None if prepare is None else prepare(self.ins)
        except CannotPrint as error:
            self._cannot(error)
            return None

    def _cannot(self, error: CannotPrint) -> None:
        notices.notice(error.message, error.message)
        self.made = None

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        if self.made is not None:
            try:
                return self.made(xp, *self.machine.prepared(arrays))
            except CannotPrint as error:
                self._cannot(error)
        return self.plain(xp, *arrays)
