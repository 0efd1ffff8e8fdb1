"""Maps that feed a fold by bin or a scatter, computed where its kernel reads an element, so that nothing is written between.

The loop of such a kernel is one number after the other, while a stage computes vectors: only arithmetic is worth taking in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from catad import scalar
from catad.engine.cpu.access import straight
from catad.engine.cpu.bins import Before
from catad.engine.cpu.partition import CHEAP, Partition
from catad.engine.cpu.scatter import is_dense
from catad.engine.cpu.stage import Stage, identity
from catad.linear.gather import Put
from catad.scalar import Function, Node
from catad.scalar.llvm_ops import EMIT
from catad.scalar.simplify import replace
from catad.scalar.vocabulary import FREE
from catad.spaces import Tensor
from catad.vector.fold_by_bin import FoldByBin
from catad.wiring import Box


class Taken(NamedTuple):
    """A stage that a box takes in: its place among the items, the wires that the box then reads, and what it computes first."""

    item: int
    wires: tuple[int, ...]
    before: Before


def absorbed(found: Partition, box: Box, readers: Mapping[int, Sequence[int]]) -> Taken | None:
    """The stage that a box takes in whole; None where there is none, or its values are needed elsewhere.

    `readers` has, for each wire, how often it is read, or a result.
    """
    spaces = found.wiring.spaces(box.ins)
    if not isinstance(box.primitive, FoldByBin) and not (isinstance(box.primitive, Put) and is_dense(box.primitive, spaces)):
        return None
    values = box.ins[1:]
    makers = {found.produced.get(k, -1) for k in values}
    g = max(makers)
    stage = found.items[g] if g >= 0 else None
    if not isinstance(stage, Stage) or stage.axis or stage.normal or stage.folded or stage.shape != spaces[1].shape:
        return None
    if any(len(readers.get(k, ())) > (k in values) for k in stage.made) or len(set(values)) < len(values):
        return None
    return _composed(found, stage, g, values, spaces[1:])


def _composed(found: Partition, stage: Stage, g: int, values: Sequence[int], spaces: Sequence[Tensor]) -> Taken | None:
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
    used = sorted({one.value for one in scalar.postorder(outs) if one.op == "param"})
    places = {scalar.param(old): scalar.param(new) for new, old in enumerate(used)}
    function = Function.make(len(used), replace(outs, places))
    dtypes = tuple([found.wiring.wires[wires[k]].dtype for k in used])
    if not used or not _is_cheap(function) or scalar.result_types(function, dtypes) != tuple([s.dtype for s in spaces]):
        return None
    return Taken(g, tuple([wires[k] for k in used]), Before(tuple([d.str for d in dtypes]), function))


def _is_cheap(function: Function) -> bool:
    """Whether it is a little arithmetic."""
    plain = all(node.op in EMIT or node.op in FREE for node in scalar.postorder(function.outputs))
    return plain and scalar.operations(function) <= CHEAP
