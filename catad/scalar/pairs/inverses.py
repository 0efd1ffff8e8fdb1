"""The inverse circular and hyperbolic functions of complex numbers, as scalar functions of real and imaginary parts.

The formulas are those of W. Kahan, *Branch Cuts for Complex Elementary Functions*, 1987: square roots of 1 - z and 1 + z, so that
nothing cancels, and signed zeros choose the side of a cut. Beyond `_LARGE` the next term of the series is below rounding.
"""

from __future__ import annotations

import math

from catad.scalar.pairs.formulas import Pair, log, reciprocal, sqrt

_LARGE = 1e10
_LOG2 = math.log(2.0)
_NAN, _INF, _PI = math.nan, math.inf, math.pi


def arcsinh(x: float, y: float) -> Pair:
    if math.isnan(x) or math.isnan(y):
        if math.isinf(x):
            return x, y
        if math.isinf(y):
            return abs(y), _NAN
        return (x, y) if y == 0 else (_NAN, _NAN)
    if abs(x) > _LARGE or abs(y) > _LARGE:  # infinite ones among them
        if x < 0 or (x == 0 and math.copysign(1.0, x) < 0):
            re, im = log(-x, -y)
            return -(re + _LOG2), -im
        re, im = log(x, y)
        return re + _LOG2, im
    a, b = sqrt(1.0 + y, -x)  # of 1 - i z
    c, d = sqrt(1.0 - y, x)  # of 1 + i z
    return math.asinh(a * d - b * c), math.atan2(y, a * c - b * d)


def arcsin(x: float, y: float) -> Pair:
    im, re = arcsinh(y, x)
    return re, im


def arccos(x: float, y: float) -> Pair:
    if math.isnan(x) or math.isnan(y):
        if math.isinf(x):
            return y, -_INF
        if math.isinf(y):
            return x, -y
        return (0.5 * _PI, y) if x == 0 else (_NAN, _NAN)
    side = math.copysign(1.0, y)
    if abs(x) > _LARGE or abs(y) > _LARGE:
        re, im = log(x, y)
        return side * im, -side * (re + _LOG2)
    a, b = sqrt(1.0 - x, -y)
    c, d = sqrt(1.0 + x, y)
    return 2.0 * math.atan2(a, c), math.asinh(c * b - d * a)


def arccosh(x: float, y: float) -> Pair:
    re, im = arccos(x, y)
    if math.isnan(re):
        return (_NAN, _NAN) if math.isnan(im) else (abs(im), re)
    if math.isnan(im):
        return im, re
    side = math.copysign(1.0, y)
    return -side * im, side * re


def arctanh(x: float, y: float) -> Pair:
    if math.isnan(x) or math.isnan(y):
        if math.isinf(x):
            return math.copysign(0.0, x), y
        if math.isinf(y):
            return math.copysign(0.0, x), math.copysign(0.5 * _PI, y)
        return (x, y) if x == 0 else (_NAN, _NAN)
    left = x < 0 or (x == 0 and math.copysign(1.0, x) < 0)
    s = -x if left else x
    if s > _LARGE or abs(y) > _LARGE:
        if math.isinf(x) or math.isinf(y):
            return math.copysign(0.0, x), math.copysign(0.5 * _PI, y)
        re, im = reciprocal(x, y)
        return re, math.copysign(0.5 * _PI, y) + im
    angle = 0.5 * math.atan2(2.0 * y, (1.0 - s) * (1.0 + s) - y * y)
    if s > 0.5 and s < 2.0 and abs(y) < 0.5:
        up = 0.5 * (math.log(math.hypot(1.0 + s, y)) - math.log(math.hypot(1.0 - s, y)))
    else:
        up = 0.25 * math.log1p(4.0 * s / ((1.0 - s) * (1.0 - s) + y * y))
    return (-up if left else up), angle


def arctan(x: float, y: float) -> Pair:
    im, re = arctanh(y, x)
    return re, im
