"""Loops with a state: one task runs all steps on its blocks where a step exchanges nothing; else each step is laid out by itself.

What a step exchanges for its outputs or its sums alone is exchanged after the loop: outputs for all steps at once, sums once,
where they are linear in what the blocks of a step give.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from catad import errors
from catad.category.spaces import Tensor
from catad.chunks.parts import Parts, Ranges, Sizes, Window, blocks_of, bounds, cut_axes
from catad.chunks.plan import Plan, Whole
from catad.chunks.regions import Node
from catad.chunks.rules.loops.after_steps import ForAllSteps, Frontier
from catad.chunks.rules.loops.bodies import Body, Copy, Inner, body_of, boxes_of, dims_of, grid_of, in_parts, result_node
from catad.chunks.rules.table import rule
from catad.chunks.wires import At, Chunked, Joined, Local, Read
from catad.engine.program import program_of
from catad.linear.families.reindex import reshaped
from catad.vector.loops.hoisting import looped
from catad.vector.loops.sweep_map import Sweep

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

UNROLLED = 50_000  # steps times boxes of a step that are laid out one by one
TRIES = 2  # times that states are cut as steps make them, before axes of one length are cut alike


@rule(
    Sweep,
    cut="a step exchanges nothing for its state: the loop is local; else each step is laid out. Steps: after each other",
    exchanged="what a step exchanges, and for outputs and sums alone once after the loop",
)
def _sweep(plan: Plan, sweep: Sweep, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    if not any(x.is_cut for x in ins):
        return at_once(plan, sweep, ins, outs)
    return Loop(plan, sweep, ins, outs).results()


def at_once(plan: Plan, primitive: Any, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    """A box with programs in it on arrays that are not cut: one task, whose results other tasks read."""
    reads = [plan.read(x, (None,) * x.ndim) for x in ins]
    box = Local("loop", (), reads, lambda b, wires, at: b.add(primitive, *wires), salt=plan.salt, stored=True)
    return [box.result(space, (None,) * space.ndim) for space in outs]


class Loop:
    """A loop whose arguments are cut."""

    def __init__(self, plan: Plan, sweep: Sweep, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> None:
        self.plan, self.sweep, self.ins, self.outs = plan, sweep, ins, outs
        self.k, self.g, self.s = [len(space.leaves) for space in (sweep.state, sweep.given, sweep.sums)]
        inputs = self.k + self.g
        parts = [x.parts if j < inputs else x.parts[1:] for j, x in enumerate(ins)]
        again = [x.again if self.k <= j < inputs else None for j, x in enumerate(ins)]
        wiring, outer = program_of(sweep.body, sweep.dom)[0].wiring, boxes_of(ins)
        bodies: list[Body] = []
        tried: list[list[Parts]] = []
        while parts not in tried and len(tried) <= TRIES:
            tried.append(list(parts))
            self.body = body_of(plan, wiring, parts, again, outer, self.k)
            bodies.append(self.body)
            self.local = LocalLoop.made(self)
            if self.local is not None:
                break
            parts[: self.k] = self.body.natural
            if len(tried) == TRIES or parts in tried:
                parts[: self.k] = alike(self.body.natural)
        if self.local is None:
            self.body = bodies[0]
        self.given = dict(zip(self.body.arguments[self.k : inputs], ins[self.k : inputs], strict=True))

    def results(self) -> Sequence[Chunked]:
        """What the loop gives, in the way that exchanges the least."""
        if self.local is not None:
            self.plan.takes(self.body.plan)
            return self.local.results()
        whole = self.body.plan.whole
        nbytes = sum([x.nbytes for x in (*self.ins, *[Chunked(s, (), self.ins[0].source) for s in self.outs])])
        if whole and self.sweep.n * sum([one.nbytes for one in whole]) > nbytes:
            because = f"in each step {whole[0].name} runs on whole arrays, since {whole[0].because}"
            return self.plan.on_whole(self.sweep, self.ins, self.outs, because)
        return self.unrolled()

    # -- step by step

    def unrolled(self) -> Sequence[Chunked]:
        """Each step laid out by itself."""
        n, plan, body, k = self.sweep.n, self.plan, self.body, self.k
        boxes = len(program_of(self.sweep.body, self.sweep.dom)[0].wiring.boxes)
        if n * boxes > UNROLLED:
            raise errors.EngineError(errors.too_many_steps(n, boxes, UNROLLED))
        plan.whole += [Whole(one.name, f"{one.because}, in each of {n} steps", n * one.nbytes) for one in body.plan.whole]
        plan.salts = max(plan.salts, body.plan.salts)
        plan.unrolled.append((n, boxes))
        state = list(self.ins[:k])
        sums: list[Chunked] = []
        outputs: list[list[Chunked]] = [[] for _ in body.results[k + self.s :]]
        steps = Steps(plan, self.ins[k + self.g :])
        for i in reversed(range(n)) if self.sweep.reverse else range(n):
            at = dict(zip(body.arguments, [*state, *self.given.values(), *steps.at(i)], strict=True))
            copy = Copy(plan, body, at, body.plain[:k])
            made = [as_cut(plan, copy.of(x), x.parts) for x in body.plain]
            state, added = made[:k], made[k : k + self.s]
            sums = [plus(plan, *pair) for pair in zip(sums, added, strict=True)] if sums else added
            for own, x in zip(outputs, made[k + self.s :], strict=True):
                own.append(steps.as_one(x))
        return [*state, *sums, *[joined(own[::-1] if self.sweep.reverse else own) for own in outputs]]


def alike(parts: Sequence[Parts]) -> list[Parts]:
    """Parts in which all cut axes of one length are cut in one way."""
    first: dict[int, Sizes] = {}
    for sizes in [sizes for own in parts for sizes in own if len(sizes) > 1]:
        first.setdefault(sum(sizes), sizes)
    return [tuple([first[sum(sizes)] if len(sizes) > 1 else sizes for sizes in own]) for own in parts]


def as_cut(plan: Plan, x: Chunked, parts: Parts) -> Chunked:
    """An array in some parts."""
    return x if x.parts == parts else in_parts(plan, x, parts)


def plus(plan: Plan, x: Chunked, y: Chunked) -> Chunked:
    """The sum of two arrays that are cut alike."""
    dims, grid = cut_axes(x.parts)
    windows = tuple([None if d is None else blocks_of(d, grid[d]) for d in dims])
    box = Local("sum", grid, [Read(x, windows), Read(y, windows)], _added, light=True, salt=plan.salt)
    return box.result(x.space, dims, x.parts)


def _added(b: Builder, wires: list[Wire], at: At) -> Sequence[Wire]:
    return [wires[0] + wires[1]]


def joined(arrays: Sequence[Chunked]) -> Chunked:
    """Arrays after each other along axis 0."""
    if len(arrays) == 1:
        return arrays[0]
    first = arrays[0]
    sizes = tuple([n for x in arrays for n in x.parts[0]])
    space = Tensor((sum(sizes), *first.shape[1:]), first.space.dtype)
    return Chunked(space, (sizes, *first.parts[1:]), Joined(0, tuple(arrays)))


def steps_of(plan: Plan, x: Chunked, start: int, stop: int) -> Chunked:
    """Some steps of an array with an axis for the steps."""
    if (start, stop) == (0, x.shape[0]):
        return x
    if isinstance(x.source, Joined) and x.source.axis == 0 and all(one.shape[0] == 1 for one in x.source.arrays):
        return joined(x.source.arrays[start:stop])
    dims, grid = cut_axes(x.parts[1:])
    windows = [Window(None, Ranges((start,), (stop,))), *[None if d is None else blocks_of(d, grid[d]) for d in dims]]
    box = Local("steps", grid, [plan.read(x, windows)], _same, light=True, salt=plan.salt)
    return box.result(Tensor((stop - start, *x.shape[1:]), x.space.dtype), (None, *dims), ((stop - start,), *x.parts[1:]))


def _same(b: Builder, wires: list[Wire], at: At) -> Sequence[Wire]:
    return wires


class Steps:
    """The inputs of single steps."""

    def __init__(self, plan: Plan, inputs: Sequence[Chunked]) -> None:
        self.plan, self.inputs = plan, inputs

    def at(self, i: int) -> list[Chunked]:
        """The inputs of step i."""
        return [self._of(x, i) for x in self.inputs]

    def _of(self, x: Chunked, i: int) -> Chunked:
        while isinstance(x.source, Joined) and x.source.axis == 0:
            start = 0
            for one in x.source.arrays:
                if i < start + one.shape[0]:
                    break
                start += one.shape[0]
            x, i = one, i - start
        if x in self.plan.steps:
            return self.plan.steps[x]
        dims, grid = cut_axes(x.parts[1:])
        only = None if x.shape[0] == 1 else Window(None, Ranges((i,), (i + 1,)))
        windows = [only, *[None if d is None else blocks_of(d, grid[d]) for d in dims]]
        box = Local("step", grid, [self.plan.read(x, windows)], _first, light=True, salt=self.plan.salt)
        return box.result(Tensor(x.shape[1:], x.space.dtype), dims, x.parts[1:])

    def as_one(self, x: Chunked) -> Chunked:
        """An output of a step, with an axis of length 1 for the steps."""
        dims, grid = cut_axes(x.parts)
        windows = [None if d is None else blocks_of(d, grid[d]) for d in dims]
        box = Local("output", grid, [Read(x, tuple(windows))], _only, light=True, salt=self.plan.salt)
        made = box.result(Tensor((1, *x.shape), x.space.dtype), (None, *dims), ((1,), *x.parts))
        self.plan.steps[made] = x
        return made


def _first(b: Builder, wires: list[Wire], at: At) -> Sequence[Wire]:
    return [reshaped(b, w, w.shape[1:]) for w in wires]


def _only(b: Builder, wires: list[Wire], at: At) -> Sequence[Wire]:
    return [reshaped(b, w, (1, *w.shape)) for w in wires]


class LocalLoop:
    """A loop of which each task runs all steps: a group of states for each grid along which they are cut."""

    def __init__(self, loop: Loop) -> None:
        self.loop, self.body, self.plan = loop, loop.body, loop.plan
        self.groups: dict[Any, Inner] = {}
        self.sums: dict[Chunked, None] = {}  # what is summed over the steps
        self.outputs: dict[Chunked, None] = {}  # what is given for each step

    @staticmethod
    def made(loop: Loop) -> LocalLoop | None:
        """The loop, where its steps exchange nothing for the states."""
        made, frontier = LocalLoop(loop), Frontier(loop.body, loop.k, loop.g)
        for k in range(loop.k):
            inner = made.group(loop.body.results[k])
            if inner is None or not inner.seed(k):
                return None
        for j, x in enumerate(loop.body.results[loop.k :]):
            found = frontier.of_sum(x) if j < loop.s else frontier.of_output(x)
            if found is None:
                return None
            for one in found:
                inner = made.group(one)
                assert inner is not None and isinstance(one.source, Local)
                if not inner.add(one, tuple(range(len(one.source.grid)))):
                    return None
                (made.sums if j < loop.s else made.outputs)[one] = None
        return made

    def group(self, x: Chunked) -> Inner | None:
        """The group of the grid on which an array is made."""
        grid = grid_of(x)
        if grid is None:
            return None
        if grid not in self.groups:
            self.groups[grid] = Inner(self.body, grid, self.loop.k)
        return self.groups[grid]

    def results(self) -> Sequence[Chunked]:
        """The loop in segments of steps, as its inputs are cut along these, and what follows from it."""
        loop, plan, body, k = self.loop, self.plan, self.body, self.loop.k
        first = k + loop.g
        state: list[Chunked] = list(loop.ins[:k])
        totals: dict[Chunked, Chunked] = {}
        ends: list[list[Chunked]] = []
        runs = [Run(self, inner) for inner in self.groups.values()]
        segments = list(self._segments())
        for start, stop in segments[::-1] if loop.sweep.reverse else segments:
            inputs = [steps_of(plan, x, start, stop) for x in loop.ins[first:]]
            made = Made(list(state))
            for run in runs:
                run.run(stop - start, state, inputs, made)
            state = made.state
            for x, part in made.sums.items():
                totals[x] = plus(plan, totals[x], part) if x in totals else part
            shown = made.outputs | dict(zip(body.arguments[first:], inputs, strict=True))
            every = ForAllSteps(plan, body, loop.given | shown, shown, stop - start)
            ends.append([every.of_all(x) for x in body.results[k + loop.s :]])
        after = Copy(plan, body, loop.given | totals)
        sums = [after.of(x) for x in body.results[k : k + loop.s]]
        order = ends[::-1] if loop.sweep.reverse else ends
        return [*state, *sums, *[joined(own) for own in zip(*order, strict=True)]]

    def _segments(self) -> Iterator[tuple[int, int]]:
        """The steps that tasks take one after the other: as the largest input is cut along them."""
        cut = [x for x in self.loop.ins[self.loop.k + self.loop.g :] if len(x.parts[0]) > 1]
        if not cut:
            yield 0, self.loop.sweep.n
            return
        yield from [ends for ends in pairwise(bounds(max(cut, key=lambda x: x.nbytes).parts[0])) if ends[0] < ends[1]]


class Made:
    """What some steps give: states, and sums and outputs of what a body makes."""

    def __init__(self, state: list[Chunked]) -> None:
        self.state = state
        self.sums: dict[Chunked, Chunked] = {}
        self.outputs: dict[Chunked, Chunked] = {}


class Run:
    """The steps of a group of states, as local boxes."""

    def __init__(self, of: LocalLoop, inner: Inner) -> None:
        self.of, self.inner, self.layout = of, inner, inner.layout()
        body, loop = of.body, of.loop
        self.states = sorted(inner.states)
        self.own = [k for k in self.states if grid_of(body.results[k]) == inner.grid]
        self.sums, self.outputs = [[x for x in each if grid_of(x) == inner.grid] for each in (of.sums, of.outputs)]
        first = loop.k + loop.g
        self.given = [read for read, number in inner.reads.items() if number is None or loop.k <= number < first]
        self.inputs = [(read, number - first) for read, number in inner.reads.items() if number is not None and number >= first]
        self._lays: dict[int, Any] = {}

    def run(self, n: int, state: Sequence[Chunked], inputs: Sequence[Chunked], made: Made) -> None:
        """Take n steps from some states."""
        plan, body, loop = self.of.plan, self.of.body, self.of.loop
        reads = [plan.read(state[k], self._state(k).windows) for k in self.states]
        reads += [plan.read(loop.given.get(read.array, read.array), read.windows) for read in self.given]
        reads += [plan.read(inputs[j], (None, *read.windows)) for read, j in self.inputs]
        lay = self._lays.setdefault(n, lambda b, wires, at: self.lay(b, wires, at, n))  # one for all segments of a length
        name, notes, offsets = f"loop of {n} steps", self.layout.numbers, self.layout.offsets
        box = Local(name, self.inner.grid, reads, lay, notes, offsets, salt=plan.salt, stored=True)
        for k in self.own:
            x = body.results[k]
            made.state[k] = box.result(x.space, dims_of(x), x.parts)
        for x in self.sums:
            made.sums[x] = box.result(x.space, dims_of(x), x.parts)
        for x in self.outputs:
            made.outputs[x] = box.result(Tensor((n, *x.shape), x.space.dtype), (None, *dims_of(x)), ((n,), *x.parts))

    def _state(self, k: int) -> Read:
        """What is read of a state."""
        x, dims = self.of.body.arguments[k], self.inner.states[k]
        return Read(x, tuple([None if d is None else blocks_of(d, sizes) for d, sizes in zip(dims, x.parts, strict=True)]))

    def lay(self, b: Builder, wires: list[Wire], at: At, n: int) -> Sequence[Wire]:
        """The loop on the blocks of a coordinate."""
        k, g = len(self.states), len(self.states) + len(self.given)
        state, given, inputs = wires[:k], [*wires[k:g], *at.offsets], wires[g:]
        each = [Tensor(w.shape[1:], w.dtype) for w in inputs]
        spaces = [*[w.space for w in (*state, *given)], *each]
        places = [*range(g), *range(g + len(at.offsets), len(spaces))]
        reads = [*[self._state(k) for k in self.states], *self.given, *[read for read, _ in self.inputs]]
        step = self.layout.term(
            at.notes,
            spaces,
            dict(zip(reads, places, strict=True)),
            range(g, g + len(at.offsets)),
            self._results(),
            (k, len(self.sums), len(self.outputs)),
        )
        ends, sums, outputs = looped(b, step, n, (state, given, inputs), self.of.loop.sweep.reverse)
        own = [x for k, x in zip(self.states, ends, strict=True) if k in self.own]
        return [*own, *sums, *outputs]

    def _results(self) -> list[tuple[Node, int]]:
        states = [result_node(self.of.body.results[k], self.inner.states[k]) for k in self.states]
        return [*states, *[result_node(x) for x in (*self.sums, *self.outputs)]]
