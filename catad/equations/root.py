"""`ct.root`: where a function is zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from catad import errors
from catad.category.constructors import constructor
from catad.category.spaces import Space, flatten
from catad.category.terms import D, MorphismLike, morphism
from catad.equations.bracketing import bisected, brent
from catad.equations.corrections import Correction, JacobianProduct
from catad.equations.krylov import gmres
from catad.equations.newton import newton
from catad.equations.solution import Ended, Problem, Solution
from catad.equations.tolerance import Tolerance, apart, flat, joined, parted, shaped, tolerance

IS_TRACED = True  # finders call these functions
BRACKETING = ("brent", "bisect")
ACCURATE, KRYLOV = 1e-4, 1e-10  # residuals that GMRES leaves of a step, and of a derivative


@dataclass(frozen=True)
class Root(Problem):
    """A root of the function itself, between two numbers where they are given."""

    bracket: tuple[float, float] | None = None
    name = "root"
    methods = ("newton", "krylov", "brent", "bisect")

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.bracket is None) == (self.method in BRACKETING):
            raise errors.ArgumentError(errors.bracket_and_method(self.method, self.bracket, BRACKETING))
        if self.bracket is not None:
            object.__setattr__(self, "bracket", _bracket(self.bracket))

    @property
    def said(self) -> Any:  # type: ignore[override]
        return errors.root_not_found if self.bracket is None else errors.no_root_between

    @property
    def derivative_rtol(self) -> float | None:
        return KRYLOV if self.method == "krylov" else None

    def equation(self, f: D) -> D:
        return f

    def ended(self, f: D, dom: Space, x: Any, args: Any) -> Ended:
        unknown: Space = dom.factors[0]  # type: ignore[attr-defined]
        if self.bracket is not None:
            return self.between(f, unknown, args, *self.bracket)
        correction, times = Correction(f), JacobianProduct(f)
        tol = tolerance(unknown, self.rtol, self.atol)

        def residual(leaves: Any) -> Any:
            return flat(f(shaped(unknown, leaves), args))

        def change(leaves: Any) -> Any:
            point = shaped(unknown, leaves), args
            if self.method == "newton":
                return flat(correction(point))

            def product(v: Any) -> Any:
                return joined(times(point, tuple(flatten(apart(unknown, v)))))

            return parted(unknown, gmres(product, np.concatenate(residual(leaves)), ACCURATE))

        return newton(residual, change, flat(x), tol, self.max_steps)


    def between(self, f: D, unknown: Space, args: Any, low: float, high: float) -> Ended:
        """The root between the ends of the bracket."""
        if [leaf.size for leaf in unknown.leaves] != [1]:
            raise errors.SpaceError(errors.bracket_of_many(self.method, unknown))
        dtype, way = unknown.leaves[0].dtype, brent if self.method == "brent" else bisected
        eps = float(np.finfo(dtype).eps)
        rtol, atol = 4 * eps if self.rtol is None else self.rtol, eps ** (4 / 3) if self.atol is None else self.atol

        def value(number: Any) -> Any:
            return joined(f(shaped(unknown, (np.reshape(number, 1),)), args))[0]

        return way(value, dtype.type(low), dtype.type(high), Tolerance(rtol, atol, eps), self.max_steps)


def _bracket(given: Any) -> tuple[float, float]:
    try:
        low, high = [float(end) for end in given]
    except (TypeError, ValueError):
        raise errors.ArgumentError(errors.not_a_bracket(given)) from None
    if not -np.inf < low < high < np.inf:
        raise errors.ArgumentError(errors.not_a_bracket(given))
    return low, high


@constructor(morphisms="residual")
def root(
    residual: MorphismLike,
    method: str = "newton",
    rtol: float | None = None,
    atol: float | None = None,
    max_steps: int = 300,
    on_failure: str = "raise",
    bracket: tuple[float, float] | None = None,
) -> D:
    """The x with `residual(x, *args) == 0`, as a morphism `(x0, *args) -> x`.

    x has the space of the start `x0`: floating arrays of any shapes, or a tree of them; integers become float64. The residual
    gives as many floating numbers as x has, in any tree.

    - `method="newton"`: Newton's method, with a line search. The Jacobian is that of `ct.jacobian`, inverted by its structure: n
      equations whose Jacobian is a band take O(n) a step.
    - `method="krylov"`: the same by products with the Jacobian alone (GMRES), also for derivatives.
    - `method="brent"` or `"bisect"` with `bracket=(a, b)`: the root of a function of one number between two finite numbers at
      which it has different signs. x0 says only which dtype x has.

    The search ends where Newton's step is within `rtol |x| + atol` (dimensionless; by default eps^(2/3) of the dtype, so that
    the last step leaves rounding errors), or where rounding hides whether the residual falls; a bracket ends at 4 eps of x. A
    start at which the residual is 0 is the solution. What does not converge within `max_steps` steps, or meets a Jacobian
    without an inverse, raises `ConvergenceError` with the residual, the step and where it stood, and the lane of a batch; with
    `on_failure="nan"` that lane is NaN, and so are its derivatives. Raises `SpaceError` where numbers of equations and unknowns
    differ, `ArgumentError` for other options.

    Derivatives of any order are those of the implicit function theorem, `-J_x^-1 J_a`, whatever the steps were; the Jacobian of a
    solution keeps that structure. That by `x0` is zero. Raises `SolveError` where the Jacobian has no inverse at the root.

    >>> import catad as ct, numpy as np
    >>> f = ct.root(lambda x, a: x * x - a)
    >>> f(1.0, 4.0), ct.grad(f, argnums=1)(1.0, 4.0)
    (np.float64(2.0), np.float64(0.25))
    >>> ct.vmap(f)(np.ones(3), np.array([1.0, 4.0, 9.0]))
    array([1., 2., 3.])

    Source: P. Deuflhard, Newton Methods for Nonlinear Problems, 2011; R. Brent, Algorithms for Minimization without Derivatives,
    1973, chapter 4; the names of methods and options are those of SciPy and optimistix.
    """
    return Solution(morphism(residual, "ct.root"), Root(method, rtol, atol, max_steps, on_failure, bracket))
