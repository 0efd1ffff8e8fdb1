"""Batching: a wiring mapped over a new leading axis, box by box.

Every primitive says how it carries one more axis; wires that do not depend on a mapped input are computed once.
"""

from __future__ import annotations

from collections.abc import Sequence

from catad.category.wiring import Builder, Wire, Wiring
from catad.linear.families.gather import spread_over


def batch(b: Builder, wiring: Wiring, ins: Sequence[Wire], flags: Sequence[bool], size: int) -> list[Wire]:
    """The outputs of the wiring mapped over a leading axis of length `size` that the flagged inputs have; all have it."""
    mapped = depending(wiring, flags)
    outs = partly(b, wiring, ins, flags, size)
    return [w if k in mapped else spread_over(b, w, size) for w, k in zip(outs, wiring.outputs, strict=True)]


def partly(b: Builder, wiring: Wiring, ins: Sequence[Wire], flags: Sequence[bool], size: int) -> list[Wire]:
    """The same, but outputs that do not depend on a flagged input do not have the axis."""
    at = dict(zip(wiring.inputs, ins, strict=True))
    mapped = depending(wiring, flags)
    for primitive, reads, writes in wiring.boxes:
        wires = tuple([at[k] for k in reads])
        own = tuple([k in mapped for k in reads])
        outs = primitive.batched(b, wires, own, size) if any(own) else b.add(primitive, *wires)
        at.update(zip(writes, outs, strict=True))
    return [at[k] for k in wiring.outputs]


def depending(wiring: Wiring, flags: Sequence[bool]) -> set[int]:
    """The wires that depend on a flagged input, these among them."""
    found = {k for k, flag in zip(wiring.inputs, flags, strict=True) if flag}
    for box in wiring.boxes:
        if not found.isdisjoint(box.ins):
            found.update(box.outs)
    return found
