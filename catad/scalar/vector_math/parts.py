"""The parts of a number, its product with a power of 2, and its size with another one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from catad.scalar.vector_math.formats import Format, Number, ScalarFunction, bits, fma, of_bits


def parts(f: Format) -> Mapping[str, ScalarFunction]:
    """The functions of this file in one format."""
    mask = (1 << f.shift) - 1
    lift, most = 2.0**f.digits, f.bias + 2 * f.digits

    def fraction(x: Number) -> Number:
        return np.copysign(0.0 if np.isinf(x) else x - np.trunc(x), x)

    def mantissa(x: Number) -> Number:
        """The number in [1/2, 1), or its negative, that a power of 2 times gives x."""
        image = bits(x * lift if abs(x) < f.least else x)
        half = of_bits((image & mask) | ((f.bias - 1) << f.shift))
        return np.copysign(half, x) if np.isfinite(x) and x != 0 else x

    def field(x: Number) -> Number:
        small = abs(x) < f.least
        image = bits(abs(x * lift if small else x))
        return (image >> f.shift) - (f.bias - 1) - (f.digits if small else 0)

    def exponent(x: Number) -> Number:
        """The exponent of that power."""
        return np.int64(field(x) if np.isfinite(x) and x != 0 else 0)

    def power_of_two(n: Number) -> Number:
        return of_bits((n + f.bias) << f.shift)

    def ldexp(x: Number, n: Number) -> Number:
        """x * 2**n, rounded once; n is an integer as wide as x, and far from the largest."""
        e = field(x) + n
        e = most if most < e else e
        e = -most if e < -most else e
        half = e >> 1
        return mantissa(x) * power_of_two(half) * power_of_two(e - half)

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

    return {one.__name__: one for one in (fraction, mantissa, exponent, ldexp, hypot)}
