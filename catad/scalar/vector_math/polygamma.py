"""polygamma, the derivative number n >= 1 of digamma.

For positive x it is `(-1)**(n + 1) n!` times the sum of `1 / (x + k)**(n + 1)` over all k >= 0: the first terms directly, the
rest by the formula of Euler and Maclaurin. Negative numbers are reflected: `polygamma(n, -a)` has the same sum from k = 1 on, and
the derivative number n of `pi / tan(pi a)`, which is a polynomial of `1 / tan(pi a)`.

The error is at most 2 units in the last place and what one unit in the last place of x changes, which is about n units in that of
the result; for n = 1 and positive x it is at most 2. A result that is less than `2**(n + 1)` times the least normal number has
lost up to n + 1 of its binary digits.

Source: NIST Digital Library of Mathematical Functions, 5.15 and 2.10.1.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from catad.errors import CannotPrint
from catad.scalar.gamma_series import cotangent_derivative, tail_coefficients
from catad.scalar.vector_math.formats import PI, Format, Number, ScalarFunction, fast_two_sum, fma, polynomial, two_sum
from catad.scalar.vector_math.gamma import reflection


def terms(order: int, digits: int) -> tuple[int, int]:
    """The number of terms that are summed directly, and of coefficients after them, so that the next one is below all digits."""
    count = 5 if digits == 24 else 9
    coefficients = tail_coefficients(order, count + 1)
    y = 1
    while abs(coefficients[count]) * order * 2 ** (digits + 2) > Fraction(y) ** (2 * count + 2):
        y += 1
    return y, count


def polygamma(f: Format, order: int) -> ScalarFunction:
    """polygamma of one order in one format. Raises CannotPrint where the polynomial of its reflection is beyond the format."""
    derivative = cotangent_derivative(order)[(order + 1) % 2 :: 2]
    circle, circle_low = f.parts(PI ** (order + 1), 2)
    if max(map(abs, derivative)) * circle > float(np.finfo(f.real).max):
        raise CannotPrint(f"polygamma of order {order}", f"its values at negative numbers are beyond {f.name}")
    start, count = terms(order, f.digits)
    tails = tuple([float(c) for c in tail_coefficients(order, count)])
    shifts = tuple([float(k) for k in range(1, start)])
    one_more, same = _binary(order + 1), _binary(order)
    step = 2.0 ** ((math.factorial(order).bit_length() - 1) // (order + 1))  # powers of step / x are about as large as the result
    factor = float(math.factorial(order) / Fraction(step) ** (order + 1))
    sign = 1.0 if order % 2 else -1.0
    pole = np.inf if order % 2 else np.nan
    _, cotangent = reflection(f)

    def power(r: Number, binary: tuple[bool, ...]) -> Number:
        total = r
        for odd in binary:
            total = total * total * r if odd else total * total
        return total

    def inverse_power(y: Number, y_low: Number, n: int, binary: tuple[bool, ...]) -> Number:
        """(step / (y + y_low))**n."""
        r = 1.0 / y
        lost = fma(-r, y, 1.0) - y_low * r
        found = power(step * r, binary)
        return fma(found, n * lost, found)

    def polygamma(x: Number) -> Number:
        a = abs(x)
        total = 0.0 if x < 0 else inverse_power(a, 0.0, order + 1, one_more)
        low = 0.0
        for shift in shifts:
            total, lost = fast_two_sum(total, inverse_power(*two_sum(a, shift), order + 1, one_more))
            low = low + lost
        y, y_low = two_sum(a, float(start))
        z = 1.0 / y
        series = 1.0 / order + z * (0.5 + z * polynomial(z * z, tails))
        total, lost = two_sum(total, step * inverse_power(y, y_low, order, same) * series)
        size = factor * (total + (low + lost))
        turns = np.rint(x)
        c = cotangent(x - turns)
        bend = polynomial(c * c, derivative) * (1.0 if order % 2 else c)
        value = -fma(circle, bend, fma(circle_low, bend, size)) if x < 0 else sign * size
        inside = pole if x < 0 and x == turns else (sign * 0.0 if x == np.inf else value)
        near_zero = sign * factor * power(step / x, one_more)
        return near_zero if a < f.tiny or np.isinf(near_zero) else (inside if x == x else x)

    return polygamma


def _binary(n: int) -> tuple[bool, ...]:
    """The binary digits of n after the first."""
    return tuple([digit == "1" for digit in f"{n:b}"[1:]])
