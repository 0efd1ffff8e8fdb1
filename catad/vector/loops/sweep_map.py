"""`Sweep` and `SweepMap`: loops with a state, and the linear loops that are their derivatives.

    forward     (s_{i+1}, a_i, o_i) = f(s_i, g, u_i)                 for i = 0 .. n - 1,     a = sum of all a_i
    derivative  (ds_{i+1}, da_i, do_i) = J_i (ds_i, dg, du_i)        with J_i the Jacobian of f at (s_i, g, u_i)

The state s goes from step to step. What is given, g, is the same at each step; its dual are the sums a, to which each step adds.
Inputs u and outputs o are stacked, with an axis for the steps. Transposing exchanges g with a, and u with o. So the derivative
of a sweep is a sweep again, of the structure of J with the slots of all steps stacked; its transpose has J transposed and runs
the other way. Iterations, and folds and scans whose operator acts on arrays, are sweeps: a step is as structured as its own
derivative, and no matrix over whole states is ever made. Work: a sweep of n steps costs n steps of f, linearising it n steps of f
with its coefficients, applying the result n applications of J.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import upward
from catad.category.boxes import Nesting, Primitive, Running, box, of_fields
from catad.category.cache import cached
from catad.category.cartesian import exl, exr, fork, it, proj
from catad.category.spaces import Product, Space, Tensor, Unit, flatten, rebuild, tangent_space
from catad.category.terms import D
from catad.category.wiring import wire
from catad.linear.apply import applying
from catad.linear.batch import depending
from catad.linear.dead_results import Flags, Leaves, at_flags, at_places, loop_reads, narrow, narrow_spaces
from catad.linear.families.contract import zeros
from catad.linear.families.gather import spread_over
from catad.linear.families.matrix_free import carried
from catad.linear.matrix.patterns import Grid, grid_of, product
from catad.linear.restriction import Cut, cut
from catad.linear.structure import Rule, Structure, family
from catad.values import buffers
from catad.vector.folds.merge_axes import exchanged
from catad.vector.loops.batching import Lanes

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


LONGEST = 64  # steps of a loop whose pattern is followed


def stacked(space: Space, n: int) -> tuple[Tensor, ...]:
    """The spaces of the leaves of n values of a space, with an axis for the steps."""
    return tuple([carried(leaf, n) for leaf in space.leaves])


@box
class Sweep(Nesting):
    """(state leaves, given leaves, inputs (n, ...)) to (leaves of the state after n steps, sums, outputs (n, ...)), by `body`.

    `body : (state, given, input) -> (state, sums, output)`; backwards the last input comes first.
    """

    merges = True
    body: D
    n: int
    state: Space
    input: Space
    output: Space
    reverse: bool = False
    given: Space = Unit
    sums: Space = Unit

    @property
    def dom(self) -> Product:
        """The argument of a step."""
        return Product((self.state, self.given, self.input))

    @property
    def arity(self) -> int:
        return len(self.dom.leaves)

    def giving(self, body: D, sums: Space, output: Space) -> Sweep:
        """The sweep through the same states with other results at each step."""
        return replace(self, body=body, sums=sums, output=output)

    @property
    def counts(self) -> tuple[Tensor, ...]:
        """The spaces of the results that say how many steps were taken, where that is found out while they are."""
        return ()

    @cached_property
    def tangent(self) -> Sweep:
        """T[sweep]: each part of its argument, and of its results, is the pair of what it was and of its tangent."""
        state, given, input_, sums, output = [
            Product((space, tangent_space(space))) for space in (self.state, self.given, self.input, self.sums, self.output)
        ]
        body = UNPAIRED >> upward.Tangent(self.body) >> PAIRED
        return Sweep(body, self.n, state, input_, output, self.reverse, given, sums)

    def results(self, outs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        """The sums and the outputs of what the box gives: what is before and after them does not depend on these."""
        start = len(self.state.leaves)
        end = start + len(self.sums.leaves)
        return outs[start:end], outs[end : end + len(self.output.leaves)]

    def nested(self, outs: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
        """What the box gives, as (state, sums, outputs)."""
        sums, outputs = self.results(outs)
        return tuple(outs[: len(self.state.leaves)]), tuple(sums), tuple(outputs)

    def over_steps(self, change: Callable[[D, int, int], D]) -> Sweep:
        """The sweep with other steps, made of a step, of the number of leaves that it reads and of those that it gives."""
        return replace(self, body=change(self.body, len(self.dom.leaves), len(self.body.spaces(self.dom).leaves)))

    def opened(self) -> Sweep:
        """The same, where no derivative depends on the number of steps."""
        return self

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        assert ins == (*self.state.leaves, *self.given.leaves, *stacked(self.input, self.n))
        return (*self.state.leaves, *self.sums.leaves, *stacked(self.output, self.n))

    def running(self, xp: Any, *arrays: Any) -> Running:
        program, _ = upward.program_of(self.body, self.dom)
        k = len(self.state.leaves)
        state, given, inputs = self.parted(arrays)
        kept = self.kept(xp)
        for i in reversed(range(self.n)) if self.reverse else range(self.n):
            made = yield program, [*state, *given, *[u[i] for u in inputs]]
            state = made[:k]
            kept.take(i, made[k:])
        results = (*state, *kept.sums, *kept.outputs)
        return results[0] if len(results) == 1 else results

    def kept(self, xp: Any) -> Kept:
        """Room for the sums and the outputs."""
        return Kept(xp, self.sums.leaves, stacked(self.output, self.n))

    def rule_within(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...], by: Flags, of: Flags) -> Rule | None:
        if not any(by) or not any(of):
            return None
        by, of, _ = differentiated(self.body, self.dom, sum([leaf.is_float for leaf in self.state.leaves]), by, of)
        if not any(by) or not any(of):
            return None
        part = at_flags(self.dom, by), at_flags(self.body.spaces(self.dom), of)
        valued, structure = upward.linearised(self.body, self.dom, *part)  # (s, g, u) to ((s', a, o), slots)
        wiring = wire(valued, self.dom)
        slots = wiring.outputs[len(wiring.outputs) - len(structure.slots) :]
        k, g = len(self.state.leaves), len(self.given.leaves)
        own = cached(self.body, ("kept", self.dom, self.n, part), lambda: self._kept(*part))
        again = None if own == slots else cut(valued, self.dom, own, slots)
        varying = depending(wiring, [not k <= i < k + g for i in range(len(wiring.inputs))])
        stacked = dict(zip(wiring.inputs[k + g :], range(k + g, len(wiring.inputs)), strict=True))
        fixed = tuple([j for j, number in enumerate(own) if number not in varying])
        made = [number for number in own if number in varying and number not in stacked]
        kept = cut(valued, self.dom, wiring.inputs, tuple(made))
        step = fork(valued >> exl >> proj(0), it, kept)
        along = self.giving(step, Unit, Product(wiring.spaces(made)))
        before = cut(valued, self.dom, wiring.inputs[k : k + g], tuple([own[j] for j in fixed]))

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> Sequence[Wire]:
            b = wires[0].builder
            same = iter(b.apply(before, wires[k : k + g]) if fixed else ())
            moving = iter(along.results(b.add(along, *wires))[1] if made else ())
            shown = {at: wires[i] for at, i in stacked.items()}
            return [next(same) if j in fixed else shown[at] if at in shown else next(moving) for j, at in enumerate(own)]

        counts = [sum(leaf.is_float for leaf in space.leaves) for space in (self.state, self.given, self.sums)]
        states, reads, sums = sum(by[: counts[0]]), sum(by[counts[0] :][: counts[1]]), sum(of[counts[0] :][: counts[2]])
        return Rule(SweepMap(structure, self.n, states, reads, sums, self.reverse, fixed, again), coefficients, by, of)

    def _kept(self, by: Leaves, of: Leaves) -> tuple[int, ...]:
        """The wires of a step that its derivative keeps. The layout is looked up here, since it may depend on trip counts."""
        valued, structure = upward.linearised(self.body, self.dom, by, of)
        k, g = len(self.state.leaves), len(self.given.leaves)
        return upward.kept_of_step(wire(valued, self.dom), structure, self.n, k, g)

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        return self.over_lanes(b, ins, flags, size, lambda sweep, _: sweep)

    def over_lanes(
        self,
        b: Builder,
        ins: tuple[Wire, ...],
        flags: tuple[bool, ...],
        size: int,
        box_of: Callable[[Sweep, Sequence[Tensor]], Primitive],
    ) -> tuple[Wire, ...]:
        """Mapped, as a box of the mapped sweep and the spaces of its argument.

        The state and the results get the axis; what is given, and inputs, only where they have it.
        """
        k, g = len(self.state.leaves), len(self.given.leaves)
        flags = (*[True] * k, *flags[k:])
        state = [w if w.space != leaf else spread_over(b, w, size) for w, leaf in zip(ins[:k], self.state.leaves, strict=True)]
        inputs = [exchanged(b, w) if flag else w for w, flag in zip(ins[k + g :], flags[k + g :], strict=True)]
        wires = (*state, *ins[k : k + g], *inputs)
        outs = b.add(box_of(self.mapped(size, flags), [w.space for w in wires]), *wires)
        stacked = {w.number for w in self.results(outs)[1]}
        return tuple([exchanged(b, w) if w.number in stacked else w for w in outs])

    def mapped(self, size: int, flags: tuple[bool, ...]) -> Sweep:
        """The sweep with one more leading axis on its state, its results, and the flagged leaves of the argument of a step."""
        body = Lanes(self.body, flags, size)
        _, held, each = self.parted(flags)
        given, input_ = wider(self.given, size, held), wider(self.input, size, each)
        state, output, sums = wider(self.state, size), wider(self.output, size), wider(self.sums, size)
        return Sweep(body, self.n, state, input_, output, self.reverse, given, sums)

    def parted(self, leaves: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        """What belongs to the leaves of the argument of a step: of the state, of what is given, of the input."""
        k, g = len(self.state.leaves), len(self.given.leaves)
        return leaves[:k], leaves[k : k + g], leaves[k + g :]

    def live(self, read: Sequence[bool]) -> tuple[Flags, Flags]:
        """Which results there are where some are read: with the states that these depend on; and which leaves a step reads."""
        return loop_reads(self.body, self.dom, len(self.state.leaves), tuple(read))

    def needs(self, read: Sequence[bool]) -> Sequence[bool] | None:
        there, live = self.live(read)
        return None if all(there) else live

    def narrowed(self, b: Builder, ins: Sequence[Wire], read: Sequence[bool]) -> Sequence[Wire | None]:
        from catad.vector.loops.hoisting import looped

        there, live = self.live(read)
        wires = self.parted(ins)
        own = [tuple(compress(part, flags)) for part, flags in zip(wires, self.parted(live), strict=True)]
        if all(there[: len(wires[0])]):  # the same states, so it may become one with other sweeps
            outs = b.add(self.narrower(there, live), *[w for part in own for w in part])
        else:
            body = narrow(self.body, self.dom, live, self.grouped(there))
            ends = looped(b, body, self.n, (own[0], own[1], own[2]), self.reverse)
            outs = tuple([w for part in ends for w in part])
        return at_places(there, outs)

    def grouped(self, flags: Flags) -> tuple[Flags, Flags, Flags]:
        """What belongs to the leaves of the state, of the sums, of the output."""
        k, m = len(self.state.leaves), len(self.state.leaves) + len(self.sums.leaves)
        return flags[:k], flags[k:m], flags[m : m + len(self.output.leaves)]

    def narrower(self, there: Flags, live: Flags) -> Sweep:
        """The sweep with some of its results, of some of the leaves that a step reads."""
        body = narrow(self.body, self.dom, live, self.grouped(there))
        state, given, input_ = narrow_spaces((self.state, self.given, self.input), self.parted(live))
        _, sums, output = narrow_spaces((self.state, self.sums, self.output), self.grouped(there))
        return Sweep(body, self.n, state, input_, output, self.reverse, given, sums)

    def programs(self) -> list[tuple[int, D, Space]]:
        return [(self.n, self.body, self.dom)]

    def held(self) -> int:
        return sum([space.nbytes for space in (*self.sums.leaves, *stacked(self.output, self.n))])

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return super().cost(ins, outs) + self.n * self.sums.size


UNPAIRED = fork(*[fork(*[proj(k) >> half for k in range(3)]) for half in (exl, exr)])
"""((s, ds), (g, dg), (u, du)) to ((s, g, u), (ds, dg, du))."""
PAIRED = fork(*[fork(exl >> proj(k), exr >> proj(k)) for k in range(3)])
"""((s, a, o), (ds, da, do)) to ((s, ds), (a, da), (o, do))."""


class Kept:
    """What a sweep keeps of its steps while it runs: the sums so far, and the outputs."""

    __slots__ = ("outputs", "sums")

    def __init__(self, xp: Any, sums: Sequence[Tensor], outputs: Sequence[Tensor]) -> None:
        self.sums = [xp.zeros(space.shape, dtype=space.dtype) for space in sums]
        empty = buffers.empty if xp is np else xp.empty
        self.outputs = [empty(space.shape, dtype=space.dtype) for space in outputs]

    @property
    def anything(self) -> bool:
        """Whether there is anything to keep."""
        return bool(self.sums or self.outputs)

    def take(self, i: int, made: Sequence[Any]) -> None:
        """Add to the sums, and write the outputs of step i."""
        for j, total in enumerate(self.sums):
            total += made[j]  # in place, where the library does that
            self.sums[j] = total
        for out, part in zip(self.outputs, made[len(self.sums) :], strict=True):
            out[i] = part


def wider(space: Space, size: int, flags: Sequence[bool] | None = None) -> Space:
    """The space of so many values of a space, side by side along a leading axis, which only the flagged leaves have."""
    there = flags or [True] * len(space.leaves)
    leaves = [carried(leaf, size) if flag else leaf for leaf, flag in zip(space.leaves, there, strict=True)]
    made: Space = rebuild(space, leaves, Product)
    return made


def differentiated(body: D, dom: Space, states: int, by: Flags, of: Flags) -> tuple[Flags, Flags, Flags]:
    """The floating leaves of a step between which its derivative is needed, where some are differentiated and some asked for.

    The first are the states, of which those are needed that both a tangent and a cotangent reach. The last flags are those of the
    results that cotangents reach.
    """
    if len(by) == len(of) == 1:
        return by, of, of
    cod = body.spaces(dom)
    while True:
        _, step = upward.linearised(body, dom, None, at_flags(cod, of))
        starts = applying(step.T)[1]
        more = (*[a or c for a, c in zip(of[:states], starts, strict=False)], *of[states:])
        if more == of:
            break
        of = more
    while True:
        made = iter(applying(step, by)[1])
        ends = [flag and next(made) for flag in of]
        more = (*[a or c for a, c in zip(by[:states], ends, strict=False)], *by[states:])
        if more == by:
            break
        by = more
    both = [a and c for a, c in zip(by[:states], of, strict=False)]
    return (*both, *[a and c for a, c in zip(by[states:], starts[states:], strict=True)]), (*both, *ends[states:]), of


def present(step: Structure, states: int, there: Flags) -> Flags:
    """Which leaves of the argument of a step are there at some step, where these are before the first one.

    The others are zeros by structure. The first leaves are the states, which may be there once a step has made them.
    """
    made = applying(step, there)[1] if any(there) else there
    more = (*[a or c for a, c in zip(there[:states], made, strict=False)], *there[states:])
    return there if more == there else present(step, states, more)


@of_fields
class Stepped(D):
    """A structure as the step of a loop: (states, (reads, fixed slots), (other slots, inputs)) to (states, sums, outputs).

    `ends` are how many leaves of its argument are states and reads, and of its result states and sums. The argument leaves
    are there where `present` says so, and so are the states after the step; other results that are zero by structure are left
    out. With `again`, what takes the places of the slots is what they follow from.
    """

    structure: Structure
    ends: tuple[int, int, int]
    fixed: tuple[int, ...]
    present: tuple[bool, ...]
    again: Cut | None = None

    def made(self) -> tuple[bool, ...]:
        """Which result leaves after the states there are."""
        return applying(self.structure, self.present)[1][self.ends[0] :]

    def lay_out(self, b: Builder, x: Any) -> Any:
        states, reads, sums = self.ends
        state, given, inputs = [flatten(part) for part in x]
        there = sum(self.present[states : states + reads])
        held, moving = iter(given[there:]), iter(inputs)
        count = len(self.structure.slots if self.again is None else self.again.ins)
        slots = [next(held) if j in self.fixed else next(moving) for j in range(count)]
        if self.again is not None:
            slots = self.again.lay_out(b, tuple(slots))
        outs = self.structure.apply(b, slots, at_places(self.present, (*state, *given[:there], *moving)))
        after = compress(zip(outs, self.structure.cod, strict=True), self.present[:states])
        ends = outs[states : states + sums], outs[states + sums :]
        left = tuple([zeros(b, s) if y is None else y for y, s in after])
        return (left, *[tuple([y for y in own if y is not None]) for own in ends])


@family
class SweepMap(Structure):
    """See the module: `step` at each of n steps.

    Of the leaves of the argument of a step, the first `states` are handed on, the next `reads` are the same at each step, and the
    others have an axis of n. Of its result, the first are handed on, the next `sums` are added up, and the others have the
    axis. Slots have it, too; not those that are `fixed`, the same at each step: weights, say. With `again`, the slots are what
    this term takes: the slots of a step follow from it, and are computed in each step.
    """

    step: Structure
    n: int
    states: int
    reads: int
    sums: int
    reverse: bool
    fixed: tuple[int, ...] = ()
    again: Cut | None = None

    @cached_property
    def dom(self) -> tuple[Tensor, ...]:
        own, k = self.step.dom, self.states + self.reads
        return (*own[:k], *[carried(leaf, self.n) for leaf in own[k:]])

    @cached_property
    def cod(self) -> tuple[Tensor, ...]:
        own, k = self.step.cod, self.states + self.sums
        return (*own[:k], *[carried(leaf, self.n) for leaf in own[k:]])

    @cached_property
    def slots(self) -> tuple[Tensor, ...]:
        own = self.step.slots if self.again is None else self.again.spaces_before
        return tuple([slot if j in self.fixed else carried(slot, self.n) for j, slot in enumerate(own)])

    @property
    def T(self) -> SweepMap:
        return SweepMap(self.step.T, self.n, self.states, self.sums, self.reads, not self.reverse, self.fixed, self.again)

    def apply(self, b: Builder, slots: Sequence[Wire], xs: Sequence[Wire | None]) -> list[Wire | None]:
        from catad.vector.loops.hoisting import looped

        if all(x is None for x in xs):
            return [None] * len(self.cod)
        k, moving = self.states, [j for j in range(len(slots)) if j not in self.fixed]
        there = present(self.step, k, tuple([x is not None for x in xs]))
        state = [zeros(b, s) if x is None else x for x, s in compress(zip(xs[:k], self.dom[:k], strict=True), there)]
        stepped = Stepped(self.step, (k, self.reads, self.sums), self.fixed, there, self.again)
        reads, inputs = [[x for x in own if x is not None] for own in (xs[k : k + self.reads], xs[k + self.reads :])]
        given, each = [*reads, *[slots[j] for j in self.fixed]], [*[slots[j] for j in moving], *inputs]
        after, sums, outputs = looped(b, stepped, self.n, (state, given, each), self.reverse)
        return at_places((*there[:k], *stepped.made()), (*after, *sums, *outputs))

    def patterns(self) -> Grid:
        """A loop that only hands a state on: a power of its step. With anything else at each step nothing is said."""
        if len(self.dom) > self.states or len(self.cod) > self.states or not 0 < self.n <= LONGEST:
            return super().patterns()
        step = whole = grid_of(self.step)
        for _ in range(self.n - 1):
            whole = product(whole, step)
        return whole

    @property
    def kind(self) -> str:
        return f"loop of {self.n}"

    @cached_property
    def nnz(self) -> int:
        """An upper bound: nothing is multiplied."""
        return self.rows * self.columns
