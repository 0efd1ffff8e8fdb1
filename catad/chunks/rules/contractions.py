"""Sums of products over labelled axes: local along labels of the result, sums of blocks along others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from catad.category.spaces import Tensor
from catad.chunks.plan import Plan
from catad.chunks.rules.table import rule
from catad.chunks.wires import FREE, MOVED, Chunked
from catad.linear.families.contract import Contract, contract
from catad.linear.families.dot_within import DotWithin
from catad.vector.pointwise.map import map as map_of

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


def added(b: Builder, wires: Sequence[Wire]) -> Sequence[Wire]:
    """The sums along axis 0."""
    return [contract(b, [tuple(range(w.ndim))], [w], tuple(range(1, w.ndim)), w.shape) for w in wires]


@rule(Contract, cut="a label of the result: local; a label that is summed: sums of blocks", exchanged="partial sums, in a tree")
def _contract(plan: Plan, primitive: Contract, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    labels = {label for operand in (*primitive.operands, primitive.out) for label in operand}
    many = [label for label in labels if primitive.out.count(label) > 1]  # values on a diagonal: zeros elsewhere

    def lay(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        local = tuple([sizes.get(k, n) for k, n in enumerate(primitive.sizes)])
        return b.add(replace(primitive, sizes=local), *wires)

    moves = not any(label not in primitive.out for operand in primitive.operands for label in operand)
    found, axes = plan.labelled(
        "sum of products" if len(ins) > 1 else "sum" if not moves else "copy",
        list(zip(ins, primitive.operands, strict=True)),
        [(outs[0], primitive.out)],
        lay,
        whole=many,
        light=moves,
        cheap=MOVED if moves else FREE,
    )
    return plan.combined("sum of partial sums", found, added, axes)


@rule(DotWithin, cut="along the vectors: sums of blocks; along others: local", exchanged="partial sums, in a tree")
def _dot_within(plan: Plan, primitive: DotWithin, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    lanes = tuple(range(1, 1 + len(primitive.lanes)))
    reads = list(zip(ins, [lanes, lanes, (*lanes, 0), (*lanes, 0)], strict=True))

    def lay(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        *given, begin = wires
        n = sizes[0]
        within = map_of(lambda at, first: min(max(at - first, 0), n))
        ends = [b.apply(within, (at, begin)) for at in given[:2]]
        return b.add(DotWithin(n, tuple([sizes[k] for k in lanes])), *ends, *given[2:])

    found, axes = plan.labelled("sum of products", reads, [(outs[0], lanes)], lay, starts=[0])
    return plan.combined("sum of partial sums", found, added, axes)
