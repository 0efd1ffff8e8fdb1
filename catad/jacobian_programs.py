"""A Jacobian as one program: coefficients, the products of the plan, and, where an array is asked for, writing it out.

So what follows from the same boxes is computed once, the value is not computed where no coefficient needs it, and an engine
compiles all of it together.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from catad import errors
from catad.arrays import common_module
from catad.calling import Point
from catad.engine.program import Program
from catad.fronts import front_of, specialised
from catad.functors import as_chain, fused, linear_graph
from catad.linear.as_matrix import DENSE_LIMIT
from catad.linear.dense_wires import matrix_on
from catad.linear.map import linear_map
from catad.linear.structure import Structure, widest
from catad.planner.plan import Plan, plan_at, sizes_of
from catad.planner.request import Request, Result
from catad.spaces import Space, Tensor, tangent_space
from catad.term_cache import cached
from catad.terms import D
from catad.trees import Tree
from catad.trip_counts import with_trip_counts
from catad.wiring import Builder, Wire, at_point

SMALL = 1 << 18  # numbers in the largest array up to which the many boxes of a Jacobian are better compiled as one function


class JacobianProgram(NamedTuple):
    """The program from the leaves of a point to the slots of the Jacobian, or its array; its structure; the space of values."""

    program: Program
    structure: Structure
    cod: Space


class Called(NamedTuple):
    """The program of calls of one kind, and what makes the result of its leaves."""

    made: JacobianProgram
    dom: Space
    cod: Space
    trees: tuple[Tree, Tree] | None
    result: Result

    def finish(self, outs: list[Any]) -> Any:
        """The Jacobian in the form that is asked for."""
        if self.result == "array":
            return outs[0]
        structure = self.made.structure
        linear = linear_map(self.dom, self.cod, structure, outs[: len(structure.slots)])
        if self.result == "sparse":
            return linear.tocsr()
        linear.trees = self.trees
        return linear


def jacobian_at(
    at: Point,
    by: tuple[int, ...] | None,
    dom: Space,
    request: Request,
    called: Callable[[JacobianProgram], Called],
    f: D,
    key: Hashable | None,
) -> Any:
    """The Jacobian of f at a point by the leaves `by` (None: all), whose space is `dom`.

    `called` has what makes the result of a program's leaves. It is kept with f under the key, if there is one.
    """
    xp = common_module(at.leaves)

    def at_size(space: Space) -> Structure:
        term = at.term if front_of(f) is None else specialised(f, at.form, space)[0]
        b = Builder()
        return as_chain(linear_graph(b, fused(term, space), [b.wire(leaf) for leaf in space.leaves], by)[1])

    def planned(structure: Structure) -> Plan:
        return plan_at(sizes_of(f, by, request), at.dom, structure, request, at_size)

    def made() -> Called:
        return called(cached(at.term, ("jacobian", at.dom, by, request), lambda: _made(at, by, dom, request, planned)))

    def call() -> Any:
        with at_point(at.dom, lambda: (xp, at.leaves)):
            found = made() if key is None else cached(f, key, made)
        return found.finish(found.made.program(xp, at.leaves))

    return with_trip_counts(call)


def _made(
    at: Point, by: tuple[int, ...] | None, own: Space, request: Request, planned: Callable[[Structure], Plan]
) -> JacobianProgram:
    f, dom = at.term, at.dom
    wiring = fused(f, dom)
    b = Builder()
    xs = tuple([b.wire(space) for space in dom.leaves])
    results, network, slots = linear_graph(b, wiring, xs, by)
    if not network.dom or not network.cod:
        raise errors.DerivativeError(errors.integers_alone(dom, f))
    plan = planned(as_chain(network))
    outs: Sequence[Wire] = b.inline(plan.wiring, slots)
    if request.result == "array":
        outs = (array_on(b, plan.result, outs, tangent_space(own), tangent_space(wiring.cod)),)
    ends = tuple(outs) or tuple(results[:1])  # a loop that must count its steps runs before a result (`Builder.finish`)
    return JacobianProgram(Program(b.finish(dom, xs, ends), small=SMALL), plan.result, wiring.cod)


def array_on(b: Builder, structure: Structure, slots: Sequence[Wire], dom: Space, cod: Space) -> Wire:
    """The array of a map between two spaces on wires, as `LinearMap.todense` gives it."""
    rows, columns = structure.rows, structure.columns
    if rows * columns > DENSE_LIMIT:
        itemsize = widest(*structure.dom, *structure.cod).itemsize
        raise errors.DenseLimitError(errors.too_large(rows, columns, itemsize, DENSE_LIMIT))
    plain = isinstance(dom, Tensor) and isinstance(cod, Tensor)
    return matrix_on(b, structure, slots, (*cod.leaves[0].shape, *dom.leaves[0].shape) if plain else None)
