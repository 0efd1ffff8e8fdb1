"""Loops whose steps are pointwise over many lanes: some lanes take all their steps before others begin, and threads share lanes.

So states stay in the cache from step to step, and what is read and written are inputs and results.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from catad.category.spaces import Tensor
from catad.category.wiring import Wiring
from catad.engine.cpu.run import pool, threads
from catad.engine.cpu.whole.compiled_text import CompiledFunction
from catad.engine.cpu.whole.nested import Loop
from catad.engine.cpu.whole.shared_kernels import call_part, table_of
from catad.engine.cpu.whole.text import Arrays, Buffer, Text
from catad.errors import CannotPrint
from catad.vector.loops.sweep_map import Sweep
from catad.vector.pointwise.map import Map

LANES = 256  # that take their steps together: their numbers fit the nearest cache
ROOM = 1 << 14  # bytes of one number of all of them


class _LanesLoop(Loop):
    """A loop over the lanes from one on; what has no lanes is the same for all."""

    def __init__(self, text: Text, box: Sweep, shape: tuple[int, ...], start: str, arrays: tuple[Arrays, Arrays]) -> None:
        self.shape, self.start = shape, start
        self.ends: list[tuple[Buffer, Tensor]] = []
        super().__init__(text, box, *arrays)

    def body(self) -> Wiring:
        """The wiring of a step of a block of lanes."""
        whole = super().body()
        pointwise = all(isinstance(box.primitive, Map) or not box.ins for box in whole.boxes)
        if not pointwise or any(space.shape not in (self.shape, ()) for space in whole.wires):
            raise CannotPrint("a step that is not pointwise", "lanes would depend on each other")
        wires = tuple([self._block(space) for space in whole.wires])
        if any(box.outs and whole.wires[box.outs[0]].shape for box in whole.boxes if not box.ins):
            raise CannotPrint("a constant array in a step", "it would be cut")
        return Wiring(whole.dom, whole.cod, wires, whole.inputs, whole.boxes, whole.outputs)

    def _block(self, space: Tensor) -> Tensor:
        return Tensor((LANES,), space.dtype) if space.shape else space

    def begin(self, space: Tensor, goal: Buffer, old: Buffer | None) -> None:
        """The beginning of a state or a sum, beside where its end belongs."""
        if not space.shape:
            raise CannotPrint("a state without lanes", "all lanes would change it")
        block = self._block(space)
        here = self.text.buffer(block)
        place = self.at(goal, space, "0")
        if old is None:
            self.text.clear(here.pointer, block.nbytes)
        else:
            self.text.copy(self.at(old, space, "0").pointer, here.pointer, block.nbytes)
        super().begin(block, here, here)
        self.ends.append((place, block))

    def at(self, buffer: Buffer, leaf: Tensor, i: str) -> Buffer:
        """The lanes of the block in what one step reads or writes of a stack."""
        if not leaf.shape:
            return super().at(buffer, leaf, i)
        place = self.text.at(buffer.pointer, [i, self.start], [leaf.nbytes, leaf.dtype.itemsize])
        return Buffer(place, LANES * leaf.dtype.itemsize)

    def finish(self) -> None:
        """Write the ends where they belong."""
        for one, (place, block) in zip(self.carried, self.ends, strict=True):
            self.text.copy(one.first.pointer, place.pointer, block.nbytes)


class LanesSweep(CompiledFunction):
    """A `Sweep` over lanes; raises CannotPrint where its step is not pointwise."""

    bounds = 4  # the first lane, the last, and two numbers that do not matter

    def __init__(self, box: Sweep, ins: tuple[Tensor, ...]) -> None:
        shape = max([space.shape for space in box.state.leaves], key=lambda one: int(np.prod(one)), default=())
        self.size = int(np.prod(shape))
        if type(box) is not Sweep or self.size < LANES or any(leaf.shape for leaf in box.output.leaves if leaf.shape != shape):
            raise CannotPrint("a loop with few lanes", "a block of lanes takes its steps together")
        text = Text(small=ROOM, calls=False)
        text.times = self.size // LANES
        read = [(Buffer(text.entry(), space.nbytes), space) for space in ins]
        made = [(Buffer(text.entry(), space.nbytes), space) for space in box.typed(ins)]

        def block(first: str) -> None:
            start = text.w.least(first, str(self.size - LANES))  # the last block begins where one ends with the lanes
            one = _LanesLoop(text, box, shape, start, (read, made))
            one.write(text.length(box.n))
            one.finish()

        text.w.loop("%first", "%last", block, LANES)
        if text.room or text.errors:
            raise CannotPrint("a step with many numbers for each lane", "they do not fit the nearest cache")
        self.printed, self.work = text.text("i64 %first", "i64 %last", "i64 %c", "i64 %d"), text.work
        self.lengths, self.constants = text.lengths, text.constants

    def write(self, text: Text, read: Arrays, made: Arrays) -> None:
        """Write its call, on contiguous arrays."""
        error = text.w.slot("i64", 2)
        entries = [f"ptr {one}" for one in (*[buffer.pointer for buffer, _ in (*read, *made)], error, error)]
        entries += [f"i64 {n}" for n in (1, *self.lengths)]
        table = table_of(text, [*entries, *[f"ptr {text.constant(one).pointer}" for one in self.constants]])
        call_part(text, self, text.kernel(self.code, "kernel", self.work), table, [0, self.size, 0, 0])

    def listed(self) -> Any:
        """The lanes of each thread as the pool reads them."""
        return pool.listed([(first, last, 0, 0) for first, last in threads.chunks(self.size, LANES, LANES)])
