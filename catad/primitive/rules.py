"""Rules from linear maps: a function from wires to a `LinearMap`, traced into a structure and the boxes that fill its slots."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from catad import errors
from catad.category.spaces import Product, Tensor, flatten
from catad.category.wiring import Builder
from catad.linear.map import LinearMap
from catad.linear.structure import Rule

if TYPE_CHECKING:
    from catad.category.wiring import Wire


def rule_from(
    derivative: Callable[..., LinearMap], ins: tuple[Tensor, ...], outs: tuple[Tensor, ...], named: object = None
) -> Rule | None:
    """The rule of a box whose derivative is `derivative(*arguments, *results)`, a linear map with wires for its numbers.

    The map goes from the tangents of the floating arguments to those of the floating results, each in its order. Boxes
    compute its numbers, so the rule differentiates to any order. None where no argument or no result is floating. Raises
    `ExtensionError` where the map does not fit.

    >>> import catad as ct
    >>> rule = ct.primitive.rule_from(lambda x, y: ct.scale(2.0 * x), (ct.f64[3],), (ct.f64[3],))
    >>> rule.structure.kind
    'diagonal'
    """
    dom = tuple([space for space in ins if space.is_float])
    cod = tuple([space for space in outs if space.is_float])
    if not dom or not cod:
        return None
    b = Builder()
    wires = tuple([b.wire(space) for space in (*ins, *outs)])
    linear: Any = derivative(*wires)
    named = derivative if named is None else named
    if not isinstance(linear, LinearMap):
        raise errors.ExtensionError(errors.wrong_derivative(named, linear, dom, cod))
    if linear.weak and dom == cod and len(dom) == 1 and dom[0].shape == ():
        linear = linear._retyped(dom[0].dtype)
    structure = linear.structure
    if structure.dom != dom or structure.cod != cod:
        raise errors.ExtensionError(errors.wrong_derivative(named, linear, dom, cod))
    slots = tuple(flatten(b.wires(tuple(linear.slots))))
    wiring = b.finish(Product((*ins, *outs)), wires, slots)

    def coefficients(args: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
        given = (*args, *results)
        return given[0].builder.inline(wiring, given)

    return Rule(structure, coefficients)
