"""Banded systems of complex matrices, as banded systems of twice as many real unknowns: re x_0, im x_0, re x_1 and so on.

An entry z of the matrix is a block [[re z, -im z], [im z, re z]], so l diagonals below the main one become 2 l + 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from catad.category.constant import const
from catad.linalg.pairs import Pair
from catad.linear.families.contract import zeros
from catad.linear.families.reindex import reshaped
from catad.vector.shapes.shape import concatenate, stack
from catad.vector.shapes.split import piece

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


def _alternating(b: Builder, parts: Sequence[Wire], at: int) -> Wire:
    """The entries of both along an axis, one of the one after one of the other."""
    both = b.apply(stack(at + 1), tuple(parts))
    shape = list(parts[0].shape)
    shape[at] *= 2
    return reshaped(b, both, shape)


def real_bands(b: Builder, ab: Pair, symmetric: bool, lower: bool) -> Wire:
    """The diagonals of the real matrix, of one half of it where it is `symmetric`."""
    rows, (re, im) = ab.ndim - 2, ab
    w, n = ab.shape[-2:]
    if symmetric:  # the diagonal is real
        own = 0 if lower else w - 1
        im = im * b.apply(const((np.arange(w) != own).astype(ab.dtype)[:, None] * np.ones(n, ab.dtype)), ())
    even, odd = _alternating(b, (re, im), rows), _alternating(b, (-im, re), rows)
    gap = piece(b, zeros(b, even.space), rows, 0, 1)
    if symmetric and lower:
        odd = b.apply(concatenate(rows), (piece(b, odd, rows, 1, 2 * w), gap))
    elif symmetric:
        even = b.apply(concatenate(rows), (gap, piece(b, even, rows, 0, 2 * w - 1)))
    else:
        even, odd = b.apply(concatenate(rows), (gap, even)), b.apply(concatenate(rows), (odd, gap))
    return _alternating(b, (even, odd), rows + 1)


def solved_in_reals(b: Builder, a: Wire, right: Pair, solved: Callable[[Wire, Wire], Wire]) -> Pair:
    """The solution for real diagonals and a complex right-hand side (n,) or (..., n, k)."""
    at = 0 if right.ndim == 1 else right.ndim - 2
    x = solved(a, _alternating(b, right, at))
    at = x.ndim - 1 if right.ndim == 1 else x.ndim - 2
    n = x.shape[at] // 2
    apart = reshaped(b, x, (*x.shape[:at], n, 2, *x.shape[at + 1 :]))
    re, im = (piece(b, apart, at + 1, k, k + 1) for k in range(2))
    shape = (*x.shape[:at], n, *x.shape[at + 1 :])
    return Pair(reshaped(b, re, shape), reshaped(b, im, shape))
