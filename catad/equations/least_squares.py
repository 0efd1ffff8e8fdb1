"""`ct.least_squares`: where the sum of the squares of residuals is smallest, by the method of Levenberg and Marquardt.

    (J' J + mu D) d = J' r        x <- x - d

J keeps its structure, so J' J is a band where J is one. D is the largest diagonal of J' J so far, mu follows the ratio of what
the sum of squares loses to what its linear model foretells (D. Marquardt, *An algorithm for least-squares estimation of nonlinear
parameters*, 1963; H. Nielsen, *Damping parameter in Marquardt's method*, 1999; J. More, *The Levenberg-Marquardt algorithm:
implementation and theory*, 1978). Near the end slopes decide instead of losses, as in the approximate conditions of Wolfe
(W. Hager and H. Zhang, *A new conjugate gradient method with guaranteed descent and an efficient line search*, 2005). The
equation is that of the gradient, J' r = 0, whose Jacobian is the whole Hessian, so derivatives are exact also where residuals are
left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from catad import errors
from catad.category.boxes import of_fields
from catad.category.cartesian import compose
from catad.category.constructors import constructor
from catad.category.spaces import Space, Tensor, flatten
from catad.category.terms import D, MorphismLike, morphism
from catad.category.wiring import wire
from catad.derivative.functors import as_chain, fused, linear_graph
from catad.derivative.grad import Gradient
from catad.equations.implicit import inverted, multiplied_out
from catad.equations.optimum import finished, steps_of
from catad.equations.solution import Ended, Problem, Solution
from catad.equations.tolerance import Tolerance, apart, chosen, in_units, inner, joined, largest, parted, tolerance
from catad.linear.families.block import chain, diagonal_block, total
from catad.linear.families.contract import zeros
from catad.linear.families.delta import pointwise
from catad.linear.families.ordered_inverse import diagonal_on
from catad.linear.solving.lenient import made_lenient

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires
    from catad.linear.structure import Structure

IS_TRACED = True  # finders call these functions
HIDDEN = 1e-6  # of the sum of squares: where a loss is less, slopes say more than it does
ROUGH, SLOW = 1e4, 0.1  # steps within so many times the tolerance end the search where they do not shrink like this
FIRST, LEAST, UNDAMPED = 1e-3, 1e-15, 1e-6  # mu beside D: at the start, at least, and where a step is nearly that of Gauss


@of_fields
class HalfOfSquares(D):
    """Any leaves to half the sum of the squares of their numbers."""

    def lay_out(self, b: Builder, x: Wires) -> Any:
        return b.apply(_half_of_squares, tuple(flatten(x)))


@of_fields
class _Normal(D):
    """`(x, args)` to the leaves of the residual and of J' r, and to the diagonal of J' J: empty where that is not read."""

    f: D

    def lay_out(self, b: Builder, x: Wires) -> Any:
        results, jacobian, slots = _jacobian(b, self.f, x)
        normal, wires = _normal(b, jacobian, slots)
        pairs = zip(jacobian.T.apply(b, slots, results), jacobian.dom, strict=True)
        gradient = [zeros(b, leaf) if x is None else x for x, leaf in pairs]
        diagonal = diagonal_on(b, normal, wires)
        return tuple(results), tuple(gradient), zeros(b, Tensor((0,), np.float64)) if diagonal is None else diagonal


@of_fields
class _Damped(D):
    """`(x, args)`, a vector and leaves g to the d with `(J' J + diagonal) d = g`."""

    f: D

    def lay_out(self, b: Builder, x: Wires) -> Any:
        point, damping, right = x
        _, jacobian, slots = _jacobian(b, self.f, point)
        normal, wires = _normal(b, jacobian, slots)
        parts = diagonal_block([pointwise(leaf, leaf, leaf) for leaf in normal.dom])
        n = len(wires)
        sum_ = total([(normal, tuple(range(n))), (parts, tuple(range(n, n + len(parts.slots))))])
        plan = multiplied_out(sum_)
        inverse = inverted(plan.result)
        made = inverse.slots(b, plan.slots(b, [*wires, *flatten(damping)]))
        return tuple(inverse.structure.apply(b, made, list(right)))


@of_fields
class Damped(D):
    """`_Damped` with NaN where there is no solution."""

    f: D

    def lay_out(self, b: Builder, x: Wires) -> Any:
        wiring = wire(_Damped(self.f), b.space(x))
        return tuple(b.inline(made_lenient(wiring), flatten(x)))


def _jacobian(b: Builder, f: D, x: Wires) -> tuple[list[Wire], Structure, list[Wire]]:
    results, network, slots = linear_graph(b, fused(f, b.space(x)), flatten(x), tuple(range(len(flatten(x[0])))))
    plan = multiplied_out(as_chain(network))
    return results, plan.result, plan.slots(b, slots)


def _normal(b: Builder, jacobian: Structure, slots: Sequence[Wire]) -> tuple[Structure, list[Wire]]:
    """J' J, multiplied out."""
    own = tuple(range(len(slots)))
    plan = multiplied_out(chain([(jacobian, own), (jacobian.T, own)]))
    return plan.result, plan.slots(b, list(slots))


