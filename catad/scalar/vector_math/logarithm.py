"""log, log2, log10, log1p and the inverse hyperbolic functions.

`x = 2**e m` with m between sqrt(1/2) and sqrt(2), f = m - 1, s = f / (2 + f):
`log(1 + f) = f - (h - s (h + s**2 p(s**2)))`, h = f**2 / 2, from the series of log((1 + s) / (1 - s)). For log1p, what was lost
in 1 + x is scaled like m and added to f. (P. T. P. Tang, ACM TOMS 16, 1990; J.-M. Muller, Elementary Functions, 2016, section 3.)
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from catad.scalar.vector_math.formats import (
    LN2,
    LOG10_E,
    Format,
    Number,
    ScalarFunction,
    bits,
    fma,
    of_bits,
    polynomial,
    two_sum,
)

P = {
    "float32": (0.6666678, 0.3997708, 0.29885185),
    "float64": (
        0.6666666666666666,
        0.400000000000067,
        0.2857142856894021,
        0.2222222266875887,
        0.1818177390679021,
        0.1538716770464846,
        0.1324838218329977,
        0.13267121551622651,
    ),
}
"""(log((1 + s) / (1 - s)) - 2 s) / s**3 in s**2, |s| <= 0.1716."""


def logarithms(f: Format) -> Mapping[str, ScalarFunction]:
    """The functions of this file in one format."""
    p = P[f.name]
    root = f.image(0.7071067811865476)
    ln2, (ln2_high, ln2_low) = float(LN2), f.parts(LN2, 2)
    lift = 2.0**f.digits

    def parted(x: Number) -> tuple[Number, Number]:
        """The exponent and m - 1 of a positive number."""
        small = x < f.least
        image = bits(x * lift if small else x)
        e = (image - root) >> f.shift
        exponent = of_bits(e + f.magic_bits) - (f.magic + f.digits if small else f.magic)
        return exponent, of_bits(image - (e << f.shift)) - 1.0

    def correction(m: Number) -> tuple[Number, Number]:
        """h and c with log(1 + m) = m - h + c."""
        s = m / (2.0 + m)
        z = s * s
        h = 0.5 * m * m
        return h, s * fma(z, polynomial(z, p), h)

    def ends(x: Number, value: Number) -> Number:
        """The logarithm at the ends of the numbers and beyond."""
        inside = x if x == np.inf else value
        return inside if x > 0 else (-np.inf if x == 0 else np.nan)

    def near(e: Number, m: Number) -> Number:
        h, c = correction(m)
        return fma(e, ln2_high, m - (h - fma(e, ln2_low, c)))

    def log(x: Number) -> Number:
        e, m = parted(x)
        return ends(x, near(e, m))

    def log1p_of_sum(x: Number, low: Number) -> Number:
        """log(1 + x + low), low at most a rounding error of x, and x not tiny."""
        u, lost = two_sum(1.0, x)
        e = (bits(u) - root) >> f.shift
        m = of_bits(bits(u) - (e << f.shift)) - 1.0
        shrunk = (lost + low) * of_bits((f.bias - e) << f.shift) if x < lift else 0.0
        return ends(u, near(of_bits(e + f.magic_bits) - f.magic, m + shrunk))

    def log1p(x: Number) -> Number:
        return x if abs(x) < f.tiny else log1p_of_sum(x, 0.0)

    def in_base(per_e: tuple[float, ...], per_two: tuple[float, ...]) -> ScalarFunction:
        """log(x) / log(base), the reciprocals of the logarithms of e and 2 given in two parts."""
        (e_high, e_low), (two_high, two_low) = per_e, per_two

        def logarithm(x: Number) -> Number:
            e, m = parted(x)
            h, c = correction(m)
            high = m - h
            low = ((m - high) - h) + c
            product = high * e_high
            rest = fma(high, e_high, -product) + fma(e, two_low, fma(high + low, e_low, low * e_high))
            whole = e * two_high
            total = whole + product
            return ends(x, total + (((whole - total) + product) + rest))

        return logarithm

    log2 = in_base(f.parts(1 / LN2, 2), (1.0, 0.0))
    log10 = in_base(f.parts(LOG10_E, 2), f.short_parts(LN2 * LOG10_E))

    def logaddexp(a: Number, b: Number) -> Number:
        gap = a - b
        apart = (a if a > b else b) + np.log1p(np.exp(-abs(gap)))
        return a + ln2 if a == b else (apart if gap == gap else gap)

    def asinh(x: Number) -> Number:
        a = abs(x)
        square = a * a
        large = a > lift
        high, low = two_sum(a, square / (1.0 + np.sqrt(1.0 + square)))
        inside = log1p_of_sum(high, low)
        return x if a < f.tiny else np.copysign(log(a) + ln2 if large else inside, x)

    def acosh(x: Number) -> Number:
        t = x - 1.0
        square = fma(t, t, 2.0 * t)
        side = np.sqrt(square)
        high, low = two_sum(t, side)
        lost = 0.5 * (fma(-side, side, square) + fma(t, t, 2.0 * t - square)) / side if t > 0 else 0.0
        inside = log1p_of_sum(high, low + lost) if x >= 1 else np.nan
        return log(x) + ln2 if x > lift else inside

    def atanh(x: Number) -> Number:
        a = abs(x)
        twice = 2.0 * a
        high, low = two_sum(twice, twice * a / (1.0 - a))
        inside = 0.5 * log1p_of_sum(high, low) if a <= 1 else np.nan
        return x if a < f.tiny else np.copysign(inside, x)

    named = {"log2": log2, "log10": log10}
    return named | {one.__name__: one for one in (parted, log, log1p, logaddexp, asinh, acosh, atanh)}
