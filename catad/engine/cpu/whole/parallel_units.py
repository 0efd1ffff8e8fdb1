"""What a whole program calls as one unit: rows of several stages, and boxes with compiled code of their own.

A group of stages runs a few rows at a time, so that what they exchange stays in a cache. Threads share the work of a unit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from catad.category.boxes import Primitive
from catad.category.spaces import Tensor
from catad.category.wiring import Box
from catad.engine.cpu.rows import CACHE, by_rows
from catad.engine.cpu.whole.shared_kernels import call_rows
from catad.engine.cpu.whole.text import Arrays, Text
from catad.engine.stages.group import grouped, in_order, united
from catad.engine.stages.layout import strides_of
from catad.engine.stages.partition import Item, Partition
from catad.engine.stages.stage import Stage


@dataclass(frozen=True, eq=False)
class Unit:
    """What runs on arrays and writes its results into others, in the place of a box."""

    name: str
    write: Callable[[Text, Arrays, Arrays], None]


STANDALONE: dict[type[Primitive], Callable[[Any, tuple[Tensor, ...]], Any]] = {}
"""What makes the compiled code of boxes that are called, which writes its call; `run.py` adds loops over many lanes."""


def with_units(text: Text, found: Partition, reads: Sequence[Sequence[int]]) -> list[Item]:
    """The items of a partition, with units in the places of their last items; `reads` are the wires that each item reads.

    Programs within others have no units.
    """
    items = list(found.items)
    if text.depth > 1 or not text.calls:
        return items
    for g, item in enumerate(items):
        maker = STANDALONE.get(type(item.primitive)) if isinstance(item, Box) else None
        if maker is not None and isinstance(item, Box):
            way = maker(item.primitive, found.wiring.spaces(item.ins))
            if way is not None:
                items[g] = Box(Unit(type(item.primitive).__name__, way.write), item.ins, item.outs)  # type: ignore[arg-type]
    if max([space.nbytes for space in found.wiring.wires], default=0) < CACHE // 2:
        return items
    together = _groups(found, items, reads)
    inside = {g for last, own in together.items() for g in own if g != last}
    of = [together.get(g, (g,)) for g in range(len(items)) if g not in inside]
    return [items[max(own)] for own in in_order(of, reads, found.produced)]


def _groups(found: Partition, items: list[Item], reads: Sequence[Sequence[int]]) -> dict[int, tuple[int, ...]]:
    """Puts stages that run a few rows at a time into their places; the items of each group by the last one."""
    together: dict[int, tuple[int, ...]] = {}
    for group in grouped(found, reads):
        one = united(found, group, reads, CACHE)
        if one is None:
            continue
        spaces = found.wiring.spaces((*one.ins, *one.outs))
        way = by_rows(one.rows, sum([space.nbytes for space in spaces]), [*map(strides_of, spaces)])
        if way is None:
            continue
        last, own = max(group.loops), tuple(group.loops)
        stages = [stage for g in own if isinstance(stage := found.items[g], Stage)]
        name = " / ".join([" ".join(dict.fromkeys(stage.members)) for stage in stages])
        together[last] = own
        items[last] = Box(Unit(name, partial(call_rows, way)), one.ins, one.outs)  # type: ignore[arg-type]
    return together
