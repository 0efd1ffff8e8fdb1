"""Waiting for a GPU: what kernels have noted, such as indices out of range, is told when the host waits for them."""

from __future__ import annotations

import sys


def synchronize() -> None:
    """Wait for all that the current stream of CuPy was given; where no GPU runs catad's kernels, there is nothing to wait for.

    Programs on arrays of CuPy return before their kernels have run. What kernels find wrong is raised here at the latest: of
    several mistakes, the first. `with ct.use_engine("cuda", checks="now"):` raises it where it happens. Raises
    `IndexRangeError` for indices out of range, and `EngineError` while the stream is captured in a graph.

    >>> import catad as ct
    >>> ct.synchronize()
    """
    if "cupy" in sys.modules:
        from catad.engine.cuda.device import GPU, why_not  # late: they are needed with a GPU only

        if why_not() is None:
            GPU.synchronize()
