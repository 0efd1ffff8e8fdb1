"""What a method for `y' = f(t, y)` says of a step; `adaptive.py` and `fixed.py` take the steps.

Methods are written as functions on arrays, which are traced. y is a tuple of arrays, and so is each other value that is made like
it: slopes, errors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

from catad import errors
from catad.category.spaces import Space, rebuild
from catad.category.terms import D
from catad.values.trees import tree_leaves

Leaves = tuple[Any, ...]  # those of y


@dataclass(frozen=True)
class Slopes:
    """The right-hand side: a morphism of `(t, y, args)`, which is in `dom`, to slopes in the space of y."""

    f: D
    dom: Space

    @property
    def unknown(self) -> Space:
        """The space of y."""
        space: Space = self.dom.factors[1]  # type: ignore[attr-defined]
        return space

    def __call__(self, t: Any, y: Leaves, args: Any) -> Leaves:
        """The slopes at a point, in the dtypes of y."""
        made = tree_leaves(self.f(t, rebuild(self.unknown, y), args))
        return tuple([one.astype(space.dtype) for one, space in zip(made, self.unknown.leaves, strict=True)])


class Step(NamedTuple):
    """A step: the end, the slopes there, the estimated error (None without one), and what dense output is made of.

    `kept` are tuples like y. `carried` is what the next step may start from beside the slopes.
    """

    end: Leaves
    slopes: Leaves
    error: Leaves | None
    kept: tuple[Leaves, ...]
    carried: Any = ()


class Method(ABC):
    """One way to take steps; its fields are data."""

    name: str
    order: int
    error_order: int  # of the estimate; 0 without one

    @property
    def beta(self) -> float:
        """The exponent by which the error of the last step counts in the next step size."""
        return 0.04

    @abstractmethod
    def step(self, slopes: Slopes, t: Any, h: Any, y: Leaves, first: Leaves, carried: Any, args: Any) -> Step:
        """A step of length h from (t, y), where the slopes are `first`; h has a sign, and may be a constant for derivatives."""

    @abstractmethod
    def at_rest(self, y: Leaves, first: Leaves) -> tuple[Leaves, ...]:
        """What is kept of a step of length 1 that has not been taken: its dense output has value and slope at the start."""

    def start(self, y: Leaves, first: Leaves) -> Any:
        """What the first step starts from beside the slopes."""
        return ()

    @abstractmethod
    def within(self, part: Any, h: Any, kept: tuple[Any, ...]) -> Any:
        """One array of y at a part of a step, from 0 to 1, from what is kept of it; all broadcast."""


def checked(f: D, unknown: Space, made: Space) -> None:
    """Raise where slopes are not made like y."""
    if [leaf.shape for leaf in made.leaves] != [leaf.shape for leaf in unknown.leaves]:
        raise errors.SpaceError(errors.slopes_of_another_shape(f, unknown, made))


class OfTableau(Method):
    """A method that a tableau gives, which has its name and its orders."""

    tableau: Any

    @property
    def name(self) -> str:  # type: ignore[override]
        return str(self.tableau.name)

    @property
    def order(self) -> int:  # type: ignore[override]
        return int(self.tableau.order)

    @property
    def error_order(self) -> int:  # type: ignore[override]
        return int(self.tableau.error_order)
