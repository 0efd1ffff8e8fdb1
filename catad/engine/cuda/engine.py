"""The engine for NVIDIA's GPUs: stages compiled with LLVM to PTX. What compiles is imported when it is first needed.

Its code is made and shown without a GPU. It does not run arrays of CuPy yet: these run on their array code.
"""

from __future__ import annotations

from typing import Any

from catad import errors
from catad.engine.backend import Engine, Step
from catad.engine.notices import notice
from catad.wiring import Wiring


class Cuda(Engine):
    """See the module."""

    name = "cuda"
    language = "ptx"

    def runs(self, xp: Any) -> bool:
        """Arrays of CuPy."""
        return getattr(xp, "__name__", "") == "cupy"

    def available(self) -> bool:
        """False so far, which a notice says once."""
        notice("no gpu", errors.no_gpu(), stacklevel=3)
        return False

    def steps(self, wiring: Wiring) -> list[Step]:
        """Compiled stages, and boxes that run by themselves."""
        from catad.engine.cuda.machine import GpuMachine  # late: much of the time of `import catad`
        from catad.engine.cuda.nowhere import Nowhere
        from catad.engine.steps import steps

        return steps(wiring, GpuMachine(Nowhere()))


CUDA = Cuda()
