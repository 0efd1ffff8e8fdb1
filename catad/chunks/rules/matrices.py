"""Boxes on stacks of matrices: local along the axes that count matrices, on whole matrices along their rows and columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from catad.category.boxes import Primitive
from catad.category.spaces import Tensor
from catad.chunks.plan import Labels, LayLabelled, Plan
from catad.chunks.rules.table import WHOLE, rule
from catad.chunks.wires import Chunked
from catad.linalg.circulant import Regular
from catad.linalg.determinant import OfFactors
from catad.linalg.lstsq import OfFullRank
from catad.linalg.lu import Permuted
from catad.linalg.parts import Decomposition
from catad.linalg.solve import Inverted
from catad.linear.batch_by_loop import OneByOne
from catad.linear.families.inverse import Factor, Solved, SolvedForMany, has_array
from catad.linear.families.inverses import Reciprocals
from catad.linear.solving.bands import BandsOf

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

GATHERED = "matrices of which rows or columns lie in several blocks"
_SOLVER = "the solver of a structure, or its diagonals, need all of its numbers"

WHOLE[BandsOf] = "the diagonals of a map are read by applying it"


def local(
    plan: Plan,
    primitive: Primitive,
    ins: Sequence[tuple[Chunked, Labels]],
    outs: Sequence[tuple[Tensor, Labels]],
    because: str,
    lay: LayLabelled | None = None,
) -> Sequence[Chunked]:
    """A box that is local along the labels of its results, on whole arrays where nothing is cut along these."""
    ours = {label for _, labels in outs for label in labels} - {None}
    along = [len(sizes) > 1 and label in ours for x, labels in ins for sizes, label in zip(x.parts, labels, strict=True)]
    if not any(along) and any(x.is_cut for x, _ in ins):
        return plan.on_whole(primitive, [x for x, _ in ins], [space for space, _ in outs], because)
    found = lay or (lambda b, wires, sizes: b.add(primitive, *wires))
    return plan.labelled(words(primitive), ins, outs, found)[0]


def words(primitive: Primitive) -> str:
    """The name of the class of a box in words, as tasks have it."""
    name = type(primitive).__name__
    return "".join([f" {c.lower()}" if c.isupper() and k else c.lower() for k, c in enumerate(name)])


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


@rule(OneByOne, cut="along axis 0: local; along others: whole arguments of one box", exchanged="parts of these")
def _one_by_one(plan: Plan, primitive: OneByOne, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    def lay(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        return b.add(replace(primitive, size=sizes[0]), *wires)

    given, made = [(x, leading(1, x.ndim)) for x in ins], [(s, leading(1, s.ndim)) for s in outs]
    return local(plan, primitive, given, made, "it runs one index of axis 0 after the other", lay)
