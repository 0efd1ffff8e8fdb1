"""Choices of which one side adds nothing: they add to the array, so that the other side may add to its own entries only.

    total + (f(x) if c else 0)         f(x) + total if c else total

The derivative of `if c: y = x[i]` is such a sum: without this, each step of a loop would add zeros to all of an array.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from catad import scalar
from catad.category.boxes import of_fields
from catad.category.constant import Constant
from catad.category.spaces import Product, Space, Tensor, flatten
from catad.category.terms import D
from catad.category.wiring import Box, Builder, Wiring, wire
from catad.linear.families.contract import Contract
from catad.linear.families.gather import ScatterAdded
from catad.linear.families.reindex import StridedCopy
from catad.scalar import Function, Node, param
from catad.vector.loops.either import Choose
from catad.vector.pointwise.map import Map

ADD = Function.make(2, [scalar.apply("add", param(0), param(1))])


@of_fields
class Adding(D):
    """A side of a choice from `dom`, of which one result is added to an array that follows the side's own argument."""

    side: D
    dom: Space
    which: int

    def lay_out(self, b: Builder, x: Any) -> Any:
        wiring, (*given, total) = wire(self.side, self.dom), flatten(x)
        at = dict(zip(wiring.inputs, given, strict=True))
        for box in wiring.boxes:
            at.update(zip(box.outs, b.add(box.primitive, *[at[k] for k in box.ins]), strict=True))
        made = [at[k] for k in wiring.outputs]
        nothing = is_nothing(wiring, wiring.outputs[self.which])
        made[self.which] = total if nothing else b.add(Map(ADD), total, made[self.which])[0]
        return tuple(made)


def is_nothing(wiring: Wiring, k: int) -> bool:
    """Whether a wire carries zeros, whatever the arguments are."""
    maker = {k: box for box in wiring.boxes for k in box.outs}
    box = maker.get(k)
    if box is not None and isinstance(box.primitive, Contract) and len(box.ins) == 1:
        box = maker.get(box.ins[0])
    return box is not None and isinstance(box.primitive, Constant) and not np.any(box.primitive.evaluate(np))


def adding_sides(wiring: Wiring) -> Wiring:
    """The wiring in which choices of which one side adds nothing, or little, add to the array themselves."""
    if not any(isinstance(box.primitive, Choose) and not box.primitive.lanes for box in wiring.boxes):
        return wiring
    wires = list(wiring.wires)
    boxes = _one_by_one(wiring, wires)
    found: list[Box] | None = boxes
    while found is not None:
        boxes, found = found, _next(wiring, wires, found)
    return Wiring(wiring.dom, wiring.cod, tuple(wires), wiring.inputs, tuple(boxes), wiring.outputs)


def _one_by_one(wiring: Wiring, wires: list[Tensor]) -> list[Box]:
    """The boxes, in which choices of which one side adds nothing are added last, one after the other."""
    boxes, readers = list[Box](), _readers(wiring, wiring.boxes)
    maker = {k: box for box in wiring.boxes for k in box.outs}

    def terms(box: Box) -> list[int]:
        found, stack = list[int](), [*reversed(box.ins)]
        while stack:
            k = stack.pop()
            inner = maker.get(k)
            if inner is not None and readers[k] == 1 and _is_sum(inner, wires):
                stack += reversed(inner.ins)
            else:
                found.append(k)
        return found

    for box in wiring.boxes:
        own = terms(box) if _is_sum(box, wires) else []
        choices = [k for k in own if readers[k] == 1 and _in_a_side(wires, maker.get(k), k)]
        if not choices or len(own) < 2:
            boxes.append(box)
            continue
        ahead = [*[k for k in own if k not in choices], *choices]
        total = ahead[0]
        for k in ahead[1:]:
            wires.append(wires[k])
            made = box.outs[0] if k == ahead[-1] else len(wires) - 1
            boxes.append(Box(Map(ADD), (total, k), (made,)))
            total = made
    read, kept = set(wiring.outputs), list[Box]()
    for box in reversed(boxes):
        if not _is_sum(box, wires) or box.outs[0] in read:  # others are parts of sums
            read.update(box.ins)
            kept.append(box)
    return kept[::-1]


