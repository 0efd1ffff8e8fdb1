"""Arguments of linear algebra: stacks of square matrices, right-hand sides, leading axes that broadcast."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors, scalar
from catad.category.constant import const
from catad.linear.families.contract import contract
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


def matrices(b: Builder, x: Any, term: D) -> Wire:
    """An argument as a stack of matrices of floats; raises `SpaceError`."""
    if isinstance(x, tuple) or x.ndim < 2:
        raise errors.SpaceError(errors.no_matrices(b.space(x), term))
    return floating(x)


def square(b: Builder, x: Any, term: D) -> Wire:
    """An argument as a stack of square matrices of floats; raises `SpaceError`."""
    made = matrices(b, x, term)
    if made.shape[-1] != made.shape[-2]:
        raise errors.SpaceError(errors.not_square_matrices(made.space, term))
    return made


def identity_like(b: Builder, a: Wire) -> Wire:
    """An identity matrix for each of a stack."""
    return spread(b, b.apply(const(np.eye(a.shape[-1], dtype=a.dtype)), ()), a.shape[:-2])


def spread(b: Builder, a: Wire, leading: tuple[int, ...]) -> Wire:
    """A stack of matrices with these leading axes."""
    shape = (*leading, *a.shape[-2:])
    return a if a.shape == shape else b.apply(broadcast_to(shape), a)


def triangle(b: Builder, a: Wire, lower: bool, strict: bool = False) -> Wire:
    """One half of each of a stack, with its diagonal unless `strict`; zeros elsewhere, whatever stands there."""
    n = a.shape[-1]
    below = np.tri(n, k=-1 if strict == lower else 0, dtype=bool)
    mask = b.apply(const(below if lower else ~below), ())
    return of_wires(b, apply("select", param(1), param(0), scalar.const(0.0)), a, spread(b, mask, a.shape[:-2]))


def swapped(b: Builder, a: Wire) -> Wire:
    """The transposes of a stack."""
    axes = tuple(range(a.ndim))
    return contract(b, [axes], [a], (*axes[:-2], axes[-1], axes[-2]), a.shape)


def in_columns(
    b: Builder, a: Wire, right: Wire, term: D, solved: Callable[[Builder, Wire, Wire], Wire]
) -> Wire:
    """`solved(b, A, B)` for A (..., n, n) and B (..., n, k) or (..., n), of a right-hand side with NumPy's meaning.

    One with one axis is a vector, others are matrices whose leading axes broadcast. Where A has none, those of B become columns.
    A may be coefficients (..., w, n) of matrices.
    """
    dtype = widest(a.space, right.space)
    a, right = cast(a, dtype), cast(right, dtype)
    vector, n = right.ndim == 1, a.shape[-1]
    if right.ndim == 0 or right.shape[-1 if vector else -2] != n:
        raise errors.SpaceError(errors.right_hand_side(a.space, right.space, term))
    if vector:
        return solved(b, a, right if a.ndim == 2 else b.apply(broadcast_to((*a.shape[:-2], n)), right))
    if a.ndim == 2 and right.ndim > 2:
        axes = tuple(range(right.ndim))
        order = (axes[-2], *axes[:-2], axes[-1])
        beside = contract(b, [axes], [right], order, right.shape)
        made = solved(b, a, reshaped(b, beside, (n, math.prod(beside.shape[1:]))))
        return contract(b, [order], [reshaped(b, made, beside.shape)], axes, right.shape)
    try:
        leading = np.broadcast_shapes(a.shape[:-2], right.shape[:-2])
    except ValueError:
        raise errors.SpaceError(errors.right_hand_side(a.space, right.space, term)) from None
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
