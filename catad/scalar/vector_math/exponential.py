"""exp, exp2, expm1 and the hyperbolic functions.

Argument reduction of Cody and Waite: `x = k ln 2 + r` with |r| <= (ln 2)/2 and ln 2 in two parts, then
`exp(r) = 1 + r + r**2 q(r)` with a least-maximum polynomial q, and two multiplications by powers of 2, so that a result below
the normal numbers is rounded once. (J.-M. Muller, Elementary Functions, 3rd edition 2016, sections 3.2 and 11.)
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from catad.scalar.vector_math.formats import LN2, Format, Number, ScalarFunction, bits, fma, of_bits, polynomial, ratio

Q = {
    "float32": (0.5, 0.16666542, 0.041666281, 0.0083666444, 0.0013946564),
    "float64": (
        0.5,
        0.16666666666666677,
        0.0416666666666667,
        0.008333333333321532,
        0.001388888888886672,
        0.0001984126988640109,
        2.4801587360810283e-05,
        2.7557243911665553e-06,
        2.755724252849391e-07,
        2.5109147388477752e-08,
        2.0924518267455847e-09,
    ),
}
"""(exp(r) - 1 - r) / r**2 on |r| <= 0.347."""

RANGE = {"float32": (-105.0, 89.0, 89.6, 18.0), "float64": (-746.0, 710.0, 710.6, 40.0)}
"""Below the first exp is 0, above the second infinite, above the third sinh is; exp(-x) - 1 is -1 beyond the last."""


def exponentials(f: Format) -> Mapping[str, ScalarFunction]:
    """The functions of this file in one format."""
    q = Q[f.name]
    low_end, high_end, twice_high, gone = RANGE[f.name]
    log2_e, ln2 = float(1 / LN2), float(LN2)
    ln2_high, ln2_low = f.parts(LN2, 2)

    def power_of_two(n: Number) -> Number:
        return of_bits((n + f.bias) << f.shift)

    def scaled(p: Number, n: Number) -> Number:
        half = n >> 1
        return p * power_of_two(half) * power_of_two(n - half)

    def reduced(x: Number) -> tuple[Number, Number]:
        t = fma(x, log2_e, f.magic)
        n = t - f.magic
        return fma(-n, ln2_low, fma(-n, ln2_high, x)), bits(t) - f.magic_bits

    def clamped(x: Number, least: float, most: float) -> Number:
        below = most if most < x else x
        return least if below < least else below

    def beyond_one(r: Number) -> Number:
        """exp(r) - 1."""
        return fma(r * r, polynomial(r, q), r)

    def exp(x: Number) -> Number:
        r, k = reduced(clamped(x, low_end, high_end))
        return scaled(1.0 + beyond_one(r), k)

    def exp_parts(high: Number, low: Number) -> tuple[Number, Number, Number]:
        """p, its rounding error and k with exp(high + low) = p 2**k, for all k that the format has room for."""
        first, k = reduced(high)
        r = first + low
        bend = r * r * polynomial(r, q)
        step = r + bend
        p = 1.0 + step
        return p, ((1.0 - p) + step) + (((r - step) + bend) + ((first - r) + low)), k

    def exp_in_two_parts(high: Number, low: Number) -> Number:
        """exp(high + low), all but correctly rounded: roots and whole powers come out as they should."""
        p, lost, k = exp_parts(clamped(high, low_end, high_end), low)
        return scaled(p + lost, k)

    def exp2(x: Number) -> Number:
        inside = clamped(x, low_end / ln2, high_end / ln2)
        t = inside + f.magic
        n = t - f.magic
        return scaled(1.0 + beyond_one((inside - n) * ln2), bits(t) - f.magic_bits)

    def quarter_expm1(x: Number) -> tuple[Number, Number]:
        """(exp(x) - 1) / 4 in two parts, finite as long as sinh is."""
        r, k = reduced(clamped(x, -gone, twice_high))
        bend = r * r * polynomial(r, q)
        step = r + bend
        quarter = power_of_two(k - 2)
        high = fma(quarter, step, quarter - 0.25)
        return high, fma(quarter, step, (quarter - 0.25) - high) + quarter * ((r - step) + bend)

    def expm1(x: Number) -> Number:
        high, low = quarter_expm1(x)
        return x if abs(x) < f.tiny else 4.0 * (high + low)

    def sinh(x: Number) -> Number:
        """2 e + e / (2 e + 1/2), e = (exp(|x|) - 1) / 4."""
        e, low = quarter_expm1(abs(x))
        inverse = 1.0 / (2.0 * e + 0.5)
        size = 2.0 * e + (e * inverse + low * (2.0 + 0.5 * inverse * inverse))
        return x if abs(x) < f.tiny else np.copysign(size, x)

    def cosh(x: Number) -> Number:
        r, k = reduced(clamped(abs(x), 0.0, twice_high))
        e = power_of_two(k - 2) * (1.0 + beyond_one(r))
        return 2.0 * e + 0.125 / e

    def tanh(x: Number) -> Number:
        """e / (e + 1/2) with e = (exp(2|x|) - 1) / 4 in two parts."""
        e, low = quarter_expm1(clamped(2.0 * abs(x), 0.0, 2.0 * gone))
        below = e + 0.5
        size = ratio(e, low, below, (e - (below - 0.5)) + low)
        return x if abs(x) < f.tiny else np.copysign(size, x)

    def sech(x: Number) -> Number:
        small = exp(-abs(x))
        below = fma(small, small, 1.0)
        return ratio(2.0 * small, 0.0, below, fma(small, small, -(below - 1.0)))

    def sigmoid(x: Number) -> Number:
        small = exp(-abs(x))
        below = 1.0 + small
        return ratio(small if x < 0 else 1.0, 0.0, below, small - (below - 1.0))

    made: tuple[ScalarFunction, ...] = (exp, exp_parts, scaled, exp_in_two_parts, exp2, expm1, sinh, cosh, sech, tanh, sigmoid)
    return {one.__name__: one for one in made}
