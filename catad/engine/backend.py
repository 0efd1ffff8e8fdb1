"""The protocol of an engine, and that of a machine, which the part shared by all machines uses.

An `Engine` makes of a wiring the steps that run it. A `Machine` is an engine whose steps are stages: which boxes share a pass is
decided for all machines alike (`stages/`, `steps.py`, `runner.py`), and the machine makes each pass run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from catad.boxes import Primitive
from catad.engine.stages.bins import Member
from catad.engine.stages.plan import Ready
from catad.spaces import Tensor
from catad.wiring import Wiring

Step = tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...]]
"""A callable on an array library and arrays, the wires that it reads, and those that it writes: a result, or several."""


class Engine(Protocol):
    """A way to run programs, as `ct.engine.register` takes it. A class that inherits from this one has the defaults.

    `name` is what `ct.use_engine` calls it. `smallest` is the number of numbers in the largest array of a program from which on
    the engine in force named "auto" takes this one; None, the default, where it runs by name only. `language` names the code that
    its compiled steps show, for `D.source`; None where they show none. An engine that has `copy_bandwidth()`, in bytes per
    second, may record its steps for `ct.profile`. Raises `EngineError` where it is registered without what has no default.

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
    smallest: int | None = None
    language: str | None = None

    def runs(self, xp: Any) -> bool:
        """Whether it runs arrays of this library; those of others run on the array code of each box."""
        ...

    def available(self) -> bool:
        """Whether it can run here. Where it cannot, programs run on the array code, and the engine says why, once."""
        return True

    def steps(self, wiring: Wiring) -> list[Step]:
        """What runs a wiring: for each step a callable, the wires that it reads, and those that it writes.

        The callable is given the array library, then an array for each wire that it reads; it returns an array, or a sequence of
        arrays where it writes several wires. Steps are in an order in which they can run. Boxes without arguments are constants,
        whose wires are there before the first step. Results have the spaces of their wires, and are the same on every run.
        """
        ...


class Way(Protocol):
    """Compiled code of a stage for arrays that lie in memory in some way: its text, the seconds that compiling took."""

    @property
    def text(self) -> str: ...

    @property
    def seconds(self) -> float: ...

    def run(self, arrays: Sequence[Any], outs: Sequence[Any]) -> None: ...


class Compiled(Protocol):
    """Compiled code that is no stage: a callable on an array library and arrays.

    `seconds` is what compiling each of its kernels took, as far as they were needed.
    """

    @property
    def seconds(self) -> tuple[float, ...]: ...

    def __call__(self, xp: Any, *arrays: Any) -> Any: ...

    def prepared(self, ins: tuple[Tensor, ...]) -> str:
        """Compile for arrays in these spaces; the text."""
        ...

    def moved(self, arrays: Sequence[Any], outs: Sequence[Any]) -> int:
        """The bytes that a call with these arguments and results reads and writes."""
        return sum({id(a): a.nbytes for a in (*arrays, *outs)}.values())


class Machine(Engine, Protocol):
    """An engine that runs stages.

    `checks` say whether all numbers of an array are "normal", or each is a "number" and not NaN.
    """

    checks: Mapping[str, Callable[[Any], bool]]

    def way_of(self, stage: Ready, place: Sequence[int], arrays: Sequence[Any], outs: Sequence[Any]) -> Way:
        """Compiled code for a stage on arrays and results that lie as these do; raises CannotPrint."""
        ...

    def standalone(self, primitive: Primitive, ins: tuple[Tensor, ...]) -> Compiled | None:
        """Compiled code for a box that no stage takes in; None where its array code is as good."""
        ...

    def multi_fold(self, members: Sequence[Member], arity: Sequence[int]) -> Compiled:
        """Compiled code for boxes that fold the same elements by bin, each of so many arguments."""
        ...

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """An array whose numbers are not set yet."""
        ...

    def prepared(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """The arrays as compiled code expects them."""
        ...

    def copy_bandwidth(self) -> float:
        """Bytes per second, read and written, of copying a large array."""
        ...
