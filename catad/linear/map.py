"""`LinearMap`: a structure together with the arrays of its slots, between two spaces.

Every linear map knows its domain and codomain, how to apply itself and its transpose; `operator` has what it is as a matrix.
`>>` and `@` keep products as chains unless merging costs no arithmetic: where to multiply is the planner's business, or the
user's with `compForward` and `compReverse`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn, overload

import numpy as np

from catad import errors, upward
from catad.category.spaces import Result, Space, Tensor, Value, flatten, rebuild, space_of
from catad.category.terms import D
from catad.category.wiring import Wire
from catad.linear.families.block import Block, Zero, chain, diagonal_block, total
from catad.linear.families.contract import zeros
from catad.linear.families.delta import identity
from catad.linear.matrix.columns import from_left, times
from catad.linear.matrix.operator import Operator
from catad.linear.matrix.repeated_todense import Expected
from catad.linear.products import Shared, multiply, operations
from catad.linear.structure import Structure, apart, of_part
from catad.values.arrays import (
    Array,
    as_array,
    as_number,
    common_module,
    counted_in,
    in_blocks,
    is_stand_in,
    is_weak,
    kept,
    sealed,
)
from catad.values.dask_collection import HoldsArrays
from catad.values.trees import Tree


def as_slot(array: Any) -> Any:
    """The numbers that a caller gives for a map: wires, stand-ins, or arrays, of which no later write is seen."""
    return array if isinstance(array, Wire) or is_stand_in(array) else kept(as_array(array))


def linear_map(dom: Space, cod: Space, structure: Structure, slots: Sequence[Array], weak: bool = False) -> LinearMap:
    """The map with arrays that nobody writes into: those of other maps, or new ones, which become read-only."""
    made = object.__new__(LinearMap)
    made.dom, made.cod, made.structure, made._slots, made.weak = dom, cod, structure, tuple(sealed(slots)), weak
    return made


def expected_map(dom: Space, cod: Space, structure: Structure, expected: Expected) -> LinearMap:
    """The map of which first of all the array is expected; its own arrays are made if they are wanted."""
    made = object.__new__(LinearMap)
    made.dom, made.cod, made.structure, made._slots, made.weak, made.expected = dom, cod, structure, expected, False, expected
    return made


class LinearMap(Operator, HoldsArrays):
    """A linear map between two spaces, kept by its structure.

    >>> import catad as ct, numpy as np
    >>> L = ct.scale(np.array([1.0, 2.0, 3.0]))
    >>> L
    diagonal f64[3] -> f64[3], stored 3, dense 9
    >>> L(np.ones(3))
    array([1., 2., 3.])
    >>> (L @ L.T).todense()
    array([[1., 0., 0.],
           [0., 4., 0.],
           [0., 0., 9.]])

    The arrays are copied, unless they own their memory and are read-only; `slots` are read-only.
    """

    __slots__ = ("__weakref__", "_slots", "_trees", "cod", "dom", "expected", "structure", "weak")
    __array_ufunc__ = None
    _slots: tuple[Array, ...] | Expected
    expected: Expected  # of a Jacobian, until it has been written out

    def __init__(self, dom: Space, cod: Space, structure: Structure, slots: Sequence[Array], weak: bool = False) -> None:
        self.dom, self.cod, self.structure, self._slots = dom, cod, structure, tuple(map(as_slot, slots))
        self.weak = weak  # made from a Python number: takes its dtype from the context

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        """What is copied and pickled: all but what a call notes of its maps."""
        names = ("_trees", "cod", "dom", "structure", "weak")
        return None, {"_slots": self.slots} | {name: getattr(self, name) for name in names if hasattr(self, name)}

    @property
    def slots(self) -> Sequence[Array]:
        """The arrays that fill the structure."""
        if type(self._slots) is Expected:
            self._slots = tuple(sealed(self._slots.slots(len(self.structure.slots))))
        return self._slots  # type: ignore[return-value]

    # -- apply

    def __call__(self, x: Value) -> Result:
        """The image of a value of the domain."""
        leaves = flatten(x)
        if any(isinstance(leaf, Wire) for leaf in (*leaves, *self.slots)):
            laid: Result = self._applied_to_wires(x)
            return laid
        if any(is_stand_in(leaf) for leaf in (*leaves, *self.slots)):
            return self._applied_to_stand_ins(leaves, x)
        found = self._argument(leaves)
        if found is None:
            if self.weak and len(leaves) == 1 and getattr(leaves[0], "dtype", np.dtype(int)).kind == "f":
                return self._retyped(leaves[0].dtype)(x)
            raise errors.SpaceError(errors.not_in_domain(space_of(x), self.dom, self))
        xp = common_module([*found, *self.slots])
        value: Result = rebuild(self.cod, upward.run_structure(self.structure, xp, self.slots, found))
        return value

    def _applied_to_stand_ins(self, leaves: list[Any], x: Value) -> Result:
        from catad.linear.applied import MapApplied

        given = self.leaves_of(x)
        if given is None and self.weak and len(leaves) == 1 and leaves[0].dtype.kind == "f":
            retyped: Result = self._retyped(leaves[0].dtype)(x)
            return retyped
        if given is None:
            raise errors.SpaceError(errors.not_in_domain(x, self.dom, self))
        trace = next(leaf.trace_ for leaf in (*given, *self.slots) if is_stand_in(leaf))
        made = upward.apply_term(trace, MapApplied(self.structure), (*self.slots, *given))
        value: Result = rebuild(self.cod, flatten(made))
        return value

    def leaves_of(self, x: Any) -> list[Any] | None:
        """The leaves of a value of the domain that has wires or stand-ins among them; None where it does not lie there."""
        leaves, spaces = flatten(x), self.dom.leaves
        if len(leaves) != len(spaces):
            return None
        made = [as_number(np, leaf, s.dtype) if is_weak(leaf) else leaf for leaf, s in zip(leaves, spaces, strict=True)]
        made = [leaf if isinstance(leaf, Wire) or is_stand_in(leaf) else as_array(leaf) for leaf in made]
        fits = all(leaf.dtype == s.dtype and leaf.shape == s.shape for leaf, s in zip(made, spaces, strict=True))
        return made if fits else None

    def _argument(self, leaves: list[Any]) -> list[Any] | None:
        """The leaves as arrays of the domain, Python numbers in the dtypes that it has; None where they do not lie in it."""
        spaces = self.dom.leaves
        if len(leaves) != len(spaces):
            return None
        given = [x if is_weak(x) else counted_in(as_array(x), s.dtype) for x, s in zip(leaves, spaces, strict=True)]
        xp = common_module([leaf for leaf in given if not is_weak(leaf)] or self.slots)
        made = [as_number(xp, leaf, s.dtype) if is_weak(leaf) else leaf for leaf, s in zip(given, spaces, strict=True)]
        fits = all(leaf.dtype == s.dtype and leaf.shape == s.shape for leaf, s in zip(made, spaces, strict=True))
        return made if fits else None

    def _applied_to_wires(self, x: Value) -> Value:
        b = next(leaf.builder for leaf in (*flatten(x), *self.slots) if isinstance(leaf, Wire))
        xs = flatten(b.wires(x))
        if self.weak and xs[0].space != self.dom:
            return self._retyped(xs[0].dtype)(x)
        slots = flatten(b.wires(tuple(self.slots)))

        outs = self.structure.apply(b, slots, xs)
        return rebuild(self.cod, [zeros(b, s) if y is None else y for y, s in zip(outs, self.cod.leaves, strict=True)])

    def _retyped(self, dtype: np.dtype[Any]) -> LinearMap:
        assert isinstance(self.dom, Tensor)
        from catad.linear.constructors import scale

        return scale(np.asarray(self.slots[0], dtype=dtype))

    def _weak_multiple(self, number: float) -> LinearMap:
        from catad.linear.constructors import scale

        return scale(number * float(self.slots[0]))

    # -- what it is

    @property
    def T(self) -> LinearMap:
        """The transpose (adjoint); the numbers are shared."""
        made = linear_map(self.cod, self.dom, self.structure.T, self.slots, self.weak)
        made.trees = None if self.trees is None else (self.trees[1], self.trees[0])
        return made

    def persist(self) -> LinearMap:
        """The map with its coefficients in chunks held in memory, or on the workers, as by `dask.persist`: each use reads them.

        Without it each result that is computed computes the coefficients, too. A map of other arrays is returned as it is.

        >>> import catad as ct, numpy as np
        >>> y, L = ct.linearize(ct.sin, ct.testing.in_chunks(np.zeros(5), 2))
        >>> L.persist().T(np.ones(5)).numpy()
        array([1., 1., 1., 1., 1.])
        """
        xp = common_module(self.slots)
        return self._holding(xp.persisted(self.slots)) if in_blocks(xp) else self

    def compute(self) -> LinearMap:
        """The map with its coefficients in chunks computed, as arrays without chunks: it can be solved and written out.

        A map of other arrays is returned as it is.

        >>> import catad as ct, numpy as np
        >>> y, L = ct.linearize(ct.square, ct.testing.in_chunks(np.ones(3), 2))
        >>> L.compute().solve(np.ones(3))
        array([0.5, 0.5, 0.5])
        """
        xp = common_module(self.slots)
        return self._holding(xp.computed(self.slots)) if in_blocks(xp) else self

    def _held(self) -> Sequence[Array]:
        return () if type(self._slots) is Expected else self.slots  # an expected Jacobian is of arrays without chunks

    def _holding(self, slots: Sequence[Array]) -> LinearMap:
        made = linear_map(self.dom, self.cod, self.structure, slots, self.weak)
        made.trees = self.trees
        return made

    @property
    def trees(self) -> tuple[Tree, Tree] | None:
        """The trees in which values of the domain and of the codomain were given; None where they are arrays in tuples."""
        return getattr(self, "_trees", None)

    @trees.setter
    def trees(self, trees: tuple[Tree, Tree] | None) -> None:
        self._trees = trees

    def blocks(self) -> Any:
        """The blocks by arrays: a tuple or tree like the codomain, of tuples or trees like the domain, of linear maps.

        The Jacobian of a function of dicts has dicts: `J.blocks()["y"]["w"]` maps tangents of the argument's "w" to those of the
        result's "y". Integers have `()`.

        >>> import catad as ct, numpy as np
        >>> J = ct.jacobian(ct.fork(ct.mul, ct.exl))(np.ones(3), np.ones(3))
        >>> J.blocks()[0][1], J.blocks()[1][1].kind
        (diagonal f64[3] -> f64[3], stored 3, dense 9, 'zero')
        """
        dom, cod = self.trees or (None, None)
        lines = []
        for row in range(len(self.cod.leaves)):
            line = rebuild(self.dom, [block_of(self, row, column) for column in range(len(self.dom.leaves))])
            lines.append(line if dom is None else dom.restore(line))
        made = rebuild(self.cod, lines)
        return made if cod is None else cod.restore(made)

    @property
    def kind(self) -> str:
        """A short name of the structure: "diagonal", "dense", "recurrence", ..."""
        return self.structure.kind

    @property
    def nnz(self) -> int:
        """Entries that are not zero by structure (dimensionless); an upper bound for chains and sums."""
        return self.structure.nnz

    @property
    def stored(self) -> int:
        """The number of numbers that the map keeps (dimensionless)."""
        return self.structure.stored

    def __repr__(self) -> str:
        dense = self.structure.rows * self.structure.columns
        spaces = f"{self.dom!r} -> {self.cod!r}".replace("ct.", "")
        return f"{self.kind} {spaces}, stored {_count(self.stored)}, dense {_count(dense)}"

    def _repr_html_(self) -> str:
        return upward.map_page(self)

    def _repr_svg_(self) -> str:
        return upward.pattern(self, caption=True)

    # -- algebra

    def __rshift__(self, other: LinearMap) -> LinearMap:
        """First this map, then the other."""
        if not isinstance(other, LinearMap):
            return NotImplemented
        first, second = _meeting(self, other)
        shared = _shared(first, second)
        if not operations(first.structure, second.structure, shared) and (
            product := multiply(first.structure, second.structure, shared)
        ):
            wires = [_source(s.side, s.index, first, second) for s in product.sources]
            if all(w is not None for w in wires):
                return linear_map(first.dom, second.cod, product.structure, wires)
        both = chain(apart(first.structure, second.structure))
        return linear_map(first.dom, second.cod, both, (*first.slots, *second.slots))

    @overload
    def __matmul__(self, other: LinearMap) -> LinearMap: ...
    @overload
    def __matmul__(self, other: Value) -> Result: ...
    def __matmul__(self, other: Any) -> Any:
        """The matrix product: `L @ M` is first M, then L; `L @ x` applies the map to a value or an array.

        An array of the shape of the domain is a value, and so is a tuple: `L @ x` is `L(x)`. Other arrays are about flattened
        vectors: one axis of `L.shape[1]` numbers is one, as `matvec` takes it, and two axes are columns, as `matmat` takes them.
        A sparse matrix is the map that it is. Raises `SpaceError` for what does not meet the map.

        >>> import catad as ct, numpy as np
        >>> L = ct.scale(np.array([[1.0, 2.0], [3.0, 4.0]]))
        >>> L @ np.ones((2, 2)), L @ np.ones(4)
        (array([[1., 2.],
               [3., 4.]]), array([1., 2., 3., 4.]))
        """
        if isinstance(other, np.ndarray):
            return times(self, other)
        if isinstance(other, LinearMap):
            return other >> self
        if isinstance(other, D):
            raise errors.SpaceError(errors.matmul_of_morphisms(self, other))
        return _of_sparse(other) >> self if _is_sparse(other) else times(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        """`x @ L`: a value of the codomain or a flattened vector gives `L.T @ x`, rows of a matrix give rows."""
        return self >> _of_sparse(other) if _is_sparse(other) else from_left(other, self)

    def __getitem__(self, key: Any) -> NoReturn:
        raise errors.SpaceError(errors.entries_of_a_map(self))

    __iter__ = None

    def __add__(self, other: LinearMap) -> LinearMap:
        """The sum of two maps between the same spaces."""
        if not isinstance(other, LinearMap):
            return self._no_sum(other)
        if self.dom != other.dom or self.cod != other.cod:
            raise errors.SpaceError(errors.sum_of_unequal_spaces(self, other))
        both = total(apart(self.structure, other.structure))
        return linear_map(self.dom, self.cod, both, (*self.slots, *other.slots))

    def __radd__(self, other: Any) -> LinearMap:
        """`0 + L`, with which `sum([L, M])` begins."""
        return self if type(other) is int and other == 0 else self._no_sum(other)

    def _no_sum(self, other: Any) -> Any:
        if isinstance(other, (np.ndarray, np.generic)) or _is_sparse(other):
            raise errors.SpaceError(errors.sum_of_map_and_array(self, other))
        return NotImplemented

    def __neg__(self) -> LinearMap:
        return -1.0 * self

    def __sub__(self, other: LinearMap) -> LinearMap:
        return self + (-other) if isinstance(other, LinearMap) else self._no_sum(other)

    def __rsub__(self, other: Any) -> Any:
        return self._no_sum(other)

    def __rmul__(self, number: float) -> LinearMap:
        """A multiple; the dtype of the map stays."""
        if isinstance(number, bool) or not isinstance(number, (int, float, np.number)) or isinstance(number, np.complexfloating):
            return NotImplemented
        if self.weak:
            return self._weak_multiple(float(number))
        return self >> linear_map(self.cod, self.cod, _factors(self.cod.leaves, float(number)), ())

    __mul__ = __rmul__

    def __truediv__(self, number: float) -> LinearMap:
        """The multiple by `1 / number`. Raises `ArgumentError` where that is not finite."""
        if isinstance(number, bool) or not isinstance(number, (int, float, np.number)) or isinstance(number, np.complexfloating):
            return NotImplemented
        divisor = float(number)
        if divisor == 0.0 or not math.isfinite(1.0 / divisor):
            raise errors.ArgumentError(errors.no_reciprocal(number, self))
        return (1.0 / divisor) * self

    def __pow__(self, count: int) -> LinearMap:
        """The map applied `count` times; `L ** 0` is the identity.

        >>> import catad as ct, numpy as np
        >>> (ct.scale(np.array([2.0, 3.0])) ** 2)(np.ones(2))
        array([4., 9.])
        """
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)):
            return NotImplemented
        if self.dom != self.cod:
            raise errors.SpaceError(errors.power_of_other_spaces(self))
        if count < 0:
            raise errors.ArgumentError(errors.negative_power(count))
        from catad.linear.constructors import identity

        power: LinearMap = identity(self.dom)
        for _ in range(count):
            power = power >> self
        return power

    def __or__(self, other: LinearMap) -> LinearMap:
        from catad.linear.constructors import join

        return join(self, other)

    def multiply(self, other: LinearMap) -> LinearMap:
        """`self @ other` multiplied out at once where the families have a product, at whatever cost."""
        first, second = _meeting(other, self)
        product = multiply(first.structure, second.structure, _shared(first, second))
        if product is None:
            return first >> second
        slots = upward.run_product(product, first, second)
        return linear_map(first.dom, second.cod, product.structure, slots)


def block_of(L: LinearMap, row: int, column: int) -> LinearMap:
    """The map from one leaf of the domain to one leaf of the codomain."""
    dom, cod = L.dom.leaves[column], L.cod.leaves[row]
    cells = L.structure.leafwise
    if cells is not None:
        part = cells[row][column]
        if part is None:
            return linear_map(dom, cod, Zero((dom,), (cod,)), ())
        return linear_map(dom, cod, part[0], of_part(L.slots, part))
    into = linear_map(dom, L.dom, _injection(L.dom.leaves, column), ())
    out = linear_map(L.cod, cod, _injection(L.cod.leaves, row).T, ())
    return out.multiply(L).multiply(into)


def _injection(leaves: Sequence[Tensor], k: int) -> Structure:
    """The map of one leaf into a product, zero in the others."""
    grid = tuple([((identity(leaf), ()),) if i == k else (None,) for i, leaf in enumerate(leaves)])
    return Block(grid, (leaves[k],), tuple(leaves), ())


def _count(n: int) -> str:
    """A count for people: 1e6 rather than 1000000."""
    if n < 100_000:
        return str(n)
    digits = f"{n:.3g}".replace("e+0", "e").replace("e+", "e")
    return digits if "e" in digits else f"{n:.0e}".replace("e+0", "e").replace("e+", "e")


def _is_sparse(thing: Any) -> bool:
    return hasattr(thing, "tocoo") and not isinstance(thing, LinearMap)


def _of_sparse(matrix: Any) -> LinearMap:
    from catad.linear.constructors import sparse

    return sparse(matrix)


def _factors(leaves: Sequence[Tensor], factor: float) -> Structure:
    return diagonal_block([replace(identity(leaf), factor=factor) for leaf in leaves])


def _meeting(first: LinearMap, second: LinearMap) -> tuple[LinearMap, LinearMap]:
    """The two maps, one that was made from a Python number retyped for the other; their spaces must meet."""
    if first.cod == second.dom:
        return first, second
    if first.weak and isinstance(second.dom, Tensor) and second.dom.is_float and second.dom.shape == ():
        return first._retyped(second.dom.dtype), second
    if second.weak and isinstance(first.cod, Tensor) and first.cod.is_float and first.cod.shape == ():
        return first, second._retyped(first.cod.dtype)
    raise errors.SpaceError(errors.spaces_do_not_meet(first.cod, second.dom, first, second))


def _shared(first: LinearMap, second: LinearMap) -> Shared:
    """The pairs of slots of two maps that are the same array."""
    return frozenset((i, j) for i, a in enumerate(first.slots) for j, c in enumerate(second.slots) if a is c)


def _source(side: str, index: int, first: LinearMap, second: LinearMap) -> Any:
    return first.slots[index] if side == "left" else second.slots[index] if side == "right" else None
