"""The rest of a division, all its digits exact: fmod, remainder, and the division that rounds down.

Where the quotient has fewer digits than a number, its whole part q is at most 1 too large, and the rest is `fma(-q, y, x)`. A
larger quotient is taken in steps: multiples of y times falling powers of 2 leave the number first.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from catad.scalar.vector_math.formats import DOUBLE, Format, Number, ScalarFunction, fma, of_bits

STEPS, THIRD = 42, 17
"""Quotients of float64 numbers are below 2**(3 * THIRD * STEPS); one step takes 3 * THIRD of their digits."""


def longest_quotient(f: Format) -> float:
    """Beyond this quotient the rest is not exact."""
    return float(2.0**f.digits)


def rest(x: Number, y: Number) -> Number:
    """fmod of numbers that are not negative."""
    q = np.trunc(x / y)
    left = fma(-q, y, x)
    inside = left + y if left < 0 else left
    return x if y == np.inf and x < np.inf else inside


def remainders(f: Format) -> Mapping[str, ScalarFunction]:
    """The functions of this file in one format; fmod where the quotient is not beyond `longest_quotient`."""

    def fmod(x: Number, y: Number) -> Number:
        return np.copysign(rest(abs(x), abs(y)), x)

    def remainder(x: Number, y: Number) -> Number:
        size = abs(y)
        left = np.fmod(abs(x), size + size)  # where 2 |y| overflows, x itself is the rest
        above = left > size - left  # 2 left > size, without overflow
        less = left - size if above else left
        again = less - size if above and less >= size - less else less
        return -again if np.signbit(x) else again

    def floordiv(a: Number, b: Number) -> Number:
        """The whole number next to the quotient, from the exact rest; as NumPy has it."""
        rest = np.fmod(a, b)
        turned = rest != 0 and (b < 0) != (rest < 0)
        quotient = (a - rest) / b - (1.0 if turned else 0.0)
        down = np.floor(quotient)
        whole = down + 1.0 if quotient - down > 0.5 else down
        signed = whole if quotient != 0 else np.copysign(0.0, a / b)
        return signed if b != 0 else a / b

    def mod(a: Number, b: Number) -> Number:
        """The exact rest, with the sign of b; as NumPy has it."""
        rest = np.fmod(a, b)
        turned = rest + b if (b < 0) != (rest < 0) else rest
        signed = turned if rest != 0 else np.copysign(0.0, b)
        return signed if b != 0 else rest

    return {one.__name__: one for one in (fmod, remainder, floordiv, mod)}


def far_fmod(x: Number, y: Number) -> Number:
    """fmod of all float64 numbers."""
    left, size = abs(x), abs(y)
    for k in range(STEPS):
        scale = of_bits((THIRD * (STEPS - 1 - k) + DOUBLE.bias) << DOUBLE.shift)
        left = rest(left, size * scale * scale * scale)
    return np.copysign(left, x)
