"""The CPU engine: stages compiled with LLVM, on arrays of NumPy. What compiles is imported when it is first needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from catad.engine.backend import Engine, Step
from catad.engine.cpu.run import target
from catad.wiring import Wiring

SMALL = 4096  # below this many numbers in the largest array NumPy is as fast, and stages need not be compiled
THREADED = 1 << 16  # numbers in a pass below which one thread is faster than several
OFTEN = 20_000  # operations that the calls of a small program have run, from which on compiling all of it pays


class _Compiled(Engine):
    def runs(self, xp: Any) -> bool:
        """Arrays of NumPy."""
        return xp is np

    def available(self) -> bool:
        """True where there is LLVM."""
        return target.available()


class Cpu(_Compiled):
    """See the module."""

    name = "cpu"
    smallest = SMALL
    language = "llvm"

    def steps(self, wiring: Wiring) -> list[Step]:
        """Compiled stages, and boxes that run by themselves."""
        from catad.engine.cpu.machine import MACHINE  # late: a quarter of the time of `import catad`
        from catad.engine.steps import steps

        return steps(wiring, MACHINE)


class Whole(_Compiled):
    """Small programs that run often, and loops: one compiled function for all of a program, where that can be."""

    name = "whole"

    def takes(self, largest: int, once: int, ran: int) -> bool:
        """Small programs that have run often, and loops, whatever is around them, if their arrays are not large."""
        return ran >= OFTEN if largest < SMALL else once >= OFTEN and largest < THREADED

    def steps(self, wiring: Wiring) -> list[Step]:
        """One step; where a part has no code within a function, stages, or small boxes one by one, loops compiled."""
        from catad.engine.cpu.whole.run import steps  # late, as above

        return steps(wiring) or CPU.steps(wiring)


CPU, WHOLE = Cpu(), Whole()
