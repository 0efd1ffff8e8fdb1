"""NumPy's universal functions of complex numbers, as scalar functions of real and imaginary parts.

`inverses.py` has those that invert others, `tables.py` all by their universal functions.

Branch cuts, signed zeros, infinities and NaN are those of C99, annex G, as NumPy has them; products and quotients are NumPy's own
(a quotient as in R. L. Smith, *Algorithm 116: Complex Division*, 1962; no recovery of infinities from NaN). The scalar language
differentiates the formulas, so a case that stands only for special numbers must have the right derivative, too: on a branch cut
that of the side on which the value lies. Results of one number are real or truth values.
"""

from __future__ import annotations

import math

import numpy as np

Pair = tuple[float, float]
_INF, _NAN = math.inf, math.nan
_LOG2 = math.log(2.0)


# -- arithmetic


def add(a: float, b: float, c: float, d: float) -> Pair:
    return a + c, b + d


def subtract(a: float, b: float, c: float, d: float) -> Pair:
    return a - c, b - d


def multiply(a: float, b: float, c: float, d: float) -> Pair:
    return a * c - b * d, a * d + b * c


def divide(a: float, b: float, c: float, d: float) -> Pair:
    if abs(c) >= abs(d):
        if c == 0 and d == 0:
            return a / abs(c), b / abs(c)
        ratio = d / c
        scale = 1.0 / (c + d * ratio)
        return (a + b * ratio) * scale, (b - a * ratio) * scale
    ratio = c / d
    scale = 1.0 / (d + c * ratio)
    return (a * ratio + b) * scale, (b * ratio - a) * scale


def reciprocal(x: float, y: float) -> Pair:
    if abs(y) <= abs(x):
        ratio = y / x
        scale = x + y * ratio
        return 1.0 / scale, -ratio / scale
    ratio = x / y
    scale = x * ratio + y
    return ratio / scale, -1.0 / scale


def square(x: float, y: float) -> Pair:
    return x * x - y * y, x * y + y * x


def negative(x: float, y: float) -> Pair:
    return -x, -y


def positive(x: float, y: float) -> Pair:
    return x, y


def conjugate(x: float, y: float) -> Pair:
    return x, -y


def absolute(x: float, y: float) -> float:
    return math.hypot(x, y)


def sign(x: float, y: float) -> Pair:
    r = math.hypot(x, y)
    if r == 0:
        return 0.0, 0.0
    if math.isinf(r) and (math.isinf(x) or math.isinf(y)):
        if math.isinf(x) and math.isinf(y):
            return _NAN, _NAN
        if math.isinf(x):
            return math.copysign(1.0, x), 0.0
        return 0.0, math.copysign(1.0, y)
    return x / r, y / r


# -- comparisons, in the order of pairs


def equal(a: float, b: float, c: float, d: float) -> bool:
    return a == c and b == d


def not_equal(a: float, b: float, c: float, d: float) -> bool:
    return a != c or b != d


def less(a: float, b: float, c: float, d: float) -> bool:
    return (a < c and not math.isnan(b) and not math.isnan(d)) or (a == c and b < d)


def less_equal(a: float, b: float, c: float, d: float) -> bool:
    return (a < c and not math.isnan(b) and not math.isnan(d)) or (a == c and b <= d)


def greater(a: float, b: float, c: float, d: float) -> bool:
    return less(c, d, a, b)


def greater_equal(a: float, b: float, c: float, d: float) -> bool:
    return less_equal(c, d, a, b)


def maximum(a: float, b: float, c: float, d: float) -> Pair:
    return (a, b) if isnan(a, b) or greater_equal(a, b, c, d) else (c, d)


def minimum(a: float, b: float, c: float, d: float) -> Pair:
    return (a, b) if isnan(a, b) or less_equal(a, b, c, d) else (c, d)


def fmax(a: float, b: float, c: float, d: float) -> Pair:
    return (a, b) if isnan(c, d) or greater_equal(a, b, c, d) else (c, d)


def fmin(a: float, b: float, c: float, d: float) -> Pair:
    return (a, b) if isnan(c, d) or less_equal(a, b, c, d) else (c, d)


def rint(x: float, y: float) -> Pair:
    return np.rint(x), np.rint(y)


def isnan(x: float, y: float) -> bool:
    return math.isnan(x) or math.isnan(y)


def isinf(x: float, y: float) -> bool:
    return math.isinf(x) or math.isinf(y)


def isfinite(x: float, y: float) -> bool:
    return math.isfinite(x) and math.isfinite(y)


def logical_not(x: float, y: float) -> bool:
    return x == 0 and y == 0


def logical_and(a: float, b: float, c: float, d: float) -> bool:
    return (a != 0 or b != 0) and (c != 0 or d != 0)


def logical_or(a: float, b: float, c: float, d: float) -> bool:
    return a != 0 or b != 0 or c != 0 or d != 0


def logical_xor(a: float, b: float, c: float, d: float) -> bool:
    return (a != 0 or b != 0) != (c != 0 or d != 0)


# -- roots, exponentials, logarithms


def sqrt(x: float, y: float) -> Pair:
    if x == 0 and y == 0:
        return math.sqrt(x + 0.0), math.sqrt(y)
    if math.isinf(y):
        return _INF, y
    if math.isnan(x):
        return x, _NAN
    if math.isinf(x):
        if x < 0:
            return abs(y * 0.0), math.copysign(_INF, y)
        return x, y * 0.0
    largest = max(abs(x), abs(y))
    if largest > 1e37:  # the scales are powers of two, so scaling is exact
        up, down = 0.0625, 4.0
    elif largest < 1e-30:
        up, down = 18014398509481984.0, 7.450580596923828e-09
    else:
        up, down = 1.0, 1.0
    s, t = x * up, y * up
    if x >= 0:
        root = math.sqrt(0.5 * (math.hypot(s, t) + s))
        return root * down, t / (2.0 * root) * down
    root = math.sqrt(0.5 * (math.hypot(s, t) - s))
    side = math.copysign(1.0, y)  # of the cut
    return side * t / (2.0 * root) * down, side * root * down


