"""A wiring as steps for the CPU engine: compiled stages, and boxes that run by themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from catad.engine.cpu.absorb import Taken, absorbed
from catad.engine.cpu.joint import joint
from catad.engine.cpu.launch import StageKernel
from catad.engine.cpu.lone import lone, member, together
from catad.engine.cpu.partition import Item, Partition, copied
from catad.engine.cpu.plan import ready
from catad.engine.cpu.stage import Stage
from catad.engine.cpu.together import Member
from catad.spaces import Product
from catad.vector.by_bin import ProductOfOthersByBin
from catad.vector.others import ProductOfOthers
from catad.vector.winner import Winner
from catad.wiring import Box, Builder, Wire, Wiring

Step = tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...]]


def steps(wiring: Wiring) -> list[Step]:
    """What runs one after the other: a callable on arrays, the wires that it reads, the wires that it writes."""
    found = Partition(wiring)
    reads = [_reads(item) for item in found.items]
    passes = joint(found, reads)
    at = {group[-1]: group for group in passes}
    readers = _readers(found, reads)
    taken = {group: absorbed(found, group, readers) for group in passes}
    for own in taken.values():
        for g, one in own.items():
            reads[g] = set(one.reads)
    wanted = set(wiring.outputs).union(*reads)
    inside = {one.item for own in taken.values() for one in own.values()}
    inside.update(g for group in passes for g in group[:-1])
    out: list[Step] = []
    for g, item in enumerate(found.items):
        if g in inside:
            continue
        if isinstance(item, Stage):
            outs = tuple([k for k in (*item.made, *item.folded) if k in wanted])
            if outs:
                out.append(_stage(found, g, item, outs, wanted))
        elif g in at:
            out.append(_pass(found, at[g], taken[at[g]], wanted))
        else:
            out.append((lone(item.primitive, wiring.spaces(item.ins)), item.ins, item.outs))
    return out


def _readers(found: Partition, reads: Sequence[set[int]]) -> dict[int, list[int]]:
    """The places of the items that read each wire, -1 where it is a result."""
    readers: dict[int, list[int]] = {k: [-1] for k in found.wiring.outputs}
    for g, own in enumerate(reads):
        for k in own:
            readers.setdefault(k, []).append(g)
    return readers


def _pass(found: Partition, group: Sequence[int], taken: Mapping[int, Taken], wanted: set[int]) -> Step:
    """Folds by bin in one pass, with the stages that compute their values."""
    parts = [_part(found, g, taken.get(g), wanted) for g in group]
    boxes = list(dict.fromkeys(box for part in parts for box in part.boxes))
    ins = tuple([k for part in parts for k in part.reads])
    outs = tuple([k for part in parts for k in part.boxes[-1].outs])
    reference = _Reference(found.wiring, boxes, ins, outs)
    name = " + ".join([part.name for part in parts])
    return together([part.member for part in parts], [len(part.reads) for part in parts], reference, name), ins, outs


class _Part(NamedTuple):
    """A fold by bin of a pass: what it reads, the boxes that it stands for, itself the last, and its name."""

    member: Member
    reads: tuple[int, ...]
    boxes: tuple[Box, ...]
    name: str


def _part(found: Partition, g: int, taken: Taken | None, wanted: set[int]) -> _Part:
    box = found.items[g]
    assert isinstance(box, Box)
    spaces, name = found.wiring.spaces(box.ins), type(box.primitive).__name__
    if taken is None:
        return _Part(member(box.primitive, spaces), box.ins, (box,), name)
    stage = found.items[taken.item]
    assert isinstance(stage, Stage)
    values = [k for k in box.ins[1:] if found.produced.get(k) == taken.item]
    boxes, _ = _members(found, taken.item, values, dict.fromkeys(taken.reads), wanted)
    names = " ".join([*dict.fromkeys(stage.members), name])
    return _Part(member(box.primitive, spaces, taken.before), taken.reads, (*boxes, box), names)


def _reads(item: Item) -> set[int]:
    if isinstance(item, Stage):
        return {load.wire for _, load in item.inputs if load.wire >= 0}
    return set(item.ins)


def _stage(found: Partition, g: int, stage: Stage, outs: tuple[int, ...], wanted: set[int]) -> Step:
    wiring = found.wiring
    made = ready(stage, outs, [space.dtype for space in wiring.wires])
    reads = {p.wire: None for p in made.reads if p.wire >= 0}
    members, ins = _members(found, g, outs, reads, wanted)
    shapes = [wiring.wires[k].shape for k in outs]
    name = " ".join(dict.fromkeys(stage.members))
    other = _general(wiring, members, ins, outs) if stage.needs else _Reference(wiring, members, ins, outs)
    return StageKernel(made, ins, shapes, other, name), ins, outs


def _members(
    found: Partition, g: int, outs: Sequence[int], reads: dict[int, None], wanted: set[int]
) -> tuple[list[Box], tuple[int, ...]]:
    """The boxes of a stage with the views between them, in order, and the wires that they or the stage read from outside.

    What an earlier stage makes and nobody stores is made again here, as the stage does it.
    """
    maker = {k: box for box in found.wiring.boxes for k in box.outs}
    maker |= {k: copied(found.wiring, k, source) for k, (source, _) in found.aliases.items()}
    order: list[Box] = []
    ins = dict(reads)
    seen: set[int] = set()
    stack = [(k, False) for k in outs]
    while stack:
        k, ready_ = stack.pop()
        box = maker.get(k)
        if ready_ and box is not None and box not in order:
            order.append(box)
        if ready_ or k in seen or k in reads:
            continue
        seen.add(k)
        own = found.produced.get(k) == g or k in found.views or k in found.aliases or k in found.indices
        earlier = found.produced.get(k, -1)
        again = earlier >= 0 and isinstance(found.items[earlier], Stage) and k not in wanted
        if box is not None and (own or again):
            stack.append((k, True))
            stack += [(i, False) for i in box.ins]
        else:
            ins[k] = None
    return order, tuple(ins)


def _general(wiring: Wiring, boxes: Sequence[Box], ins: Sequence[int], outs: Sequence[int]) -> Callable[..., Any]:
    """The same boxes as a program that needs nothing to be known of numbers."""
    from catad.engine.program import Program

    b = Builder()
    at = {k: b.wire(wiring.wires[k]) for k in ins}
    for box in boxes:
        given = [at[k] for k in box.ins]
        if isinstance(box.primitive, ProductOfOthers):
            made: tuple[Wire, ...] = (b.apply(box.primitive.general, given[0]),)
        elif isinstance(box.primitive, ProductOfOthersByBin):
            made = (b.apply(box.primitive.general, tuple(given[:2])),)
        elif isinstance(box.primitive, Winner):
            made = (box.primitive.general(b, *given[:2]),)
        else:
            made = b.add(box.primitive, *given)
        at.update(zip(box.outs, made, strict=True))
    dom = Product(tuple([wiring.wires[k] for k in ins]))
    program = Program(b.finish(dom, tuple([at[k] for k in ins]), tuple([at[k] for k in outs])))

    def run(xp: Any, *arrays: Any) -> Any:
        made = program(xp, arrays)
        return made[0] if len(made) == 1 else made

    return run


class _Reference:
    """Boxes run one after the other by their array code."""

    def __init__(self, wiring: Wiring, boxes: Sequence[Box], ins: Sequence[int], outs: Sequence[int]) -> None:
        self.steps = [(box.primitive.kernel(wiring.spaces(box.ins)), box.ins, box.outs) for box in boxes]
        self.ins, self.outs = tuple(ins), tuple(outs)

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        at = dict(zip(self.ins, arrays, strict=True))
        for kernel, ins, outs in self.steps:
            result = kernel(xp, *[at[k] for k in ins])
            at.update(zip(outs, result if len(outs) > 1 else (result,), strict=True))
        return at[self.outs[0]] if len(self.outs) == 1 else [at[k] for k in self.outs]
