"""GMRES: a linear system by products with its map only.

The residual is smallest over the Krylov space of the products so far (Y. Saad and M. Schultz, *GMRES: a generalized minimal
residual algorithm for solving nonsymmetric linear systems*, 1986); it begins again after so many products as vectors are kept.
SciPy's stops at a number of products alone, works on the host, and orthogonalises once; this one also stops where a round gains
nothing, is the same on CuPy's arrays, and says how large the residual is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from catad.values.arrays import Array

KEPT = 60  # vectors of the basis
NUMBERS = 1 << 26  # in the basis, as long as it has ten vectors
PRODUCTS = 3000  # with the map, at most
STALLED = 0.99  # a round that leaves more of the residual has come as far as it can


class Found(NamedTuple):
    """An approximate solution, `|A x - b| / |b|`, and the number of products with the map (dimensionless)."""

    x: Array
    residual: float
    products: int


def gmres(xp: Any, apply: Callable[[Array], Array], b: Array, rtol: float) -> Found:
    """`x` with `|A x - b| <= rtol |b|` in the Euclidean norm, or the best that was found."""
    size = float(xp.max(xp.abs(b))) if len(b) else 0.0
    if size == 0.0:
        return Found(xp.zeros_like(b), 0.0, 0)
    b = b / size  # squares stay in range
    total, x, rest = _norm(b), xp.zeros_like(b), b
    left, products = total, 0
    while left > rtol * total and products < PRODUCTS:
        step, taken = _round(xp, apply, rest, left, rtol * total)
        tried = x + step
        rest = b - apply(tried)
        products += taken + 1
        now = _norm(rest)
        if not now < left:
            break
        x, before, left = tried, left, now
        if now > STALLED * before:
            break
    return Found(x * size, left / total, products)


def _norm(v: Array) -> float:
    return math.sqrt(float((v * v).sum()))


def _round(xp: Any, apply: Callable[[Array], Array], rest: Array, norm: float, bound: float) -> tuple[Array, int]:
    """The step that makes the residual smallest over one Krylov space, and how many products it took."""
    most = min(KEPT, len(rest), max(10, NUMBERS // len(rest)))
    basis = xp.zeros((most + 1, len(rest)), dtype=rest.dtype)
    basis[0] = rest / norm
    small = _Triangle(norm)
    while small.size < most:
        k = small.size
        w = apply(basis[k])
        column = np.zeros(k + 2)
        for _ in range(2):  # orthogonalised twice, so that rounding leaves nothing along the basis
            along = xp.matmul(basis[: k + 1], w)
            w = w - xp.matmul(along, basis[: k + 1])
            column[: k + 1] += along.tolist()
        column[k + 1] = _norm(w)
        if not np.isfinite(column).all():
            break
        small.add(column)
        if small.left <= bound or column[k + 1] <= 1e-14 * np.abs(column).max():
            break
        basis[k + 1] = w / column[k + 1]
    y = xp.asarray(small.solution().astype(rest.dtype))
    return xp.matmul(y, basis[: small.size]), small.size + 1


class _Triangle:
    """The small problem, minimal `|norm e_1 - H y|`, with H made triangular by rotations as its columns come."""

    def __init__(self, norm: float) -> None:
        self.columns: list[Any] = []
        self.turns: list[tuple[float, float]] = []
        self.right = [norm]

    @property
    def size(self) -> int:
        return len(self.columns)

    @property
    def left(self) -> float:
        """The norm of the residual."""
        return abs(self.right[-1])

    def add(self, column: Any) -> None:
        for i, (c, s) in enumerate(self.turns):
            column[i], column[i + 1] = c * column[i] + s * column[i + 1], c * column[i + 1] - s * column[i]
        length = math.hypot(column[-2], column[-1])
        c, s = (column[-2] / length, column[-1] / length) if length else (1.0, 0.0)
        self.turns.append((c, s))
        self.columns.append(np.append(column[:-2], length))
        self.right[-1:] = [c * self.right[-1], -s * self.right[-1]]

    def solution(self) -> Any:
        """The solution by back substitution; a column that is zero gets no weight, as its map is singular there."""
        y = np.array(self.right[:-1])
        for k in reversed(range(self.size)):
            y[k] = y[k] / self.columns[k][k] if self.columns[k][k] else 0.0
            y[:k] -= y[k] * self.columns[k][:k]
        return y