@dataclass(frozen=True)
class LeastSquares(Problem):
    """The least sum of squares of the leaves of the function."""

    max_steps: int = 200
    name = "least_squares"
    methods = ("lm",)
    said = staticmethod(errors.no_least_squares)

    def equation(self, f: D) -> D:
        return Gradient(compose(f, HalfOfSquares()), 0)

    def checked(self, f: D, unknown: Space, made: Space) -> None:
        if not made.leaves or not all(leaf.is_float for leaf in made.leaves):
            raise errors.SpaceError(errors.residuals_not_floating(f, made))

    def ended(self, f: D, dom: Space, x: Any, args: Any) -> Ended:
        unknown: Space = dom.factors[0]  # type: ignore[attr-defined]
        tol = tolerance(unknown, self.rtol, self.atol)
        normal, damped = _Normal(f), Damped(f)

        def at(vector: Any) -> Any:
            residuals, gradient, diagonal = normal(apart(unknown, vector), args)
            return residuals, joined(gradient), diagonal if diagonal.size else np.ones_like(vector)

        def step(vector: Any, gradient: Any, damping: Any) -> Any:
            own, right = [tuple(flatten(apart(unknown, one))) for one in (damping, gradient)]
            return joined(damped((apart(unknown, vector), args), own, right))

        rough = levenberg_marquardt(at, step, unknown, joined(x), tol, self.max_steps)
        end = finished(steps_of(self.equation(f), dom, args), unknown, rough.x, tol)
        residuals, _, _ = at(np.concatenate(end.leaves))
        cost = inner(residuals, residuals)
        exact = end.found & end.is_minimum & (cost <= rough.cost * (1.0 + 1e3 * tol.eps))
        leaves = [np.where(exact, a, b) for a, b in zip(end.leaves, parted(unknown, rough.x), strict=True)]
        ends = [(cost, rough.cost), (end.gradient, rough.gradient), (end.size, rough.size)]
        norm, gradient, size = [np.where(exact, *both) for both in ends]
        return Ended(exact | rough.done, tuple(leaves), (np.sqrt(norm), gradient, size, np.float64(rough.steps)))


class Rough(NamedTuple):
    """Where damped steps ended: whether nearly undamped ones are within the tolerance there, and numbers for a message."""

    done: Any
    x: Any
    cost: Any
    gradient: Any
    size: Any
    steps: Any


