"""`Sweep` and `SweepMap`: loops with a state, and the linear loops that are their derivatives.

    forward     (s_{i+1}, o_i) = f(s_i, u_i)                 for i = 0 .. n - 1
    derivative  (ds_{i+1}, do_i) = J_i (ds_i, du_i)          with J_i the Jacobian of f at (s_i, u_i)

The derivative of a sweep is a sweep again, of the structure of J with the slots of all steps stacked; its transpose has J
transposed and runs the other way. Iterations, and folds and scans whose operator acts on arrays, are sweeps: a step is as
structured as its own derivative, and no matrix over whole states is ever made. Work: a sweep of n steps costs n steps of f,
linearising it n steps of f with its coefficients, applying the result n applications of J.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from catad.boxes import Nesting, Running, box
from catad.late import late
from catad.linear.contract import contract
from catad.linear.gather import spread_over
from catad.linear.matrix_free import carried
from catad.linear.patterns import Grid, grid_of, product
from catad.linear.recurrence import zeros
from catad.linear.structure import Rule, Structure, family
from catad.rearrange import exl, exr, proj
from catad.spaces import Product, Space, Tensor, flatten, rebuild
from catad.terms import D, fork
from catad.wiring import wire

if TYPE_CHECKING:
    from catad.wiring import Builder, Wire


LONGEST = 64  # steps of a loop whose pattern is followed


def _stacked(space: Space, n: int) -> tuple[Tensor, ...]:
    return tuple([carried(leaf, n) for leaf in space.leaves])


@box
class Sweep(Nesting):
    """(state leaves..., inputs (n, ...)...) to (state after n steps..., outputs (n, ...)...), by `body`.

    `body : state * input -> state * output`; backwards the last input comes first.
    """

    body: D
    n: int
    state: Space
    input: Space
    output: Space
    reverse: bool = False

    @property
    def arity(self) -> int:
        return len(self.state.leaves) + len(self.input.leaves)

    def giving(self, body: D, output: Space) -> Sweep:
        """The sweep through the same states with other results at each step."""
        return Sweep(body, self.n, self.state, self.input, output, self.reverse)

    def results(self, outs: Sequence[Any]) -> Sequence[Any]:
        """The results of the box that the steps give one by one; the results before and after them do not depend on these."""
        k = len(self.state.leaves)
        return outs[k : k + len(self.output.leaves)]

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        assert ins == (*self.state.leaves, *_stacked(self.input, self.n))
        return (*self.state.leaves, *_stacked(self.output, self.n))

    def running(self, xp: Any, *arrays: Any) -> Running:
        program, _ = late().program_of(self.body, Product((self.state, self.input)))
        k = len(self.state.leaves)
        state, inputs = list(arrays[:k]), arrays[k:]
        outputs = [xp.empty(space.shape, dtype=space.dtype) for space in _stacked(self.output, self.n)]
        for i in reversed(range(self.n)) if self.reverse else range(self.n):
            made = yield program, [*state, *[u[i] for u in inputs]]
            state = made[:k]
            for out, part in zip(outputs, made[k:], strict=True):
                out[i] = part
        results = (*state, *outputs)
        return results[0] if len(results) == 1 else results

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        if not any(s.is_float for s in ins) or not any(s.is_float for s in outs):
            return None
        dom = Product((self.state, self.input))
        valued, structure = late().linearised(self.body, dom)  # (s, u) to ((s', o), slots)
        found = self._shown(valued, dom)
        states, k = sum(leaf.is_float for leaf in self.state.leaves), len(self.state.leaves)
        fixed = tuple([j for j, at in enumerate(found) if at is not None and at < k])
        made = [j for j, at in enumerate(found) if at is None]
        stepped = fork(exl >> exl, exr >> fork(*[proj(j) for j in made]))
        along = self.giving(valued >> stepped, Product(tuple([structure.slots[j] for j in made])))

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> Sequence[Wire]:
            own = iter(along.results(results[0].builder.add(along, *wires)) if made else ())
            return [next(own) if at is None else wires[at] for at in found]

        return Rule(SweepMap(structure, self.n, states, self.reverse, fixed), coefficients)

    def _shown(self, valued: D, dom: Space) -> list[int | None]:
        """The argument leaf that each slot shows: an input, or a part of the state that no step changes; else None."""
        wiring = wire(valued, dom)
        k = len(self.state.leaves)
        steady = [
            i for i, (before, after) in enumerate(zip(wiring.inputs, wiring.outputs[:k], strict=False)) if before == after
        ]
        at = {wiring.inputs[i]: i for i in (*steady, *range(k, len(wiring.inputs)))}
        return [at.get(slot) for slot in wiring.outputs[k + len(self.output.leaves) :]]

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        wide = [w if flag else spread_over(b, w, size) for w, flag in zip(ins, flags, strict=True)]
        k, end = len(self.state.leaves), len(self.state.leaves) + len(self.output.leaves)
        turned = [*wide[:k], *[_exchanged(b, w) for w in wide[k:]]]
        outs = b.add(self.mapped(size), *turned)
        return (*outs[:k], *[_exchanged(b, w) for w in outs[k:end]], *outs[end:])

    def mapped(self, size: int) -> Sweep:
        """The sweep over states with one more leading axis."""
        state, input_, output = wider(self.state, size), wider(self.input, size), wider(self.output, size)
        return Sweep(late().map(self.body), self.n, state, input_, output, self.reverse)

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        total: int = self.n * late().cost_of(self.body, Product((self.state, self.input)))
        return total


def wider(space: Space, size: int) -> Space:
    """The space of so many values of a space, side by side along a leading axis."""
    made: Space = rebuild(space, [carried(leaf, size) for leaf in space.leaves], Product)
    return made


def _exchanged(b: Builder, wire: Wire) -> Wire:
    """The first two axes exchanged."""
    axes = tuple(range(wire.ndim))
    return contract(b, [axes], [wire], (1, 0, *axes[2:]), wire.shape)


class Stepped(D):
    """A structure as a morphism: (argument leaves, (slots..., further argument leaves...)) to (results, further results).

    The slots that are `fixed` come with the state, and are handed on.
    """

    __slots__ = ("fixed", "states", "structure")

    def __init__(self, structure: Structure, states: int, fixed: tuple[int, ...]) -> None:
        self.structure, self.states, self.fixed = structure, states, fixed

    def data(self) -> Any:
        return (self.structure, self.states, self.fixed)

    def lay_out(self, b: Builder, x: Any) -> Any:
        state, given = flatten(x[0]), iter(flatten(x[1]))
        steady = state[self.states :]
        held = dict(zip(self.fixed, steady, strict=True))
        slots = [held[j] if j in held else next(given) for j in range(len(self.structure.slots))]
        outs = self.structure.apply(b, slots, [*state[: self.states], *given])
        made = [zeros(b, s) if y is None else y for y, s in zip(outs, self.structure.cod, strict=True)]
        return (*made[: self.states], *steady), tuple(made[self.states :])

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"{name(Stepped, 'Stepped')}({name(self.structure, 'structure')}, {self.states}, {self.fixed!r})"


@family
class SweepMap(Structure):
    """See the module: `step` at each of n steps, the first `states` leaves handed on, the others with an axis of n.

    Slots have an axis of n, too; not those that are `fixed`, the same at each step: weights, say, which a loop hands on.
    """

    step: Structure
    n: int
    states: int
    reverse: bool
    fixed: tuple[int, ...] = ()

    @cached_property
    def dom(self) -> tuple[Tensor, ...]:
        own = self.step.dom
        return (*own[: self.states], *[carried(leaf, self.n) for leaf in own[self.states :]])

    @cached_property
    def cod(self) -> tuple[Tensor, ...]:
        own = self.step.cod
        return (*own[: self.states], *[carried(leaf, self.n) for leaf in own[self.states :]])

    @cached_property
    def slots(self) -> tuple[Tensor, ...]:
        return tuple([slot if j in self.fixed else carried(slot, self.n) for j, slot in enumerate(self.step.slots)])

    @property
    def T(self) -> SweepMap:
        return SweepMap(self.step.T, self.n, self.states, not self.reverse, self.fixed)

    def apply(self, b: Builder, slots: Sequence[Wire], xs: Sequence[Wire | None]) -> list[Wire | None]:
        if all(x is None for x in xs):
            return [None] * len(self.cod)
        filled = [zeros(b, space) if x is None else x for x, space in zip(xs, self.dom, strict=True)]
        k, moving = self.states, [j for j in range(len(slots)) if j not in self.fixed]
        state = Product((*self.step.dom[:k], *[self.step.slots[j] for j in self.fixed]))
        inputs = Product((*[self.step.slots[j] for j in moving], *self.step.dom[k:]))
        stepped = Stepped(self.step, k, self.fixed)
        sweep = Sweep(stepped, self.n, state, inputs, Product(self.step.cod[k:]), self.reverse)
        steady = [slots[j] for j in self.fixed]
        outs = b.add(sweep, *filled[:k], *steady, *[slots[j] for j in moving], *filled[k:])
        return [*outs[:k], *sweep.results(outs)]

    def patterns(self) -> Grid:
        """A loop that only hands a state on: a power of its step. With inputs or outputs at each step nothing is said."""
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
