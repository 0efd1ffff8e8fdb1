"""Inverses of linear maps as linear maps, and solving with maps whose numbers are wires or stand-ins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from catad import errors, upward
from catad.category.boxes import of_fields
from catad.category.spaces import Product, Tensor, flatten, rebuild
from catad.category.terms import D
from catad.category.wiring import Builder, Wire
from catad.linear.families.contract import zeros
from catad.linear.families.inverses import inverse_of
from catad.linear.families.ordered_inverse import Inverted
from catad.linear.map import LinearMap
from catad.linear.structure import Structure
from catad.support.lru import remembered
from catad.values.arrays import common_module, is_stand_in

if TYPE_CHECKING:
    from catad.category.wiring import Wires

_inverted: Callable[[Structure, float | None], Inverted] = remembered(inverse_of)


def _square(linear: LinearMap) -> None:
    rows, columns = linear.shape
    if rows != columns:
        raise errors.SolveError(errors.not_square(linear, rows, columns))


@of_fields
class SlotsOfInverse(D):
    """The slots of a map to those of its inverse."""

    of: Structure

    def lay_out(self, b: Builder, x: Wires) -> Any:
        return tuple(_inverted(self.of, None).slots(b, flatten(x)))


@of_fields
class SolvedWith(D):
    """Slots of a map and leaves of a right-hand side to the leaves of the solution; `rtol` as of `LinearMap.solve`."""

    of: Structure
    rtol: float | None

    def lay_out(self, b: Builder, x: Wires) -> Any:
        leaves, n = flatten(x), len(self.of.slots)
        found = _inverted(self.of, self.rtol)
        made = found.structure.apply(b, found.slots(b, leaves[:n]), leaves[n:])
        return tuple([zeros(b, space) if y is None else y for y, space in zip(made, self.of.dom, strict=True)])


def _applied(term: D, args: Sequence[Any]) -> list[Any]:
    """The leaves of a term's results at wires, stand-ins and arrays."""
    for leaf in args:
        if isinstance(leaf, Wire):
            return flatten(leaf.builder.apply(term, leaf.builder.wires(tuple(args))))
    for leaf in args:
        if is_stand_in(leaf):
            return flatten(upward.apply_term(leaf.trace_, term, tuple(args)))
    xp = common_module(args)
    b = Builder()
    wires = tuple([b.wire(Tensor(array.shape, array.dtype)) for array in args])
    outs = flatten(b.apply(term, wires))
    made = upward.Program(b.finish(Product(tuple([wire.space for wire in wires])), wires, tuple(outs))).inside(xp, list(args))
    return list(made)


def inverse(L: LinearMap) -> LinearMap:
    """The inverse of a square map, as a map that keeps structure: its products are solutions, and it is transposed and composed.

    Diagonals and permutations stay what they are. A dense array, blocks of one and bands are factorised once, when the inverse is
    made; all its products, derivatives and those of its transpose use these factors. Chains are inverted factor by factor, and a
    map plus another one through few numbers by Woodbury's identity. Other maps are solved as `L.solver` says.

    Its numbers may be wires, in `ct.D` and in derivatives of primitives, or arrays of a function that is traced; then it is
    differentiated by them, to any order. Spaces: its domain is the codomain of the map, and the other way round. Raises
    `SpaceError` for an argument that is no linear map, `SolveError`, a `numpy.linalg.LinAlgError`, for a map that is not square,
    and for a singular one where it is factorised or applied. Source: M. Woodbury, *Inverting modified matrices*, 1950.

    >>> import catad as ct, numpy as np
    >>> ct.linear.inverse(ct.scale(np.array([2.0, 4.0])))(np.ones(2))
    array([0.5 , 0.25])
    >>> M = ct.linear.inverse(ct.linear.cumulative_sum(ct.f64[3]))
    >>> M, M.T(np.ones(3))
    (inverse recurrence f64[3] -> f64[3], stored 0, dense 9, array([0., 0., 1.]))
    """
    if not isinstance(L, LinearMap):
        raise errors.SpaceError(errors.not_a_linear_map(L))
    _square(L)
    found = _inverted(L.structure, None)
    slots = _applied(SlotsOfInverse(L.structure), L.slots) if found.structure.slots else []
    return LinearMap(L.cod, L.dom, found.structure, slots)


def solve(linear: LinearMap, b: Any, rtol: float | None) -> Any:
    """`LinearMap.solve` where the map or the right-hand side has wires or stand-ins."""
    _square(linear)
    leaves = linear.T.leaves_of(b)
    if leaves is None:
        raise errors.SpaceError(errors.not_in_codomain(b, linear.cod, linear))
    return rebuild(linear.dom, _applied(SolvedWith(linear.structure, rtol), [*linear.slots, *leaves]))
