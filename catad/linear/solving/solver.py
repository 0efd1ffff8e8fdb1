"""`Solver`: the way in which a linear map is inverted, and the ways that several families share.

A family answers by `Structure.solver`. Right-hand sides and solutions are leaves with a leading axis that counts them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.values.arrays import Array

if TYPE_CHECKING:
    from catad.linear.structure import Structure

Leaves = list[Array]
SUBSTITUTED = 64  # unknowns of a triangular system that are solved at once


@dataclass(frozen=True)
class Solver:
    """The way to solve a linear map: `method`, the growth of the work with the n unknowns (`order`), the solvers of its parts.

    >>> import catad as ct, numpy as np
    >>> ct.linear.cumulative_sum(ct.f64[3]).solver
    solver: recurrence, O(n)
    >>> ct.linear.cumulative_sum(ct.f64[3]).solver.method
    'recurrence'
    """

    method: str
    order: str
    run: Callable[[Leaves], Leaves] = field(repr=False, compare=False)
    parts: tuple[Solver, ...] = ()

    def __repr__(self) -> str:
        return f"solver: {self.named}, {self.order}"

    @property
    def named(self) -> str:
        """The method with those of the parts."""
        names = list(dict.fromkeys(part.named for part in self.parts))
        return self.method if not names else f"{self.method} of {', '.join(names)}"


def solver_of(structure: Structure, xp: Any, slots: Sequence[Array], rtol: float | None) -> Solver:
    """The solver of a map or of a part of one, whose solutions have the dtypes of its domain."""
    if structure.rows != structure.columns:
        raise errors.SolveError(errors.not_square(named(structure), structure.rows, structure.columns))
    if structure.rows == 0:
        return Solver("identity", "O(1)", lambda ys: _empty(xp, structure, ys))
    found = structure.solver(xp, slots, rtol)

    def run(ys: Leaves) -> Leaves:
        return [xp.asarray(x).astype(leaf.dtype, copy=False) for x, leaf in zip(found.run(ys), structure.dom, strict=True)]

    return Solver(found.method, found.order, run, found.parts)


def _empty(xp: Any, structure: Structure, ys: Leaves) -> Leaves:
    count = len(ys[0]) if ys else 1
    return [xp.zeros((count, *leaf.shape), dtype=leaf.dtype) for leaf in structure.dom]


def named(structure: Structure) -> str:
    """A part of a map for messages: its kind and its size."""
    return f"{structure.kind}, {structure.rows} x {structure.columns}"


def together(method: str, parts: Sequence[Solver], run: Callable[[Leaves], Leaves]) -> Solver:
    """A solver that runs those of parts, of the order of all of them."""
    return Solver(method, " + ".join(dict.fromkeys(part.order for part in parts)), run, tuple(parts))


def require_finite(xp: Any, what: str, array: Array, structure: Structure) -> None:
    """Raise `SolveError` where an array has NaN or infinity."""
    if not bool(xp.isfinite(array).all()):
        raise errors.SolveError(errors.not_finite(what, named(structure)))


def singular(structure: Structure, why: str) -> errors.SolveError:
    """The error for a map without an inverse."""
    return errors.SolveError(errors.singular(named(structure), why))


def divisor(xp: Any, d: Array, structure: Structure) -> Array:
    """The numbers of a diagonal, none of them zero."""
    d = xp.asarray(d)
    require_finite(xp, "a diagonal", d, structure)
    return without_zeros(xp, d, structure)


def without_zeros(xp: Any, d: Array, structure: Structure) -> Array:
    """The numbers of a diagonal; raises `SolveError` where one is zero."""
    zeros = xp.flatnonzero((d == 0).reshape(-1))
    if len(zeros):
        raise singular(structure, f"{len(zeros)} of {d.size} numbers of a diagonal are 0, the first is number {int(zeros[0])}")
    return d


# -- matrices: axis 0 counts them


def of_matrices(xp: Any, M: Array, structure: Structure) -> Solver:
    """Solve with matrices `(h, m, m)`: right-hand sides `(h, m, k)`. Substitution where all are triangular, else LU."""
    count, m, _ = M.shape
    require_finite(xp, "a matrix", M, structure)
    place = xp.arange(m)
    above, below = (bool((M * (side > 0)).any()) for side in (place - place[:, None], place[:, None] - place))
    if above and below:
        order = "O(n^3)" if count == 1 else f"O(n m^2), m = {m}"
        return Solver("dense", order, lambda ys: [_by_lu(xp, M, ys[0], structure)])
    divisor(xp, xp.diagonal(M, axis1=1, axis2=2), structure)
    order = "O(n^2)" if count == 1 else f"O(n m), m = {m}"
    return Solver("triangular", order, lambda ys: [_substituted(xp, M, ys[0], not above)])


def _by_lu(xp: Any, M: Array, B: Array, structure: Structure) -> Array:
    try:
        X = xp.linalg.solve(M, B)
    except np.linalg.LinAlgError:
        raise singular(structure, "a pivot of its factorisation is 0") from None
    require_meaning(xp, xp.matmul(xp.abs(M), xp.abs(X)), X, B, structure)
    return X


def require_meaning(xp: Any, sizes: Array, X: Array, B: Array, structure: Structure) -> None:
    """Raise `SolveError` where `B` is lost among the rounding errors of `M X` in each equation; `sizes` is `|M| |X|`.

    Then a change of each entry of M by its last digit makes X a vector that M maps to zero (W. Oettli and W. Prager,
    *Compatibility of approximate solution of linear equations with given error bounds*, 1964).
    """
    eps = float(np.finfo(X.dtype).eps)
    lost = (xp.abs(B) <= eps * sizes).all(axis=-2) & (X != 0).any(axis=-2)
    if bool(lost.any()):
        raise errors.SolveError(errors.nearly_singular(named(structure), eps))


def _substituted(xp: Any, M: Array, B: Array, lower: bool) -> Array:
    """Forward or backward substitution by halves, so that most of it is products of matrices."""
    m = M.shape[-1]
    if m <= SUBSTITUTED:
        return xp.linalg.solve(M, B)
    half = m // 2
    low, high = slice(None, half), slice(half, None)
    first, second = (low, high) if lower else (high, low)
    x = _substituted(xp, M[:, first, first], B[:, first], lower)
    y = _substituted(xp, M[:, second, second], B[:, second] - xp.matmul(M[:, second, first], x), lower)
    return xp.concatenate([x, y] if lower else [y, x], axis=1)


def laid(array: Array, labels: Sequence[object], order: Sequence[object]) -> Array:
    """The array with its labelled axes in another order."""
    return array.transpose([labels.index(label) for label in order])


def product(sizes: Sequence[int], labels: Sequence[int]) -> int:
    """The number of index tuples of some labels."""
    return math.prod(sizes[label] for label in labels)
