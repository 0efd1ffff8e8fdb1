"""Central differences as they are compared with derivatives.

A difference of step h has the error h^2 f'''/6 + eps |f| / h; two steps, h and h/2, cancel the first term (L.
Richardson, 1911), which leaves h^4 and allows the step eps^(1/5). The differences of float32 terms are taken in float64
where the term can be evaluated there, so that the bound is the rounding of the derivative, not that of the differences.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from catad import errors
from catad.category.spaces import Value, flatten, rebuild, space_of
from catad.category.terms import D
from catad.testing.values import floats, largest, moved_by, unit_roundoff


class Slope(NamedTuple):
    """Differences along a direction, with what bounds their error."""

    value: Value  # in the tangent space of the codomain
    size: float  # of the numbers that were subtracted
    wide: bool  # taken in float64
    kinked: tuple[Any, ...]  # for each floating leaf, where the differences from both sides do not meet
    error: tuple[Any, ...]  # and how far off the value may be where both steps do not agree that it is not zero, else 0

    def allowed(self, tolerance: float | None = None) -> float:
        """The relative error that rounding and truncation explain."""
        if tolerance is not None:
            return tolerance
        eps = unit_roundoff(self.value)
        if not self.wide:
            return float(40 * eps**0.6)
        return 1e-8 if eps < 1e-10 else float(512 * eps)

    def at_kinks(self, other: Value) -> Value:
        """The differences, with the entries of another value where there is a kink or a NaN, or nothing but rounding."""
        both = zip(floats(self.value), floats(other), self.kinked, self.error, strict=True)
        with np.errstate(invalid="ignore"):
            taken = [(a, b, k | (np.abs(a - b) <= e)) for a, b, k, e in both]
        return _with_floats(self.value, [np.where(t, b, a).astype(a.dtype) for a, b, t in taken])


def slope(f: D, x: Value, v: Value, step: float | None = None) -> Slope:
    """The central difference of `f` at `x` along `v`."""
    y = f(x)
    wide_x, wide_v, wide = _widened(f, x, v, y)
    centre = f(wide_x)
    eps = unit_roundoff(wide_x, centre)
    h = (eps**0.2 if step is None else step) * max(1.0, largest(wide_x)) / max(1.0, largest(wide_v))
    coarse, coarse_gap, size = _central(f, wide_x, wide_v, h, centre)
    fine, gap, _ = _central(f, wide_x, wide_v, h / 2, centre)
    noise = 1e3 * eps / h * max(size, 1e-300)
    with np.errstate(all="ignore"):
        kinked = tuple([(b > 0.75 * a) & (b > noise) | ~np.isfinite(a) for a, b in zip(coarse_gap, gap, strict=True)])
        extrapolated = [(4.0 * a - b) / 3.0 for a, b in zip(fine, coarse, strict=True)]
        apart = [np.abs(a - b) for a, b in zip(fine, coarse, strict=True)]
        error = tuple([np.where(d > 0.25 * np.abs(a), 4.0 * d, 0.0) for d, a in zip(apart, fine, strict=True)])
    narrowed = [a.astype(leaf.dtype) for a, leaf in zip(extrapolated, floats(y), strict=True)]
    return Slope(_with_floats(y, narrowed), size, wide, kinked, error)


def _widened(f: D, x: Value, v: Value, y: Value) -> tuple[Value, Value, bool]:
    """The point and direction in float64, if the term gives float64 there."""
    if all(leaf.dtype == np.float64 for leaf in (*floats(x), *floats(y))):
        return x, v, True
    try:
        wide = [
            rebuild(space_of(z), [a.astype(np.float64) if a.dtype.kind == "f" else a for a in flatten(z)]) for z in (x, v)
        ]
        if all(leaf.dtype == np.float64 for leaf in floats(f(wide[0]))):
            return wide[0], wide[1], True
    except errors.CatadError:  # a term with one domain only, such as a lifted linear map
        pass
    return x, v, False


def _central(f: D, x: Value, v: Value, h: float, centre: Value) -> tuple[list[Any], list[Any], float]:
    """The differences, how far those from both sides are apart, and the size of what is subtracted."""
    ends = f(moved_by(x, h, v)), f(moved_by(x, -h, v))
    up, middle, down = floats(ends[0]), floats(centre), floats(ends[1])
    with np.errstate(all="ignore"):
        slopes = [_minus(a, b) / (2 * h) for a, b in zip(up, down, strict=True)]
        gaps = [np.abs(_minus(a, c) / h - _minus(c, b) / h) for a, b, c in zip(up, down, middle, strict=True)]
    return slopes, gaps, largest(centre, *ends)


def _minus(a: Any, b: Any) -> Any:
    """The difference, 0 between equal infinities: an entry may be constant and infinite."""
    return np.where(a == b, 0.0, a - b)


def _with_floats(y: Value, leaves: list[Any]) -> Value:
    """A value of the tangent space at `y`."""
    it, space = iter(leaves), space_of(y)
    return rebuild(space, [next(it) if leaf.is_float else () for leaf in space.leaves])
