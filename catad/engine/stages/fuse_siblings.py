"""Fusion of siblings: folds by bin that share a pass over their elements.

Two folds may share a pass if they have the same elements, read a common array, and do not depend on each other. All run at
the place of the last one, so no box between them may read their results.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from catad.engine.stages.bin_boxes import is_member, member
from catad.engine.stages.bins import Member
from catad.engine.stages.partition import Partition
from catad.linear.gather import ScatterAdded
from catad.spaces import Tensor
from catad.wiring import Box

MOST = 4  # the weight of a pass: a sum is 1, what keeps other states 2
FEW, WAITING = 256, 3  # of so few bins 3: one element waits for the state that another has just written
HELD = 1 << 22  # bytes of states: more would not stay in a cache (all four measured on 2-core x86-64 machines)


def fused_siblings(found: Partition, reads: Sequence[set[int]]) -> list[tuple[int, ...]]:
    """The places of the boxes of each pass, among the items of a partition, whose reads these are."""
    groups: list[tuple[int, ...]] = []
    for g, item in enumerate(found.items):
        if isinstance(item, Box) and is_member(item.primitive, found.wiring.spaces(item.ins)):
            own = next((k for k, group in enumerate(groups) if _join(found, reads, group, g)), None)
            if own is None:
                groups.append((g,))
            else:
                groups[own] = (*groups[own], g)
    return groups


def _join(found: Partition, reads: Sequence[set[int]], group: Sequence[int], g: int) -> bool:
    """True where a box may and should run with those of a pass."""
    boxes = [box for k in (*group, g) if isinstance(box := found.items[k], Box)]
    made = {k for box in boxes[:-1] for k in box.outs}
    if _needs(made, reads[group[0] : g + 1]):
        return False
    if not all(_alike(found, box, boxes[-1]) for box in boxes[:-1]):
        return False
    members = [member(box.primitive, found.wiring.spaces(box.ins)) for box in boxes]
    weight = sum(_weight(box, one) for box, one in zip(boxes, members, strict=True))
    return weight <= MOST and sum(one.held for one in members) <= HELD


def _needs(made: set[int], reads: Sequence[set[int]]) -> bool:
    """True where some of the items with these reads need what is made."""
    return any(made & own for own in reads)


def _weight(box: Box, one: Member) -> int:
    if isinstance(box.primitive, ScatterAdded):
        return 1
    return 2 if one.fold.bins >= FEW else WAITING


def _alike(found: Partition, a: Box, b: Box) -> bool:
    """True where they have the same elements, and read an array in common, or values that one stage makes."""
    first, second = found.wiring.spaces(a.ins), found.wiring.spaces(b.ins)
    if _elements(first) != _elements(second):
        return False
    if set(a.ins) & set(b.ins):
        return True
    makers = [{found.produced.get(k, -1) for k in box.ins} - {-1} for box in (a, b)]
    return bool(makers[0] & makers[1])


def _elements(spaces: Sequence[Tensor]) -> tuple[int, int]:
    """The number of elements, and of numbers in each of them."""
    return spaces[0].size, math.prod(spaces[1].shape) // max(spaces[0].size, 1)
