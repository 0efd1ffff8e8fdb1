"""Primitives written outside the package: the base class, what its methods take and return, and short forms.

`function` makes a primitive of array code and its linear map, `linear` one that is linear in its arguments, `pointwise` one
that is known by its partials. `Primitive` with `box` is the long form, of which the others are cases. Its methods are given a
`Builder` and `Wire`s, and return a `Rule`, which `rule_from` makes of a linear map. docs/extending.md writes one of each.

>>> import catad as ct, numpy as np
>>> cubed = ct.primitive.pointwise(lambda x: x**3, lambda x, y: 3.0 * x * x)
>>> ct.grad(cubed >> ct.sum())(np.array([1.0, 2.0]))
array([ 3., 12.])
"""

from typing import TYPE_CHECKING

from catad.boxes import Primitive, box
from catad.linear.structure import Rule
from catad.primitive.function import function
from catad.primitive.linear import linear
from catad.primitive.pointwise import pointwise
from catad.primitive.rules import rule_from
from catad.wiring import Box, Builder, Wire, Wiring

__all__ = [
    "Box",
    "Builder",
    "Primitive",
    "Rule",
    "Wire",
    "Wiring",
    "box",
    "function",
    "linear",
    "pointwise",
    "rule_from",
]


def __dir__() -> list[str]:
    """The public names only."""
    return list(__all__)


if not TYPE_CHECKING:

    def __getattr__(name):  # the package's own boxes, as their repr names them
        from catad.syntax import internal_classes

        found = internal_classes().get(name)
        if found is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return found
