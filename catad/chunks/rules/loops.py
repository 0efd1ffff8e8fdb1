"""Loops with a state: one task runs all steps on its blocks where a step exchanges nothing; else each step is laid out by itself.

What a step exchanges for its outputs or its sums alone is exchanged after the loop: outputs for all steps at once, sums once,
where they are linear in what the blocks of a step give.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from catad import errors, upward
from catad.category.spaces import Tensor
from catad.chunks.parts import Parts, Ranges, Sizes, Window, blocks_of, bounds, ranges_of
from catad.chunks.plan import Plan, Whole
from catad.chunks.regions import Node
from catad.chunks.rules.after_loops import ForAllSteps, Frontier
from catad.chunks.rules.bodies import Body, Copy, Inner, body_of, boxes_of, grid_of
from catad.chunks.rules.table import rule
from catad.chunks.wires import At, Chunked, Joined, Local, Read
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
        wiring, outer = upward.program_of(sweep.body, sweep.dom)[0].wiring, boxes_of(ins)
        tried: list[list[Parts]] = []
        while parts not in tried:
            tried.append(list(parts))
            self.body = body_of(plan, wiring, parts, again, outer, self.k)
            self.local = LocalLoop.made(self)
            if self.local is not None:
                break
            parts[: self.k] = self.body.natural
            if len(tried) > TRIES or parts in tried:
                parts[: self.k] = alike(self.body.natural)
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
        boxes = len(upward.program_of(self.sweep.body, self.sweep.dom)[0].wiring.boxes)
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
            copy = Copy(plan, body, at, body.results[:k])
            made = [copy.of(x) for x in body.results]
            state, added = made[:k], made[k : k + self.s]
            sums = [plus(plan, *pair) for pair in zip(sums, added, strict=True)] if sums else added
            for own, x in zip(outputs, made[k + self.s :], strict=True):
                own.append(steps.as_one(x))
        return [*state, *(sums if n else self._nothing()), *[joined(own[::-1] if self.sweep.reverse else own) for own in outputs]]

    def _nothing(self) -> Sequence[Chunked]:
        raise AssertionError("a loop without steps exchanges nothing")


def alike(parts: Sequence[Parts]) -> list[Parts]:
    """Parts in which all cut axes of one length are cut in one way."""
    first: dict[int, Sizes] = {}
    for sizes in [sizes for own in parts for sizes in own if len(sizes) > 1]:
        first.setdefault(sum(sizes), sizes)
    return [tuple([first[sum(sizes)] if len(sizes) > 1 else sizes for sizes in own]) for own in parts]


def plus(plan: Plan, x: Chunked, y: Chunked) -> Chunked:
    """The sum of two arrays that are cut alike."""
    labels = range(x.ndim)
    return plan.labelled("sum", [(x, labels), (y, labels)], [(x.space, labels)], lambda b, wires, sizes: [wires[0] + wires[1]])[0][0]


def joined(arrays: Sequence[Chunked]) -> Chunked:
    """Arrays after each other along axis 0."""
    if len(arrays) == 1:
        return arrays[0]
    first = arrays[0]
    sizes = tuple([n for x in arrays for n in x.parts[0]])
    space = Tensor((sum(sizes), *first.shape[1:]), first.space.dtype)
    return Chunked(space, (sizes, *first.parts[1:]), Joined(0, tuple(arrays)))


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
        dims, grid = _grid(x.parts[1:])
        only = None if x.shape[0] == 1 else Window(None, Ranges((i,), (i + 1,)))
        windows = [only, *[None if d is None else blocks_of(d, grid[d]) for d in dims]]
        box = Local("step", grid, [self.plan.read(x, windows)], _first, light=True, salt=self.plan.salt)
        return box.result(Tensor(x.shape[1:], x.space.dtype), dims, x.parts[1:])

    def as_one(self, x: Chunked) -> Chunked:
        """An output of a step, with an axis of length 1 for the steps."""
        dims, grid = _grid(x.parts)
        windows = [None if d is None else blocks_of(d, grid[d]) for d in dims]
        box = Local("output", grid, [Read(x, tuple(windows))], _only, light=True, salt=self.plan.salt)
        return box.result(Tensor((1, *x.shape), x.space.dtype), (None, *dims), ((1,), *x.parts))


def _grid(parts: Parts) -> tuple[list[int | None], tuple[Sizes, ...]]:
    """A dimension for each cut axis, and their sizes: those of equal parts in the order of the axes, as `Plan.labelled` has them."""
    order = sorted([k for k, sizes in enumerate(parts) if len(sizes) > 1], key=lambda k: (len(parts[k]), ranges_of(parts[k])))
    return [order.index(k) if k in order else None for k in range(len(parts))], tuple([parts[k] for k in order])


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
        loop, k, inputs = self.loop, self.loop.k, self.loop.ins[self.loop.k + self.loop.g :]
        state: list[Chunked] = list(loop.ins[:k])
        totals: dict[Chunked, Chunked] = {}
        ends: list[list[Chunked]] = []
        runs = {grid: Run(self, inner) for grid, inner in self.groups.items()}
        segments = list(self._segments())
        for window in segments[::-1] if loop.sweep.reverse else segments:
            at: dict[Chunked, Chunked] = {}
            after = list(state)
            for run in runs.values():
                run.run(window, state, inputs, after, at)
            state = after
            for x in self.sums:
                made = at.pop(("sum", x))  # type: ignore[call-overload]
                totals[x] = plus(self.plan, totals[x], made) if x in totals else made
            size = loop.sweep.n if window is None else window.ranges.sizes[0]
            shown = dict(zip(self.body.arguments[k + loop.g :], self._shown(inputs, window), strict=True))
            copy = ForAllSteps(self.plan, self.body, {**loop.given, **at, **shown}, {*at, *shown}, size)
            ends.append([copy.of_all(x) for x in self.body.results[k + loop.s :]])
        copy = Copy(self.plan, self.body, {**loop.given, **totals})
        sums = [copy.of(x) for x in self.body.results[k : k + loop.s]]
        order = ends[::-1] if loop.sweep.reverse else ends
        return [*state, *sums, *[joined(own) for own in zip(*order, strict=True)]]

    def _shown(self, inputs: Sequence[Chunked], window: Window | None) -> Sequence[Chunked]:
        return inputs

    def _segments(self) -> Iterator[Window | None]:
        """The steps that tasks take one after the other: as the largest input is cut along them."""
        cut = [x for x in self.loop.ins[self.loop.k + self.loop.g :] if len(x.parts[0]) > 1]
        if not cut:
            yield None
            return
        for start, stop in pairwise(bounds(max(cut, key=lambda x: x.nbytes).parts[0])):
            if stop > start:
                yield Window(None, Ranges((start,), (stop,)))


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
        self.terms: dict[Any, Any] = {}

    def run(self, window: Window | None, state: list[Chunked], inputs: Sequence[Chunked], after: list[Chunked], at: Any) -> None:
        """Take some steps: what they give is noted in `after`, for each state, and in `at`."""
        plan, body, loop, grid = self.of.plan, self.of.body, self.of.loop, self.inner.grid
        n = loop.sweep.n if window is None else window.ranges.sizes[0]
        reads = [plan.read(state[k], self._state(k).windows) for k in self.states]
        reads += [plan.read(loop.given.get(read.array, read.array), read.windows) for read in self.given]
        reads += [plan.read(inputs[j], (window, *read.windows)) for read, j in self.inputs]
        box = Local(
            f"loop of {n}", grid, reads, lambda b, wires, at: self.lay(b, wires, at, n), self.layout.numbers, self.layout.offsets,
            salt=plan.salt, stored=True,
        )  # fmt: skip
        for k in self.own:
            made = body.results[k]
            after[k] = box.result(made.space, self._dims(made), made.parts)
        for x in self.sums:
            at["sum", x] = box.result(x.space, self._dims(x), x.parts)
        for x in self.outputs:
            at[x] = box.result(Tensor((n, *x.shape), x.space.dtype), (None, *self._dims(x)), ((n,), *x.parts))

    def _state(self, k: int) -> Read:
        """What is read of a state."""
        x, dims = self.of.body.arguments[k], self.inner.states[k]
        return Read(x, tuple([None if d is None else blocks_of(d, sizes) for d, sizes in zip(dims, x.parts, strict=True)]))

    @staticmethod
    def _dims(x: Chunked) -> tuple[int | None, ...]:
        assert isinstance(x.source, Local)
        return x.source.writes[x.place]

    def lay(self, b: Builder, wires: list[Wire], at: At, n: int) -> Sequence[Wire]:
        """The loop on the blocks of a coordinate."""
        k, g = len(self.states), len(self.states) + len(self.given)
        state, given, inputs = wires[:k], [*wires[k:g], *at.offsets], wires[g:]
        each = [Tensor(w.shape[1:], w.dtype) for w in inputs]
        spaces = [*[w.space for w in wires[:g]], *each, *[w.space for w in at.offsets]]
        m = g + len(inputs)
        order = [*range(g), *range(m, len(spaces)), *range(g, m)]
        reads = [*[self._state(k) for k in self.states], *self.given, *[read for read, _ in self.inputs]]
        step = self.layout.term(at.notes, spaces, reads, self._results(), (k, len(self.sums), len(self.outputs)), order)
        ends, sums, outputs = looped(b, step, n, (state, given, inputs), self.of.loop.sweep.reverse)
        own = [x for k, x in zip(self.states, ends, strict=True) if k in self.own]
        return [*own, *sums, *outputs]

    def _results(self) -> list[tuple[Node, int]]:
        body, found = self.of.body, []
        for k in self.states:
            made, dims = body.results[k], self.inner.states[k]
            assert isinstance(made.source, Local)
            own = {d: dim for d, dim in zip(self._dims(made), dims, strict=True) if d is not None}
            found.append((Node(made.source, tuple([own[d] for d in range(len(own))])), made.place))  # type: ignore[misc]
        for x in (*self.sums, *self.outputs):
            assert isinstance(x.source, Local)
            found.append((Node(x.source, tuple(range(len(x.source.grid)))), x.place))
        return found
