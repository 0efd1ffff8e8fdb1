"""What is kept of maps only where it is no constant: a branch that a whole row takes often leaves nothing to keep.

    m = 0 if z == 1 else exp(x)       as       k = unread if z == 1 else exp(x),  m = 0 if z == 1 else k

where z is spread along the rows. The pass that makes k writes no row of which it takes the first branch, since nobody reads it,
and the pass that reads m reads none (`stages/unswitch.py`).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from catad import scalar
from catad.category.spaces import Tensor
from catad.category.wiring import Box, Wiring, replaced
from catad.engine.stages.unswitch import MOST, outermost
from catad.scalar import Function, Node, param, postorder
from catad.scalar.simplify import replace
from catad.vector.pointwise.map import Map


class Parted(NamedTuple):
    """A wiring in which some slots are made of what is kept; `share` is the part of each such wire that is not constant."""

    wiring: Wiring
    share: dict[int, float]


def parted(wiring: Wiring, slots: Collection[int]) -> Parted:
    """The wiring in which slots that are constant on some rows are computed from what is there on the others."""
    share = dict[int, float]()
    made = replaced(wiring, {Map: lambda wires, box, pointwise: _of_box(wires, box, pointwise.function, slots, share)})
    return Parted(made if share else wiring, share)


def _of_box(wires: list[Tensor], box: Box, function: Function, slots: Collection[int], share: dict[int, float]) -> list[Box]:
    """A map in two for each slot that it makes and that is constant on some rows."""
    still, moving = list[int](), list[Node]()
    for i, k in enumerate(box.ins):
        shape = wires[k].shape
        if not shape or shape[-1] == 1:
            still.append(i)
        else:
            moving.append(param(i))
    outputs, outs, after = list(function.outputs), list(box.outs), list[Box]()
    types = scalar.result_types(function, tuple([wires[k].dtype for k in box.ins]))
    for j, (node, out) in enumerate(zip(function.outputs, box.outs, strict=True)):
        space = wires[out]
        if out not in slots or not space.shape or space.shape[-1] == 1 or not still or types[j] != space.dtype:
            continue
        found = _tree(node, moving, param(function.arity), space.dtype, MOST)
        if found.part in (0.0, 1.0):
            continue
        read = sorted({one.value for one in postorder([found.slot]) if one.op == "param"})
        places = {param(old): param(new) for new, old in enumerate(read)}
        new = len(wires)
        wires.append(space)
        share[new] = found.part
        outputs[j], outs[j] = found.kept, new
        ins = tuple([box.ins[i] if i < function.arity else new for i in read])
        after.append(Box(Map(Function.make(len(read), replace([found.slot], places))), ins, (out,)))
    if not after:
        return [box]
    return [Box(Map(Function.make(function.arity, tuple(outputs))), box.ins, tuple(outs)), *after]


class _Tree(NamedTuple):
    """What is kept of a node, the node made of it, and the part of the rows on which it is no constant, as far as is known."""

    kept: Node
    slot: Node
    part: float


def _tree(node: Node, moving: list[Node], place: Node, dtype: np.dtype, most: int) -> _Tree:
    """A node by the conditions in it that no moving parameter decides; `place` stands for what is kept."""
    if node.op == "const":
        return _Tree(scalar.apply("unread", scalar.cast(dtype, node)), scalar.cast(dtype, node), 0.0)
    condition = outermost([node], moving) if most else None
    if condition is None:
        return _Tree(node, place, 1.0)
    yes, no = [
        _tree(replace([node], {condition: scalar.const(value)})[0], moving, place, dtype, most - 1)
        for value in (True, False)
    ]
    if yes.part == no.part == 1.0:
        return _Tree(node, place, 1.0)
    return _Tree(
        scalar.apply("select", condition, yes.kept, no.kept),
        scalar.apply("select", condition, yes.slot, no.slot),
        (yes.part + no.part) / 2,
    )
