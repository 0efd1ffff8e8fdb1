"""Functions that NumPy lacks, as array code; on CuPy they come from `cupyx.scipy.special`.

Each takes the array module first. The gamma and error functions are those of the C library through `math`, one element
at a time; digamma and polygamma are in `gamma_series.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from . import gamma_series as _series

Array = Any
Xp = ModuleType | Any

ARRAY_NAMES = (
    "_erf",
    "_erfc",
    "_gamma",
    "_lgamma",
    "_digamma",
    "_polygamma",
    "_sigmoid",
    "_remainder",
    "_fma",
    "_bits",
    "_of_bits",
)
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
def _elementwise(function: Callable[[float], float]) -> Callable[[Array], Array]:
    mapped = np.frompyfunc(function, 1, 1)

    def run(x: Array) -> Array:
        x = np.asarray(x)
        with np.errstate(all="ignore"):  # the C library sets flags that are not the array's
            result = np.asarray(mapped(x.astype(np.float64)), dtype=np.float64)
            result = result.astype(x.dtype if x.dtype.kind == "f" else np.float64)
        return result if result.ndim else result[()]

    return run


def erf(xp: Xp, x: Array) -> Array:
    """The error function."""
    device = _cupy_special(xp)
    return _elementwise(math.erf)(x) if device is None else device.erf(x)


def erfc(xp: Xp, x: Array) -> Array:
    """1 - erf(x), accurate where it is small."""
    device = _cupy_special(xp)
    return _elementwise(math.erfc)(x) if device is None else device.erfc(x)


def gamma(xp: Xp, x: Array) -> Array:
    """The gamma function; signed infinity at 0, NaN at negative integers."""
    device = _cupy_special(xp)
    return _elementwise(_gamma_one)(x) if device is None else device.gamma(x)


def lgamma(xp: Xp, x: Array) -> Array:
    """log |gamma(x)|."""
    device = _cupy_special(xp)
    return _elementwise(_lgamma_one)(x) if device is None else device.gammaln(x)


def sigmoid(xp: Xp, x: Array) -> Array:
    """1 / (1 + exp(-x)), without overflow and accurate in both tails.

    >>> float(sigmoid(np, np.float64(0.0))), float(sigmoid(np, np.float64(-1000.0)))
    (0.5, 0.0)
    """
    small = xp.exp(-xp.abs(x))
    return xp.where(x < 0, small, xp.ones_like(small)) / (1.0 + small)


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
    """x*y + z rounded once: in float32 through float64, where the product is exact; in float64 with the rounding errors
    of the product and the sum put back (Dekker's product, Knuth's sum).
    """
    product = x * y
    total = product + z
    if total.dtype == np.float32:
        wide = [xp.asarray(one, np.float32).astype(np.float64) for one in (x, y, z)]
        return (wide[0] * wide[1] + wide[2]).astype(np.float32)
    back = total - product
    lost = (product - (total - back)) + (z - back)
    low = lost + _product_error(x, y, product)
    return xp.where(xp.isfinite(low) & (low != 0), total + low, total)  # -0.0 stays -0.0


def _product_error(x: Array, y: Array, product: Array) -> Array:
    splitter = 134217729.0
    xt, yt = splitter * x, splitter * y
    xh, yh = xt - (xt - x), yt - (yt - y)
    xl, yl = x - xh, y - yh
    return ((xh * yh - product) + xh * yl + xl * yh) + xl * yl


def bits(xp: Xp, x: Array) -> Array:
    """The bits of a float, as an integer of its width.

    >>> hex(bits(np, np.float32(1.0)))
    '0x3f800000'
    """
    return x.view(np.int32 if x.dtype == np.float32 else np.int64)


def of_bits(xp: Xp, x: Array) -> Array:
    """The float with these bits; undoes `bits`."""
    return x.view(np.float32 if x.dtype == np.int32 else np.float64)


def digamma(xp: Xp, x: Array) -> Array:
    """The derivative of `lgamma`."""
    device = _cupy_special(xp)
    return _series.digamma(xp, x) if device is None else device.digamma(x)


def polygamma(xp: Xp, order: int, x: Array) -> Array:
    """The derivative number `order` of `digamma`."""
    device = _cupy_special(xp)
    return _series.polygamma(xp, order, x) if device is None else device.polygamma(order, x)
