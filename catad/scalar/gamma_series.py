"""digamma and polygamma as array code for NumPy; and their series, which the compiled functions share.

Abramowitz and Stegun 6.3 and 6.4: the recurrence `psi(x+1) = psi(x) + 1/x`, the asymptotic series at large arguments and the
reflection formula for negative ones. Below 3, digamma follows from a polynomial for `digamma(1 + e) / (e - ROOT)`, so that it
keeps its relative accuracy at its positive root. `vector_math/gamma.py` and `vector_math/polygamma.py` compute the same in the
scalar language, in two parts with many fused products. As array code these would take 5 to 20 times longer than what follows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

Array = Any

ABOUT_ROOT = {
    "float32": (
        0.9510559,
        -8.329434e-09,
        -0.4236275,
        0.2405426,
        -0.14839889,
        0.09498193,
        -0.062055923,
        0.040883422,
        -0.025786107,
        0.016955528,
        -0.016376214,
        0.0111649055,
    ),
    "float64": (
        0.951055876031833,
        -5.459372345860828e-17,
        -0.4236274212814605,
        0.2405424842407742,
        -0.14840492305390884,
        0.09498872445494122,
        -0.061922133273064534,
        0.04076083381242074,
        -0.02697579675613825,
        0.0179072524394512,
        -0.011908218001568644,
        0.007926944646403797,
        -0.005279964873257405,
        0.003519006401502276,
        -0.002345267632540769,
        0.0015566317474486838,
        -0.0010376374098418604,
        0.0007233266279287554,
        -0.0004821990530566789,
        0.0002272331660987376,
        -0.00015148586836773365,
        0.00025968482126430747,
        -0.00017312261802727394,
    ),
}
"""digamma(1 + e) / (e - ROOT) in e - 1/2; the first coefficient in two parts."""

PSI_TAIL = {
    "float32": (
        0.08333333,
        -0.008331803,
        0.0038948427,
        -0.0029739994,
    ),
    "float64": (
        0.08333333333333326,
        -0.008333333333141225,
        0.003968253884606808,
        -0.004166652145541694,
        0.007574428657941327,
        -0.02101909448636007,
        0.08063883867202075,
        -0.3742755142047782,
        1.7456151032233163,
        -6.704780540721474,
        17.256336832218423,
        -21.289995372744418,
    ),
}
"""a**2 (log(a) - 1 / (2 a) - digamma(a)) in 1 / a**2, a >= 3."""

ROOT = Fraction("0.461632144968362341262659542325721328468196204006446351295988")
"""The positive root of digamma, less 1."""

BERNOULLI = tuple(
    Fraction(*one)
    for one in ((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510), (43867, 798), (-174611, 330))
)
"""The Bernoulli numbers B2, B4, ..., B20."""


@cache
def tail_coefficients(order: int, count: int) -> tuple[Fraction, ...]:
    """The coefficients of z**2, z**4, ... in the sum of 1 / (y + k)**(order + 1) over k >= 0, divided by z**order, z = 1 / y."""
    rising = [math.prod(range(order + 1, order + 2 * k)) for k in range(1, count + 1)]
    return tuple([b * r / math.factorial(2 * k) for k, (b, r) in enumerate(zip(BERNOULLI, rising, strict=False), 1)])


@cache
def cotangent_derivative(order: int) -> tuple[float, ...]:
    """The polynomial P, lowest coefficient first, with P(cot t) the derivative number `order` of cot t: P <- -P' (1 + c**2).

    >>> cotangent_derivative(1)
    (-1.0, 0.0, -1.0)
    """
    found = [0, 1]
    for _ in range(order):
        slope = [k * c for k, c in enumerate(found)][1:]
        found = [-a - b for a, b in zip([*slope, 0, 0], [0, 0, *slope], strict=True)]
    return tuple([float(c) for c in found])


LARGE = 12.0
"""From here on, and further by its order, the asymptotic series of polygamma is accurate to double precision."""

_ROOT_LOW = float(ROOT - Fraction(float(ROOT)))


def as_double(x: Array) -> tuple[Array, Any]:
    """The numbers in float64, and the dtype of what is computed of them."""
    x = np.asarray(x)
    return x.astype(np.float64), (x.dtype if x.dtype.kind == "f" else np.dtype(np.float64))


def as_given(result: Array, dtype: Any) -> Array:
    """A result in its dtype; without axes a number."""
    result = np.asarray(result).astype(dtype)
    return result if result.ndim else result[()]


def digamma(x: Array) -> Array:
    """The derivative of log gamma.

    >>> float(digamma(np.float64(1.0)))
    -0.5772156649015329
    """
    x, dtype = as_double(x)
    with np.errstate(all="ignore"):
        mirrored = 1.0 - x
        positive = _digamma_positive(np.where(x > 0, x, mirrored))
        reflected = np.where(x == np.rint(x), np.nan, positive - np.pi * _cotangent(x))
        result = np.where(x > 0, positive, np.where(x == 0, -1.0 / x, reflected))
    return as_given(result, dtype)


def _digamma_positive(x: Array) -> Array:
    """Below 3 the polynomial about the root and the recurrence, which gives one term; from 3 on the asymptotic series."""
    n = np.where(x >= 1, 1.0, 0.0) + np.where(x >= 2, 1.0, 0.0)
    e = x - n
    near = ((e - float(ROOT)) - _ROOT_LOW) * (_polynomial(e - 0.5, ABOUT_ROOT["float64"][2:]) + ABOUT_ROOT["float64"][0])
    near = near + np.where(n == 2, 1.0 / (1.0 + e), np.where(n == 0, -1.0 / x, 0.0))
    square = 1.0 / (x * x)
    return np.where(x < 3, near, np.log(x) - 0.5 / x - _polynomial(square, PSI_TAIL["float64"]))


def _polynomial(x: Array, coefficients: Sequence[float]) -> Array:
    """c1 x + c2 x**2 + ... by Horner's rule."""
    total = np.zeros_like(x)
    for c in reversed(coefficients):
        total = x * (c + total)
    return total


