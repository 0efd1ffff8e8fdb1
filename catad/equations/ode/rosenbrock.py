"""Steps of Rosenbrock methods, for stiff equations y' = f(t, y).

With W = 1 - h g J, J the Jacobian of f by y at the start of a step and f_t its derivative by t there, the stages u_i are

    W u_i = g (h f(t + c_i h, y + sum_j a_ij u_j) + sum_j C_ij u_j + d_i h^2 f_t),    j < i
    y1 = y + sum_i m_i u_i

so a step factorises one matrix and solves with it once for each stage. J is the structured Jacobian that the planner multiplies
out, and W is inverted by its bands or its blocks. J is differentiated like everything else: the derivative of a step is that of
the numbers that it computes.

The form of the stages is that of E. Hairer and G. Wanner, *Solving Ordinary Differential Equations II*, 1996, section IV.7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from catad.category.boxes import of_fields
from catad.category.cartesian import compose, cross
from catad.category.constant import const
from catad.category.spaces import Product, Space, flatten, rebuild
from catad.category.terms import D, Id
from catad.category.wiring import Builder, wire
from catad.derivative.functors import as_chain, fused, linear_graph
from catad.equations.implicit import multiplied_out
from catad.equations.ode.explicit import size_for
from catad.equations.ode.method import Leaves, OfTableau, Slopes, Step
from catad.equations.ode.rosenbrock_tableaus import RosenbrockTableau
from catad.linear.families.shifted import inverse_on
from catad.linear.solving.lenient import made_lenient
from catad.linear.structure import Structure, scale_by
from catad.support.lru import remembered
from catad.vector.pointwise.operators import astype

if TYPE_CHECKING:
    from catad.category.wiring import Wire, Wires


@of_fields
class Lenient(D):
    """What another morphism gives, with NaN for what cannot be solved: such a step is not accepted."""

    f: D

    def lay_out(self, b: Builder, x: Wires) -> Any:
        wiring = wire(self.f, b.space(x))
        return rebuild(wiring.cod, b.inline(made_lenient(wiring), flatten(x)))


@of_fields
class Factorised(D):
    """`((t, y, args), h)` to the leaves of f, those of f_t that are not zero, and the slots of W^-1."""

    f: D
    gamma: float

    def lay_out(self, b: Builder, x: Wires) -> Any:
        values, moved, _, slots = _factorised(b, self.f, self.gamma, x)
        return tuple(values), tuple([wire for wire in moved if wire is not None]), tuple(slots)


@of_fields
class Applied(D):
    """(slots, leaves) to the leaves of a map at them."""

    of: Structure

    def lay_out(self, b: Builder, x: Wires) -> Any:
        slots, leaves = x
        assert tuple([wire.space for wire in slots]) == self.of.slots
        return tuple(self.of.apply(b, slots, leaves))


def _factorised(
    b: Builder, f: D, gamma: float, x: Wires
) -> tuple[list[Wire], list[Wire | None], Structure, list[Wire]]:
    """The leaves of f, those of f_t, and W^-1 with the wires of its slots, at ((t, y, args), h)."""
    (t, y, args), h = x
    point, n = [t, *flatten(y), *flatten(args)], len(flatten(y))
    wiring = fused(f, b.space(x[0]))
    values, by_y, slots = linear_graph(b, wiring, point, tuple(range(1, n + 1)))
    _, by_t, own = linear_graph(b, wiring, point, (0,))
    moved = by_t.apply(b, own, [b.apply(const(np.ones((), t.dtype)), ())])
    jacobian = multiplied_out(as_chain(by_y))
    inverse, factors = inverse_on(b, jacobian.result, jacobian.slots(b, slots), scale_by(h, gamma), often=True)
    return values, moved, inverse, factors


class System(NamedTuple):
    """What solves for the stages: `factors`, whose slots `solve` takes; `inverse` is W^-1, `moving` are the leaves of f_t."""

    factors: D
    solve: D
    inverse: Structure
    moving: tuple[int, ...]


@remembered
def system(f: D, dom: Space, gamma: float) -> System:
    """The system of the stages with the right-hand side f of `(t, y, args)`, whose slopes may have other dtypes than y."""
    own = f
    unknown, made = dom.factors[1].leaves, f.spaces(dom).leaves  # type: ignore[attr-defined]
    if any(a.dtype != c.dtype for a, c in zip(unknown, made, strict=True)):
        casts = [Id() if a.dtype == c.dtype else astype(a.dtype) for a, c in zip(unknown, made, strict=True)]
        own = compose(f, rebuild(f.spaces(dom), casts, lambda parts: cross(*parts)))
    b = Builder()
    _, moved, inverse, _ = _factorised(b, own, gamma, b.inputs(Product((dom, dom.leaves[0]))))
    moving = tuple([k for k, wire in enumerate(moved) if wire is not None])
    return System(Lenient(Factorised(own, gamma)), Lenient(Applied(inverse)), inverse, moving)


@dataclass(frozen=True)
class Rosenbrock(OfTableau):
    """The method of a tableau."""

    tableau: RosenbrockTableau

    def step(self, slopes: Slopes, t: Any, h: Any, y: Leaves, first: Leaves, carried: Any, args: Any) -> Step:
        own, parts = self.tableau, system(slopes.f, slopes.dom, self.tableau.gamma)
        values, moved, slots = parts.factors((t, rebuild(slopes.unknown, list(y)), args), h)
        by_time = dict(zip(parts.moving, moved, strict=True))
        stages: list[Leaves] = []
        for i, row in enumerate(own.a):
            if any(row):
                values = slopes(t + own.c[i] * h, summed(row, stages, y), args)
            right = summed(own.before[i], stages, [size_for(h, value) * value for value in values])
            if own.d[i]:
                right = tuple([_moved(own.d[i], h, x, by_time.get(k)) for k, x in enumerate(right)])
            stages.append(tuple(parts.solve(slots, tuple([own.gamma * x for x in right]))))
        end = summed(own.m, stages, y)
        kept = (y, end, *[summed(numbers, stages) for numbers in own.dense])
        return Step(end, slopes(t + h, end, args), summed(own.e, stages), kept)

    def at_rest(self, y: Leaves, first: Leaves) -> tuple[Leaves, ...]:
        zeros = tuple([np.zeros_like(leaf) for leaf in y])
        end = tuple([a + b for a, b in zip(y, first, strict=True)])
        return (y, end, *[zeros] * len(self.tableau.dense))

    def within(self, part: Any, h: Any, kept: tuple[Any, ...]) -> Any:
        start, end, *more = kept
        inner = more[-1]
        for k in reversed(more[:-1]):
            inner = k + part * inner
        rest = 1.0 - part
        return rest * start + part * (end + rest * inner)


def _moved(number: float, h: Any, x: Any, by_time: Any) -> Any:
    """A right-hand side with what the time of the equation adds."""
    return x if by_time is None else x + number * size_for(h, x) ** 2 * by_time


def summed(numbers: Sequence[float], stages: Sequence[Leaves], start: Sequence[Any] | None = None) -> Leaves:
    """The sum of stages times numbers that are not 0, and of a start if there is one."""
    used = [(number, stage) for number, stage in zip(numbers, stages, strict=False) if number]
    made = []
    for k in range(len(stages[0] if stages else start or ())):
        terms = [stage[k] if number == 1.0 else number * stage[k] for number, stage in used]
        whole, *rest = terms if start is None else [start[k], *terms]
        for term in rest:
            whole = whole + term
        made.append(whole)
    return tuple(made)
