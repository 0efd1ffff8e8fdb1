"""Primitives written outside the package: the base class, what its methods take and return, and short forms.

`function` makes a primitive of array code and its linear map, `linear` one that is linear in its arguments, `pointwise` one
that is known by its partials. `Primitive` with `box` is the long form, of which the others are cases. Its methods are given a
`Builder` and `Wire`s, and return a `Rule`, which `rule_from` makes of a linear map. docs/extending.md writes one of each.

>>> import catad as ct, numpy as np
>>> cubed = ct.primitive.pointwise(lambda x: x**3, lambda x, y: 3.0 * x * x)
>>> ct.grad(cubed >> ct.sum())(np.array([1.0, 2.0]))
array([ 3., 12.])
"""

from typing import TYPE_CHECKING, Any

from catad.support.lazy_names import first_use

if TYPE_CHECKING:
    from catad.category.boxes import Primitive as Primitive
    from catad.category.boxes import box as box
    from catad.category.wiring import Box as Box
    from catad.category.wiring import Builder as Builder
    from catad.category.wiring import Wire as Wire
    from catad.category.wiring import Wiring as Wiring
    from catad.linear.structure import Rule as Rule
    from catad.primitive.function import function as function
    from catad.primitive.linear import linear as linear
    from catad.primitive.pointwise import pointwise as pointwise
    from catad.primitive.rules import rule_from as rule_from


def _own_box(name: str) -> Any:
    """A box of the package, as its repr names it."""
    from catad.category.text import internal_classes

    return internal_classes().get(name)


first_use(__name__, others=_own_box)
