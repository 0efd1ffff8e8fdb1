"""What a pullback keeps of its point: the arrays with the fewest bytes from which all coefficients of the derivative follow.

The slots of the linear map are such arrays, and often not the fewest. The program of value and coefficients is a graph of
wires, in which a minimum vertex cut is looked for between the slots and what a pullback cannot compute again. A wire in the
cut is kept. Pointwise boxes behind the cut run again, in the stages of the pullback that read what they make; so a box has a
price, too. All else runs once: contractions, folds, scans, loops, sorts, code that cannot be traced.

Sources: the min-cut partitioner of PyTorch's AOTAutograd; the name is JAX's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import Any

from catad.arrays import Array
from catad.engine.conditions import with_conditions
from catad.engine.program import Program, with_zeros
from catad.engine.stages.split import length
from catad.engine.stages.work import is_view, work_of
from catad.linear.apply import applying
from catad.linear.cut import between
from catad.linear.structure import Structure
from catad.planner.heuristics import Work
from catad.planner.problems.min_cut import MinCut
from catad.scalar import postorder
from catad.spaces import Product, Tensor
from catad.vector.by_hand import erased
from catad.vector.map import Map
from catad.wiring import Box, Builder, Wire, Wiring

UNIT = 32  # capacities are in parts of a byte: an operation on numbers costs as much as moving one of 32 parts of their bytes
WORK = 2e5  # of the search for a cut, some tenths of a second at most
Vertex = int | tuple[int, ...]  # a wire, or the results of a box for its price
END = -1  # the vertex for all that a pullback cannot compute again


class Residuals:
    """A program from a point to the value and to what is kept, and one from what is kept and cotangents to cotangents.

    `whole` goes to `count` leaves of results, then to the slots; `structure` pulls back. `held` are the positions of the
    arguments that the pullback reads where they are, `kept` the wires of the arrays that the first program adds to its results.
    """

    def __init__(self, whole: Wiring, count: int, structure: Structure, held: Sequence[int], kept: Sequence[int]) -> None:
        self.whole, self.structure, self.held = whole, structure, tuple(held)
        self._slots = whole.outputs[count:]
        self._ins = (*kept, *[whole.inputs[i] for i in held])
        outputs = (*whole.outputs[:count], *kept)
        boxes = tuple(between(whole, whole.inputs, outputs))
        self.forward = Program(
            Wiring(whole.dom, Product(whole.spaces(outputs)), whole.wires, whole.inputs, boxes, outputs)
        )

    def _program(self, ends: Callable[[Builder, list[Wire], list[Wire]], Sequence[Wire]], spaces: Sequence[Tensor]) -> Program:
        """What is computed from the slots, which are computed from what is kept, and from more arguments."""
        b = Builder()
        starts = [b.wire(self.whole.wires[k]) for k in self._ins]
        more = [b.wire(space) for space in spaces]
        at = dict(zip(self._ins, starts, strict=True))
        for box in between(self.whole, at, self._slots):
            at.update(zip(box.outs, b.add(box.primitive, *[at[k] for k in box.ins]), strict=True))
        ins = (*starts, *more)
        return Program(b.finish(b.space(ins), ins, tuple(ends(b, [at[k] for k in self._slots], more))))

    @cached_property
    def backward(self) -> tuple[Program, tuple[bool, ...]]:
        """The program of the pullback, and which of its results there are; the others are zero by structure."""
        made: list[bool] = []

        def pulled(b: Builder, slots: list[Wire], cotangents: list[Wire]) -> list[Wire]:
            outs = self.structure.apply(b, slots, cotangents)
            made.extend([wire is not None for wire in outs])
            return [wire for wire in outs if wire is not None]

        return self._program(pulled, self.structure.dom), tuple(made)

    def pulled(self, xp: Any, arrays: Sequence[Array], cotangents: Sequence[Array]) -> list[Array]:
        """The cotangents of the arguments, from what is kept and the cotangents of the results."""
        program, there = self.backward
        return with_zeros(program(xp, [*arrays, *cotangents]), there, self.structure.cod, xp)

    @cached_property
    def _coefficients(self) -> Program:
        return self._program(lambda b, slots, _: slots, ())

    def slots(self, xp: Any, arrays: Sequence[Array]) -> list[Array]:
        """The slots of the linear map, from what is kept."""
        return self._coefficients(xp, arrays)


def residuals(whole: Wiring, count: int, structure: Structure, frozen: Sequence[bool]) -> Residuals | None:
    """The least that a pullback can keep, None where it is the slots. `frozen` are the arguments into which nobody can write.

    Such an argument is kept as it is. Of another one, and of a result, a copy is kept, since the caller may write into it.
    """
    whole = with_conditions(erased(whole))
    slots = whole.outputs[count:]
    free = {k for k, flag in zip(whole.inputs, frozen, strict=True) if flag}
    fixed = {k for k, flag in zip(slots, _inlined(structure), strict=True) if not flag}
    found = least(whole, count, free, fixed)
    if found is None or (found == {*slots} and not found & free):
        return None
    held = [i for i, k in enumerate(whole.inputs) if k in found & free]
    return Residuals(whole, count, structure, held, sorted(found - free))


def least(whole: Wiring, count: int, free: Collection[int], fixed: Collection[int]) -> set[int] | None:
    """The wires with the fewest bytes from which the slots can be computed again; None where the search takes too long.

    `free` are arguments that are kept as they are, `fixed` the slots that what reads them cannot compute in passing: these would
    be written and read all the same.
    """
    results, maker = whole.outputs[:count], {k: box for box in whole.boxes for k in box.outs}
    ends = dict.fromkeys(whole.outputs[count:])
    near: dict[Vertex, list[Vertex]] = {}
    size: dict[Vertex, int] = {}
    waiting: list[int] = [*ends]
    while waiting:
        k = waiting.pop()
        if k in near:
            continue
        box = maker.get(k)
        size[k] = _capacity(whole, box, k, results, free)
        price = None if box is None or k in fixed else _price(whole, maker, box)
        if box is None or price is None:
            near[k] = [END]
            continue
        near[k] = [*box.ins]
        waiting += box.ins
        if price:
            near[k].append(box.outs)
            near[box.outs], size[box.outs] = [END], price
    work, found = Work(WORK), set[int]()
    for part in _parts(near):
        cut = _cut(part, near, size, ends, work)
        if cut is None:
            return None
        found.update([k for k in cut if isinstance(k, int)])
    return found


def _parts(near: dict[Vertex, list[Vertex]]) -> list[list[Vertex]]:
    """The vertices of a graph, those that are connected together."""
    beside: dict[Vertex, list[Vertex]] = {k: [] for k in near}
    for k, others in near.items():
        for other in others:
            if other != END:
                beside[k].append(other)
                beside[other].append(k)
    seen, parts = set[Vertex](), list[list[Vertex]]()
    for k in near:
        if k in seen:
            continue
        seen.add(k)
        part = [k]
        for one in part:
            part += [other for other in dict.fromkeys(beside[one]) if other not in seen]
            seen.update(beside[one])
        parts.append(part)
    return parts


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


def _capacity(whole: Wiring, box: Box | None, k: int, results: Collection[int], free: Collection[int]) -> int:
    """What keeping a wire moves: it is written and read again; what is somebody else's memory is read once more to copy it."""
    space = whole.wires[k]
    times = 1 if k in free else 3 if box is None or k in results or is_view(box) else 2
    return UNIT * times * space.size * space.dtype.itemsize


def _price(whole: Wiring, maker: dict[int, Box], box: Box) -> int | None:
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
    if not isinstance(box.primitive, Map) or any(node.op == "loop" for node in postorder(box.primitive.function.outputs)):
        return None
    out = whole.wires[box.outs[0]]
    return length(box.primitive.function) * out.size * max([whole.wires[k].dtype.itemsize for k in box.outs])


def _inlined(structure: Structure) -> list[bool]:
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
