"""Running the steps of an engine on arrays: registers, constants, programs within programs.

A run knows when a wire is read for the last time, so that its memory is free again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from catad.arrays import Array, apart, read_only
from catad.boxes import Nesting, Running
from catad.engine.backend import Step
from catad.wiring import Wiring


class Run:
    """Steps over numbered registers, and the constants among these."""

    __slots__ = ("_constants", "count", "inputs", "nesting", "outputs", "steps")

    def __init__(self, wiring: Wiring, steps: Sequence[Step]) -> None:
        names: dict[int, int] = {}
        self.inputs = tuple([names.setdefault(k, len(names)) for k in wiring.inputs])
        last: dict[int, int] = {}
        for i, (_, ins, outs) in enumerate(steps):
            for k in (*ins, *outs):
                last[k] = i
                names.setdefault(k, len(names))
        used = {*last, *wiring.outputs}
        fixed = [box for box in wiring.boxes if not box.ins and not used.isdisjoint(box.outs)]
        kept = {*wiring.outputs, *[k for box in fixed for k in box.outs]}
        for k in kept:
            names.setdefault(k, len(names))
        self.outputs = tuple([names[k] for k in wiring.outputs])
        self.count = len(names)
        self.steps = tuple(
            [
                (
                    kernel,
                    tuple([names[k] for k in ins]),
                    tuple([names[k] for k in outs]),
                    tuple([names[k] for k in dict.fromkeys((*ins, *outs)) if last[k] == i and k not in kept]),
                )
                for i, (kernel, ins, outs) in enumerate(steps)
            ]
        )
        self.nesting = any(_nested(kernel) is not None for kernel, _, _ in steps)
        self._constants: dict[Any, list[Any]] = {None: [(names[box.outs[0]], box.primitive) for box in fixed]}

    def registers(self, xp: Any, leaves: Sequence[Array]) -> list[Any]:
        """Registers with the arguments and the constants in their places, the latter moved to the device once."""
        found = self._constants.get(xp)
        if found is None:
            found = [None] * self.count
            for at, primitive in self._constants[None]:
                found[at] = read_only(primitive.evaluate(xp))
            self._constants[xp] = found
        at = found.copy()
        for k, leaf in zip(self.inputs, leaves, strict=True):
            at[k] = leaf
        return at

    def constants(self, xp: Any) -> list[Array]:
        """The constants, once the program has run."""
        return [self._constants[xp][at] for at, _ in self._constants[None]]

    def __call__(self, xp: Any, leaves: Sequence[Array]) -> list[Array]:
        made: list[Array]
        with np.errstate(all="ignore"):
            made = finished(self.running(xp, leaves), xp) if self.nesting else self.straight(xp, leaves)
        return made

    def straight(self, xp: Any, leaves: Sequence[Array]) -> list[Array]:
        """The steps one after the other, where none runs programs."""
        at = self.registers(xp, leaves)
        for kernel, ins, outs, dead in self.steps:
            result = kernel(xp, *[at[k] for k in ins])
            if len(outs) == 1:
                at[outs[0]] = result
            else:
                for k, part in zip(outs, result, strict=True):
                    at[k] = part
            for k in dead:
                at[k] = None
        return self._results(xp, at)

    def running(self, xp: Any, leaves: Sequence[Array]) -> Running:
        """The same, asking for each program that runs within."""
        at = self.registers(xp, leaves)
        for kernel, ins, outs, dead in self.steps:
            primitive = _nested(kernel)
            if primitive is None:
                result = kernel(xp, *[at[k] for k in ins])
            else:
                result = yield from primitive.running(xp, *[at[k] for k in ins])
            for k, part in zip(outs, result if len(outs) > 1 else (result,), strict=True):
                at[k] = part
            for k in dead:
                at[k] = None
        return self._results(xp, at)

    def _results(self, xp: Any, at: list[Any]) -> list[Array]:
        results = [at[k] for k in self.outputs]
        return results if xp is np else apart(results, self.constants(xp))  # those of NumPy are known later, by being read-only


def _nested(kernel: Any) -> Nesting | None:
    """The primitive whose evaluation a kernel is, where that runs programs."""
    owner = getattr(kernel, "__self__", None)
    return owner if isinstance(owner, Nesting) else None


def finished(running: Running, xp: Any) -> Any:
    """What a generator returns that asks for programs to be run. These may ask for others: they wait on a stack of their own."""
    stack, sent = [running], None
    while True:
        try:
            program, leaves = stack[-1].send(sent)  # type: ignore[arg-type]  # None starts a generator
        except StopIteration as stop:
            stack.pop()
            sent = stop.value
            if not stack:
                return sent
            continue
        run = program.ready(xp, leaves)
        if run.nesting:
            stack.append(run.running(xp, leaves))
            sent = None
        else:
            sent = run.straight(xp, leaves)
        del leaves  # the arrays are free when their last reader has run
