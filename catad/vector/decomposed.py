"""Boxes that stand for smaller ones: value, derivative and batched form are those of the decomposition.

An engine may run such a box in another way, in one pass say, which is why it is a box.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from catad import errors, upward
from catad.category.boxes import Primitive
from catad.category.spaces import Space, Tensor, product
from catad.category.terms import D
from catad.category.wiring import wire
from catad.linear.batch import batch
from catad.linear.families.block import assemble
from catad.linear.families.gather import spread_over
from catad.linear.structure import Rule
from catad.support.lru import remembered

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


class Decomposed(Primitive):
    """A box that means its `decomposition`, a morphism of its first arguments; one of these is differentiable."""

    helpers = 0
    """The number of arguments at the end that only help to compute the box: no derivative is taken with respect to them."""

    @property
    def decomposition(self) -> D:
        """The meaning of the box, as a morphism of its arguments without the helpers."""
        raise errors.ExtensionError(errors.missing_method("box", self, "decomposition"))

    def own(self, given: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments without the helpers."""
        return tuple(given[: len(given) - self.helpers])

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        return evaluated(xp, self.decomposition, self.own(arrays))

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        """The derivative of the decomposition, zero with respect to the helpers."""
        own = self.own(ins)
        valued, structure = upward.linearised(self.decomposition, domain(own))
        helping = [s for s in ins[len(own) :] if s.is_float]
        if helping:
            slots = structure.slots
            floats = tuple([s for s in own if s.is_float])
            row = [(structure, tuple(range(len(slots)))), *[None] * len(helping)]
            structure = assemble([row], (*floats, *helping), outs, slots)

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            made = wires[0].builder.apply(valued, together(self.own(wires)))[1]
            return list(made) if isinstance(made, tuple) else [made]

        return Rule(structure, coefficients)

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        """The box that carries the axis, or the decomposition; where only a helper has it, the arguments repeated."""
        if self.carried(size) is not None:
            return super().batched(b, ins, flags, size)
        ins, flags = self.own(ins), self.own(flags)
        if not any(flags):
            ins, flags = tuple([spread_over(b, w, size) for w in ins]), (True,) * len(ins)
        spaces = [Tensor(w.shape[1:] if flag else w.shape, w.dtype) for w, flag in zip(ins, flags, strict=True)]
        return tuple(batch(b, wire(self.decomposition, domain(spaces)), ins, flags, size))


@remembered
def one_term(of: Callable[..., D], *given: Any) -> D:
    """A term of a class, the same one at each call, since programs are kept with their terms."""
    return of(*given)


def together(wires: Sequence[Any]) -> Any:
    """Leaves as the argument of a morphism."""
    return wires[0] if len(wires) == 1 else tuple(wires)


def domain(spaces: Sequence[Tensor]) -> Space:
    """The space of such an argument."""
    found: Space = spaces[0] if len(spaces) == 1 else product(*spaces)
    return found


def evaluated(xp: Any, term: D, arrays: Sequence[Any]) -> Any:
    """A morphism of arrays, run within another program."""
    spaces = [Tensor(a.shape, a.dtype) for a in arrays]
    out = upward.program_of(term, domain(spaces))[0].inside(xp, arrays)
    return out[0] if len(out) == 1 else tuple(out)
