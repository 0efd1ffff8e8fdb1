"""Steps of explicit Runge-Kutta methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catad.equations.ode.dense_output import hermite
from catad.equations.ode.method import Leaves, Method, Slopes, Step
from catad.equations.ode.tableaus import Tableau


@dataclass(frozen=True)
class Explicit(Method):
    """The method of a tableau."""

    tableau: Tableau

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.tableau.name

    @property
    def order(self) -> int:  # type: ignore[override]
        return self.tableau.order

    @property
    def error_order(self) -> int:  # type: ignore[override]
        return self.tableau.error_order

    def step(self, slopes: Slopes, t: Any, h: Any, y: Leaves, first: Leaves, carried: Any, args: Any) -> Step:
        own, found, end = self.tableau, [first], y
        for c, row in zip(own.c[1:], own.a, strict=True):
            end = moved(y, h, row, found)
            found.append(slopes(t + c * h, end, args))
        if not own.ends_with_slope:
            end = moved(y, h, own.b, found)
            found.append(slopes(t + h, end, args))
        error = summed(h, own.e, found) if own.e else None
        kept = (y, end, first, found[-1], *([summed(None, own.d, found)] if own.d else []))
        return Step(end, found[-1], error, kept)

    def at_rest(self, y: Leaves, first: Leaves) -> tuple[Leaves, ...]:
        zeros = tuple([np.zeros_like(leaf) for leaf in y])
        end = moved(y, 1.0, (1.0,), [first])
        return (y, end, first, first, *([zeros] if self.tableau.d else []))

    def within(self, part: Any, h: Any, kept: tuple[Any, ...]) -> Any:
        return hermite(part, h, kept)


def summed(h: Any, weights: Sequence[float], found: Sequence[Leaves]) -> Leaves:
    """A weighted sum of slopes, times h if there is one; weights that are 0 are left out."""
    made = []
    for leaves in zip(*found, strict=True):
        parts = [w * leaf for w, leaf in zip(weights, leaves, strict=True) if w != 0.0]
        whole = parts[0]
        for part in parts[1:]:
            whole = whole + part
        made.append(whole if h is None else size_for(h, whole) * whole)
    return tuple(made)


def moved(y: Leaves, h: Any, weights: Sequence[float], found: Sequence[Leaves]) -> Leaves:
    """y and h times a weighted sum of slopes."""
    if not any(weights):
        return y
    return tuple([leaf + step for leaf, step in zip(y, summed(h, weights, found), strict=True)])


def size_for(h: Any, leaf: Any) -> Any:
    """A step size in the dtype of an array, so that float32 stays."""
    return h if isinstance(h, float) else h.astype(leaf.dtype)
