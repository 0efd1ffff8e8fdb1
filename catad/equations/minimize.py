"""`ct.minimize`: where a loss is smallest.

A quasi-Newton method or Newton's goes down to where its steps are small; exact Newton steps on the gradient finish
(`optimum.py`). A step has a length at which the loss falls enough and its slope is less steep, found by doubling and halving (A.
Lewis and M. Overton, *Nonsmooth optimization via quasi-Newton methods*, 2013); where the loss changes by rounding alone, its
slope decides (W. Hager and H. Zhang, *A new conjugate gradient method with guaranteed descent*, 2005). BFGS and L-BFGS are as in
J. Nocedal and S. Wright, *Numerical Optimization*, 2006, sections 6.1 and 7.2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from catad import errors
from catad.category.constructors import constructor
from catad.category.spaces import Space, Tensor
from catad.category.terms import D, MorphismLike, morphism
from catad.derivative.grad import Gradient
from catad.equations.optimum import finished, steps_of
from catad.equations.solution import Ended, Problem, Solution
from catad.equations.tolerance import Tolerance, apart, chosen, in_units, inner, joined, largest, parted, tolerance

IS_TRACED = True  # finders call these functions
ROUGH = 1e3  # times the tolerance, up to which a quasi-Newton step is followed by exact ones
TRIALS = 60  # of the length of a step
KEPT = 10  # steps of L-BFGS
FALLS, FLATTER = 1e-4, 0.9  # the conditions of Wolfe


@dataclass(frozen=True)
class Minimize(Problem):
    """The least value of the function."""

    max_steps: int = 1000
    name = "minimize"
    methods = ("bfgs", "l-bfgs", "newton-cg")
    said = staticmethod(errors.no_minimum)

    def equation(self, f: D) -> D:
        return Gradient(f, 0)

    def checked(self, f: D, unknown: Space, made: Space) -> None:
        if not isinstance(made, Tensor) or made.shape != () or not made.is_float:
            raise errors.SpaceError(errors.loss_not_scalar(f, made))

    def ended(self, f: D, dom: Space, x: Any, args: Any) -> Ended:
        unknown: Space = dom.factors[0]  # type: ignore[attr-defined]
        tol, equation = tolerance(unknown, self.rtol, self.atol), self.equation(f)
        steps = steps_of(equation, dom, args)
        start = joined(x)
        ways = {"bfgs": _bfgs, "l-bfgs": _l_bfgs, "newton-cg": _newton}

        def at(vector: Any) -> Any:
            point = apart(unknown, vector)
            return f(point, args), joined(equation(point, args))

        def exact(vector: Any, gradient: Any) -> Any:
            return np.concatenate(steps.correction(parted(unknown, vector)))

        def size_of(change: Any, vector: Any) -> Any:
            return in_units(parted(unknown, change), parted(unknown, vector), tol)

        memory, direction, learn = ways[self.method](len(start), start.dtype, exact)
        down, value, taken = descended(at, memory, direction, learn, size_of, start, tol, self.max_steps)
        end = finished(steps, unknown, down, tol)
        value_there = f(apart(unknown, np.concatenate(end.leaves)), args)
        lower = value_there <= value + 1e3 * tol.eps * np.abs(value)
        found = end.found & end.is_minimum & lower
        saddle = np.where(end.found & lower & ~end.is_minimum, 1.0, 0.0)
        return Ended(found, end.leaves, (value_there, end.gradient, end.size, np.float64(taken), saddle))


def descended(
    at: Any, memory: Any, direction: Any, learn: Any, size_of: Any, start: Any, tol: Tolerance, max_steps: int
) -> tuple[Any, Any, Any]:
    """From `start` down to where steps are small: there, the value, and how many steps.

    `at` gives value and gradient, `direction(x, gradient, memory)` what a step of length 1 subtracts, `learn(memory, change of
    x, change of the gradient)` the next memory. Each trip of the loop tries one length.
    """
    x = start
    value, gradient = at(x)
    d = direction(x, gradient, memory)
    d = np.where(inner((gradient,), (d,)) > 0.0, d, gradient)
    t, low, high = np.float64(1.0), np.float64(0.0), np.float64(np.inf)
    steps, trials = 0, 0
    going = (largest((gradient,)) > 0.0) & (np.abs(value) < np.inf) & (max_steps > 0)
    while going:
        trial = x - t.astype(x.dtype) * d
        value_there, gradient_there = at(trial)
        slope, slope_there = -inner((gradient,), (d,)), -inner((gradient_there,), (d,))
        falls = value_there <= value + FALLS * t * slope
        level = (value_there <= value + 8.0 * tol.eps * np.abs(value)) & (slope_there <= -0.8 * slope)
        is_low, is_steep = falls | level, slope_there < FLATTER * slope
        if is_low & (~is_steep | (trials >= TRIALS)):
            memory = learn(memory, trial - x, gradient_there - gradient)
            x = trial
            value = value_there
            gradient = gradient_there
            d = direction(x, gradient, memory)
            d = np.where(inner((gradient,), (d,)) > 0.0, d, gradient)
            t, low, high, trials = np.float64(1.0), np.float64(0.0), np.float64(np.inf), 0
            steps = steps + 1
            going = (size_of(d, x) > ROUGH) & (steps < max_steps) & (np.abs(value) < np.inf)
        else:
            low = chosen(is_low, t, low)
            high = chosen(is_low, high, t)
            t = chosen(high < np.inf, (low + high) / 2.0, 2.0 * t)
            trials = trials + 1
            going = trials <= TRIALS
    return x, value, steps


def _bfgs(n: int, dtype: Any, exact: Any) -> tuple[Any, Callable[..., Any], Callable[..., Any]]:
    """An inverse Hessian, and whether it has learnt."""
    memory = np.eye(n, dtype=dtype), np.float64(0.0)

    def direction(x: Any, gradient: Any, memory: Any) -> Any:
        inverse, learnt = memory
        return inverse @ gradient / np.where(learnt > 0.0, 1.0, np.maximum(1.0, largest((gradient,)))).astype(dtype)

    def learn(memory: Any, s: Any, y: Any) -> Any:
        inverse, learnt = memory
        sy, yy = inner((s,), (y,)), inner((y,), (y,))
        good = sy > 1e-10 * np.sqrt(inner((s,), (s,)) * yy)
        rho = np.where(good, 1.0 / np.where(good, sy, 1.0), 0.0).astype(dtype)
        first = np.where((learnt == 0.0) & good, sy / np.where(yy > 0.0, yy, 1.0), 1.0).astype(dtype)
        inverse = first * inverse
        hy = inverse @ y
        change = (rho * rho * inner((y,), (hy,)).astype(dtype) + rho) * np.outer(s, s) - rho * (np.outer(hy, s) + np.outer(s, hy))
        return inverse + change, chosen(good, np.float64(1.0), learnt)

    return memory, direction, learn


def _l_bfgs(n: int, dtype: Any, exact: Any) -> tuple[Any, Callable[..., Any], Callable[..., Any]]:
    """The last changes of x and of the gradient, and the reciprocals of their inner products, the last one first."""
    memory = np.zeros((KEPT, n), dtype), np.zeros((KEPT, n), dtype), np.zeros(KEPT, dtype)

    def direction(x: Any, gradient: Any, memory: Any) -> Any:
        ss, ys, rhos = memory
        q, weights = gradient, []
        for k in range(KEPT):
            weight = rhos[k] * np.sum(ss[k] * q)
            weights.append(weight)
            q = q - weight * ys[k]
        yy = np.sum(ys[0] * ys[0])
        first = 1.0 / np.maximum(1.0, np.max(np.abs(gradient)))
        q = q * np.where(yy > 0.0, 1.0 / np.where(yy > 0.0, rhos[0] * yy, 1.0), first).astype(dtype)
        for k in range(KEPT - 1, -1, -1):
            q = q + (weights[k] - rhos[k] * np.sum(ys[k] * q)) * ss[k]
        return q

    def learn(memory: Any, s: Any, y: Any) -> Any:
        ss, ys, rhos = memory
        sy = inner((s,), (y,))
        good = sy > 1e-10 * np.sqrt(inner((s,), (s,)) * inner((y,), (y,)))
        rho = np.where(good, 1.0 / np.where(good, sy, 1.0), 0.0).astype(dtype)
        moved = [np.concatenate([one[None], many[:-1]]) for one, many in ((s, ss), (y, ys), (rho, rhos))]
        return tuple([np.where(good, new, old) for new, old in zip(moved, memory, strict=True)])

    return memory, direction, learn


def _newton(n: int, dtype: Any, exact: Any) -> tuple[Any, Callable[..., Any], Callable[..., Any]]:
    """Nothing is learnt: steps are exact."""

    def direction(x: Any, gradient: Any, memory: Any) -> Any:
        return exact(x, gradient)

    return (np.zeros(1),), direction, lambda memory, s, y: memory


@constructor(morphisms="loss")
def minimize(
    loss: MorphismLike,
    method: str = "bfgs",
    rtol: float | None = None,
    atol: float | None = None,
    max_steps: int = 1000,
    on_failure: str = "raise",
) -> D:
    """The x at which `loss(x, *args)` has a local minimum, as a morphism `(x0, *args) -> x`.

    x has the space of the start `x0`: floating arrays of any shapes, or a tree of them; integers become float64. The loss is a
    floating number without axes.

    - `method="bfgs"`: the inverse Hessian is learnt from steps, an array of n^2 numbers.
    - `method="l-bfgs"`: the last ten steps are kept.
    - `method="newton-cg"`: Newton's method.

    Newton's steps on the gradient finish all of them. The Hessian is that of `ct.hessian`, inverted by its structure where it
    has few numbers or few unknowns, else by conjugate gradients with products. They end where a step is within `rtol |x| +
    atol` (dimensionless; by default eps^(2/3) of the dtype), or after `max_steps` of them. The end is checked: the gradient
    is zero but for rounding, the loss has not grown, and no direction that is tried curves downwards. Else `ConvergenceError`
    says whether it stands at a saddle point, with loss, gradient and steps, and the lane of a batch; with `on_failure="nan"`
    that lane is NaN, and so are its derivatives. Raises `SpaceError` where the loss is no number, `ArgumentError` for other
    options.

    Derivatives of any order are those of the equation that the gradient is zero. That by `x0` is zero. Raises `SolveError`
    where the Hessian has no inverse.

    >>> import catad as ct, numpy as np
    >>> f = ct.minimize(lambda x, a: np.sum((x - a) ** 2) + np.sum(x) ** 2)
    >>> f(np.zeros(2), np.array([6.0, 9.0])).round(12)
    array([1., 4.])
    >>> ct.jacfwd(f, argnums=1)(np.zeros(2), np.array([6.0, 9.0])).round(12)
    array([[ 0.66666667, -0.33333333],
           [-0.33333333,  0.66666667]])

    Source: J. Nocedal and S. Wright, Numerical Optimization, 2006; the names of methods and options are SciPy's.
    """
    return Solution(morphism(loss, "ct.minimize"), Minimize(method, rtol, atol, max_steps, on_failure))
