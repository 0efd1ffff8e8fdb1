"""Leave-one-out products in a range of exponents without end: nothing over- or underflows before the result is rounded.

A number is kept as (k, m) and is `m 2**e`: m is a double, and k = 64 e + marks. The marks say which zeros, infinities and NaN are
among the factors; these count as their sign. Bit 0, 1 or 2 is set where there is one of them, bit 3, 4 or 5 where there are two.
So the product of all loses nothing, and one factor can be taken out of it again.

One pass folds: every product moves its exponent to e, so that 1 <= |m| < 2, of as many factors at once as m has room for. In
bins, where one number comes after the other, only those products do that are about to leave the range of doubles, and a row of
numbers has one branch for this. One pass divides. It reads one number for each factor in single precision, two in double: the
marks ride in the lowest bits of one of these, where they change nothing. Most products have no marks. Rows of these have loops of
their own, which do nothing but divide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import scalar
from catad.category.boxes import of_fields
from catad.category.terms import D
from catad.category.wiring import share
from catad.linear.families.contract import repeated
from catad.linear.families.gather import Gathered, rows_of
from catad.scalar import Function
from catad.scalar.vector_math.formats import bits, of_bits
from catad.values.formats import DOUBLE, format_of
from catad.vector.bins.sorted_bins import inside
from catad.vector.folds.monoid import Monoid
from catad.vector.pointwise.map import mapped
from catad.vector.shapes.split import piece

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires

TIMES = Monoid(Function.make(2, [scalar.apply("mul", scalar.param(0), scalar.param(1))], None, (None, None)), (1.0,), None)
_EITHER = Monoid(Function.make(2, [scalar.apply("bitor", scalar.param(0), scalar.param(1))], None, (None, None)), (0,), None)
_FIELD, _ONE = DOUBLE.infinity, DOUBLE.bias << DOUBLE.shift  # the exponent among the bits of a double; that of 1
_ROOM = 6  # bits below e
_MARKS, _ONCE = (1 << _ROOM) - 1, 7  # all marks; bits 0 to 2
_SMALL, _LARGE, _MOVE = 2.0**-500, 2.0**500, 600  # beyond these elements are scaled by 2**-_MOVE or 2**_MOVE
_LONG = 1024  # elements along an axis from which on some are multiplied before they are folded
_FAR = 2150  # no number divides a product with a larger exponent, or a smaller one, into a number that is not 0 or infinite
_NEAR = 700  # products with smaller exponents are divided as they are
_TINY, _UP = 2.0**-960, 2.0**64  # smaller factors are divided by after scaling, since their reciprocals may be infinite


def _product(k: Any, m: Any, h: Any, n: Any) -> Any:
    """The product of two numbers (k, m)."""
    joint, number = _joined(k, m, h, n)
    moved, mantissa = _normal(number)
    return joint + moved, mantissa


def _joined(k: Any, m: Any, h: Any, n: Any) -> Any:
    """The product of two numbers (k, m), as far as m has room for it."""
    common = k & h & _MARKS  # marks add up as bits where they have none in common
    return (k + h - common) | ((common & _ONCE) << 3), m * n


def _normal(m: Any) -> Any:
    """A normal double as k, without marks, and its mantissa, from 1 to 2."""
    image = bits(m)
    moved = ((image & _FIELD) >> (DOUBLE.shift - _ROOM)) - (DOUBLE.bias << _ROOM)
    return moved, of_bits((image & ~_FIELD) | _ONE)


def _number(x: Any) -> Any:
    """A number in double precision as (k, m), 2**-500 <= |m| <= 2**500."""
    marks, factor = kind_of(x), _factor(x)
    small, large = abs(factor) < _SMALL, abs(factor) > _LARGE
    scaled = factor * (2.0**_MOVE if small else 2.0**-_MOVE if large else 1.0)
    return marks + (-_MOVE << _ROOM if small else _MOVE << _ROOM if large else 0), scaled


def _single(x: Any) -> Any:
    """The same in single precision."""
    return kind_of(x), np.float64(_factor(x))


def _two(x: Any, y: Any) -> Any:
    """The product of two numbers in double precision as (k, m)."""
    k, m = _number(x)
    h, n = _number(y)
    return _joined(k, m, h, n)


def _four(x: Any, y: Any, z: Any, w: Any) -> Any:
    """The product of four numbers in single precision as (k, m)."""
    a, b, c, d = kind_of(x), kind_of(y), kind_of(z), kind_of(w)
    once, twice = a | b | c | d, (a & b) | (c & d) | ((a | b) & (c | d))
    left, right = np.float64(_factor(x)) * np.float64(_factor(y)), np.float64(_factor(z)) * np.float64(_factor(w))
    return once | (twice << 3), left * right


def any_number(x: Any) -> Any:
    """Any number as (k, m) of any m."""
    return 0, np.float64(x)


def kind_of(x: Any) -> Any:
    """The mark of a number."""
    size = abs(x)
    return 0 if size > 0.0 and size < np.inf else 1 if size == 0.0 else 2 if size == np.inf else 4


def _factor(x: Any) -> Any:
    """The factor of m for a number."""
    size = abs(x)
    return x if size > 0.0 and size < np.inf else np.copysign(1.0, x)


def _ranged(k: Any, m: Any) -> Any:
    """A number (k, m) of any m, also a zero, infinite or NaN, with 2**-500 <= |m| <= 2**500."""
    more, scaled = _number(m)
    return k + more, scaled


def _marked(k: Any, m: Any) -> Any:
    """The same for an m in this range or from single precision."""
    return k + kind_of(m), _factor(m)


def _is_usual(k: Any, m: Any, h: Any, n: Any) -> Any:
    """True where the product of two numbers (k, m) of any m stays in the range, and marks just add up."""
    size = abs(m * n)
    return size >= _SMALL and size <= _LARGE and k & h & _MARKS == 0


def _rarely(k: Any, m: Any, h: Any, n: Any) -> Any:
    """The product of two numbers (k, m) of any m: most need little."""
    usual = _is_usual(k, m, h, n)
    i, a = _ranged(k, m)
    j, b = _ranged(h, n)
    whole, mantissa = _product(i, a, j, b)
    return k + h if usual else whole, m * n if usual else mantissa


def _rarely_single(k: Any, m: Any, h: Any, n: Any) -> Any:
    """The same of numbers from single precision and their products."""
    usual = _is_usual(k, m, h, n)
    i, a = _marked(k, m)
    j, b = _marked(h, n)
    whole, mantissa = _product(i, a, j, b)
    return k + h if usual else whole, m * n if usual else mantissa


def _dividend(k: Any, m: Any) -> Any:
    """The dividend of the factors, marked, and the number that scales the quotient twice, marked too.

    A number that is far too small is 0 at once, since processors are slow at numbers that underflow.
    """
    k, m = _ranged(k, m)
    moved, mantissa = _normal(m)
    whole = (k >> _ROOM) + (moved >> _ROOM)
    near = min(max(whole, -_FAR), _FAR)
    half = (near - min(max(near, -_NEAR), _NEAR)) >> 1
    number = mantissa * of_bits((near - 2 * half + DOUBLE.bias) << DOUBLE.shift)
    number = np.copysign(0.0, m) if whole < -_FAR else number
    return number, of_bits(((half + DOUBLE.bias) << DOUBLE.shift) | (k & _MARKS))


def _dividend_single(k: Any, m: Any) -> Any:
    """The same for factors in single precision, whose quotients need no scaling and none of the last digits."""
    number, scale = _dividend(k, m)
    return of_bits((bits(number) & ~_MARKS) | (bits(scale) & _MARKS))


def _unmarked(x: Any) -> Any:
    """A marked double as its marks and itself."""
    image = bits(x)
    return image & _MARKS, of_bits(image & ~_MARKS)


def _without_kind(marks: Any, number: Any, kind: Any) -> Any:
    """The product without a factor of a kind, up to the size of regular ones."""
    others = (marks & _ONCE & ~kind) | (marks >> 3)
    finite = np.copysign(0.0, number) if others & 1 != 0 else number
    known = np.copysign(np.inf, number) if others & 2 != 0 else finite
    return np.nan if others & 4 != 0 or others & 3 == 3 else known


def _of_one(marks: Any, number: Any, x: Any) -> Any:
    """The same for a factor x, where each x has a product of its own."""
    return _without_kind(marks, number, kind_of(x))


def _of_many(marks: Any, number: Any, x: Any) -> Any:
    """The same where many x have the same product: what it is without each kind, known before all of them, and a choice."""
    size = abs(x)
    without_infinite = _without_kind(marks, number, 2) if size == np.inf else _without_kind(marks, number, 4)
    irregular = _without_kind(marks, number, 1) if size == 0.0 else without_infinite
    return _without_kind(marks, number, 0) if size > 0.0 and size < np.inf else irregular


@lru_cache(maxsize=4)
def _without(dtype: np.dtype[Any], many: bool) -> Function:
    """A product without its factor x. It is plain where there are no marks."""
    remaining = _of_many if many else _of_one

    def double(x: Any, plain: Any, number: Any, scale: Any) -> Any:
        marks, twice = _unmarked(scale)
        product = number if plain else remaining(marks, number, x)
        factor = x if plain else _factor(x)
        up = _UP if factor < _TINY and factor > -_TINY else 1.0
        return product / (factor * up) * up * twice * twice

    def single(x: Any, plain: Any, dividend: Any) -> Any:  # doubles have room for every quotient
        marks, number = _unmarked(dividend)
        product = number if plain else remaining(marks, number, x)
        return kind(product / np.float64(x if plain else _factor(x)))

    kind = dtype.type
    return scalar.read(single if format_of(dtype).is_short else double)


@lru_cache(maxsize=4)
def _monoid(product: Callable[[Any, Any, Any, Any], Any]) -> Monoid:
    """The monoid that multiplies numbers (k, m); the law of the last number is that of a product."""
    tree = (None, None)
    op = Function.make(4, list(scalar.read(product).outputs), tree, (tree, tree), "product in an unlimited range")
    return Monoid(op, (0, 1.0), tree, None, 0, TIMES)


def product_of_any(dtype: np.dtype[Any]) -> Monoid:
    """The monoid that multiplies numbers (k, m) of any m, or from single precision."""
    return _monoid(_rarely_single if format_of(dtype).is_short else _rarely)


def _plain(b: Builder, marked: Wire, many: bool) -> Wire:
    """True where there are no marks; unless many factors have the same product, in none of the numbers along the last axis."""
    from catad.vector.folds.fold import Fold

    (marks,) = mapped(b, [scalar.read(_unmarked).outputs[0]], [marked])
    found = marks if many else b.add(Fold(_EITHER, marks.ndim - 1), marks)[0]
    return mapped(b, [scalar.apply("eq", scalar.param(0), scalar.const(0))], [found])[0]


def divided_by_each(b: Builder, x: Wire, totals: Sequence[Wire], many: bool, spread: Callable[[Wire], Wire]) -> Wire:
    """Products without a factor. With `many` all factors along the last axis have the same."""
    dividend = _dividend_single if format_of(x.dtype).is_short else _dividend
    dividends = mapped(b, list(scalar.read(dividend).outputs), totals)
    plain = _plain(b, dividends[-1], many)
    return mapped(b, list(_without(x.dtype, many).outputs), [x, spread(plain), *map(spread, dividends)])[0]


def divided_in_bins(b: Builder, bins: int, index: Wire, values: Wire, totals: Sequence[Wire]) -> Wire:
    """The products of bins without each value; 0 where its index is out of range."""

    def spread(w: Wire) -> Wire:
        found = b.add(Gathered(rows_of(w.shape, index.shape)), index, w)[0] if w.ndim else w
        return repeated(b, found, range(found.ndim), values.shape)

    others = divided_by_each(b, values, totals, False, spread)
    own = repeated(b, index, (0,), values.shape)
    within = scalar.apply("select", inside(scalar.param(1), bins), scalar.param(0), scalar.const(0.0))
    return mapped(b, [within], [others, own])[0]


def total_along(b: Builder, x: Wire, along: int) -> Sequence[Wire]:
    """The product along an axis as (k, m). Of many elements, some are multiplied before they are folded."""
    from catad.vector.folds.fold import Fold

    one, some, count = (_single, _four, 4) if format_of(x.dtype).is_short else (_number, _two, 2)
    fold, n = Fold(_monoid(_product), along), x.shape[along]
    length = n // count if n >= _LONG else 0
    found = []
    if length:
        parts = [piece(b, x, along, k * length, (k + 1) * length) for k in range(count)]
        found.append(b.add(fold, *mapped(b, list(scalar.read(some).outputs), parts)))
    if count * length < n or not length:
        rest = piece(b, x, along, count * length, n)
        found.append(b.add(fold, *mapped(b, list(scalar.read(one).outputs), [rest])))
    return found[0] if len(found) == 1 else mapped(b, list(scalar.read(_product).outputs), [*found[0], *found[1]])


@share
@of_fields
class LeaveOneOut(D):
    """The leave-one-out products along an axis."""

    axis: int

    def lay_out(self, b: Builder, x: Wires) -> Any:
        others = [k for k in range(x.ndim) if k != self.axis]
        totals = total_along(b, x, self.axis)
        many = self.axis == x.ndim - 1
        return divided_by_each(b, x, totals, many, lambda w: repeated(b, w, others[: w.ndim], x.shape))


@share
@of_fields
class LeaveOneOutByBin(D):
    """(indices, values) to the product of each value's bin without it; 0 out of range."""

    bins: int

    def lay_out(self, b: Builder, x: Wires) -> Any:
        from catad.vector.bins.fold_by_bin import FoldByBin

        index, values = x
        numbers = mapped(b, list(scalar.read(any_number).outputs), [values])
        totals = b.add(FoldByBin(product_of_any(values.dtype), self.bins), index, *numbers)
        return divided_in_bins(b, self.bins, index, values, totals)
