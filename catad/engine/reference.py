"""The reference engine: each box by the array code of its primitive, on NumPy, CuPy or any library with that API.

It is what every primitive means. It runs what no other engine takes.
"""

from __future__ import annotations

from typing import Any

from catad.category.wiring import Wiring
from catad.engine.backend import Engine, Step


class Reference(Engine):
    """See the module."""

    name = "reference"

    def runs(self, xp: Any) -> bool:
        """Arrays of any library."""
        return True

    def steps(self, wiring: Wiring) -> list[Step]:
        """The boxes in their order."""
        return [(box.primitive.kernel(wiring.spaces(box.ins)), box.ins, box.outs) for box in wiring.boxes if box.ins]


REFERENCE = Reference()
