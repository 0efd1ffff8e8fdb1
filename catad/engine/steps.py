"""A wiring as steps for a machine: compiled stages, and boxes that run by themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

from catad.engine.backend import Step
from catad.engine.machine import Known, Machine, constants, known
from catad.engine.rows import RowsRunner
from catad.engine.run import Run
from catad.engine.runner import StageRunner, Standalone
from catad.engine.stages.bin_boxes import member
from catad.engine.stages.bins import Member
from catad.engine.stages.exactly import members, unconditional
from catad.engine.stages.fuse_producers import Producer, fused_producers
from catad.engine.stages.fuse_siblings import fused_siblings
from catad.engine.stages.group import Group, grouped, in_order, united
from catad.engine.stages.layout import ready
from catad.engine.stages.one_hot import one_hot
from catad.engine.stages.partition import Item, Partition
from catad.engine.stages.resets import with_resets
from catad.engine.stages.split import split
from catad.engine.stages.stage import Stage
from catad.engine.stages.tiles import tiled
from catad.engine.stages.within_rows import within_rows
from catad.wiring import Box, Wiring


def steps(wiring: Wiring, machine: Machine) -> list[Step]:
    """The steps that a machine runs in order: a callable on arrays, the wires that it reads, the wires that it writes."""
    wiring = split(tiled(one_hot(within_rows(with_resets(unconditional(wiring))))))
    found = Partition(wiring)
    reads = [_reads(item) for item in found.items]
    passes = fused_siblings(found, reads)
    at = {group[-1]: group for group in passes}
    readers = _readers(found, reads)
    taken = {group: fused_producers(found, group, readers) for group in passes}
    for own in taken.values():
        for g, one in own.items():
            reads[g], reads[one.item] = set(one.reads), set()
    wanted = set(wiring.outputs).union(*reads)
    inside = {one.item for own in taken.values() for one in own.values()}
    inside.update(g for group in passes for g in group[:-1])
    there = {*wiring.inputs, *[k for box in wiring.boxes if not box.ins for k in box.outs]} - found.indices
    rows = grouped(found, reads, {*inside, *at}, passes) if machine.rows_from < inf else []
    groups = {max(one.loops): one for one in rows}
    inside.update([g for last, one in groups.items() for g in one.loops if g != last])
    units = [at.get(g) or (tuple(groups[g].loops) if g in groups else (g,)) for g in range(len(found.items)) if g not in inside]
    out, fixed = list[Step](), constants(wiring)
    for unit in in_order(units, reads, found.produced) if groups else units:
        g, item = unit[-1], found.items[unit[-1]]
        if g in groups:
            made = _rows(machine, found, groups[g], reads, wanted, there)
        elif g in at:
            made = [_pass(machine, found, at[g], taken[at[g]], there)]
        elif isinstance(item, Stage):
            made = _stages(machine, found, unit, wanted, there)
        else:
            made = [_standalone(machine, wiring, item, fixed)]
        out += made
        there.update([k for step in made for k in step[2]])
    return out


def _stages(machine: Machine, found: Partition, places: Iterable[int], wanted: set[int], there: set[int]) -> list[Step]:
    """Stages one after the other, without those of which nobody reads anything."""
    made, now = list[Step](), set(there)
    for g in places:
        stage = found.items[g]
        assert isinstance(stage, Stage)
        outs = tuple([k for k in (*stage.made, *stage.folded) if k in wanted])
        if outs:
            made.append(_stage(machine, found, stage, outs, now))
            now.update(outs)
    return made


def _rows(
    machine: Machine, found: Partition, group: Group, reads: Sequence[set[int]], wanted: set[int], there: set[int]
) -> list[Step]:
    """A group, row by row where what several of its stages read and write is large."""
    apart = _stages(machine, found, group.loops, wanted, there)
    one = united(found, group, reads, machine.rows_from, [k for step in apart for k in step[1]])
    if one is None:
        return apart
    spaces = found.wiring.spaces(one.ins), found.wiring.spaces(one.outs)
    name = " / ".join([step[0].name for step in apart if isinstance(step[0], StageRunner)])
    return [(RowsRunner(machine, one.rows, Run(one.ins, one.outs, apart), spaces, name), one.ins, one.outs)]


def _readers(found: Partition, reads: Sequence[set[int]]) -> dict[int, list[int]]:
    """The places of the items that read each wire, -1 where it is a result."""
    readers: dict[int, list[int]] = {k: [-1] for k in found.wiring.outputs}
    for g, own in enumerate(reads):
        for k in own:
            readers.setdefault(k, []).append(g)
    return readers


def _standalone(machine: Machine, wiring: Wiring, box: Box, fixed: Known) -> Step:
    """A box by itself: compiled code where there is some, else its array code."""
    ins = wiring.spaces(box.ins)
    plain, made = box.primitive.kernel(ins), machine.standalone(box.primitive, ins, known(box, fixed))
    if made is None:
        return plain, box.ins, box.outs
    return Standalone(machine, type(box.primitive).__name__, made, plain, ins), box.ins, box.outs


def _pass(
    machine: Machine, found: Partition, group: Sequence[int], taken: Mapping[int, Producer], there: set[int]
) -> Step:
    """Folds by bin in one pass, with the stages that compute their values."""
    parts = [_part(found, g, taken.get(g), there) for g in group]
    boxes = list(dict.fromkeys(box for part in parts for box in part.boxes))
    read = [k for part in parts for k in part.reads]
    ins = (*read, *dict.fromkeys([k for part in parts for k in part.ins if k not in read]))
    outs = tuple([k for part in parts for k in part.boxes[-1].outs])
    reference = ArrayCode(found.wiring, boxes, ins, outs)
    name = " + ".join([part.name for part in parts])
    made = machine.multi_fold([part.member for part in parts], [len(part.reads) for part in parts])
    return (reference if made is None else Standalone(machine, name, made, reference, ())), ins, outs


class _Part(NamedTuple):
    """A fold by bin of a pass: what it reads, the boxes that it stands for, itself the last, what they need, and its name."""

    member: Member
    reads: tuple[int, ...]
    ins: tuple[int, ...]
    boxes: tuple[Box, ...]
    name: str


def _part(found: Partition, g: int, taken: Producer | None, there: set[int]) -> _Part:
    box = found.items[g]
    assert isinstance(box, Box)
    spaces, name = found.wiring.spaces(box.ins), type(box.primitive).__name__
    if taken is None:
        return _Part(member(box.primitive, spaces), box.ins, box.ins, (box,), name)
    stage = found.items[taken.item]
    assert isinstance(stage, Stage)
    values = [k for k in box.ins[1:] if found.produced.get(k) == taken.item]
    boxes, ins = members(found, values, taken.reads, there)
    names = " ".join([*dict.fromkeys(stage.members), name])
    return _Part(member(box.primitive, spaces, taken.before), taken.reads, ins, (*boxes, box), names)


def _reads(item: Item) -> set[int]:
    if isinstance(item, Stage):
        return {load.wire for _, load in item.inputs if load.wire >= 0}
    return set(item.ins)


def _stage(machine: Machine, found: Partition, stage: Stage, outs: tuple[int, ...], there: set[int]) -> Step:
    wiring = found.wiring
    made = ready(stage, outs, wiring.wires)
    boxes, ins = members(found, outs, [p.wire for p in made.reads if p.wire >= 0], there)
    spaces = wiring.spaces(ins), wiring.spaces(outs)
    name = " ".join(dict.fromkeys(stage.members))
    return StageRunner(machine, made, ins, spaces, ArrayCode(wiring, boxes, ins, outs), name), ins, outs


class ArrayCode:
    """Boxes run one after the other by their array code, which is made when it is needed: most stages never need it."""

    def __init__(self, wiring: Wiring, boxes: Sequence[Box], ins: Sequence[int], outs: Sequence[int]) -> None:
        self.boxes = [(box.primitive, wiring.spaces(box.ins), box.ins, box.outs) for box in boxes]
        self.ins, self.outs = tuple(ins), tuple(outs)

    @cached_property
    def run(self) -> Run:
        """The array code."""
        return Run(self.ins, self.outs, [(primitive.kernel(spaces), ins, outs) for primitive, spaces, ins, outs in self.boxes])

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        made = self.run(xp, arrays)
        return made[0] if len(made) == 1 else made
