"""sin, cos, tan and their inverses.

The argument is brought to |r| <= pi/4 by subtracting `n pi/2` with pi/2 in three parts and fused multiplications: the first
subtraction is exact, the later ones are rounded relative to what is left (J.-M. Muller, Elementary Functions, 3rd edition
2016, section 11.2). This holds up to `far(f)`; what is beyond is in `argument_reduction.py`. The arcus tangent is a polynomial of
the quotient of the smaller by the larger leg; asin and acos go through `asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2))` above 1/2.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from catad.scalar.vector_math.formats import (
    PI,
    Format,
    Number,
    ScalarFunction,
    bits,
    fma,
    of_bits,
    polynomial,
    ratio,
    two_sum,
)

SIN = {
    "float32": (-0.16666667, 0.008333329, -0.00019839256, 2.7175645e-06),
    "float64": (
        -0.16666666666666666,
        0.008333333333333321,
        -0.000198412698412536,
        2.755731921341998e-06,
        -2.505210470870313e-08,
        1.6058340529047305e-10,
        -7.577392948298869e-13,
    ),
}
"""(sin(r) - r) / r**3 in r**2, |r| <= pi/4."""

COS = {
    "float32": (0.041666646, -0.0013887306, 2.4431205e-05),
    "float64": (
        0.04166666666666659,
        -0.0013888888888872598,
        2.4801587288491705e-05,
        -2.755731405646965e-07,
        2.0875681865589457e-09,
        -1.1357447961891365e-11,
    ),
}
"""(cos(r) - 1 + r**2 / 2) / r**4 in r**2."""

ATAN = {
    "float32": (
        -0.333332986,
        0.199985489,
        -0.142642424,
        0.109521872,
        -0.0840345472,
        0.0579576567,
        -0.0311779026,
        0.010914633,
        -0.00179362713,
    ),
    "float64": (
        -0.3333333333333307,
        0.1999999999995145,
        -0.1428571428257461,
        0.11111111007013584,
        -0.09090907002797749,
        0.07692279837296882,
        -0.06666404043007679,
        0.05880527736417978,
        -0.05253518236158781,
        0.04722321231172721,
        -0.042191765713442755,
        0.0366418658069309,
        -0.029903791713291203,
        0.021984776386201017,
        -0.013900491841271404,
        0.0071964575570703,
        -0.002884896219675298,
        0.0008313143968650017,
        -0.00015215933090531657,
        1.3224929159792481e-05,
    ),
}
"""(atan(t) - t) / t**3 in t**2, |t| <= 1."""

ASIN = {
    "float32": (0.16666757, 0.0749515, 0.045489617, 0.024081197, 0.042338666),
    "float64": (
        0.16666666666666768,
        0.07499999999968542,
        0.04464285717684806,
        0.030381942596940197,
        0.02237221820206883,
        0.0173515527629462,
        0.013981547659199872,
        0.011392833592267547,
        0.010815012505047891,
        0.003572614338064149,
        0.02203885730604896,
        -0.02147613983222452,
        0.03293190230341468,
    ),
}
"""(asin(t) - t) / t**3 in t**2, |t| <= 1/2."""


def far(f: Format) -> float:
    """Beyond this the reduction of sin, cos and tan is not accurate."""
    return 2.0**18 if f.digits == 24 else 2.0**30


def circular(f: Format) -> Mapping[str, ScalarFunction]:
    """sin, cos and tan in one format."""
    sines, cosines = SIN[f.name], COS[f.name]
    first, second, third = f.parts(PI / 2, 3)
    two_over_pi = float(2 / PI)

    def reduced(x: Number) -> tuple[Number, Number]:
        """r, and bits of which the lowest two are those of n."""
        t = fma(x, two_over_pi, f.magic)
        n = t - f.magic
        return fma(-n, third, fma(-n, second, fma(-n, first, x))), bits(t)

    def reduced_in_two_parts(x: Number) -> tuple[Number, Number, Number]:
        """The same, r as a sum."""
        t = fma(x, two_over_pi, f.magic)
        n = t - f.magic
        most, product = fma(-n, first, x), -n * second
        more, lost = two_sum(most, product)
        rest = fma(-n, third, lost + fma(-n, second, -product))
        r = more + rest
        return r, (more - r) + rest, bits(t)

    def both(r: Number) -> tuple[Number, Number]:
        """sin(r), cos(r)."""
        z = r * r
        return fma(r * z, polynomial(z, sines), r), fma(z, fma(z, polynomial(z, cosines), -0.5), 1.0)

    def turned(r: Number, n: Number) -> Number:
        """sin(r + n pi/2)."""
        sine, cosine = both(r)
        return of_bits(bits(sine if n & 1 == 0 else cosine) ^ ((n & 2) << f.sign_shift))

    def sin(x: Number) -> Number:
        r, n = reduced(x)
        return x if abs(x) < f.tiny else turned(r, n)

    def cos(x: Number) -> Number:
        r, n = reduced(x)
        return turned(r, n + 1)

    def tangent(r: Number, lost: Number, straight: Number) -> Number:
        """sin / cos of r + lost, or -cos / sin where not `straight`; sine and cosine in two parts."""
        z = r * r
        bend = r * z * polynomial(z, sines)
        sine = r + bend
        sine_low = ((r - sine) + bend) + lost * (1.0 - 0.5 * z)
        start = 1.0 - 0.5 * z
        bend = ((1.0 - start) - 0.5 * z) + (z * z * polynomial(z, cosines) - 0.5 * fma(r, r, -z))
        cosine = start + bend
        cosine_low = ((start - cosine) + bend) - r * lost
        above, above_low = (sine, sine_low) if straight else (-cosine, -cosine_low)
        below, below_low = (cosine, cosine_low) if straight else (sine, sine_low)
        return ratio(above, above_low, below, below_low)

    def tan(x: Number) -> Number:
        r, lost, n = reduced_in_two_parts(x)
        return x if abs(x) < f.tiny else tangent(r, lost, n & 1 == 0)

    return {"sin": sin, "cos": cos, "tan": tan, "tangent": tangent}


def inverse_circular(f: Format) -> Mapping[str, ScalarFunction]:
    """asin, acos, atan and atan2 in one format."""
    tangents, sines = ATAN[f.name], ASIN[f.name]
    pi_high, pi_low = f.parts(PI, 2)
    half_high, half_low = f.parts(PI / 2, 2)

    def angle(small: Number, large: Number, steep: Number) -> Number:
        """atan(small / large), or pi/2 less this where `steep`; 0 <= small <= large."""
        t = small / large
        z = t * t
        low = t * z * polynomial(z, tangents)
        return half_high - (t - (half_low - low)) if steep else t + low

    def atan(x: Number) -> Number:
        a = abs(x)
        steep = a > 1
        value = angle(1.0 if steep else a, a if steep else 1.0, steep)
        return x if a < f.tiny else np.copysign(value, x)

    def atan2(y: Number, x: Number) -> Number:
        a, b = abs(y), abs(x)
        steep = a > b
        small, large = b if steep else a, a if steep else b
        known = large == 0 or small == np.inf
        value = angle((1.0 if small > 0 else 0.0) if known else small, 1.0 if known else large, steep)
        around = pi_high - (value - pi_low) if np.signbit(x) else value
        return np.copysign(around, y) if x == x and y == y else x + y

    def bent(x: Number) -> tuple[Number, Number, Number]:
        """Values |x| > 1/2; t; asin(t) - t, for t = |x| or, above, sqrt((1 - |x|) / 2), whose rounding error is put back."""
        a = abs(x)
        above = a > 0.5
        z = 0.5 * (1.0 - a) if above else a * a
        t = np.sqrt(z) if above else a
        low = t * (z * polynomial(z, sines))
        lost = fma(-t, t, z) / (2.0 * t) if above and t != 0 else 0.0
        return above, t, low + lost

    def asin(x: Number) -> Number:
        above, t, low = bent(x)
        high = half_high - 2.0 * t
        rest = (half_high - high) - 2.0 * t
        value = high + (rest - (2.0 * low - half_low)) if above else t + low
        return x if abs(x) < f.tiny else np.copysign(value, x)

    def acos(x: Number) -> Number:
        above, t, low = bent(x)
        far_side = np.signbit(x)
        near_end = 2.0 * (t + low)
        signed, bend = -t if far_side else t, -low if far_side else low
        middle = half_high - (signed - (half_low - bend))
        return ((pi_high - (near_end - pi_low)) if far_side else near_end) if above else middle

    made: tuple[ScalarFunction, ...] = (asin, acos, atan, atan2)
    return {one.__name__: one for one in made}
