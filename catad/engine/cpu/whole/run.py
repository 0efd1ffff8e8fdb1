"""A whole program as one compiled function, and how it is called."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from catad import buffers
from catad.boxes import Nesting, Primitive
from catad.buffers import address
from catad.engine.backend import Step
from catad.engine.cpu.engine import SMALL, THREADED
from catad.engine.cpu.run import blas
from catad.engine.cpu.run.kernel import packed
from catad.engine.cpu.run.threads import get_num_threads
from catad.engine.cpu.whole import bounded as bounded  # its writers are known by being imported
from catad.engine.cpu.whole import by_bin as by_bin
from catad.engine.cpu.whole import orders as orders
from catad.engine.cpu.whole import summed as summed
from catad.engine.cpu.whole.lanes import LanesSweep
from catad.engine.cpu.whole.outside import raised
from catad.engine.cpu.whole.printed import CompiledFunction, as_they_lie
from catad.engine.cpu.whole.program import write_program
from catad.engine.cpu.whole.rewrite import accumulated, adding_up
from catad.engine.cpu.whole.text import BOXES, Buffer, Text
from catad.engine.machine import Compiled, Known, constants, known
from catad.engine.reference import REFERENCE
from catad.engine.run import Run
from catad.errors import CannotPrint
from catad.late import late
from catad.linear.clear import Cleared, ClearedAt
from catad.linear.recurrence import Recurred
from catad.linear.reindex import Reshaped
from catad.linear.sweep import Sweep
from catad.spaces import Product, Tensor
from catad.vector.arg_extremum import ArgExtremumByBin
from catad.vector.by_bin import PrefixByBin
from catad.vector.entry_sum import Summed
from catad.vector.fold import Fold
from catad.vector.fold_by_bin import FoldByBin
from catad.vector.overwrite import Added, AddedAt, Overwritten, OverwrittenAt
from catad.vector.revolve import BoundedPullback
from catad.vector.scan import Scan
from catad.wiring import Box, Wiring


class Whole(CompiledFunction):
    """A wiring as one function; raises CannotPrint where a part of it has no code.

    `plain` runs instead where the function gives up, at an index out of range, say: it raises the error.
    """

    quiet = True

    def __init__(self, wiring: Wiring, plain: Callable[..., Any]) -> None:
        text = Text()
        self.plain, self.taken, self.outs = plain, wiring.spaces(wiring.inputs), wiring.spaces(wiring.outputs)
        given = [Buffer(text.entry(), space.nbytes) for space in self.taken]
        goals = [Buffer(text.entry(), space.nbytes) for space in self.outs]
        write_program(text, wiring, given, goals)
        self.printed, self.room, self.work = text.text(), text.room, text.work
        large = [space.nbytes >= buffers.LARGE for space in self.outs]
        self.made = [(buffers.empty if far else np.empty, s.shape, s.dtype) for s, far in zip(self.outs, large, strict=True)]
        self.unchecked = text.checks  # boxes within check the values of a first call of the array code
        self.constants, self.errors, self.outsiders = text.constants, text.errors, text.outsiders
        functions = [*map(blas.address, text.externals), *[one.address for one in text.outsiders]]
        self.kernels, self.first = text.kernels, [*text.lengths, *functions]
        self.quick = [(code, work) for (code, _), work in text.kernels.items() if work and code.left]  # compiled in full later
        self.frames: list[_Frame] = []  # that no call uses now

    def _frame(self) -> _Frame:
        """A table for a call, filled but for what the call brings, and the place for its error."""
        kernels = [code.modules[-1].address(name) for code, name in self.kernels]
        error = np.zeros(2, np.int64)
        places = [0] * (len(self.taken) + len(self.outs) + 1)
        rest = [address(error), get_num_threads(), *self.first, *kernels, *map(address, self.constants)]
        return _Frame(packed([*places, *rest]), error, len(places) + 1)

    def _settle(self) -> None:
        """Compile kernels in full that have run often enough."""
        for code, work in self.quick:
            code.account(work)
        self.quick = [(code, work) for code, work in self.quick if code.left]
        self.frames.clear()

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        if self.unchecked:
            self.unchecked = False
            return self.plain(xp, *arrays)
        if self.quick:
            self._settle()
        given = as_they_lie(arrays)
        outs = [make(shape, dtype) for make, shape, dtype in self.made]
        try:
            frame = self.frames.pop()
        except IndexError:  # asked like this, since threads may share the last one
            frame = self._frame()
        table, k = frame.table, 0
        for each in (*given, *outs):
            table[k] = address(each)
            k += 1
        if self.room:
            room = buffers.empty((self.room,), _BYTES)
            table[k] = address(room)
        table[frame.threads] = get_num_threads()
        try:
            self.code.run("kernel", table, [()], self.work)
        finally:
            interrupt = raised.pop(address(frame.error), None) if self.outsiders else None
        if interrupt is not None:
            raise interrupt
        if frame.error[0]:
            found, about = frame.error.tolist()
            if found > 1:
                self.errors[found - 2](about)
            return self.plain(xp, *arrays)
        self.frames.append(frame)
        return outs[0] if len(outs) == 1 else outs


class _Frame(NamedTuple):
    """What a call has for itself: its table, the place for its error, and the entry with the number of threads."""

    table: array[int]
    error: Any
    threads: int


_BYTES = np.dtype(np.int8)


def box_as_program(primitive: Primitive, ins: tuple[Tensor, ...], fixed: Known | None = None) -> Wiring:
    """The wiring of one box, in which the `fixed` arguments are what these constants give, whatever is passed."""
    outs, n = primitive.typed(ins), len(ins)
    given, made = tuple(range(n)), tuple(range(n, n + len(outs)))
    wires, boxes, read = [*ins, *outs], list[Box](), list(given)
    for k, constant in (fixed or {}).items():
        read[k] = len(wires)
        wires.append(ins[k])
        boxes.append(Box(constant, (), (read[k],)))
    boxes.append(Box(primitive, tuple(read), made))
    return Wiring(Product(ins), Product(outs), tuple(wires), given, tuple(boxes), made)


def loop(primitive: Sweep | BoundedPullback, ins: tuple[Tensor, ...], fixed: Known | None = None) -> Compiled | None:
    """A loop as one function, of which some arguments are known constants.

    None where a part has no code, or where a step that is not pointwise is long enough for threads.
    """
    try:
        if largest(primitive) >= THREADED:
            return LanesSweep(primitive, ins, primitive.evaluate) if isinstance(primitive, Sweep) else None
        return Whole(box_as_program(primitive, ins, fixed), primitive.evaluate)
    except CannotPrint:
        return None


def steps(wiring: Wiring) -> list[Step] | None:
    """One step for all of a wiring; where a part of it has no code, its boxes one by one, loops compiled.

    None where stages are worth compiling: where there are too many boxes with large arrays, or the array code of a box goes from
    element to element.
    """
    try:
        plain = Run(wiring.inputs, wiring.outputs, REFERENCE.steps(wiring), wiring.boxes)
        return [(Whole(wiring, _several(plain)), wiring.inputs, wiring.outputs)]
    except CannotPrint:
        own = [box for box in wiring.boxes if not isinstance(box.primitive, Nesting)]
        if any(isinstance(box.primitive, SERIAL) for box in own):
            return None
        if len(own) > BOXES and any(wiring.wires[k].size >= SMALL for box in own for k in (*box.ins, *box.outs)):
            return None
        found = constants(wiring)
        return [_step(wiring, box, found) for box in wiring.boxes if box.ins]


def _several(plain: Run) -> Callable[..., Any]:
    def run(xp: Any, *arrays: Any) -> Any:
        made = plain(xp, arrays)
        return made[0] if len(made) == 1 else made

    return run


def _step(wiring: Wiring, box: Box, found: Known) -> Step:
    ins = wiring.spaces(box.ins)
    made = loop(box.primitive, ins, known(box, found)) if isinstance(box.primitive, Sweep | BoundedPullback) else None
    return made or box.primitive.kernel(ins), box.ins, box.outs


def largest(primitive: Nesting) -> int:
    """The numbers that the largest pass within a box makes."""
    found = 0
    for _, term, dom in primitive.programs():
        wiring = late().program_of(term, dom)[0].wiring
        wiring = accumulated(adding_up(wiring, 0, len(wiring.outputs)) if isinstance(primitive, Summed) else wiring)
        for box in wiring.boxes:
            if isinstance(box.primitive, Nesting):
                found = max(found, largest(box.primitive))
            elif box.ins and not isinstance(box.primitive, IN_PLACE):
                found = max([found, *[wiring.wires[k].size for k in box.outs]])
    return found


SERIAL = (Scan, Fold, Recurred, PrefixByBin, FoldByBin, ArgExtremumByBin)
IN_PLACE = (Added, Overwritten, OverwrittenAt, AddedAt, Cleared, ClearedAt, Reshaped)
