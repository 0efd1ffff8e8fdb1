"""`Cut`: what a term does between some wires of its wiring, as a term."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from catad.category.boxes import of_fields
from catad.category.spaces import Space, Tensor, flatten
from catad.category.terms import D
from catad.category.wiring import Box, Wiring, wire

if TYPE_CHECKING:
    from catad.category.wiring import Builder

Numbers = Any  # the number of a wire, or a tuple of such


@of_fields
class Cut(D):
    """The wires `outs` of the wiring of a term at a space, from the wires `ins`, which its argument gives in their order.

    `count` is how many wires there are, which tells whether it is the wiring that was meant.
    """

    whole: D
    dom: Space
    ins: tuple[int, ...]
    outs: Numbers
    count: int

    @property
    def spaces_before(self) -> tuple[Tensor, ...]:
        """The spaces of the wires that its argument gives."""
        return wire(self.whole, self.dom).spaces(self.ins)

    def lay_out(self, b: Builder, x: Any) -> Any:
        wiring = wire(self.whole, self.dom)
        assert len(wiring.wires) == self.count, "a wiring has changed"
        at = dict(zip(self.ins, flatten(x), strict=True))
        everything = wiring.must_run and self.ins == wiring.inputs
        for box in wiring.boxes if everything else between(wiring, at, flatten(self.outs)):
            at.update(zip(box.outs, b.add(box.primitive, *[at[k] for k in box.ins]), strict=True))
        return _picked(self.outs, at)


def cut(term: D, dom: Space, ins: Iterable[int], outs: Numbers) -> Cut:
    """What a term does between wires of its wiring, as it is laid out now."""
    return Cut(term, dom, tuple(ins), outs, len(wire(term, dom).wires))


def between(wiring: Wiring, ins: Collection[int], outs: Collection[int]) -> list[Box]:
    """The boxes that make some wires from others, in their order."""
    wanted = set(outs)
    found = []
    for box in reversed(wiring.boxes):
        if any(k in wanted and k not in ins for k in box.outs):
            wanted.update(box.ins)
            found.append(box)
    return found[::-1]


def _picked(numbers: Numbers, at: Any) -> Any:
    return at[numbers] if isinstance(numbers, int) else tuple([_picked(each, at) for each in numbers])
