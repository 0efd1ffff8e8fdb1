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
    """Where a function is zero."""
    return Solution(morphism(residual, "ct.root"), Root(method, rtol, atol, max_steps, on_failure, bracket))
