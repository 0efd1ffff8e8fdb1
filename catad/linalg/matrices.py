"""Arguments of linear algebra: stacks of square matrices, right-hand sides, leading axes that broadcast."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors, scalar
from catad.category.constant import const
from catad.linalg.pairs import Array, Pair, as_pair, columns, conjugate, of_columns, on_parts, real_form
from catad.linear.families.contract import contract, zeros
from catad.linear.families.reindex import reshaped
from catad.linear.structure import cast, widest
from catad.scalar import apply, param
from catad.support.help import documented
from catad.vector.deferred import Named
from catad.vector.folds.moments import floating, of_wires
from catad.vector.shapes.shape import broadcast_to

if TYPE_CHECKING:
    from catad.category.terms import D
    from catad.category.wiring import Builder, Wire


def matrices(b: Builder, x: Any, term: D) -> Any:
    """An argument as a stack of matrices of floats, complex ones as a `Pair`; raises `SpaceError`."""
    made = as_pair(b, x, term) if isinstance(x, tuple) else floating(x)
    if made.ndim < 2:
        raise errors.SpaceError(errors.no_matrices(made.space, term))
    return made


def square(b: Builder, x: Any, term: D) -> Any:
    """An argument as a stack of square matrices of floats, complex ones as a `Pair`; raises `SpaceError`."""
    made = matrices(b, x, term)
    if made.shape[-1] != made.shape[-2]:
        raise errors.SpaceError(errors.not_square_matrices(made.space, term))
    return made


def identity_like(b: Builder, a: Array) -> Array:
    """An identity matrix for each of a stack."""
    eye = spread(b, b.apply(const(np.eye(a.shape[-1], dtype=a.dtype)), ()), a.shape[:-2])
    return Pair(eye, zeros(b, eye.space)) if isinstance(a, Pair) else eye


def spread(b: Builder, a: Array, leading: tuple[int, ...]) -> Array:
    """A stack of matrices with these leading axes."""
    if isinstance(a, Pair):
        return on_parts(lambda part: spread(b, part, leading), a)
    shape = (*leading, *a.shape[-2:])
    return a if a.shape == shape else b.apply(broadcast_to(shape), a)


def triangle(b: Builder, a: Array, lower: bool, strict: bool = False) -> Array:
    """One half of each of a stack, with its diagonal unless `strict`; zeros elsewhere, whatever stands there."""
    if isinstance(a, Pair):
        return on_parts(lambda part: triangle(b, part, lower, strict), a)
    n = a.shape[-1]
    below = np.tri(n, k=-1 if strict == lower else 0, dtype=bool)
    mask = b.apply(const(below if lower else ~below), ())
    return of_wires(b, apply("select", param(1), param(0), scalar.const(0.0)), a, spread(b, mask, a.shape[:-2]))


def product(b: Builder, x: Array, y: Array) -> Array:
    """The matrix product of two stacks."""
    if not isinstance(x, Pair):
        return x @ y
    return Pair(x.re @ y.re - x.im @ y.im, x.re @ y.im + x.im @ y.re)


def swapped(b: Builder, a: Array) -> Array:
    """The transposes of a stack, conjugate of complex matrices."""
    axes = tuple(range(a.ndim))
    return conjugate(on_parts(lambda part: contract(b, [axes], [part], (*axes[:-2], axes[-1], axes[-2]), part.shape), a))


Solve = Callable[["Builder", "Wire", "Wire"], "Wire"]


def in_columns(b: Builder, a: Any, right: Any, term: D, solved: Solve) -> Any:
    """`solved(b, A, B)` as below; where A or B is complex, of the real form of A, and of both parts of B as columns."""
    if not isinstance(a, Pair) and not isinstance(right, Pair):
        return _in_real_columns(b, a, right, term, solved)
    a, right = as_pair(b, a, term), as_pair(b, right, term)
    check_sides(a, right, term)
    at = -1 if right.ndim == 1 else -2
    made = _in_real_columns(b, real_form(b, a), columns(b, right, right.ndim + at), term, solved)
    return of_columns(b, made, made.ndim + at)


def check_sides(a: Wire | Pair, right: Wire | Pair, term: D) -> None:
    """Raise `SpaceError` where the rows or the leading axes of both sides do not fit."""
    vector = right.ndim == 1
    try:
        fits = right.ndim > 0 and right.shape[-1 if vector else -2] == a.shape[-1]
        np.broadcast_shapes(a.shape[:-2], () if vector else right.shape[:-2])
    except ValueError:
        fits = False
    if not fits:
        raise errors.SpaceError(errors.right_hand_side(a.space, right.space, term))


def _in_real_columns(b: Builder, a: Wire, right: Wire, term: D, solved: Solve) -> Wire:
    """`solved(b, A, B)` for A (..., n, n) and B (..., n, k) or (..., n), of a right-hand side with NumPy's meaning.

    One with one axis is a vector, others are matrices whose leading axes broadcast. Where A has none, those of B become columns.
    A may be coefficients (..., w, n) of matrices.
    """
    dtype = widest(a.space, right.space)
    a, right = cast(a, dtype), cast(right, dtype)
    check_sides(a, right, term)
    n = a.shape[-1]
    if right.ndim == 1:
        return solved(b, a, right if a.ndim == 2 else b.apply(broadcast_to((*a.shape[:-2], n)), right))
    if a.ndim == 2 and right.ndim > 2:
        axes = tuple(range(right.ndim))
        order = (axes[-2], *axes[:-2], axes[-1])
        beside = contract(b, [axes], [right], order, right.shape)
        made = solved(b, a, reshaped(b, beside, (n, math.prod(beside.shape[1:]))))
        return contract(b, [order], [reshaped(b, made, beside.shape)], axes, right.shape)
    leading = np.broadcast_shapes(a.shape[:-2], right.shape[:-2])
    return solved(b, spread(b, a, leading), spread(b, right, leading))


def tolerance(given: Any, name: str, least: float = -math.inf) -> float | None:
    """A parameter that bounds singular values, or None; raises `ArgumentError`."""
    if given is None:
        return None
    if isinstance(given, (bool, np.bool_)) or not isinstance(given, (int, float, np.integer, np.floating)) or not given >= least:
        raise errors.ArgumentError(errors.no_bound(name, given, least))
    return float(given)


def of_one(name: str, lay: Callable[[Builder, Wire, D], Any], text: str) -> Named:
    """The morphism `ct.linalg.<name>` of a stack of square matrices, with its help."""
    return documented(Named(f"linalg.{name}", lambda b, x, term: lay(b, square(b, x, term), term)), text)
