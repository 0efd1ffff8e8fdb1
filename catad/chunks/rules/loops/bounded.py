"""Loops in bounded memory: of the states of all steps, those are kept at which segments begin.

The pullback takes the steps of a segment again, as tasks of their own, and then goes back through them. So about `memory` states
are kept, and those of one segment.
"""

from __future__ import annotations

from collections.abc import Sequence

from catad.category.cartesian import fork, it, proj
from catad.category.spaces import Product, Tensor, Unit
from catad.chunks.plan import Plan
from catad.chunks.rules.loops.steps import joined, plus, steps_of
from catad.chunks.rules.table import rule, rule_of
from catad.chunks.wires import Chunked
from catad.vector.loops.loop import after
from catad.vector.loops.revolve import BoundedLoop, BoundedPullback
from catad.vector.loops.sweep_map import Sweep, stacked


@rule(BoundedLoop, cut="as the loop without a bound", exchanged="what its steps exchange")
def _bounded(plan: Plan, primitive: BoundedLoop, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    return rule_of(primitive.sweep)(plan, primitive.sweep, ins, outs)


@rule(BoundedPullback, cut="loops again, from the states that are kept", exchanged="what its steps exchange")
def _pulled(plan: Plan, primitive: BoundedPullback, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    sweep = primitive.loop.sweep
    if sweep.counts or not sweep.n:
        because = "its number of steps is in the data" if sweep.counts else "it has no steps"
        return plan.on_whole(primitive, ins, outs, because)
    return _Pullback(plan, primitive, ins).results()


class _Pullback:
    """The pullback of a loop, segment by segment."""

    def __init__(self, plan: Plan, primitive: BoundedPullback, ins: Sequence[Chunked]) -> None:
        self.plan, self.primitive, self.sweep, self.back = plan, primitive, primitive.loop.sweep, primitive.back
        self.state, self.given, self.inputs, _, self.w, self.sums, self.ws = primitive.parted(ins)

    def results(self) -> Sequence[Chunked]:
        n, k = self.sweep.n, len(self.state)
        size = -(-n // self.primitive.memory)
        segments = [(start, min(start + size, n)) for start in range(0, n, size)]
        if self.sweep.reverse:
            segments = segments[::-1]
        kept = [list(self.state)]
        for ends in segments[:-1]:
            kept.append(self._run(self._ahead(ends, Unit), [*kept[-1], *self.given, *self._steps(self.inputs, ends)])[:k])
        w, totals, outputs = list(self.w), list[Chunked](), list[list[Chunked]]()
        for state, ends in zip(reversed(kept), reversed(segments), strict=True):
            states = self._again(state, w, ends)
            more = [*states, *self._steps(self.inputs, ends), *self._steps(self.ws, ends)]
            made = self._run(self._pulling(ends), [*w, *self.given, *self.sums, *more])
            w, rest = made[: len(w)], made[len(w) :]
            count = len(self.back.sums.leaves)
            totals = [plus(self.plan, *pair) for pair in zip(totals, rest[:count], strict=True)] if totals else rest[:count]
            outputs.append(rest[count:])
        order = outputs if self.sweep.reverse else outputs[::-1]
        return [*w, *totals, *[joined(own) for own in zip(*order, strict=True)]]

    def _run(self, sweep: Sweep, ins: Sequence[Chunked]) -> list[Chunked]:
        outs = sweep.typed((*sweep.state.leaves, *sweep.given.leaves, *stacked(sweep.input, sweep.n)))
        return list(rule_of(sweep)(self.plan, sweep, ins, outs))

    def _ahead(self, ends: tuple[int, int], output: object) -> Sweep:
        """Steps forward; with an output, the state before each of them."""
        sweep = self.sweep
        body = fork(sweep.body >> proj(0), it, it if output is Unit else proj(0))
        own = Unit if output is Unit else sweep.state
        return Sweep(body, ends[1] - ends[0], sweep.state, sweep.input, own, sweep.reverse, sweep.given, Unit)

    def _again(self, state: Sequence[Chunked], w: Sequence[Chunked], ends: tuple[int, int]) -> Sequence[Chunked]:
        """The states before the steps of a segment, in tasks of their own, which wait for the cotangents w that go through it."""
        with self.plan.computing_again():
            state = [self._waiting(x, w) for x in state]
            made = self._run(self._ahead(ends, self.sweep.state), [*state, *self.given, *self._steps(self.inputs, ends)])
        return made[len(state) :]

    def _waiting(self, x: Chunked, w: Sequence[Chunked]) -> Chunked:
        """A part of a state, which is there when a cotangent is that lies in the same blocks."""
        same = next((own for own in w if own.parts == x.parts), None)
        if same is None:
            return x
        labels = range(x.ndim)
        given, results = [(same, labels), (x, labels)], [(x.space, labels)]
        return self.plan.labelled("state", given, results, lambda b, wires, sizes: [after(b, *wires)], light=True)[0][0]

    def _pulling(self, ends: tuple[int, int]) -> Sweep:
        """The pullbacks of the steps of a segment, to which the states before them are inputs."""
        sweep, back = self.sweep, self.back
        held, each = back.given, back.input
        assert isinstance(held, Product) and isinstance(each, Product)
        given, input_ = Product(held.factors[1:]), Product((sweep.state, *each.factors))
        point = fork(proj(2) >> proj(0), proj(1) >> proj(0), proj(1) >> proj(1))
        body = fork(proj(0), point, fork(proj(2) >> proj(1), proj(2) >> proj(2))) >> back.body
        return Sweep(body, ends[1] - ends[0], back.state, input_, back.output, back.reverse, given, back.sums)

    def _steps(self, arrays: Sequence[Chunked], ends: tuple[int, int]) -> list[Chunked]:
        return [steps_of(self.plan, x, *ends) for x in arrays]
