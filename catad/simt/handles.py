"""Arrays among the values of the reader of kernels, and parts of them. A complex array is two real ones, those of its parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from catad import errors
from catad.errors import ScalarError
from catad.scalar import Node, apply, const
from catad.simt.arrays import Array
from catad.values.complex_numbers import complex_dtype


@dataclass(frozen=True, repr=False)
class Handle:
    """An array, or a part of one: for each axis of the array a fixed index, or (start, length) of a free axis."""

    array: Array
    axes: tuple[Node | tuple[Node, int], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the part."""
        return tuple([one[1] for one in self.axes if isinstance(one, tuple)])

    def __repr__(self) -> str:
        return f"the array {self.array.name}, of which a kernel reads or writes one entry at a time"

    def __bool__(self) -> bool:
        raise ScalarError(errors.array_as_number(self.array.name))

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    @property
    def name(self) -> str:
        return self.array.name

    @property
    def instead(self) -> str:
        """What to write where a number is needed."""
        return f"read one entry of it, {self.name}[i]"


@dataclass(frozen=True, repr=False)
class ComplexHandle:
    """A complex array, or a part of one: the handles of its real and its imaginary part."""

    real: Handle
    imag: Handle

    @property
    def shape(self) -> tuple[int, ...]:
        return self.real.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return complex_dtype(self.real.dtype)

    @property
    def name(self) -> str:
        return self.real.name.removesuffix(".real")

    @property
    def instead(self) -> str:
        """What to write where a number is needed."""
        return f"read one entry of it, {self.name}[i]"

    def __repr__(self) -> str:
        return f"the array {self.name}, of which a kernel reads or writes one entry at a time"

    def __bool__(self) -> bool:
        raise ScalarError(errors.array_as_number(self.name))


def whole_of(array: Array) -> Handle:
    """The whole array as a handle."""
    return Handle(array, tuple([(const(0), n) for n in array.shape]))


def behind(start: Node, index: Node) -> Node:
    """An index counted from a start."""
    return index if start.op == "const" and start.value == 0 else apply("add", start, index)
