"""A wiring as steps for a device: compiled stages, and boxes that run by themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from catad.category.wiring import Box, Wiring
from catad.engine.backend import Step
from catad.engine.cuda.boxes import kernels_of
from catad.engine.cuda.fuse_producers import Producer, fused_producers
from catad.engine.cuda.kernel import Device, Strides, Way
from catad.engine.cuda.launch import way_of
from catad.engine.cuda.rows import by_rows
from catad.engine.cuda.runner import StageRunner, Standalone
from catad.engine.rewrites.without_shortcuts import members, unconditional
from catad.engine.run import Run
from catad.engine.stages.group import Group, grouped, in_order, united
from catad.engine.stages.layout import ready
from catad.engine.stages.one_hot import one_hot
from catad.engine.stages.partition import Item, Partition
from catad.engine.stages.repetition import tiled
from catad.engine.stages.resets import with_resets
from catad.engine.stages.split import split
from catad.engine.stages.stage import Stage
from catad.engine.stages.within_rows import within_rows


def steps(wiring: Wiring, device: Device) -> list[Step]:
    """The steps that a device runs in order: a callable on arrays, the wires that it reads, the wires that it writes."""
    found = Partition(split(tiled(one_hot(within_rows(with_resets(unconditional(wiring)))))))
    reads = [_reads(item) for item in found.items]
    taken = fused_producers(found, reads)
    for g, one in taken.items():
        reads[g], reads[one.item] = set(one.reads), set()
    inside = {one.item for one in taken.values()}
    groups = {max(one.loops): one for one in grouped(found, reads, inside)}
    inside.update([g for last, one in groups.items() for g in one.loops if g != last])
    units = [tuple(groups[g].loops) if g in groups else (g,) for g in range(len(found.items)) if g not in inside]
    made = _Steps(found, device, reads)
    for unit in in_order(units, reads, found.produced) if groups else units:
        g, item = unit[-1], found.items[unit[-1]]
        if g in groups:
            made.rows(groups[g])
        elif isinstance(item, Stage):
            made.add(made.stages(unit))
        else:
            made.box(g, item, taken.get(g))
    return made.found


class _Steps:
    """The steps of a partition so far."""

    def __init__(self, partition: Partition, device: Device, reads: Sequence[set[int]]) -> None:
        self.partition, self.wiring, self.device, self.reads = partition, partition.wiring, device, reads
        self.wanted = set(self.wiring.outputs).union(*reads)
        made = [k for box in self.wiring.boxes if not box.ins for k in box.outs]
        self.there = {*self.wiring.inputs, *made} - partition.indices
        self.found = list[Step]()

    def add(self, made: Iterable[Step]) -> None:
        """More steps, which make what is there from then on."""
        for step in made:
            self.found.append(step)
            self.there.update(step[2])

    def stages(self, places: Iterable[int]) -> list[Step]:
        """Stages one after the other, without those of which nobody reads anything."""
        made, now = list[Step](), set(self.there)
        for g in places:
            stage = self.partition.items[g]
            assert isinstance(stage, Stage)
            outs = tuple([k for k in (*stage.made, *stage.folded) if k in self.wanted])
            if outs:
                made.append(self._stage(stage, outs, now))
                now.update(outs)
        return made

    def _stage(self, stage: Stage, outs: tuple[int, ...], there: set[int]) -> Step:
        wiring, device, what = self.wiring, self.device, ready(stage, outs, self.wiring.wires)
        boxes, ins = members(self.partition, outs, [p.wire for p in what.reads if p.wire >= 0], there)
        place = [ins.index(p.wire) if p.wire >= 0 else -1 for p in what.reads]

        def make(strides: Strides, results: Strides) -> Way:
            return way_of(device, what, place, strides, results)

        name, plain = " ".join(dict.fromkeys(stage.members)), ArrayCode(wiring, boxes, ins, outs)
        return StageRunner(device, name, make, plain, (wiring.spaces(ins), wiring.spaces(outs))), ins, outs

    def rows(self, group: Group) -> None:
        """A group whose stages share rows, as one kernel where there is one."""
        device, apart = self.device, self.stages(group.loops)
        one = united(self.partition, group, self.reads, 0, [k for step in apart for k in step[1]])
        if one is None:
            self.add(apart)
            return

        def make(strides: Strides, results: Strides) -> Way | None:
            return by_rows(device, one.rows, strides, results)

        def plain(xp: Any, *arrays: Any) -> Any:
            return _result(run.straight(xp, arrays))

        run, runners = Run(one.ins, one.outs, apart), [step[0] for step in apart if isinstance(step[0], StageRunner)]
        spaces, name = (self.wiring.spaces(one.ins), self.wiring.spaces(one.outs)), " / ".join([each.name for each in runners])
        self.add([(StageRunner(device, name, make, plain, spaces, runners), one.ins, one.outs)])

    def box(self, g: int, box: Box, taken: Producer | None) -> None:
        """A box by itself, with the stage that it takes in: compiled code where there is some, else its array code."""
        wiring, name = self.wiring, type(box.primitive).__name__
        spaces, boxes, ins, reads = wiring.spaces(box.ins), [box], box.ins, box.ins
        before = None
        plain: Any = box.primitive.kernel(spaces)
        if taken is not None:
            stage = self.partition.items[taken.item]
            assert isinstance(stage, Stage)
            values = [k for k in box.ins[1:] if self.partition.produced.get(k) == taken.item]
            reads, before = taken.reads, taken.before
            boxes, ins = members(self.partition, values, reads, self.there)
            name = " ".join([*dict.fromkeys(stage.members), name])
            ins = (*reads, *[k for k in ins if k not in reads])
            plain = ArrayCode(wiring, [*boxes, box], ins, box.outs)
        made = kernels_of(self.device, box.primitive, spaces, before)
        self.add([(plain if made is None else Standalone(self.device, name, made, plain), ins, box.outs)])


def _reads(item: Item) -> set[int]:
    if isinstance(item, Stage):
        return {load.wire for _, load in item.inputs if load.wire >= 0}
    return set(item.ins)


def _result(made: Sequence[Any]) -> Any:
    return made[0] if len(made) == 1 else made


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
        return _result(self.run(xp, arrays))
