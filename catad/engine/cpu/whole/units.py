"""What a whole program calls as one unit: rows of several stages, and boxes with compiled code of their own.

A group of stages runs a few rows at a time, so that what they exchange stays in a cache. A unit divides its work among threads,
and the function goes on when it is done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catad.boxes import Primitive
from catad.engine.cpu.rows import CACHE, by_rows
from catad.engine.cpu.whole.outside import call_python
from catad.engine.cpu.whole.text import Arrays, Text, strides_of
from catad.engine.machine import Compiled
from catad.engine.stages.group import grouped, in_order, united
from catad.engine.stages.partition import Item, Partition
from catad.engine.stages.stage import Stage
from catad.spaces import Tensor
from catad.wiring import Box


@dataclass(frozen=True, eq=False)
class Unit:
    """What runs on arrays and writes its results into others, in the place of a box.

    `texts` gives the text of its code, `times` the seconds that compiling took.
    """

    name: str
    run: Callable[[Sequence[Any], Sequence[Any]], None]
    texts: Callable[[], str | None]
    times: Callable[[], tuple[float, ...]]

    @property
    def text(self) -> str | None:
        """The text of its code."""
        return self.texts()

    @property
    def seconds(self) -> tuple[float, ...]:
        """The time that compiling took."""
        return self.times()


STANDALONE: dict[type[Primitive], Callable[[Any, tuple[Tensor, ...]], Compiled | None]] = {}
"""What makes the compiled code of boxes that are called; `run.py` adds loops over many lanes."""


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
            made = maker(item.primitive, found.wiring.spaces(item.ins))
            items[g] = item if made is None else _called(found, item, made)
    if max([space.nbytes for space in found.wiring.wires], default=0) < CACHE // 2:
        return items
    together = _groups(found, items, reads)
    inside = {g for last, own in together.items() for g in own if g != last}
    of = [together.get(g, (g,)) for g in range(len(items)) if g not in inside]
    return [items[max(own)] for own in in_order(of, reads, found.produced)]


def _called(found: Partition, item: Box, made: Compiled) -> Box:
    """Compiled code that makes its results, in the place of a box."""

    def run(arrays: Sequence[Any], goals: Sequence[Any]) -> None:
        results = made(np, *arrays)
        for goal, one in zip(goals, results if len(goals) > 1 else (results,), strict=True):
            goal[...] = one

    spaces, name = found.wiring.spaces(item.ins), type(item.primitive).__name__
    return Box(Unit(name, run, lambda: made.prepared(spaces), lambda: made.seconds), item.ins, item.outs)  # type: ignore[arg-type]


def _groups(found: Partition, items: list[Item], reads: Sequence[Sequence[int]]) -> dict[int, tuple[int, ...]]:
    """Puts stages that run a few rows at a time into their places; the items of each group by the last one."""
    together: dict[int, tuple[int, ...]] = {}
    for group in grouped(found, reads, (), ()):
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
        unit = Unit(name, way.run, lambda way=way: way.text, lambda way=way: (way.seconds,))  # type: ignore[misc]
        items[last] = Box(unit, one.ins, one.outs)  # type: ignore[arg-type]
    return together


def write_unit(text: Text, unit: Unit, read: Arrays, made: Arrays) -> None:
    """Write a call of a unit."""
    n = len(read)
    call_python(text, lambda found: unit.run(found[:n], found[n:]), [*read, *made])
