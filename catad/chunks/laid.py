"""`Laid`: a wiring as a term, so that boxes with programs in them can hold programs of blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from catad.category.boxes import of_fields
from catad.category.spaces import flatten
from catad.category.terms import D
from catad.category.text import called
from catad.category.wiring import Box, Wiring

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

Ends = tuple[int, ...]  # how many results belong to each part of a nested result


@of_fields
class Laid(D):
    """The boxes of a wiring, on the leaves of an argument; `ends` says how results are nested, flat where there are none."""

    boxes: tuple[Box, ...]
    ins: tuple[int, ...]
    outs: tuple[int, ...]
    ends: Ends = ()

    def lay_out(self, b: Builder, x: Any) -> Any:
        at: dict[int, Wire] = dict(zip(self.ins, flatten(x), strict=True))
        for box in self.boxes:
            at.update(zip(box.outs, b.add(box.primitive, *[at[k] for k in box.ins]), strict=True))
        found = [at[k] for k in self.outs]
        if not self.ends:
            return found[0] if len(found) == 1 else tuple(found)
        rest = iter(found)
        return tuple([tuple([next(rest) for _ in range(count)]) for count in self.ends])

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return called(self, name)


def laid(wiring: Wiring, ends: Ends = ()) -> Laid:
    """A wiring as a term; equal wirings are equal terms."""
    number: dict[int, int] = {}
    for k in (*wiring.inputs, *[k for box in wiring.boxes for k in box.outs]):
        number.setdefault(k, len(number))

    def numbers(wires: tuple[int, ...]) -> tuple[int, ...]:
        return tuple([number[k] for k in wires])

    boxes = [Box(primitive, numbers(ins), numbers(outs)) for primitive, ins, outs in wiring.boxes]
    return Laid(tuple(boxes), numbers(wiring.inputs), numbers(wiring.outputs), ends)
