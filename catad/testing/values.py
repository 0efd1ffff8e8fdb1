"""Points, directions and comparisons for the checkers: seeded random values, inner products, equality of values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from catad import errors
from catad.category.spaces import Space, Tensor, Value, as_leaves, flatten, rebuild, space_of
from catad.category.terms import D
from catad.jacobians.at_point import taken_point
from catad.values.trees import plain

ROUNDING = 256  # units in the last place, of the largest number beside it, that two ways of computing may differ by


def as_point(primals: tuple[Value, ...]) -> tuple[Value, Space]:
    """One value whose leaves are arrays, from the primals of a call, and its space."""
    x = primals[0] if len(primals) == 1 else tuple(primals)
    space = space_of(x)
    return rebuild(space, as_leaves(x)), space


def of_parts(term: D, primals: tuple[Value, ...]) -> tuple[D, tuple[Value, ...]]:
    """The same on real arrays, where a complex array is among the primals: each is a pair of these, and so are the results."""
    if not plain(primals)[1].has_complex:
        return term, primals
    at = taken_point(term, primals)
    return at.term, (at.value,)


def direction(rng: np.random.Generator, space: Space, exact: bool = False) -> Value:
    """A random tangent of a point in `space`: small integers where `exact`, otherwise of size about 1."""

    def draw(leaf: Tensor) -> Any:
        if not leaf.is_float:
            return ()
        drawn = rng.integers(-3, 4, leaf.shape) if exact else rng.normal(size=leaf.shape)
        return np.asarray(drawn).astype(leaf.dtype)

    return rebuild(space, [draw(leaf) for leaf in space.leaves])


def nothing(space: Space) -> Value:
    """The zero of the tangent space of `space`."""
    return rebuild(space, [np.zeros(leaf.shape, leaf.dtype) if leaf.is_float else () for leaf in space.leaves])


def moved_by(x: Value, step: float, v: Value) -> Value:
    """`x + step * v`; integers stay where they are. Computed in the dtype of each leaf."""
    space = space_of(x)
    steps = iter(flatten(v))
    return rebuild(space, [a + a.dtype.type(step) * next(steps) if a.dtype.kind == "f" else a for a in flatten(x)])


def floats(value: Value) -> list[Any]:
    """The floating leaves of a value."""
    return [np.asarray(leaf) for leaf in flatten(value) if leaf.dtype.kind == "f"]


def inner(v: Value, w: Value) -> float:
    """The inner product of two tangents, summed in float64 without rounding in between."""
    pairs = zip(floats(v), floats(w), strict=True)
    each = itertools.chain.from_iterable(
        (a.astype(np.float64) * b.astype(np.float64)).reshape(-1).tolist() for a, b in pairs
    )
    return _sum(list(each))


def _sum(numbers: list[float]) -> float:
    return math.fsum(numbers) if all(map(math.isfinite, numbers)) else float(np.sum(numbers))


def norm(value: Value) -> float:
    """The Euclidean norm of a tangent."""
    return math.sqrt(max(inner(value, value), 0.0))


def largest(*values: Value) -> float:
    """The largest finite magnitude among the floating leaves of some values; 0 where there is none."""
    found = 0.0
    for value in values:
        for leaf in floats(value):
            finite = np.abs(leaf[np.isfinite(leaf)])
            found = max(found, float(finite.max()) if finite.size else 0.0)
    return found


def unit_roundoff(*values: Value) -> float:
    """The machine epsilon of the narrowest floating leaf of some values."""
    kinds = [leaf.dtype for value in values for leaf in floats(value)]
    return max((float(np.finfo(kind).eps) for kind in kinds), default=float(np.finfo(np.float64).eps))


def difference(got: Value, expected: Value, exact: bool, size: float = 0.0, tolerance: float | None = None) -> str | None:
    """The difference of two values, in words; None where they are equal.
     Nesting, shapes and dtypes must agree. Exact values agree bit for bit (signed zeros count as one number), others within
    rounding of the largest number among both and `size`; NaN and infinities stand in the same places.
    """
    if space_of(got) != space_of(expected):
        return f"space {space_of(got)} instead of {space_of(expected)}"
    scale = max(size, largest(got, expected))
    worst = 0.0
    for a, b in zip(flatten(got), flatten(expected), strict=True):
        if exact or a.dtype.kind != "f":
            if not np.array_equal(a, b, equal_nan=a.dtype.kind == "f"):
                return "some entries"
            continue
        finite = np.isfinite(b)
        if not np.array_equal(np.isfinite(a), finite) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
            return "NaN or infinity"
        gap = np.abs(a[finite].astype(np.float64) - b[finite].astype(np.float64))
        worst = max(worst, float(gap.max()) if gap.size else 0.0)
    allowed = (ROUNDING * unit_roundoff(got, expected) if tolerance is None else tolerance) * scale + 1e-300
    return None if worst <= allowed else f"{worst:.3g} where {allowed:.3g} is allowed"


def flat(value: Value) -> Any:
    """The floating numbers of a value, one after the other."""
    leaves = [leaf.reshape(-1) for leaf in floats(value)]
    return np.concatenate(leaves) if leaves else np.zeros(0)


def stacked(values: Sequence[Value]) -> Value:
    """Values of one space, leaf by leaf along a new first axis."""
    return rebuild(space_of(values[0]), [np.stack(leaves) for leaves in zip(*map(flatten, values), strict=True)])


def broken(law: str, equation: str, term: Any, point: Any, got: Any, expected: Any, off: Any = None) -> errors.LawError:
    """The error of a law that does not hold."""
    return errors.LawError(errors.law_broken(law, equation, term, point, got, expected, off))


def require(
    law: str,
    equation: str,
    term: Any,
    point: Value,
    got: Value,
    expected: Value,
    exact: bool = False,
    size: float = 0.0,
    tolerance: float | None = None,
) -> None:
    """Raise `LawError` unless two values are equal as `difference` has it."""
    off = difference(got, expected, exact, size, tolerance)
    if off is not None:
        raise broken(law, equation, term, point, got, expected, off)
