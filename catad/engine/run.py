"""Running the steps of an engine on arrays: registers, constants, programs within programs.

A run knows when a wire is read for the last time, so that its memory is free again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from catad import errors
from catad.category.boxes import Nesting, Running
from catad.category.wiring import Box
from catad.engine.backend import Step
from catad.values.arrays import Array, apart, device_of, read_only

_Step = tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...], tuple[int, ...]]


class Run:
    """Steps over numbered registers: a callable, the registers that it reads, those that it writes, and those that are free then.

    `inputs` and `outputs` are wires; boxes without arguments are constants.
    """

    __slots__ = (
        "_constants", "_fixed", "_rest", "_segments", "alone", "count", "inputs", "nesting", "outputs", "quiet", "steps", "wires",
    )  # fmt: skip

    def __init__(
        self, inputs: Sequence[int], outputs: Sequence[int], steps: Sequence[Step], boxes: Sequence[Box] = ()
    ) -> None:
        names: dict[int, int] = {}
        self.inputs = tuple([names.setdefault(k, len(names)) for k in inputs])
        last: dict[int, int] = {}
        for i, (_, ins, outs) in enumerate(steps):
            for k in (*ins, *outs):
                last[k] = i
                names.setdefault(k, len(names))
        used = {*last, *outputs}
        fixed = [box for box in boxes if not box.ins and not used.isdisjoint(box.outs)]
        kept = {*outputs, *[k for box in fixed for k in box.outs]}
        for k in kept:
            names.setdefault(k, len(names))
        self.outputs = tuple([names[k] for k in outputs])
        self.count = len(names)
        self.wires = tuple(names)  # the wire of each register
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
        self._segments, self._rest = _segments(self.steps)
        self.nesting = bool(self._segments)  # whether a step runs programs
        self._fixed = tuple([(names[box.outs[0]], box.primitive) for box in fixed])
        self.alone = self._alone()
        self.quiet = getattr(self.alone, "quiet", False)  # it does no arithmetic of NumPy, about which that would warn
        self._constants: dict[Any, list[Array]] = {}

    def _alone(self) -> Callable[..., Any] | None:
        """The only step, where it reads the arguments and writes the results as they stand."""
        if len(self.steps) != 1 or self.nesting:
            return None
        ((kernel, ins, outs, _),) = self.steps
        return kernel if ins == self.inputs and outs == self.outputs else None

    def registers(self, xp: Any, leaves: Sequence[Array]) -> list[Any]:
        """Registers with the arguments and the constants in their places, the latter moved to the device once."""
        place = xp if xp is np else device_of(xp)
        found: list[Any] | None = self._constants.get(place)
        if found is None:
            found = [None] * self.count
            for at, primitive in self._fixed:
                found[at] = read_only(primitive.evaluate(xp))
            self._constants[place] = found
        registers = found.copy()
        for k, leaf in zip(self.inputs, leaves, strict=True):
            registers[k] = leaf
        return registers

    def compile(self, in_full: bool = True) -> None:
        """Compile what has code, without running it, if need be to quick code."""
        for kernel, *_ in self.steps:
            compile_ = getattr(kernel, "compile", None)
            if compile_ is not None:
                compile_(in_full)

    def constants(self, xp: Any) -> list[Array]:
        """The constants, once the program has run."""
        return [self._constants[xp if xp is np else device_of(xp)][at] for at, _ in self._fixed]

    def __call__(self, xp: Any, leaves: Sequence[Array]) -> list[Array]:
        """The results; raises OutOfMemoryError where arrays do not fit, and EngineError where CuPy lacks a library of CUDA."""
        made: list[Array]
        try:
            if xp is np and self.quiet:
                return self.straight(xp, leaves)
            with np.errstate(all="ignore"):
                made = finished(self.running(xp, leaves), xp) if self.nesting else self.straight(xp, leaves)
        except MemoryError as error:
            if isinstance(error, errors.CatadError):
                raise
            said = str(error)
        except (ImportError, RuntimeError) as error:
            if xp is np or not (isinstance(error, ImportError) or type(error).__name__ == "DynamicLibNotFoundError"):
                raise
            raise errors.EngineError(errors.lacks_library(str(error))) from None
        else:
            return made
        raise errors.OutOfMemoryError(errors.out_of_memory(said))  # out here it does not keep the arrays of the run

    def straight(self, xp: Any, leaves: Sequence[Array]) -> list[Array]:
        """The results, where no step runs programs."""
        if xp is np and self.alone is not None:
            made = self.alone(xp, *leaves)
            return [made] if len(self.outputs) == 1 else [one for one, _ in zip(made, self.outputs, strict=True)]
        return self.from_registers(xp, self.registers(xp, leaves))

    def from_registers(self, xp: Any, at: list[Any]) -> list[Array]:
        """The same from registers that nobody else holds: arguments are free when they have been read."""
        _through(self.steps, xp, at)
        return self._results(xp, at)

    def running(self, xp: Any, leaves: Sequence[Array]) -> Running:
        """The same, asking for each program that runs within."""
        at = self.registers(xp, leaves)
        del leaves
        for before, nested, (_, ins, outs, dead) in self._segments:
            _through(before, xp, at)
            inner = nested.running(xp, *[at[k] for k in ins])
            for k in dead:  # what is read for the last time is given away
                at[k] = None
            result = yield from inner
            del inner
            yield None, ()  # nobody but this holds the result then
            _through([(partial(_given, result), (), outs, dead)], xp, at)
            del result
        _through(self._rest, xp, at)
        return self._results(xp, at)

    def _results(self, xp: Any, at: list[Any]) -> list[Array]:
        results = [at[k] for k in self.outputs]
        return results if xp is np else apart(results, self.constants(xp))  # those of NumPy are known later, by being read-only


def _put(at: list[Any], outs: Sequence[int], result: Any) -> None:
    """Put what a step gives into its registers; nothing but these holds it afterwards."""
    if len(outs) == 1:
        at[outs[0]] = result
        return
    for k, part in zip(outs, result, strict=True):
        at[k] = part


def _through(steps: Sequence[_Step], xp: Any, at: list[Any]) -> None:
    """The one loop that runs boxes on arrays."""
    kernel: Any = None
    try:
        for kernel, ins, outs, dead in steps:
            _put(at, outs, kernel(xp, *[at[k] for k in ins]))
            for k in dead:
                at[k] = None
    except RuntimeError as error:
        if xp is np or "StreamCapture" not in str(error):  # how CUDA says that a stream is captured
            raise
        raise errors.EngineError(errors.waits_while_captured(f"{_name(kernel)}, for whose numbers the host waits")) from None


def _name(kernel: Any) -> str:
    """The box of a step: of its evaluation, of the method that has made its code, or of compiled code."""
    owner = getattr(kernel, "__self__", None)
    if owner is not None:
        return type(owner).__name__
    return str(getattr(kernel, "name", None) or getattr(kernel, "__qualname__", type(kernel).__name__).split(".")[0])


def _given(result: Any, xp: Any) -> Any:
    return result


def _segments(steps: Sequence[_Step]) -> tuple[list[tuple[Sequence[_Step], Nesting, _Step]], Sequence[_Step]]:
    """Cuts steps at those that run programs: for each of these the steps before it, its primitive and itself; then the rest."""
    found = list[tuple[Sequence[_Step], Nesting, _Step]]()
    before = list[_Step]()
    for step in steps:
        owner = getattr(step[0], "__self__", None)  # the primitive, where the kernel is its evaluation
        if isinstance(owner, Nesting):
            found.append((before, owner, step))
            before = []
        else:
            before.append(step)
    return found, before


def finished(running: Running, xp: Any) -> Any:
    """The result of a generator that asks for programs to be run. These may ask for others, and wait on an explicit
    stack."""
    stack = [running]
    sent: list[Any] = [None]  # what the next one is sent, taken out then: arrays are free when their last reader has run
    while True:
        try:
            program, leaves = stack[-1].send(sent.pop())
        except StopIteration as stop:
            stack.pop()
            if not stack:
                return stop.value
            sent.append(stop.value)
            continue
        if program is None:
            sent.append(None)
            continue
        run = program.ready(xp, leaves)
        if run.nesting:
            stack.append(run.running(xp, leaves))
            sent.append(None)
            del leaves
        else:
            at = run.registers(xp, leaves)
            del leaves
            sent.append(run.from_registers(xp, at))
            del at  # the results are theirs who asked for them
