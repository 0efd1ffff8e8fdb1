"""The plan of a program on arrays in chunks, for people: `f.plan_chunks(x)`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from catad import errors, upward
from catad.category.points import point_of
from catad.category.terms import D
from catad.chunks.engine import IN_BLOCKS, InBlocks, Planned
from catad.chunks.exchanges import Exchange, exchange
from catad.chunks.leaves import edges_of
from catad.chunks.lowering import Lowered, is_packed, is_small_part
from catad.chunks.parts import Parts, numblocks
from catad.chunks.plan import Whole
from catad.chunks.regions import made_by
from catad.chunks.wires import Argument
from catad.engine.program import program_of
from catad.errors.chunks import size_text
from catad.front.calling import point
from catad.front.complex_arrays import speaking
from catad.front.specialise import front_of
from catad.values.arrays import common_module, in_blocks


class Stage(NamedTuple):
    """Tasks of one kind, one for each coordinate of a grid: how many, by how many programs, what they read and keep, in bytes."""

    name: str
    tasks: int
    programs: int
    reads: tuple[Exchange, ...]
    kept: int

    @property
    def exchanged(self) -> int:
        """The bytes that tasks read of other chunks."""
        return sum([one.nbytes for one in self.reads if one.kind != "all"])


class ChunkPlan:
    """What a program does on arrays in chunks: its stages, its tasks, and what runs on whole arrays. Nothing has run.

    `tasks` counts the tasks of the graph, without those that load arguments; `handed` of them only take a result out of the
    tuple of a stage that gives several. `exchanged` are the bytes that tasks read of other chunks than their own, and `whole`
    names what runs on whole arrays in one task, with the bytes. `unrolled` has the numbers of steps of loops that are laid out
    step by step, and of the boxes of a step.

    >>> import catad as ct, numpy as np
    >>> from catad.testing import in_chunks
    >>> plan = (ct.square >> ct.sum()).plan_chunks(in_chunks(np.arange(6.0), 2))
    >>> [(stage.name, stage.tasks) for stage in plan.stages], plan.tasks, plan.whole
    ([('sum', 3), ('sum of partial sums', 1)], 4, ())
    """

    def __init__(self, subject: str, arguments: Sequence[tuple[Any, Parts]], planned: Planned) -> None:
        self.subject, self.arguments = subject, tuple(arguments)
        self.stages = tuple([_stage(one) for one in planned.regions])
        self.handed = len(set(_handed(planned)))
        self.whole: tuple[Whole, ...] = tuple(planned.plan.whole)
        self.unrolled: tuple[tuple[int, int], ...] = tuple(planned.plan.unrolled)

    @property
    def tasks(self) -> int:
        return sum([stage.tasks for stage in self.stages]) + self.handed

    @property
    def exchanged(self) -> int:
        return sum([stage.exchanged for stage in self.stages])

    def __str__(self) -> str:
        return "\n".join([self.subject, *_lines(self)])

    def __repr__(self) -> str:
        stages, tasks = _counted(len(self.stages), "stage"), _counted(self.tasks, "task")
        return f"<chunk plan: {stages}, {tasks}, {size_text(self.exchanged)} exchanged>"

    def draw(self) -> str:
        """A picture, SVG text: a box for each stage, with its tasks, and lines for what passes between them."""
        return upward.stages(repr(self)[1:-1], _drawn(self))

    def _repr_html_(self) -> str:
        return upward.chunks_page(repr(self)[1:-1], _drawn(self), _shown(self))

    def _repr_svg_(self) -> str:
        return self.draw()


def plan_chunks(term: D, args: Sequence[Any], kwargs: dict[str, Any]) -> ChunkPlan:
    """The plan of a call; raises `SpaceError` where no argument is in chunks."""
    term = speaking(term, args)
    if front_of(term) is None:
        if kwargs or not args:
            raise errors.SpaceError(errors.no_keywords(term, kwargs) if kwargs else errors.no_arguments(term))
        leaves, dom = point_of(term, args[0] if len(args) == 1 else tuple(args))
    else:
        at = point(term, args, kwargs)
        term, leaves, dom = at.term, at.leaves, at.dom
    xp = common_module(leaves)
    if not in_blocks(xp):
        raise errors.SpaceError(errors.not_in_chunks())
    program, _ = program_of(term, dom)
    run = program.on(IN_BLOCKS).steps[0][0]
    assert isinstance(run, InBlocks)
    parts = tuple([xp.parts(leaf) for leaf in leaves])
    return ChunkPlan(f"{dom}", list(zip(dom.leaves, parts, strict=True)), run.planned(parts))


def _stage(one: Lowered) -> Stage:
    region = one.region
    programs = math.prod([len(set(classes)) for classes in one.classes])
    kept = sum([box.spaces[place].nbytes for box, place in region.results])
    return Stage(region.name, region.tasks, programs, tuple([exchange(read) for read in region.reads]), kept)


def _handed(planned: Planned) -> Iterator[tuple[Any, ...]]:
    """The tasks that take results out of tuples, join arrays, or cut edges."""
    made = {key: one.region for one in planned.regions for key in one.region.results}
    for result in planned.results:
        if not isinstance(result.source, Argument):
            own = made_by(result)
            if len(own) > 1 or len(made[own[0]].results) > 1:
                yield from [(*own[0], k) for k in range(math.prod(numblocks(result.parts)))]
            for key in own:
                if is_packed(made[key], *key):
                    yield from [(made[key], k) for k in range(made[key].tasks)]
    for one in planned.regions:
        for read in one.region.reads:
            if exchange(read).kind != "block":
                for key in made_by(read.array):
                    if is_packed(made[key], *key):
                        yield from [(made[key], k) for k in range(made[key].tasks)]
                    elif is_small_part(made[key], *key):
                        yield from [(*key, k) for k in range(made[key].tasks)]
        for array, edges in edges_of(one.reads, one.region.counts).items():
            yield from [(array, k, tuple(own)) for k, own in edges.items()]


def _lines(plan: ChunkPlan) -> list[str]:
    found = [f"  {space} in {_grid(parts)}" for space, parts in plan.arguments]
    heads, rows, done = [], [], 0
    for stage, times in _runs(plan):
        heads.append(f"{f'{done + 1} to ' * (times > 1)}{done + times}. {stage.name}")
        count = f"{_counted(stage.tasks, 'task')}, {_counted(stage.programs, 'program')}{' each' * (times > 1)}"
        rows.append(f"{count}; {_reads(stage)}; keeps {size_text(stage.kept)}")
        done += times
    wide = max(map(len, heads), default=0)
    found += [f"  {head.ljust(wide)}  {row}" for head, row in zip(heads, rows, strict=True)]
    for steps, boxes in plan.unrolled:
        found.append(f"  a loop is laid out step by step, since its steps exchange blocks: {steps:,} steps of {boxes} boxes")
    found += [f"  {one.name} runs whole, since {one.because}: {size_text(one.nbytes)}" for one in plan.whole]
    found.append(f"  in all {_counted(plan.tasks, 'task')}; {size_text(plan.exchanged)} pass between chunks")
    return found


def _counted(n: int, word: str) -> str:
    return f"{n:,} {word}{'s' * (n != 1)}"


def _runs(plan: ChunkPlan) -> list[tuple[Stage, int]]:
    """Stages, and how many of them follow each other that say the same, such as the steps of a loop."""
    found: list[tuple[Stage, int]] = []
    for stage in plan.stages:
        last = found[-1][0] if found else None
        if last is not None and last._replace(reads=()) == stage._replace(reads=()) and _reads(last) == _reads(stage):
            found[-1] = last, found[-1][1] + 1
        else:
            found.append((stage, 1))
    return found


def _grid(parts: Parts) -> str:
    counts = numblocks(parts)
    return " x ".join(map(str, counts)) + " chunks" if math.prod(counts) != 1 else "one chunk"


_READS = {"block": "its chunks", "all": "whole arguments", "edges": "edges", "gather": "several chunks", "rechunk": "rechunked"}


def _reads(stage: Stage) -> str:
    found: dict[str, int] = {}
    for one in stage.reads:
        found[one.kind] = found.get(one.kind, 0) + (one.array.nbytes if one.kind == "block" else one.nbytes)
    return "reads " + (", ".join([f"{_READS[kind]} ({size_text(nbytes)})" for kind, nbytes in found.items()]) or "nothing")


SHOWN = 200  # lines of the text on a page; of more, the first and the last


def _drawn(plan: ChunkPlan) -> list[tuple[str, str, str]]:
    """The stages for a picture: names, tasks, and what passes to them."""
    found = []
    for stage, times in _runs(plan):
        tasks = _counted(stage.tasks, "task") + f", {times:,} times" * (times > 1)
        found.append((stage.name, tasks, size_text(stage.exchanged) if stage.exchanged else "in place"))
    return found


def _shown(plan: ChunkPlan) -> str:
    lines = _lines(plan)
    if len(lines) > SHOWN:
        lines = [*lines[: SHOWN // 2], f"  {len(lines) - SHOWN:,} more lines", *lines[-SHOWN // 2 :]]
    return "\n".join([plan.subject, *lines])
