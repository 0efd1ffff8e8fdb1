"""`ct.root`: where a function is zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from catad import errors
from catad.category.boxes import of_fields
from catad.category.constructors import constructor
from catad.category.spaces import Space, flatten
from catad.category.terms import D, MorphismLike, morphism
from catad.category.wiring import wire
from catad.equations.implicit import corrected
from catad.equations.newton import newton
from catad.equations.solution import Ended, Problem, Solution
from catad.equations.tolerance import flat, shaped, tolerance
from catad.linear.solving.lenient import made_lenient

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wires

IS_TRACED = True  # finders call these functions


@of_fields
class _Strict(D):
    """`Correction`, with an error for a Jacobian that has no inverse."""

    equation: D

    def lay_out(self, b: Builder, x: Wires) -> Any:
        return tuple(corrected(b, self.equation, b.space(x), flatten(x), len(flatten(x[0])))[1])


@of_fields
class Correction(D):
    """`(x, args)` to the leaves of Newton's correction d, with `J_x d = F(x, args)`; NaN where the Jacobian has no inverse."""

    equation: D

    def lay_out(self, b: Builder, x: Wires) -> Any:
        wiring = wire(_Strict(self.equation), b.space(x))
        return tuple(b.inline(made_lenient(wiring), flatten(x)))


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
