"""A whole program as one compiled function, and how it is called."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from catad.category.boxes import Nesting, Primitive
from catad.category.spaces import Product, Tensor
from catad.category.wiring import Wiring
from catad.engine import profile
from catad.engine.backend import Step
from catad.engine.cpu.engine import THREADED
from catad.engine.cpu.run import blas
from catad.engine.cpu.run.kernel import packed
from catad.engine.cpu.run.pool import POOL
from catad.engine.cpu.run.threads import get_num_threads
from catad.engine.cpu.whole import bounded as bounded  # its writers are known by being imported
from catad.engine.cpu.whole import by_bin as by_bin
from catad.engine.cpu.whole import sorting as sorting
from catad.engine.cpu.whole.callbacks import Clock, raised
from catad.engine.cpu.whole.compiled_text import CompiledFunction, as_they_lie
from catad.engine.cpu.whole.lanes import LanesSweep
from catad.engine.cpu.whole.parallel_units import STANDALONE
from catad.engine.cpu.whole.program import write_program
from catad.engine.cpu.whole.rewrite import accumulated, adding_up
from catad.engine.cpu.whole.text import UNLIKE, Buffer, Text
from catad.engine.program import program_of
from catad.engine.reference import REFERENCE
from catad.engine.run import Run
from catad.errors import CannotPrint
from catad.errors.notices import tell
from catad.linear.families.clear import Cleared, ClearedAt
from catad.linear.families.reindex import Reshaped
from catad.scalar import STOP_FLAG
from catad.values import buffers
from catad.values.buffers import HEAD, address
from catad.vector.folds.entry_sum import Summed
from catad.vector.indexing.overwrite import Added, AddedAt, Overwritten, OverwrittenAt
from catad.vector.loops.sweep_map import Sweep


class Whole(CompiledFunction):
    """A wiring as one function; raises CannotPrint where a part of it has no code.

    `plain` runs instead where the function gives up, at an index out of range, say: it raises the error.
    """

    quiet = True

    def __init__(self, wiring: Wiring, plain: Callable[..., Any]) -> None:
        self.clock = Clock() if profile.active() else None
        text = Text(clock=self.clock)
        self.plain, self.taken, self.outs = plain, wiring.spaces(wiring.inputs), wiring.spaces(wiring.outputs)
        spaces = [*self.taken, *self.outs]
        own = [Buffer(name, space.nbytes) for name, space in zip(text.arrays(len(spaces)), spaces, strict=True)]
        write_program(text, wiring, own[: len(self.taken)], own[len(self.taken) :])
        text.tick()
        self.printed, self.room, self.work = text.text(), text.room, text.work
        self.numbers = [k for k, space in enumerate(self.taken) if not space.shape]
        large = [space.nbytes >= buffers.LARGE for space in self.outs]
        self.made = [(buffers.empty if far else np.empty, s.shape, s.dtype) for s, far in zip(self.outs, large, strict=True)]
        self.unchecked = text.checks  # boxes within check the values of a first call of the array code
        self.constants, self.errors, self.outsiders = text.constants, text.errors, text.outsiders
        functions = [*map(blas.address, text.externals), *[one.address for one in text.outsiders]]
        self.passes = text.passes
        self.shares, self.kernels, self.first = text.shares, text.kernels, [*text.lengths, *functions]
        self.quick = [(code, work) for (code, _), work in text.kernels.items() if work and code.left]  # compiled in full later
        self.frames: list[_Frame] = []  # that no call uses now
        self.endless = [code.stop for code, _ in text.kernels if code.stop is not None]  # loops that Ctrl-C is to end
        self.is_plain = not self.outsiders and not self.endless and STOP_FLAG not in self.printed
        self.may_repeat = not text.runs_boxes  # it has no effect besides its results

    def _frame(self, count: int) -> _Frame:
        """What a call on so many threads needs, filled but for what it brings."""
        own = self.code
        if own.left and all(code is not own for code, _ in self.quick):
            own.account(self.work)
            self.quick.append((own, self.work))
        kernels = [code.modules[-1].address(name) for code, name in self.kernels]
        error = packed([0, 0])
        shares = [call.listed() for call in self.shares]
        if shares:
            POOL.grow(count - 1)
            kernels += [POOL.code.modules[-1].address("share"), POOL.at, *map(address, shares)]
        rest = [count, id(np.ndarray), *self.first, *kernels, *map(address, self.constants)]
        table = packed([0, 0, error.buffer_info()[0], *rest])
        room = None
        if 0 < self.room <= KEPT:
            room = buffers.empty((self.room,), _BYTES)
            table[1] = address(room)
        return _Frame(table, table.buffer_info()[0], error, own.calls["kernel"], count, (room, shares))

    def _settle(self) -> None:
        """Compile code in full that has run often enough."""
        for code, work in self.quick:
            if code.left:
                code.account(work)
        self.quick = [(code, work) for code, work in self.quick if code.left]
        self.frames.clear()

    def compile(self, in_full: bool = True) -> None:
        """Compile all of it, if need be to quick code."""
        codes = [self.code, *[code for code, _ in self.kernels]]  # each has code once it is made
        for code in codes if in_full else ():
            code.complete()

    def described(self) -> list[tuple[str, bool, str | None]]:
        """The passes: the name, whether its code is compiled, and its text; the first has that of the function, too."""
        texts = ["\n".join([one.text for one in own.own]) for own in self.passes]
        texts[:1] = ["\n".join([self.printed, *texts[:1]])]
        return [(one.name, one.compiled, text if one.compiled else None) for one, text in zip(self.passes, texts, strict=False)]

    def _record(self, ticks: Sequence[float]) -> None:
        """Tell the open profiles what the passes took."""
        for k, (one, begin, end) in enumerate(zip(self.passes, ticks, ticks[1:], strict=False)):
            codes = [*one.own] if k else [self.code, *one.own]
            profile.record(one.name, [code.seconds for code in codes], end - begin, one.nbytes, start=begin)

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        made = self.made_of(arrays)
        if made is None:
            self.unchecked = False
            return self.plain(xp, *arrays)
        return made[0] if len(made) == 1 else made

    def made_of(self, arrays: Sequence[Any]) -> list[Any] | None:
        """The results, new arrays; None where the array code must run instead."""
        if self.unchecked:
            return None
        if self.quick:
            self._settle()
        count, frame = get_num_threads(), None
        try:  # noqa: SIM105 (`suppress` takes longer than all else)
            frame = self.frames.pop()
        except IndexError:  # asked like this, since threads may share the last one
            pass
        if frame is None or frame.threads != count or (self.shares and POOL.helpers < count - 1):  # a fork has no helpers
            frame = self._frame(count)
        table, outs = frame.table, [make(shape, dtype) for make, shape, dtype in self.made]
        given = [*arrays, *outs]
        for k in self.numbers:
            if type(given[k]) is not np.ndarray:
                given[k] = np.asarray(given[k])
        if HEAD:
            table[0] = id(given)
        else:
            places = packed([*map(address, as_they_lie(given))])
            table[0] = places.buffer_info()[0]
        if self.room > KEPT:
            room = buffers.empty((self.room,), _BYTES)
            table[1] = address(room)
        if self.is_plain:
            frame.call(frame.where)
        else:
            self._watched(frame)
        if frame.error[0]:
            found, about = frame.error
            if found == UNLIKE:
                frame.error[0] = 0
                self.frames.append(frame)
                return self.made_of(as_they_lie(arrays))
            if found > 1:
                self.errors[found - 2](about)
            return None
        self.frames.append(frame)
        return outs

    def _watched(self, frame: _Frame) -> None:
        """Run what may be stopped, what calls functions of Python, or is timed."""
        error = frame.error.buffer_info()[0]
        try:
            call = partial(frame.call, frame.where)
            for stop in (self.code.stop, *self.endless):
                call = call if stop is None else partial(stop.run, call)
            call()
        finally:
            interrupt = raised.pop(error, None) if self.outsiders else None
            ticks = self.clock.ticks.pop(error, []) if self.clock is not None else []
        if interrupt is not None:
            raise interrupt
        if ticks:
            self._record(ticks)


class _Frame(NamedTuple):
    """What a call has for itself: its table and where that lies, the place for its error, the function, the number of threads,
    and what the table refers to: memory for arrays within the program, where that is small, and parts of passes.
    """

    table: array[int]
    where: int
    error: array[int]
    call: Callable[[int], None]
    threads: int
    kept: Any


KEPT = 1 << 16  # bytes of memory that stays with a frame
_BYTES = np.dtype(np.int8)


def lanes(primitive: Primitive, ins: tuple[Tensor, ...]) -> LanesSweep | None:
    """A loop with long steps that are pointwise, in blocks of lanes; None for others."""
    if not isinstance(primitive, Sweep) or largest(primitive) < THREADED:
        return None
    try:
        return LanesSweep(primitive, ins)
    except CannotPrint:
        return None


STANDALONE[Sweep] = lanes


def steps(wiring: Wiring) -> list[Step]:
    """One step for all of a wiring; several where a part of it has no code, or where it is too long for one function."""
    if not any(box.ins for box in wiring.boxes):
        return []
    try:
        plain = Run(wiring.inputs, wiring.outputs, REFERENCE.steps(wiring), wiring.boxes)
        return [(Whole(wiring, _several(plain)), wiring.inputs, wiring.outputs)]
    except CannotPrint as error:
        places = [i for i, box in enumerate(wiring.boxes) if box.ins]
        if len(places) == 1:
            box = wiring.boxes[places[0]]
            tell(type(box.primitive).__name__, error)
            return [(box.primitive.kernel(wiring.spaces(box.ins)), box.ins, box.outs)]
        ends = [places[len(places) // 2]] if len(places) > FEW else _around(wiring, places)
        return [step for a, b in pairwise([0, *ends, len(wiring.boxes)]) if a < b for step in steps(part(wiring, a, b))]


FEW = 64  # boxes among which those without code are looked for one by one


def _around(wiring: Wiring, places: Sequence[int]) -> list[int]:
    """Where a wiring is to be cut so that boxes without code stand alone; its middle where all have code."""
    found = list[int]()
    for i in places:
        try:
            own = part(wiring, i, i + 1)
            Whole(own, len)
        except CannotPrint:
            found += [i, i + 1]
    return found or [places[len(places) // 2]]


def part(wiring: Wiring, first: int, last: int) -> Wiring:
    """The boxes from the first to the one before the last, as a wiring of their own with the same numbers of wires."""
    own = wiring.boxes[first:last]
    made = {k for box in own for k in box.outs}
    later = {*wiring.outputs, *[k for box in wiring.boxes[last:] for k in box.ins]}
    read = dict.fromkeys([k for box in own for k in box.ins if k not in made])
    fixed = [box for box in wiring.boxes[:first] if not box.ins and not read.keys().isdisjoint(box.outs)]
    ins = tuple([k for k in read if not any(k in box.outs for box in fixed)])
    outs = tuple([k for box in own if box.ins for k in box.outs if k in later])
    dom, cod = Product(wiring.spaces(ins)), Product(wiring.spaces(outs))
    return Wiring(dom, cod, wiring.wires, ins, (*fixed, *own), outs)


def _several(plain: Run) -> Callable[..., Any]:
    def run(xp: Any, *arrays: Any) -> Any:
        made = plain(xp, arrays)
        return made[0] if len(made) == 1 else made

    return run


def largest(primitive: Nesting) -> int:
    """The numbers that the largest pass within a box makes."""
    found = 0
    for _, term, dom in primitive.programs():
        wiring = program_of(term, dom)[0].wiring
        wiring = accumulated(adding_up(wiring, 0, len(wiring.outputs)) if isinstance(primitive, Summed) else wiring)
        for box in wiring.boxes:
            if isinstance(box.primitive, Nesting):
                found = max(found, largest(box.primitive))
            elif box.ins and not isinstance(box.primitive, IN_PLACE):
                found = max([found, *[wiring.wires[k].size for k in box.outs]])
    return found


IN_PLACE = (Added, Overwritten, OverwrittenAt, AddedAt, Cleared, ClearedAt, Reshaped)
