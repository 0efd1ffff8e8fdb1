"""`inverse_on`: the inverse of a map J, or of 1 - c J with a number c, whose numbers are wires.

It is what implicit methods solve with in each step: those of Newton with J, those of Rosenbrock with 1 - h g J. The structure of
J says how; see `linear/families/inverses.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from catad.category.spaces import Tensor
from catad.linear.families.block import assemble, chain, diagonal_block, total
from catad.linear.families.delta import Delta, delta
from catad.linear.families.inverses import inverse_of
from catad.linear.families.ordered_inverse import Inverted, inverse_of_entries
from catad.linear.products import multiply
from catad.linear.solving.ordering import order_of
from catad.linear.structure import Structure, apart

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

ARRAY = 2  # a band has at most so many times as many numbers as the slots of the map
OnWires = tuple[Structure, list["Wire"]]  # a map, and the wires of its slots


def inverse_on(b: Builder, of: Structure, slots: Sequence[Wire], shift: Wire | None = None, often: bool = False) -> OnWires:
    """The inverse of a square map with these wires in its slots, or of 1 - c of it, c being the wire `shift` of one number.

    The map goes from leaves to as many of the same shapes. The factors are made by boxes that are added here, once for all
    that is solved with the result and its transpose. Where much is solved with it, which `often` says, a dense matrix or a band
    is an array of its own, if it is not much larger than the slots: its derivative is pulled back once for all solutions.

    >>> import catad as ct, numpy as np
    >>> from catad.category.wiring import Builder
    >>> J = ct.jacobian(lambda u: u[0] * np.roll(u, 1) - u**2)(np.ones(3))
    >>> b = Builder()
    >>> M, factors = inverse_on(b, J.structure, b.wires(J.slots), b.wires(0.5))
    >>> (M.dom, M.cod, len(factors) == len(M.slots))
    ((ct.f64[3],), (ct.f64[3],), True)
    """
    of, wires = (of, list(slots)) if shift is None else shifted_on(b, of, slots, shift)
    found = inverse_of(of)
    if often and any(part.has_factors for part, _ in found.structure.series):
        found = _of_entries(of) or found
    return found.structure, list(found.slots(b, wires))


def _of_entries(of: Structure) -> Inverted | None:
    order = order_of(of)
    if order is None or order.kind == "diagonal":
        return None
    small = order.kind == "general" or (order.read is not None and order.read.size <= ARRAY * of.stored)
    return inverse_of_entries(of, order) if small else None


def shifted_on(b: Builder, of: Structure, slots: Sequence[Wire], shift: Wire) -> OnWires:
    """1 - c J: a dense J becomes another array, all others stay a part of a sum."""
    assert shift.shape == () and [leaf.shape for leaf in of.dom] == [leaf.shape for leaf in of.cod]
    one = diagonal_block([_retyped(into, out) for into, out in zip(of.dom, of.cod, strict=True)])
    if of.is_zero:
        return one, []
    scales = [_scale(leaf, shift.space) for leaf in of.cod]
    if of.is_full:
        product = multiply(of, scales[0])
        if product is not None:
            return total(apart(one, product.structure)), product.combine(b, slots, [shift])
    c = len(slots)
    lines = [[(part, (0,)) if r == k else None for k in range(len(scales))] for r, part in enumerate(scales)]
    scale = assemble(lines, of.cod, of.cod, (shift.space,))
    scaled = chain([(of, tuple(range(c))), (scale, (c,))])
    return total([(one, ()), (scaled, tuple(range(c + 1)))]), [*slots, shift]


def _retyped(into: Tensor, out: Tensor) -> Structure:
    axes = tuple(range(into.ndim))
    return delta(axes, axes, None, into.shape, into.dtype, out.dtype)


def _scale(leaf: Tensor, number: Tensor) -> Delta:
    """Minus a number times what stands in a leaf."""
    axes = tuple(range(leaf.ndim))
    return delta(axes, axes, (), leaf.shape, leaf.dtype, leaf.dtype, number.dtype, -1.0)
