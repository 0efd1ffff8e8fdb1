"""Where a function of time and state becomes zero within a step.

A step is followed by others until the function has changed its sign over a step. The place is then found on the dense output of
that step, by bisection, and has the derivative of the implicit function theorem; so have the time and the state there.
(E. Hairer, S. P. Norsett and G. Wanner, *Solving Ordinary Differential Equations I*, II.6.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from catad.category.boxes import of_fields
from catad.category.spaces import Space, flatten, rebuild
from catad.category.terms import D
from catad.equations.implicit import Implicit
from catad.equations.ode.method import Leaves, Method
from catad.traced.function import function_term
from catad.vector.stop_gradient import stop_gradient

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wires


@dataclass(frozen=True)
class Event:
    """The function, a morphism of `(t, y, args)` to a number; the sign of its changes that count, or 0; the space of y."""

    g: D
    direction: int
    unknown: Space

    def __call__(self, t: Any, y: Leaves, args: Any) -> Any:
        """The value at a point, as a number of its own: it may be one of y."""
        return self.g(t, rebuild(self.unknown, y), args) + 0.0

    def changes(self, before: Any, after: Any) -> Any:
        """Whether there is an event between two values."""
        up, down = (before < 0.0) & (after >= 0.0), (before > 0.0) & (after <= 0.0)
        return up if self.direction > 0 else down if self.direction < 0 else up | down

    def found(self, method: Method, there: Any, begin: Any, h: Any, kept: tuple[Leaves, ...], args: Any) -> tuple[Any, Leaves]:
        """Time and state of the event within a step, NaN where there is none."""

        def value(part: Any, given: Any) -> Any:
            there, begin, h, kept, args = given
            return np.where(there, self(begin + part * h, within(method, part, h, kept), args), part)[()]

        given = (there, begin, h, kept, args)
        fixed = stop_gradient(given)
        low, high = 0.0 * h, 0.0 * h + 1.0
        side = np.sign(value(low, fixed))
        for _ in range(np.finfo(h.dtype).nmant + 2):
            middle = 0.5 * (low + high)
            passed = value(middle, fixed) * side <= 0.0
            low, high = np.where(passed, low, middle)[()], np.where(passed, middle, high)[()]
        part = RootOf(function_term(value))(high, given)
        y = [np.where(there, leaf, np.nan).astype(leaf.dtype) for leaf in within(method, part, h, kept)]
        return np.where(there, begin + part * h, np.nan).astype(h.dtype)[()], tuple(y)


def within(method: Method, part: Any, h: Any, kept: tuple[Leaves, ...]) -> Leaves:
    """The state at a part of a step."""
    leaves = []
    for like in zip(*kept, strict=True):
        leaves.append(method.within(part.astype(like[0].dtype), h.astype(like[0].dtype), like))
    return tuple(leaves)


@of_fields
class RootOf(D):
    """(x, given) to x, a number at which `f(x, given)` is zero, with the derivative of that equation."""

    f: D

    def lay_out(self, b: Builder, x: Wires) -> Any:
        root, given = x
        leaves = flatten(given)
        return b.add(Implicit(self.f, b.space(x), len(leaves)), *leaves, root)[0]
