"""`Plan`: in which order the linear maps of a chain are multiplied, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from catad.linear.map import LinearMap
from catad.linear.structure import Structure


@dataclass(frozen=True)
class Plan:
    """A first stand-in: multiplies in the order given by the mode."""

    structure: Structure
    mode: str

    def multiply(self, linear: LinearMap) -> LinearMap:
        """The linear map, multiplied out."""
        from catad.linear.block import Chain
        from catad.linear.network import Network
        from catad.spaces import Product

        structure = linear.structure
        if isinstance(structure, Network):
            structure = structure.stages
        if not isinstance(structure, Chain):
            return linear
        flat = Product

        def space(leaves: Any) -> Any:
            return leaves[0] if len(leaves) == 1 else flat(tuple(leaves))

        maps = [LinearMap(space(s.dom), space(s.cod), s, [linear.slots[k] for k in own]) for s, own in structure.parts]
        if self.mode == "reverse":
            out = maps[-1]
            for m in reversed(maps[:-1]):
                out = out.multiply(m)
        else:
            out = maps[0]
            for m in maps[1:]:
                out = m.multiply(out)
        return LinearMap(linear.dom, linear.cod, out.structure, out.slots)


def plan_structure(structure: Structure, mode: Any = "auto") -> Plan:
    """The plan for a structure."""
    return Plan(structure, mode)
