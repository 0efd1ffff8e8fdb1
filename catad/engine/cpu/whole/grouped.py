"""Groups of stages in a whole program that run a few rows at a time: what they exchange stays in a cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from catad.engine.cpu.rows import CACHE, ByRows, by_rows
from catad.engine.cpu.whole.outside import run_way
from catad.engine.cpu.whole.text import Arrays, Text, strides_of
from catad.engine.stages.group import grouped, in_order, united
from catad.engine.stages.partition import Item, Partition
from catad.wiring import Box


@dataclass(frozen=True, eq=False)
class Rowwise:
    """A group in the place of a box."""

    way: ByRows


def with_groups(text: Text, found: Partition, reads: Sequence[Sequence[int]]) -> list[Item]:
    """The items of a partition, with groups in the places of their last stages; `reads` are the wires that each item reads."""
    items, wires = list(found.items), found.wiring.wires
    if text.depth > 1 or not text.calls or max([space.nbytes for space in wires], default=0) < CACHE // 2:
        return items
    units: dict[int, tuple[int, ...]] = {}
    for group in grouped(found, reads, (), ()):
        one = united(found, group, reads, CACHE)
        if one is None:
            continue
        spaces = found.wiring.spaces((*one.ins, *one.outs))
        way = by_rows(one.rows, sum([space.nbytes for space in spaces]), [*map(strides_of, spaces)])
        if way is None:
            continue
        units[max(group.loops)] = tuple(group.loops)
        items[max(group.loops)] = Box(Rowwise(way), one.ins, one.outs)  # type: ignore[arg-type]
    inside = {g for last, own in units.items() for g in own if g != last}
    order = in_order([units.get(g, (g,)) for g in range(len(items)) if g not in inside], reads, found.produced)
    return [items[max(own)] for own in order]


def write_rowwise(text: Text, group: Rowwise, read: Arrays, made: Arrays) -> None:
    """Write a call of a group."""
    run_way(text, group.way, [buffer for buffer, _ in read], [buffer for buffer, _ in made])
