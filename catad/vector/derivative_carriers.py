"""Boxes that pass on what they are given: they hold a derivative, and are left out before a wiring runs."""

from __future__ import annotations

from typing import Any

from catad.category.boxes import Primitive
from catad.category.spaces import Tensor
from catad.category.wiring import Box, Wiring


class PassedOn(Primitive):
    """A box whose results are its arguments from number `xs` on. It holds their derivative, and is left out before running."""

    xs: int

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins[self.xs : self.xs + 1]

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        spaces = tuple([Tensor(a.shape, a.dtype) for a in arrays])
        ys = arrays[self.xs : self.xs + len(self.typed(spaces))]
        return ys[0] if len(ys) == 1 else ys


def erased(wiring: Wiring) -> Wiring:
    """The wiring without the boxes that pass on what they are given, for running."""
    if not any(isinstance(each.primitive, PassedOn) for each in wiring.boxes):
        return wiring
    alias: dict[int, int] = {}
    boxes: list[Box] = []
    for each in wiring.boxes:
        ins = tuple([alias.get(k, k) for k in each.ins])
        if isinstance(each.primitive, PassedOn):
            alias.update(zip(each.outs, ins[each.primitive.xs :], strict=False))
        else:
            boxes.append(Box(each.primitive, ins, each.outs))
    outputs = tuple([alias.get(k, k) for k in wiring.outputs])
    needed = set(outputs)
    kept: list[Box] = []
    for each in reversed(boxes):
        if not needed.isdisjoint(each.outs):
            needed.update(each.ins)
            kept.append(each)
    return Wiring(wiring.dom, wiring.cod, wiring.wires, wiring.inputs, tuple(reversed(kept)), outputs)
