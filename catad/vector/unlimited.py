"""Products of the others in a range of exponents without end: nothing over- or underflows before the result is rounded.

A number is kept as `m 2**e`, m a double, beside marks of the zeros, infinities and NaN among the factors, which count as their
sign: bit 0, 1 or 2 of `s` where there is one of these, bit 3, 4 or 5 where there are two. So the product of all loses nothing,
and one factor can be taken out of it again. One pass folds: an element is taken as it is, with e = 0, unless two of them could
leave the range of doubles, and every product moves its exponent to e, so that 1 <= |m| < 2. One pass divides: what a factor is
divided into depends on its kind alone (a regular number, a zero, an infinity, NaN), so it is made once for each product.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import scalar
from catad.linear.contract import contract
from catad.linear.gather import Take, rows_of
from catad.scalar import Function
from catad.scalar.vector_math.formats import DOUBLE, bits, of_bits
from catad.terms import D
from catad.vector.map import mapped
from catad.vector.monoid import Monoid
from catad.wiring import share

if TYPE_CHECKING:
    from catad.wiring import Builder, Wire, Wires

TIMES = Monoid(Function.make(2, [scalar.apply("mul", scalar.param(0), scalar.param(1))], None, (None, None)), (1.0,), None)
_FIELD, _ONE = 0x7FF << DOUBLE.shift, DOUBLE.bias << DOUBLE.shift  # the exponent among the bits of a double; that of 1
_SMALL, _LARGE, _MOVE = 2.0**-500, 2.0**500, 600  # beyond these elements are scaled by 2**-_MOVE or 2**_MOVE
_FAR = 2150  # no number divides a product with a larger exponent, or a smaller one, into a number that is not 0 or infinite
_NEAR = 700  # products with smaller exponents are divided as they are
_TINY, _UP = 2.0**-960, 2.0**64  # smaller factors are divided by after scaling, since their reciprocals may be infinite


def _product(e: Any, s: Any, m: Any, f: Any, t: Any, n: Any) -> Any:
    """The product of two numbers (e, s, m)."""
    exponent, mantissa = _normal(m * n)
    return e + f + exponent, s | t | ((s & t & 7) << 3), mantissa


def _normal(m: Any) -> Any:
    """The exponent and the mantissa, from 1 to 2, of a normal double."""
    image = bits(m)
    return ((image & _FIELD) >> DOUBLE.shift) - DOUBLE.bias, of_bits((image & ~_FIELD) | _ONE)


def _number(x: Any) -> Any:
    """A number as (e, s, m), m in double precision with 2**-500 <= |m| <= 2**500."""
    size = abs(x)
    regular = size > 0.0 and size < np.inf
    special = 0 if regular else 1 if size == 0.0 else 2 if size == np.inf else 4
    small, large = regular and size < _SMALL, regular and size > _LARGE
    scaled = x * (2.0**_MOVE if small else 2.0**-_MOVE if large else 1.0)
    return -_MOVE if small else _MOVE if large else 0, special, scaled if regular else np.copysign(1.0, x)


def _rarely(x: Any) -> Any:
    """The same, one number after the other: a branch, which few numbers take."""
    e, s, m = 0, 0, x
    while not (abs(m) >= _SMALL and abs(m) <= _LARGE):
        special = 1 if m == 0.0 else 2 if abs(m) == np.inf else 4 if np.isnan(m) else 0
        small = abs(m) < 1.0
        e = e if special != 0 else e - _MOVE if small else e + _MOVE
        m = np.copysign(1.0, m) if special != 0 else m * (2.0**_MOVE if small else 2.0**-_MOVE)
        s = s | special
    return e, s, m


def _dividends(e: Any, s: Any, m: Any) -> Any:
    """What regular numbers, zeros, infinities and NaN are divided into, and what twice scales the quotient.

    What is far too small is 0 at once, since processors are slow at numbers that underflow.
    """
    exponent, mantissa = _normal(m)
    whole = e + exponent
    near = min(max(whole, -_FAR), _FAR)
    half = (near - min(max(near, -_NEAR), _NEAR)) >> 1
    number = mantissa * of_bits((near - 2 * half + DOUBLE.bias) << DOUBLE.shift)
    number = np.copysign(0.0, m) if whole < -_FAR else number
    regular, zero = _of_kind(s, 0, number, m), _of_kind(s, 1, number, m)
    infinite, undefined = _of_kind(s, 2, number, m), _of_kind(s, 4, number, m)
    return regular, zero, infinite, undefined, of_bits((half + DOUBLE.bias) << DOUBLE.shift)


def _of_kind(s: Any, kind: int, number: Any, sign: Any) -> Any:
    """The product without a factor of a kind, up to the size of regular ones."""
    others = (s & 7 & ~kind) | (s >> 3)
    finite = np.copysign(0.0, sign) if others & 1 != 0 else number
    known = np.copysign(np.inf, sign) if others & 2 != 0 else finite
    return np.nan if others & 4 != 0 or others & 3 == 3 else known


def _without(x: Any, regular: Any, zero: Any, infinite: Any, undefined: Any, scale: Any) -> Any:
    """A product without its factor x."""
    size = abs(x)
    total = regular if size > 0.0 and size < np.inf else zero if size == 0.0 else infinite if size == np.inf else undefined
    factor = x if size > 0.0 and size < np.inf else np.copysign(1.0, x)
    up = _UP if factor < _TINY and factor > -_TINY else 1.0
    return total / (factor * up) * up * scale * scale


def _without_single(x: Any, regular: Any, zero: Any, infinite: Any, undefined: Any, scale: Any) -> Any:
    """The same in single precision, of which doubles have room for every quotient."""
    size = abs(x)
    total = regular if size > 0.0 and size < np.inf else zero if size == 0.0 else infinite if size == np.inf else undefined
    factor = x if size > 0.0 and size < np.inf else np.copysign(np.float32(1.0), x)
    return np.float32(total / np.float64(factor))


@lru_cache(maxsize=1)
def _monoid() -> Monoid:
    """How numbers (e, s, m) are multiplied; the law of the last number is that of a product."""
    tree = (None, None, None)
    op = scalar.read(_product)
    op = Function.make(6, list(op.outputs), tree, (tree, tree), "product in an unlimited range")
    return Monoid(op, (0, 0, 1.0), tree, None, 0, TIMES)


@lru_cache(maxsize=2)
def _division(dtype: np.dtype) -> Function:
    """A product without one of its factors, of this dtype."""
    return scalar.read(_without_single if dtype == np.float32 else _without)


def _laid_out(b: Builder, x: Wire, number: Callable[[Any], Any]) -> list[Wire]:
    wide = scalar.cast(np.float64, scalar.param(0))
    return mapped(b, scalar.substitute(scalar.read(number), [wide]), [x])


def _divided(b: Builder, x: Wire, totals: Sequence[Wire], spread: Callable[[Wire], Wire]) -> Wire:
    dividends = mapped(b, list(scalar.read(_dividends).outputs), totals)
    return mapped(b, list(_division(x.dtype).outputs), [x, *map(spread, dividends)])[0]


def is_normal(xp: Any, total: Any) -> bool:
    """Whether all products are finite and have lost no digits: then so are their factors, and each may be divided by one."""
    size = xp.abs(total)
    return bool(xp.all((size >= float(np.finfo(total.dtype).tiny)) & (size < math.inf)))


@share
class Others(D):
    """The products of the others along an axis."""

    __slots__ = ("axis",)

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def data(self) -> Hashable:
        return self.axis

    def wired(self, b: Builder, x: Wires) -> Any:
        from catad.vector.fold import Fold

        labels = tuple(range(x.ndim))
        rest = (*labels[: self.axis], *labels[self.axis + 1 :])
        totals = b.add(Fold(_monoid(), self.axis), *_laid_out(b, x, _number))
        return _divided(b, x, totals, lambda w: contract(b, [rest], [w], labels, x.shape))

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return name(self, "others")


@share
class OthersByBin(D):
    """(indices, values) to the products of the others of each value's bin; 0 out of range."""

    __slots__ = ("bins",)

    def __init__(self, bins: int) -> None:
        self.bins = bins

    def data(self) -> Hashable:
        return self.bins

    def wired(self, b: Builder, x: Wires) -> Any:
        from catad.vector.bins import inside
        from catad.vector.fold_by_bin import FoldByBin

        index, values = x
        totals = b.add(FoldByBin(_monoid(), self.bins), index, *_laid_out(b, values, _rarely))
        how = rows_of(totals[0].shape, index.shape)
        others = _divided(b, values, totals, lambda w: b.add(Take(how), index, w)[0])
        own = contract(b, [(0,)], [index], tuple(range(values.ndim)), values.shape)
        within = scalar.apply("select", inside(scalar.param(1), self.bins), scalar.param(0), scalar.const(0.0))
        return mapped(b, [within], [others, own])[0]

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return name(self, "others_by_bin")


@lru_cache(maxsize=64)
def others(axis: int) -> D:
    """`Others`, one term for all calls, since programs are kept with their terms."""
    return Others(axis)


@lru_cache(maxsize=4096)
def others_by_bin(bins: int) -> D:
    """`OthersByBin`, one term for all calls."""
    return OthersByBin(bins)
