"""Boxes on stacks of matrices, and transforms: local along the axes that count these, on whole ones along others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from catad.category.boxes import Primitive
from catad.category.spaces import Tensor
from catad.chunks.plan import Labels, Plan
from catad.chunks.rules.table import local, rule
from catad.chunks.wires import Chunked
from catad.linalg.circulant import Regular
from catad.linalg.determinant import OfFactors
from catad.linalg.lstsq import OfFullRank
from catad.linalg.lu import Permuted
from catad.linalg.parts import Decomposition
from catad.linalg.solve import Inverted
from catad.linear.families.fourier import Transform
from catad.linear.families.inverse import Factor, Solved, SolvedForMany, has_array
from catad.linear.families.inverses import Reciprocals
from catad.vector.resummed import Resummed

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

GATHERED = "matrices of which rows or columns lie in several blocks"
_SOLVER = "the solver of a structure needs all of its numbers"


def leading(k: int, ndim: int) -> Labels:
    """Labels of an array of which the first k axes count what is independent."""
    return (*range(k), *[None] * (ndim - k))


def _counting(primitive: Any, ins: Sequence[Chunked]) -> int:
    """How many axes count matrices."""
    if isinstance(primitive, OfFullRank):
        return ins[1].ndim
    return ins[0].ndim - (1 if isinstance(primitive, (Permuted, Regular)) else 2)


@rule(
    Decomposition, Factor, Inverted, OfFactors, Regular,
    cut="along axes that count matrices: local; along rows and columns: whole matrices", exchanged=GATHERED,
)  # fmt: skip
def _of_matrices(plan: Plan, primitive: Primitive, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    k = _counting(primitive, ins)
    because = "a matrix is decomposed as a whole"
    return local(plan, primitive, [(x, leading(k, x.ndim)) for x in ins], [(s, leading(k, s.ndim)) for s in outs], because)


@rule(Solved, cut="along axes that count matrices or right-hand sides: local; along unknowns: whole systems", exchanged=GATHERED)
def _solved(plan: Plan, primitive: Solved, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    right = ins[-1]
    if not primitive.kind or not has_array(primitive.of):
        return plan.on_whole(primitive, ins, outs, _SOLVER)
    columns = primitive.columns
    k = right.ndim - 1 - len(columns)
    if primitive.of_space(ins[0].space, columns).of != primitive.of:
        return plan.on_whole(primitive, ins, outs, _SOLVER)
    own = (*range(k), None, *[k] * len(columns))  # the label k is that of right-hand sides

    def lay(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        return b.add(primitive.of_space(wires[0].space, wires[-1].shape[-1:] if columns else ()), *wires)

    given = [(x, leading(k, x.ndim)) for x in ins[:-1]]
    return local(plan, primitive, [*given, (right, own)], [(outs[0], own)], "a system is solved as a whole", lay)


@rule(SolvedForMany, cut="along the axis of the right-hand sides: local; along others: whole systems", exchanged=GATHERED)
def _solved_for_many(plan: Plan, primitive: SolvedForMany, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    first = len(ins) - len(primitive.one.of.cod)

    def lay(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        return b.add(replace(primitive, size=sizes[0]), *wires)

    given = [(x, leading(int(at >= first), x.ndim)) for at, x in enumerate(ins)]
    return local(plan, primitive, given, [(s, leading(1, s.ndim)) for s in outs], _SOLVER, lay)


@rule(Reciprocals, cut="along any axis: local")
def _reciprocals(plan: Plan, primitive: Reciprocals, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    labels = range(ins[0].ndim)
    return local(plan, primitive, [(ins[0], labels)], [(outs[0], labels)], "")


@rule(Transform, cut="along axes that are not transformed: local; along others: whole axes", exchanged="transformed axes")
def _transform(plan: Plan, primitive: Transform, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    labels: Labels = [None if k in primitive.how.axes else k for k in range(ins[0].ndim)]
    because = "each number of a transform depends on all along its axes"
    return local(plan, primitive, [(x, labels) for x in ins], [(space, labels) for space in outs], because)


@rule(Resummed, cut="along axes that count convolutions: local; along others: whole arrays", exchanged="convolved arrays")
def _resummed(plan: Plan, primitive: Resummed, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    k = ins[0].ndim - 1
    because = "whether a convolution is finite is asked of all of its numbers"
    return local(plan, primitive, [(x, leading(k, x.ndim)) for x in ins], [(outs[0], leading(k, k + 1))], because)