def exp(x: float, y: float) -> Pair:
    r = math.exp(x)
    if y == 0 and not math.isfinite(r):
        return r, y
    if math.isinf(x) and not math.isfinite(y):
        if x < 0:
            return 0.0, math.copysign(0.0, y)
        return _INF, _NAN
    if math.isinf(r) and math.isfinite(x):
        half = math.exp(0.5 * x)
        return half * math.cos(y) * half, half * math.sin(y) * half
    return r * math.cos(y), r * math.sin(y)


def log(x: float, y: float) -> Pair:
    m = max(abs(x), abs(y))
    angle = math.atan2(y, x)
    if m > 0.5 and m < 2.0 and not math.isnan(x) and not math.isnan(y):
        if abs(x) >= abs(y):
            return 0.5 * math.log1p((x - 1.0) * (x + 1.0) + y * y), angle
        return 0.5 * math.log1p((y - 1.0) * (y + 1.0) + x * x), angle
    if m > 1e37 and math.isfinite(m):
        return math.log(math.hypot(x * 0.5, y * 0.5)) + _LOG2, angle
    if m < 1e-30 and m > 0:
        return math.log(math.hypot(x * 18014398509481984.0, y * 18014398509481984.0)) - 54.0 * _LOG2, angle
    return math.log(math.hypot(x, y)), angle


def log2(x: float, y: float) -> Pair:
    r, angle = log(x, y)
    return r / _LOG2, angle / _LOG2


def log10(x: float, y: float) -> Pair:
    r, angle = log(x, y)
    return r / math.log(10.0), angle / math.log(10.0)


def log1p(x: float, y: float) -> Pair:
    """NumPy's: by the length and the angle of 1 + z."""
    return math.log(math.hypot(x + 1.0, y)), math.atan2(y, x + 1.0)


def exp2(x: float, y: float) -> Pair:
    return exp(x * _LOG2, y * _LOG2)


def expm1(x: float, y: float) -> Pair:
    half = math.sin(0.5 * y)
    return math.expm1(x) * math.cos(y) - 2.0 * half * half, math.exp(x) * math.sin(y)


def power(a: float, b: float, c: float, d: float) -> Pair:
    if a == 0 and b == 0:
        if c == 0 and d == 0:
            return 1.0, 0.0
        if c > 0:
            return (a + 0.0) ** c, (b + 0.0) ** c
        return _NAN, _NAN
    r, angle = log(a, b)
    if c == 0 and d == 0:
        if not math.isfinite(r) or math.isnan(angle):
            return 1.0, 0.0
        return exp(c * r - d * angle, d * r + c * angle + 0.0)
    return exp(c * r - d * angle, d * r + c * angle)


# -- circular and hyperbolic functions


def sinh(x: float, y: float) -> Pair:
    if y == 0 and not math.isfinite(math.cosh(x)):
        return math.sinh(x), y
    if not math.isfinite(y):
        if x == 0:
            return x, _NAN
        if math.isinf(x):
            return _INF, _NAN
        return _NAN, _NAN
    if math.isinf(math.cosh(x)) and math.isfinite(x):
        half = math.exp(0.5 * abs(x))
        return math.copysign(0.5 * half, x) * math.cos(y) * half, 0.5 * half * math.sin(y) * half
    return math.sinh(x) * math.cos(y), math.cosh(x) * math.sin(y)


def cosh(x: float, y: float) -> Pair:
    if y == 0 and not math.isfinite(math.cosh(x)):
        return math.cosh(x), math.copysign(1.0, x) * y
    if not math.isfinite(y):
        if x == 0:
            return _NAN, 0.0
        if math.isinf(x):
            return _INF, _NAN
        return _NAN, _NAN
    if math.isinf(math.cosh(x)) and math.isfinite(x):
        half = math.exp(0.5 * abs(x))
        return 0.5 * half * math.cos(y) * half, math.copysign(0.5 * half, x) * math.sin(y) * half
    return math.cosh(x) * math.cos(y), math.sinh(x) * math.sin(y)


def tanh(x: float, y: float) -> Pair:
    if y == 0 and math.isnan(x):
        return x, y
    if math.isinf(x):
        if math.isfinite(y):
            return math.copysign(1.0, x), 0.0 * math.sin(y) * math.cos(y)
        return math.copysign(1.0, x), math.copysign(0.0, y)
    if not math.isfinite(y):
        if x == 0:
            return x, _NAN
        return _NAN, _NAN
    if abs(x) > 20.0:
        return math.copysign(1.0, x), 4.0 * math.sin(y) * math.cos(y) * math.exp(-2.0 * abs(x))
    below = math.sinh(x) * math.sinh(x) + math.cos(y) * math.cos(y)
    return math.sinh(x) * math.cosh(x) / below, math.sin(y) * math.cos(y) / below


def sin(x: float, y: float) -> Pair:
    re, im = sinh(-y, x)
    return im, -re


def cos(x: float, y: float) -> Pair:
    return cosh(-y, x)


def tan(x: float, y: float) -> Pair:
    re, im = tanh(-y, x)
    return im, -re
