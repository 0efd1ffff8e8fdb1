"""gamma, lgamma and digamma.

With a = |x|: below 3, a = n + e with 0 <= e < 1, and the functions follow from polynomials of e for `gamma(1 + e)` and
`digamma(1 + e)`, the latter divided by its root, through `gamma(x + 1) = x gamma(x)`. From 3 on they follow from Stirling's
series, its tail a polynomial of 1 / a**2. Negative numbers are reflected: `gamma(-a) = -pi / (a sin(pi a) gamma(a))` and
`digamma(-a) = digamma(a) + 1 / a + pi / tan(pi a)`. What is rounded before a sum or a logarithm is kept in two parts, so that
lgamma is accurate about its zeros 1 and 2, and digamma about its positive root. The zeros of both on the negative axis are
numbers of no format: there the error is at most 2 units in the last place and what half a unit in the last place of x changes.

Source: NIST Digital Library of Mathematical Functions, 5.4, 5.5 and 5.11.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np

from catad.scalar.gamma_series import ABOUT_ROOT, PSI_TAIL, ROOT
from catad.scalar.vector_math.circular import circular
from catad.scalar.vector_math.exponential import exponentials
from catad.scalar.vector_math.formats import (
    PI,
    Format,
    Number,
    ScalarFunction,
    fast_two_sum,
    fma,
    leading,
    polynomial,
    product,
    ratio,
    reciprocal,
    two_sum,
)
from catad.scalar.vector_math.power import power

SERIES = {
    "float32": (
        0.4550923,
        -1.2716488e-08,
        -0.12935364,
        0.16111547,
        -0.08823081,
        0.06587508,
        -0.04294507,
        0.029168947,
        -0.01852211,
        0.012269505,
        -0.011905069,
        0.008139936,
    ),
    "float64": (
        0.45509229818896796,
        -3.612624062842512e-18,
        -0.12935358979554007,
        0.16111537800265782,
        -0.08823514092306518,
        0.0658800758336633,
        -0.042848354493856045,
        0.029079087968008163,
        -0.019385675690670352,
        0.01296592934174182,
        -0.008652932503980443,
        0.005773590041290861,
        -0.003850840721538205,
        0.0025686225186555634,
        -0.0017127104712047225,
        0.0011371126259568285,
        -0.0007581226679561294,
        0.0005285388837368686,
        -0.0003523668923580547,
        0.00016605321589813066,
        -0.00011070333461605974,
        0.00018977929146376098,
        -0.00012651977196833709,
    ),
}
"""(gamma(1 + e) - 1) / (e (e - 1)) in e - 1/2, 0 <= e <= 1; the first coefficient in two parts."""

SINE = {
    "float32": (
        -1.644934,
        -8.383924e-09,
        0.81174237,
        -0.19074996,
        0.026127402,
        -0.002253774,
    ),
    "float64": (
        -1.6449340668482264,
        -3.0401836168387804e-17,
        0.8117424252833536,
        -0.19075182412208389,
        0.026147847817640922,
        -0.002346081035170168,
        0.00014842878972770888,
        -6.975851212142347e-06,
        2.5303274566671354e-07,
        -7.114052818769393e-09,
    ),
}
"""(sin(pi d) / (pi d) - 1) / d**2 in d**2, |d| <= 1/2; the first coefficient in two parts."""

LOG_TAIL = {
    "float32": (
        0.083333336,
        -0.002777815,
        0.00078886386,
        -0.00047583415,
    ),
    "float64": (
        0.0833333333333333,
        -0.0027777777777195233,
        0.0007936507723574479,
        -0.0005952350055448468,
        0.000841516099758554,
        -0.0019068207328951838,
        0.006092217052652786,
        -0.02302168793289351,
        0.08131867516948406,
        -0.2070454994650159,
        0.2617271643435751,
    ),
}
"""a (log(gamma(a)) - (a - 1/2) log(a) + a - log(2 pi) / 2) in 1 / a**2, a >= 3."""

LOG_ROOT = Fraction("0.4189385332046727417803297364056176398613974736377834128171515243490824")
"""log(2 pi) / 2 - 1 / 2."""

LARGEST = {"float32": (50.0, 130.0), "float64": (200.0, 800.0)}
"""The bound from which on gamma(-a) is 0 between its poles, and one that no logarithm of gamma reaches."""


def reflection(f: Format) -> tuple[Callable[[Number], tuple[Number, Number]], Callable[[Number], Number]]:
    """`sin(pi d) / pi` in two parts and `1 / tan(pi d)`, for |d| <= 1/2."""
    sines = SINE[f.name]
    pi_high, pi_low = f.parts(PI, 2)
    tangent = circular(f)["tangent"]

    def sine(d: Number) -> tuple[Number, Number]:
        square = d * d
        bend, bend_low = product(square, fma(d, d, -square), *leading(square, sines))
        bent, bent_low = product(d, 0.0, bend, bend_low)
        high, low = fast_two_sum(d, bent)
        return high, low + bent_low

    def cotangent(d: Number) -> Number:
        size = abs(d)
        steep = size > 0.25
        q = 0.5 - size if steep else size
        r, lost = product(q, 0.0, pi_high, pi_low)
        return np.copysign(tangent(r, lost, steep), d)

    return sine, cotangent


def steps(a: Number) -> tuple[Number, Number]:
    """n and e with a = n + e, n = 0, 1 or 2, for a below 3."""
    n = (1.0 if a >= 1 else 0.0) + (1.0 if a >= 2 else 0.0)
    return n, a - n


def gammas(f: Format) -> Mapping[str, ScalarFunction]:
    """gamma and lgamma in one format."""
    series, tails = SERIES[f.name], LOG_TAIL[f.name]
    last, most = LARGEST[f.name]
    constant, constant_low = f.parts(LOG_ROOT, 2)
    exponential, logarithm = exponentials(f)["exp_parts"], power(f)["logarithm"]
    scaled = exponentials(f)["scaled"]
    sine, _ = reflection(f)

    def stirling(a: Number, log: Number, log_low: Number) -> tuple[Number, Number]:
        """log(gamma(a)) in two parts, from log(a), for a >= 3."""
        z = 1.0 / a
        high, low = product(a - 0.5, 0.0, log - 1.0, log_low)
        tail, lost = fast_two_sum(constant, z * polynomial(z * z, tails))
        total, more = two_sum(high, tail)
        return total, (more + low) + (lost + constant_low)

    def middle(a: Number) -> tuple[Number, Number]:
        """The value gamma(a) for a below 3, in two parts; below 1, a gamma(a)."""
        n, e = steps(a)
        high, low = leading(e - 0.5, series)
        square = e * e
        difference, lost = fast_two_sum(-e, square)
        u, u_low = product(difference, lost + fma(e, e, -square), high, low)
        one, one_low = fast_two_sum(1.0, u)
        factor = 1.0 + e if n == 2 else 1.0
        return product(one, one_low + u_low, factor, 0.0)

    def gamma(x: Number) -> Number:
        a = abs(x)
        large = a >= 3
        size = last if a > last else a
        log, log_low = logarithm(size)
        p, p_low, k = exponential(*clamped(*stirling(size, log, log_low)))
        m, m_low = middle(a)
        high, low = (p, p_low) if large else (m, m_low)
        count = k if large else 0
        turns = np.rint(x)
        d, d_low = sine(x - turns)
        below, below_low = product(high, low, d, d_low)
        odd = turns != 2.0 * np.rint(0.5 * turns)
        small = a < 1
        over, over_low = product(below, below_low, 1.0 if small else a, 0.0)
        positive = ratio(high, low, a if small else 1.0, 0.0)
        negative = ratio(-1.0 if odd else 1.0, 0.0, over, over_low)
        value = scaled(negative if x < 0 else positive, -count if x < 0 else count)
        inside = np.nan if x < 0 and x == turns else value
        return 1.0 / x if a < f.tiny else (inside if x == x else x)

    def clamped(high: Number, low: Number) -> tuple[Number, Number]:
        return (most if high > most else high), low

    def lgamma(x: Number) -> Number:
        a = abs(x)
        large, small = a >= 3, a < 1
        log, log_low = logarithm(a)
        far, far_low = stirling(a, log, log_low)
        turns = np.rint(a)
        d, d_low = sine(abs(a - turns))
        m, m_low = middle(a)
        high, low = (1.0, 0.0) if large else (m, m_low)
        f_high, f_low = product(d, d_low, 1.0 if small else a, 0.0)
        factor, factor_low = (f_high, f_low) if x < 0 else (1.0, 0.0)
        inner, inner_low = product(high, low, factor, factor_low)
        near, near_low = logarithm(inner)
        near_low = near_low + inner_low / inner
        added = small and x > 0
        more = far if large else (-log if added else 0.0)
        more_low = far_low if large else (-log_low if added else 0.0)
        total, lost = two_sum(near, more)
        value = total + (lost + (near_low + more_low))
        pole = x <= 0 and a == turns
        known = np.inf if pole or (large and more == np.inf) or a == np.inf else (-value if x < 0 else value)
        return known if x == x else x

    return {"gamma": gamma, "lgamma": lgamma}


def digammas(f: Format) -> Mapping[str, ScalarFunction]:
    """digamma in one format."""
    series, tails = ABOUT_ROOT[f.name], PSI_TAIL[f.name]
    root, root_low = f.parts(ROOT, 2)
    pi_high, pi_low = f.parts(PI, 2)
    logarithm = power(f)["logarithm"]
    _, cotangent = reflection(f)

    def digamma(x: Number) -> Number:
        a = abs(x)
        large, small = a >= 3, a < 1
        n, e = steps(a)
        high, low = leading(e - 0.5, series)
        away, lost = two_sum(e, -root)
        middle, middle_low = product(away, lost - root_low, high, low)
        log, log_low = logarithm(a)
        z = 1.0 / a
        far, far_low = fast_two_sum(log, -0.5 * z)
        total, rest = (far, far_low + (log_low - z * z * polynomial(z * z, tails))) if large else (middle, middle_low)
        up, up_low = reciprocal(1.0 + e)
        total, lost = two_sum(total, up if n == 2 and not large else 0.0)
        rest = rest + lost + (up_low if n == 2 and not large else 0.0)
        back, back_low = reciprocal(a)
        sign = (0.0 if small else 1.0) if x < 0 else (-1.0 if small else 0.0)
        total, lost = two_sum(total, sign * back)
        rest = rest + lost + sign * back_low
        turns = np.rint(a)
        turned, turned_low = product(cotangent(a - turns), 0.0, pi_high, pi_low)
        reflected, lost = two_sum(total, turned)
        value = reflected + (rest + lost + turned_low) if x < 0 else total + rest
        inside = np.nan if x < 0 and a == turns else (x if x == np.inf else value)
        return -1.0 / x if a < f.tiny else (inside if x == x else x)

    return {"digamma": digamma}
