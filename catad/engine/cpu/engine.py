"""The CPU engine: programs compiled with LLVM, on arrays of NumPy. What compiles is imported when it is first needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from catad.category.wiring import Wiring
from catad.engine.backend import Engine, Step
from catad.engine.cpu.run import target

THREADED = 1 << 16  # numbers in a pass below which one thread is faster than several


class Cpu(Engine):
    """See the module."""

    name = "cpu"
    language = "llvm"
    automatic = True
    serves = True

    def runs(self, xp: Any) -> bool:
        """Arrays of NumPy."""
        return xp is np

    def available(self) -> bool:
        """True where there is LLVM."""
        return target.available()

    def steps(self, wiring: Wiring) -> list[Step]:
        """One step for each function, which is one where all of the program has code."""
        from catad.engine.cpu.whole.run import steps  # late: see the module

        return steps(wiring)


CPU = Cpu()
