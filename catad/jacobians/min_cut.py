"""The wires with the fewest bytes from which others follow: a minimum vertex cut between them and what must not run again.

A wire in the cut is kept. Boxes behind the cut run again where the wires are needed, so a box has a price, too: pointwise
boxes, views, and positions that follow from counters. All else runs once: contractions, folds, scans, loops, sorts, code that
cannot be traced. Pullbacks (`residuals.py`) and the steps of loops (`kept_of_step`) keep their coefficients in this way.

Sources: the min-cut partitioner of PyTorch's AOTAutograd.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from catad.category.wiring import Box, Wiring
from catad.engine.stages.split import length
from catad.engine.stages.work import is_view, work_of
from catad.linear.apply import applying
from catad.linear.batch import depending
from catad.linear.families.clear import ClearedWhere
from catad.linear.families.gather import Gathered
from catad.linear.structure import Structure
from catad.planner.graph import members
from catad.planner.heuristics import Work
from catad.planner.problems.min_cut import MinCut
from catad.planner.problems.parts import connected
from catad.vector.indexing.flat_index import FlatIndex
from catad.vector.indexing.gather import InRange
from catad.vector.pointwise.map import Map

UNIT = 32  # capacities are in parts of a byte: an operation on numbers costs as much as moving one of 32 parts of their bytes
NEAR = 4  # the same of what stays in the cache
CACHE = 1 << 20  # bytes that stay there
WORK = 2e5  # of the search for a cut, some tenths of a second at most
Vertex = int | tuple[int, ...]  # a wire, or the results of a box for its price
Price = Callable[[Box], int | None]  # what running a box again costs, in the units of a capacity; None where it must not
END = -1  # the vertex for all that cannot be computed again


def least(wiring: Wiring, ends: Sequence[int], capacity: Callable[[int], int], price: Price) -> set[int] | None:
    """The wires whose capacities are the fewest from which the ends can be computed again; None where the search takes too long.

    A wire that no box makes cannot be computed.
    """
    maker = {k: box for box in wiring.boxes for k in box.outs}
    near: dict[Vertex, list[Vertex]] = {}
    size: dict[Vertex, int] = {}
    waiting: list[int] = [*dict.fromkeys(ends)]
    while waiting:
        k = waiting.pop()
        if k in near:
            continue
        box = maker.get(k)
        size[k] = capacity(k)
        cost = None if box is None else price(box)
        if box is None or cost is None:
            near[k] = [END]
            continue
        near[k] = [*box.ins]
        waiting += box.ins
        if cost:
            near[k].append(box.outs)
            near[box.outs], size[box.outs] = [END], cost
    work, found, vertices = Work(WORK), set[int](), [*near]
    number = {v: i for i, v in enumerate(vertices)}
    around = [0] * len(vertices)
    for v, others in near.items():
        for other in others:
            if other != END:
                around[number[v]] |= 1 << number[other]
                around[number[other]] |= 1 << number[v]
    for inside in connected(around, (1 << len(vertices)) - 1):
        cut = _cut([vertices[i] for i in members(inside)], near, size, dict.fromkeys(ends), work)
        if cut is None:
            return None
        found.update([k for k in cut if isinstance(k, int)])
    return found


def _cut(
    part: list[Vertex], near: dict[Vertex, list[Vertex]], size: dict[Vertex, int], ends: Collection[int], work: Work
) -> list[Vertex] | None:
    """The minimum cut of a part of the graph between `END` and the ends in it, nearest to these; None without work left."""
    own = [k for k in part if k in ends]
    if all(near[k] == [END] for k in part):
        return own
    m = len(part) + 1
    number = {END: m} | {k: i for i, k in enumerate(part, 1)}
    sets = [sum({1 << number[k] for k in others}) for others in (own, *[near[k] for k in part])]
    sizes = [0, *[size[k] for k in part]]
    cut = MinCut(sets, 0, [*sizes, 1 + sum(sizes)], m, work).vertices()
    return None if cut is None else [part[u - 1] for u in cut]


def price_of(wiring: Wiring, maker: dict[int, Box], box: Box) -> int | None:
    """What running a box again costs, in the units of a capacity; None where it must not.

    A view shows what is in memory: of something that is computed again it would not be read in passing.
    """
    if not box.ins:
        return 0  # a constant of the program
    if is_view(box):
        source = maker.get(box.ins[0])
        while source is not None and is_view(source):
            source = maker.get(source.ins[0])
        return None if source is not None and source.ins and isinstance(source.primitive, Map) else 0
    if not isinstance(box.primitive, Map) or box.primitive.function.has_loop:
        return None
    out = wiring.wires[box.outs[0]]
    return length(box.primitive.function) * out.size * max([wiring.wires[k].dtype.itemsize for k in box.outs])


def inlined(structure: Structure) -> list[bool]:
    """Of each slot of a structure, whether all that reads it can compute it in passing."""
    wiring, _ = applying(structure)
    shown = {k: i for i, k in enumerate(wiring.inputs[: len(structure.slots)])}  # a slot, or a view of one
    found = [k not in wiring.outputs for k in shown]
    for box in wiring.boxes:
        for k in box.ins:
            if k not in shown:
                continue
            if is_view(box):
                found[shown[k]] &= box.outs[0] not in wiring.outputs
                shown[box.outs[0]] = shown[k]
            else:
                found[shown[k]] &= work_of(wiring, box) is not None
    return found


# -- steps of loops


def kept_of_step(wiring: Wiring, structure: Structure, n: int, states: int, given: int) -> tuple[int, ...]:
    """What a loop of n steps keeps of a step: the wires from which the slots of the step's structure follow.

    The slots are the last outputs of `wiring`. Its inputs are a state, what is given, and inputs of the step. What is given is
    there once, and an input is there for all steps, so keeping these costs little; all else is stacked.
    """
    slots = wiring.outputs[len(wiring.outputs) - len(structure.slots) :]
    varying = depending(wiring, [not states <= i < states + given for i in range(len(wiring.inputs))])
    maker = {k: box for box in wiring.boxes for k in box.outs}
    inputs = {*wiring.inputs[states + given :]}
    fixed = {k for k, flag in zip(slots, inlined(structure), strict=True) if not flag}
    near = n * sum([wiring.wires[k].nbytes for k in {*slots}]) < CACHE
    unit = NEAR if near else UNIT

    def capacity(k: int) -> int:
        nbytes = wiring.wires[k].nbytes
        return unit * nbytes if k in inputs else 2 * unit * nbytes if k in varying else max(1, unit * nbytes // max(n, 1))

    def price(box: Box) -> int | None:
        if box.ins and varying.isdisjoint(box.outs):
            return None  # computed once, before the loop
        out = wiring.wires[box.outs[0]]
        if isinstance(box.primitive, Map | FlatIndex | InRange) and not out.is_float and not out.shape:
            return None if price_of(wiring, maker, box) is None and isinstance(box.primitive, Map) else 1  # in a register
        if isinstance(box.primitive, FlatIndex):
            return 2 * len(box.primitive.axes) * out.nbytes
        if isinstance(box.primitive, InRange | ClearedWhere):
            return None if not fixed.isdisjoint(box.outs) else out.nbytes
        if isinstance(box.primitive, Gathered):
            return unit * out.nbytes  # it is read where it stands
        if isinstance(box.primitive, Map) and not fixed.isdisjoint(box.outs):
            return None
        return price_of(wiring, maker, box)

    found = least(wiring, slots, capacity, price)
    if found is None:
        return slots
    return tuple(sorted(found | {k for k in slots if k not in varying}))
