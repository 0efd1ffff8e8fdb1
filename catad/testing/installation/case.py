"""A program with what it must give: NumPy says its value, central differences say its derivative, both without catad.

A difference of step h has the error h^2 f'''/6; two steps, h and h/2, cancel this term (L. Richardson, 1911).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import catad as ct

STEP = 1e-3
ROUNDING = 1e-12
"""The relative error that values may have in float64."""
TRUNCATION = 1e-7
"""The relative error that differences may have in float64."""

Reference = Callable[[Any], Any]


class Wrong(Exception):
    """A check that does not hold, in words."""


@dataclass(frozen=True)
class Case:
    """`function(x)` in catad must be `reference(x)` in NumPy, for an array `x` of floats with one axis.

    `loose` multiplies the errors that are allowed. A `quick` case is one of the few that `--quick` checks; a `long` one takes
    seconds to compile, and is checked by its array code alone.
    """

    name: str
    function: Any
    x: Any
    reference: Reference
    loose: float = 1.0
    quick: bool = False
    long: bool = False


def written(name: str, function: Callable[[Any], Any], x: Any, quick: bool = False) -> Case:
    """A Python function on NumPy's arrays: NumPy runs it as it stands, and catad differentiates it."""
    return Case(name, ct.function(function), x, function, quick=quick)


def check_case(case: Case, engine: str) -> None:
    """Compare value, Jacobian and products with vectors on one engine; raises `Wrong` with what differs."""
    f, x = case.function, case.x
    expected = np.asarray(case.reference(x))
    slopes = differences(case.reference, x)
    values, derivatives = ROUNDING * case.loose, TRUNCATION * case.loose
    if x.dtype == np.float32:
        values, derivatives = 1e-5 * case.loose, 1e-4 * case.loose
    rng = np.random.default_rng(7)
    v, w = rng.normal(size=x.shape).astype(x.dtype), np.asarray(rng.normal(size=expected.shape)).astype(expected.dtype)
    with ct.use_engine(engine):
        for call in ("first", "second"):  # the engine "auto" may run another code at the second call
            require(f"the value of the {call} call", f(x), expected, values)
        if engine == "reference":  # a Jacobian has many programs, which others would compile
            require("the Jacobian", dense(ct.jacobian(f)(x), slopes), slopes, derivatives)
        _, pushed = ct.jvp(f, (x,), (v,))
        require("the product of the Jacobian with a vector", pushed, (slopes @ v).reshape(expected.shape), derivatives)
        _, pull = ct.vjp(f, x)
        (pulled,) = pull(w) if isinstance(pull(w), tuple) else (pull(w),)
        require("the product of a vector with the Jacobian", pulled, w.reshape(-1) @ slopes, derivatives)
        if expected.shape == () and engine == "reference":
            curved = ct.hvp(f, (x,), (v,))
            require("the product of the Hessian with a vector", curved @ v, second(case.reference, x, v), 1e-4 * case.loose)


def dense(jacobian: Any, like: Any) -> Any:
    return np.asarray(jacobian.todense()).reshape(like.shape)


def differences(reference: Reference, x: Any) -> Any:
    """The Jacobian of a function of NumPy by central differences, `(m, n)`."""
    wide = x.astype(np.float64)

    def column(unit: Any) -> Any:
        coarse, fine = [
            (np.asarray(reference(wide + h * unit)) - np.asarray(reference(wide - h * unit))) / (2 * h) for h in (STEP, STEP / 2)
        ]
        return ((4 * fine - coarse) / 3).reshape(-1)

    return np.stack([column(unit) for unit in np.eye(len(x))], axis=1)


def second(reference: Reference, x: Any, v: Any) -> Any:
    """The second derivative of a function of NumPy along `v`, by differences."""
    wide, centre = x.astype(np.float64), reference(x.astype(np.float64))
    coarse, fine = [(reference(wide + h * v) - 2 * centre + reference(wide - h * v)) / h**2 for h in (STEP, STEP / 2)]
    return (4 * fine - coarse) / 3


def require(what: str, got: Any, expected: Any, tolerance: float) -> None:
    """Raise `Wrong` where two arrays differ by more than `tolerance` times the largest number, or in shape."""
    got, expected = np.asarray(got), np.asarray(expected)
    if got.shape != expected.shape:
        raise Wrong(f"{what} has the shape {got.shape}, expected {expected.shape}")
    gap = float(np.max(np.abs(got - expected), initial=0.0))
    allowed = tolerance * max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    if not gap <= allowed:  # also where it is NaN
        raise Wrong(f"{what} differs from what was expected by {gap:.2g}, allowed {allowed:.2g}")
