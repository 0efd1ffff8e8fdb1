"""`MapApplied`: a linear map applied to an argument, as a morphism of its slots and the argument."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catad.category.boxes import of_fields
from catad.category.spaces import flatten
from catad.category.terms import D
from catad.linear.families.contract import zeros
from catad.linear.structure import Structure

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wires


@of_fields
class MapApplied(D):
    """A linear map applied: slots and argument leaves to the result leaves."""

    of: Structure

    def lay_out(self, b: Builder, x: Wires) -> Any:
        leaves, n = flatten(x), len(self.of.slots)
        made = self.of.apply(b, leaves[:n], leaves[n:])
        return tuple([zeros(b, space) if y is None else y for y, space in zip(made, self.of.cod, strict=True)])
