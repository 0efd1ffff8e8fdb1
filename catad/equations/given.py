"""`ct.implicit`: the derivative of an equation for a solution that somebody else found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from catad import errors
from catad.category.constructors import constructor
from catad.category.spaces import Space
from catad.category.terms import D, MorphismLike, morphism
from catad.equations.solution import Ended, Problem, Solution
from catad.equations.tolerance import flat, largest, moved_by, shaped, tolerance

IS_TRACED = True  # finders call these functions
BEYOND = 10.0  # times what is seen of a change of x, which may cancel


@dataclass(frozen=True)
class GivenSolution(Problem):
    """A root that is given. Each residual is small beside what a change of x by the tolerance makes of it, if it is checked."""

    check: bool = True
    name = "implicit"
    methods = ("given",)
    said = staticmethod(errors.not_a_solution)

    def equation(self, f: D) -> D:
        return f

    def ended(self, f: D, dom: Space, x: Any, args: Any) -> Ended:
        unknown: Space = dom.factors[0]  # type: ignore[attr-defined]
        leaves = flat(x)
        if not self.check:
            return Ended(largest(leaves) >= 0.0, leaves, ())
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
    """A solution that somebody else found, with the derivative of its equation."""
    given = GivenSolution("given", rtol, atol, 0, on_failure, bool(check))
    return Solution(morphism(residual, "ct.implicit"), given)
