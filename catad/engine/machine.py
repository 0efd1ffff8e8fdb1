"""The protocol of a machine: the questions of the half of an engine that all machines share.

Which boxes share a pass is decided for all machines alike (`stages/`, `steps.py`, `runner.py`); a machine makes each pass run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, Protocol

import numpy as np

from catad.boxes import Primitive
from catad.engine.stages.bins import Member
from catad.engine.stages.group import Rows
from catad.engine.stages.layout import Ready
from catad.spaces import Tensor
from catad.vector.constant import Constant
from catad.wiring import Box, Wiring

Known = Mapping[int, Constant]
"""Constants by the wires that they make, or by the arguments of a box that they are."""


def constants(wiring: Wiring) -> Known:
    """The constants of a wiring, by their wires."""
    return {box.outs[0]: box.primitive for box in wiring.boxes if isinstance(box.primitive, Constant)}


def known(box: Box, found: Known) -> Known:
    """The arguments of a box that are constants."""
    return {i: found[k] for i, k in enumerate(box.ins) if k in found}


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

    def prepared(self, ins: tuple[Tensor, ...]) -> str | None:
        """Compile for arrays in these spaces; the text, or None where it has none."""
        ...

    def moved(self, arrays: Sequence[Any], outs: Sequence[Any]) -> int:
        """The bytes that a call with these arguments and results reads and writes."""
        return sum({id(a): a.nbytes for a in (*arrays, *outs)}.values())


class Machine(Protocol):
    """A machine: it compiles stages and runs them. Formulas that hold for some numbers only are not among them."""

    rows_from: float = inf  # bytes that several stages read and write, from which on they run row by row

    def way_of(self, stage: Ready, place: Sequence[int], arrays: Sequence[Any], outs: Sequence[Any]) -> Way:
        """Compiled code for a stage on arrays and results that lie as these do; raises CannotPrint."""
        ...

    def by_rows(self, rows: Rows, arrays: Sequence[Any], outs: Sequence[Any]) -> Way | None:
        """Compiled code for stages that run row by row; None where they run one after the other. Raises CannotPrint."""
        return None

    def standalone(self, primitive: Primitive, ins: tuple[Tensor, ...], fixed: Known) -> Compiled | None:
        """Compiled code for a box that no stage contains; None where its array code is as good.

        `fixed` are the constants among its arguments, which are passed all the same.
        """
        ...

    def multi_fold(self, members: Sequence[Member], arity: Sequence[int]) -> Compiled | None:
        """Compiled code for boxes that fold the same elements by bin, each of so many arguments; None as above."""
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

    def clock(self) -> Callable[[], float]:
        """Start a clock: a call of it gives the seconds that what was started since has taken."""
        begun = time.perf_counter()
        return lambda: time.perf_counter() - begun
