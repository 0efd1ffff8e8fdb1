"""Several axes as one: what is folded along axes is folded along one axis that has all of their indices in C order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from catad.linear.families.contract import contract, repeated
from catad.linear.families.reindex import reshaped

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


def transposed(b: Builder, x: Wire, order: Sequence[int]) -> Wire:
    """The wire with its axes in an order; no box where they have it."""
    return contract(b, [tuple(range(x.ndim))], [x], tuple(order), x.shape)


def spread(b: Builder, y: Wire, x: Wire, axes: Sequence[int]) -> Wire:
    """A result without some axes of x, repeated along them."""
    return repeated(b, y, [k for k in range(x.ndim) if k not in axes], x.shape)


def exchanged(b: Builder, x: Wire) -> Wire:
    """The wire with its first two axes exchanged."""
    return transposed(b, x, (1, 0, *range(2, x.ndim)))


class Merge(NamedTuple):
    """How some axes of arrays with `ndim` axes become one: they are ordered first, `several` of them from `at` on are one then.

    Axes that stand side by side stay where they are, others are moved behind all others. No axes become one of size 1 at the end.
    """

    order: tuple[int, ...]
    at: int
    several: int

    @property
    def moves(self) -> bool:
        """Whether axes change their places."""
        return self.order != tuple(range(len(self.order)))

    def into(self, b: Builder, x: Wire) -> Wire:
        """The wire with the axes as one, at `at`; an array with fewer axes is lined up from the last on, as NumPy does."""
        x = reshaped(b, x, (*[1] * (len(self.order) - x.ndim), *x.shape))
        x = transposed(b, x, self.order)
        one = math.prod(x.shape[self.at : self.at + self.several])
        return reshaped(b, x, (*x.shape[: self.at], one, *x.shape[self.at + self.several :]))

    def out_of(self, b: Builder, y: Wire, shape: Sequence[int]) -> Wire:
        """The wire with the axes apart again, in the shape before."""
        y = reshaped(b, y, [shape[k] for k in self.order])
        return transposed(b, y, [self.order.index(k) for k in range(len(self.order))])


def merge(ndim: int, axes: Sequence[int]) -> Merge:
    """The merge of some axes, counted from the front."""
    chosen = sorted(axes)
    rest = [k for k in range(ndim) if k not in chosen]
    if chosen == list(range(chosen[0], chosen[-1] + 1)) if chosen else False:
        return Merge(tuple(range(ndim)), chosen[0], len(chosen))
    return Merge((*rest, *chosen), len(rest), len(chosen))


def unit_axes(b: Builder, y: Wire, shape: Sequence[int], axes: Sequence[int]) -> Wire:
    """A result without some axes of a shape, with size 1 for each of them."""
    return reshaped(b, y, [1 if k in axes else n for k, n in enumerate(shape)])
