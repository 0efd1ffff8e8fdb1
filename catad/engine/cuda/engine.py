"""The engine for NVIDIA's GPUs: stages compiled with LLVM to PTX, on arrays of CuPy. What compiles is imported when it is needed.

Code is made and shown without a GPU, too.
"""

from __future__ import annotations

from typing import Any

from catad.category.wiring import Wiring
from catad.engine.backend import Engine, Step
from catad.errors.notices import notice


class Cuda(Engine):
    """See the module. The engine in force named "auto" takes it for all arrays of CuPy, whose operations cost a launch each."""

    name = "cuda"
    language = "ptx"
    automatic = True

    def runs(self, xp: Any) -> bool:
        """Arrays of CuPy."""
        return getattr(xp, "__name__", "") == "cupy" and hasattr(xp, "cuda")

    def available(self) -> bool:
        """True where the current device runs kernels; where it does not, a notice says why, once."""
        from catad.engine.cuda.device import why_not  # late: few processes have a GPU

        found = why_not()
        if found is not None:
            notice(("no gpu", found), found)
        return found is None

    def steps(self, wiring: Wiring) -> list[Step]:
        """Compiled stages, and boxes that run by themselves."""
        from catad.engine.cuda.device import GPU  # late, as above
        from catad.engine.cuda.steps import steps

        return steps(wiring, GPU)


CUDA = Cuda()
