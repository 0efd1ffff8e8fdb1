"""digamma and polygamma as array code for NumPy.

Abramowitz and Stegun 6.3 and 6.4: the recurrence `psi(x+1) = psi(x) + 1/x`, the asymptotic series at large arguments
and the reflection formula for negative ones. On [1, 2] digamma is `(x - root) * series(x)` with a Chebyshev series, so
that it keeps its relative accuracy at its positive root.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

Array = Any

ROOT = (1.4616321449683622, 9.549995429965697e-17)
"""The positive root of digamma, as a sum of two doubles."""

CHEBYSHEV = (
    0.983570260441567,
    -0.2270640863346444,
    0.03336889902393011,
    -0.005320077271596548,
    0.0008788656937820505,
    -0.00014773492650606044,
    2.5060543468359146e-05,
    -4.2721034029993324e-06,
    7.302769272465923e-07,
    -1.2502886813559594e-07,
    2.1425009322359472e-08,
    -3.673295918565179e-09,
    6.299717236108931e-10,
    -1.080593028883266e-10,
    1.853735192053638e-11,
    -3.18023536582553e-12,
    5.456147570322795e-13,
    -9.360993131036438e-14,
    1.606064636295075e-14,
    -2.7555431377438815e-15,
    4.727736178601912e-16,
    -8.11148420346509e-17,
    1.391707769474154e-17,
)
"""Coefficients of digamma(x) / (x - root) on [1, 2] in the Chebyshev polynomials of 2x - 3."""

BERNOULLI = (
    1 / 6,
    -1 / 30,
    1 / 42,
    -1 / 30,
    5 / 66,
    -691 / 2730,
    7 / 6,
    -3617 / 510,
    43867 / 798,
    -174611 / 330,
)
"""The Bernoulli numbers B2, B4, ..., B20."""

LARGE = 12.0
"""From here on the asymptotic series of digamma is accurate to double precision."""


def _as_double(x: Array) -> tuple[Array, Any]:
    x = np.asarray(x)
    return x.astype(np.float64), (x.dtype if x.dtype.kind == "f" else np.dtype(np.float64))


def _as_given(result: Array, dtype: Any) -> Array:
    result = np.asarray(result).astype(dtype)
    return result if result.ndim else result[()]


def digamma(x: Array) -> Array:
    """The derivative of log gamma.

    >>> float(digamma(np.float64(1.0)))
    -0.5772156649015329
    """
    x, dtype = _as_double(x)
    with np.errstate(all="ignore"):
        mirrored = 1.0 - x
        positive = _digamma_positive(np.where(x > 0, x, mirrored))
        reflected = np.where(x == np.rint(x), np.nan, positive - np.pi * _cotangent(x))
        result = np.where(x > 0, positive, np.where(x == 0, -1.0 / x, reflected))
    return _as_given(result, dtype)


def _digamma_positive(x: Array) -> Array:
    """Bring x to [1, 2] by the recurrence (all terms of one sign), or use the asymptotic series."""
    below = x < 1.0
    shift = np.where(below, -1.0 / x, 0.0)
    place = np.where(below, x + 1.0, x)
    for _ in range(int(LARGE) - 1):
        down = (place > 2.0) & (x < LARGE)
        place = np.where(down, place - 1.0, place)
        shift = np.where(down, shift + 1.0 / place, shift)
    near = _chebyshev(2.0 * place - 3.0) * ((place - ROOT[0]) - ROOT[1])
    square = 1.0 / (x * x)
    tail = np.zeros_like(x)
    for k in range(len(BERNOULLI), 0, -1):
        tail = square * (BERNOULLI[k - 1] / (2 * k) + tail)
    far = np.log(x) - 0.5 / x - tail
    return np.where(x < LARGE, near + shift, far)


def _cotangent(x: Array) -> Array:
    """1 / tan(pi x), also where that is small."""
    d = x - np.rint(x)
    size = np.abs(d)
    near = np.tan(np.pi * np.where(size > 0.25, 0.5 - size, size))
    return np.copysign(np.where(size > 0.25, near, 1.0 / near), d)


def _chebyshev(t: Array) -> Array:
    """Clenshaw's recurrence."""
    one = two = np.zeros_like(t)
    for coefficient in CHEBYSHEV[:0:-1]:
        one, two = 2.0 * t * one - two + coefficient, one
    return t * one - two + CHEBYSHEV[0]


def polygamma(order: int, x: Array) -> Array:
    """The derivative number `order` of digamma.

    >>> float(polygamma(1, np.float64(1.0)))
    1.6449340668482264
    """
    if order == 0:
        return digamma(x)
    x, dtype = _as_double(x)
    with np.errstate(all="ignore"):
        positive = _polygamma_positive(order, np.where(x > 0, x, 1.0 - x))
        cotangent = _cotangent(x)
        *rest, tail = _cotangent_derivative(order)
        for coefficient in reversed(rest):
            tail = tail * cotangent + coefficient
        reflected = (-1.0) ** order * positive - math.pi ** (order + 1) * tail
        pole = np.where(x == 0, np.inf if order % 2 else -np.copysign(np.inf, x), np.nan)
        result = np.where(x > 0, positive, np.where(x == np.rint(x), pole, reflected))
        if order % 2:  # even about the poles: all of them are +infinity
            result = np.where((x <= 0) & (x == np.rint(x)), np.inf, result)
    return _as_given(result, dtype)


def _polygamma_positive(order: int, x: Array) -> Array:
    """(-1)^(n+1) n! zeta(n+1, x): direct terms up to a large argument, then Euler and Maclaurin."""
    start = LARGE + order
    total = np.zeros_like(x)
    place = x
    for _ in range(int(start)):
        down = place < start
        total = np.where(down, total + place ** -(order + 1.0), total)
        place = np.where(down, place + 1.0, place)
    square = 1.0 / (place * place)
    tail = np.zeros_like(x)
    for k in range(len(BERNOULLI), 0, -1):
        scale = BERNOULLI[k - 1] / math.factorial(2 * k) * _rising(order, k)
        tail = square * (scale + tail)
    ahead = place ** float(-order) * (1.0 / order + 0.5 / place + tail)
    return (-1.0) ** (order + 1) * math.factorial(order) * (total + ahead)


def _rising(order: int, k: int) -> float:
    """(order+1)(order+2)...(order+2k-1)."""
    return math.prod(float(order + j) for j in range(1, 2 * k))


@cache
def _cotangent_derivative(order: int) -> tuple[float, ...]:
    """The polynomial P with d^n cot(t) / dt^n = P(cot t), lowest coefficient first: P <- -P' (1 + c^2)."""
    polynomial = [0.0, 1.0]
    for _ in range(order):
        slope = [i * c for i, c in enumerate(polynomial)][1:]
        polynomial = [0.0] * (len(slope) + 2)
        for i, c in enumerate(slope):
            polynomial[i] -= c
            polynomial[i + 2] -= c
    return tuple(polynomial)
