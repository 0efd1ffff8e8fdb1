"""The CPU engine: stages compiled with LLVM, on arrays of NumPy. What compiles is imported when it is first needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from catad.engine.backend import Engine, Step
from catad.engine.cpu.run import target
from catad.wiring import Wiring

SMALL = 4096  # below this many numbers in the largest array NumPy is as fast, and nothing need be compiled


class Cpu(Engine):
    """See the module."""

    name = "cpu"
    smallest = SMALL
    language = "llvm"

    def runs(self, xp: Any) -> bool:
        """Arrays of NumPy."""
        return xp is np

    def available(self) -> bool:
        """True where there is LLVM."""
        return target.available()

    def steps(self, wiring: Wiring) -> list[Step]:
        """Compiled stages, and boxes that run by themselves."""
        from catad.engine.cpu.machine import MACHINE  # late: a quarter of the time of `import catad`
        from catad.engine.steps import steps

        return steps(wiring, MACHINE)


CPU = Cpu()
