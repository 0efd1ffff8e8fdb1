"""A wiring within a whole program: the order of its stages and boxes, where results lie, and what is written in place.

A box that changes an argument writes into it where nobody reads that argument later; so such a box waits for the argument's
other readers, where that is no cycle. What the caller wants in a certain place is computed there, where it can be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from catad.category.boxes import Primitive
from catad.category.spaces import Tensor
from catad.category.wiring import Box, Wiring
from catad.engine.cpu.whole.callbacks import call_array_code, called_outside
from catad.engine.cpu.whole.conditional_writes import PART
from catad.engine.cpu.whole.contraction import LARGE, dot_within, write_contraction
from catad.engine.cpu.whole.copies import (
    added,
    cleared,
    concatenate,
    fold_of_nothing,
    offset_of,
    overwritten,
    strided_copy,
    windowed,
)
from catad.engine.cpu.whole.indexed_writes import (
    added_at,
    cleared_at,
    converged,
    flat_index,
    in_range,
    overwritten_at,
    scatter_added,
)
from catad.engine.cpu.whole.inline_stages import write_stage
from catad.engine.cpu.whole.parallel_units import Unit, with_units
from catad.engine.cpu.whole.rewrite import accumulated, without_shortcuts
from catad.engine.cpu.whole.text import BOXES, DEEP, Arrays, Buffer, Pass, Text
from catad.engine.cpu.whole.transposed import transposed
from catad.engine.rewrites.without_shortcuts import exact_program, members
from catad.engine.stages.common_factors import with_common_factors
from catad.engine.stages.concatenation import joined
from catad.engine.stages.group import behind
from catad.engine.stages.layout import Ready, ready
from catad.engine.stages.one_hot import one_hot
from catad.engine.stages.partition import Item, Partition
from catad.engine.stages.repetition import tiled
from catad.engine.stages.resets import with_resets
from catad.engine.stages.split import split
from catad.engine.stages.stage import FoldResult, Stage
from catad.engine.stages.within_rows import within_rows
from catad.engine.text.numbers import load
from catad.errors import CannotPrint
from catad.linear.families.clear import Cleared, ClearedAt
from catad.linear.families.contract import Contract
from catad.linear.families.dot_within import DotWithin
from catad.linear.families.gather import ScatterAdded
from catad.linear.families.reindex import Reshaped, StridedCopy
from catad.linear.families.windows import Windowed
from catad.scalar.printing.llvm_writer import literal, llvm_type
from catad.vector.bins.sort import StableOrder
from catad.vector.folds.fold import Fold
from catad.vector.indexing.flat_index import FlatIndex
from catad.vector.indexing.gather import Ended, InRange
from catad.vector.indexing.overwrite import Added, AddedAt, Overwritten, OverwrittenAt
from catad.vector.loops.converged import Converged
from catad.vector.loops.loop import Waiting
from catad.vector.pointwise.same_value import Fits
from catad.vector.shapes.shape import Concatenate

Write = Callable[[Text, Any, Arrays, Arrays], None]

WRITERS: dict[type[Primitive], Write] = {
    StridedCopy: strided_copy,
    Windowed: windowed,
    Overwritten: overwritten,
    Added: added,
    Cleared: cleared,
    Concatenate: concatenate,
    OverwrittenAt: overwritten_at,
    AddedAt: added_at,
    ClearedAt: cleared_at,
    ScatterAdded: scatter_added,
    FlatIndex: flat_index,
    Ended: in_range,
    InRange: in_range,
    Fits: in_range,
    Converged: converged,
    Contract: lambda text, box, read, made: write_contraction(text, box, read, made[0]),
    DotWithin: dot_within,
    Unit: lambda text, unit, read, made: unit.write(text, read, made),  # type: ignore[dict-item]
}
"""What writes the boxes that are no stages, by their kind; `nested.py` adds those that run programs."""

LONG_SORT = 256  # numbers from which on NumPy sorts faster, by vector instructions

SHARED = (StridedCopy, Overwritten, Added, Cleared, Concatenate)
"""The kinds of boxes of which equal ones share a function, besides products that BLAS does not do."""

CHANGED: dict[type[Primitive], Callable[[Box], dict[int, int]]] = {
    Overwritten: lambda box: {0: 0},
    Added: lambda box: {0: 0},
    Cleared: lambda box: {0: 0},
    OverwrittenAt: lambda box: {0: 1},
    AddedAt: lambda box: {0: 1},
    ClearedAt: lambda box: {0: 1},
    FlatIndex: lambda box: {0: 0},
    InRange: lambda box: {0: 0},
    Fits: lambda box: {0: 0},
}
"""Which results of a box may lie where which arguments do, by the kind of the box."""


def write_program(
    text: Text, wiring: Wiring, given: Sequence[Buffer], goals: Sequence[Buffer | None], loose: int = 0
) -> list[Buffer]:
    """Write a program that reads these arrays; the buffers of its results.

    Results are in their goals where there are some; the first `loose` ones may be elsewhere, in the place
    of an argument, say, but not in a part of it.
    """
    if text.depth >= DEEP:
        raise CannotPrint("a program within many others", f"at most {DEEP} are written into each other")
    text.boxes += len(wiring.boxes)
    if text.boxes > BOXES:
        raise CannotPrint(f"a program of more than {BOXES} boxes", "it would take long to compile as one function")
    text.depth += 1
    made = _Program(text, wiring, given, goals, loose).write()
    text.depth -= 1
    return made


class _Program:
    def __init__(
        self, text: Text, wiring: Wiring, given: Sequence[Buffer], goals: Sequence[Buffer | None], loose: int
    ) -> None:
        self.text, self.goals, self.loose = text, goals, loose
        wiring = with_resets(wiring)
        wiring = tiled(one_hot(within_rows(joined(wiring)))) if text.depth == 1 else without_shortcuts(wiring)
        wiring = with_common_factors(transposed(accumulated(wiring, text.depth > 1)))
        found = self.found = Partition(split(wiring))
        self.wiring = wiring = found.wiring
        self.exact: dict[int, tuple[tuple[int, ...], Callable[..., Any]]] = {}  # by stage: what runs where a formula fails
        needed = {*wiring.outputs, *[k for item in found.items for k in self._reads(item)]}
        self.exact = {id(item): self._exactly(item, needed) for item in found.items if isinstance(item, Stage) and item.needs}
        self.items = with_units(text, found, [self._reads(item) for item in found.items])
        self.at: dict[int, Buffer] = dict(zip(wiring.inputs, given, strict=True))
        self.reads = [self._reads(item) for item in self.items]
        needed = {*wiring.outputs, *[k for own in self.reads for k in own]}
        text.checks |= text.depth > 1 and any(box.primitive.checks(wiring.spaces(box.ins)) for box in wiring.boxes)
        for box in wiring.boxes:
            if not box.ins:
                self.at.update({k: text.constant(box.primitive.evaluate(np)) for k in box.outs if k in needed})
        self.makes = self._makes(needed)
        self.apart: set[int] = set()
        self.memory = self._memories()
        self.apart = self._copied()
        self.memory = self._memories()
        self.parts: dict[int, list[int]] = {}  # the wires that are a part of each memory, itself the first
        for k, root in self.memory.items():
            self.parts.setdefault(root, [root]).append(k)
        self.same, after = self._in_place()
        self.order = behind(len(self.items), after.__getitem__)

    def _reads(self, item: Item) -> tuple[int, ...]:
        if isinstance(item, Stage):
            more = self.exact[id(item)][0] if id(item) in self.exact else [k for k, _ in item.needs]
            return tuple(dict.fromkeys([*[load.wire for _, load in item.inputs if load.wire >= 0], *more]))
        return item.ins

    def _makes(self, needed: set[int]) -> list[tuple[int, ...]]:
        return [
            tuple([k for k in (*item.made, *item.folded) if k in needed]) if isinstance(item, Stage) else item.outs
            for item in self.items
        ]

    def _exactly(self, stage: Stage, needed: set[int]) -> tuple[tuple[int, ...], Callable[..., Any]]:
        """What runs where the formulas of a stage do not hold, and the wires that it reads."""
        made = tuple([k for k in (*stage.made, *stage.folded) if k in needed])
        boxes, ins = members(self.found, made, [k for k, _ in stage.needs], needed.union(self.wiring.inputs) - {*made})
        return ins, exact_program(self.wiring, boxes, ins, made)

    # -- memory and order

    def _alias(self, item: Item) -> int | None:
        """The bytes after which the result of a box begins within its argument; None where it is no part of it."""
        if isinstance(item, Stage) or not self.apart.isdisjoint(item.outs):
            return None
        if isinstance(item.primitive, Reshaped):
            return 0
        return offset_of(item.primitive, self.wiring.wires[item.ins[0]]) if len(item.ins) == 1 else None

    def _memories(self) -> dict[int, int]:
        """The wire of which each one is a part."""
        memory: dict[int, int] = {}
        for item in self.items:
            if self._alias(item) is not None:
                assert isinstance(item, Box)
                memory[item.outs[0]] = memory.get(item.ins[0], item.ins[0])
        return memory

    def _copied(self) -> set[int]:
        """Small parts of arrays that are changed: who reads such a part later would keep the array unchanged."""
        wires = self.wiring.wires
        boxes = [item for item in self.items if isinstance(item, Box)]
        which = [(box, CHANGED[type(box.primitive)](box)) for box in boxes if type(box.primitive) in CHANGED]
        changed = {self._root(box.ins[a]) for box, same in which for a in same.values()}
        parts = [box.outs[0] for box in boxes if isinstance(box.primitive, StridedCopy) and box.outs[0] in self.memory]
        return {k for k in parts if self._root(k) in changed and PART * wires[k].nbytes <= wires[self._root(k)].nbytes}

    def _root(self, wire: int) -> int:
        return self.memory.get(wire, wire)

    def _readers(self) -> dict[int, list[int]]:
        """The items that read each memory; parts of it are no readers."""
        readers: dict[int, list[int]] = {}
        for g, own in enumerate(self.reads):
            if self._alias(self.items[g]) is None:
                for k in own:
                    readers.setdefault(self._root(k), []).append(g)
        return readers

    def _in_place(self) -> tuple[list[dict[int, int]], dict[int, set[int]]]:
        """For each item which result lies where which argument does, and the items that must come before it for that."""
        readers, fixed = self._readers(), self._results()
        copied = {k for k, goal in zip(self.wiring.outputs, self.goals, strict=True) if goal is not None and k in self.at}
        kept = {self._root(k) for k in self.wiring.outputs if k not in copied}
        found: list[dict[int, int]] = []
        after = dict(enumerate(self._producers()))
        for g, item in enumerate(self.items):
            own: dict[int, int] = {}
            for out, wire in self._candidates(item, self.makes[g]).items():
                root = self._root(wire)
                start = self.at.get(root)
                space = self.wiring.wires
                if out in fixed and start is None and isinstance(item, Stage):
                    continue  # it is written where it belongs
                if root in kept or (start is not None and not start.owned) or root in own.values():
                    continue
                if space[root].nbytes != space[wire].nbytes:
                    continue
                others = [r for r in readers[root] if r != g]
                if any(_reaches(after, r, g) for r in others):
                    continue
                after[g].update(others)
                own[out] = root
            found.append(own)
        return found, after

    def _results(self) -> set[int]:
        """The results that belong in a certain place."""
        return {k for k, goal in zip(self.wiring.outputs, self.goals, strict=True) if goal is not None}

    def _producers(self) -> list[set[int]]:
        maker = {k: g for g, own in enumerate(self.makes) for k in own}
        return [{maker[k] for k in own if k in maker} - {g} for g, own in enumerate(self.reads)]

    def _candidates(self, item: Item, made: Sequence[int]) -> dict[int, int]:
        """The results that may lie where an argument does, and the wire of this argument."""
        wires = self.wiring.wires
        if not isinstance(item, Stage):
            which = CHANGED.get(type(item.primitive))
            roots = [self._root(k) for k in item.ins]  # what the box reads as another argument, too, must stay
            pairs = [] if which is None else which(item).items()
            alike = [(item.outs[r], item.ins[a]) for r, a in pairs if roots.count(roots[a]) == 1]
            return {out: wire for out, wire in alike if wires[out] == wires[wire]}
        found: dict[int, int] = {}
        if item.axis:
            return found
        for out in made:
            own = item.made[out][1]
            for _, one in item.inputs:
                alone = [other for _, other in item.inputs if self._root(other.wire) == self._root(one.wire)]
                straight = one.wire >= 0 and one.access.axes == own and not one.access.guards and one.by < 0
                if straight and len(alone) == 1 and wires[one.wire] == wires[out] and one.wire not in found.values():
                    found[out] = one.wire
                    break
        return found

    # -- writing

    def write(self) -> list[Buffer]:
        """Write all items; the buffers of the results."""
        wanted: dict[int, Buffer] = {}
        there = set(self.at)
        for k, goal in zip(self.wiring.outputs, self.goals, strict=True):
            if goal is not None and k not in there:
                wanted.setdefault(k, goal)
            elif goal is not None:
                self.text.copy(self.at[k].pointer, goal.pointer, goal.nbytes)  # before anything is written over it
        last: dict[int, int] = {}
        for g in self.order:
            last.update(dict.fromkeys([self._root(k) for k in (*self.reads[g], *self.makes[g])], g))
        kept, inputs = {self._root(k) for k in self.wiring.outputs}, {id(buffer) for buffer in self.at.values()}
        for g in self.order:
            self._item(g, wanted)
            for k in {self._root(k) for k in (*self.reads[g], *self.makes[g])}:
                buffer = self.at.get(k)
                if last[k] == g and k not in kept and buffer is not None and id(buffer) not in inputs:
                    self._release(k, buffer)
        found = []
        for j, (k, goal) in enumerate(zip(self.wiring.outputs, self.goals, strict=True)):
            if goal is None or k in there:
                found.append(goal or self.at[k])
            elif j < self.loose and self.at[k].pointer != goal.pointer and self._is_all(k):
                found.append(self.at[k])
            else:
                self.text.copy(self.at[k].pointer, goal.pointer, goal.nbytes)
                found.append(goal)
        return found

    def _is_all(self, wire: int) -> bool:
        """False for a part of an array: it would be lost where another result is moved to that place."""
        return self.wiring.wires[self._root(wire)].nbytes == self.wiring.wires[wire].nbytes

    def _release(self, wire: int, buffer: Buffer) -> None:
        """Free the memory of a wire, unless another one lies there since."""
        for k in self.parts.get(wire, (wire,)):
            self.at.pop(k, None)
        if buffer.place >= 0 and not any(other.pointer == buffer.pointer for other in self.at.values()):
            self.text.free(buffer)

    def _item(self, g: int, wanted: dict[int, Buffer]) -> None:
        item, wires = self.items[g], self.wiring.wires
        offset = self._alias(item)
        if offset is not None:
            assert isinstance(item, Box)
            source = self.at[item.ins[0]]
            pointer = self.text.at(source.pointer, (), (), offset)
            self.at[item.outs[0]] = Buffer(pointer, wires[item.outs[0]].nbytes, source.owned and not offset)
            return
        outs = self.makes[g]
        if not outs:
            return
        for k in outs:
            place = self.same[g].get(k)
            if place is not None:
                self.at[k] = self.at[place]
            elif k in wanted:
                self.at[k] = wanted[k]
            else:
                self.at[k] = self.text.buffer(wires[k])
        made = [(self.at[k], wires[k]) for k in outs]
        nbytes = sum([wires[k].nbytes for k in {*self.reads[g], *outs}])
        self.text.work += self.text.times * self._indices(item)
        if isinstance(item, Stage):
            self.text.begin(Pass(" ".join(dict.fromkeys(item.members)), nbytes, True, []))
            self._stage(item, outs, self.same[g])
            return
        read = [(self.at[k], wires[k]) for k in item.ins]
        write = _writer(item.primitive, read) or called_outside
        name = item.primitive.name if isinstance(item.primitive, Unit) else type(item.primitive).__name__
        self.text.begin(Pass(name, nbytes, write is not called_outside, []))
        if not _shared(item.primitive):
            write(self.text, item.primitive, read, made)
            return
        arrays = [*read, *made]

        def body(pointers: list[str]) -> None:
            own = [(Buffer(p, buffer.nbytes), space) for p, (buffer, space) in zip(pointers, arrays, strict=True)]
            write(self.text, item.primitive, own[: len(read)], own[len(read) :])

        key = (item.primitive, tuple([space for _, space in arrays]))
        self.text.shared(key, [buffer.pointer for buffer, _ in arrays], body)

    def _indices(self, item: Item) -> int:
        """About the indices that an item runs, without programs in it; a part of an array is changed at those of the part."""
        if isinstance(item, Stage):
            return math.prod(item.shape)
        if isinstance(item.primitive, Contract):
            return math.prod(item.primitive.sizes)
        return min([self.wiring.wires[k].size for k in (*item.ins, *item.outs)])

    def _stage(self, stage: Stage, outs: Sequence[int], same: dict[int, int]) -> None:
        wires = self.wiring.wires
        found: Ready = ready(stage, outs, wires)
        read = [None if p.wire < 0 else (self.at[p.wire], wires[p.wire]) for p in found.reads]
        roots = [-1 if p.wire < 0 else self._root(p.wire) for p in found.reads]
        shared = {roots.index(same[k]): len(roots) + j for j, k in enumerate(outs) if same.get(k) in roots}
        assert not any(isinstance(sink.value, FoldResult) and k in same for sink, k in zip(found.body.sinks, outs, strict=True))
        made = [(self.at[k], wires[k]) for k in outs]
        if not found.needs:
            write_stage(self.text, found, read, made, shared)
            return
        holds, (ins, other) = self._holds(found.needs), self.exact[id(stage)]
        self.text.w.when(holds, lambda: write_stage(self.text, found, read, made, shared))
        given = [(self.at[k], wires[k]) for k in ins]
        self.text.w.when(self.text.w.set(f"xor i1 {holds}, true"), lambda: call_array_code(self.text, other, given, made))

    def _holds(self, needs: Sequence[tuple[int, str]]) -> str:
        """Whether all numbers of some wires meet conditions."""
        holds = "true"
        for k, condition in needs:
            one = tested(self.text, condition, self.at[k], self.wiring.wires[k])
            holds = one if holds == "true" else self.text.w.set(f"and i1 {holds}, {one}")
        return holds


def _writer(box: Primitive, read: Arrays) -> Write | None:
    """What writes a box that is no stage."""
    if isinstance(box, Fold) and not read[0][1].shape[box.axis]:
        return fold_of_nothing
    if isinstance(box, StableOrder) and read[0][1].size >= LONG_SORT:
        return None
    found = WRITERS.get(Waiting if isinstance(box, Waiting) else type(box))
    if found is not None or not box.of_matrices:
        return found
    from catad.engine.cpu.whole import linear_systems

    return linear_systems.writer(box, read)


def _shared(box: Primitive) -> bool:
    """True where equal boxes share a function."""
    return isinstance(box, SHARED) or (isinstance(box, Contract) and math.prod(box.sizes) < LARGE)


def _reaches(after: dict[int, set[int]], start: int, goal: int) -> bool:
    """True where one item must come after another."""
    stack, seen = [start], set[int]()
    while stack:
        g = stack.pop()
        if g == goal:
            return True
        if g not in seen:
            seen.add(g)
            stack += after[g]
    return False


def tested(text: Text, condition: str, buffer: Buffer, space: Tensor) -> str:
    """Whether a formula may be used: all numbers are "normal", finite and not so small that they have lost digits, or are a
    "number" and no NaN.
    """
    w, dtype = text.w, space.dtype
    kind = llvm_type(dtype)
    least, size = literal(float(np.finfo(dtype).tiny), dtype), literal(float("inf"), dtype)
    fails = w.slot("i8", 1)
    w.do(f"store i8 0, ptr {fails}")
    with text.each([space.size]) as index:
        x = load(w, text.at(buffer.pointer, index, [dtype.itemsize]), dtype)
        if condition == "number":
            wrong = w.set(f"fcmp uno {kind} {x}, {x}")
        else:
            far = w.intrinsic(f"llvm.fabs.f{8 * dtype.itemsize}", kind, f"{kind} {x}")
            small, large = w.set(f"fcmp ult {kind} {far}, {least}"), w.set(f"fcmp uge {kind} {far}, {size}")
            wrong = w.set(f"or i1 {small}, {large}")
        before = w.set(f"load i8, ptr {fails}")
        w.do(f"store i8 {w.set(f'or i8 {before}, ' + w.set(f'zext i1 {wrong} to i8'))}, ptr {fails}")
    return w.set(f"icmp eq i8 {w.set(f'load i8, ptr {fails}')}, 0")
