"""Running a stage: lay the loops over the arrays at hand, compile once, fill in the table, call.

What cannot be compiled is run by the reference engine, with one notice that names it.
"""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from catad.engine import notices
from catad.engine.cpu import buffers, profile, target, threads
from catad.engine.cpu.apart import apart
from catad.engine.cpu.folds import TILE, Folds
from catad.engine.cpu.keys import key_of
from catad.engine.cpu.nest import Nest
from catad.engine.cpu.plan import FOLDS, LINE, POINTS, Kernel, Layout, Ready, layout
from catad.errors import CannotPrint
from catad.spaces import Tensor

GRAIN = 1 << 16  # below this many indices one thread is faster (measured on 2-core x86-64 machines)
STREAMED = 1 << 24  # bytes of results from which on they are written past the caches
_Call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 4)


class Compiled:
    """A kernel as machine code."""

    __slots__ = ("__weakref__", "call", "finish", "kernel", "module", "seconds", "states")

    def __init__(self, kernel: Kernel) -> None:
        begun = time.perf_counter()
        self.kernel = kernel
        nest = self._nest()
        self.module = target.compiled(nest.text, nest.entries, key_of(type(nest), kernel))
        self.call = _Call(self.module.address("kernel"))
        self.finish = _Call(self.module.address("finish")) if "finish" in nest.entries else None
        self.states = len(nest.states) if isinstance(nest, Folds) else 0
        self.seconds = time.perf_counter() - begun

    @property
    def text(self) -> str:
        """The LLVM text."""
        return self._nest().text()

    def _nest(self) -> Nest:
        return Folds(self.kernel) if self.kernel.kind == FOLDS else Nest(self.kernel)


_compiled: WeakValueDictionary[Kernel, Compiled] = WeakValueDictionary()  # for as long as a stage holds it


def compiled(kernel: Kernel) -> Compiled:
    """The machine code of a kernel, made once in a process."""
    found = _compiled.get(kernel)
    if found is None:
        found = _compiled[kernel] = Compiled(kernel)
    return found


