"""Sums and matrix products of arrays that lose few digits, however long they are.

Array libraries add along most axes one number after the other, and their matrix products do so along the inner axis: the
error of such a sum grows like its length. Here no state adds more than a few numbers in a row, so that it grows like the
logarithm (N. Higham 1993, The accuracy of floating point summation).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

LEAF, RADIX = 32, 8  # numbers, and then sums, that NumPy adds one after the other
BLOCK = 1024  # numbers that a block of threads adds, in array libraries that have such
INNER, FEW = 512, 64  # the inner axis of a matrix product, and that for each row or column, whichever are fewer
PANEL, ROOM = 4096, 4  # beyond this it grows only so that the partial products take no more room than the factors


def total(xp: Any, x: Any, axes: Sequence[int]) -> Any:
    """The sum over some axes, counted from the front, in the array's dtype."""
    axes = sorted(axes)
    if x.dtype.kind != "f" or (xp is np and _in_one_run(x, axes)):
        return xp.sum(x, axis=tuple(axes), dtype=x.dtype)
    for axis in reversed(axes):
        x = _along(xp, x, axis)
    return x


def _in_one_run(x: Any, axes: Sequence[int]) -> bool:
    """True where NumPy goes through all that makes one sum in one inner loop, which adds pairwise."""
    if len(axes) == x.ndim and (x.ndim == 1 or x.flags.f_contiguous):
        return bool(x.flags.aligned)
    return bool(x.flags.c_contiguous and x.flags.aligned) and list(axes) == list(range(x.ndim - len(axes), x.ndim))


def _along(xp: Any, x: Any, axis: int) -> Any:
    """The sum over one axis: of the sums of its parts, and so on."""
    n, size, radix = x.shape[axis], *((LEAF, RADIX) if xp is np else (BLOCK, BLOCK))
    before = (slice(None),) * axis
    while n > size:
        m = n // size
        head = x[(*before, slice(0, m * size))].reshape(*x.shape[:axis], m, size, *x.shape[axis + 1 :])
        parts = xp.sum(head, axis=axis + 1, dtype=x.dtype)
        if m * size < n:
            rest = xp.sum(x[(*before, slice(m * size, n))], axis=axis, dtype=x.dtype, keepdims=True)
            parts = xp.concatenate([parts, rest], axis=axis)
        x, n, size = parts, parts.shape[axis], radix
    return xp.sum(x, axis=axis, dtype=x.dtype)


def matmul(xp: Any, x: Any, y: Any) -> Any:
    """The matrix product of arrays (..., m, k) and (..., k, p) with equal leading axes."""
    m, k, p = x.shape[-2], x.shape[-1], y.shape[-1]
    size = inner(m, p)
    if k <= size or x.dtype.kind != "f" or y.dtype.kind != "f":
        return xp.matmul(x, y)
    lead, count = x.shape[:-2], k // size
    whole = count * size
    tiles_x = xp.moveaxis(x[..., :whole].reshape(*lead, m, count, size), -2, -3)
    tiles_y = y[..., :whole, :].reshape(*lead, count, size, p)
    parts = xp.matmul(tiles_x, tiles_y)
    if whole < k:
        rest = xp.matmul(x[..., whole:], y[..., whole:, :])
        parts = xp.concatenate([parts, rest.reshape(*lead, 1, m, p)], axis=len(lead))
    return total(xp, parts, [len(lead)])


def inner(m: int, p: int) -> int:
    """The length of an inner axis that is multiplied at once, with so many rows and columns."""
    few = min(m, p)
    if m == p == 1:
        return BLOCK  # a library adds a product of two vectors in several sums side by side
    return max(INNER, min(FEW * few, PANEL), ROOM * few)
