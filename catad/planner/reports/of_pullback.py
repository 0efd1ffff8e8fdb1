"""A pullback on a page: its spaces, what it keeps, and the order in which a cotangent passes its maps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from catad.category.spaces import Space, tangent_space
from catad.drawing.labels import shortened, space_label
from catad.drawing.of_map import LISTED, drawn_maps, left_out
from catad.drawing.page import line, opening, page, picture, table
from catad.linear.structure import Structure


def bytes_of(arrays: Sequence[Any]) -> int:
    """The bytes of arrays of any library, also of those that are not computed yet."""
    return sum([math.prod(array.shape) * array.dtype.itemsize for array in arrays])


def pullback_page(
    structure: Structure, arrays: Sequence[Any], cod: Space, gradients: Sequence[Space], recomputed: bool
) -> str:
    """A pullback for notebooks: its spaces, what it keeps, and the maps that a cotangent passes, in their order."""
    kept = [(", ".join(map(str, array.shape)) or "one number", str(array.dtype), f"{bytes_of([array]):,}") for array in arrays]
    total = bytes_of(arrays)
    head = f"pullback: a cotangent in {shortened(space_label(tangent_space(cod)), 80)}"
    amount = f"{len(kept):,} array{'s' * (len(kept) != 1)}, {total:,} bytes"
    note = "the other coefficients of the derivative are computed again from these" if recomputed else ""
    spaces = [(str(k), shortened(space_label(tangent_space(space)), 80)) for k, space in enumerate(gradients)]
    rows = table(["shape", "dtype", "bytes"], kept[:LISTED], 2)
    return page(
        line(head),
        table(["argument", "its gradient"], spaces[:LISTED], 2) + left_out(len(spaces), "argument"),
        opening(f"keeps {amount}", rows, left_out(len(kept), "array"), line(note) if note else ""),
        opening("the maps that a cotangent passes, in this order", picture(drawn_maps(structure)), opened=True),
    )
