"""`ct.implicit`: the derivative of an equation for a solution that somebody else found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from catad import errors
from catad.category.constructors import constructor
from catad.category.spaces import Space, flatten
from catad.category.terms import D, MorphismLike, morphism
from catad.equations.solution import Ended, Problem, Solution
from catad.equations.tolerance import flat, largest, moved_by, shaped, tolerance
from catad.support.options import truth_value
from catad.traced.function import function_term

IS_TRACED = True  # finders call these functions
BEYOND = 10.0  # times what is seen of a change of x, which may cancel


@dataclass(frozen=True)
class GivenSolution(Problem):
    """A root that is given: where it is checked, residuals are small beside what a change of x by the tolerance makes."""

    check: bool = True
    name = "implicit"
    methods = ("given",)
    said = staticmethod(errors.not_a_solution)

    def equation(self, f: D) -> D:
        return f

    def finder(self, f: D, dom: Space) -> D:
        return super().finder(f, dom) if self.check else function_term(lambda x, args: (flatten(x), ()))

    def ended(self, f: D, dom: Space, x: Any, args: Any) -> Ended:
        unknown: Space = dom.factors[0]  # type: ignore[attr-defined]
        leaves = flat(x)
        tol = tolerance(unknown, self.rtol, self.atol, 0.25)
        here = flat(f(x, args))
        there = [flat(f(shaped(unknown, moved), args)) for moved in moved_by(leaves, tol)]
        beside = np.float64(0.0)
        fits: Any = np.bool_(True)
        for k, own in enumerate(here):
            bound = np.max(np.stack([np.abs(one[k] - own) for one in there]), axis=0)
            if own.size:
                fits = fits & np.all(np.abs(own) <= BEYOND * bound)
                beside = np.maximum(beside, np.max(np.where(own == 0, 0.0, np.abs(own) / np.where(bound == 0, np.inf, bound))))
        return Ended(fits, leaves, (largest(here), beside))


@constructor(morphisms="residual")
def implicit(
    residual: MorphismLike,
    rtol: float | None = None,
    atol: float | None = None,
    check: bool = True,
    on_failure: str = "raise",
) -> D:
    """A solution that somebody else found, with the derivative of its equation: a morphism `(solution, *args) -> solution`.

    The solution comes from SciPy's solvers, a table or a simulation: floating arrays, or a tree of them, which are passed on as
    they are. `residual(solution, *args)` is the equation that it solves, with as many floating numbers; for a minimum that is
    `ct.grad(loss)`.

    Each number of the residual is checked to be small beside what a change of the solution by `rtol |x| + atol` (dimensionless;
    by default eps^(1/4) of the dtype) makes of it. Else it raises `ConvergenceError` with the residual, and the lane of a batch;
    with `on_failure="nan"` that lane is NaN, and so are its derivatives. `check=False` believes everything. Raises `SpaceError`
    where numbers of equations and unknowns differ, `ArgumentError` for other options.

    Derivatives of any order are those of the implicit function theorem. That by the solution is zero. Raises `SolveError` where
    the Jacobian has no inverse.

    >>> import catad as ct
    >>> from scipy.optimize import brentq
    >>> f = lambda x, a: x**3 + x - a
    >>> x = brentq(f, 0, 3, args=(2.0,))
    >>> ct.grad(ct.implicit(f), argnums=1)(x, 2.0).round(12)
    np.float64(0.25)

    Source: A. Griewank and A. Walther, Evaluating Derivatives, 2008, chapter 15.
    """
    given = GivenSolution("given", rtol, atol, 0, on_failure, truth_value(check, "check"))
    return Solution(morphism(residual, "ct.implicit"), given)
