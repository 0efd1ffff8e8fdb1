"""A whole program as one compiled function, and how it is called."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from catad import buffers
from catad.boxes import Primitive
from catad.buffers import address
from catad.engine.cpu.run.kernel import Code, code_of, packed
from catad.engine.cpu.whole import nested as nested  # its writers are known by being imported
from catad.engine.cpu.whole.program import write_program
from catad.engine.cpu.whole.text import Buffer, Text
from catad.engine.machine import Compiled
from catad.errors import CannotPrint
from catad.spaces import Product, Tensor
from catad.wiring import Box, Wiring


class _Printed:
    """A text that is written already, for `code_of`."""

    entries = ("kernel",)
    bounds = 0

    def __init__(self, what: tuple[str]) -> None:
        self.what = what

    def text(self) -> str:
        return self.what[0]


class Whole(Compiled):
    """A wiring as one function; raises CannotPrint where a part of it has no code."""

    def __init__(self, wiring: Wiring) -> None:
        text = Text()
        ins, self.outs = wiring.spaces(wiring.inputs), wiring.spaces(wiring.outputs)
        self.ins = ins
        given = [Buffer(text.entry(), space.nbytes) for space in ins]
        goals = [Buffer(text.entry(), space.nbytes) for space in self.outs]
        write_program(text, wiring, given, goals)
        self.constants, self.room, self.lengths = text.constants, text.room, text.lengths
        self.printed = text.text()

    @cached_property
    def code(self) -> Code:
        """The machine code."""
        return code_of(_Printed, (self.printed,))

    @property
    def seconds(self) -> tuple[float, ...]:
        """The time that compiling took."""
        return (self.code.seconds,)

    def prepared(self, ins: tuple[Tensor, ...]) -> str:
        """Compile; the text."""
        return self.code.text

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        outs = [buffers.empty(space.shape, space.dtype) for space in self.outs]
        if not self.run(arrays, outs):
            raise _Failed
        return outs[0] if len(outs) == 1 else outs

    def run(self, arrays: Sequence[Any], outs: Sequence[Any]) -> bool:
        """Run on arrays and write into others; False where the array code must run instead."""
        given = [a if a.flags.c_contiguous else np.ascontiguousarray(a) for a in arrays]
        room, error = buffers.empty((self.room,), np.dtype(np.int8)), np.zeros(1, np.int64)
        places = [*map(address, given), *map(address, outs), *self.lengths, address(room), address(error)]
        self.code.run("kernel", packed([*places, *map(address, self.constants)]), [()])
        return not error[0]


class _Failed(Exception):
    """The array code must run instead."""


class WithFallback(Compiled):
    """A whole program, and the array code where it gives up."""


def box_as_program(primitive: Primitive, ins: tuple[Tensor, ...]) -> Wiring:
    """The wiring of one box."""
    outs = primitive.typed(ins)
    given, made = tuple(range(len(ins))), tuple(range(len(ins), len(ins) + len(outs)))
    return Wiring(Product(ins), Product(outs), (*ins, *outs), given, (Box(primitive, given, made),), made)


def whole(wiring: Wiring) -> Whole | None:
    """The wiring as one function; None where a part of it has no code."""
    try:
        return Whole(wiring)
    except CannotPrint:
        return None
