"""A Jacobian as one program: coefficients, the products of the plan, and, where an array is asked for, writing it out.

So what follows from the same boxes is computed once, the value is not computed where no coefficient needs it, and an engine
compiles all of it together.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from catad import errors
from catad.category.cache import cached
from catad.category.spaces import Space, Tensor, tangent_space
from catad.category.terms import D
from catad.category.trip_counts import with_trip_counts
from catad.category.wiring import Builder, Wire, at_point
from catad.derivative.functors import as_chain, fused, linear_graph, network_at
from catad.engine.counting import counting
from catad.engine.program import Program
from catad.front.calling import Point
from catad.front.specialise import specialised
from catad.linear.map import LinearMap, expected_map, linear_map
from catad.linear.matrix.as_matrix import DENSE_LIMIT, may_be_spread, written_at_once
from catad.linear.matrix.materialise import matrix_on
from catad.linear.matrix.repeated_todense import Expected, Habit
from catad.linear.structure import Structure, widest
from catad.planner.plan import Plan, plan_at, sizes_of
from catad.planner.request import Request, Result
from catad.values.arrays import Array, common_module
from catad.values.trees import Tree

TURNS = 4  # maps that were written out before the next one is made together with its array


class JacobianProgram(NamedTuple):
    """The program from the leaves of a point to the slots of the Jacobian, or its array; its structure; the space of values."""

    program: Program
    structure: Structure
    cod: Space
    is_array: bool = False


class Called:
    """The program of calls of one kind, and what makes the result of its leaves.

    Where the maps that it gave are written out, each in turn, another program makes the array of the next one, and this one
    runs only if more is asked of it.
    """

    __slots__ = ("_writing", "cod", "dom", "habit", "made", "may_write", "result", "trees")

    def __init__(self, made: JacobianProgram, dom: Space, cod: Space, trees: tuple[Tree, Tree] | None, result: Result) -> None:
        self.made, self.dom, self.cod, self.trees, self.result = made, dom, cod, trees, result
        self.habit = Habit(TURNS)
        self._writing: Program | None = None
        self.may_write = result == "structured"

    def run(self, xp: Any, leaves: Sequence[Array], plain: Any) -> Any:
        """The Jacobian in the form that is asked for; unless `plain` is empty, by its own program."""
        result, made = self.result, self.made
        if made.is_array:
            return made.program(xp, leaves)[0]
        linear = self._with_array(leaves) if self.habit.next() and self.may_write and not plain and counting() is None else None
        if linear is None:
            outs = made.program(xp, leaves)[: len(made.structure.slots)]
            linear = linear_map(self.dom, self.cod, made.structure, outs)
            if result != "structured":
                return linear.tocsr() if result == "sparse" else linear.todense()
            linear.expected = Expected(self.habit, [], made.program, ())
        if self.trees is not None:
            linear.trees = self.trees
        return linear

    def _with_array(self, leaves: Sequence[Array]) -> LinearMap | None:
        """The map with its array, whose own arrays are made if they are wanted, of the numbers that the leaves have now.

        None where the array is too large for that.
        """
        made = self.made
        if self._writing is None:
            self.may_write = written_at_once(made.structure)
            if not self.may_write:
                return None
            self._writing = written(made.program, made.structure, self.dom, self.cod)
        expected = Expected(self.habit, self._writing(np, leaves), made.program, [leaf.copy() for leaf in leaves])
        return expected_map(self.dom, self.cod, made.structure, expected)


def written(program: Program, structure: Structure, dom: Space, cod: Space) -> Program:
    """The program of the array of a map from that of its slots."""
    b, wiring = Builder(), program.wiring
    xs = tuple([b.wire(space) for space in wiring.spaces(wiring.inputs)])
    outs = b.inline(wiring, xs)[: len(structure.slots)]
    made = Program(b.finish(wiring.dom, xs, (array_on(b, structure, outs, dom, cod),)))
    made.checked = True
    return made


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
        term = specialised(f, at.form, space)[0] if at.speaks else at.term
        return as_chain(network_at(term, space, by))

    def planned(structure: Structure, request: Request) -> Plan:
        return plan_at(sizes_of(f, by, request), at.dom, structure, request, at_size)

    def made() -> Called:
        return called(cached(at.term, ("jacobian", at.dom, by, request), lambda: _made(at, by, dom, request, planned)))

    def call() -> Any:
        with at_point(at.dom, lambda: (xp, at.leaves)):
            found = made() if key is None else cached(f, key, made)
        return found.run(xp, at.leaves, True)

    return with_trip_counts(call)


def _made(
    at: Point, by: tuple[int, ...] | None, own: Space, request: Request, planned: Callable[[Structure, Request], Plan]
) -> JacobianProgram:
    f, dom = at.term, at.dom
    wiring = fused(f, dom)
    b = Builder()
    xs = tuple([b.wire(space) for space in dom.leaves])
    results, network, slots = linear_graph(b, wiring, xs, by)
    if not network.dom or not network.cod:
        raise errors.DerivativeError(errors.integers_alone(dom, f))
    structure = as_chain(network)
    spread = request.result == "array" and may_be_spread(structure)
    is_array = request.result == "array" and not spread
    plan = planned(structure, replace(request, result="structured") if spread else request)
    outs: Sequence[Wire] = b.inline(plan.wiring, slots)
    if is_array:
        outs = (array_on(b, plan.result, outs, tangent_space(own), tangent_space(wiring.cod)),)
    ends = tuple(outs) or tuple(results[:1])  # a loop that must count its steps runs before a result (`Builder.finish`)
    return JacobianProgram(Program(b.finish(dom, xs, ends)), plan.result, wiring.cod, is_array)


def array_on(b: Builder, structure: Structure, slots: Sequence[Wire], dom: Space, cod: Space) -> Wire:
    """The array of a map between two spaces on wires, as `LinearMap.todense` gives it."""
    rows, columns = structure.rows, structure.columns
    if rows * columns > DENSE_LIMIT:
        itemsize = widest(*structure.dom, *structure.cod).itemsize
        raise errors.DenseLimitError(errors.too_large(rows, columns, itemsize, DENSE_LIMIT))
    plain = isinstance(dom, Tensor) and isinstance(cod, Tensor)
    return matrix_on(b, structure, slots, (*cod.leaves[0].shape, *dom.leaves[0].shape) if plain else None)
