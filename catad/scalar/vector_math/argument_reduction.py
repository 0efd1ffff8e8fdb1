"""sin, cos and tan of numbers beyond 2**30: the reduction of Payne and Hanek in sums of float64 numbers.

x = a 2**e with a below 2**33, e one of a few steps. The only digits of 2/pi that matter are those whose product with x is no
multiple of 4; four float64 numbers hold enough of them that even the number closest to a multiple of pi/2 keeps all its
digits. The products are exact in pairs (fma), and are summed so that cancellation loses nothing.

Sources: M. Payne, R. Hanek, SIGNUM Newsletter 18, 1983; T. Ogita, S. M. Rump, S. Oishi, SIAM J. Sci. Comput. 26, 2005,
algorithm 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from catad.scalar.vector_math.circular import circular
from catad.scalar.vector_math.formats import DOUBLE, PI, Number, ScalarFunction, bits, fma, of_bits, two_sum

STEP, FIRST, STEPS = 32, 16, 32
"""The exponents e are FIRST, FIRST + STEP, ...: from 2**16 up to the largest number."""

PASSES = 3
"""The number of passes that sum the terms; each pass makes the sum as accurate as 53 digits more would."""


def _two_over_pi(digits: int) -> int:
    """floor(2/pi * 2**digits), by Machin's formula."""
    one = 1 << (digits + 64)

    def arctan_of_reciprocal(n: int) -> int:
        total, term, k = 0, one // n, 1
        while term:
            total += term // k if k % 4 == 1 else -(term // k)
            term, k = term // (n * n), k + 2
        return total

    pi = 4 * (4 * arctan_of_reciprocal(5) - arctan_of_reciprocal(239))
    return (2 * one << digits) // pi


def _rows() -> tuple[tuple[float, ...], ...]:
    """Rows of a table: for each exponent e, `2**e * 2/pi` without its multiples of 2**54, in four parts."""
    digits = FIRST + STEP * STEPS + 300
    known = _two_over_pi(digits)
    rows = []
    for k in range(STEPS):
        scaled = known << (FIRST + STEP * k)
        rows.append(DOUBLE.parts(Fraction(scaled % (1 << (54 + digits)), 1 << digits), 4))
    return tuple(rows)


def without_turns(a: Number) -> Number:
    """a without its multiples of 4; exact."""
    return a - 4.0 * np.rint(0.25 * a)


def far_circular() -> Mapping[str, ScalarFunction]:
    """The functions of this file, in float64."""
    rows = _rows()
    half_high, half_low = DOUBLE.parts(PI / 2, 2)
    near = circular(DOUBLE)
    near_sin, near_cos, tangent = near["sin"], near["cos"], near["tangent"]

    def summed(terms: tuple[Number, ...]) -> tuple[Number, ...]:
        """The same sum, the last term almost all of it."""
        found: tuple[Number, ...] = ()
        total = terms[0]
        for term in terms[1:]:
            total, lost = two_sum(total, term)
            found = (*found, lost)
        return (*found, total)

    def quarters(x: Number) -> tuple[Number, ...]:
        """Terms whose sum is x * 2/pi, up to multiples of 4; x >= 2**FIRST."""
        e = ((bits(x) >> 52) - (1023 + FIRST)) // STEP
        a = of_bits(bits(x) - ((FIRST + STEP * e) << 52))
        parts = rows[0]
        k = 0
        for row in rows[1:]:
            k = k + 1
            parts = row if e >= k else parts
        terms: tuple[Number, ...] = ()
        for part in parts:
            product = a * part
            terms = (*terms, without_turns(product), without_turns(fma(a, part, -product)))
        return terms

    def reduced(x: Number) -> tuple[Number, Number, Number]:
        """r in two parts and n with x = r + n pi/2, up to multiples of 2 pi."""
        terms = quarters(x)
        for _ in range(PASSES):
            terms = summed(terms)
        n = np.rint(terms[-1])
        terms = (*terms[:-1], terms[-1] - n)
        for _ in range(PASSES):
            terms = summed(terms)
        high, low = terms[-1], terms[-2]
        product = high * half_high
        rest = fma(high, half_high, -product) + (high * half_low + low * half_high)
        r = product + rest
        return r, (product - r) + rest, n

    def sin(x: Number) -> Number:
        r, _, n = reduced(abs(x))
        turn = n - 4.0 * np.floor(0.25 * n)
        size = near_cos(r) if turn == 1 or turn == 3 else near_sin(r)
        return (-size if (turn >= 2) != (x < 0) else size) if np.isfinite(x) else np.nan

    def cos(x: Number) -> Number:
        r, _, n = reduced(abs(x))
        turn = n - 4.0 * np.floor(0.25 * n)
        size = near_sin(r) if turn == 1 or turn == 3 else near_cos(r)
        return (-size if turn == 1 or turn == 2 else size) if np.isfinite(x) else np.nan

    def tan(x: Number) -> Number:
        r, lost, n = reduced(abs(x))
        size = tangent(r, lost, n == 2.0 * np.floor(0.5 * n))
        return (-size if x < 0 else size) if np.isfinite(x) else np.nan

    return {"sin": sin, "cos": cos, "tan": tan}
