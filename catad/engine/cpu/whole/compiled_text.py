"""A text that is written already, as compiled code wants it, and what all compiled functions share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from catad.engine.cpu.run.kernel import Code, code_of
from catad.engine.cpu.run.target import SHORT
from catad.values.buffers import PLAIN


class Printed:
    """The module of a function `kernel` with so many integers after its table."""

    entries = ("kernel",)
    level = SHORT

    def __init__(self, what: tuple[str, int]) -> None:
        self.what, self.bounds = what, what[1]

    def text(self) -> str:
        """The text."""
        return self.what[0]


class CompiledFunction:
    """A function by its text, with so many integers after its table; `work` are the indices that a call runs."""

    printed: str
    work: int
    bounds = 0

    @cached_property
    def code(self) -> Code:
        """The machine code."""
        return code_of(Printed, (self.printed, self.bounds), self.work)


def as_they_lie(arrays: Sequence[Any]) -> list[Any]:
    """The arrays as functions of fixed strides read them: contiguous and aligned."""
    return [a if a.flags.num & PLAIN == PLAIN else np.array(a, order="C") for a in map(np.asarray, arrays)]
