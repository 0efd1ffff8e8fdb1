"""`check_grads`: derivatives against central differences, to any order, in both modes.

A difference of step h has the error h^2 f'''/6 + eps |f| / h; two steps, h and h/2, cancel the first term (Richardson), which
leaves h^4 and allows the step eps^(1/5). The differences of float32 terms are taken in float64 where the term can be evaluated
there, so that the bound is the rounding of the derivative, not that of the differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from catad import errors
from catad.functors import differential, reverse_differential, tangent
from catad.spaces import Space, Tensor, Value, flatten, rebuild, space_of
from catad.terms import D
from catad.testing.values import as_point, direction, floats, inner, largest, moved_by, norm, require, unit_roundoff


def check_grads(
    f: D,
    *primals: Value,
    order: int = 2,
    modes: Sequence[str] = ("fwd", "rev"),
    seed: int = 0,
    directions: int = 2,
    step: float | None = None,
    tolerance: float | None = None,
) -> None:
    """Compare the derivatives of `f` at a point with central differences, nested up to `order`.

    The derivative of order k is `D[D[...f]]`, compared with central differences of order k - 1's term, so that each step of
    nesting is checked by itself. Mode "fwd" compares D[f] and T[f], mode "rev" compares R[f] and its adjointness with D[f]; directions
    are random but seeded. `step` is the size of a difference and `tolerance` the relative error allowed (both dimensionless);
    the defaults follow from the dtype. The function must be smooth within a few steps of the point: keep away from kinks.

    Raises `LawError` with the law, the term, the point and both values.

    >>> import catad as ct, numpy as np
    >>> ct.testing.check_grads(ct.sin >> ct.sum(), np.array([0.5, 1.5]))
    >>> wrong = ct.D(lambda x: (x * x, ct.scale(x)))
    >>> ct.testing.check_grads(wrong, 3.0)
    Traceback (most recent call last):
        ...
    catad.errors.LawError: the law ...
    """
    if isinstance(modes, str) or not set(modes) <= {"fwd", "rev"}:
        raise errors.ArgumentError(errors.unknown_check_mode(modes))
    rng = np.random.default_rng(seed)
    x, _ = as_point(primals)
    term = f
    for k in range(1, order + 1):
        name = "derivative" if k == 1 else f"derivative of order {k}"
        for _ in range(directions if k == 1 else 1):
            v = direction(rng, space_of(x))
            slope = _differences(term, x, v, step)
            allowed = _allowed(slope, tolerance)
            if "fwd" in modes:
                _check_forward(name, term, x, v, slope, allowed)
            if "rev" in modes:
                _check_reverse(name, term, x, v, direction(rng, space_of(term(x))), slope, allowed)
        term, x = differential(term), (x, v)


Slope = tuple[Value, float, bool]  # the differences, the size of what was subtracted, whether they were taken in float64


def _check_forward(name: str, term: D, x: Value, v: Value, slope: Slope, allowed: float) -> None:
    got = differential(term)(x, v)
    law = f"{name}, forward"
    expected = _as(slope[0], got)
    require(law, "D[f](x, v) == (f(x + h v) - f(x - h v)) / 2 h", term, (x, v), got, expected, size=slope[1], tolerance=allowed)
    y, dy = tangent(term)(x, v)
    require(f"{law}, tangent", "T[f] == fork(exl >> f, D[f])", term, (x, v), y, term(x))
    require(f"{law}, tangent", "T[f] == fork(exl >> f, D[f])", term, (x, v), dy, got, size=slope[1])


def _check_reverse(name: str, term: D, x: Value, v: Value, w: Value, slope: Slope, allowed: float) -> None:
    got = reverse_differential(term)(x, w)
    if space_of(got) != space_of(v):
        raise errors.LawError(
            errors.law_broken(f"{name}, reverse", "R[f] : A * T(B) -> T(A)", term, (x, w), space_of(got), space_of(v), None)
        )
    pulled, pushed = inner(v, got), inner(slope[0], w)
    size = max(norm(v) * norm(got), norm(slope[0]) * norm(w), slope[1] * norm(w))
    equation = "<v, R[f](x, w)> == <(f(x + h v) - f(x - h v)) / 2 h, w>"
    if not abs(pulled - pushed) <= allowed * size + 1e-300 and np.isfinite(size):
        raise errors.LawError(
            errors.law_broken(f"{name}, reverse", equation, term, (x, v, w), pulled, pushed, abs(pulled - pushed))
        )


def _allowed(slope: Slope, tolerance: float | None) -> float:
    """The relative error that rounding and truncation explain."""
    if tolerance is not None:
        return tolerance
    eps = unit_roundoff(slope[0])
    if slope[2]:
        return max(1e-8, 512 * float(np.finfo(np.float32).eps) if eps > 1e-10 else 0.0)
    return 40 * float(eps**0.6)


def _differences(f: D, x: Value, v: Value, step: float | None) -> Slope:
    """Central differences with the steps h and h / 2, extrapolated to 0."""
    narrow = any(leaf.dtype == np.float32 for leaf in floats(x))
    x64, v64 = (_widened(x), _widened(v)) if narrow else (x, v)
    try:
        wide = f(x64)
        exact = all(leaf.dtype == np.float64 for leaf in floats(wide))
    except errors.CatadError:
        exact = False
    if not exact:
        x64, v64 = x, v
    eps = unit_roundoff(x64) if exact else unit_roundoff(f(x64))
    size = max(1.0, largest(x64)) / max(1.0, largest(v64))
    h = (eps**0.2 if step is None else step) * size
    coarse, middle = _slope(f, x64, v64, h)
    fine, _ = _slope(f, x64, v64, h / 2)
    extrapolated = [(4.0 * a - b) / 3.0 for a, b in zip(floats(fine), floats(coarse), strict=True)]
    it = iter(extrapolated)
    space = space_of(middle)
    slope = rebuild(space, [next(it) if leaf.is_float else () for leaf in space.leaves])
    narrowed = _as(slope, rebuild(space_of(f(x)), [a if a.dtype.kind == "f" else () for a in flatten(f(x))]))
    return narrowed, largest(middle), exact


def _slope(f: D, x: Value, v: Value, h: float) -> tuple[Value, Value]:
    above, below = moved_by(x, h, v), moved_by(x, -h, v)
    up, down = f(above), f(below)
    space: Space = space_of(up)
    ups, downs = flatten(up), flatten(down)
    slope = [(a - b) / (2 * h) if a.dtype.kind == "f" else () for a, b in zip(ups, downs, strict=True)]
    return rebuild(space, slope), up


def _widened(x: Value) -> Value:
    space = space_of(x)
    return rebuild(space, [a.astype(np.float64) if a.dtype.kind == "f" else a for a in flatten(x)])


def _as(value: Value, like: Value) -> Value:
    """The floating leaves of a value in the dtypes of another value's."""
    space = space_of(like)
    kinds = [leaf.dtype for leaf in space.leaves if isinstance(leaf, Tensor)]
    return rebuild(space, [np.asarray(a).astype(kind) for a, kind in zip(flatten(value), kinds, strict=True)])



