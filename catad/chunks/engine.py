"""The engine of arrays in blocks: a program becomes regions, and these become tasks on blocks."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from catad import errors
from catad.category.boxes import Nesting
from catad.category.wiring import Wiring
from catad.chunks import options
from catad.chunks.here import BlockArray
from catad.chunks.lowering import Blocks, Lowered, Runner, lowered
from catad.chunks.parts import Parts, cut_like
from catad.chunks.plan import Plan
from catad.chunks.regions import regions_of
from catad.chunks.rules.table import plan_of
from catad.chunks.sending import sent
from catad.chunks.tasks import Tasks
from catad.chunks.wires import Argument, Chunked
from catad.chunks.worker import RegionProgram
from catad.engine.backend import Engine, Step
from catad.engine.choice import chosen
from catad.engine.program import program_of
from catad.support.lru import Recent
from catad.values.arrays import in_blocks
from catad.vector.loops.checkpoint import Call
from catad.vector.loops.either import Choose
from catad.vector.loops.loop import Counted

PLANS = 64  # ways to cut the arguments of a program for which plans are kept


class Planned(NamedTuple):
    """A program on arguments that are cut in some way."""

    plan: Plan
    results: list[Chunked]
    regions: list[Lowered]
    programs: dict[Any, RegionProgram]


class InBlocks:
    """A program on arrays in blocks."""

    def __init__(self, wiring: Wiring) -> None:
        self.wiring = wiring
        self._planned: Recent[tuple[tuple[Parts, ...], tuple[Parts, ...], int], Planned] = Recent(PLANS)

    @cached_property
    def token(self) -> str:
        """A text that stands for the program."""
        return sent(self.wiring)[0]

    @cached_property
    def counts_inside(self) -> bool:
        """Whether tasks may find that a while loop inside another box takes other steps than it has been laid out for."""
        return _counts_inside(self.wiring, False)

    def planned(self, parts: tuple[Parts, ...]) -> Planned:
        """The plan for arguments that are cut in some way."""
        key = (parts, options.cuts(), options.whole_limit())
        found = self._planned.get(key)
        if found is None:
            found = self._planned[key] = self._plan(parts)
        return found

    def _plan(self, parts: tuple[Parts, ...]) -> Planned:
        plan = Plan()
        spaces = self.wiring.spaces(self.wiring.inputs)
        arguments = [Chunked(s, p, Argument(k)) for k, (s, p) in enumerate(zip(spaces, parts, strict=True))]
        results = [cut_as_argument(result, arguments) for result in cut_as_wanted(plan_of(plan, self.wiring, arguments))]
        counts = [count for _, count in plan.counts]
        layouts: dict[Hashable, int] = {}
        regions = regions_of([*results, *counts])
        return Planned(plan, results, [lowered(region, layouts) for region in regions], {})

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        for array in arrays:
            if isinstance(array, np.ndarray) and array.nbytes > options.REPLICATED:
                raise errors.SpaceError(errors.large_beside_chunks(array, options.REPLICATED))
        xp.check_chunks(arrays)
        planned = self.planned(tuple([xp.parts(array) for array in arrays]))
        engine = chosen()
        tasks = xp.tasks(f"{self.token} {engine}", arrays)
        blocks = Blocks(tasks, arrays)
        runner = Runner(tasks, blocks, engine, planned.programs)
        for one in planned.regions:
            runner.run(one)
        if self.counts_inside:
            self._wait(tasks, blocks, planned.results)
        for loop, count in planned.plan.counts:
            steps = known(self._array(tasks, blocks, count))
            loop.ended(int(steps.max()) if steps.size else 0)
        made = []
        for result in planned.results:
            if isinstance(result.source, Argument) and result.source.constant is None:
                made.append(arrays[result.source.number])
            else:
                made.append(self._array(tasks, blocks, result))
        return made[0] if len(made) == 1 else made

    @staticmethod
    def _wait(tasks: Tasks, blocks: Blocks, results: Sequence[Chunked]) -> None:
        """Run all tasks, which raise `TripCountChanged` where while loops take other steps than they have been laid out for."""
        found = [block for result in results for block in blocks.unpacked(result)]
        ran = [tasks.task("numbers of steps", (k,), _ran, list(block)) for k, block in enumerate(found)]
        known(tasks.array(ran, ((1,) * len(ran),), np.int64))

    @staticmethod
    def _array(tasks: Tasks, blocks: Blocks, array: Chunked) -> Any:
        found = [ref if k is None else (ref, k) for ref, k in blocks.unpacked(array)]
        return tasks.array(found, array.parts, array.space.dtype)


def _ran(block: Any, entry: int | None) -> Any:
    return np.zeros(1, np.int64)


def _counts_inside(wiring: Wiring, is_inside: bool) -> bool:
    for primitive in [box.primitive for box in wiring.boxes if isinstance(box.primitive, Nesting)]:
        if is_inside and isinstance(primitive, Counted) and not primitive.unchecked:
            return True
        inside = is_inside or not isinstance(primitive, Call)  # whose boxes are those of the program
        programs = [(term, dom) for _, term, dom in primitive.programs()]
        if isinstance(primitive, Choose):
            programs = [(side, primitive.dom) for side in (primitive.f, primitive.g)]
        if any(_counts_inside(program_of(term, dom)[0].wiring, inside) for term, dom in programs):
            return True
    return False


def known(array: Any) -> Any:
    """The numbers of an array in blocks, for which the call waits; `EngineError` where that is forbidden."""
    if isinstance(array, BlockArray):
        return array.numpy()
    if not options.may_wait():
        raise errors.EngineError(errors.would_wait())
    return array.compute()


def cut_as_wanted(results: Sequence[Chunked]) -> Sequence[Chunked]:
    """Results in the parts in which they are wanted, such as cotangents in those of their primals, where that costs nothing."""
    parts = options.cuts()
    if [result.shape for result in results] != [tuple(map(sum, own)) for own in parts]:
        return results
    pairs = zip(results, parts, strict=True)
    return [x if x.recut is None or x.parts == own else x.recut(tuple(cut_like(own))) or x for x, own in pairs]


def cut_as_argument(result: Chunked, arguments: Sequence[Chunked]) -> Chunked:
    """A result in the parts of an argument of its shape, such as a gradient in those of its point, where that costs nothing."""
    if result.recut is not None:
        for array in arguments:
            if array.shape == result.shape and array.is_cut and array.parts != result.parts:
                return result.recut(tuple(cut_like(array.parts))) or result
    return result


class ForBlocks(Engine):
    """Runs programs on arrays in blocks."""

    name = "blocks"

    def runs(self, xp: Any) -> bool:
        return in_blocks(xp)

    def steps(self, wiring: Wiring) -> list[Step]:
        return [(InBlocks(wiring), wiring.inputs, wiring.outputs)]


IN_BLOCKS = ForBlocks()
