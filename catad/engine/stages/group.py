"""Groups: stages that share a loop and exchange numbers only within one index of it, so that they can run row by row.

A row is one index of the shared loop. For a few rows at a time stage runs after stage, and what they exchange stays in a cache:
softmax and layer norms along rows, or what the threads of a block exchange in shared memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from catad.category.spaces import Tensor
from catad.engine.stages.access import Affine, along
from catad.engine.stages.layout import Ready, ready
from catad.engine.stages.partition import Partition
from catad.engine.stages.stage import Stage

NEAR = 64  # items from the first stage of a group to its last


class Along(NamedTuple):
    """Rows: how many there are, the loop of each stage that goes along them, the axis of each array that stages exchange."""

    size: int
    loops: tuple[int, ...]
    axes: tuple[int, ...]


class Rows(NamedTuple):
    """Stages over shared rows.

    `arrays` have for each array of a stage its number among the arguments, the results and what only the stages exchange,
    `between`, -1 for a loop index. A row may be split into rows of its own: `ways` has those of the whole first, then those in
    a row of these, and so on.
    """

    stages: tuple[Ready, ...]
    arrays: tuple[tuple[int, ...], ...]
    between: tuple[Tensor, ...]
    ways: tuple[Along, ...]


@dataclass
class Group:
    """A group while it is found: the places of its stages with the loop of each, and the axis of the rows of what they make."""

    size: int
    loops: dict[int, int] = field(default_factory=dict)
    axes: dict[int, int] = field(default_factory=dict)

    def join(self, g: int, stage: Stage) -> bool:
        """Take in a stage that reads what the group makes, where it can be had row by row."""
        read = [load for _, load in stage.inputs if load.wire in self.axes]
        for loop, size in enumerate(stage.shape):
            if read and size == self.size and all(_row_axis(r.access.axes, loop) == self.axes[r.wire] for r in read):
                return self.add(g, stage, loop)
        return False

    def add(self, g: int, stage: Stage, loop: int) -> bool:
        """Take in a stage whose rows go along a loop; False where it makes something that has no rows."""
        made = {k: own for k, (_, own) in (*stage.made.items(), *stage.folded.items())}
        axes = {k: _row_axis(own, loop) for k, own in made.items()}
        if loop in stage.axis or None in axes.values():
            return False
        self.loops[g] = loop
        self.axes |= {k: axis for k, axis in axes.items() if axis is not None}
        return True


def _row_axis(axes: Sequence[Affine], loop: int) -> int | None:
    """The only axis that goes along a loop, index by index."""
    found = [k for k, at in enumerate(axes) if any(label == loop for label, _ in at.terms)]
    return found[0] if len(found) == 1 and axes[found[0]] == along(loop) else None


def grouped(found: Partition, reads: Sequence[Collection[int]], taken: Collection[int] = ()) -> list[Group]:
    """The groups of a partition; `reads` are the wires that each item reads. Items that are `taken` run in others."""
    groups: list[Group] = []
    of: dict[int, Collection[int]] = {}
    for g, item in enumerate(found.items):
        if not isinstance(item, Stage) or g in taken or item.needs or 0 in item.shape:
            continue
        for one in reversed(groups):
            if g - min(one.loops) <= NEAR and _is_free(found, reads, of, g, one) and one.join(g, item):
                of[g] = one.loops
                break
        else:
            loop = next((k for k, n in enumerate(item.shape) if n > 1 and k not in item.axis), None)
            if loop is not None and (new := Group(item.shape[loop])).add(g, item, loop):
                groups.append(new)
                of[g] = new.loops
    return [one for one in groups if len(one.loops) > 1]


def _is_free(
    found: Partition, reads: Sequence[Collection[int]], of: Mapping[int, Collection[int]], g: int, group: Group
) -> bool:
    """Whether nothing outside a group that an item needs waits for the group.

    What runs together, by `of`, waits for all that one of it needs.
    """
    begin, seen = min(group.loops), set[int]()
    stack = [found.produced[k] for k in reads[g] if k in found.produced and k not in group.axes]
    while stack:
        one = stack.pop()
        unit = [*of.get(one, (one,))]
        if max(unit) < begin or unit[0] in seen:
            continue
        seen.add(unit[0])
        needed = [k for member in unit for k in reads[member]]
        if any(k in group.axes for k in needed):
            return False
        stack += [found.produced[k] for k in needed if k in found.produced]
    return True


def further(found: Partition, group: Group) -> list[Group]:
    """The same stages with rows along other loops, which go through a row of the group."""
    stages = {g: item for g in group.loops if isinstance(item := found.items[g], Stage)}
    (first, *others), made = stages, list[Group]()
    for loop, size in enumerate(stages[first].shape):
        one = Group(size)
        free = loop != group.loops[first] and size > 1 and one.add(first, stages[first], loop)
        if free and all(one.join(g, stages[g]) for g in others):
            made.append(one)
    return made


class United(NamedTuple):
    """A group as one unit: its rows, the wires that it reads, and those that others read."""

    rows: Rows
    ins: tuple[int, ...]
    outs: tuple[int, ...]


def united(
    found: Partition, group: Group, reads: Sequence[Collection[int]], least: float, more: Sequence[int] = ()
) -> United | None:
    """A group as one unit; None where one stage makes all, or where what several of them read and write has few bytes.

    `more` are wires that it is given besides, if it does not make them.
    """
    wires, outputs = found.wiring.wires, set(found.wiring.outputs)
    wanted, others = outputs.union(*reads), outputs.union(*[own for g, own in enumerate(reads) if g not in group.loops])
    stages: dict[int, Ready] = {}
    for g in group.loops:
        stage = found.items[g]
        assert isinstance(stage, Stage)
        if made := [k for k in (*stage.made, *stage.folded) if k in wanted]:
            stages[g] = ready(stage, made, wires)
    read = [dict.fromkeys([place.wire for place in stage.reads if place.wire >= 0]) for stage in stages.values()]
    made = [place.wire for stage in stages.values() for place in stage.writes]
    often = [k for k, times in Counter([*made, *[k for own in read for k in own]]).items() if times > 1]
    if len(stages) < 2 or sum([wires[k].size * wires[k].dtype.itemsize for k in often]) < least:
        return None
    ins = tuple(dict.fromkeys([k for own in (*read, more) for k in own if k not in made]))
    outs = tuple([k for k in made if k in others])
    between = [k for k in made if k not in outs]
    number = {k: i for i, k in enumerate((*ins, *outs, *between))} | {-1: -1}
    arrays = [tuple([number[place.wire] for place in (*stage.reads, *stage.writes)]) for stage in stages.values()]
    ways = [
        Along(one.size, tuple([one.loops[g] for g in stages]), tuple([one.axes[k] for k in between]))
        for one in (group, *further(found, group))
    ]
    return United(Rows(tuple(stages.values()), tuple(arrays), found.wiring.spaces(between), tuple(ways)), ins, outs)


def in_order(units: Sequence[Sequence[int]], reads: Sequence[Collection[int]], makes: Mapping[int, int]) -> list[Sequence[int]]:
    """Units of items, each behind those that make what it reads; `makes` has the item that makes a wire."""
    of = {g: k for k, unit in enumerate(units) for g in unit}

    def needs(k: int) -> set[int]:
        return {of[makes[w]] for g in units[k] for w in reads[g] if w in makes and makes[w] in of} - {k}

    return [units[k] for k in behind(len(units), needs)]


def behind(count: int, needs: Callable[[int], Collection[int]]) -> list[int]:
    """So many items, each behind those that it needs, otherwise as they stand."""
    done, seen = list[int](), set[int]()
    stack = [(k, False) for k in reversed(range(count))]
    while stack:
        k, ready = stack.pop()
        if ready:
            done.append(k)
        elif k not in seen:
            seen.add(k)
            stack.append((k, True))
            stack += [(other, False) for other in sorted(needs(k), reverse=True)]
    return done