def levenberg_marquardt(at: Any, step: Any, unknown: Space, start: Any, tol: Tolerance, max_steps: int) -> Rough:
    """From `start` to the least squares; `at` gives residuals, gradient and diagonal, `step` the solution of a damped system.

    Where a step foretells hardly any loss beside the sum of squares, this may be rough by more than rounding, as the end of an
    integration with chosen steps is; there a step is taken that leaves less of the slope along it. It ends early where small
    steps shrink slowly, as they do where residuals are left: exact ones follow.
    """
    x = start
    residuals, gradient, diagonal = at(x)
    cost = inner(residuals, residuals)
    scale, mu, grows = np.maximum(diagonal, 0.0), np.float64(FIRST), np.float64(2.0)
    steps, size, done = 0, np.float64(np.inf), (cost == 0.0) | (largest((gradient,)) == 0.0)
    going = (cost < np.inf) & ~done
    while going & (steps < max_steps):
        damping = np.maximum(scale, tol.eps * largest((scale,)))
        d = step(x, gradient, (mu * damping).astype(x.dtype))
        before, size = size, in_units(parted(unknown, d), parted(unknown, x), tol)
        trial = x - d
        residuals, there, diagonal = at(trial)
        cost_there = inner(residuals, residuals)
        foretold = inner((d,), (gradient + mu * damping * d,))
        hidden, rounded = foretold <= HIDDEN * cost, foretold <= 16.0 * tol.eps * cost
        flatter = np.abs(inner((d,), (there,))) <= 0.8 * inner((d,), (gradient,))
        taken = (cost - cost_there > 1e-4 * foretold) | (hidden & flatter & (cost_there <= cost * (1.0 + HIDDEN)))
        taken = taken | (rounded & (cost_there <= cost * (1.0 + 64.0 * tol.eps)))
        done = (taken & (size <= 1.0) & (mu <= UNDAMPED)) | (cost_there == 0.0)
        ratio = (cost - cost_there) / np.where(foretold == 0.0, 1.0, foretold)
        shrinks = np.where(hidden, 0.1, np.maximum(1.0 / 10.0, 1.0 - (2.0 * ratio - 1.0) ** 3))
        mu = chosen(taken, np.maximum(mu * shrinks, LEAST), mu * grows)
        grows = chosen(taken, np.float64(2.0), 2.0 * grows)
        x = np.where(taken, trial, x)
        gradient = np.where(taken, there, gradient)
        scale = np.where(taken, np.maximum(scale, diagonal), scale)
        cost = chosen(taken, cost_there, cost)
        going = ~done & (mu < 1e100) & ~(taken & (size <= ROUGH) & (size > SLOW * before))
        steps = steps + 1
    return Rough(done, x, cost, largest((gradient,)), size, steps)


def _squares(leaves: Any) -> Any:
    found = 0.0
    for leaf in leaves:
        found = found + np.sum(leaf * leaf)
    return 0.5 * found


_half_of_squares = morphism(_squares, "ct.least_squares")


@constructor(morphisms="residual")
def least_squares(
    residual: MorphismLike,
    method: str = "lm",
    rtol: float | None = None,
    atol: float | None = None,
    max_steps: int = 200,
    on_failure: str = "raise",
) -> D:
    """The x that makes the sum of the squares of `residual(x, *args)` smallest, as a morphism `(x0, *args) -> x`.

    x has the space of the start `x0`: floating arrays of any shapes, or a tree of them; integers become float64. The residuals
    are any number of floats in any tree. `method="lm"` is that of Levenberg and Marquardt on the structured Jacobian: where J is
    a band, so is J' J. Steps on the gradient by the whole Hessian follow, so residuals that stay large do no harm, and the end
    is checked to be a minimum.

    It ends where a step is within `rtol |x| + atol` (dimensionless; by default eps^(2/3) of the dtype). What does not converge
    within `max_steps` steps raises `ConvergenceError`, which names the lane of a batch; with `on_failure="nan"` that lane is NaN,
    and so are its derivatives. Raises `SpaceError` where the residuals are no floats, `ArgumentError` for other options.

    Derivatives of any order are those of the equation J' r = 0, with the whole Hessian, so they are exact where residuals are
    left. That by `x0` is zero. Raises `SolveError` where the Hessian has no inverse.

    >>> import catad as ct, numpy as np
    >>> t = np.arange(4.0)
    >>> fit = ct.least_squares(lambda p, y: p["a"] * np.exp(-p["b"] * t) - y)
    >>> p = fit({"a": 1.0, "b": 0.0}, 3.0 * np.exp(-0.5 * t))
    >>> p["a"].round(12), p["b"].round(12)
    (np.float64(3.0), np.float64(0.5))

    Source: J. More, The Levenberg-Marquardt algorithm: implementation and theory, 1978; the name and its options are SciPy's.
    """
    return Solution(morphism(residual, "ct.least_squares"), LeastSquares(method, rtol, atol, max_steps, on_failure))
