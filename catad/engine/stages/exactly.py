"""Boxes laid out without shortcuts: without formulas that hold for some numbers only."""

from __future__ import annotations

from collections.abc import Sequence

from catad.vector.decomposed import together
from catad.vector.shortcut import Shortcut
from catad.wiring import Box, Builder, Wire


def laid_out_exactly(b: Builder, boxes: Sequence[Box], at: dict[int, Wire], kept: tuple[type, ...] = ()) -> None:
    """Add boxes that read the wires `at` these numbers, and note there what they make; what is there already stays.

    Shortcuts of the kinds `kept` are added as they are.
    """
    for box in boxes:
        given = [at[k] for k in box.ins]
        if isinstance(box.primitive, Shortcut) and not isinstance(box.primitive, kept):
            made: tuple[Wire, ...] = (b.apply(box.primitive.exact, together(box.primitive.own(given))),)
        else:
            made = b.add(box.primitive, *given)
        for k, wire in zip(box.outs, made, strict=True):
            at.setdefault(k, wire)
