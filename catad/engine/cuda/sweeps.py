"""Loops whose steps are pointwise on a GPU: a thread takes all steps of a lane, and its states stay in registers.

Lanes do not depend on each other, so one launch runs all steps. At each step the threads of a warp read neighbouring numbers of
the inputs and write neighbouring numbers of the outputs. What has no axes is the same for all lanes: each thread computes it, and
that of the first lane writes it.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from catad.category.constant import Constant
from catad.category.spaces import Tensor
from catad.category.wiring import Wiring
from catad.engine.cuda.intrinsics import Simt
from catad.engine.cuda.kernel import Compiled, Device, code_of, contiguous, start
from catad.engine.cuda.maps import MOST_NUMBERS
from catad.engine.program import program_of
from catad.engine.text.binned import nth
from catad.engine.text.numbers import add, called, load, store
from catad.errors import CannotPrint
from catad.scalar import Function
from catad.scalar.printing.llvm_writer import Writer, literal, llvm_type
from catad.vector.loops.sweep_map import Sweep
from catad.vector.pointwise.map import Map


class Value(NamedTuple):
    """A value of a step: its dtype, and whether each lane has its own."""

    dtype: str
    own: bool


class Apply(NamedTuple):
    """A part of a step: a function of some values, or the text of a number, and the values that it makes."""

    function: Function | str
    ins: tuple[int, ...]
    outs: tuple[int, ...]


class Lanewise(NamedTuple):
    """A step: its values, its parts in their order, and what it is given and makes as `Sweep` says.

    `counts` are the numbers of leaves of the state, of what is given, and of the sums.
    """

    values: tuple[Value, ...]
    parts: tuple[Apply, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    counts: tuple[int, int, int]
    reverse: bool


def lanewise(wiring: Wiring, shape: tuple[int, ...], counts: tuple[int, int, int], reverse: bool) -> Lanewise | None:
    """The step of a loop over lanes of a shape; None where it is not pointwise, or cuts an array that is constant."""
    if any(space.shape not in (shape, ()) for space in wiring.wires):
        return None
    parts = list[Apply]()
    for box in wiring.boxes:
        primitive = box.primitive
        if isinstance(primitive, Map):
            parts.append(Apply(primitive.function, box.ins, box.outs))
        elif isinstance(primitive, Constant) and not wiring.wires[box.outs[0]].shape:
            (space,) = wiring.spaces(box.outs)
            value = primitive.evaluate(np)
            parts.append(Apply(literal(np.asarray(value).item(), space.dtype), (), box.outs))
        else:
            return None
    values = tuple([Value(space.dtype.str, bool(space.shape)) for space in wiring.wires])
    return Lanewise(values, tuple(parts), wiring.inputs, wiring.outputs, counts, reverse)


class Sweeps:
    """`kernel(table, pointers)`: the table has the numbers of lanes and of steps; pointers are arguments, then results."""

    threads = 64  # few, so that few lanes are spread over many processors

    def __init__(self, step: Lanewise, words: type[Simt] = Simt) -> None:
        self.step = step
        self.w = Writer(gpu=True)
        self.simt = words(self.w, self.threads)
        if len(step.inputs) + len(step.outputs) + 2 > MOST_NUMBERS:
            raise CannotPrint(
                f"a loop over {len(step.inputs) + len(step.outputs)} arrays", "a GPU's kernel takes fewer numbers"
            )

    def text(self) -> str:
        """The module."""
        w, step = self.w, self.step
        self.lanes, self.steps = [w.set(f"load i64, ptr {nth(w, '%t', _INT, str(k))}") for k in range(2)]
        k, _, sums = step.counts
        self.carried = [(v, np.dtype(step.values[v].dtype)) for v in step.outputs[: k + sums]]
        self.slots = [w.slot(llvm_type(dtype)) for _, dtype in self.carried]
        mine, together = self.simt.everywhere()
        w.loop(mine, self.lanes, self._lane, together)
        pointers = [f"ptr noalias readonly %in{j}" for j in range(len(step.inputs))]
        pointers += [f"ptr noalias %out{j}" for j in range(len(step.outputs))]
        return self.simt.module(2, pointers)

    def _lane(self, u: str) -> None:
        """All steps of a lane."""
        w, step, (k, given, _) = self.w, self.step, self.step.counts
        for j, (slot, (_, dtype)) in enumerate(zip(self.slots, self.carried, strict=True)):
            value = self._read(j, u) if j < k else literal(0, dtype)
            w.do(f"store {llvm_type(dtype)} {value}, ptr {slot}")
        fixed = {step.inputs[j]: self._read(j, u) for j in range(k, k + given)}

        with w.each("0", self.steps) as i:
            at = w.set(f"sub i64 {w.set(f'sub i64 {self.steps}, 1')}, {i}") if step.reverse else i
            self._step(u, at, dict(fixed))
        for j, (slot, (v, dtype)) in enumerate(zip(self.slots, self.carried, strict=True)):
            self._write(j, v, u, u, w.set(f"load {llvm_type(dtype)}, ptr {slot}"))

    def _step(self, u: str, at: str, found: dict[int, str]) -> None:
        w, step, (k, given, sums) = self.w, self.step, self.step.counts
        for j in range(k):
            found[step.inputs[j]] = self._now(j)
        row = w.set(f"add i64 {w.set(f'mul i64 {at}, {self.lanes}')}, {u}")
        for j in range(k + given, len(step.inputs)):
            found[step.inputs[j]] = self._read(j, row, at)
        for part in step.parts:
            if isinstance(part.function, str):
                found[part.outs[0]] = part.function
            else:
                dtypes = [np.dtype(step.values[v].dtype) for v in part.ins]
                made = called(w, part.function, dtypes, [found[v] for v in part.ins])
                found.update(zip(part.outs, made, strict=True))
        for j, v in enumerate(step.outputs[k + sums :], k + sums):
            self._write(j, v, u, row if step.values[v].own else at, found[v])
        for j, (slot, (v, dtype)) in enumerate(zip(self.slots, self.carried, strict=True)):
            value = found[v] if j < k else add(w, dtype, self._now(j), found[v])
            w.do(f"store {llvm_type(dtype)} {value}, ptr {slot}")

    def _now(self, j: int) -> str:
        return self.w.set(f"load {llvm_type(self.carried[j][1])}, ptr {self.slots[j]}")

    def _read(self, j: int, own: str, shared: str = "0") -> str:
        """The number of argument j for the lane: its own, or that of all lanes."""
        dtype, each = self.step.values[self.step.inputs[j]]
        return load(self.w, nth(self.w, f"%in{j}", np.dtype(dtype), own if each else shared), np.dtype(dtype))

    def _write(self, j: int, v: int, u: str, at: str, value: str) -> None:
        """A number of result j; of what all lanes share, the first lane writes it."""
        w, dtype = self.w, np.dtype(self.step.values[v].dtype)
        with nullcontext() if self.step.values[v].own else w.where(w.set(f"icmp eq i64 {u}, 0")):
            store(w, value, nth(w, f"%out{j}", dtype, at), dtype)


_INT = np.dtype(np.int64)


class LanesSweep(Compiled):
    """A `Sweep` over so many lanes."""

    def __init__(self, device: Device, box: Sweep, ins: tuple[Tensor, ...], step: Lanewise, lanes: int) -> None:
        self.device, self.lanes, self.n, self.outs = device, lanes, box.n, box.typed(ins)
        self.code = code_of(Sweeps, step, device.dialect)
        self.parts = (self.code,)

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        given = [contiguous(a) for a in arrays]
        outs = [self.device.empty(space.shape, space.dtype) for space in self.outs]
        start(self.device, self.code, self.lanes, array("q", [self.lanes, self.n]), (*given, *outs))
        return outs[0] if len(outs) == 1 else outs


def sweep(device: Device, box: Sweep, ins: tuple[Tensor, ...]) -> Compiled | None:
    """A kernel for a `Sweep` whose step is pointwise; None where it is not, or where no state has lanes."""
    wiring = program_of(box.body, box.dom)[0].wiring
    shape = _largest([space.shape for space in wiring.wires])
    counts = len(box.state.leaves), len(box.given.leaves), len(box.sums.leaves)
    step = lanewise(wiring, shape, counts, box.reverse)
    return None if step is None else LanesSweep(device, box, ins, step, math.prod(shape))


def _largest(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return max(shapes, key=lambda shape: (len(shape), math.prod(shape)), default=())
