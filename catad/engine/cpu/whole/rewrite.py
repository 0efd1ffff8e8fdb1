"""Wirings as a whole program runs them: sums of scattered numbers added in place, no shortcuts, and columns that lie as rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from catad import scalar
from catad.category.spaces import Product, Tensor
from catad.category.wiring import Box, Builder, Wiring, wire
from catad.engine.cpu.whole.conditional_writes import ADD, adding_sides, is_scattered, terms_of
from catad.engine.rewrites.without_shortcuts import laid_out_exactly
from catad.linear.families.clear import ClearedAt
from catad.linear.families.gather import Gathered, ScatterAdded
from catad.linear.families.reindex import StridedCopy
from catad.linear.restriction import cut
from catad.scalar import Function, Node, param
from catad.vector.folds.arg_extremum import ArgExtremumByBin
from catad.vector.folds.entry_sum import Summed
from catad.vector.folds.shortcut import Shortcut
from catad.vector.indexing.overwrite import Added, AddedAt, OverwrittenAt
from catad.vector.pointwise.map import Map

KEPT = (ArgExtremumByBin,)  # shortcuts that have code of their own


def without_shortcuts(wiring: Wiring) -> Wiring:
    """The same without formulas that hold for some numbers only; positions of extrema by bin have code of their own."""
    if all(isinstance(box.primitive, KEPT) or not isinstance(box.primitive, Shortcut) for box in wiring.boxes):
        return wiring
    b = Builder()
    at = {k: b.wire(wiring.wires[k]) for k in wiring.inputs}
    laid_out_exactly(b, wiring.boxes, at, KEPT)
    dom = Product(tuple([wiring.wires[k] for k in wiring.inputs]))
    return b.finish(dom, tuple([at[k] for k in wiring.inputs]), tuple([at[k] for k in wiring.outputs]))


def adding_up(wiring: Wiring, first: int, count: int) -> Wiring:
    """The wiring with so many inputs more at its end, to which it adds its outputs from `first` on."""
    if not count:
        return wiring
    wires, boxes, outputs, inputs = list(wiring.wires), list(wiring.boxes), list(wiring.outputs), list(wiring.inputs)
    for k in range(first, first + count):
        space = wires[outputs[k]]
        total, made = len(wires), len(wires) + 1
        wires += [space, space]
        boxes.append(Box(Map(ADD), (total, outputs[k]), (made,)))
        inputs.append(total)
        outputs[k] = made
    return Wiring(wiring.dom, wiring.cod, tuple(wires), tuple(inputs), tuple(boxes), tuple(outputs))


def accumulated(wiring: Wiring, inner: bool = True) -> Wiring:
    """The wiring in which what is scattered and then only added to another array is added to it by index.

    The same holds for what is moved into a small part of zeros, as the derivative of a slice is, and for sides of choices; in a
    program that is not within another, a few of these are read by the pass that adds them. A sum with zeros makes 0.0 of -0.0: so
    does a map there, while sums within others begin with 0.0.
    """
    wiring = adding_sides(_onto(wiring))
    readers = Counter([*wiring.outputs, *[k for box in wiring.boxes for k in box.ins]])
    alone = [box for box in wiring.boxes if box.outs and readers[box.outs[0]] == 1]
    scattered = {box.outs[0]: box for box in alone if is_scattered(wiring, box)}
    if not scattered:
        return wiring
    wires, boxes, gone = list(wiring.wires), list[Box](), set[int]()
    for box in wiring.boxes:
        here = scattered if inner else _worth(box, scattered)
        made = _in_place(wires, box, here, not inner)
        gone.update(k for one in made if isinstance(one.primitive, AddedAt | Added) for k in box.ins if k in here)
        boxes += made
    kept = tuple([box for box in boxes if not (box.outs and box.outs[0] in gone)])
    return Wiring(wiring.dom, wiring.cod, tuple(wires), wiring.inputs, kept, wiring.outputs)


def _onto(wiring: Wiring) -> Wiring:
    """The wiring in which sums of entries give what somebody reads, and begin with what they are only added to."""
    if not any(isinstance(box.primitive, Summed) for box in wiring.boxes):
        return wiring
    readers: dict[int, list[Box | None]] = {}
    for box in wiring.boxes:
        for k in box.ins:
            readers.setdefault(k, []).append(box)
    for k in wiring.outputs:
        readers.setdefault(k, []).append(None)
    there, boxes, gone = set(wiring.inputs), list[Box](), set[int]()
    for box in wiring.boxes:
        if gone.issuperset(box.outs) and box.outs:
            continue
        if isinstance(box.primitive, Summed) and not box.primitive.onto:
            box, own = _of_what_is_read(box, box.primitive, readers)
            found = [_added_to(k, readers[k], wiring.wires) for k in box.outs]
            sums = [(total, made) for one in found if one is not None for total, made in [one] if total in there]
            if len(sums) == len(box.outs) == len({made for _, made in sums}):
                gone.update([made for _, made in sums])
                ins = (*box.ins, *[total for total, _ in sums])
                box = Box(Summed(own.f, own.x, True), ins, tuple([made for _, made in sums]))
        boxes.append(box)
        there.update(box.outs)
    return Wiring(wiring.dom, wiring.cod, wiring.wires, wiring.inputs, tuple(boxes), wiring.outputs)


def _of_what_is_read(box: Box, own: Summed, readers: Mapping[int, Sequence[Any]]) -> tuple[Box, Summed]:
    """A sum of entries without the results that nobody reads."""
    read = [j for j, k in enumerate(box.outs) if k in readers]
    if len(read) == len(box.outs) or not read:
        return box, own
    inner = wire(own.f, own.dom)
    own = Summed(cut(own.f, own.dom, inner.inputs, tuple([inner.outputs[j] for j in read])), own.x)
    return Box(own, box.ins, tuple([box.outs[j] for j in read])), own


def _added_to(k: int, readers: Sequence[Box | None], wires: Sequence[Tensor]) -> tuple[int, int] | None:
    """The wire to which one is added, and that of the sum, where this is all that is done with it."""
    (box,) = readers if len(readers) == 1 else (None,)
    if box is None or not isinstance(box.primitive, Map) or len(box.outs) != 1 or len(box.ins) != 2:
        return None
    if sorted(terms_of(box.primitive.function.outputs[0]) or ()) != [0, 1] or any(wires[i] != wires[k] for i in box.ins):
        return None
    return box.ins[1 - box.ins.index(k)], box.outs[0]


MANY = 8  # parts of one sum from which on each is added to its places instead of being read at every place


def _worth(box: Box, scattered: dict[int, Box]) -> dict[int, Box]:
    """What is worth adding by index outside of loops."""
    own = {k: scattered[k] for k in box.ins if k in scattered}
    parts = [k for k, one in own.items() if isinstance(one.primitive, StridedCopy)]
    return {k: one for k, one in own.items() if len(parts) >= MANY or k not in parts}


def _in_place(wires: list[Tensor], box: Box, scattered: dict[int, Box], positive: bool) -> list[Box]:
    """A sum of arrays, those that are scattered added by index to the sum of the others."""
    if not isinstance(box.primitive, Map) or len(box.outs) != 1 or scattered.keys().isdisjoint(box.ins):
        return [box]
    space = wires[box.outs[0]]
    terms = terms_of(box.primitive.function.outputs[0])
    if terms is None or sorted(terms) != list(range(len(box.ins))) or any(wires[k] != space for k in box.ins):
        return [box]
    others = [k for k in box.ins if k not in scattered]
    if not others:
        return [box]
    made, total = list[Box](), others[0]
    positive = positive and space.is_float
    if len(others) > 1 or positive:
        node: Node = param(0)
        for k in range(1, len(others)):
            node = scalar.apply("add", node, param(k))
        if positive:
            node = scalar.apply("add", node, scalar.const(0.0))
        wires.append(space)
        total = len(wires) - 1
        made.append(Box(Map(Function.make(len(others), [node])), tuple(others), (total,)))
    rest = [k for k in box.ins if k in scattered]
    for k in rest:
        put = scattered[k]
        if k == rest[-1]:
            out = box.outs[0]
        else:
            wires.append(space)
            out = len(wires) - 1
        if isinstance(put.primitive, ScatterAdded):
            made.append(Box(AddedAt(put.primitive.how), (put.ins[0], total, put.ins[1]), (out,)))
        else:
            assert isinstance(put.primitive, StridedCopy)
            made.append(Box(Added(put.primitive.axes), (total, *put.ins), (out,)))
        total = out
    return made


# -- columns as rows

FAR = 1 << 16  # bytes of an array from which on its columns do not stay in the nearest cache
LINE = 64  # bytes that memory gives at once
TWICE = 2  # changes of all numbers of a state, beyond which it is laid out anew


def columns_as_rows(wiring: Wiring, states: int, steps: int) -> tuple[Wiring, set[int]]:
    """The wiring of a step with the last axis of some of its states first, and these states, by their numbers.

    They are those of which the steps read and change only what an index says along this axis: the numbers of one index are then
    one piece of memory, not one number of each line of the cache. To lay a state out anew, and back after the loop, goes over
    it twice, and each change goes over the numbers of one index by itself.
    """
    near: dict[int, list[Box]] = {}
    for box in wiring.boxes:
        for k in {*box.ins, *box.outs}:
            near.setdefault(k, []).append(box)
    found: set[int] = set()
    for k in wiring.inputs[:states]:
        group = None if k in found or not _is_far(wiring.wires[k]) else _group(wiring, k, near)
        if group is not None and _pays(wiring, group, states, steps):
            found |= group
    wires = tuple([rows_first(space) if k in found else space for k, space in enumerate(wiring.wires)])
    boxes = tuple([_by_rows(box) if not found.isdisjoint((*box.ins, *box.outs)) else box for box in wiring.boxes])
    turned = {k for k, wire in enumerate(wiring.inputs[:states]) if wire in found}
    return Wiring(wiring.dom, wiring.cod, wires, wiring.inputs, boxes, wiring.outputs), turned


def rows_first(space: Tensor) -> Tensor:
    """The space with its last axis first."""
    return Tensor((space.shape[-1], *space.shape[:-1]), space.dtype)


def _is_far(space: Tensor) -> bool:
    *rest, last = space.shape or (0,)
    return bool(rest) and space.nbytes >= FAR and min(last, rest[-1]) * space.dtype.itemsize >= LINE


def _group(wiring: Wiring, start: int, near: Mapping[int, Sequence[Box]]) -> set[int] | None:
    """All wires that must lie as one does; None where a box wants them as they are."""
    group, stack = {start}, [start]
    while stack:
        k = stack.pop()
        for box in near.get(k, ()):
            own = _alike(box, wiring.wires, k)
            if k not in own:
                return None
            stack += own - group
            group |= own
    return group


def _alike(box: Box, wires: Sequence[Tensor], k: int) -> set[int]:
    """The wires of a box that lie alike, whichever of their axes is the first; none where it is a matter of the axis."""
    how = box.primitive
    if isinstance(how, Map):
        shapes = {j: wires[j].shape for j in (*box.ins, *box.outs)}
        whole = {j for j, shape in shapes.items() if shape == wires[k].shape}
        return whole if all(shape == () for j, shape in shapes.items() if j not in whole) else set()
    if not isinstance(how, _INDEXED):
        return set()
    at = how.how
    if at.by or at.axis != len(at.src) - 1 or at.dst != at.rest or len(set(at.src)) < len(at.src):
        return set()
    own = () if isinstance(how, ScatterAdded) else box.ins[1:2]
    return {*own, *(() if isinstance(how, Gathered) else box.outs)}


def _pays(wiring: Wiring, group: set[int], states: int, steps: int) -> bool:
    """Whether the group consists of states and what steps make of them, and most of their numbers change often enough."""
    there = [k in group for k in wiring.inputs[:states]]
    if there != [k in group for k in wiring.outputs[:states]] or not group.isdisjoint(wiring.inputs[states:]):
        return False
    if not group.isdisjoint(wiring.outputs[states:]):
        return False
    changes = [box for box in wiring.boxes if isinstance(box.primitive, _CHANGES) and not group.isdisjoint(box.outs)]
    return len(changes) * steps > TWICE * sum(there) * wiring.wires[min(group)].shape[-1]


def _by_rows(box: Box) -> Box:
    how = box.primitive
    if not isinstance(how, _INDEXED):
        return box
    at = how.how
    return Box(replace(how, how=at._replace(src=(at.src[-1], *at.rest), axis=0)), box.ins, box.outs)


_CHANGES = (ScatterAdded, ClearedAt, OverwrittenAt, AddedAt)
_INDEXED = (Gathered, *_CHANGES)
