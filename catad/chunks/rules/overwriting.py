"""Boxes that write into regions of an array: each block is written where the region meets it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from catad.category.spaces import Tensor
from catad.chunks.parts import cut_like
from catad.chunks.plan import Plan
from catad.chunks.rules.moves import Operand, moved_sizes, moving
from catad.chunks.rules.pointwise import aligned
from catad.chunks.rules.table import rule
from catad.chunks.wires import Chunked
from catad.linear.families.clear import Cleared, ClearedWhere, run
from catad.linear.families.reindex import Axis, axis, whole
from catad.vector.indexing.overwrite import Added, Overwritten

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


@rule(Overwritten, Added, cut="along any axis: local, with what is written into a block", exchanged="what lies in other blocks")
def _written(plan: Plan, primitive: Overwritten | Added, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    x, values = ins
    box = type(primitive)

    def lay(b: Builder, wires: list[Wire], axes: list[tuple[Axis, ...]]) -> Wire:
        return b.add(box(axes[1]), *wires)[0] if all(ax.m for ax in axes[1]) else wires[0]

    stays = tuple([whole(n) for n in x.shape])
    moved = [moved_sizes(ax, sizes) for ax, sizes in zip(primitive.axes, values.parts, strict=True)]
    sizes = [own if len(own) > 1 else other for own, other in zip(x.parts, moved, strict=True)]
    name = "overwrite" if box is Overwritten else "add"
    return [moving(plan, name, outs[0], cut_like(sizes), [Operand(x, stays), Operand(values, primitive.axes)], lay)]


@rule(Cleared, cut="along any axis: local, where the region meets a block")
def _cleared(plan: Plan, primitive: Cleared, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    (x,) = ins
    stays = tuple([whole(n) for n in x.shape])
    region = tuple([axis(one.length, one.size, 0, 1, one.start, one.step, one.length) for one in primitive.region])

    def lay(b: Builder, wires: list[Wire], axes: list[tuple[Axis, ...]]) -> Wire:
        if not all(ax.m for ax in axes[1]):
            return wires[0]
        return b.add(Cleared(tuple([run(ax.n_out, ax.c, ax.t, ax.m) for ax in axes[1]])), *wires)[0]

    return [moving(plan, "clear", outs[0], cut_like(x.parts), [Operand(x, stays), Operand(None, region)], lay)]


@rule(ClearedWhere, cut="along any axis: local")
def _cleared_where(plan: Plan, primitive: ClearedWhere, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    shape = outs[0].shape
    labels = range(len(shape))

    def lay(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        return b.add(primitive, *wires)

    return plan.labelled("clear", [aligned(x, shape) for x in ins], [(outs[0], labels)], lay, light=True)[0]
