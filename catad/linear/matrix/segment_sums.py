"""Sums of segments of an array: of the numbers from each start to the next one."""

from __future__ import annotations

from typing import Any

import numpy as np


def segment_sums(xp: Any, values: Any, starts: Any) -> Any:
    """The sums of `values[starts[k] : starts[k + 1]]`, in the dtype of the values (n,); 0 of none. The starts do not fall.

    NumPy has `add.reduceat`. That of CuPy subtracts running sums, which keep the rounding and the infinities of all numbers
    before a segment. There the numbers of a segment are added pairwise instead: after k steps a number has become the sum of
    itself and the next 2^k - 1 numbers of its segment.
    """
    n = len(values)
    zero = xp.zeros(1, dtype=values.dtype)
    padded = xp.concatenate([values, -zero if values.dtype.kind == "f" else zero])  # -0.0 changes no number to which it is added
    ends = xp.concatenate([starts[1:], xp.full(min(len(starts), 1), n, dtype=starts.dtype)])
    if xp is np:
        sums = np.add.reduceat(padded, starts, dtype=values.dtype) if len(starts) else padded[:0]
    else:
        segment, step = xp.searchsorted(starts, xp.arange(n), side="right"), 1
        while step < n:
            same = segment[:-step] == segment[step:]
            padded[: n - step] = xp.where(same, padded[: n - step] + padded[step:n], padded[: n - step])
            step *= 2
        sums = padded[starts]
    return xp.where(ends > starts, sums, zero)
