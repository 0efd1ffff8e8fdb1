"""Products of large matrices after a look at their numbers: blocks of zeros are left out, and half of what is symmetric.

A mask, a triangle, a branch that is never taken leave zeros in whole blocks, which a product need not read. Where one factor
has the numbers of the other transposed, the product is symmetric, and NumPy computes half of it if both are one array. What
shows in a few numbers that neither holds costs next to nothing; looking at all takes 2% of the time of such a product.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

MANY = 1 << 24  # multiplications of a product from which on its factors are looked at
BLOCKS = 8  # along each axis
WORTH = 0.75  # of a factor that may be left, where the product goes block by block

Multiply = Callable[[Any, Any, Any], Any]


def product(multiply: Multiply, xp: Any, x: Any, y: Any) -> Any:
    """The product of two matrices or of stacks of them, by `multiply` of their parts.

    Zeros are left out only where the other factor is finite, since the product of zero and infinity is NaN.

    >>> upper = np.triu(np.ones((300, 300)))
    >>> np.array_equal(product(lambda _, a, b: a @ b, np, upper, upper), upper @ upper)
    True
    """
    if xp is not np or x.dtype.kind != "f" or y.dtype.kind != "f":
        return multiply(xp, x, y)
    if (_zeros(x) and _finite(y)) or (_zeros(y) and _finite(x)):
        return np.zeros((*x.shape[:-1], y.shape[-1]), np.result_type(x, y))
    if x.ndim > 2:
        return multiply(xp, x, y)
    for across, left, right in ((False, x, y), (True, y.T, x.T)):
        start = _twin(left, right)
        if start is not None:
            return _with_square(multiply, left, right, start, across)
        spans = _spans(right)
        if spans is not None and _finite(left):
            return _by_blocks(multiply, x, y, spans, across)
    return multiply(xp, x, y)


def _zeros(x: Any) -> bool:
    return bool(x.size and not x.item(0) and not x.any())


def _finite(x: Any) -> bool:
    """True where the sum is a number: then all are."""
    with np.errstate(all="ignore"):
        return bool(np.isfinite(x.sum()))


def _twin(x: Any, y: Any) -> int | None:
    """Where in the second factor, at its beginning or end, columns with the numbers of the rows of the first one begin."""
    m, p = x.shape[0], y.shape[1]
    if not 0 < m <= p <= 2 * m or not x.size or x.dtype != y.dtype:
        return None
    start: int
    for start in dict.fromkeys((0, p - m)):
        own = y[:, start : start + m].T
        if all(x[i, j] == own[i, j] for i in (0, -1) for j in (0, -1)) and np.array_equal(x, own):
            return start
    return None


def _with_square(multiply: Multiply, x: Any, y: Any, start: int, across: bool) -> Any:
    """The product where some columns of it are symmetric; transposed, where that is asked for."""
    m, p = x.shape[0], y.shape[1]
    if m == p:
        return multiply(np, x, x.T)
    made = np.empty((p, m) if across else (m, p), np.result_type(x, y))
    goal = made.T if across else made
    goal[:, start : start + m] = multiply(np, x, x.T)
    for some in (slice(0, start), slice(start + m, p)):
        if some.start < some.stop:
            goal[:, some] = multiply(np, x, y[:, some])
    return made


Span = tuple[slice, int, int]  # some columns, and the rows outside of which they are zeros


def _spans(y: Any) -> list[Span] | None:
    """What blocks of columns have beside zeros above and below; None where that is nearly all."""
    k, p = y.shape
    if min(k, p) < BLOCKS:
        return None
    rows, columns = [[n * i // BLOCKS for i in range(BLOCKS + 1)] for n in (k, p)]

    def zeros(i: int, j: int) -> bool:
        return _zeros(y[rows[i] : rows[i + 1], columns[j] : columns[j + 1]])

    if not zeros(BLOCKS - 1, 0) and not zeros(0, BLOCKS - 1):
        return None
    spans = list[Span]()
    for j in range(BLOCKS):
        there = [i for i in range(BLOCKS) if not zeros(i, j)]
        low, high = (rows[there[0]], rows[there[-1] + 1]) if there else (0, 0)
        spans.append((slice(columns[j], columns[j + 1]), low, high))
    left = sum([(columns.stop - columns.start) * (high - low) for columns, low, high in spans])
    return spans if left <= WORTH * k * p else None


def _by_blocks(multiply: Multiply, x: Any, y: Any, spans: list[Span], across: bool) -> Any:
    """The product by columns of the second factor, or across, by rows of the first one."""
    made = np.zeros((x.shape[0], y.shape[1]), np.result_type(x, y))
    for some, low, high in spans:
        if low == high:
            continue
        if across:
            made[some] = multiply(np, x[some, low:high], y[low:high])
        else:
            made[:, some] = multiply(np, x[:, low:high], y[low:high, some])
    return made
