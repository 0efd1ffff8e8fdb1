"""The rule of Gauss and Kronrod with 21 points on intervals, as NumPy code for arrays and stand-ins.

Intervals lie in pieces `[A, B]` of the domain. Each piece is the image of [0, 1]:

    A and B finite      x = A + (B - A) u^2 (3 - 2 u)
    A finite            x = A + (u / (1 - u))^2, and likewise from B
    neither             x = v / (1 - v^2), v = 2 u - 1

The first two weaken square roots and logarithms at the ends of a piece, which then need few intervals. Sources: R. Piessens, E.
de Doncker-Kapenga, C. Ueberhuber and D. Kahaner, *QUADPACK*, 1983, for the points and the estimate of the error; L. Shampine,
*Vectorized adaptive quadrature in MATLAB*, 2008, for the transformations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from catad.category.spaces import flatten
from catad.category.terms import D
from catad.traced.arrays.stand_in import apply_term
from catad.traced.recorder import the_trace

_POINTS = (
    0.995657163025808080735527280689003, 0.973906528517171720077964012084452, 0.930157491355708226001207180059508,
    0.865063366688984510732096688423493, 0.780817726586416897063717578345042, 0.679409568299024406234327365114874,
    0.562757134668604683339000099272694, 0.433395394129247190799265943165784, 0.294392862701460198131126602310387,
    0.148874338981631210884826001129720,
)  # fmt: skip
_KRONROD = (
    0.011694638867371874278064396062192, 0.032558162307964727478818972459390, 0.054755896574351996031381300244580,
    0.075039674810919952767043140916190, 0.093125454583697605535065465083366, 0.109387158802297641899210590325805,
    0.123491976262065851077958109831074, 0.134709217311473325928054001771707, 0.142775938577060080797094273138717,
    0.147739104901338491374841515972068,
)  # fmt: skip
_GAUSS = (
    0.066671344308688137593568809893332, 0.149451349150580593145863396957658, 0.219086362515982043995534934228163,
    0.269266719309996355091226921569469, 0.295524224714752870173892994651338,
)  # fmt: skip
_ZEROS = [w for one in _GAUSS for w in (0.0, one)]
NODES = (1.0 - np.array([*_POINTS, 0.0, *[-x for x in reversed(_POINTS)]])) / 2.0  # in [0, 1]
KRONROD = np.array([*_KRONROD, 0.149445554002916905664936468389821, *reversed(_KRONROD)]) / 2.0  # their sum is 1
BETWEEN = KRONROD - np.array([*_ZEROS, 0.0, *reversed(_ZEROS)]) / 2.0  # the rule of Kronrod less that of Gauss
COUNT = len(NODES)


def edges_of(ends: Sequence[Any], points: Sequence[float], dtype: Any) -> Any:
    """The ends of the pieces in increasing order: those of the domain, and points in it."""
    low, high = np.minimum(*ends), np.maximum(*ends)
    return np.stack([low, *[np.clip(dtype.type(p), low, high) for p in points], high])


def placed(low: Any, high: Any, u: Any) -> tuple[Any, Any]:
    """The point of [low, high] at u in [0, 1], and its derivative by u."""
    open_low, open_high = np.isinf(low), np.isinf(high)
    start, end = np.where(open_low, 0.0, low), np.where(open_high, 0.0, high)
    v = 1.0 - u
    near = np.minimum(u, v)
    moved = (end - start) * (near * near * (3.0 - 2.0 * near))
    x, slope = np.where(u <= v, start + moved, end - moved), (end - start) * (6.0 * u * v)
    ratio = u / v
    far, steep = ratio * ratio, 2.0 * ratio / (v * v)
    w, both = u - v, 4.0 * u * v  # 1 - w^2 is both
    x = np.where(open_low, np.where(open_high, w / both, end - far), np.where(open_high, start + far, x))
    slope = np.where(open_low & open_high, 2.0 * (1.0 + w * w) / (both * both), np.where(open_low | open_high, steep, slope))
    empty = low == high
    return np.where(empty, start, x), np.where(empty, 0.0, slope)


def position(low: Any, high: Any, u: Any) -> Any:
    """The point of [low, high] at u in [0, 1], also at its ends."""
    inside = np.clip(u, 1e-300, 1.0 - 1e-16)
    return np.where(u <= 0.0, low, np.where(u >= 1.0, high, placed(low, high, inside)[0]))


def sampled(values: D, edges: Any, intervals: Sequence[Any], args: Any) -> list[Any]:
    """The integrand with its weight at the points of k intervals: an array (k, 21, ...) for each leaf of the values.

    An interval is the number of its piece, its left end there, and its width. Where a piece is empty, there is 0.
    """
    piece, left, width = intervals
    kind = edges.dtype.type
    u = left[:, None] + width[:, None] * NODES.astype(kind)
    low, high = edges[piece][:, None], edges[piece + 1][:, None]
    x, slope = placed(low, high, u)
    found = []
    for leaf in flatten(apply_term(the_trace(), values, (x.reshape(-1), args))):
        own = leaf.reshape((*u.shape, *leaf.shape[1:]))
        weight = (slope * width[:, None]).reshape((*u.shape, *(1,) * (leaf.ndim - 1)))
        found.append(np.where(weight == 0.0, own.dtype.type(0), own * weight))
    return found


def summed(samples: Any, weights: Any = KRONROD) -> Any:
    """The sums of weighted samples over the points of each interval."""
    own = weights.astype(samples.dtype).reshape((-1, *(1,) * (samples.ndim - 2)))
    return np.sum(samples * own, axis=1)


def lengths(leaves: Sequence[Any]) -> Any:
    """The Euclidean norm of all numbers of leaves (k, ...), for each of the k."""
    rows = [np.abs(leaf).reshape(leaf.shape[0], -1) for leaf in leaves if leaf.size]
    if not rows:
        return np.zeros(leaves[0].shape[0] if leaves else 1)
    if len(rows) == 1 and rows[0].shape[1] == 1:
        return rows[0][:, 0]
    dtype = np.result_type(*[row.dtype for row in rows])
    whole = np.concatenate([row.astype(dtype) for row in rows], axis=1)
    scale = np.max(whole, axis=1)
    safe = np.where((scale > 0) & (scale < np.inf), scale, dtype.type(1))
    return safe * np.sqrt(np.sum((whole / safe[:, None]) ** 2, axis=1))


def measured(samples: Sequence[Any]) -> tuple[list[Any], Any, Any]:
    """The integrals over intervals, QUADPACK's estimates of their errors, and those of rounding alone."""
    made = [summed(leaf) for leaf in samples]
    error = lengths([summed(leaf, BETWEEN) for leaf in samples])
    apart = lengths([summed(np.abs(leaf - mean[:, None])) for leaf, mean in zip(samples, made, strict=True)])
    info = np.finfo(error.dtype)
    rounding = 50.0 * float(info.eps) * lengths([summed(np.abs(leaf)) for leaf in samples])
    safe = np.where(apart > 0, apart, 1.0)
    ratio = np.minimum(200.0 * error / safe, 1.0)
    error = np.where((apart > 0) & (error > 0), apart * ratio * np.sqrt(ratio), error)
    return made, np.where(rounding > float(info.tiny), np.maximum(error, rounding), error), rounding
