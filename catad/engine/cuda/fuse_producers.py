"""Maps that feed a fold by bin or a scatter, computed where its kernel reads an element, so that nothing is written between.

The loop of such a kernel is one number after the other, while a stage computes vectors: only arithmetic is worth taking in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from catad import scalar
from catad.category.spaces import Tensor
from catad.category.wiring import Box
from catad.engine.cuda.by_bin import computes_values
from catad.engine.stages.access import straight
from catad.engine.stages.bins import Before
from catad.engine.stages.partition import Partition
from catad.engine.stages.recompute import CHEAP
from catad.engine.stages.stage import Stage, identity
from catad.scalar import Function, Node
from catad.scalar.printing.llvm_ops import EMIT
from catad.scalar.simplify import replace
from catad.scalar.vocabulary import FREE


class Producer(NamedTuple):
    """A stage that is fused into a box: its place among the items, the wires that the box then reads (its indices
    first), and what it computes first."""

    item: int
    reads: tuple[int, ...]
    before: Before


def fused_producers(found: Partition, reads: Sequence[set[int]]) -> dict[int, Producer]:
    """The stages that are fused into boxes, by the places of the boxes; none whose values are needed elsewhere.

    `reads` are the wires that each item reads.
    """
    boxes = {g: item for g, item in enumerate(found.items) if isinstance(item, Box)}
    taken = {g: one for g, box in boxes.items() if (one := _producer(found, box)) is not None}
    whole, outputs = {}, set(found.wiring.outputs)
    for item in {one.item for one in taken.values()}:
        stage = found.items[item]
        assert isinstance(stage, Stage)
        users = {g for g, own in enumerate(reads) if not own.isdisjoint(stage.made)}
        whole[item] = outputs.isdisjoint(stage.made) and users <= {g for g, one in taken.items() if one.item == item}
    return {g: one for g, one in taken.items() if whole[one.item]}


def _producer(found: Partition, box: Box) -> Producer | None:
    spaces, values = found.wiring.spaces(box.ins), box.ins[1:]
    if not computes_values(box.primitive, spaces):
        return None
    g = max(found.produced.get(k, -1) for k in values)
    stage = found.items[g] if g >= 0 else None
    if not isinstance(stage, Stage) or stage.axis or stage.needs or stage.folded or stage.shape != spaces[1].shape:
        return None
    if box.ins[0] in stage.made or len(set(values)) < len(values):
        return None
    return _composed(found, stage, g, box.ins, spaces[1:])


def _composed(found: Partition, stage: Stage, g: int, ins: Sequence[int], spaces: Sequence[Tensor]) -> Producer | None:
    index, *values = ins
    rank = len(stage.shape)
    node: dict[int, Node] = {}
    wires: list[int] = []
    for value, load in stage.inputs:
        if load.wire < 0 or load.by >= 0 or load.access != straight(rank):
            return None
        node[value] = scalar.param(len(wires))
        wires.append(load.wire)
    for op in stage.ops:
        if op.kind != "map":
            return None
        made = scalar.substitute(op.data, [node[a] for a in op.args])
        node.update({op.first + i: one for i, one in enumerate(made)})
    outs: list[Node] = []
    for k in values:
        if found.produced.get(k, -1) == g:
            value, own = stage.made[k]
            if own != identity(rank):
                return None
            outs.append(node[value])
        elif found.wiring.wires[k].shape == stage.shape:
            outs.append(scalar.param(len(wires)))
            wires.append(k)
        else:
            return None
    if not wires:
        return None
    used = sorted({one.value for one in scalar.postorder(outs) if one.op == "param"}) or [0]  # of a constant, any
    places = {scalar.param(old): scalar.param(new) for new, old in enumerate(used)}
    function = Function.make(len(used), replace(outs, places))
    dtypes = tuple([found.wiring.wires[wires[k]].dtype for k in used])
    if not _is_cheap(function) or scalar.result_types(function, dtypes) != tuple([s.dtype for s in spaces]):
        return None
    return Producer(g, (index, *[wires[k] for k in used]), Before(tuple([d.str for d in dtypes]), function))


def _is_cheap(function: Function) -> bool:
    """True where it is a little arithmetic for each number that is not written then; a loop costs the same in a stage."""
    order = scalar.postorder(function.outputs)
    plain = all(node.op in EMIT or node.op in FREE for node in order)
    return plain and sum(node.op not in FREE for node in order) <= CHEAP * len(function.outputs)
