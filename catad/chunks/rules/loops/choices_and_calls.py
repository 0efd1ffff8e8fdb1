"""Boxes with programs in them that are no loops with a known number of steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from catad import scalar
from catad.category.constant import Constant
from catad.category.spaces import Product, Space, Tensor
from catad.category.terms import D
from catad.chunks.plan import Labels, Plan
from catad.chunks.rules.contractions import added
from catad.chunks.rules.loops.bodies import Body, dims_of, grid_of, in_parts
from catad.chunks.rules.loops.inside import Inside, inner_of, program
from catad.chunks.rules.loops.steps import at_once
from catad.chunks.rules.table import WHOLE, local, plan_of, rule
from catad.chunks.wires import Chunked
from catad.derivative.functors import Differential, ReverseDifferential
from catad.engine.program import program_of
from catad.linear.families.contract import Contract
from catad.linear.families.reindex import Reshaped, StridedCopy
from catad.vector.folds.entry_sum import Summed
from catad.vector.folds.fold import Fold
from catad.vector.loops.checkpoint import Call
from catad.vector.loops.either import Choose
from catad.vector.loops.loop import After, Counted, Ran
from catad.vector.loops.sweep_map import Sweep
from catad.vector.pointwise.generate import Iota
from catad.vector.pointwise.map import Map, mapped
from catad.vector.scans.scan import Scan

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

HARMLESS = (Constant, Contract, Fold, Iota, Map, Reshaped, Scan, StridedCopy)
"""Boxes that may run on numbers for which they are not meant."""
WHOLE[Summed] = "how many terms it adds is known only when it runs"


@rule(Call, cut="its own boxes, each by its rule", exchanged="what these exchange; what derivatives compute again is other tasks")
def _called(plan: Plan, primitive: Call, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    program, _ = program_of(primitive.f, primitive.dom)
    with plan.computing_again() if _is_again(primitive) else nullcontext():
        return plan_of(plan, program.wiring, ins)


def _is_again(primitive: Call) -> bool:
    """Whether a call computes again what one before it has computed: the derivative of a checkpoint."""
    return isinstance(primitive.f, (Differential, ReverseDifferential))


# -- choices


@rule(
    Choose,
    cut="lanes, or sides that exchange nothing: each task chooses; else both run if that does no harm; else whole arrays",
    exchanged="what the sides exchange",
)
def _chosen(plan: Plan, primitive: Choose, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    if not any(x.is_cut for x in ins):
        return at_once(plan, primitive, ins, outs)
    if primitive.lanes:
        return _chosen_by_lanes(plan, primitive, ins, outs)
    f, g = [program(plan, side, primitive.dom, ins[1:]) for side in (primitive.f, primitive.g)]
    pairs = [(x, y if y.parts == x.parts else in_parts(g.plan, y, x.parts)) for x, y in zip(f.results, g.results, strict=True)]
    made = _chosen_inside(plan, ins, outs, (f, g), pairs)
    if made is not None:
        return made
    if not all(_may_run(side, primitive.dom) for side in (primitive.f, primitive.g)):
        because = "its sides exchange blocks, and one of them may fail or not end where the other is chosen"
        return plan.on_whole(primitive, ins, outs, because)
    sides = [plan_of(plan, program_of(side, primitive.dom)[0].wiring, ins[1:]) for side in (primitive.f, primitive.g)]
    return [_selected(plan, ins[0], *pair) for pair in zip(*sides, strict=True)]


def _chosen_inside(
    plan: Plan, ins: Sequence[Chunked], outs: Sequence[Tensor], bodies: Sequence[Body], pairs: Sequence[tuple[Chunked, Chunked]]
) -> Sequence[Chunked] | None:
    """The choice as a box of tasks that each run one side, a box for each grid of results; None where sides exchange blocks."""
    grids: dict[Any, list[int]] = {}
    for k, (x, y) in enumerate(pairs):
        grid = grid_of(x)
        if grid is None or grid_of(y) != grid or dims_of(x) != dims_of(y):
            return None
        grids.setdefault(grid, []).append(k)
    found = []
    for grid, numbers in grids.items():
        results = [[pairs[k][side] for k in numbers] for side in (0, 1)]
        inners = [inner_of(body, grid, own) for body, own in zip(bodies, results, strict=True)]
        if inners[0] is None or inners[1] is None:
            return None
        found.append((numbers, results, inners))
    made: dict[int, Chunked] = {}
    condition = plan.read(ins[0], ())
    for numbers, results, inners in found:
        inside = Inside(plan, ins[1:], inners, [condition])  # type: ignore[arg-type]
        box = inside.box("choice", results, ((), ()), _choice)
        for k in numbers:
            made[k] = box.result(outs[k], dims_of(pairs[k][0]), pairs[k][0].parts)
    for body in bodies:
        plan.takes(body.plan)
    return [made[k] for k in range(len(outs))]


def _may_run(side: D, dom: Space) -> bool:
    """Whether a side does no harm where it is not chosen: it raises no error, ends, and shows nothing."""
    for box in program_of(side, dom)[0].wiring.boxes:
        if isinstance(box.primitive, (Call, Sweep)) and not isinstance(box.primitive, Counted):
            if not all(_may_run(term, space) for _, term, space in box.primitive.programs()):
                return False
        elif not isinstance(box.primitive, HARMLESS):
            return False
    return True


def _choice(b: Builder, leaves: list[Wire], terms: list[Any]) -> Sequence[Wire]:
    return b.add(Choose(terms[0], terms[1], Product([w.space for w in leaves])), leaves[0], *leaves)


def _selected(plan: Plan, condition: Chunked, x: Chunked, y: Chunked) -> Chunked:
    """x where a condition holds, else y."""
    node = scalar.apply("select", *[scalar.param(k) for k in range(3)])
    labels = range(x.ndim)
    found, _ = plan.labelled(
        "choice",
        [(condition, ()), (x, labels), (y, labels)],
        [(x.space, labels)],
        lambda b, wires, sizes: mapped(b, [node], wires),
    )
    return found[0]


def _chosen_by_lanes(plan: Plan, primitive: Choose, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    """Each task chooses for its lanes."""
    lanes = len(primitive.lanes)

    def labels(shape: Sequence[int], has_lanes: bool) -> Labels:
        return [k if has_lanes and k < lanes else None for k in range(len(shape))]

    def lay(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        return b.add(replace(primitive, lanes=tuple([sizes[k] for k in range(lanes)])), *wires)

    given = [(x, labels(x.shape, at == 0 or at - 1 not in primitive.shared)) for at, x in enumerate(ins)]
    made = [(space, labels(space.shape, True)) for space in outs]
    return local(plan, primitive, given, made, "lanes choose by themselves, and each needs all of its argument", lay)


# -- what waits for other boxes


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
