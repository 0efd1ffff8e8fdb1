"""Solving a linear map whose family has no solver: by its band, its array, its entries, or iteration.

The first method that fits is taken. The choice depends only on sizes that the structure knows, so a program always takes the
same method:

    diagonal     nothing is off the diagonal
    band         few diagonals, as many products as these; LU of the band (SciPy)
    dense        few unknowns, or as many numbers are stored as the array would have; LU, or substitution if it is triangular
    sparse       few entries, which the structure knows; LU of SuperLU (SciPy)
    iterative    GMRES, by products with the map only
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.spaces import flatten, rebuild, space_of
from catad.linear.matrix.columns import check_numbers, common_dtype, flattened, images, is_value, put_together, taken_apart
from catad.linear.matrix.entries import Crowded, Entries, matrix_of, probes
from catad.linear.solving.gmres import gmres
from catad.linear.solving.solver import (
    Leaves,
    Solver,
    divisor,
    named,
    of_matrices,
    require_finite,
    require_meaning,
    singular,
    solver_of,
)
from catad.linear.structure import Structure
from catad.values.arrays import Array, apart, common_module, is_weak, numbers_of

if TYPE_CHECKING:
    from catad.linear.map import LinearMap

SMALL = 256  # unknowns up to which the array is made
NARROW = 8  # a band is narrow where so many of it would fill the matrix
SPARSE = 16  # and entries are few where so many times as many would


def general(structure: Structure, xp: Any, slots: Sequence[Array], rtol: float | None) -> Solver:
    """The solver of a map of which only structure, entries and products are known; it is square and not empty."""
    n = structure.rows
    lower, upper = [max(0, width) for width in structure.bandwidths]
    if lower == upper == 0:
        d = divisor(xp, structure.diagonal(xp, slots), structure)
        return _flat("diagonal", "O(n)", structure, xp, lambda rows: rows / d)
    if is_narrow(structure, lower, upper) and xp is np:
        return _by_band(structure, slots, lower, upper)
    if n <= SMALL or 2 * structure.stored >= n * n:
        return _by_array(structure, xp, slots)
    count = structure.entry_count
    if count is not None and SPARSE * count <= n * n and xp is np:
        try:
            return _by_entries(structure, structure.entries(np, slots))
        except Crowded:
            pass
    return _by_iteration(structure, xp, slots, rtol)


def is_narrow(structure: Structure, lower: int, upper: int) -> bool:
    """True where a map has few diagonals beside its unknowns."""
    n, width = structure.rows, lower + upper + 1
    return width <= max(3, n // NARROW) and width < n


def _flat(method: str, order: str, structure: Structure, xp: Any, solve: Any) -> Solver:
    """A solver of flattened vectors: `solve` takes right-hand sides as rows."""

    def run(ys: Leaves) -> Leaves:
        rows = put_together(xp, ys, structure.cod, len(ys[0]))
        return taken_apart(solve(rows), structure.dom)

    return Solver(method, order, run)


def band_of(structure: Structure, slots: Sequence[Array], lower: int, upper: int) -> Array:
    """The diagonals (w, n), read by probing: entry [i, j] stands in row i of the image of the color of j."""
    n, width = structure.rows, lower + upper + 1
    band = np.zeros((width, n), dtype=common_dtype([*structure.dom, *structure.cod]))
    j = np.arange(n)
    for first, block in probes(structure, np, slots):
        for r in range(width):  # row r of the band is the diagonal upper - r
            i = j + r - upper
            own = (i >= 0) & (i < n) & (j % width >= first) & (j % width < first + len(block))
            band[r, own] = block[j[own] % width - first, i[own]]
    return band


def _by_band(structure: Structure, slots: Sequence[Array], lower: int, upper: int) -> Solver:
    from scipy.linalg import solve_banded

    n, width = structure.rows, lower + upper + 1

    def solve(rows: Array) -> Array:
        band = band_of(structure, slots, lower, upper)
        require_finite(np, "a band", band, structure)
        try:
            X = solve_banded((lower, upper), band, rows.T, check_finite=False)
        except np.linalg.LinAlgError:
            raise singular(structure, "a pivot of its factorisation is 0") from None
        sizes = np.zeros_like(X)
        for r in range(width):
            shift = r - upper
            into, out = slice(max(0, shift), n + min(0, shift)), slice(max(0, -shift), n - max(0, shift))
            sizes[into] += np.abs(band[r, out])[:, None] * np.abs(X[out])
        require_meaning(np, sizes, X, rows.T, structure)
        return X.T

    return _flat("band", f"O(n w^2), w = {width}", structure, np, solve)


def _by_array(structure: Structure, xp: Any, slots: Sequence[Array]) -> Solver:
    made = of_matrices(xp, matrix_of(structure, xp, slots, True)[None], structure)
    return _flat(made.method, made.order, structure, xp, lambda rows: made.run([rows.T[None]])[0][0].T)


def _by_entries(structure: Structure, entries: Entries) -> Solver:
    from scipy.sparse import coo_matrix
    from scipy.sparse.linalg import splu

    def solve(rows: Array) -> Array:
        at, columns, values = entries
        require_finite(np, "a sparse matrix", values, structure)
        dtype = common_dtype([*structure.dom, *structure.cod])
        matrix = coo_matrix((values.astype(dtype), (at, columns)), shape=(structure.rows, structure.columns)).tocsc()
        try:
            X = splu(matrix).solve(np.ascontiguousarray(rows.T, dtype=dtype))
        except RuntimeError:
            raise singular(structure, "a pivot of its factorisation is 0") from None
        require_meaning(np, abs(matrix) @ np.abs(X), X, rows.T, structure)
        return X.T

    return _flat("sparse", "LU of the sparse matrix", structure, np, solve)


def _by_iteration(structure: Structure, xp: Any, slots: Sequence[Array], rtol: float | None) -> Solver:
    dtype = common_dtype([*structure.dom, *structure.cod])
    bound = float(np.finfo(dtype).eps) ** (2 / 3) if rtol is None else rtol

    def apply(v: Array) -> Array:
        leaves = taken_apart(v[None], structure.dom)
        made = put_together(xp, images(structure, xp, slots, leaves, 1), structure.cod, 1)
        return made[0].astype(dtype, copy=False)

    def solve(rows: Array) -> Array:
        return xp.stack([_iterated(xp, apply, row.astype(dtype, copy=False), bound, structure) for row in rows])

    return _flat("iterative", "products with the map (GMRES)", structure, xp, solve)


def _iterated(xp: Any, apply: Any, b: Array, rtol: float, structure: Structure) -> Array:
    found = gmres(xp, apply, b, rtol)
    if not found.residual <= rtol:
        error = errors.ConvergenceError(errors.not_converged(found.residual, rtol, found.products, named(structure)))
        error.residual = found.residual
        raise error
    return found.x


# -- LinearMap.solve


def solver(linear: LinearMap, rtol: float | None = None) -> Solver:
    """See `LinearMap.solver`."""
    check_numbers(linear)
    rows, columns = linear.shape
    if rows != columns:
        raise errors.SolveError(errors.not_square(linear, rows, columns))
    return solver_of(linear.structure, numbers_of(linear.slots, "L.solver"), linear.slots, rtol)


def check_tolerance(rtol: Any) -> None:
    """Raise `ArgumentError` for an `rtol` that bounds nothing."""
    if rtol is not None and not ((is_weak(rtol) or isinstance(rtol, np.floating)) and 0 < rtol < 1):
        raise errors.ArgumentError(errors.bad_tolerance(rtol))


def solve(linear: LinearMap, b: Any, rtol: float | None) -> Any:
    """See `LinearMap.solve`."""
    check_tolerance(rtol)
    rows, columns = linear.shape
    if rows != columns:
        raise errors.SolveError(errors.not_square(linear, rows, columns))
    value = is_value(linear.cod, b)
    linear, right = _right_side(linear, b) if value else (linear, flattened(linear, b))
    xp = numbers_of([*right, *linear.slots], "L.solve(b)")
    if right and not len(right[0]):
        return xp.zeros((columns, 0), dtype=common_dtype(linear.dom.leaves))
    for leaf in right:
        if not bool(xp.isfinite(leaf).all()):
            raise errors.SolveError(errors.not_finite("the right-hand side", linear))
    found = solver_of(linear.structure, xp, linear.slots, rtol).run(right)
    if not all(bool(xp.isfinite(leaf).all()) for leaf in found):
        raise errors.SolveError(errors.not_finite("the solution", linear))
    if value:
        return rebuild(linear.dom, apart([leaf[0].copy() for leaf in found], right))
    flat = put_together(xp, found, linear.dom.leaves, len(found[0]) if found else 1)
    return apart([flat[0].copy() if b.ndim == 1 else flat.T.copy()], right)[0]


def _right_side(linear: LinearMap, b: Any) -> tuple[LinearMap, Leaves]:
    """A value of the codomain as leaves with a leading axis, and the map; one of a Python number in the dtype of the value."""
    leaves = flatten(b)
    right = linear.T._argument(leaves)
    if right is None and linear.weak and len(leaves) == 1 and getattr(leaves[0], "dtype", np.dtype(int)).kind == "f":
        linear = linear._retyped(leaves[0].dtype)
        right = linear.T._argument(leaves)
    if right is None:
        raise errors.SpaceError(errors.not_in_codomain(space_of(b), linear.cod, linear))
    xp = common_module(right)
    return linear, [xp.asarray(leaf)[None] for leaf in right]
