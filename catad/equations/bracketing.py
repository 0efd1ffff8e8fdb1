"""A root of a function of one number between two signs, traced as a part of a finder.

Bisection, and the method of R. Brent, *Algorithms for Minimization without Derivatives*, 1973, chapter 4: inverse quadratic
interpolation where it gains on bisection. A pole or a jump has two signs beside it, too: there the residual stays large.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from catad.equations.solution import Ended
from catad.equations.tolerance import Tolerance, chosen

IS_TRACED = True  # finders call these functions
SMALL = 1e-3  # of the larger residual at the ends, what is left at a root of a function without jumps


def brent(f: Callable[[Any], Any], low: Any, high: Any, tol: Tolerance, max_steps: int) -> Ended:
    """The root between two numbers."""
    a, b, c = low, high, low
    fa, fb = f(a), f(b)
    start = np.maximum(np.abs(fa), np.abs(fb))
    fc, d, e, steps = fa, b - a, b - a, 0
    brackets = (np.sign(fa) * np.sign(fb) <= 0.0) & (start < np.inf)
    if fa == 0.0:
        b, fb = a, fa
    going = brackets & (fb != 0.0)
    while going & (steps < max_steps):
        if np.sign(fb) == np.sign(fc):
            c, fc, d, e = a, fa, b - a, b - a
        if np.abs(fc) < np.abs(fb):
            a, b, c = b, c, b
            fa, fb, fc = fb, fc, fb
        bound = tol.rtol * np.abs(b) + 0.5 * tol.atol
        m = 0.5 * (c - b)
        going = (np.abs(m) > bound) & (fb != 0.0)
        s = fb / fa
        q1, r = fa / np.where(fc == 0.0, 1.0, fc), fb / np.where(fc == 0.0, 1.0, fc)
        secant = a == c
        p = np.where(secant, 2.0 * m * s, s * (2.0 * m * q1 * (q1 - r) - (b - a) * (r - 1.0)))
        q = np.where(secant, 1.0 - s, (q1 - 1.0) * (r - 1.0) * (s - 1.0))
        q = np.where(p > 0.0, -q, q)
        p = np.abs(p)
        tried = (np.abs(e) >= bound) & (np.abs(fa) > np.abs(fb))
        fits = tried & (2.0 * p < np.minimum(3.0 * m * q - np.abs(bound * q), np.abs(e * q))) & (q != 0.0)
        e = chosen(fits, d, m)
        d = chosen(fits, p / np.where(q == 0.0, 1.0, q), m)
        if going:
            a, fa = b, fb
            b = b + chosen(np.abs(d) > bound, d, np.where(m > 0.0, bound, -bound))
            fb = f(b)
            steps = steps + 1
    return _ended(brackets & ~going, b, fb, start, np.abs(c - b), steps)


def bisected(f: Callable[[Any], Any], low: Any, high: Any, tol: Tolerance, max_steps: int) -> Ended:
    """The root between two numbers."""
    a, b = low, high
    fa, fb = f(a), f(b)
    start = np.maximum(np.abs(fa), np.abs(fb))
    steps, brackets = 0, (np.sign(fa) * np.sign(fb) <= 0.0) & (start < np.inf)
    if fa == 0.0:
        b, fb = a, fa
    going = brackets & (fb != 0.0)
    while going & (steps < max_steps):
        middle = a + 0.5 * (b - a)
        there = f(middle)
        if np.sign(there) == np.sign(fa):
            a, fa = middle, there
        else:
            b, fb = middle, there
        steps = steps + 1
        going = (np.abs(b - a) > 2.0 * tol.rtol * np.abs(b) + tol.atol) & (fb != 0.0)
    return _ended(brackets & ~going, b, fb, start, np.abs(b - a), steps)


def _ended(done: Any, b: Any, fb: Any, start: Any, width: Any, steps: Any) -> Ended:
    numbers = (np.abs(fb), width, np.float64(steps), b)
    return Ended(done & (np.abs(fb) <= SMALL * start), (np.reshape(b, 1),), tuple([np.float64(one) for one in numbers]))
