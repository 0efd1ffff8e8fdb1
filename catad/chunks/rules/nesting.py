"""Boxes with programs in them that are no loops with a known number of steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from catad import upward
from catad.category.spaces import Tensor
from catad.chunks.plan import Labels, Plan
from catad.chunks.rules.contractions import added
from catad.chunks.rules.table import WHOLE, local, plan_of, rule
from catad.chunks.wires import Chunked
from catad.derivative.functors import Differential, ReverseDifferential
from catad.vector.folds.entry_sum import Summed
from catad.vector.loops.checkpoint import Call
from catad.vector.loops.either import Choose
from catad.vector.loops.loop import After, Counted, Ran
from catad.vector.loops.revolve import BoundedPullback

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

WHOLE[Counted] = "the host reads its condition after each step"
WHOLE[BoundedPullback] = "it computes the states between those that are kept again by itself"
WHOLE[Summed] = "how many terms it adds is known only when it runs"


@rule(Call, cut="its own boxes, each by its rule", exchanged="what these exchange; what derivatives compute again is other tasks")
def _called(plan: Plan, primitive: Call, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    program, _ = upward.program_of(primitive.f, primitive.dom)
    before = plan.salt
    if _is_again(primitive):
        plan.salts += 1
        plan.salt = plan.salts
    try:
        return plan_of(plan, program.wiring, ins)
    finally:
        plan.salt = before


def _is_again(primitive: Call) -> bool:
    """Whether a call computes again what one before it has computed: the derivative of a checkpoint."""
    return isinstance(primitive.f, (Differential, ReverseDifferential))


@rule(Choose, cut="along its lanes: local; else whole arrays: its condition says which side runs", exchanged="whole arguments")
def _chosen(plan: Plan, primitive: Choose, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    lanes = len(primitive.lanes)

    def labels(shape: Sequence[int], has_lanes: bool) -> Labels:
        return [k if has_lanes and k < lanes else None for k in range(len(shape))]

    def lay(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        return b.add(replace(primitive, lanes=tuple([sizes[k] for k in range(lanes)])), *wires)

    given = [(x, labels(x.shape, at == 0 or at - 1 not in primitive.shared)) for at, x in enumerate(ins)]
    made = [(space, labels(space.shape, True)) for space in outs]
    return local(plan, primitive, given, made, "its condition says which side runs", lay)


@rule(After, cut="along any axis: local", exchanged="the number for which it waits")
def _after(plan: Plan, primitive: After, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    count, found = ins[0], list[Chunked]()
    for x, space in zip(ins[1:], outs, strict=True):
        labels = range(x.ndim)
        given = [(count, labels[: count.ndim]), (x, labels)]
        found += plan.labelled("after", given, [(space, labels)], lambda b, wires, sizes: b.add(primitive, *wires), light=True)[0]
    return found


@rule(Ran, cut="along any axis: local", exchanged="a number of each block, in a tree")
def _ran(plan: Plan, primitive: Ran, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    lay = plan.labelled("ran", [(ins[0], range(ins[0].ndim))], [(outs[0], ())], lambda b, wires, sizes: b.add(primitive, *wires))
    return plan.combined("all ran", lay[0], added, lay[1])
