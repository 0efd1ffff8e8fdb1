"""`ct.cubic_spline`: the spline through given points as a morphism; its slopes are the solution of a tridiagonal system."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.cartesian import in_pattern
from catad.category.constructors import constructor, integer
from catad.category.terms import D
from catad.traced.function import function
from catad.traced.names.calculus.splines import cubic_spline as spline_through
from catad.traced.recorder import the_trace
from catad.vector.deferred import Shaped

if TYPE_CHECKING:
    from catad.category.wiring import Builder

_KINDS = ("not-a-knot", "natural", "clamped", "periodic")
End = str | tuple[int, float]


def _lay(b: Builder, x: Any, term: Any) -> Any:
    points, values, at = in_pattern(b, x, "(x, y, t)", 3, term)
    bc_type, nu, extrapolate = (term.parameters[key] for key in ("bc_type", "nu", "extrapolate"))

    def spline(x: Any, y: Any, t: Any) -> Any:
        ends = bc_type if isinstance(bc_type, str) else tuple([_of_shape(end, y.shape[1:]) for end in bc_type])
        return spline_through(the_trace(), x, y, bc_type=ends, extrapolate=extrapolate)(t, nu)

    try:
        return b.apply(function(spline), (points, values, at))
    except ValueError as error:
        raise errors.SpaceError(errors.no_spline(str(error), b.space(x), term)) from None


def _of_shape(end: Any, shape: tuple[int, ...]) -> Any:
    """A condition at an end, the same for all values at a point."""
    return end if isinstance(end, str) else (end[0], np.full(shape, end[1]))


@constructor()
def cubic_spline(bc_type: str | tuple[End, End] = "not-a-knot", nu: int = 0, extrapolate: bool | str | None = None) -> D:
    """Maps `(x, y, t)` to the values at t of the cubic spline through the points (x, y), as `scipy.interpolate.CubicSpline`.

    `bc_type` is "not-a-knot", "natural", "clamped", "periodic", or a pair of conditions for the two ends: a name, or (1, slope)
    or (2, second derivative). `nu` is the order of a derivative. Where `extrapolate` is False, there is NaN outside the points;
    "periodic" repeats the spline, which None means for a periodic one, and else goes on with the last polynomial.

    Shapes: x (n,), with n of at least 2; y (n, ...); t of any shape, which the result has in place of n. Dtype: float64.
    Derivative: by x, y and t, of any order; a tridiagonal solve, so all is of linear cost. Points that do not increase, and
    numbers that are not finite, give NaN. Raises `SpaceError` for shapes that do not fit, `ArgumentError` for parameters that are
    none of these. Source: C. de Boor, A Practical Guide to Splines, 1978.

    >>> import catad as ct, numpy as np
    >>> x = np.linspace(0.0, 2.0, 5)
    >>> ct.cubic_spline()(x, x**3, np.array([0.3, 1.1])).round(6), ct.cubic_spline(nu=1)(x, x**3, 1.0).round(6)
    (array([0.027, 1.331]), np.float64(3.0))
    """
    parts = tuple(bc_type) if isinstance(bc_type, (tuple, list)) else (bc_type,)
    if not (parts in [(kind,) for kind in _KINDS] or (len(parts) == 2 and all(map(_is_end, parts)))):
        raise errors.ArgumentError(errors.no_end_conditions(bc_type, _KINDS))
    if extrapolate not in (None, True, False, "periodic"):
        raise errors.ArgumentError(errors.no_extrapolation(extrapolate))
    ends = bc_type if isinstance(bc_type, str) else parts
    return Shaped(cubic_spline, _lay, bc_type=ends, nu=integer(nu, "an order of a derivative", 0), extrapolate=extrapolate)


def _is_end(end: Any) -> bool:
    """Whether this is a condition at one end."""
    if isinstance(end, str):
        return end in _KINDS[:3]
    return isinstance(end, (tuple, list)) and len(end) == 2 and end[0] in (1, 2) and isinstance(end[1], (int, float))
