"""`Operator`: a linear map as the matrix on flattened vectors, by the names that SciPy has for operators and sparse matrices.

Nothing is written out but by `todense` and its like (`toarray`, `np.asarray`): products with arrays run the map.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.spaces import Result, Space, Value, flatten
from catad.category.wiring import Wire
from catad.errors.traceback_filtering import boundary
from catad.linear.matrix import as_matrix, columns
from catad.linear.solving import general
from catad.values.arrays import Array, is_stand_in

if TYPE_CHECKING:
    from catad.linear.map import LinearMap
    from catad.linear.matrix.repeated_todense import Expected
    from catad.linear.solving.solver import Solver
    from catad.linear.structure import Structure


class Operator:
    """See the module; `LinearMap` is the one class that derives from it."""

    __slots__ = ()

    if TYPE_CHECKING:
        dom: Space
        cod: Space
        structure: Structure
        expected: Expected

        @property
        def slots(self) -> Sequence[Array]: ...

        @property
        def T(self) -> LinearMap: ...

    ndim = 2

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrix on flattened vectors (dimensionless)."""
        return self.cod.size, self.dom.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """The widest dtype of domain and codomain; float64 where neither has numbers."""
        leaves = [leaf.dtype for leaf in (*self.dom.leaves, *self.cod.leaves)]
        return np.result_type(*leaves) if leaves else np.dtype(np.float64)

    @property
    def H(self) -> LinearMap:
        """The adjoint: the transpose, since all numbers are real."""
        return self.T

    def adjoint(self) -> LinearMap:
        """The transpose, `L.T`."""
        return self.T

    def transpose(self) -> LinearMap:
        """The transpose, `L.T`."""
        return self.T

    # -- products with arrays

    def matvec(self: Any, v: Value) -> Result:
        """The image of a flattened vector: shape `(n,)` to `(m,)`, or `(n, 1)` to `(m, 1)`, where `(m, n) = L.shape`.

        A flattened vector has the leaves of a value end to end, each in C order. Integers and narrower floats are taken;
        raises `SpaceError` for another shape, and for a dtype that the domain's does not hold.

        >>> import catad as ct, numpy as np
        >>> ct.scale(np.array([[1.0, 2.0], [3.0, 4.0]])).matvec(np.ones(4))
        array([1., 2., 3., 4.])
        """
        found: Result = columns.matvec(self, v)
        return found

    def rmatvec(self, w: Value) -> Result:
        """The image of a flattened vector under the transpose: shape `(m,)` to `(n,)`, as `matvec`.

        >>> import catad as ct, numpy as np
        >>> ct.linear.dense(np.array([[1.0, 2.0]])).rmatvec(np.ones(1))
        array([1., 2.])
        """
        return self.T.matvec(w)

    def matmat(self: Any, B: Value) -> Result:
        """The images of the columns of a matrix: shape `(n, k)` to `(m, k)`, all columns of a block at once.

        Raises as `matvec`.

        >>> import catad as ct, numpy as np
        >>> ct.linear.cumulative_sum(ct.f64[3]).matmat(np.eye(3))
        array([[1., 0., 0.],
               [1., 1., 0.],
               [1., 1., 1.]])
        """
        found: Result = columns.matmat(self, B)
        return found

    def rmatmat(self, B: Value) -> Result:
        """The images of the columns under the transpose: shape `(m, k)` to `(n, k)`, as `matmat`.

        >>> import catad as ct, numpy as np
        >>> ct.linear.dense(np.array([[1.0, 2.0]])).rmatmat(np.ones((1, 2)))
        array([[1., 1.],
               [2., 2.]])
        """
        return self.T.matmat(B)

    def dot(self: Any, x: Any) -> Any:
        """`L @ x`."""
        return self @ x

    # -- as a matrix

    def todense(self: Any, force: bool = False) -> Result:
        """The array of shape `cod + dom`; between products, the matrix on flattened vectors.

        Raises `DenseLimitError` above 10^7 numbers unless forced.

        >>> import catad as ct, numpy as np
        >>> ct.scale(np.array([1.0, 2.0])).todense()
        array([[1., 0.],
               [0., 2.]])
        """
        found: Result | None = None
        try:
            expected = self.expected
            del self.expected
        except AttributeError:  # no map of a Jacobian, or it was written out before
            pass
        else:
            found = expected.taken()
        if found is None:
            found = as_matrix.todense(self, force)
        return found

    def toarray(self, force: bool = False) -> Result:
        """The same as `todense`."""
        return self.todense(force)

    def diagonal(self: Any, k: int = 0) -> Result:
        """The entries `[i, i + k]` of the matrix on flattened vectors, as an array of one axis, by structure.

        Families that know their entries read them off, and a band takes as many products as it has diagonals. A matrix-free
        map takes one product for each column, in blocks of bounded memory. Beyond the matrix the array is empty.

        >>> import catad as ct, numpy as np
        >>> L = ct.linear.cumulative_sum(ct.f64[3]) @ ct.scale(np.array([1.0, 2.0, 3.0]))
        >>> L.diagonal()
        array([1., 2., 3.])
        """
        found: Result = as_matrix.diagonal(self, k)
        return found

    def trace(self, k: int = 0) -> Any:
        """The sum of `diagonal(k)`, a number.

        >>> import catad as ct
        >>> ct.linear.identity(ct.f64[1000, 1000]).trace()
        np.float64(1000000.0)
        """
        found = self.diagonal(k)
        return found.sum(dtype=found.dtype)

    # -- solving

    @property
    def solver(self: Any) -> Solver:
        """The way in which `solve` goes, as a text: its method and how its work grows with the n unknowns. Raises as `solve`.

        >>> import catad as ct, numpy as np
        >>> ct.linear.recurrence(np.full(1000, 0.5)).solver
        solver: recurrence, O(n)
        >>> (ct.scale(np.full(3, 2.0)) >> ct.linear.dense(np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]]))).solver
        solver: chain of diagonal, dense, O(n) + O(n^3)
        """
        return general.solver(self)

    @boundary
    def solve(self: Any, b: Any, rtol: float | None = None) -> Result:
        """The `x` with `L(x) == b`, by structure: `L.solver` says in which way.

        `b` is a value of the codomain, and the result one of the domain. As with `@`, another array of one axis is a flattened
        vector, and one of two axes has right-hand sides as columns: `(n, k)` to `(n, k)`. The dtype is that of the domain.

        A diagonal, a permutation and a recurrence take O(n); a chain is solved factor by factor where they are square, a
        block-triangular grid block by block, a dense array by substitution or LU. Else bands, few unknowns and few entries are
        found by their sizes, and the rest takes GMRES, until `|L x - b| <= rtol |b|`; `rtol` is `eps ** (2 / 3)` if not given.
        Bands and sparse matrices need SciPy; without it, the next way is taken.

        In derivatives of `ct.D` and of primitives the map and `b` may have wires, and in traced functions arrays that are traced.
        Then `b` is a value of the codomain, and x is differentiated by both, to any order: see `ct.linear.inverse`, by which it
        is found. There numbers that are not finite give such numbers, and a map that is singular to working precision is solved.

        Raises `SolveError`, a `numpy.linalg.LinAlgError`, for a map that is not square or is singular, also to working
        precision, and for numbers that are not finite; `ConvergenceError` where the iteration does not come so far;
        `SpaceError` for a `b` that does not lie in the codomain.

        >>> import catad as ct, numpy as np
        >>> ct.linear.cumulative_sum(ct.f64[3]).solve(np.array([1.0, 3.0, 6.0]))
        array([1., 2., 3.])
        """
        if any(isinstance(leaf, Wire) or is_stand_in(leaf) for leaf in (*flatten(b), *self.slots)):
            from catad.linear.solving import before_numbers

            general.check_tolerance(rtol)
            made: Result = before_numbers.solve(self, b, rtol)
            return made
        found: Result = general.solve(self, b, rtol)
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Result:
        """`np.asarray(L)` is `L.todense()`, as SciPy's solvers take a Jacobian or a Hessian.

        >>> import catad as ct, numpy as np
        >>> np.asarray(ct.jacobian(ct.sin)(np.zeros(2)))
        array([[1., 0.],
               [0., 1.]])
        """
        if copy is False:
            raise errors.ArgumentError(errors.no_view_of_a_map(self))
        dense = np.asarray(self.todense())
        return dense if dtype is None else dense.astype(dtype, copy=False)

    def tocsr(self: Any) -> Any:
        """The matrix on flattened vectors as a compressed sparse row matrix of SciPy or CuPy, by device.

        Entries that are zero are not stored, and the indices of a row are in order. Its methods convert further:
        `L.tocsr().tocoo()`.
        """
        return as_matrix.tocsr(self)

    def as_linear_operator(self: Any) -> Any:
        """The map on flattened vectors as a `LinearOperator` of SciPy or CuPy, by device.

        Vectors of other real dtypes are converted to that of the map: solvers work in double precision.
        """
        return as_matrix.as_linear_operator(self)
