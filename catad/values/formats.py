"""The dtypes that catad knows, and one row for each format of floating-point numbers among them.

The rest of the package asks here: spaces hold these dtypes, traced functions compute with them, printers write them, and the
functions in `scalar/vector_math/` are written for a format as IEEE 754-2019, section 3.4, has it: 1 sign bit, an exponent with a
bias, `digits` binary digits of which the first is not stored.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Format:
    """A binary floating-point format."""

    real: Any  # NumPy's type of its numbers
    short: str  # as catad names its dtype
    said: str  # in words
    llvm: str  # as LLVM names its type
    digits: int
    bias: int

    @property
    def name(self) -> str:
        return self.dtype.name

    @property
    def dtype(self) -> np.dtype[Any]:
        found: np.dtype[Any] = np.dtype(self.real)
        return found

    @property
    def whole(self) -> np.dtype[Any]:
        """The integer dtype that holds its bits."""
        return np.dtype(f"int{8 * self.dtype.itemsize}")

    @property
    def infinity(self) -> int:
        """The bits of infinity, which are those of the exponent."""
        return (2 * self.bias + 1) << self.shift

    @property
    def is_short(self) -> bool:
        """True where float64 holds the product of any two numbers, and it needs no rounding."""
        return 2 * self.digits <= DOUBLE.digits and self.bias < DOUBLE.bias

    @property
    def shift(self) -> int:
        """The position of the exponent in the bits."""
        return self.digits - 1

    @property
    def magic(self) -> float:
        """Adding it rounds a small number to an integer, which then stands in the lowest bits of the sum."""
        return 1.5 * 2.0**self.shift

    @property
    def magic_bits(self) -> int:
        return self.image(self.magic)

    @property
    def least(self) -> float:
        """The least normal number."""
        return float(2.0 ** (1 - self.bias))

    @property
    def tiny(self) -> float:
        """The bound below which x and f(x) = x + O(x**2) are the same number."""
        return float(2.0 ** (-self.digits - 4))

    @property
    def sign_shift(self) -> int:
        """The shift from bit 1 to the sign bit."""
        return 8 * self.dtype.itemsize - 2

    def written(self, x: float) -> str:
        """A number in LLVM's text, where single precision is written by the bits of a double, too."""
        return f"0x{struct.unpack('<Q', struct.pack('<d', float(x)))[0]:016X}"

    def image(self, x: float) -> int:
        """The bits of a number, now."""
        return int(self.real(x).view(self.whole))

    def parts(self, number: Fraction, count: int) -> tuple[float, ...]:
        """A number as the sum of `count` numbers of the format, each the best for what is left."""
        found = []
        for _ in range(count):
            found.append(float(self.real(float(number))))
            number -= Fraction(found[-1])
        return tuple(found)

    def short_parts(self, number: Fraction) -> tuple[float, float]:
        """A number in [1/4, 1) in two parts, the first so short that its product with an exponent is exact."""
        step = 2 ** (self.digits - 10)
        high = Fraction(int(number * step), step)
        return float(high), self.parts(number - high, 1)[0]


SINGLE = Format(np.float32, "f32", "numbers of single precision", "float", 24, 127)
DOUBLE = Format(np.float64, "f64", "numbers of double precision", "double", 53, 1023)

FORMATS: Mapping[type, Format] = {one.real: one for one in (SINGLE, DOUBLE)}
"""The formats by NumPy's type, which is that of dtypes in any byte order."""


def format_of(dtype: np.dtype[Any]) -> Format:
    """The format of a dtype of floats."""
    return FORMATS[dtype.type]


KNOWN: Mapping[np.dtype[Any], str] = {
    np.dtype(bool): "bool_",
    **{np.dtype(f"{kind}{size}"): f"{kind}{8 * size}" for kind in "iu" for size in (1, 2, 4, 8)},
    **{one.dtype: one.short for one in FORMATS.values()},
}
"""The names that catad has for the dtypes with which it computes."""


def is_known(dtype: np.dtype[Any]) -> bool:
    """True for these dtypes, in any byte order."""
    return dtype.kind in "biu" or dtype.type in FORMATS
