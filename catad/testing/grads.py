"""`check_grads`: derivatives against central differences, to any order, in both modes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from catad import errors
from catad.category.spaces import Value, space_of
from catad.category.terms import D, morphism
from catad.derivative.functors import differential, reverse_differential, tangent
from catad.testing.differences import Slope, slope
from catad.testing.values import as_point, broken, direction, inner, norm, of_parts, require


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

    The derivative of order k is `D[D[...f]]`, compared with central differences of order k - 1's term, so that each step
    of nesting is checked by itself. Mode "fwd" compares D[f] and T[f], mode "rev" R[f]; directions are random but seeded.
    `step` is the size of a difference and `tolerance` the relative error allowed (both dimensionless); the defaults follow
    from the dtype. The function must be smooth within a few steps of the point: keep away from kinks.

    Raises `LawError` with the law, the term, the point and both values. Raises `SpaceError` for
    a point that is no value and what is no morphism,
    `ArgumentError` for other modes.

    >>> import catad as ct, numpy as np
    >>> from catad.testing import check_grads
    >>> check_grads(ct.sin >> ct.sum(), np.array([0.5, 1.5]))
    >>> wrong = ct.D(lambda x: (x * x, ct.scale(x)))
    >>> try:
    ...     check_grads(wrong, 3.0)
    ... except ct.LawError as error:
    ...     print(str(error).splitlines()[0])
    the law derivative, forward does not hold: D[f](x, v) == (f(x + h v) - f(x - h v)) / 2 h
    """
    if isinstance(modes, str) or not set(modes) <= {"fwd", "rev"}:
        raise errors.ArgumentError(errors.unknown_check_mode(modes))
    rng = np.random.default_rng(seed)
    term, primals = of_parts(morphism(f, "check_grads"), primals)
    x, _ = as_point(primals)
    for k in range(1, order + 1):
        name = "derivative" if k == 1 else f"derivative of order {k}"
        for _ in range(directions if k == 1 else 1):
            v = direction(rng, space_of(x))
            found = slope(term, x, v, step)
            if "fwd" in modes:
                _check_forward(name, term, x, v, found, found.allowed(tolerance))
            if "rev" in modes:
                _check_reverse(name, term, x, v, direction(rng, space_of(term(x))), found, found.allowed(tolerance))
        term, x = differential(term), (x, v)


def _check_forward(name: str, term: D, x: Value, v: Value, found: Slope, allowed: float) -> None:
    got = differential(term)(x, v)
    equation = "D[f](x, v) == (f(x + h v) - f(x - h v)) / 2 h"
    require(f"{name}, forward", equation, term, (x, v), got, found.value, size=found.size, tolerance=allowed)
    y, dy = tangent(term)(x, v)
    equation = "T[f] == fork(exl >> f, D[f])"
    require(f"{name}, tangent", equation, term, (x, v), y, term(x))
    require(f"{name}, tangent", equation, term, (x, v), dy, got, size=found.size)


def _check_reverse(name: str, term: D, x: Value, v: Value, w: Value, found: Slope, allowed: float) -> None:
    got = reverse_differential(term)(x, w)
    law = f"{name}, reverse"
    if space_of(got) != space_of(v):
        raise broken(law, "R[f] : A * T(B) -> T(A)", term, (x, w), space_of(got), space_of(v))
    pulled, pushed = inner(v, got), inner(found.value, w)
    size = max(norm(v) * norm(got), norm(found.value) * norm(w), found.size * norm(w))
    if not abs(pulled - pushed) <= allowed * size + 1e-300:
        equation = "<v, R[f](x, w)> == <(f(x + h v) - f(x - h v)) / 2 h, w>"
        off = f"{abs(pulled - pushed):.3g} where {allowed * size:.3g} is allowed"
        raise broken(law, equation, term, (x, v, w), pulled, pushed, off)
