"""Boxes laid out without shortcuts: without formulas that hold for some numbers only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from catad.category.spaces import Product, Tensor
from catad.category.wiring import Box, Builder, Wire, Wiring, replaced, wire
from catad.engine.program import Program
from catad.engine.stages.partition import Partition
from catad.vector.decomposed import domain, together
from catad.vector.folds.shortcut import Shortcut


def laid_out_exactly(b: Builder, boxes: Sequence[Box], at: dict[int, Wire], kept: tuple[type, ...] = ()) -> None:
    """Add boxes that read the wires `at` these numbers, and note there what they make; what is there already stays.

    Shortcuts of the kinds `kept` are added as they are.
    """
    for box in boxes:
        given = [at[k] for k in box.ins]
        if isinstance(box.primitive, Shortcut) and not isinstance(box.primitive, kept):
            made: tuple[Wire, ...] = (b.apply(box.primitive.exact, together(box.primitive.own(given))),)
        else:
            made = b.add(box.primitive, *given)
        for k, one in zip(box.outs, made, strict=True):
            at.setdefault(k, one)


def unconditional(wiring: Wiring) -> Wiring:
    """The wiring with the boxes of such shortcuts in their places, for a machine that does not look at numbers."""
    return replaced(wiring, {Shortcut: _in_place})


def _in_place(wires: list[Tensor], box: Box, shortcut: Shortcut) -> list[Box]:
    """What a shortcut means, as boxes; itself where its formula always holds, or where it has none. `wires` grows."""
    spaces = tuple([wires[k] for k in box.ins])
    if not spaces[-1].is_float or shortcut.formula(spaces) is None:
        return [box]
    ins = shortcut.own(box.ins)
    whole = wire(shortcut.exact, domain([wires[k] for k in ins]))
    at = dict(zip((*whole.inputs, *whole.outputs), (*ins, *box.outs), strict=True))
    if len(at) < len(ins) + len(box.outs) or not all(one.ins for one in whole.boxes):
        return [box]  # an argument that is a result, or a constant, of which the engine does not know
    for k, space in enumerate(whole.wires):
        if k not in at:
            at[k] = len(wires)
            wires.append(space)
    return [Box(one.primitive, tuple([at[k] for k in one.ins]), tuple([at[k] for k in one.outs])) for one in whole.boxes]


def members(
    found: Partition, outs: Sequence[int], reads: Sequence[int], there: Collection[int]
) -> tuple[list[Box], tuple[int, ...]]:
    """The boxes that make some wires of those that are there, in their order, and the wires that they or a stage read.

    What is not there, since a stage has taken it in, is made again: so these boxes can run wherever the stage can.
    """
    maker, place = found.makers
    order: dict[tuple[int, ...], Box] = {}
    ins = dict.fromkeys(reads)
    seen: set[int] = set()
    stack = [(k, False) for k in outs]
    while stack:
        k, ready = stack.pop()
        if ready:
            order.setdefault(maker[k].outs, maker[k])
        elif k in there:
            ins[k] = None
        elif k not in seen:
            seen.add(k)
            stack.append((k, True))
            stack += [(i, False) for i in maker[k].ins]
    return sorted(order.values(), key=lambda box: place[box.outs[0]]), tuple(ins)


def exact_program(wiring: Wiring, boxes: Sequence[Box], ins: Sequence[int], outs: Sequence[int]) -> Callable[..., Any]:
    """Boxes as a program without shortcuts, for all numbers."""
    b = Builder()
    starts = tuple([b.wire(wiring.wires[k]) for k in ins])
    at = dict(zip(ins, starts, strict=True))
    laid_out_exactly(b, boxes, at)  # a box may make again what is there
    dom = Product(tuple([wiring.wires[k] for k in ins]))
    program = Program(b.finish(dom, starts, tuple([at[k] for k in outs])))

    def run(xp: Any, *arrays: Any) -> Any:
        made = program.inside(xp, arrays)
        return made[0] if len(made) == 1 else made

    return run
