"""Boxes with programs in them that are no loops with a known number of steps."""

from __future__ import annotations

from collections.abc import Sequence

from catad import upward
from catad.category.spaces import Tensor
from catad.chunks.plan import Plan
from catad.chunks.rules.table import WHOLE, plan_of, rule
from catad.chunks.wires import Chunked
from catad.derivative.functors import Differential, ReverseDifferential
from catad.linear.batch_by_loop import OneByOne
from catad.vector.loops.checkpoint import Call
from catad.vector.loops.loop import Counted

WHOLE[Counted] = "the host reads its condition after each step"


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


@rule(OneByOne, cut="along axis 0: local")
def _one_by_one(plan: Plan, primitive: OneByOne, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    found, _ = plan.labelled(
        "one by one",
        [(x, _first(x.ndim)) for x in ins],
        [(space, _first(space.ndim)) for space in outs],
        lambda b, wires, sizes: b.add(OneByOne(primitive.one, sizes[0]), *wires),
    )
    return found


def _first(ndim: int) -> Sequence[int | None]:
    return (0, *[None] * (ndim - 1))
