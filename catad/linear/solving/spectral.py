"""Solving with a circulant: real numbers to half their spectrum, a map of each frequency by itself, and back.

    x = irfft(M^-1 rfft(y))

M is a 2 x 2 matrix (real and imaginary part) for each frequency. Only the real parts of the first frequency, and of the last of
an even number of points, take part. Source: R. Gray, *Toeplitz and circulant matrices: a review*, 2006, chapter 3.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.linear.matrix.columns import common_dtype, images
from catad.linear.solving.solver import Leaves, Solver, divisor, named, require_finite
from catad.linear.structure import Placed, Structure, of_part, renumbered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catad.linear.families.block import Chain
    from catad.linear.families.fourier import Fourier
    from catad.values.arrays import Array


def by_spectrum(first: Fourier, last: Fourier, chain: Chain, xp: Any, slots: Sequence[Array]) -> Solver | None:
    """The solver of a product that starts and ends with such transforms, where it is a circulant."""
    away, back = first.how, last.how
    known = ("c2r", "r2c") if away.turned else ("r2c", "c2r")
    fits = (away.kind, back.kind, back.turned) == (*known, away.turned) and away.axes == back.axes and away.n == back.n
    whole = [(part.stages, own) for part, own in chain.parts[1:-1]]
    middle = [renumbered(inner, own) for part, own in whole for inner in part.series]
    if not fits or len(away.axes) != 1 or not middle or not all(_by_frequency(part) for part, _ in middle):
        return None
    a, b, c, d = _matrices(middle, xp, slots, first)
    det = a * d - b * c
    require_finite(xp, "a spectrum", det, chain)
    divisor(xp, det, chain)
    size, n = xp.sqrt(abs(det)), away.n
    eps = float(np.finfo(common_dtype(chain.cod)).eps)
    if bool((size.min(axis=away.axes[0]) <= n * eps * size.max(axis=away.axes[0])).any()):
        raise errors.SolveError(errors.nearly_singular(named(chain), n * eps))
    there, here = replace(first, how=away._replace(norm=back.norm)), replace(last, how=back._replace(norm=away.norm))

    def run(ys: Leaves) -> Leaves:
        re, im = images(there, xp, (), ys, len(ys[0]))
        return images(here, xp, (), [(d * re - b * im) / det, (a * im - c * re) / det], len(ys[0]))

    return Solver("spectrum", "O(n log n)", run)


def _by_frequency(part: Structure) -> bool:
    """True of a map of several leaves that only multiplies entries, and adds those of one place."""
    cells = part.leafwise
    return cells is not None and all(cell is None or cell[0].is_diagonal for row in cells for cell in row)


def _matrices(parts: Sequence[Placed], xp: Any, slots: Sequence[Array], first: Fourier) -> list[Any]:
    """The entries a, b, c, d of the 2 x 2 matrices of all frequencies, whose imaginary parts at the ends are cut off."""
    half = first.cod[0]
    total: list[list[Any]] = [[1.0, 0.0], [0.0, 1.0]]
    for part in parts:
        own = of_part(slots, part)
        assert part[0].leafwise is not None
        cells = [
            [0.0 if cell is None else cell[0].diagonal(xp, of_part(own, cell)).reshape(half.shape) for cell in row]
            for row in part[0].leafwise
        ]
        total = [[sum([x * line[j] for x, line in zip(row, total, strict=True)]) for j in (0, 1)] for row in cells]
    made = [xp.zeros(half.shape, dtype=half.dtype) + entry for row in total for entry in row]
    axis, n = first.how.axes[0], first.how.n
    for end in (0, n // 2) if n % 2 == 0 else (0,):
        at = (slice(None),) * axis + (end,)
        for entry, value in zip(made[1:], (0.0, 0.0, 1.0), strict=True):
            entry[at] = value
    return made
