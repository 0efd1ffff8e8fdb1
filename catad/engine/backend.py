"""The protocol of an engine: it turns a wiring into the steps that run it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from catad.category.wiring import Wiring

Step = tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...]]
"""A callable on an array library and arrays, the wires that it reads, and those that it writes: a result, or several."""


class Engine(Protocol):
    """A way to run programs, as `ct.engine.register` takes it. A class that inherits from this one has the defaults.

    `name` is what `ct.use_engine` calls it. `automatic` says whether the engine in force named "auto" takes it for arrays that it
    runs; False, the default, where it runs by name only. `serves` says whether array code serves under "auto" until a program is
    compiled (`background.py`). `language` names the code that its compiled steps show, for `D.source`; None where they show none.
    Raises `EngineError` where it is registered without what has no default.

    >>> import catad as ct, numpy as np
    >>> class ByKernels(ct.engine.Engine):
    ...     name = "by kernels"
    ...     def runs(self, xp):
    ...         return xp is np
    ...     def steps(self, wiring):
    ...         return [(p.kernel(wiring.spaces(ins)), ins, outs) for p, ins, outs in wiring.boxes if ins]
    >>> ct.engine.register(ByKernels())
    >>> with ct.use_engine("by kernels"):
    ...     ct.sin(0.0)
    np.float64(0.0)
    """

    name: str
    automatic: bool = False
    serves: bool = False
    language: str | None = None

    def runs(self, xp: Any) -> bool:
        """True where it runs arrays of this library; those of others run on the array code of each box."""
        ...

    def available(self) -> bool:
        """True where it can run here. Where it cannot, programs run on the array code, and the engine says why, once."""
        return True

    def steps(self, wiring: Wiring) -> list[Step]:
        """The steps that run a wiring: for each step a callable, the wires that it reads, and those that it writes.

        The callable is given the array library, then an array for each wire that it reads; it returns an array, or a sequence of
        arrays where it writes several wires. Steps are in an order in which they can run. Boxes without arguments are constants,
        whose wires are there before the first step. Results have the spaces of their wires, and are the same on every run.
        """
        ...
