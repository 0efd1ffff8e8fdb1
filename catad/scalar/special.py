"""Functions that NumPy lacks, or leaves open at the edges, as array code; on CuPy some come from `cupyx.scipy.special`.

Each takes the array module first. The gamma and error functions are those of the C library, one element
at a time; digamma and polygamma are in `gamma_series.py`.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from catad.scalar import gamma_series as _series
from catad.scalar.ops import OPS
from catad.values.formats import format_of

Array = Any
Xp = ModuleType | Any

ARRAY_NAMES = {"_integer"}.union(*[re.findall(r"\b_\w+", op.code) for op in OPS.values()])
"""The names under which array templates call these functions."""


def _cupy_special(xp: Xp) -> Any:
    """`cupyx.scipy.special` for CuPy's arrays, None for NumPy's."""
    if xp is np or getattr(xp, "__name__", "") != "cupy":
        return None
    return import_module("cupyx.scipy.special")


def _gamma_one(x: float) -> float:
    try:
        return math.gamma(x)
    except OverflowError:
        return math.copysign(math.inf, x)
    except ValueError:
        if x == 0:
            return math.copysign(math.inf, x)
        return math.nan


def _lgamma_one(x: float) -> float:
    try:
        return math.lgamma(x)
    except (OverflowError, ValueError):
        return math.inf


@cache
def _of_the_c_library(name: str, otherwise: Callable[[float], float]) -> Callable[[float], float]:
    """A function of the C library: Python's own `lgamma` loses two digits near 1 and 2."""
    for library in (None, "libm.so.6"):
        try:
            found = getattr(ctypes.CDLL(library), name)
        except (OSError, TypeError, AttributeError):
            continue
        found.argtypes, found.restype = [ctypes.c_double], ctypes.c_double
        return lambda x: float(found(x))
    return otherwise


@cache
def _elementwise(function: Callable[[float], float]) -> Callable[[Array], Array]:
    mapped = np.frompyfunc(function, 1, 1)

    def run(x: Array) -> Array:
        x, dtype = _series.as_double(x)
        with np.errstate(all="ignore"):  # the C library sets flags that are not the array's
            return _series.as_given(mapped(x), dtype)

    return run


def _special(name: str, host: Callable[..., Array]) -> Callable[..., Array]:
    """A function of `cupyx.scipy.special` for CuPy's arrays, `host` for NumPy's."""

    def run(xp: Xp, *args: Any) -> Array:
        device = _cupy_special(xp)
        return host(*args) if device is None else getattr(device, name)(*args)

    return run


erf = _special("erf", lambda x: _elementwise(math.erf)(x))
"""The error function."""
erfc = _special("erfc", lambda x: _elementwise(math.erfc)(x))
"""1 - erf(x), accurate where it is small."""
gamma = _special("gamma", lambda x: _elementwise(_gamma_one)(x))
"""The gamma function; signed infinity at 0, NaN at negative integers."""
lgamma = _special("gammaln", lambda x: _elementwise(_of_the_c_library("lgamma", _lgamma_one))(x))
"""log |gamma(x)|."""
digamma = _special("digamma", _series.digamma)
"""The derivative of `lgamma`."""
polygamma = _special("polygamma", _series.polygamma)
"""The derivative number `order` of `digamma`."""


def sigmoid(xp: Xp, x: Array) -> Array:
    """1 / (1 + exp(-x)), without overflow and accurate in both tails.

    >>> float(sigmoid(np, np.float64(0.0))), float(sigmoid(np, np.float64(-1000.0)))
    (0.5, 0.0)
    """
    small = xp.exp(-xp.abs(x))
    return xp.where(x < 0, small, xp.ones_like(small)) / (1.0 + small)


def sech(xp: Xp, x: Array) -> Array:
    """1 / cosh(x), also where cosh(x) is beyond all floats.

    >>> float(sech(np, np.float64(0.0))), float(sech(np, np.float32(100.0))) > 0.0
    (1.0, True)
    """
    small = xp.exp(-xp.abs(x))
    return (small + small) / (1.0 + small * small)


