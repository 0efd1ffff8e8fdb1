"""`ct.root`: where a function is zero, by Newton's method with the structured Jacobian."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.boxes import of_fields
from catad.category.constructors import constructor
from catad.category.spaces import Space, flatten, rebuild
from catad.category.terms import D, MorphismLike, morphism
from catad.equations.implicit import corrected
from catad.equations.solution import Problem, Solution
from catad.traced.function import function_term
from catad.vector.loops.converged import WhereConverged

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wires


@of_fields
class Correction(D):
    """`(x, args)` to the leaves of F(x, args) and to those of Newton's correction d, with `J_x d = F`."""

    equation: D

    def lay_out(self, b: Builder, x: Wires) -> Any:
        n = len(flatten(x[0]))
        values, step = corrected(b, self.equation, b.space(x), flatten(x), n)
        return tuple(values), tuple(step)


@dataclass(frozen=True)
class Root(Problem):
    """Newton's method."""

    rtol: float | None
    atol: float | None
    max_steps: int
    name = "root"

    def equation(self, f: D) -> D:
        return f

    def finder(self, f: D, dom: Space) -> D:
        unknown: Space = dom.factors[0]  # type: ignore[attr-defined]
        dtype = np.result_type(*[leaf.dtype for leaf in unknown.leaves])
        rtol = float(np.finfo(dtype).eps) ** (2 / 3) if self.rtol is None else self.rtol
        atol = rtol if self.atol is None else self.atol
        correction, end = Correction(f), WhereConverged(errors.root_not_found)

        def find(x: Any, args: Any) -> Any:
            leaves = tuple(flatten(x))
            steps, size = 0, np.float64(np.inf)
            values, change = correction(rebuild(unknown, leaves), args)
            while (size > 1.0) & (steps < self.max_steps):
                leaves = tuple([a - d for a, d in zip(leaves, change, strict=True)])
                size = scaled(change, leaves, rtol, atol)
                values, change = correction(rebuild(unknown, leaves), args)
                steps = steps + 1
            residual = np.sqrt(sum([np.sum(v * v) for v in values]))
            found = end(size <= 1.0, (residual, size, np.float64(steps)), leaves)
            return rebuild(unknown, list(found))

        return function_term(find)


def scaled(change: Any, leaves: Any, rtol: float, atol: float) -> Any:
    """The largest part of a change beside the tolerance of its number."""
    parts = [np.max(np.abs(d) / (atol + rtol * np.abs(a))) for d, a in zip(change, leaves, strict=True)]
    return max(parts[1:], default=parts[0])


@constructor(morphisms="residual")
def root(residual: MorphismLike, rtol: float | None = None, atol: float | None = None, max_steps: int = 50) -> D:
    """Where a function is zero."""
    return Solution(morphism(residual, "ct.root"), Root(rtol, atol, max_steps))
