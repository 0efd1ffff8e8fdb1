"""pow and cbrt: exp(y log |x|) with the logarithm in two parts.

With |x| = 2**e m and s = f / (2 + f), f = m - 1, the logarithm is `e log 2 + 2 s + s**3 (2/3 + s**2 p(s**2))`, everything but
the last product in two numbers (T. J. Dekker, Numerische Mathematik 18, 1971), so that y times its error stays far below one unit
in the last place. The values at zeros, infinities and for negative x are those of IEEE 754-2019, section 9.2.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from catad.scalar.vector_math.exponential import exponentials
from catad.scalar.vector_math.formats import LN2, Format, Number, ScalarFunction, fma, polynomial
from catad.scalar.vector_math.logarithm import logarithms

P = {
    "float32": (0.39999998, 0.28571889, 0.22184244, 0.19481295),
    "float64": (
        0.4,
        0.2857142857142836,
        0.22222222222295615,
        0.18181818168461042,
        0.1538461682500251,
        0.1333323653612873,
        0.11768799114782338,
        0.10420707835805927,
        0.11029488455720324,
    ),
}
"""(log((1 + s) / (1 - s)) - 2 s - 2/3 s**3) / s**5 in s**2, |s| <= 0.1716."""


def power(f: Format) -> Mapping[str, ScalarFunction]:
    """The functions of this file in one format."""
    p = P[f.name]
    ln2_high, ln2_low = f.short_parts(LN2)
    root_high, root_low = f.parts(Fraction(1, 3), 2)
    third_high, third_low = f.parts(Fraction(2, 3), 2)
    exp_in_two_parts, parted = exponentials(f)["exp_in_two_parts"], logarithms(f)["parted"]

    def logarithm(x: Number) -> tuple[Number, Number]:
        """The logarithm of a positive finite number, in two parts."""
        e, m = parted(x)
        below = 2.0 + m
        inverse = 1.0 / below
        s = m * inverse
        s_low = (fma(-s, below, m) - s * (m - (below - 2.0))) * inverse
        z = s * s
        z_low = fma(s, s, -z) + 2.0 * s * s_low
        tail = z * polynomial(z, p)
        factor = third_high + tail
        factor_low = (third_high - factor) + tail + third_low
        cube = s * z
        cube_low = fma(s, z, -cube) + (s * z_low + s_low * z)
        bend = cube * factor
        bend_low = fma(cube, factor, -bend) + (cube * factor_low + cube_low * factor)
        whole = e * ln2_high
        one = whole + 2.0 * s
        two = one + bend
        lost = ((whole - one) + 2.0 * s) + ((one - two) + bend)
        low = lost + ((2.0 * s_low + bend_low) + e * ln2_low)
        high = two + low
        return high, (two - high) + low

    def pow(x: Number, y: Number) -> Number:
        a = abs(x)
        high, low = logarithm(a)
        product = y * high
        rest = fma(y, high, -product) + y * low
        inner = exp_in_two_parts(product, rest if abs(product) < 2000.0 else 0.0)
        outer = np.inf if (a > 1) == (y > 0) else 0.0
        size = outer if a == 0 or a == np.inf or np.isinf(y) else inner
        size = 1.0 if a == 1 else size
        whole = y == np.floor(y)
        odd = whole and 0.5 * y != np.floor(0.5 * y)
        signed = -size if odd and np.signbit(x) else size
        value = np.nan if x < 0 and a != np.inf and not whole else signed
        known = value if x == x and y == y else x + y
        return 1.0 if x == 1 or y == 0 else known

    def cbrt(x: Number) -> Number:
        high, low = logarithm(abs(x))
        product = high * root_high
        size = exp_in_two_parts(product, fma(high, root_high, -product) + fma(high, root_low, low * root_high))
        return np.copysign(size, x) if np.isfinite(x) and x != 0 else x

    return {"pow": pow, "cbrt": cbrt, "logarithm": logarithm}
