"""The parts of the strategy `linear_maps`: a table of families on one tensor, and the ways to combine maps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from catad.category.cartesian import exr, fork
from catad.category.spaces import Product, Space, Tensor
from catad.category.terms import D, identity
from catad.jacobians.at_point import linearize
from catad.linear import constructors as make
from catad.linear.map import LinearMap
from catad.linear.solving.before_numbers import inverse
from catad.testing.matrices import MATRICES
from catad.testing.strategies import array, hypothesis, point
from catad.testing.vocabulary import Style, term
from catad.vector.pointwise.map import map as pointwise
from catad.vector.shapes.shape import broadcast_to, flip, pad, reshape, transpose
from catad.vector.shapes.shape import slice as slice_
from catad.vector.shapes.shape import sum as sum_

Family = Callable[[Any, Tensor, bool], LinearMap]


def _at_zero(term_: D) -> Family:
    """The family of a linear term: its derivative anywhere."""
    return lambda draw, t, exact: linearize(term_, np.zeros(t.shape, t.dtype))[1]


def _axis_index(draw: Any, bins: int, count: int) -> Any:
    """Indices into an axis, among them ones out of range on either side."""
    st = hypothesis("linear_maps")
    return np.array(draw(st.lists(st.integers(-1, bins), min_size=count, max_size=count)), np.int64)


def _batched(draw: Any, t: Tensor, exact: bool) -> LinearMap:
    """A hand-written map over a leading axis, so that its structure is batched."""
    square = D(lambda x: (x * x, make.scale(2.0 * x)))
    return linearize(pointwise(square), array(draw, t.shape, t.dtype, exact))[1]


def _powers(draw: Any, t: Tensor) -> Any:
    """Powers of 2, whose reciprocals are exact, of either sign."""
    return np.where(array(draw, t.shape, t.dtype, True) < 0, -0.5, 2.0).astype(t.dtype)


def _inverse(draw: Any, t: Tensor, exact: bool) -> LinearMap:
    """The inverse of an array; an exact one is that of a triangle of -1, 0 and 1, whose rows no pivot exchanges."""
    n = t.size
    entries = array(draw, (n, n), t.dtype, exact)
    a = np.triu(np.sign(entries), 1) + np.eye(n) if exact else MATRICES["general"](entries)
    return inverse(make.dense(np.reshape(a, t.shape * 2).astype(t.dtype), t))


_DOUBLE = exr >> 2.0 * identity
ANYWHERE: dict[str, Family] = {
    "identity": lambda draw, t, exact: make.identity(t),
    "zero": lambda draw, t, exact: make.zero(t, Tensor((2,), t.dtype)),
    "scale": lambda draw, t, exact: make.scale(array(draw, t.shape, t.dtype, exact)),
    "dense": lambda draw, t, exact: make.dense(array(draw, (2, *t.shape), t.dtype, exact), t),
    "dense to a scalar": lambda draw, t, exact: make.dense(array(draw, t.shape, t.dtype, exact), t),
    "outer": lambda draw, t, exact: make.outer(array(draw, (3,), t.dtype, exact), array(draw, t.shape, t.dtype, exact)),
    "multiple": lambda draw, t, exact: -2.0 * make.identity(t),
    "matrix_free": lambda draw, t, exact: make.matrix_free(_DOUBLE, _DOUBLE, t, t),
    "inverse": _inverse,
    "inverse of a diagonal": lambda draw, t, exact: inverse(make.scale(_powers(draw, t))),
    "inl": lambda draw, t, exact: make.inl(t, Tensor((2,), t.dtype)),
    "inr": lambda draw, t, exact: make.inr(Tensor((2,), t.dtype), t),
    "broadcast": _at_zero(fork(identity, identity)),
    "reshape": _at_zero(reshape((-1,))),
}
WITH_AXIS: dict[str, Family] = {
    "gather": lambda draw, t, exact: make.gather(_axis_index(draw, t.shape[0], 3), t),
    "scatter_add": lambda draw, t, exact: make.scatter_add(_axis_index(draw, 2, t.shape[0]), Tensor((2, *t.shape[1:]), t.dtype)),
    "recurrence": lambda draw, t, exact: make.recurrence(array(draw, t.shape, t.dtype, exact)),
    "recurrence, reverse": lambda draw, t, exact: make.recurrence(array(draw, t.shape, t.dtype, exact), reverse=True),
    "cumulative_sum": lambda draw, t, exact: make.cumulative_sum(t),
    "cumulative_sum, reverse": lambda draw, t, exact: make.cumulative_sum(t, reverse=True),
    "batched": _batched,
    "sum": _at_zero(sum_(axis=0)),
    "replicate": lambda draw, t, exact: _at_zero(broadcast_to((2, *t.shape)))(draw, t, exact),
    "flip": _at_zero(flip()),
    "slice": _at_zero(slice_(None, None, -2)),
    "pad": _at_zero(pad(2, 1)),
    "transposition": _at_zero(transpose()),
}


def _derivative(draw: Any, space: Space, exact: bool) -> LinearMap:
    """The derivative of a drawn term at a drawn point: a network, not multiplied out."""
    return linearize(term(draw, space, Style(exact, True), 3), point(draw, space, exact))[1]


def linear_map(draw: Any, space: Space, exact: bool, depth: int) -> LinearMap:
    """A linear map from a space."""
    st = hypothesis("linear_maps")
    if isinstance(space, Tensor) and (depth == 0 or draw(st.booleans())):
        table = ANYWHERE | (WITH_AXIS if space.ndim and 0 not in space.shape else {})
        return table[draw(st.sampled_from(sorted(table)))](draw, space, exact)
    how = draw(st.sampled_from(["derivative", "product", *(COMBINED if depth else ())]))
    if how == "derivative":
        return _derivative(draw, space, exact)
    if how == "product":
        return _of_product(draw, space, exact, depth)
    return combined(COMBINED[how], draw, space, exact, depth - 1)


def _of_product(draw: Any, space: Space, exact: bool, depth: int) -> LinearMap:
    """Maps from the factors of a product, side by side."""
    if isinstance(space, Tensor):
        return linear_map(draw, space, exact, 0)
    assert isinstance(space, Product)
    if not space.factors:
        return make.identity(space)
    return make.cross(*[linear_map(draw, factor, exact, depth) for factor in space.factors])


More = Callable[[Space], LinearMap]  # draws another map from a space
Combine = Callable[[LinearMap, More], LinearMap]
COMBINED: dict[str, Combine] = {
    "chain": lambda L, more: L >> more(L.cod),
    "multiplied": lambda L, more: more(L.cod).multiply(L),
    "sum": lambda L, more: L + (L >> (2.0 * make.identity(L.cod))),
    "fork": lambda L, more: make.fork(L, more(L.dom)),
    "fork and join": lambda L, more: _there_in_two_ways(L, more(L.cod)),
    "there and back": lambda L, more: L >> L.T,
    "jam": lambda L, more: make.fork(L, L) >> make.jam(L.cod),
}
WIDENING: dict[str, Combine] = {  # their domain is more than the space
    "join": lambda L, more: L | more(L.cod).T,  # the second is a transpose, since it is its codomain that is given
    "cross": lambda L, more: make.cross(L, more(L.dom).T),
    "block": lambda L, more: _block(L, more(L.dom)),
}


def _there_in_two_ways(L: LinearMap, N: LinearMap) -> LinearMap:
    return make.fork(L, L >> N) >> make.join(make.identity(L.cod), N.T)


def _block(L: LinearMap, M: LinearMap) -> LinearMap:
    return make.block([[L, make.zero(L.dom, L.cod)], [M, 2.0 * M]], Product((L.dom, L.dom)), Product((L.cod, M.cod)))


def combined(combine: Combine, draw: Any, space: Space, exact: bool, depth: int) -> LinearMap:
    """A drawn map from a space, combined with others."""

    def more(dom: Space) -> LinearMap:
        return linear_map(draw, dom, exact, depth)

    return combine(more(space), more)


def any_linear_map(draw: Any, space: Space, exact: bool, depth: int) -> LinearMap:
    """A linear map from a space, from products that contain it, or to it."""
    st = hypothesis("linear_maps")
    how = draw(st.sampled_from(["from", "to", *WIDENING]))
    if how in WIDENING:
        return combined(WIDENING[how], draw, space, exact, max(0, depth - 1))
    linear = linear_map(draw, space, exact, depth)
    return linear.T if how == "to" else linear
