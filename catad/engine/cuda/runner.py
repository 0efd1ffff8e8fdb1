"""Running stages and single boxes on a device: compile once for the way in which arrays lie, call, fall back.

Boxes that cannot be compiled run by their array code, with one notice that names them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from catad.category.spaces import Tensor
from catad.engine import profile
from catad.engine.cuda.kernel import Compiled, Device, Strides, Way
from catad.engine.stages.layout import strides_of
from catad.errors import CannotPrint
from catad.errors.notices import tell

T = TypeVar("T")


def _timed(device: Device, name: str, run: Callable[[], T], about: Callable[[T], tuple[Iterable[float], int]]) -> T:
    """What compiled code makes; the open profiles are told the time, and what compiling took and the bytes, by `about`."""
    took = device.clock()
    made = run()
    seconds, moved = about(made)
    profile.record(name, seconds, took(), moved, device.copy_bandwidth)
    return made


class StageRunner:
    """A stage, or several that share rows, ready to run: one array for each wire that it reads, in the spaces `ins`, one result
    for each that it writes.

    `make` compiles for arrays and results with some strides; where it gives None, the array code runs, or the stages that are
    `apart`.
    """

    def __init__(
        self,
        device: Device,
        name: str,
        make: Callable[[Strides, Strides], Way | None],
        fallback: Callable[..., Any],
        spaces: tuple[Sequence[Tensor], Sequence[Tensor]],
        apart: Sequence[StageRunner] = (),
    ) -> None:
        self.device, self.name, self.make, self.fallback, self.apart = device, name, make, fallback, apart
        self.ins, self.outs = spaces
        self.nothing = not any(space.size for space in self.outs)  # there is no number to compute
        self.ways: dict[Strides, Way | None] = {}

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        outs = [self.device.empty(space.shape, space.dtype) for space in self.outs]
        if not self.nothing:
            given = self.device.prepared(arrays)
            key = tuple([a.strides for a in given])
            way = self._way(key)
            if way is None:
                return self.fallback(xp, *given)
            try:
                if profile.active():
                    moved = sum([a.nbytes for a in (*given, *outs)])
                    _timed(self.device, self.name, lambda: way.run(given, outs), lambda _: ((way.seconds,), moved))
                else:
                    way.run(given, outs)
            except CannotPrint as error:  # of a device that cannot hold the code
                tell(self.name, error)
                self.ways[key] = None
                return self.fallback(xp, *given)
        return outs[0] if len(outs) == 1 else outs

    def prepared(self) -> str | None:
        """Compile for contiguous arrays; the text, or None where the array code runs."""
        way = self._way(tuple(map(strides_of, self.ins)))
        if way is not None:
            return way.text
        texts = [one.prepared() for one in self.apart]
        return "\n".join([text for text in texts if text is not None]) if texts and None not in texts else None

    def _way(self, strides: Strides) -> Way | None:
        if strides not in self.ways:
            try:
                self.ways[strides] = self.make(strides, [*map(strides_of, self.outs)])
            except CannotPrint as error:
                tell(self.name, error)
                self.ways[strides] = None
        return self.ways[strides]


class Standalone:
    """Compiled code that is no stage, and the array code where it cannot be printed."""

    def __init__(self, device: Device, name: str, made: Compiled, plain: Callable[..., Any]) -> None:
        self.device, self.name, self.plain = device, name, plain
        self.made: Compiled | None = made
        self.ahead = False  # whether it was compiled before a call was timed

    def prepared(self) -> str | None:
        """Compile; the text, or None where the array code runs."""
        try:
            return None if self.made is None else self.made.prepared()
        except CannotPrint as error:
            self._cannot(error)
            return None

    def _cannot(self, error: CannotPrint) -> None:
        tell(self.name, error)
        self.made = None

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        if self.made is not None:
            try:
                return self._run(self.made, xp, self.device.prepared(arrays))
            except CannotPrint as error:
                self._cannot(error)
        return self.plain(xp, *arrays)

    def _run(self, made: Compiled, xp: Any, given: Sequence[Any]) -> Any:
        if not profile.active():
            return made(xp, *given)
        if not self.ahead:
            made.prepared()
            self.ahead = True

        def about(result: Any) -> tuple[Iterable[float], int]:
            return made.seconds, made.moved(given, result if isinstance(result, (list, tuple)) else [result])

        return _timed(self.device, self.name, lambda: made(xp, *given), about)