def _readers(wiring: Wiring, boxes: Sequence[Box]) -> Counter[int]:
    return Counter([*wiring.outputs, *[k for box in boxes for k in box.ins]])


def _is_sum(box: Box, wires: Sequence[Tensor]) -> bool:
    """Whether a box adds arrays of one space, each of them once."""
    if not isinstance(box.primitive, Map) or len(box.outs) != 1 or len({wires[k] for k in (*box.ins, *box.outs)}) != 1:
        return False
    found = terms_of(box.primitive.function.outputs[0])
    return found is not None and len(found) > 1 and sorted(found) == list(range(len(box.ins)))


PART = 4  # times a part of it: an array of which that part is added to in place, and copied rather than the array


def is_scattered(wiring: Wiring, box: Box) -> bool:
    """Whether a box moves numbers to places in zeros."""
    if isinstance(box.primitive, ScatterAdded):
        return True
    if not isinstance(box.primitive, StridedCopy) or box.primitive.fill or wiring.wires[box.outs[0]].dtype.kind == "b":
        return False
    return wiring.wires[box.outs[0]].size >= PART * math.prod([ax.m for ax in box.primitive.axes])


def _in_a_side(wires: Sequence[Tensor], box: Box | None, k: int) -> bool:
    """Whether a box is a choice one side of which makes zeros of this result, an array, but for a part of them at most."""
    if box is None or not isinstance(box.primitive, Choose) or box.primitive.lanes or not wires[k].shape:
        return False
    which = box.outs.index(k)
    for side in (box.primitive.f, box.primitive.g):
        own = wire(side, box.primitive.dom)
        made = own.outputs[which]
        maker = next((one for one in own.boxes if made in one.outs), None)
        if is_nothing(own, made) or (maker is not None and is_scattered(own, maker)) or _in_a_side(own.wires, maker, made):
            return True
    return False


def _next(wiring: Wiring, wires: Sequence[Tensor], boxes: list[Box]) -> list[Box] | None:
    """The boxes with one more sum in a choice; None where there is none."""
    readers, maker = _readers(wiring, boxes), {k: box for box in boxes for k in box.outs}
    for add in boxes:
        if not isinstance(add.primitive, Map) or add.primitive.function != ADD or not _is_sum(add, wires):
            continue
        for k, total in (add.ins[::-1], add.ins):
            box = maker.get(k)
            if box is None or readers[k] != 1 or not _in_a_side(wires, box, k):
                continue
            choice = box.primitive
            assert isinstance(choice, Choose)
            first, second = [Adding(side, choice.dom, box.outs.index(k)) for side in (choice.f, choice.g)]
            outs = tuple([add.outs[0] if out == k else out for out in box.outs])
            new = Box(Choose(first, second, Product((choice.dom, wires[total]))), (*box.ins, total), outs)
            found = _ordered(wiring, [new if one is box else one for one in boxes if one is not add])
            if found is not None:
                return found
    return None


def terms_of(node: Node) -> list[int] | None:
    """The params that a sum adds up; None where it is another function."""
    found, stack = list[int](), [node]
    while stack:
        one = stack.pop()
        if one.op == "param":
            found.append(one.value)
        elif one.op == "add":
            stack += one.args
        else:
            return None
    return found


def _ordered(wiring: Wiring, boxes: list[Box]) -> list[Box] | None:
    """The boxes, each after those that make what it reads; None where they wait for each other."""
    there, order, waiting = set(wiring.inputs), list[Box](), boxes
    while waiting:
        later = list[Box]()
        for box in waiting:
            if there.issuperset(box.ins):
                order.append(box)
                there.update(box.outs)
            else:
                later.append(box)
        if len(later) == len(waiting):
            return None
        waiting = later
    return order