def _cotangent(x: Array) -> Array:
    """1 / tan(pi x), also where that is small."""
    d = x - np.rint(x)
    size = np.abs(d)
    near = np.tan(np.pi * np.where(size > 0.25, 0.5 - size, size))
    return np.copysign(np.where(size > 0.25, near, 1.0 / near), d)


def polygamma(order: int, x: Array) -> Array:
    """The derivative number `order` of digamma.

    >>> float(polygamma(1, np.float64(1.0)))
    1.6449340668482264
    """
    if order == 0:
        return digamma(x)
    x, dtype = as_double(x)
    with np.errstate(all="ignore"):
        positive = _polygamma_positive(order, np.where(x > 0, x, 1.0 - x))
        first, *rest = cotangent_derivative(order)
        reflected = (-1.0) ** order * positive - math.pi ** (order + 1) * (_polynomial(_cotangent(x), rest) + first)
        pole = np.where(x == 0, np.inf if order % 2 else -np.copysign(np.inf, x), np.nan)
        result = np.where(x > 0, positive, np.where(x == np.rint(x), pole, reflected))
        if order % 2:  # even about the poles: all of them are +infinity
            result = np.where((x <= 0) & (x == np.rint(x)), np.inf, result)
    return as_given(result, dtype)


def _polygamma_positive(order: int, x: Array) -> Array:
    """(-1)^(n+1) n! zeta(n+1, x): direct terms up to a large argument, then Euler and Maclaurin."""
    start = LARGE + order
    total = np.zeros_like(x)
    place = x
    for _ in range(int(start)):
        down = place < start
        total = np.where(down, total + place ** -(order + 1.0), total)
        place = np.where(down, place + 1.0, place)
    tail = _polynomial(1.0 / (place * place), [float(c) for c in tail_coefficients(order, 10)])
    ahead = place ** float(-order) * (1.0 / order + 0.5 / place + tail)
    return (-1.0) ** (order + 1) * math.factorial(order) * (total + ahead)
