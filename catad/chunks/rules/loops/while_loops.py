"""While loops: local where all that a step and the condition read lies in one block; else on whole arrays.

A program that was laid out for some number of steps checks it against the number that was taken. The tasks only count; the call
waits for the counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from catad.category.spaces import Product, Tensor, Unit
from catad.chunks.parts import Ranges, Window, blocks_of
from catad.chunks.plan import Plan
from catad.chunks.rules.loops.bodies import Body, Inner, dims_of, grid_of
from catad.chunks.rules.loops.inside import Inside, inner_of, program
from catad.chunks.rules.loops.steps import at_once
from catad.chunks.rules.table import rule
from catad.chunks.wires import At, Chunked, Local, Read
from catad.linear.families.reindex import reshaped
from catad.vector.loops.loop import Counted

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


@rule(
    Counted,
    cut="lanes, or states that steps keep in their blocks: local; else on whole arrays",
    exchanged="the numbers of steps, for which a call waits where derivatives depend on them",
)
def _counted(plan: Plan, loop: Counted, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    waits = plan.outermost and not loop.unchecked
    run = replace(loop, any_number=True) if waits else loop
    if loop.exactness == "lanes" and not waits:
        run = replace(loop, exactness="bound")  # a task has some of the lanes, and counts by itself
    made = at_once(plan, run, ins, outs) if not any(x.is_cut for x in ins) else _local(plan, run, ins, outs)
    if made is None:
        made = plan.on_whole(run, ins, outs, "a step exchanges blocks, and a condition says after each whether there is another")
    if waits:
        plan.counts.append((loop, made[-1]))
    return made


def _local(plan: Plan, loop: Counted, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked] | None:
    """The loop as a box of tasks that each take as many steps as their lanes need; None where steps exchange blocks."""
    k, pair = len(loop.state.leaves), Product((loop.state, loop.given))
    body = program(plan, loop.body, loop.dom, ins, k)
    parts = [x.parts for x in body.arguments]
    step, test = program(plan, loop.step, pair, ins, k, parts), program(plan, loop.test, pair, ins, 0, parts)
    grid = grid_of(body.results[0]) if k else None
    if grid is None or any(grid_of(x) != grid for x in (*body.results, *step.results)):
        return None
    dims = [dims_of(x) for x in body.results[:k]]
    if [dims_of(x) for x in step.results] != dims:
        return None
    inners = [inner_of(body, grid, body.results, k), inner_of(test, grid, test.results), inner_of(step, grid, step.results, k)]
    if any(inner is None for inner in inners) or not _reads_states(test, inners[1], dims):  # type: ignore[arg-type]
        return None
    first = [plan.read(x, windows) for x, windows in zip(ins, _windows(body, dims), strict=False)]
    inside = Inside(plan, ins, inners, first, k)  # type: ignore[arg-type]
    ends = (k, len(loop.sums.leaves), len(loop.output.leaves))
    cut = bool(test.results[0].source.grid)  # type: ignore[union-attr]

    def build(b: Builder, leaves: list[Wire], terms: list[Any]) -> Sequence[Wire]:
        *made, count = b.add(_on_blocks(loop, k, [w.space for w in leaves], terms), *leaves)
        return [*made, count if cut else reshaped(b, count, (1,) * len(grid))]

    box = inside.box("while loop", [body.results, test.results, step.results], (ends, (), ()), build)
    found = [box.result(x.space, dims_of(x), x.parts) for x in body.results[: k + ends[1]]]
    for x in body.results[k + ends[1] :]:
        found.append(box.result(Tensor((loop.n, *x.shape), x.space.dtype), (None, *dims_of(x)), ((loop.n,), *x.parts)))
    if cut:
        return [*found, box.result(outs[-1], dims_of(test.results[0]), test.results[0].parts)]
    counts = Tensor([len(sizes) for sizes in grid], outs[-1].dtype)
    return [*found, _first(plan, box.result(counts, tuple(range(len(grid))), tuple([(1,) * len(sizes) for sizes in grid])))]


def _on_blocks(loop: Counted, k: int, spaces: Sequence[Tensor], terms: Sequence[Any]) -> Counted:
    """The loop on what a task reads."""
    state, given = Product(tuple(spaces[:k])), Product(tuple(spaces[k:]))
    _, sums, output = terms[0].spaces(Product((state, given))).factors
    lanes = terms[1].spaces(Product((state, given))).shape
    spaces_of = {"state": state, "given": given, "input": Unit, "sums": sums, "output": output}
    return replace(loop, body=terms[0], test=terms[1], step=terms[2], lanes=lanes, **spaces_of)


def _windows(body: Body, dims: Sequence[Sequence[int | None]]) -> list[tuple[Window | None, ...]]:
    """What tasks read of states that are cut along some dimensions."""
    return [
        tuple([None if d is None else blocks_of(d, sizes) for d, sizes in zip(own, x.parts, strict=True)])
        for own, x in zip(dims, body.arguments, strict=False)
    ]


def _reads_states(test: Body, inner: Inner, dims: Sequence[Sequence[int | None]]) -> bool:
    """Whether a condition reads of the states what a task has of them."""
    own = _windows(test, dims)
    return all(read.windows == own[number] for read, number in inner.reads.items() if number is not None and number < len(own))


def _first(plan: Plan, x: Chunked) -> Chunked:
    """The first entry of an array, of which all are the same."""

    def lay(b: Builder, wires: list[Wire], at: At) -> Sequence[Wire]:
        return [reshaped(b, wires[0], ())]

    only = Window(None, Ranges((0,), (1,)))
    return Local("number of steps", (), [Read(x, (only,) * x.ndim)], lay, salt=plan.salt).result(Tensor((), x.space.dtype), ())
