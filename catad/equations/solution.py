"""`Solution`: what solves an equation, as a term `(x0, *args) -> x`.

A `Problem` says which equation that is, and how a solution is found. It is found without a derivative; `Implicit` has that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from catad import errors
from catad.category.boxes import of_fields
from catad.category.cartesian import compose, cross, exl, exr, fork, proj
from catad.category.constructors import integer
from catad.category.spaces import Product, Space, Tensor, flatten, rebuild
from catad.category.terms import D, Fork, Id, morphism
from catad.category.wiring import share
from catad.equations.implicit import Implicit
from catad.equations.tolerance import flat, largest, shaped
from catad.front.closure_conversion import Given, closed, of_both
from catad.front.specialise import at_space, form_at, function_of, specialised
from catad.traced.function import function_term
from catad.traced.signature import Form
from catad.values.trees import Tree
from catad.vector.loops.converged import WhereConverged
from catad.vector.pointwise.logic import where
from catad.vector.pointwise.operators import astype
from catad.vector.stop_gradient import StoppedAt

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wires


IS_TRACED = True  # finders call these functions


class Ended(NamedTuple):
    """Where an iteration ended: whether that is a solution, its leaves, and the numbers of a message."""

    found: Any
    leaves: tuple[Any, ...]
    numbers: tuple[Any, ...]


@dataclass(frozen=True)
class Problem(ABC):
    """An equation that a function is a part of, and a way to its solution; its fields are the options of the way.

    Functions are morphisms of pairs: x, and the tuple of the other arguments.
    """

    method: str
    rtol: float | None = None
    atol: float | None = None
    max_steps: int = 300
    on_failure: str = "raise"
    name: ClassVar[str]  # of the public constructor
    methods: ClassVar[tuple[str, ...]]  # the first one is the default
    said: ClassVar[Callable[..., str]]  # the message of a lane that has no solution, and of the numbers that say where it stood

    def __post_init__(self) -> None:
        for key, known in (("method", self.methods), ("on_failure", FAILURES)):
            if getattr(self, key) not in known:
                raise errors.ArgumentError(errors.unknown_option(self.name, key, getattr(self, key), known))
        for key in ("rtol", "atol"):
            value = getattr(self, key)
            if value is not None and not (isinstance(value, (int, float, np.floating)) and 0 <= value < np.inf):
                raise errors.ArgumentError(errors.not_a_tolerance(self.name, key, value))
            object.__setattr__(self, key, None if value is None else float(value))
        object.__setattr__(self, "max_steps", integer(self.max_steps, "max_steps, a number of steps,", 0))

    @abstractmethod
    def equation(self, f: D) -> D:
        """The morphism that is zero at the solution: as many numbers as x has."""

    @abstractmethod
    def ended(self, f: D, dom: Space, x: Any, args: Any) -> Ended:
        """Where the search from x ends, `dom` being the space of (x, args); it is traced, and finds no derivative."""

    def checked(self, f: D, unknown: Space, made: Space) -> None:
        """Raise `SpaceError` where the results of the user's function `f` do not fit its unknowns."""
        count, found = [sum([leaf.size for leaf in space.leaves]) for space in (unknown, made)]
        if count != found or not all(leaf.is_float for leaf in made.leaves):
            raise errors.SpaceError(errors.not_as_many_equations(self.name, f, unknown, made))

    def finder(self, f: D, dom: Space) -> D:
        """The morphism from the pair of a start and the other arguments to the leaves of the solution, and to whether it is one.

        That is said where failures are NaN; the leaves are then those of the start.
        """
        unknown: Space = dom.factors[0]  # type: ignore[attr-defined]
        raises, end = self.on_failure == "raise", WhereConverged(self.said)

        def find(x: Any, args: Any) -> Any:
            end_at = self.ended(f, dom, x, args)
            found = end_at.found & (largest(end_at.leaves) < np.inf)
            if raises:
                return flatten(shaped(unknown, tuple(end(found, end_at.numbers, end_at.leaves)))), ()
            leaves = tuple([np.where(found, one, start) for one, start in zip(end_at.leaves, flat(x), strict=True)])
            return flatten(shaped(unknown, leaves)), (np.asarray(found),)

        return function_term(find)

    @property
    def derivative_rtol(self) -> float | None:
        """The residual of linear systems with products alone, where the Jacobian is not inverted by factors."""
        return None

    @property
    def options(self) -> dict[str, Any]:
        """The options as keywords of the constructor, those that have their defaults left out."""
        default = {field.name: field.default for field in fields(self)} | {"method": self.methods[0]}
        given = {name: getattr(self, name) for name in default}
        return {name: value for name, value in given.items() if value != default[name]}


FAILURES = ("raise", "nan")


