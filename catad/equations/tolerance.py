"""Tolerances, and the sizes that are compared with them; they are traced as parts of finders.

Sizes are maximum norms: no square of a small number becomes 0, and none of a large one overflows. NaN stays NaN, which no
comparison holds for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from catad.category.spaces import Space, flatten, rebuild

IS_TRACED = True  # finders call these functions


class Tolerance(NamedTuple):
    """`rtol |x| + atol`, and the rounding unit of the widest numbers that x has, whose error counts."""

    rtol: float
    atol: float
    eps: float

    @property
    def loose(self) -> Tolerance:
        """The tolerance of a step in which rounding hides what is sought: half the digits."""
        half = self.eps**0.5
        return Tolerance(max(self.rtol, half), self.atol * max(1.0, half / self.rtol if self.rtol else 1.0), self.eps)


def tolerance(space: Space, rtol: float | None, atol: float | None, power: float = 2 / 3) -> Tolerance:
    """The tolerance for values of a space: by default eps^power, relative and absolute."""
    eps = max([float(np.finfo(leaf.dtype).eps) for leaf in space.leaves])
    rtol = eps**power if rtol is None else rtol
    return Tolerance(rtol, rtol if atol is None else atol, eps)


def flat(value: Any) -> tuple[Any, ...]:
    """The leaves of a value as vectors: loops hold arrays with axes."""
    return tuple([np.ravel(leaf) for leaf in flatten(value)])


def shaped(space: Space, vectors: Sequence[Any]) -> Any:
    """The value of a space whose leaves are given as vectors."""
    return rebuild(space, [v.reshape(leaf.shape) if leaf.shape else v[0] for v, leaf in zip(vectors, space.leaves, strict=True)])


def joined(value: Any) -> Any:
    """The leaves of a value as one vector."""
    return np.concatenate(flat(value))


def parted(space: Space, vector: Any) -> tuple[Any, ...]:
    """The leaves of a space as vectors, which are given as one vector."""
    made, start = [], 0
    for leaf in space.leaves:
        made.append(vector[start : start + leaf.size].astype(leaf.dtype))
        start = start + leaf.size
    return tuple(made)


def apart(space: Space, vector: Any) -> Any:
    """The value of a space whose numbers are given as one vector."""
    return shaped(space, parted(space, vector))


def largest(leaves: Sequence[Any]) -> Any:
    """The largest absolute value in some arrays; 0 where there is no number."""
    found = np.float64(0.0)
    for leaf in leaves:
        if leaf.size:
            found = np.maximum(found, np.max(np.abs(leaf)).astype(np.float64))
    return found


def in_units(change: Sequence[Any], leaves: Sequence[Any], tol: Tolerance) -> Any:
    """The largest number of a change beside the tolerance of its number; 0 / 0 is 0."""
    parts = []
    for d, a in zip(change, leaves, strict=True):
        bound = tol.atol + tol.rtol * np.abs(a)
        parts.append(np.where(d == 0, 0.0, np.abs(d) / np.where(bound == 0, np.finfo(d.dtype).tiny, bound)))
    return largest(parts)


def moved_by(leaves: Sequence[Any], tol: Tolerance) -> list[tuple[Any, ...]]:
    """The leaves, changed by the tolerance: up, up and down by turns, and as a wave, so that not all changes cancel."""
    found = []
    for way in range(3):
        moved = []
        for a in leaves:
            k = np.arange(a.size)
            signs = (np.ones(a.size), 1.0 - 2.0 * (k % 2), np.where(np.cos(2.4 * k + 0.3) > 0.0, 1.0, -0.6))[way]
            moved.append(a + signs.astype(a.dtype) * (tol.atol + tol.rtol * np.abs(a)).astype(a.dtype))
        found.append(tuple(moved))
    return found


def chosen(where: Any, number: Any, other: Any) -> Any:
    """One of two numbers, which stays a number."""
    return np.where(where, number, other)[()]


def inner(left: Sequence[Any], right: Sequence[Any]) -> Any:
    """The inner product of two vectors in leaves."""
    found = np.float64(0.0)
    for a, b in zip(left, right, strict=True):
        found = found + np.sum(a * b).astype(np.float64)
    return found