def remainder(xp: Xp, x: Array, y: Array) -> Array:
    """The IEEE remainder x - n*y, n the whole number nearest to x/y, ties to even; exact.

    >>> float(remainder(np, np.float64(5.0), np.float64(3.0)))
    -1.0
    """
    kind = xp.fmod(x, y).dtype
    x, y = (xp.asarray(one).astype(kind if kind.kind == "f" else np.float64) for one in (x, y))
    size = xp.abs(y)
    rest = xp.fmod(xp.abs(x), size + size)  # where 2|y| overflows, x itself is the rest
    above = rest > size - rest  # 2*rest > size, without overflow
    rest = xp.where(above, rest - size, rest)
    again = above & (rest >= size - rest)
    rest = xp.where(again, rest - size, rest)
    return xp.where(xp.signbit(x), -rest, rest)


def fma(xp: Xp, x: Array, y: Array, z: Array) -> Array:
    """x*y + z rounded once: a sum of parts is rounded to odd before it is rounded to the nearest float.

    S. Boldo and G. Melquiond, Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd, 2008.
    """
    product = x * y
    total = product + z
    if format_of(total.dtype).is_short:  # products are exact in float64
        wide = [xp.asarray(one, total.dtype).astype(np.float64) for one in (x, y, z)]
        return _odd_sum(xp, wide[0] * wide[1], wide[2]).astype(total.dtype)
    high, low = _sum(z, _product_error(x, y, product))
    high, lost = _sum(product, high)
    found = high + _odd_sum(xp, low, lost)
    found = xp.where(xp.isfinite(found) & (found != 0), found, total)
    found = xp.where(xp.isinf(z) & xp.isfinite(x) & xp.isfinite(y), z, found)  # also where the product overflows
    return _past_the_ends(x, y, z, product, found) if xp is np else found


def _sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The sum of two floats and its rounding error (Knuth)."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def _odd_sum(xp: Xp, a: Array, b: Array) -> Array:
    """a + b rounded to odd: towards zero, and then the last bit is set where that is inexact."""
    total, lost = _sum(a, b)
    image = xp.asarray(total).view(np.int64)
    odd = (image - ((lost > 0) != (total > 0))) | 1
    return xp.where((lost != 0) & xp.isfinite(lost), odd, image).view(np.float64)


def _product_error(x: Array, y: Array, product: Array) -> Array:
    """The part of a product that rounding took away (Dekker)."""
    splitter = 134217729.0
    xt, yt = splitter * x, splitter * y
    xh, yh = xt - (xt - x), yt - (yt - y)
    xl, yl = x - xh, y - yh
    return ((xh * yh - product) + xh * yl + xl * yh) + xl * yl


def _past_the_ends(x: Array, y: Array, z: Array, product: Array, found: Array) -> Array:
    """x*y + z by whole numbers, where a part of the product over- or underflows."""
    size = np.abs(product)
    large = (size > 2.0**990) | (np.abs(x) > 2.0**990) | (np.abs(y) > 2.0**990)
    ends = (large | (size < 2.0**-900)) & (x != 0) & (y != 0) & np.isfinite(x) & np.isfinite(y) & np.isfinite(z)
    if not ends.any():
        return found
    found = np.array(found)
    given = [np.broadcast_to(one, found.shape)[ends].tolist() for one in (x, y, z)]
    found[ends] = [_fma_one(*one) for one in zip(*given, strict=True)]
    return found


def _fma_one(x: float, y: float, z: float) -> float:
    (a, p), (b, q), (c, r) = (number.as_integer_ratio() for number in (x, y, z))
    top = a * b * r + c * p * q
    try:
        return top / (p * q * r)  # rounded once
    except OverflowError:
        return math.inf if top > 0 else -math.inf


