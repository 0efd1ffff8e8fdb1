"""Products of the others in a range of exponents without end: nothing over- or underflows before the result is rounded.

A number is kept as `m 2**e` with 1/2 <= |m| < 1, beside marks of the zeros, infinities and NaN among the factors, which count as
their sign: bit 0, 1 or 2 of `s` where there is one of these, bit 3, 4 or 5 where there are two. So the product of all loses
nothing, and one factor can be taken out of it again. One pass folds, and one divides.
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
from catad.scalar.vector_math.formats import DOUBLE, SINGLE, of_bits
from catad.terms import D
from catad.vector.map import mapped
from catad.vector.monoid import Monoid
from catad.wiring import share

if TYPE_CHECKING:
    from catad.wiring import Builder, Wire, Wires

TIMES = Monoid(Function.make(2, [scalar.apply("mul", scalar.param(0), scalar.param(1))], None, (None, None)), (1.0,), None)
_FORMATS: dict[str, tuple[Any, Any]] = {"float32": (SINGLE, np.int32), "float64": (DOUBLE, np.int64)}  # integers as wide


def _product(e: Any, s: Any, m: Any, f: Any, t: Any, n: Any) -> Any:
    """The product of two numbers (e, s, m)."""
    product = m * n
    small = abs(product) < 0.5
    return e + f - (1 if small else 0), s | t | ((s & t & 7) << 3), product + product if small else product


def _number(x: Any) -> Any:
    """A number as (e, s, m)."""
    m, e = np.frexp(x)
    regular = np.isfinite(x) and x != 0
    special = 1 if x == 0 else 2 if np.isinf(x) else 4
    return e if regular else 1, 0 if regular else special, m if regular else np.copysign(0.5, x)


@lru_cache(maxsize=8)
def _without(dtype: np.dtype) -> Function:
    """The product (e, s, m) without its factor x, a function of (x, e, s, m); 0 where m is, which no product has."""
    layout, whole = _FORMATS.get(dtype.name, (None, np.int64))

    def two_to(e: Any) -> Any:
        return of_bits(whole(e + layout.bias) << layout.shift)

    def scaled(m: Any, e: Any) -> Any:
        """m 2**e, rounded once; what is far too small is not computed, since processors are slow at numbers that underflow."""
        most = 2 * (layout.bias - 1)
        gone = e < -layout.bias - layout.digits - 1
        near = 0 if gone else min(e, most)
        number = m * two_to(near >> 1) * two_to(near - (near >> 1))
        return np.copysign(0.0, m) if gone else number

    to_power: Callable[[Any, Any], Any] = np.ldexp if layout is None else scaled

    def without(x: Any, e: Any, s: Any, m: Any) -> Any:
        f, t, n = _number(x)
        others = (s & 7 & ~t) | (s >> 3)
        ratio = m / n
        regular = to_power(ratio, e - f if others == 0 else 0)
        finite = np.copysign(0.0, ratio) if others & 1 != 0 else regular
        known = np.copysign(np.inf, ratio) if others & 2 != 0 else finite
        undefined = others & 4 != 0 or others & 3 == 3
        return 0.0 if m == 0 else np.nan if undefined else known

    return scalar.read(without)


@lru_cache(maxsize=1)
def _numbers() -> tuple[Function, Monoid]:
    """A number as (e, s, m), and how these are multiplied; the law of the last number is that of a product."""
    tree = (None, None, None)
    op = scalar.read(_product)
    op = Function.make(6, list(op.outputs), tree, (tree, tree), "product in an unlimited range")
    return scalar.read(_number), Monoid(op, (1, 0, 0.5), tree, None, 0, TIMES)


def _laid_out(b: Builder, x: Wire) -> tuple[Monoid, list[Wire]]:
    number, monoid = _numbers()
    return monoid, mapped(b, list(number.outputs), [x])


def _divided(b: Builder, x: Wire, totals: Sequence[Wire]) -> Wire:
    return mapped(b, list(_without(x.dtype).outputs), [x, *totals])[0]


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

        monoid, numbers = _laid_out(b, x)
        labels = tuple(range(x.ndim))
        rest = (*labels[: self.axis], *labels[self.axis + 1 :])
        totals = b.add(Fold(monoid, self.axis), *numbers)
        return _divided(b, x, [contract(b, [rest], [total], labels, x.shape) for total in totals])

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
        from catad.vector.fold_by_bin import FoldByBin

        index, values = x
        monoid, numbers = _laid_out(b, values)
        totals = b.add(FoldByBin(monoid, self.bins), index, *numbers)
        how = rows_of(totals[0].shape, index.shape)
        return _divided(b, values, [b.add(Take(how), index, total)[0] for total in totals])

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
