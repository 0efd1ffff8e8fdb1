"""`ct.root`: where a function is zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from catad import errors
from catad.category.boxes import of_fields
from catad.category.constructors import constructor
from catad.category.spaces import Space, flatten
from catad.category.terms import D, MorphismLike, morphism
from catad.equations.implicit import corrected
from catad.equations.newton import newton
from catad.equations.solution import Ended, Problem, Solution
from catad.equations.tolerance import flat, shaped, tolerance

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wires

IS_TRACED = True  # finders call these functions


@of_fields
class Correction(D):
    """`(x, args)` to the leaves of Newton's correction d, with `J_x d = F(x, args)`."""

    equation: D

    def lay_out(self, b: Builder, x: Wires) -> Any:
        return tuple(corrected(b, self.equation, b.space(x), flatten(x), len(flatten(x[0])))[1])


@dataclass(frozen=True)
class Root(Problem):
    """A root of the function itself."""

    name = "root"
    methods = ("newton",)
    said = staticmethod(errors.root_not_found)

    def equation(self, f: D) -> D:
        return f

    def ended(self, f: D, unknown: Space, x: Any, args: Any) -> Ended:
        correction = Correction(f)
        tol = tolerance(unknown, self.rtol, self.atol)

        def residual(leaves: Any) -> Any:
            return flat(f(shaped(unknown, leaves), args))

        def change(leaves: Any) -> Any:
            return flat(correction(shaped(unknown, leaves), args))

        return newton(residual, change, flat(x), tol, self.max_steps)


@constructor(morphisms="residual")
def root(
    residual: MorphismLike,
    method: str = "newton",
    rtol: float | None = None,
    atol: float | None = None,
    max_steps: int = 100,
    on_failure: str = "raise",
) -> D:
    """Where a function is zero."""
    return Solution(morphism(residual, "ct.root"), Root(method, rtol, atol, max_steps, on_failure))