def bits(xp: Xp, x: Array) -> Array:
    """The bits of a float, as an integer of its width.

    >>> hex(bits(np, np.float32(1.0)))
    '0x3f800000'
    """
    return x.view(format_of(x.dtype).whole)


def of_bits(xp: Xp, x: Array) -> Array:
    """The float with these bits; undoes `bits`."""
    return x.view(f"f{x.dtype.itemsize}")


# -- what NumPy leaves to the processor: the sign of zero in minima and maxima, floats that are no integers


def _extremum(name: str) -> Callable[..., Array]:
    """NumPy's function of two arrays, or of an array and a number, with -0.0 less than 0.0.

    >>> float(minimum(np, np.float64(0.0), np.float64(-0.0))), float(maximum(np, np.float64(-0.0), 0.0))
    (-0.0, 0.0)
    """
    positive = name in ("maximum", "fmax")

    def run(xp: Xp, a: Array, b: Array) -> Array:
        found = getattr(xp, name)(a, b)
        if found.dtype.kind != "f":
            return found
        if not hasattr(a, "dtype"):
            a, b = b, a
        if not hasattr(b, "dtype"):
            if b != 0:  # a zero in the result is that of the array
                return found
            if positive == (math.copysign(1.0, b) > 0):  # the better zero
                return found + 0.0 if positive else -(0.0 - found)
            return xp.where(a == 0, a, found)
        left, right = (b, a) if positive else (a, b)
        return xp.where(a == b, xp.where(xp.signbit(a), left, right), found)

    return run


minimum = _extremum("minimum")
"""The smaller number, -0.0 before 0.0; NaN where one of them is NaN."""
maximum = _extremum("maximum")
"""The larger number, 0.0 before -0.0; NaN where one of them is NaN."""
fmin = _extremum("fmin")
"""The `minimum`, but NaN only where both are NaN."""
fmax = _extremum("fmax")
"""The `maximum`, but NaN only where both are NaN."""


def ldexp(xp: Xp, x: Array, n: Array) -> Array:
    """x * 2**n for integers n of any dtype."""
    if getattr(n, "dtype", None) == np.uint64:  # no C type that the library takes holds all of them
        n = xp.minimum(n, n.dtype.type(LARGE_EXPONENT)).astype(np.int64)
    return xp.ldexp(x, n)


def power(xp: Xp, x: Array, n: Array) -> Array:
    """x**n as the C library has it.

    NumPy takes a square root where n is the single number 0.5, which differs at -0.0 and -infinity.

    >>> float(power(np, np.array(-0.0), 0.5))
    0.0
    """
    if not (hasattr(x, "dtype") or hasattr(n, "dtype")):
        return x**n
    if xp is np and getattr(n, "ndim", 0) == 0 and n == 0.5:
        return np.where(x == -np.inf, x.dtype.type(np.inf), np.sqrt(x + 0.0)) if hasattr(x, "dtype") else x**n
    return xp.power(x, n)


LARGE_EXPONENT = 100_000
"""Beyond the exponents of all floats."""


def integer(xp: Xp, x: Array, dtype: np.dtype) -> Array:
    """Floats as integers, towards zero; beyond the integers the nearest of them, for NaN the least.

    >>> integer(np, np.array([2.7, -1.0, np.inf, np.nan]), np.dtype(np.uint8))
    array([  2,   0, 255,   0], dtype=uint8)
    """
    about, real = np.iinfo(dtype), x.dtype.type
    beyond = real(about.max)  # rounded up to a power of two where the float has fewer digits than the integer
    if int(beyond) == about.max:
        return xp.fmin(xp.fmax(x, real(about.min)), beyond).astype(dtype)
    inside = xp.fmin(xp.fmax(x, real(about.min)), np.nextafter(beyond, real(0)))
    return xp.where(x >= beyond, dtype.type(about.max), inside.astype(dtype))
