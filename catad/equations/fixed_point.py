"""`ct.fixed_point`: where a function gives its argument back.

Anderson's mixing takes the combination of the last values that makes the residual f(x) - x smallest, as if f were linear (D.
Anderson, *Iterative procedures for nonlinear integral equations*, 1965; H. Walker and P. Ni, *Anderson acceleration for
fixed-point iterations*, 2011). The small least-squares problem is solved by its normal equations, with a little of their trace
added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.boxes import of_fields
from catad.category.constructors import constructor
from catad.category.spaces import Space, flatten
from catad.category.terms import D, MorphismLike, morphism
from catad.equations.solution import Ended, Problem, Solution
from catad.equations.tolerance import apart, chosen, in_units, joined, largest, parted, tolerance

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wires

IS_TRACED = True  # finders call these functions
KEPT = 5  # steps that are combined
RIDGE = 1e-13  # of the trace, or what rounding makes of it
GROWS = 2.0  # a combination that leaves more of the residual is given up, and so are the steps that made it
STALE = 8  # steps that do not make the residual smaller


@of_fields
class Displacement(D):
    """`(x, args)` to f(x, args) - x, leaf by leaf."""

    f: D

    def lay_out(self, b: Builder, x: Wires) -> Any:
        made = yield self.f, x
        return tuple([y - own for y, own in zip(flatten(made), flatten(x[0]), strict=True)])


@dataclass(frozen=True)
class FixedPoint(Problem):
    """A fixed point of the function."""

    max_steps: int = 1000
    name = "fixed_point"
    methods = ("anderson", "plain")
    said = staticmethod(errors.no_fixed_point)

    def equation(self, f: D) -> D:
        return Displacement(f)

    def checked(self, f: D, unknown: Space, made: Space) -> None:
        if made != unknown:
            raise errors.SpaceError(errors.not_in_space_of_start(self.name, f, unknown, made))

    def ended(self, f: D, dom: Space, x: Any, args: Any) -> Ended:
        unknown: Space = dom.factors[0]  # type: ignore[attr-defined]
        tol = tolerance(unknown, self.rtol, self.atol)
        tight = tolerance(unknown, self.rtol, self.atol, 0.9)
        kept = KEPT if self.method == "anderson" else 0

        def step(vector: Any) -> Any:
            return joined(f(apart(unknown, vector), args)) - vector

        def size_of(change: Any, vector: Any, tol: Any) -> Any:
            return in_units(parted(unknown, change), parted(unknown, vector), tol)

        x = joined(x)
        rest = step(x)
        size = size_of(rest, x, tight)
        xs, rests = np.zeros((kept, len(x)), x.dtype), np.zeros((kept, len(x)), x.dtype)
        steps, stale, best, fresh = 0, 0, size, True
        while (size > 1.0) & (steps < self.max_steps) & ((stale < STALE) | (size_of(rest, x, tol) > 1.0)):
            trial = x + rest
            if kept:
                small = rests @ rests.T
                ridge = max(RIDGE, 8.0 * float(np.finfo(x.dtype).eps)) * np.trace(small) + np.finfo(x.dtype).tiny
                weights = np.linalg.solve(small + ridge * np.eye(kept, dtype=x.dtype), rests @ rest)
                trial = trial - weights @ (xs + rests)
            there = step(trial)
            steps = steps + 1
            taken = fresh | (largest((there,)) <= GROWS * largest((rest,)))
            if kept:
                xs = np.where(taken, np.concatenate([xs[1:], (trial - x)[None]]), 0.0)
                rests = np.where(taken, np.concatenate([rests[1:], (there - rest)[None]]), 0.0)
            x = np.where(taken, trial, x)
            rest = np.where(taken, there, rest)
            fresh = ~taken
            size = size_of(rest, x, tight)
            stale = chosen(size < best, 0, stale + 1)
            best = np.minimum(size, best)
        found = (size <= 1.0) | (size_of(rest, x, tol) <= 1.0)
        return Ended(found, parted(unknown, x), (largest((rest,)), size_of(rest, x, tol), np.float64(steps)))


@constructor(morphisms="f")
def fixed_point(
    f: MorphismLike,
    method: str = "anderson",
    rtol: float | None = None,
    atol: float | None = None,
    max_steps: int = 1000,
    on_failure: str = "raise",
) -> D:
    """The x with `f(x, *args) == x`, as a morphism `(x0, *args) -> x`.

    x has the space of the start `x0`: floating arrays of any shapes, or a tree of them, which f gives back; integers become
    float64. `method` is "anderson", which combines the last steps, or "plain" iteration, which needs a contraction. The search
    ends where f(x) differs from x by rounding, or where the difference is within `rtol |x| + atol` (dimensionless; by default
    eps^(2/3) of the dtype) and no longer falls; with tolerances that are given it ends where they are met. After `max_steps`
    steps without that it raises `ConvergenceError`, which names the lane of a batch; with `on_failure="nan"` that lane is NaN,
    and so are its derivatives. Raises `SpaceError` where f gives what it does not take, `ArgumentError` for other options.

    Derivatives of any order are those of the equation f(x) - x = 0, by its structured Jacobian, whatever the steps were. That by
    `x0` is zero.

    >>> import catad as ct, numpy as np
    >>> f = ct.fixed_point(lambda x, a: np.cos(a * x))
    >>> value, slope = ct.value_and_grad(f, argnums=1)(1.0, 1.0)
    >>> value.round(12), slope.round(12)
    (np.float64(0.739085133215), np.float64(-0.29747434151))

    Source: D. Anderson, Iterative procedures for nonlinear integral equations, Journal of the ACM 12, 1965; the name is SciPy's.
    """
    return Solution(morphism(f, "ct.fixed_point"), FixedPoint(method, rtol, atol, max_steps, on_failure))
