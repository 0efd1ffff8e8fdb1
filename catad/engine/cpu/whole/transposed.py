"""Where the arrays of products lie: what is only transposed is made in its place, and operands lie as tiles read them.

    (a b + c d)^T = (a b)^T + (c d)^T

A product writes its result in any order of axes as fast, so a transposition after products, and after pointwise sums of them, is
a choice of this order. An operand that lies along no row of the result is transposed before, where it is read often.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from catad.category.spaces import Tensor
from catad.category.wiring import Box, Wiring
from catad.engine.cpu.whole.tiles import form
from catad.linear.families.contract import Contract, Labels
from catad.vector.pointwise.map import Map

READ = 4  # times an operand is read from which on transposing it first is worth it


def transposed(wiring: Wiring) -> Wiring:
    """The wiring with products that write transposed results, and read operands that lie as tiles need them."""
    if not any(_is_product(box) for box in wiring.boxes):
        return wiring
    return _packed(_without_transpositions(_read_as_they_lie(wiring)))


def _is_product(box: Box) -> bool:
    """True for a product of two arrays."""
    return isinstance(box.primitive, Contract) and len(box.primitive.operands) == 2


def _read_as_they_lie(wiring: Wiring) -> Wiring:
    """The wiring whose products read what is transposed for them where it lies."""
    maker = {k: box for box in wiring.boxes for k in box.outs}
    boxes = list[Box]()
    for box in wiring.boxes:
        if isinstance(box.primitive, Contract) and len(box.primitive.operands) == 2:
            operands, ins = list(box.primitive.operands), list(box.ins)
            for which, wire in enumerate(box.ins):
                turn = maker.get(wire)
                order = None if turn is None else _order(turn)
                if turn is not None and order is not None:
                    labels = dict(zip(order, operands[which], strict=True))  # of the axes of what is transposed
                    operands[which], ins[which] = tuple([labels[k] for k in range(len(order))]), turn.ins[0]
            box = Box(Contract((operands[0], operands[1]), box.primitive.out, box.primitive.sizes), tuple(ins), box.outs)
        boxes.append(box)
    read = {*wiring.outputs, *[k for box in boxes for k in box.ins]}
    kept = tuple([box for box in boxes if _order(box) is None or not read.isdisjoint(box.outs)])
    return Wiring(wiring.dom, wiring.cod, wiring.wires, wiring.inputs, kept, wiring.outputs)


# -- results


def _without_transpositions(wiring: Wiring) -> Wiring:
    wires, boxes = list(wiring.wires), {id(box): box for box in wiring.boxes}
    maker = {k: box for box in wiring.boxes for k in box.outs}
    readers = Counter([*wiring.outputs, *[k for box in wiring.boxes for k in box.ins]])
    for box in wiring.boxes:
        order = _order(box)
        found = None if order is None else _through(wiring, maker, readers, box.ins[0])
        if found is None or order is None or _moved(wiring, found, order) >= wiring.wires[box.outs[0]].size:
            continue
        for one in found:
            (out,) = one.outs
            goal = box.outs[0] if out == box.ins[0] else out
            wires[goal] = Tensor([wiring.wires[out].shape[k] for k in order], wires[out].dtype)
            primitive = one.primitive
            if isinstance(primitive, Contract):
                primitive = _turned(primitive, order)
            boxes[id(one)] = Box(primitive, one.ins, (goal,))
        del boxes[id(box)]
    kept = tuple([boxes[id(box)] for box in wiring.boxes if id(box) in boxes])
    return Wiring(wiring.dom, wiring.cod, tuple(wires), wiring.inputs, kept, wiring.outputs)


def _turned(c: Contract, order: Labels) -> Contract:
    return Contract(c.operands, tuple([c.out[k] for k in order]), c.sizes)


def _moved(wiring: Wiring, found: Sequence[Box], order: Labels) -> int:
    """The numbers of operands that are transposed where products write their results in another order of axes."""
    total = 0
    for box in found:
        ins = wiring.spaces(box.ins)
        operand = _operand(_turned(box.primitive, order), ins) if isinstance(box.primitive, Contract) else None
        total += 0 if operand is None else ins[operand[0]].size
    return total


def _order(box: Box) -> Labels | None:
    """The order in which a transposition takes the axes; None for another box."""
    how = box.primitive
    if not isinstance(how, Contract) or len(how.operands) != 1:
        return None
    (own,) = how.operands
    if sorted(own) != sorted(how.out) or len(set(own)) < len(own):
        return None
    return tuple([own.index(label) for label in how.out])


def _through(wiring: Wiring, maker: dict[int, Box], readers: Counter[int], wire: int) -> list[Box] | None:
    """The products, and the maps of them, that make a wire and nothing that others read; None where there is more."""
    found, stack = list[Box](), [wire]
    shape = wiring.wires[wire].shape
    while stack:
        k = stack.pop()
        box = maker.get(k)
        if box is None or readers[k] != 1 or wiring.wires[k].shape != shape or len(box.outs) != 1:
            return None
        if isinstance(box.primitive, Map):
            stack += box.ins
        else:
            out = box.primitive.out if isinstance(box.primitive, Contract) and _is_product(box) else (0, 0)
            if len(set(out)) < len(out):  # no product, or one with its numbers on a diagonal
                return None
        found.append(box)
    return found


# -- operands


def _packed(wiring: Wiring) -> Wiring:
    wires, boxes = list(wiring.wires), list[Box]()
    made: dict[tuple[int, Labels], int] = {}
    for box in wiring.boxes:
        found = _operand(box.primitive, wiring.spaces(box.ins)) if isinstance(box.primitive, Contract) else None
        if found is None:
            boxes.append(box)
            continue
        assert isinstance(box.primitive, Contract)
        which, labels = found
        own, old = box.primitive, box.primitive.operands[which]
        key = box.ins[which], tuple([old.index(label) for label in labels])
        if key not in made:
            made[key] = len(wires)
            space = wiring.wires[box.ins[which]]
            wires.append(Tensor([space.shape[k] for k in key[1]], space.dtype))
            sizes = tuple([own.sizes[label] for label in old])
            straight = tuple(range(len(old)))
            boxes.append(Box(Contract((straight,), key[1], sizes), (box.ins[which],), (made[key],)))
        operands, ins = list(own.operands), list(box.ins)
        operands[which], ins[which] = labels, made[key]
        boxes.append(Box(Contract((operands[0], operands[1]), own.out, own.sizes), tuple(ins), box.outs))
    return Wiring(wiring.dom, wiring.cod, tuple(wires), wiring.inputs, tuple(boxes), wiring.outputs)


def _operand(c: Contract, ins: Sequence[Tensor]) -> tuple[int, Labels] | None:
    """The operand that is better transposed first, and the order of its labels then; None where there is none."""
    if len(c.operands) != 2 or len(set(c.out)) < len(c.out) or 0 in c.sizes:
        return None
    first, second = (set(labels) for labels in c.operands)
    if len(first) < len(c.operands[0]) or len(second) < len(c.operands[1]) or any(space.dtype.kind != "f" for space in ins):
        return None
    outer = [label for label in c.out if c.sizes[label] > 1]
    sums = [label for label in first & second if label not in c.out and c.sizes[label] > 1]
    if not outer or not sums or (first ^ second) - set(c.out) or form(c) not in (None, "short"):
        return None
    last = outer[-1]
    which = 0 if last not in second else 1 if last not in first else -1
    if which < 0:
        return None
    own, other = c.operands[which], (first, second)[1 - which]
    if math.prod([c.sizes[label] for label in {*first, *second} - set(own)]) < READ:
        return None
    batch = [label for label in own if label in other and label in c.out]
    summed = [label for label in c.operands[1 - which] if label in own and label not in c.out]
    rest = [label for label in c.out if label in own and label not in other]
    labels = (*batch, *summed, *rest)
    return (which, labels) if labels != own and len(labels) == len(own) else None
