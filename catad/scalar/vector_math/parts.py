"""Division that rounds down, the parts of a number, and its size with another one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .formats import Format, Number, ScalarFunction, bits, fma, of_bits


def parts(f: Format) -> Mapping[str, ScalarFunction]:
    """The functions of this file in one format."""
    mask = (1 << f.shift) - 1
    lift = 2.0**f.digits

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

    def fraction(x: Number) -> Number:
        return np.copysign(0.0 if np.isinf(x) else x - np.trunc(x), x)

    def mantissa(x: Number) -> Number:
        """The number in [1/2, 1), or its negative, that a power of 2 times gives x."""
        image = bits(x * lift if abs(x) < f.least else x)
        half = of_bits((image & mask) | ((f.bias - 1) << f.shift))
        return np.copysign(half, x) if np.isfinite(x) and x != 0 else x

    def exponent(x: Number) -> Number:
        """The exponent of that power."""
        small = abs(x) < f.least
        image = bits(abs(x * lift if small else x))
        e = (image >> f.shift) - (f.bias - 1) - (f.digits if small else 0)
        return np.int64(e if np.isfinite(x) and x != 0 else 0)

    def hypot(x: Number, y: Number) -> Number:
        """sqrt(x**2 + y**2), both scaled by a power of 2 so that no square over- or underflows."""
        a, b = abs(x), abs(y)
        large, small = (a, b) if a > b else (b, a)
        field = bits(large) >> f.shift
        e = 1 if field < 1 else (2 * f.bias - 1 if field > 2 * f.bias - 1 else field)
        shrink = of_bits((2 * f.bias - e) << f.shift)
        p, q = large * shrink, small * shrink
        size = np.sqrt(fma(p, p, q * q)) * of_bits(e << f.shift)
        return np.inf if np.isinf(a) or np.isinf(b) else size

    return {one.__name__: one for one in (floordiv, mod, fraction, mantissa, exponent, hypot)}
