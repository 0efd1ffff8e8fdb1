"""Boxes from outside the package: local along the axes that they say, on whole arrays where they say nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from catad import errors
from catad.category.boxes import Primitive
from catad.category.spaces import Tensor
from catad.chunks.labels import labels_of
from catad.chunks.plan import Labels, Plan
from catad.chunks.rules.pointwise import spread
from catad.chunks.rules.table import local, rule
from catad.chunks.wires import Chunked
from catad.errors.notices import notice
from catad.linear.batch_by_loop import OneByOne
from catad.vector.custom_derivative import Opaque

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

_SILENT = "its author does not say `chunks`, the axes along which it is local"


@rule(
    Primitive, Opaque,
    cut="along the axes that `chunks` says: local; else whole arrays", exchanged="whole arrays where they are needed",
)  # fmt: skip
def _from_outside(plan: Plan, primitive: Primitive, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    said = primitive.chunks
    if said is None:
        if isinstance(primitive, Opaque) and any(x.is_cut for x in ins):
            notice(("whole", primitive.fn), errors.opaque_on_whole(primitive.fn))
        return plan.on_whole(primitive, ins, outs, _SILENT)
    given, made = labels_of(said, primitive, [x.space for x in ins], outs)
    return _by_labels(plan, primitive, ins, outs, given, made, said == "entries")


def _by_labels(
    plan: Plan,
    primitive: Primitive,
    ins: Sequence[Chunked],
    outs: Sequence[Tensor],
    given: list[Labels],
    made: list[Labels],
    spreads: bool = False,
) -> Sequence[Chunked]:
    def lay(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        shapes = [
            [n if k is None else sizes[k] for n, k in zip(space.shape, labels, strict=True)]
            for space, labels in zip(outs, made, strict=True)
        ]
        expected = tuple([Tensor(shape, space.dtype) for shape, space in zip(shapes, outs, strict=True)])
        one = primitive.of_chunk(tuple([wire.space for wire in wires]), expected)
        results = b.add(one, *wires)
        if spreads:  # of arguments that all have size 1 along an axis
            results = tuple([w for wire, s in zip(results, expected, strict=True) for w in spread(b, [wire], s.shape)])
        found = tuple([wire.space for wire in results])
        if found != expected:
            raise errors.ExtensionError(errors.other_spaces_of_chunk(one, found, expected))
        return results

    pairs = list(zip(ins, given, strict=True)), list(zip(outs, made, strict=True))
    return local(plan, primitive, *pairs, "what it is local along is not cut", lay)


def _after_lanes(labels: Labels) -> Labels:
    return [0, *[None if k is None else k + 1 for k in labels]]


@rule(OneByOne, cut="along axis 0: local; along others: as the box that it repeats says", exchanged="whole arguments of one box")
def _one_by_one(plan: Plan, primitive: OneByOne, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    one = primitive.one
    within: list[list[Any]] = [[[None] * (x.ndim - 1) for x in some] for some in (ins, outs)]
    if one.chunks is not None:
        each = [[Tensor(s.shape[1:], s.dtype) for s in some] for some in ([x.space for x in ins], outs)]
        within = [list(some) for some in labels_of(one.chunks, one, *each)]
    given, made = [[_after_lanes(labels) for labels in some] for some in within]
    return _by_labels(plan, primitive, ins, outs, given, made)
