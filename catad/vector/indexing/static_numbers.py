"""The numbers on a wire that follow from constants alone: indices that affine functions of counters give, say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.boxes import Nesting

if TYPE_CHECKING:
    from catad.category.wiring import Box, Builder, Wire

MOST = 1 << 20  # numbers that are computed while a program is laid out
BOXES = 64


def known_numbers(b: Builder, wire: Wire) -> Any:
    """The array of integers on a wire of a builder, where constants decide it and it takes little work; else None."""
    if wire.dtype.kind not in "iu":
        return None
    boxes = _makers(b, wire.number)
    if boxes is None:
        return None
    at: dict[int, Any] = {}
    for box in reversed(boxes):
        spaces = tuple([b.spaces[k] for k in box.ins])
        try:
            made = box.primitive.kernel(spaces)(np, *[at[k] for k in box.ins])
        except errors.CatadError:  # out of range: it is raised where the program runs
            return None
        at.update(zip(box.outs, made if len(box.outs) > 1 else [made], strict=True))
    return np.asarray(at[wire.number])


def _makers(b: Builder, wire: int) -> list[Box] | None:
    """The boxes that make a wire of constants, the last first; None where there are many, or an input is among them."""
    needed, found = {wire}, []
    for box in reversed(b.boxes):
        if needed.isdisjoint(box.outs):
            continue
        needed.difference_update(box.outs)
        needed.update(box.ins)
        found.append(box)
        large = any(b.spaces[k].size > MOST for k in box.outs)
        if large or len(found) > BOXES or isinstance(box.primitive, Nesting) or box.primitive.must_run:
            return None
        if not needed:
            return found
    return None
