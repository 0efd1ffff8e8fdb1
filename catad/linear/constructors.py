"""Linear maps by name: the public constructors of `catad.linear`, and the trains `compForward` and `compReverse`."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from catad import errors
from catad.category.spaces import Product, Space, Tensor, as_leaves, flatten, space_like
from catad.category.terms import D
from catad.category.wiring import Wire
from catad.linear.families.block import Zero, diagonal_block, grid
from catad.linear.families.delta import delta
from catad.linear.families.delta import identity as _identity
from catad.linear.families.gather import Gather, rows_of
from catad.linear.families.matrix_free import MatrixFree
from catad.linear.families.recurrence import ONE, Recurrence
from catad.linear.families.reindex import Reindex, axis
from catad.linear.map import LinearMap, as_slot, linear_map
from catad.values.arrays import Array, array_module, as_number, common_module, is_stand_in, is_weak

Train = Callable[[LinearMap], LinearMap]


def identity(space: Space) -> LinearMap:
    """The identity on a space.

    Raises `SpaceError` where a leaf of the space is not floating, and for an argument that is no space.

    >>> import catad as ct
    >>> ct.linear.identity(ct.f64[3])
    identity f64[3] -> f64[3], stored 0, dense 9
    """
    return LinearMap(space, space, diagonal_block([_identity(leaf) for leaf in _floats(space)]), ())


def _floats(space: Space) -> tuple[Tensor, ...]:
    if not isinstance(space, Space):
        raise errors.SpaceError(errors.not_a_space(space))
    for leaf in space.leaves:
        if not leaf.is_float:
            raise errors.SpaceError(errors.not_a_vector_space(leaf))
    return space.leaves


def zero(dom: Space, cod: Space) -> LinearMap:
    """The map that sends everything to zero.

    Raises `SpaceError` where a leaf of a space is not floating, and for an argument that is no space.

    >>> import catad as ct
    >>> ct.linear.zero(ct.f64[3], ct.f64[2])
    zero f64[3] -> f64[2], stored 0, dense 6
    """
    return LinearMap(dom, cod, Zero(_floats(dom), _floats(cod)), ())


def scale(a: Any) -> LinearMap:
    """The map `da -> a * da` on the space of `a`: a number, or elementwise on an array.

    A Python number takes its dtype from what the map is composed with or applied to. Source: the `scale` of "automatic
    differentiation for accelerate" (Google Summer of Code 2018). Raises `SpaceError` for an argument that is no array or
    number, and for integers in an array.

    >>> import catad as ct
    >>> ct.scale(3.0)(2.0)
    np.float64(6.0)
    """
    weak = is_weak(a)
    a = as_number(np, a, np.dtype(np.float64)) if weak else as_slot(a)
    space = Tensor(a.shape, a.dtype)
    if not space.is_float:
        raise errors.SpaceError(errors.not_a_vector_space(space))
    axes = tuple(range(space.ndim))
    structure = delta(axes, axes, axes, space.shape, space.dtype, space.dtype, space.dtype)
    return linear_map(space, space, structure, (a,), weak)


def dense(array: Array, dom: Tensor | None = None) -> LinearMap:
    """The map whose array of shape `cod + dom` is given; without `dom` the last axis is the argument.

    The array is floating, and so are the spaces, in its dtype. Raises `SpaceError` for an array that is not, or whose last
    sizes are not those of `dom`.

    >>> import catad as ct, numpy as np
    >>> ct.linear.dense(np.arange(6.0).reshape(2, 3))
    dense f64[3] -> f64[2], stored 6, dense 6
    """
    if not isinstance(dom, Tensor | None):
        raise errors.SpaceError(errors.not_a_space(dom))
    n = 1 if dom is None else dom.ndim
    array = as_slot(array)
    if array.ndim < n or (dom is not None and array.shape[array.ndim - n :] != dom.shape):
        raise errors.SpaceError(errors.not_a_matrix(array.shape, dom))
    labels = tuple(range(array.ndim))
    cut = array.ndim - n
    structure = delta(labels[:cut], labels[cut:], labels, array.shape, array.dtype, array.dtype, array.dtype)
    return linear_map(structure.dom[0], structure.cod[0], structure, (array,))


def einsum(spec: str, coefficients: Array, dom: Tensor) -> LinearMap:
    """The map `x -> einsum(spec, coefficients, x)` by NumPy's subscripts, kept by its structure: diagonal, rows, blocks, dense.

    The first operand of `spec` is the array of coefficients, the second the argument. A label that argument and result share
    is a Kronecker delta. Raises `ArgumentError` for subscripts that cannot be read, `SpaceError` where they do not fit the
    sizes.

    >>> import catad as ct, numpy as np
    >>> L = ct.linear.einsum("j,ij->i", np.array([1.0, 2.0]), ct.f64[3, 2])
    >>> L
    rows f64[3, 2] -> f64[3], stored 2, dense 18
    >>> L(np.ones((3, 2)))
    array([3., 3., 3.])
    """
    coefficients = as_slot(coefficients)
    parts = spec.replace(" ", "").replace("->", ",").split(",") if isinstance(spec, str) and spec.count("->") == 1 else []
    if len(parts) != 3 or not all(c.isalpha() for part in parts for c in part) or not set(parts[2]) <= {*parts[0], *parts[1]}:
        raise errors.ArgumentError(errors.bad_linear_einsum(spec))
    sizes: dict[str, int] = {}
    for letters, shape in ((parts[0], coefficients.shape), (parts[1], dom.shape)):
        fits = len(letters) == len(shape) and all(
            sizes.setdefault(c, n) == n for c, n in zip(letters, shape, strict=True)
        )
        if not fits:
            raise errors.SpaceError(errors.einsum_sizes(spec, (coefficients.shape, dom)))
    number = {c: k for k, c in enumerate(sizes)}
    slot, ins, out = [tuple([number[c] for c in letters]) for letters in parts]
    dtype = np.result_type(coefficients.dtype, dom.dtype)
    structure = delta(out, ins, slot, tuple(sizes.values()), dom.dtype, dtype, coefficients.dtype)
    return linear_map(structure.dom[0], structure.cod[0], structure, (coefficients,))


def outer(u: Array, v: Array) -> LinearMap:
    """The rank-one map `x -> u * <v, x>`, kept as its two factors.

    Shapes: x has that of v, the result that of u; both are floating. Raises `SpaceError` for an argument that is no floating
    array.

    >>> import catad as ct, numpy as np
    >>> ct.linear.outer(np.ones(2), np.arange(3.0)).stored
    5
    """
    u, v = as_slot(u), as_slot(v)
    left, right = tuple(range(u.ndim)), tuple(range(v.ndim))
    row = delta((), right, right, v.shape, v.dtype, v.dtype, v.dtype)
    column = delta(left, (), left, u.shape, u.dtype, u.dtype, u.dtype)
    first = linear_map(row.dom[0], row.cod[0], row, (v,))
    return first >> linear_map(column.dom[0], column.cod[0], column, (u,))


def gather(index: Array, dom: Tensor) -> LinearMap:
    """Reading along axis 0 by an index array; an index out of range reads zero.

    Shapes: dom (n, ...) to index.shape + dom.shape[1:], in the dtype of dom. Raises `SpaceError` where the index is no array
    of integers, or dom is not floating or has no axes.

    >>> import catad as ct, numpy as np
    >>> ct.linear.gather(np.array([2, 0]), ct.f64[3])(np.array([1.0, 2.0, 3.0]))
    array([3., 1.])
    """
    index = as_slot(index)
    if index.dtype.kind not in "iu":
        raise errors.SpaceError(errors.not_an_index(index.dtype))
    how = rows_of(dom.shape, index.shape)
    structure = Gather(how, None, index.dtype, dom.dtype, dom.dtype, None)
    return linear_map(dom, structure.cod[0], structure, (index,))


def scatter_add(index: Array, cod: Tensor) -> LinearMap:
    """Adding along axis 0 by an index array, the transpose of `gather`; an index out of range is dropped.

    Shapes: index.shape + cod.shape[1:] to cod (n, ...), in the dtype of cod. Raises `SpaceError` where the index is no array
    of integers, or cod is not floating or has no axes.

    >>> import catad as ct, numpy as np
    >>> ct.linear.scatter_add(np.array([2, 0, 2]), ct.f64[3])(np.ones(3))
    array([1., 0., 2.])
    """
    return gather(index, cod).T


def sparse(matrix: Any) -> LinearMap:
    """The map of a sparse matrix of SciPy or CuPy, `(m, n)` floats in any format, between spaces of one axis.

    The entries are read, weighted, and added where they belong; of the format "dia", each diagonal is a diagonal map and a
    shift. Raises `SpaceError` for other dtypes, and for an argument that is no sparse matrix.

    >>> import catad as ct, numpy as np
    >>> from scipy.sparse import csr_matrix, dia_matrix
    >>> ct.linear.sparse(csr_matrix([[0.0, 2.0], [0.0, 0.0]]))(np.array([1.0, 3.0]))
    array([6., 0.])
    >>> ct.linear.sparse(dia_matrix([[1.0, 2.0], [0.0, 3.0]])).solver
    solver: triangular, O(n^2)
    """
    if len(getattr(matrix, "shape", ())) != 2 or not hasattr(matrix, "tocoo"):
        raise errors.SpaceError(errors.not_sparse(matrix))
    rows, columns = matrix.shape
    dom, cod = Tensor((columns,), matrix.dtype), Tensor((rows,), matrix.dtype)
    if not dom.is_float:
        raise errors.SpaceError(errors.not_a_vector_space(dom))
    if matrix.format == "dia" and len(matrix.offsets):
        return _of_diagonals(matrix, dom, cod)
    entries = matrix.tocoo()
    return gather(entries.col, dom) >> scale(entries.data) >> scatter_add(entries.row, cod)


def _of_diagonals(matrix: Any, dom: Tensor, cod: Tensor) -> LinearMap:
    """Column j of `matrix.data` belongs to column j of the matrix; what lies outside the matrix is not read."""
    rows, columns = matrix.shape
    parts: list[LinearMap] = []
    for offset, data in zip([int(k) for k in matrix.offsets], matrix.data, strict=True):
        first, last = max(0, offset), min(columns, rows + offset, len(data))
        weights = common_module([data]).zeros(columns, dtype=data.dtype)
        weights[first:last] = data[first:last]
        moved = Reindex((axis(columns, rows, first, 1, first - offset, 1, last - first),), dom.dtype)
        shift = linear_map(dom, cod, moved, ())
        parts.append(scale(weights) if moved.is_identity else scale(weights) >> shift)
    return functools.reduce(operator.add, parts)


def recurrence(links: Array, reverse: bool = False) -> LinearMap:
    """The map from b to s with `s_i = a_i s_{i-1} + b_i`; axis 0 counts the steps. `links` are a, of the shape of b.

    With `reverse` it is its transpose, `s_i = a_{i+1} s_{i+1} + b_i`. Both floating, of one dtype. Raises `SpaceError` for an
    argument that is no floating array with an axis.

    >>> import catad as ct, numpy as np
    >>> ct.linear.recurrence(np.array([0.0, 2.0, 2.0]))(np.ones(3))
    array([1., 3., 7.])
    """
    links = as_slot(links)
    space = _steps(Tensor(links.shape, links.dtype))
    structure = Recurrence(((0,),), 0, reverse, (space,), (space,))
    return linear_map(space, space, structure, (links,))


def cumulative_sum(space: Tensor, reverse: bool = False) -> LinearMap:
    """The recurrence whose links are all 1.

    Axis 0 of the space counts the steps; with `reverse` the sums run from the end. Raises `SpaceError` for a space that is
    not floating or has no axes.

    >>> import catad as ct, numpy as np
    >>> ct.linear.cumulative_sum(ct.f64[3])(np.ones(3))
    array([1., 2., 3.])
    """
    space = _steps(space)
    return LinearMap(space, space, Recurrence(((ONE,),), 0, reverse, (space,), ()), ())


def _steps(space: Space) -> Tensor:
    """A floating tensor with an axis that counts steps."""
    leaves = _floats(space)
    if not isinstance(space, Tensor) or not space.ndim:
        raise errors.SpaceError(errors.no_steps(space))
    return leaves[0]


def matrix_free(forward: D, backward: D, dom: Space, cod: Space, coefficients: Any = ()) -> LinearMap:
    """The map applied by `forward : (coefficients, x) -> y`, its transpose by `backward : (coefficients, w) -> v`.

    Both are morphisms that are linear in their second factor, and transposes of each other at each `coefficients`, which is
    not checked: `ct.testing.check_linear_map` does. Raises `SpaceError` for an argument that is no space, and for
    coefficients that are no value.

    >>> import catad as ct
    >>> ct.linear.matrix_free(ct.exr >> ct.neg, ct.exr >> ct.neg, ct.f64[3], ct.f64[3]).kind
    'matrix-free'
    """
    for end in (dom, cod):
        if not isinstance(end, Space):
            raise errors.SpaceError(errors.not_a_space(end))
    slots = [leaf if isinstance(leaf, Wire) or is_stand_in(leaf) else as_leaves(leaf)[0] for leaf in flatten(coefficients)]
    space = space_like(coefficients, [Tensor(slot.shape, slot.dtype) for slot in slots])
    return LinearMap(dom, cod, MatrixFree(forward, backward, dom, cod, space), slots)


def inl(a: Space, b: Space) -> LinearMap:
    """The injection `x -> (x, 0)` into `a * b`.

    The transpose is the projection. Raises `SpaceError` where a leaf of a space is not floating, and for an argument that is
    no space.

    >>> import catad as ct
    >>> ct.inl(ct.f64[()], ct.f64[()])(2.0)
    (np.float64(2.0), np.float64(0.0))
    """
    return block([[identity(a)], [zero(a, b)]], a, Product((a, b)))


def inr(a: Space, b: Space) -> LinearMap:
    """The injection `y -> (0, y)` into `a * b`.

    The transpose is the projection. Raises `SpaceError` where a leaf of a space is not floating, and for an argument that is
    no space.

    >>> import catad as ct
    >>> ct.inr(ct.f64[()], ct.f64[()])(2.0)
    (np.float64(0.0), np.float64(2.0))
    """
    return block([[zero(b, a)], [identity(b)]], b, Product((a, b)))


def jam(a: Space) -> LinearMap:
    """The sum `(x, y) -> x + y` on `a * a`, the transpose of copying.

    Raises `SpaceError` where a leaf of the space is not floating, and for an argument that is no space.

    >>> import catad as ct
    >>> ct.jam(ct.f64[()])((2.0, 3.0))
    np.float64(5.0)
    """
    return join(identity(a), identity(a))


def fork(*maps: LinearMap) -> LinearMap:
    """`x -> (L x, M x, ...)`: the maps above each other.

    Its result is a product, one factor for each map. Raises `SpaceError` where the maps take values of different spaces, and
    for an argument that is no linear map.

    >>> import catad as ct
    >>> ct.linear.fork(ct.scale(2.0), ct.scale(3.0))(1.0)
    (np.float64(2.0), np.float64(3.0))
    """
    _same("dom", maps)
    return block([[m] for m in maps], maps[0].dom, Product(tuple(m.cod for m in maps)))


def join(*maps: LinearMap) -> LinearMap:
    """`(x, y, ...) -> L x + M y + ...`: the maps beside each other; `L | M` joins two.

    Its argument is a product, one factor for each map. Raises `SpaceError` where the maps give values of different spaces,
    and for an argument that is no linear map.

    >>> import catad as ct
    >>> (ct.scale(2.0) | ct.scale(3.0))((1.0, 10.0))
    np.float64(32.0)
    """
    _same("cod", maps)
    return block([list(maps)], Product(tuple(m.dom for m in maps)), maps[0].cod)


def cross(*maps: LinearMap) -> LinearMap:
    """`(x, y, ...) -> (L x, M y, ...)`: the block-diagonal map.

    Its argument and result are products, one factor for each map. Raises `SpaceError` for an argument that is no linear map.

    >>> import catad as ct
    >>> ct.linear.cross(ct.scale(2.0), ct.scale(3.0))((1.0, 10.0))
    (np.float64(2.0), np.float64(30.0))
    """
    _linear(maps)
    rows = [[m if r == c else zero(maps[c].dom, m.cod) for c in range(len(maps))] for r, m in enumerate(maps)]
    return block(rows, Product(tuple(m.dom for m in maps)), Product(tuple(m.cod for m in maps)))


def _linear(maps: Sequence[LinearMap]) -> None:
    """There is a map at least, and nothing but maps."""
    for m in maps or ((),):
        if not isinstance(m, LinearMap):
            raise errors.SpaceError(errors.not_a_linear_map(m))


def _same(end: str, maps: Sequence[LinearMap]) -> None:
    """The maps have one domain, or one codomain."""
    _linear(maps)
    for other in maps:
        if getattr(other, end) != getattr(maps[0], end):
            raise errors.SpaceError(errors.sum_of_unequal_spaces(maps[0], other))


def block(rows: Sequence[Sequence[LinearMap]], dom: Space, cod: Space) -> LinearMap:
    """A grid of maps from the factors of `dom` to those of `cod`.

    Its argument and result are products. Raises `SpaceError` where a map does not lie between its factors.

    >>> import catad as ct
    >>> R = ct.f64[()]
    >>> I, O = ct.linear.identity(R), ct.linear.zero(R, R)
    >>> ct.linear.block([[I, I], [O, I]], R * R, R * R)((1.0, 10.0))
    (np.float64(11.0), np.float64(10.0))
    """
    slots = [slot for line in rows for part in line if not part.structure.is_zero for slot in part.slots]
    widths = tuple([len(part.dom.leaves) for part in rows[0]]), tuple([len(line[0].cod.leaves) for line in rows])
    structure = grid([[part.structure for part in line] for line in rows], dom.leaves, cod.leaves, widths)
    return linear_map(dom, cod, structure, slots)


def as_map(J: Any) -> LinearMap:
    """A linear map as it is; a 2-D floating array or a sparse matrix of SciPy or CuPy as the map of that matrix."""
    if isinstance(J, LinearMap):
        return J
    if hasattr(J, "tocsr") and hasattr(J, "tocoo"):
        return sparse(J)
    if getattr(J, "ndim", 0) == 2 and getattr(J, "dtype", np.dtype(object)).kind == "f":
        return dense(J)
    raise errors.SpaceError(errors.not_a_linear_map(J))


def compForward(J: Any) -> Callable[[Any], Train]:
    """Forward mode by hand: takes a train `k` to the train `m -> J @ k(m)`; `ct.id` starts a train.

    Each step multiplies at once. A 2-D array stands for its dense map. Raises `SpaceError` where the result of `k(m)` does not
    lie in the space of J's argument, and for an argument that is no linear map. Source: "automatic differentiation for
    accelerate" (Google Summer of Code 2018), `compForward x = (matrixMultiply x .)`.

    >>> import catad as ct, numpy as np
    >>> A, B = np.ones((2, 3)), np.ones((3, 4))
    >>> ct.compForward(A)(ct.id)(B)
    dense f64[4] -> f64[2], stored 8, dense 8
    """
    J = as_map(J)
    return lambda k: lambda m: J.multiply(_run(_train(k), m))


def compReverse(J: Any) -> Callable[[Any], Train]:
    """Reverse mode by hand: takes a train `k` to the train `m -> k(m @ J)`; `ct.id` starts a train.

    Each step multiplies at once. Raises `SpaceError` where the argument of `m` does not lie in the space of J's result, and for
    an argument that is no linear map. Source: as `compForward`; `compReverse x = (. flip matrixMultiply x)`.

    >>> import catad as ct, numpy as np
    >>> A, B = np.ones((2, 3)), np.ones((3, 4))
    >>> ct.compReverse(B)(ct.id)(A)
    dense f64[4] -> f64[2], stored 8, dense 8
    """
    J = as_map(J)
    return lambda k: lambda m: _run(_train(k), as_map(m).multiply(J))


def _train(k: Any) -> Any:
    if callable(k) and not isinstance(k, LinearMap) and array_module(k) is None:
        return k
    raise errors.SpaceError(errors.not_a_train(k))


def _run(k: Any, m: Any) -> LinearMap:
    return as_map(m) if isinstance(k, D) and len(k) == 0 else as_map(k(m))
