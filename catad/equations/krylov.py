"""Linear systems by products with their map alone, traced as parts of finders.

Conjugate gradients: M. Hestenes and E. Stiefel, *Methods of conjugate gradients for solving linear systems*, 1952, as far as the
map curves upwards: R. Dembo and T. Steihaug, *Truncated-Newton algorithms for large-scale unconstrained optimization*, 1983.
GMRES: Y. Saad and M. Schultz, *GMRES: a generalized minimal residual algorithm for solving nonsymmetric linear systems*, 1986.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from catad.equations.tolerance import chosen, inner, largest

IS_TRACED = True  # finders call these functions
KEPT = 30  # vectors of a basis
ROUNDS = 20  # of GMRES, each with a new basis
STALLED = 0.99  # a round that leaves more of the residual has come as far as it can


def conjugate_gradients(product: Callable[[Any], Any], right: Any, most: int, rtol: float) -> tuple[Any, Any, Any]:
    """The d with `H d = right`, as far as H curves upwards, and the least and the greatest curvature that was met."""
    size = largest((right,))
    unit = chosen(size > 0.0, size, np.float64(1.0))
    rest = right / unit.astype(right.dtype)
    d, p, k = np.zeros_like(rest), rest, 0
    left = inner((rest,), (rest,))
    bound, least, greatest = rtol * rtol * left, np.float64(np.inf), np.float64(0.0)
    while (left > bound) & (k < most) & (least > 0.0):
        q = product(p)
        curvature, square = inner((p,), (q,)), inner((p,), (p,))
        least = np.minimum(least, curvature / square)
        greatest = np.maximum(greatest, np.abs(curvature / square))
        along = np.where(curvature > 0.0, left / curvature, 0.0).astype(right.dtype)
        d = d + along * p
        rest = rest - along * q
        there = inner((rest,), (rest,))
        p = rest + (there / left).astype(right.dtype) * p
        left = there
        k = k + 1
    return d * unit.astype(right.dtype), least, greatest


def gmres(product: Callable[[Any], Any], right: Any, rtol: float) -> Any:
    """An x with `|A x - b| <= rtol |b|`, or the best of some rounds; each begins again with an empty basis."""
    n, dtype = len(right), right.dtype
    size = largest((right,))
    unit = np.where(size > 0.0, size, 1.0).astype(dtype)
    b = right / unit
    x, rest = np.zeros_like(b), b
    left = inner((rest,), (rest,))
    bound, rounds, before = rtol * rtol * left, 0, np.float64(np.inf)
    while (left > bound) & (rounds < ROUNDS) & (left < STALLED * before):
        trial = x + _round(product, rest, np.sqrt(left), np.sqrt(bound), min(n, KEPT))
        there = b - product(trial)
        before = left
        left_there = inner((there,), (there,))
        x = np.where(left_there < left, trial, x)
        rest = np.where(left_there < left, there, rest)
        left = chosen(left_there < left, left_there, left)
        rounds = rounds + 1
    return x * unit


def _round(product: Callable[[Any], Any], rest: Any, norm: Any, bound: Any, most: int) -> Any:
    """What makes the residual smallest over one Krylov space.

    `turns` is the product of the rotations that make the small matrix triangular, `triangle`; vectors are made orthogonal twice.
    """
    dtype, n = rest.dtype, len(rest)
    basis = np.zeros((most + 1, n), dtype)
    basis[0] = rest / norm.astype(dtype)
    turns, triangle, k, left, going = np.eye(most + 1, dtype=dtype), np.eye(most, dtype=dtype), 0, norm, norm > bound
    places = np.arange(most + 1)
    while going & (k < most):
        w = product(basis[k])
        along = basis @ w
        w = w - along @ basis
        again = basis @ w
        w = w - again @ basis
        length = np.sqrt(inner((w,), (w,))).astype(dtype)
        column = along + again
        column[k + 1] = length
        seen = turns @ column
        a, c = seen[k], seen[k + 1]
        radius = np.sqrt(a * a + c * c)
        unit = np.where(radius > 0.0, radius, 1.0).astype(dtype)
        cosine, sine = np.where(radius > 0.0, a / unit, 1.0).astype(dtype), c / unit
        upper, lower = turns[k], turns[k + 1]
        turned = np.where((places == k)[:, None], cosine * upper + sine * lower, turns)
        turns = np.where((places == k + 1)[:, None], cosine * lower - sine * upper, turned)
        own = np.where(places[:most] < k, seen[:most], np.where(places[:most] == k, radius, 0.0)).astype(dtype)
        good = (radius > 0.0) & (length < np.inf)
        triangle[:, k] = np.where(good, own, triangle[:, k])
        more = length > 1e-14 * np.max(np.abs(column))
        basis[k + 1] = np.where(more, w / np.where(more, length, 1.0).astype(dtype), 0.0)
        k = chosen(good, k + 1, k)
        left = np.abs(turns[k, 0]) * norm
        going = good & more & (left > bound)
    weights = np.where(places[:most] < k, turns[:most, 0] * norm.astype(dtype), 0.0).astype(dtype)
    return np.linalg.solve(triangle, weights) @ basis[:most]
