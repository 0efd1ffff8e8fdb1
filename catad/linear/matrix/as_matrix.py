"""Linear maps as matrices: dense arrays, sparse matrices, linear operators on flattened vectors."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors, upward
from catad.category.spaces import Product, Tensor
from catad.category.wiring import Builder
from catad.linear.apply import applying
from catad.linear.matrix.columns import check_numbers, common_dtype, pushed, put_together
from catad.linear.matrix.compressed import entries_by_colours
from catad.linear.matrix.entries import Crowded, of_array, span
from catad.linear.matrix.materialise import matrix_on, takes_rows
from catad.linear.matrix.sparsity import may_have_few
from catad.linear.products import cost_of_wiring
from catad.linear.structure import Cells, Placed, Structure
from catad.support.lru import remembered
from catad.values.arrays import Array, apart, as_array, numbers_of

if TYPE_CHECKING:
    from catad.linear.map import LinearMap


DENSE_LIMIT = 10_000_000  # numbers; `todense` beyond it wants force=True
KEPT_BASIS = 256  # vectors of a basis that a program which writes a map out keeps
PUSHED = 1 << 24  # operations of a basis through a map up to which no product is looked for
AT_ONCE = 1 << 20  # numbers of an array that is made together with the map
SPARSE = 16  # what an operation of a product of sparse matrices costs, in operations on dense arrays
LARGE = 1 << 14  # numbers of an array from which on its entries are spread over zeros, where it is nearly all zeros
FEW = 16  # one entry in so many numbers: such an array is nearly all zeros


def todense(linear: LinearMap, force: bool = False) -> Array:
    """See `LinearMap.todense`."""
    rows, columns = linear.shape
    if rows * columns > DENSE_LIMIT and not force:
        raise errors.DenseLimitError(errors.too_large(rows, columns, linear.dtype.itemsize, DENSE_LIMIT))
    xp = numbers_of(linear.slots, "L.todense()")
    plain = _is_plain(linear)
    shape = (*linear.cod.leaves[0].shape, *linear.dom.leaves[0].shape) if plain else None
    if xp is np and is_large(linear.structure):
        spread = _spread(linear, shape or linear.shape)
        if spread is not None:
            return spread
    linear = _cheaper(linear)
    structure = linear.structure
    if structure.holds_matrix:
        return structure.dense(xp, linear.slots)
    by_rows = takes_rows(structure)
    if xp is np and 0 < (rows if by_rows else columns) <= KEPT_BASIS:
        made: Array = _written_out(structure, shape)(xp, linear.slots)[0]
        return made
    # each column is the image of a unit vector, each row one under the transpose
    matrix = (_columns(linear.T, xp) if by_rows else _columns(linear, xp).T).astype(_dtype(linear), copy=False)
    return matrix if shape is None else matrix.reshape(shape)


def is_large(structure: Structure) -> bool:
    """True where the array of a map is so large that its entries are spread over zeros, where they are few."""
    return structure.rows * structure.columns >= LARGE and not structure.holds_matrix


@remembered
def may_be_spread(structure: Structure) -> bool:
    """True where the array of a map is large and has few entries that can differ from zero, by all that is known without data."""
    return is_large(structure) and may_have_few(structure, structure.rows * structure.columns // FEW)


def _spread(linear: LinearMap, shape: tuple[int, ...]) -> Array | None:
    """The array from the entries alone; None where they are not found by colours."""
    found = entries_by_colours(linear.structure, linear.slots, linear.shape[0] * linear.shape[1] // FEW)
    if found is None:
        return None
    out = np.zeros(linear.shape[0] * linear.shape[1], _dtype(linear))
    out[found[0].flat] = found[1]
    return out.reshape(shape)


def _is_plain(linear: LinearMap) -> bool:
    """True for a map between two arrays."""
    return isinstance(linear.dom, Tensor) and isinstance(linear.cod, Tensor)


def _dtype(linear: LinearMap) -> np.dtype[Any]:
    """The dtype of the array of a map: that of the result, and between products the widest of both."""
    return linear.structure.cod[0].dtype if _is_plain(linear) else linear.dtype


def written_at_once(structure: Structure) -> bool:
    """True where the array of a map is not large, and is not what takes long: a program of the map may make it, too."""
    size = structure.rows * structure.columns
    return size <= AT_ONCE and _to_basis(structure) <= PUSHED and not may_be_spread(structure)


@remembered
def _written_out(structure: Structure, shape: tuple[int, ...] | None) -> Any:
    """The program from the slots of a map to its array, with its basis; kept."""
    b = Builder()
    slots = tuple([b.wire(space) for space in structure.slots])
    out = matrix_on(b, structure, slots, shape)
    return upward.Program(b.finish(Product(structure.slots), slots, (out,)))


def _cheaper(linear: LinearMap) -> LinearMap:
    """The map; one that has factors is multiplied out first, where that takes less than applying them all to a basis."""
    structure = linear.structure
    pushed = _to_basis(structure) if structure.is_composite else 0
    if pushed <= PUSHED:
        return linear
    plan = upward.plan(structure, cost="operations", explicit=True)
    multiplied: LinearMap = plan.multiply(linear)
    return multiplied if plan.cost.operations + _to_basis(plan.result) < pushed else linear


@remembered
def _to_basis(structure: Structure) -> int:
    """The operations of applying a map, or its transpose, to a basis, whichever is taken."""
    if structure.holds_matrix:
        return 0
    count, applied = (structure.rows, structure.T) if takes_rows(structure) else (structure.columns, structure)
    return count * cost_of_wiring(applying(applied)[0])


def _columns(linear: LinearMap, xp: Any) -> Array:
    structure = linear.structure
    count = structure.columns
    if count == 0 or structure.rows == 0:
        return xp.zeros((count, structure.rows), dtype=linear.dtype)
    basis, start = [], 0
    for leaf in structure.dom:
        unit = xp.eye(count, leaf.size, k=-start, dtype=leaf.dtype)
        basis.append(unit.reshape(count, *leaf.shape))
        start += leaf.size
    return put_together(xp, pushed(structure, xp, linear.slots, basis, count), structure.cod, count)


def _sparse(xp: Any) -> Any:
    if xp is np:
        import scipy.sparse as sparse
    else:
        import cupyx.scipy.sparse as sparse
    return sparse


def tocsr(linear: LinearMap) -> Any:
    """See `LinearMap.tocsr`."""
    xp = numbers_of(linear.slots, "L.tocsr()")
    sparse = _sparse(xp)
    if xp is np:
        coloured = entries_by_colours(linear.structure, linear.slots)
        if coloured is not None:
            found, values = coloured
            arrays = values.astype(_dtype(linear), copy=False), found.indices.copy(), found.indptr.copy()
            made = sparse.csr_matrix(arrays, shape=linear.shape)
            made.has_canonical_format = True  # which SciPy need not find out
            if np.count_nonzero(values) < len(values):
                made.eliminate_zeros()
            return made
    linear = _cheaper(linear)
    matrix = _csr(sparse, xp, (linear.structure, tuple(range(len(linear.slots)))), linear.slots)
    return _without_zeros(matrix.astype(_dtype(linear), copy=False))


def _without_zeros(matrix: Any) -> Any:
    """The matrix without stored zeros, in order: the same in whatever way its entries were found."""
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def _csr(sparse: Any, xp: Any, part: Placed, slots: Any) -> Any:
    """A sparse matrix from the entries of the plain families, put together by sums, products and blocks."""
    structure, numbers = part
    own = [slots[k] for k in numbers]
    shape = (structure.rows, structure.columns)
    if structure.is_zero:
        return sparse.csr_matrix(shape)
    series, terms, cells = structure.series, structure.terms, structure.leafwise
    if series[0][0] is not structure and not _is_full(structure):
        out = None
        for inner in series:
            factor = _csr(sparse, xp, inner, own)
            out = factor if out is None else factor @ out
        return out
    if terms[0][0] is not structure:
        return sum((_csr(sparse, xp, inner, own) for inner in terms[1:]), _csr(sparse, xp, terms[0], own))
    if cells is not None and structure.is_grid:
        return _block_csr(sparse, xp, structure, cells, own)
    try:
        rows, columns, values = structure.entries(xp, own)
    except Crowded:
        rows, columns, values = of_array(structure, xp, own)
    return sparse.csr_matrix((values, (rows, columns)), shape=shape)


def _is_full(structure: Structure) -> bool:
    """True where a product of sparse matrices takes more than the dense one: their entries meet too often."""
    if structure.rows * structure.columns > DENSE_LIMIT:
        return False
    nnz, taken = structure.series[0][0].nnz, 0.0
    for (first, _), (second, _) in pairwise(structure.series):
        taken += nnz * second.nnz / max(1, first.rows)
        nnz = min(nnz * second.nnz // max(1, first.rows), structure.columns * second.rows)
    return SPARSE * taken > _to_basis(structure)


def _block_csr(sparse: Any, xp: Any, structure: Structure, cells: Cells, slots: Any) -> Any:
    grid = []
    for line, cod in zip(cells, structure.cod, strict=True):
        pairs = zip(line, structure.dom, strict=True)
        grid.append([_csr(sparse, xp, p, slots) if p else sparse.csr_matrix((cod.size, d.size)) for p, d in pairs])
    return sparse.bmat(grid, format="csr")


def diagonal(linear: LinearMap, k: int) -> Array:
    """See `LinearMap.diagonal`."""
    check_numbers(linear)
    k = operator.index(k)
    xp, dtype = numbers_of(linear.slots, "L.diagonal()"), common_dtype(linear.cod.leaves)
    if not span(*linear.shape, k).length:
        return xp.zeros(0, dtype=dtype)
    return apart([linear.structure.diagonal(xp, linear.slots, k).astype(dtype, copy=False)], linear.slots)[0]


def as_linear_operator(linear: LinearMap) -> Any:
    """See `LinearMap.as_linear_operator`."""
    xp = numbers_of(linear.slots, "L.as_linear_operator()")
    if xp is np:
        from scipy.sparse.linalg import LinearOperator
    else:
        from cupyx.scipy.sparse.linalg import LinearOperator
    forth, back = common_dtype(linear.dom.leaves), common_dtype(linear.cod.leaves)
    methods = {"matvec": forth, "matmat": forth, "rmatvec": back, "rmatmat": back}
    given = {name: partial(_converted, getattr(linear, name), dtype) for name, dtype in methods.items()}
    return LinearOperator(linear.shape, dtype=linear.dtype, **given)


def _converted(method: Callable[[Array], Array], dtype: np.dtype[Any], array: Array) -> Array:
    """The result of a method on an array in the dtype of the map: solvers hand over vectors of double precision to all maps."""
    array = as_array(array)
    return method(array.astype(dtype, copy=False) if array.dtype.kind in "biuf" else array)