class Call:
    """A laid-out kernel: the table but for the addresses, and how the work is shared among threads."""

    __slots__ = ("bases", "code", "offsets", "pieces", "rows", "table", "tiles", "work")

    def __init__(self, how: Layout, indices: Sequence[bool]) -> None:
        self.code = compiled(how.kernel)
        sizes = [loop.size for loop in how.loops]
        self.table, self.bases = list(sizes), []
        self.offsets = how.offsets
        for j, offset in enumerate(how.offsets):
            self.bases.append(len(self.table))
            self.table += [offset if indices[j] else 0, *[loop.strides[j] for loop in how.loops]]
        for guard in range(how.kernel.body.guards):
            for loop in how.loops:
                self.table += loop.guards[guard] or (0, loop.size)
        for pair in how.indexed:
            self.table += pair
        self.work = math.prod(sizes)
        self.pieces = (how.kernel, sizes)
        self.rows = math.prod(sizes[: how.kernel.outer])
        self.tiles = -(-sizes[-1] // TILE) if how.kernel.kind == FOLDS else 1

    def ranges(self) -> list[tuple[int, int, int, int]]:
        """What each thread does: a range of rows, and a range of the innermost loop."""
        kernel, sizes = self.pieces
        rows, inner = self.rows * self.tiles, sizes[-1]
        count = threads.get_num_threads() if self.work >= GRAIN else 1
        if count == 1:
            return [(0, rows, 0, inner)]
        if rows >= count:
            return [(a, b, 0, inner) for a, b in threads.chunks(rows, 1, 1)]
        if kernel.kind in (LINE, FOLDS):
            return [(0, rows, 0, inner)]
        return [(0, rows, a, b) for a, b in threads.chunks(inner, 64)]


class _Shape:
    """How a contiguous array would lie in memory."""

    __slots__ = ("__array_interface__", "nbytes", "strides")

    def __init__(self, space: Tensor) -> None:
        steps = [space.dtype.itemsize]
        for n in reversed(space.shape[1:]):
            steps.append(steps[-1] * max(n, 1))
        self.strides = tuple(reversed(steps[: space.ndim])) if space.ndim else ()
        self.nbytes = space.size * space.dtype.itemsize
        self.__array_interface__ = {"data": (0, False)}


class StageKernel:
    """A stage ready to run on arrays: one array for each wire that it reads, one result for each that it writes."""

    def __init__(
        self, stage: Ready, ins: Sequence[int], shapes: Sequence[tuple[int, ...]], fallback: Callable[..., Any], name: str
    ) -> None:
        self.stage, self.ins, self.fallback, self.name = stage, tuple(ins), fallback, name
        self.place = [self.ins.index(p.wire) if p.wire >= 0 else -1 for p in stage.reads]
        self.normal = [self.ins.index(k) for k in stage.normal]
        self.results = [(shape, np.dtype(sink.dtype)) for shape, sink in zip(shapes, stage.body.sinks, strict=True)]
        self.indices = [source.is_index for source in stage.body.sources] + [False] * len(self.results)
        self.calls: dict[Any, Call | _InTwo | None] = {}

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        outs = [buffers.empty(shape, dtype) for shape, dtype in self.results]
        if 0 in self.stage.shape:
            return outs[0] if len(outs) == 1 else outs
        arrays = tuple([a if type(a) is np.ndarray and a.flags.aligned else _aligned(a) for a in arrays])
        key = tuple([a.strides for a in arrays])
        try:
            call = self.calls[key]
        except KeyError:
            call = self.calls[key] = self._call(arrays, outs)
        if call is None or not all(_normal(arrays[at]) for at in self.normal):
            return self.fallback(xp, *arrays)
        if isinstance(call, _InTwo):
            return call(xp, *arrays)
        table = call.table.copy()
        addresses = [_address(a) for a in arrays]
        for j, at in enumerate(self.place):
            if at >= 0:
                table[call.bases[j]] = addresses[at] + call.offsets[j]
        for j, out in enumerate(outs, len(self.place)):
            table[call.bases[j]] = _address(out) + call.offsets[j]
        if call.code.finish is not None:
            totals = np.empty(call.rows * call.tiles * call.code.states, np.int64)
            table += [_address(totals), call.tiles]
        packed = (ctypes.c_int64 * len(table))(*table)
        where, run = ctypes.addressof(packed), call.code.call
        begun = time.perf_counter() if profile.active() else 0.0
        ranges = call.ranges()
        if len(ranges) == 1:
            run(where, *ranges[0])
        else:
            threads.run([_bound(run, where, part) for part in ranges])
        if call.code.finish is not None:
            call.code.finish(where, 0, call.rows, 0, 0)
        if begun:
            moved = sum(a.nbytes for a in (*arrays, *outs))
            profile.record(self.name, call.code.seconds, time.perf_counter() - begun, moved)
        return outs[0] if len(outs) == 1 else outs

    def prepared(self, spaces: Sequence[Tensor]) -> str | None:
        """Compile for contiguous arrays in these spaces; the LLVM text, or None where the array code runs."""
        arrays = [_Shape(space) for space in spaces]
        outs = [_Shape(Tensor(shape, dtype)) for shape, dtype in self.results]
        key = tuple([a.strides for a in arrays])
        if key not in self.calls:
            self.calls[key] = self._call(arrays, outs)
        call = self.calls[key]
        if isinstance(call, _InTwo):
            return call.prepared(spaces)
        return None if call is None else call.code.text

    def _call(self, arrays: Sequence[Any], outs: Sequence[Any]) -> Call | _InTwo | None:
        strides = [arrays[at].strides if at >= 0 else (1,) for at in self.place] + [out.strides for out in outs]
        how = layout(self.stage, strides)
        if how is None:
            return _InTwo(self, strides)
        if _streams(how, outs):
            how = how._replace(kernel=how.kernel._replace(streaming=True))
        try:
            return Call(how, self.indices)
        except CannotPrint as error:
            notices.notice(str(error), str(error))
            return None


class _InTwo:
    """A stage that folds over axes that do not merge, as two stages or more."""

    def __init__(self, whole: StageKernel, strides: Sequence[Sequence[int]]) -> None:
        stage, shapes = whole.stage, [shape for shape, _ in whole.results]
        reads = strides[: len(stage.reads)]
        for last in reversed(range(1, len(stage.axis))):
            found = apart(stage, shapes, last)
            made = [
                _Shape(Tensor(shape, np.dtype(s.dtype)))
                for shape, s in zip(found.shapes, found.first.body.sinks, strict=True)
            ]
            if layout(found.first, [*reads, *[one.strides for one in made]]) is not None:
                break
        self.found, self.count = found, len(shapes)
        self.first = StageKernel(found.first, whole.ins, found.shapes, whole.fallback, whole.name)
        self.rest = []
        for one in found.rest:
            own = [shapes[j] for j in one.outs]
            self.rest.append(StageKernel(one.stage, range(len(one.reads)), own, whole.fallback, whole.name))

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        made = _several(self.first(xp, *arrays))
        outs: list[Any] = [None] * self.count
        for j, k in enumerate(self.found.outs):
            outs[k] = made[j]
        for one, kernel in zip(self.found.rest, self.rest, strict=True):
            for j, out in zip(one.outs, _several(kernel(xp, *[made[k] for k in one.reads])), strict=True):
                outs[j] = out
        return outs[0] if self.count == 1 else outs

    def prepared(self, spaces: Sequence[Tensor]) -> str | None:
        """Compile; the LLVM texts."""
        texts = [self.first.prepared(spaces)]
        made = [Tensor(shape, dtype) for shape, dtype in self.first.results]
        for one, kernel in zip(self.found.rest, self.rest, strict=True):
            texts.append(kernel.prepared([made[k] for k in one.reads]))
        return "\n".join([text for text in texts if text is not None]) or None


def _several(made: Any) -> list[Any]:
    return made if isinstance(made, list) else [made]


def _streams(how: Layout, outs: Sequence[Any]) -> bool:
    """Whether results are large enough to be written past the caches, and lie so that whole vectors are aligned.

    The layout is used again for other results of the same shapes: only large ones are sure to be aligned as `buffers` does it.
    """
    kernel, first = how.kernel, len(how.kernel.body.sources)
    if kernel.kind != POINTS or sum(out.nbytes for out in outs) < STREAMED or kernel.body.guards:
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


def _bound(run: Any, where: int, part: tuple[int, int, int, int]) -> Callable[[], object]:
    return lambda: run(where, *part)


def _address(array: Any) -> int:
    found: int = array.__array_interface__["data"][0]
    return found
