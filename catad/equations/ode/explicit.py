"""Steps of explicit Runge-Kutta methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catad.category.terms import D
from catad.equations.ode.dense_output import hermite
from catad.equations.ode.method import Leaves, OfTableau, Slopes, Step
from catad.equations.ode.tableaus import Tableau
from catad.support.lru import remembered
from catad.vector.pointwise.map import MapOf


@dataclass(frozen=True)
class Explicit(OfTableau):
    """The method of a tableau."""

    tableau: Tableau

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
        end = tuple([leaf + slope for leaf, slope in zip(y, first, strict=True)])
        return (y, end, first, first, *([zeros] if self.tableau.d else []))

    def within(self, part: Any, h: Any, kept: tuple[Any, ...]) -> Any:
        return hermite(part, h, kept)


def summed(h: Any, weights: Sequence[float], found: Sequence[Leaves]) -> Leaves:
    """A weighted sum of slopes, times h if there is one; weights that are 0 are left out."""
    total = weighted_sum(tuple([w for w in weights if w != 0.0]))
    used = [leaves for w, leaves in zip(weights, found, strict=True) if w != 0.0]
    made = tuple([total(leaves) for leaves in zip(*used, strict=True)])
    return made if h is None else tuple([size_for(h, whole) * whole for whole in made])


@remembered
def weighted_sum(weights: tuple[float, ...]) -> D:
    """The pointwise box from as many arrays to the sum of their products with the weights."""

    def of_arrays(arrays: Any) -> Any:
        whole = weights[0] * arrays[0]
        for w, array in zip(weights[1:], arrays[1:], strict=True):
            whole = whole + w * array
        return whole

    return MapOf(of_arrays)


def moved(y: Leaves, h: Any, weights: Sequence[float], found: Sequence[Leaves]) -> Leaves:
    """y and h times a weighted sum of slopes."""
    if not any(weights):
        return y
    return tuple([AHEAD(leaf, size_for(h, whole), whole) for leaf, whole in zip(y, summed(None, weights, found), strict=True)])


AHEAD = MapOf(lambda y, h, slope: y + h * slope)


def size_for(h: Any, leaf: Any) -> Any:
    """A step size in the dtype of an array, so that float32 stays."""
    return h.astype(leaf.dtype)
