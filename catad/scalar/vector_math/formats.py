"""What all functions of this folder are built of. They are written once, as scalar functions, for a format `f` of numbers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from catad.scalar.ir import Function, param
from catad.scalar.simplify import apply
from catad.values.formats import DOUBLE as DOUBLE
from catad.values.formats import Format as Format

Number = Any
"""A number of the format, or an integer of its width, in a function that is read and never run."""

ScalarFunction = Callable[..., Number]


def _word(op: str) -> Any:
    return Function.make(3 if op == "fma" else 1, [apply(op, *map(param, range(3 if op == "fma" else 1)))], name=op)


fma, bits, of_bits = _word("fma"), _word("bits"), _word("of_bits")
"""a*b + c rounded once; the bits of a number as an integer; the number with these bits."""


LN2 = Fraction("0.693147180559945309417232121458176568075500134360255254120680009493393621969694716")
LOG10_E = Fraction("0.434294481903251827651128918916605082294397005803666566114453783165864649208870775")
PI = Fraction("3.14159265358979323846264338327950288419716939937510582097494459230781640628620900")


def polynomial(x: Number, coefficients: tuple[float, ...]) -> Number:
    """c0 + c1 x + c2 x**2 + ... by Horner's rule."""
    total = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = fma(total, x, c)
    return total


def ratio(high: Number, low: Number, below: Number, lost: Number) -> Number:
    """(high + low) / (below + lost), the rounding errors of the division put back."""
    inverse = 1.0 / below
    first = high * inverse
    rest = fma(-first, below, high) + fma(-first, lost, low)
    return fma(rest, inverse, first)


def two_sum(a: Number, b: Number) -> tuple[Number, Number]:
    """a + b and its rounding error (D. E. Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def fast_two_sum(a: Number, b: Number) -> tuple[Number, Number]:
    """a + b and its rounding error, where |a| >= |b| (T. J. Dekker)."""
    total = a + b
    return total, (a - total) + b


def product(a: Number, a_low: Number, b: Number, b_low: Number) -> tuple[Number, Number]:
    """(a + a_low) (b + b_low) in two parts."""
    high = a * b
    return high, fma(a, b, -high) + (a * b_low + a_low * b)


def reciprocal(a: Number) -> tuple[Number, Number]:
    """1 / a in two parts."""
    high = 1.0 / a
    return high, fma(-high, a, 1.0) * high


def leading(w: Number, coefficients: tuple[float, ...]) -> tuple[Number, Number]:
    """A polynomial in two parts, its first coefficient given in two parts."""
    high, low = fast_two_sum(coefficients[0], w * polynomial(w, coefficients[2:]))
    return high, low + coefficients[1]
