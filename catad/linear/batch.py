"""Batching: a wiring mapped over a new leading axis, box by box.

Every primitive says how it carries one more axis; wires that do not depend on a mapped input are computed once.
"""

from __future__ import annotations

from collections.abc import Sequence

from catad.linear.gather import spread_over
from catad.wiring import Builder, Wire, Wiring


def batch(b: Builder, wiring: Wiring, ins: Sequence[Wire], flags: Sequence[bool], size: int) -> list[Wire]:
    """The outputs of the wiring mapped over a leading axis of length `size` that the flagged inputs have; all have it."""
    outs, mapped = batched(b, wiring, ins, flags, size)
    return [wire if flag else spread_over(b, wire, size) for wire, flag in zip(outs, mapped, strict=True)]


def batched(
    b: Builder, wiring: Wiring, ins: Sequence[Wire], flags: Sequence[bool], size: int
) -> tuple[list[Wire], list[bool]]:
    """The outputs, and which of them have the axis: those that depend on a flagged input."""
    at = dict(zip(wiring.inputs, ins, strict=True))
    mapped = dict(zip(wiring.inputs, flags, strict=True))
    for primitive, reads, writes in wiring.boxes:
        wires = tuple([at[k] for k in reads])
        own = tuple([mapped[k] for k in reads])
        outs = primitive.batched(b, wires, own, size) if any(own) else b.add(primitive, *wires)
        at.update(zip(writes, outs, strict=True))
        mapped.update(dict.fromkeys(writes, any(own)))
    return [at[k] for k in wiring.outputs], [mapped[k] for k in wiring.outputs]
