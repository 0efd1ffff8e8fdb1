"""`pointwise`: a primitive that acts entry by entry, from array code and its partials.

    y[i] = f(x_1[i], ..., x_n[i])        dy[i] = sum_j p_j(x_1, ..., x_n, y)[i] dx_j[i]

So the Jacobian by each argument is a diagonal, with broadcast labels where the argument is stretched, as that of `ct.map`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.constructors import constructor
from catad.category.spaces import Product, Tensor
from catad.category.terms import D
from catad.category.wiring import Builder, Wire
from catad.linear.families.block import grid
from catad.linear.families.delta import pointwise as tied
from catad.linear.structure import Rule, Structure
from catad.primitive.function import OfFunctions
from catad.vector.pointwise.map import broadcast, lined_up

if TYPE_CHECKING:
    from collections.abc import Sequence


class Pointwise(OfFunctions):
    """An array function that acts entry by entry, and its partials by each argument."""

    __slots__ = ()
    chunks = "entries"

    @property
    def arity(self) -> int:
        return len(self._functions) - 1

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        try:
            shape = broadcast(ins)
        except ValueError:
            raise errors.SpaceError(errors.cannot_broadcast(ins, self)) from None
        return (Tensor(shape, np.result_type(*[s.dtype if s.is_float else np.dtype(np.float64) for s in ins])),)

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        """One diagonal for each floating argument; a partial that is a number is not stored, one that is None is zero."""
        b = Builder()
        wires = tuple([b.wire(space) for space in (*ins, *outs)])
        row: list[Structure | None] = []
        slots: list[Wire] = []
        for space, partial in zip(ins, self._functions[1:], strict=True):
            if not space.is_float:
                continue
            made = None if partial is None else partial.ready()(*wires)
            if made is None or (isinstance(made, (int, float)) and not isinstance(made, bool) and np.isfinite(made)):
                row.append(tied(space, outs[0], None, float(made)) if made else None)
                continue
            (slot,) = _leaves(b.wires(made))
            if np.broadcast_shapes(slot.shape, outs[0].shape) != outs[0].shape:
                raise errors.SpaceError(errors.cannot_broadcast((slot.space, outs[0]), self))
            slots.append(slot)
            row.append(tied(space, outs[0], slot.space))
        if not row:
            return None
        wiring = b.finish(Product((*ins, *outs)), wires, tuple(slots))

        def coefficients(args: tuple[Wire, ...], results: tuple[Wire, ...]) -> Sequence[Wire]:
            given = (*args, *results)
            return given[0].builder.inline(wiring, given)

        return Rule(grid([row], [space for space in ins if space.is_float], outs), coefficients)

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        return b.add(self, *lined_up(b, ins, flags, size))

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.primitive.pointwise({', '.join(self.texts(name))})"


def _leaves(wires: Any) -> tuple[Wire, ...]:
    return wires if isinstance(wires, tuple) else (wires,)


@constructor(morphisms="partials")
def pointwise(fn: Callable[..., Any], *partials: Callable[..., Any] | None) -> D:
    """A primitive that acts entry by entry, for functions that `ct.map` cannot read: array code, and a partial for each argument.

    `fn(*arrays)` broadcasts as NumPy's functions do, and gives the widest floating dtype of its arguments (float64 where
    there is none). Each of `partials` takes the arguments and then the result, as wires, and gives the partial derivative by
    its argument: an expression of these, a number, or None where it is zero. So derivatives of every order follow. Raises
    `SpaceError` where arguments do not broadcast, `ExtensionError` where `fn` gives another space. Raises `ArgumentError`
    for an argument that is no function.

    >>> import catad as ct
    >>> from scipy import special
    >>> ndtr = ct.primitive.pointwise(special.ndtr, lambda x, y: 0.3989422804014327 * ct.exp(-0.5 * x * x))
    >>> ct.grad(ndtr)(0.0), ct.grad(ct.grad(ndtr))(1.0)
    (np.float64(0.3989422804014327), np.float64(-0.24197072451914337))
    """
    for each in (fn, *[p for p in partials if p is not None]):
        if not callable(each):
            raise errors.ArgumentError(errors.not_a_function_of_arrays(each))
    count = getattr(fn, "nin", None)
    if not partials or (count is not None and count != len(partials)):
        raise errors.ArgumentError(errors.wrong_partial_count(fn, len(partials), count or 1))
    return Pointwise(fn, *partials)