@share
@of_fields
class Solution(D):
    """The solution of a problem with the function f. `alone` where x is the only argument; None where the domain says so."""

    drawn_as = "functor"
    f: D
    problem: Problem
    alone: bool | None = None

    def lay_out(self, b: Builder, x: Wires) -> Any:
        dom = b.space(x)
        settled = at_space(self, dom)
        if settled is not self:
            return (yield settled, x)
        start, args = (x, ()) if self.takes_one(dom) else (x[0], tuple(x[1:]))
        unknown, pair = b.space(start), b.space((start, args))
        if not unknown.leaves or not all(leaf.is_float for leaf in unknown.leaves):
            raise errors.SpaceError(errors.start_not_floating(self.problem.name, unknown))
        f = compose(proj(0) if self.takes_one(dom) else _spread(len(args)), self.f)
        equation = self.problem.equation(f)
        with b.at((start, args)):
            self.problem.checked(self.f, unknown, f.spaces(pair))
            finder = self.problem.finder(f, pair)
        given = flatten(args)
        stopped = b.apply(StoppedAt((True,) * len(pair.leaves)), (start, args))
        leaves, found = yield finder, stopped
        if found:
            equation, pair = WhereFound(equation), Product((unknown, Product((b.space(args), b.space(found[0])))))
        box = Implicit(equation, pair, len(given) + len(found), self.problem.derivative_rtol)
        made = b.add(box, *given, *found, *leaves)
        return rebuild(unknown, [b.apply(_or_nan, (found[0], leaf)) for leaf in made] if found else made)

    def takes_one(self, dom: Space) -> bool:
        """Whether the argument is the start alone."""
        return self.alone if self.alone is not None else not isinstance(dom, Product)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        options = [f"{key}={value!r}" for key, value in self.problem.options.items()]
        return f"ct.{self.problem.name}({', '.join([part(self.f), *options])})"


def _spread(n: int) -> D:
    """`(x, (a, b))` as `(x, a, b)`."""
    return Fork((proj(0), *[compose(proj(1), proj(k)) for k in range(n)]))


@of_fields
class WhereFound(D):
    """`(x, (args, found))` to an equation where a solution was found; elsewhere to x, whose Jacobian has an inverse.

    So a lane without a solution has no Jacobian that spoils those of others.
    """

    equation: D

    def lay_out(self, b: Builder, x: Wires) -> Any:
        values = yield self.equation, (x[0], x[1][0])
        own, there = flatten(x[0]), flatten(values)
        if [leaf.shape for leaf in own] == [leaf.shape for leaf in there]:
            return tuple([b.apply(where, (x[1][1], one, other)) for one, other in zip(there, own, strict=True)])
        return b.apply(_chosen, (x[1][1], tuple(there), tuple(own)))


def _joined_where(found: Any, values: Any, x: Any) -> Any:
    return np.where(found, np.concatenate(flat(values)), np.concatenate(flat(x)))


def _times_nan(found: Any, leaf: Any) -> Any:
    return leaf * np.where(found, 1.0, np.nan).astype(leaf.dtype)


_chosen, _or_nan = [morphism(fn, "ct.root") for fn in (_joined_where, _times_nan)]


@specialised.register
def _(term: Solution, form: Form, dom: Space) -> tuple[D, Tree | None]:
    alone = len(form.dynamic) == 1 if function_of(term.f) is not None else not isinstance(dom, Product)
    start, tree = (dom, form.tree) if alone else (dom.factors[0], form.tree.parts[0])  # type: ignore[attr-defined]
    floating = rebuild(start, [s if s.is_float else Tensor(s.shape, np.float64) for s in start.leaves], Product)
    if floating == start:
        return Solution(specialised(term.f, form, dom)[0], term.problem, alone), tree
    own: Space = floating if alone else Product((floating, *dom.factors[1:]))  # type: ignore[attr-defined]
    casts = rebuild(start, [Id() if s.is_float else astype(np.float64) for s in start.leaves], lambda parts: cross(*parts))
    first = casts if alone else cross(casts, *[Id() for _ in dom.factors[1:]])  # type: ignore[attr-defined]
    made = specialised(term, form_at(term, own, None), own)[0]
    return compose(first, made), tree


@closed.register
def _(term: Solution, dom: Space, given: Given) -> D:
    """`(values, (x0, *args))`: the values are one more argument."""
    alone = term.takes_one(dom)
    n = 0 if alone else len(dom.factors) - 1  # type: ignore[attr-defined]
    own = proj(0) if alone else Fork((proj(0), *[proj(k + 2) for k in range(n)]))
    f = compose(Fork((proj(1), own)), of_both(term.f, dom, given))
    start = [exr] if alone else [compose(exr, proj(k)) for k in range(n + 1)]
    return compose(fork(start[0], exl, *start[1:]), Solution(f, term.problem, False))
