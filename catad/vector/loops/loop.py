"""`iterate` and `while_loop`: a morphism applied to its result, a given number of times or while a condition holds.

An iteration is a `Sweep`, whose derivative is a linear loop over stored coefficients. With `memory=k` only k states are kept
(`revolve.py`). A while loop is an iteration that counts its steps on the data while it takes them. A program is compiled for
a count, so another count compiles another program, which is cached as well. Mapped over a batch, the loop takes the steps of
the longest lane, and the other lanes keep their states when they are done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors, scalar, upward
from catad.category.boxes import Primitive, Running, box, of_fields
from catad.category.cartesian import Flagged, exl, exr, fork, it, proj
from catad.category.constructors import constructor, integer
from catad.category.spaces import Product, Space, Tensor, Unit, flatten, rebuild
from catad.category.terms import D, MorphismLike, morphism
from catad.category.text import call
from catad.category.trip_counts import UNKNOWN, TripCountChanged, trip_count
from catad.category.wiring import at_point, share, wire
from catad.linear.dead_results import Flags, at_places, loop_reads, narrow
from catad.linear.families.block import diagonal_block, grid
from catad.linear.families.delta import delta, identity
from catad.linear.families.gather import spread_over
from catad.linear.structure import Rule, Structure, cast
from catad.support.options import truth_value
from catad.values.stream_capture import check_not_captured
from catad.vector.loops.batching import Lanes, element_of, first_step, with_inputs
from catad.vector.loops.choose import Chosen
from catad.vector.loops.hoisting import looped
from catad.vector.loops.progress import counted
from catad.vector.loops.snapshots import alone
from catad.vector.loops.sweep_map import Sweep, wider
from catad.vector.pointwise.map import mapped

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires


GUESS = 1000  # steps of a loop of which nothing is known


@share
@of_fields
class Iterate(D):
    """`ct.iterate(...)`."""

    f: D
    n: int
    inputs: bool
    memory: int | None
    progress: bool = False

    def lay_out(self, b: Builder, x: Wires) -> Any:
        f, (state, given) = self.f, with_inputs(b, x, "(state, inputs)", self.n, self) if self.inputs else (x, ())
        if self.n == 0:
            return state
        space, input_ = b.space(state), element_of(b.space(given))
        step = f if self.inputs else exl >> f
        with at_point(Product((space, input_)), lambda: first_step(b, flatten(state), flatten(given))):
            made = step.spaces(Product((space, input_)))
        if made != space:
            raise errors.SpaceError(errors.loop_changes_space(space, made, f))
        if self.progress:
            at = Product((space, input_)) if self.inputs else space
            return counted(b, x, "iterate", f, at, space, self.n, lambda g: replace(self, f=g, progress=False))
        if self.memory is not None and self.memory < self.n:
            return b.apply(alone(Iterate(f, self.n, self.inputs, None), b, x, self.memory), x)
        dom = Product((space, Unit, input_))
        with at_point(dom, lambda: first_step(b, flatten(state), flatten(given))):
            body = fork(fork(proj(0), proj(2)) >> step, it, it)
            end, _, _ = looped(b, body, self.n, (flatten(state), (), flatten(given)), False, dom)
        return rebuild(space, end)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return call(iterate, name, part(self.f), n=self.n, inputs=self.inputs, memory=self.memory, progress=self.progress)


@constructor(morphisms="f")
def iterate(
    f: MorphismLike, n: int, inputs: bool = False, memory: int | None = None, progress: bool = False
) -> D:
    """f applied n times, `s -> f(f(...f(s)))`; with `inputs=True`, `(s, u) -> s_n` with `s_{i+1} = f(s_i, u_i)`.

    The state is a value of any space, the inputs have one leading axis of length n. With `memory=k` derivatives keep at most
    k states (a number of states, dimensionless) and take steps again. With `progress=True` a bar counts the steps
    (`ct.progress`). Differentiates to any order. Raises `SpaceError` where f changes the space of its state, `ArgumentError`
    where n or memory is no such integer.

    >>> import catad as ct
    >>> newton = ct.iterate(ct.map(lambda y, x: ((y + x / y) / 2.0, x)) << ct.id, 6)
    >>> ct.jvp(newton, ((1.0, 4.0),), ((0.0, 1.0),))[1][0]
    np.float64(0.25)
    """
    n = integer(n, "a number of steps", 0)
    memory = None if memory is None else integer(memory, "memory, the number of states to keep,", 1)
    return Iterate(morphism(f, "ct.iterate"), n, inputs, memory, truth_value(progress, "progress"))


@box
class Counted(Sweep):
    """A sweep while a condition holds, from each of some states; gives the number of steps, too, for each of them.

    It raises `TripCountChanged` where the program was made for another number. `lanes` are the sizes of the leading axes
    over which the loop is mapped; `state` has them. `test` and `step` are the condition, and a step that gives nothing but the
    next state: both from the state and what is given. One for `any_number` of steps is a part of a loop in bounded memory, which
    has the derivatives (`snapshots.py`).
    """

    loop: Any = None  # the WhileLoop, and the space of its state without lanes
    exactness: str = "exact"
    lanes: tuple[int, ...] = ()
    test: D = it
    step: D = it
    any_number: bool = False

    @property
    def unchecked(self) -> bool:
        """Whether the number of steps is only counted."""
        return self.any_number or self.exactness == "free"

    @property
    def must_run(self) -> bool:
        """Laid out for no step, a loop has no derivative by what is given: that must not stand before its steps are counted."""
        return (self.n == 0 and not self.unchecked and self.exactness != "assumed") or super().must_run

    def opened(self) -> Sweep:
        if self.lanes or not isinstance(self.step, Chosen):
            return replace(self, n=0, any_number=True)
        moved = self.step.children[1]  # as it is before there was room for more steps than are taken
        return replace(self, body=_without_results(moved), step=moved, n=0, exactness="free", any_number=True)

    def mapped(self, size: int, flags: tuple[bool, ...]) -> Sweep:
        if self.exactness in ("free", "assumed", "exact"):
            if not self.any_number:
                raise TripCountChanged(self.loop, None)
            step = Chosen(self.test, self.step, proj(0))
            return replace(self, body=_without_results(step), step=step, exactness="lanes").mapped(size, flags)
        body, test, further = [Lanes(term, flags, size) for term in (self.body, self.test, self.step)]
        given = wider(self.given, size, self.parted(flags)[1])
        wide: dict[str, Any] = {name: wider(getattr(self, name), size) for name in ("state", "output", "sums")}
        return replace(self, body=body, test=test, step=further, given=given, lanes=(size, *self.lanes), **wide)

    def over_steps(self, change: Callable[[D, int, int], D]) -> Sweep:
        k, g = len(self.state.leaves), len(self.given.leaves)
        return replace(super().over_steps(change), step=change(self.step, k + g, k))  # type: ignore[call-arg]

    @property
    def counts(self) -> tuple[Tensor, ...]:
        return (Tensor(self.lanes, "int64"),)

    @cached_property
    def tangent(self) -> Sweep:
        first, both = fork(proj(0) >> exl, proj(1) >> exl), fork(*[fork(proj(0) >> h, proj(1) >> h) for h in (exl, exr)])
        return replace(self, test=first >> self.test, step=both >> upward.Tangent(self.step), **parts_of(super().tangent))

    def live(self, read: Sequence[bool]) -> tuple[Flags, Flags]:
        k = len(self.state.leaves)
        pair = fork(proj(0), proj(1))
        whole = fork(self.body, pair >> self.step, pair >> self.test)
        there, live = loop_reads(whole, self.dom, k, tuple(read[:-1]), lambda flags: (*flags, *flags[:k], True))
        return (*there, True), live

    def narrower(self, there: Flags, live: Flags) -> Sweep:
        made, pair = super().narrower(there, live), Product((self.state, self.given))
        ends = (self.step, self.grouped(there)[0]), (self.test, (True,))
        step, test = [narrow(term, pair, live, (own,)) >> proj(0) for term, own in ends]
        return replace(self, test=test, step=step, **parts_of(made))

    def narrowed(self, b: Builder, ins: Sequence[Wire], read: Sequence[bool]) -> Sequence[Wire | None]:
        there, live = self.live(read)
        return at_places(there, b.add(self.narrower(there, live), *compress(ins, live)))

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (*super().typed(ins), *self.counts)

    def running(self, xp: Any, *arrays: Any) -> Running:
        pair = Product((self.state, self.given))
        test, further = [upward.program_of(term, pair)[0] for term in (self.test, self.step)]
        body, _ = upward.program_of(self.body, self.dom)
        k, kept, taken = len(self.state.leaves), self.kept(xp), 0
        state, given = list(arrays[:k]), arrays[k:]
        count = xp.zeros(self.lanes, dtype=np.int64)
        going = True
        while going or (taken < self.n and kept.anything):  # steps of lanes that are done change no state
            if going:
                (live,) = yield test, [*state, *given]
                going = _holds(xp, live)
                if not going:
                    self.ended(taken)
                    continue
                count = count + live
            if taken == self.loop[0].max_steps and going:
                self.endless(taken)
            made = yield (body if taken < self.n else further), [*state, *given]
            state = made[:k]
            if taken < self.n:
                kept.take(taken, made[k:])
            taken += 1
        return (*state, *kept.sums, *kept.outputs, count)

    def endless(self, taken: int) -> None:
        """Raise the error of a loop that goes on after its most steps."""
        raise errors.EndlessLoop(errors.endless_loop(taken, self.loop[0]), self.loop[0])

    def ended(self, taken: int) -> None:
        """Raise `TripCountChanged` where another number of steps was taken than the program has been made for."""
        if self.unchecked:
            return
        least = self.n // 2 if self.exactness == "near" else 0 if self.exactness == "bound" else self.n
        if not least <= taken <= self.n:
            raise TripCountChanged(self.loop, taken)

    def programs(self) -> list[tuple[int, D, Space]]:
        return [(min(GUESS, self.loop[0].max_steps) if self.unchecked else self.n, self.body, self.dom)]

    def rule_within(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...], by: Flags, of: Flags) -> Rule | None:
        if self.exactness == "free":
            raise TripCountChanged(self.loop, UNKNOWN)
        if self.n or self.output.leaves or self.sums.leaves:
            return super().rule_within(ins, outs, by, of)
        floats, held = [[space for space in part.leaves if space.is_float] for part in (self.state, self.given)]
        parts = [[identity(s) if r == c else None for c in range(len(floats) + len(held))] for r, s in enumerate(floats)]
        return Rule(grid(parts, [*floats, *held], floats))


def parts_of(sweep: Sweep) -> dict[str, Any]:
    """The body of a sweep and the spaces between which it goes."""
    return {name: getattr(sweep, name) for name in ("body", "state", "given", "input", "sums", "output")}


def _without_results(step: D) -> D:
    """A step from a state and what is given as the body of a sweep."""
    return fork(fork(proj(0), proj(1)) >> step, it, it)


def _holds(xp: Any, live: Any) -> bool:
    """Whether any lane goes on: the host waits for its GPU, if it has one."""
    check_not_captured(xp, "the condition of a while loop, which the host reads")
    return bool(xp.any(live))


@box
class After(Primitive):
    """(count, state leaves...) to the state leaves: what a loop leaves, when its steps have been counted.

    Its Jacobian is a number, 1, that is there only then too: a derivative may need no state, but it needs the count.
    """

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins[1:]

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        return arrays[1] if len(arrays) == 2 else arrays[1:]

    def needs(self, read: Sequence[bool]) -> Sequence[bool]:
        return (True, *read)

    def narrowed(self, b: Builder, ins: Sequence[Wire], read: Sequence[bool]) -> Sequence[Wire | None]:
        return at_places(read, b.add(self, ins[0], *compress(ins[1:], read)))

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Any:
        floats = [s for s in outs if s.is_float]
        ones = [Tensor(ins[0].shape, space.dtype) for space in floats]
        counted = scalar.apply("ge", scalar.param(0), scalar.const(0))

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            node = scalar.apply("select", counted, scalar.const(1.0), scalar.const(0.0))
            (number,) = mapped(wires[0].builder, [node], wires[:1])
            return [cast(number, one.dtype) for one in ones]

        return Rule(diagonal_block([_scaled(one, space) for one, space in zip(ones, floats, strict=True)]), coefficients)

    def carried(self, size: int) -> After:
        return self


class Waiting(Primitive):
    """Base of boxes from any arrays to the number 0, which is there when what makes the arrays has run."""

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (Tensor((), "int64"),)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        return xp.asarray(0, dtype=np.int64)


@box
class Ran(Waiting):
    """Any array to the number 0."""

    arity = 1

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        return (spread_over(b, b.add(self, *ins)[0], size),)


def after(b: Builder, ran: Wire, leaf: Wire) -> Wire:
    """A leaf, which is there when what makes another one has run."""
    return b.add(After(), *b.add(Ran(), ran), leaf)[0]


def _scaled(number: Tensor, space: Tensor) -> Structure:
    """Multiplication by one number for each index of the leading axes."""
    axes = tuple(range(space.ndim))
    return delta(axes, axes, axes[: number.ndim], space.shape, space.dtype, space.dtype, number.dtype)


@of_fields
class Whole(D):
    """A state from its leaves that change and those that do not."""

    space: Space
    changes: tuple[bool, ...]

    def lay_out(self, b: Builder, x: Any) -> Any:
        moving, given = map(iter, x)
        return rebuild(self.space, [next(moving if flag else given) for flag in self.changes])


@of_fields
class WhileLoop(D):
    """`ct.while_loop(...)`."""

    condition: D
    f: D
    max_steps: int
    progress: bool = False

    def lay_out(self, b: Builder, x: Wires) -> Any:
        condition, f = self.children
        space = b.space(x)
        with b.at(x):
            test, made = condition.spaces(space), f.spaces(space)
        if not isinstance(test, Tensor) or test.shape != () or test.dtype != bool:
            raise errors.SpaceError(errors.not_a_condition(test, condition))
        if made != space:
            raise errors.SpaceError(errors.loop_changes_space(space, made, f))
        if self.progress:
            return counted(b, x, "while_loop", f, space, space, 0, lambda g: replace(self, f=g, progress=False))
        wiring, leaves = wire(f, space), flatten(x)
        changes = tuple([before != after for before, after in zip(wiring.inputs, wiring.outputs, strict=True)])
        if not any(changes):  # it ends before the first step, or never
            changes = (True,) * len(leaves)
        n, kind = trip_count((self, space))
        holds, moved = Whole(space, changes) >> condition, Whole(space, changes) >> f >> Flagged(changes)
        one = kind in ("free", "assumed", "exact")
        step = moved if one else Chosen(holds, moved, proj(0))  # a lane that is done keeps its state
        state, given = [[w for w, flag in zip(leaves, changes, strict=True) if flag == there] for there in (True, False)]
        spaces = [Product([w.space for w in part]) for part in (state, given)]
        body, more = _without_results(step), ((self, space), kind, (), holds, step)
        loop = Counted(body, n, spaces[0], Unit, Unit, False, spaces[1], Unit, *more)
        *states, count = b.add(loop, *state, *given)
        ends, same = iter(b.add(After(), count, *states)), iter(given)
        return rebuild(space, [next(ends) if flag else next(same) for flag in changes])

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return call(while_loop, name, *map(part, self.children), max_steps=self.max_steps, progress=self.progress)


@constructor(morphisms="condition f")
def while_loop(condition: MorphismLike, f: MorphismLike, max_steps: int = 1_000_000, progress: bool = False) -> D:
    """f applied while `condition`, a morphism from the state to a boolean scalar, holds.

    The steps are counted on the data of each call; derivatives are those of that many steps. Raises `ArgumentError` after
    `max_steps` steps. Mapped by `ct.map`, or met several times with other numbers of steps, each lane takes its own number;
    the work is that of the longest. Parts of the state that f hands on, such as weights, are kept once. For many short loops
    on numbers, a `while` in a scalar function is faster. The state is a value of any space, which f keeps. With
    `progress=True` a bar counts the steps (`ct.progress`). Raises `SpaceError` where f changes the space, and for an argument
    that is no morphism.

    >>> import catad as ct
    >>> halve = ct.while_loop(ct.map(lambda x: x > 1.0), ct.map(lambda x: x / 2.0))
    >>> ct.value_and_grad(halve)(10.0)
    (np.float64(0.625), np.float64(0.0625))
    """
    max_steps, progress = integer(max_steps, "a number of steps", 0), truth_value(progress, "progress")
    return WhileLoop(morphism(condition, "ct.while_loop"), morphism(f, "ct.while_loop"), max_steps, progress)
