"""Plans for many sizes of one program: a few choices, found at few sizes and priced again at every other one.

The cost of an order grows with the sizes like a sum of products of powers, so of two orders one is better for small sizes and
the other one for large sizes, and few orders are the best anywhere. The first size is planned by a search. The first size in a
new direction, larger for one, is not searched itself: the search takes place far out on the line through both, where the order
that is best there has all its advantage. From then on the orders that are known, forward mode, reverse mode and a basis are
priced at the size at hand, and the cheapest runs. So a program takes at most three searches, however many sizes it meets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from catad import errors
from catad.category.spaces import Space, Tensor, rebuild, space_like
from catad.category.trip_counts import reading
from catad.linear.matrix.as_matrix import DENSE_LIMIT
from catad.linear.structure import Structure
from catad.planner.chains import brackets, cache
from catad.planner.chains.basis import array_of, is_larger, use_of, written
from catad.planner.chains.bracketing import Bracketing
from catad.planner.chains.execute import Traced, as_they_stand, execute
from catad.planner.chains.factors import Factors, factors_of, leaf, structure_of
from catad.planner.chains.search import allowed, end
from catad.planner.costs.cost_profile import CostProfile
from catad.planner.heuristics import OutOfWork
from catad.planner.network.eliminate import follow, result_of
from catad.planner.network.linear_graph import graph_at
from catad.planner.network.order import EliminationOrder, by_hand
from catad.planner.request import Request
from catad.planner.strategy import Runnable
from catad.support.lru import Recent

SEARCHES = 3  # for all sizes of one program
LOW, HIGH = 4, 1000  # lengths of axes where a search far out takes place, unless the sizes that are met lie outside
PAIRS = 200  # of terms that forward and reverse mode may multiply to be priced
STOPPED = "an order of other sizes, priced again"
FORMS = 8  # of one program: which maps there are may depend on the sizes

LaidOut = Callable[[Space], Structure]


class Priced(NamedTuple):
    """A choice at some size: making the map and using it once, or writing it out, as is asked for; and how to lay it out."""

    value: float
    make: Callable[[], Runnable]
    is_larger: bool  # the result stores more than the dense form


class Sizes:
    """The searches for the derivative of one program, by one request, over all sizes."""

    def __init__(self) -> None:
        self.forms: Recent[Any, _Form] = Recent(FORMS)

    def note(self, dom: Space, structure: Structure, request: Request, made: Runnable) -> None:
        """Keep a plan that was asked for at a size."""
        if _suits(request):
            self._form(dom, structure).found.append((dom, structure, made))

    def plan_at(self, dom: Space, structure: Structure, request: Request, lay_out: LaidOut) -> Runnable:
        """The plan at a size; `lay_out` gives the structure of the same derivative at another domain."""
        if not _suits(request):
            return cache.of_structure(structure, request)
        return self._form(dom, structure).plan_at(dom, structure, request, lay_out)

    def _form(self, dom: Space, structure: Structure) -> _Form:
        key = tuple([(leaf.ndim, leaf.dtype) for leaf in dom.leaves]), _form_of(structure)
        found = self.forms.get(key)
        if found is None:
            found = self.forms[key] = _Form()
        return found


class _Form:
    """Sizes at which the derivative is the same graph of maps."""

    def __init__(self) -> None:
        self.found: list[tuple[Space, Structure, Runnable]] = []
        self.ways: list[tuple[int, ...]] = []  # directions, seen from the first size, in which a search took place

    def plan_at(self, dom: Space, structure: Structure, request: Request, lay_out: LaidOut) -> Runnable:
        for _, other, made in self.found:
            if other == structure:
                return made
        if not self.found:
            return self._searched(dom, structure, request)
        first = self.found[0][0]
        way = tuple([(n > m) - (n < m) for m, n in zip(_lengths(first), _lengths(dom), strict=True)])
        if way not in self.ways and len(self.ways) < SEARCHES - 1:
            self.ways.append(way)
            beyond = _far(first, dom, lay_out)
            if beyond is None or _form_of(beyond[1]) != _form_of(structure):
                return self._searched(dom, structure, request)
            self._searched(*beyond, request)
        return _cheapest(structure, request, [made for *_, made in self.found])

    def _searched(self, dom: Space, structure: Structure, request: Request) -> Runnable:
        made = cache.of_structure(structure, request)
        self.found.append((dom, structure, made))
        return made


def _suits(request: Request) -> bool:
    """True where a plan of other sizes is of use: nothing is limited, and the cost grows with the sizes."""
    free = request.mode == "auto" and request.memory is None and request.budget is None
    return free and (request.model is None or isinstance(request.model, CostProfile))


def _form_of(structure: Structure) -> Any:
    """What two structures have in common where a choice for one is a choice for the other."""
    factors = factors_of(structure)
    graph = graph_at(structure, factors)
    return len(factors.parts), graph.inputs, graph.outputs, tuple([(edge.source, edge.target) for edge in graph.edges])


# -- sizes far out


def _lengths(dom: Space) -> list[int]:
    return [n for leaf in dom.leaves for n in leaf.shape]


def _far(first: Space, dom: Space, lay_out: LaidOut) -> tuple[Space, Structure] | None:
    """A size on the line from one through another, that one or beyond it, and the structure there; None where it has none.

    Lengths on a line keep what is linear in them: two are equal, one is longer by one, one is twice as long.
    """
    start = _lengths(first)
    steps = [n - m for m, n in zip(start, _lengths(dom), strict=True)]
    unit = math.gcd(*steps)
    if not unit:
        return None
    rates = [step // unit for step in steps]
    rooms = [(HIGH - n) // rate if rate > 0 else (n - LOW) // -rate for n, rate in zip(start, rates, strict=True) if rate]
    k = max(unit, min(rooms))
    with suppress(errors.CatadError), reading() as read:
        while True:
            lengths = iter([n + k * rate for n, rate in zip(start, rates, strict=True)])
            leaves = [Tensor([next(lengths) for _ in leaf.shape], leaf.dtype) for leaf in dom.leaves]
            space = space_like(rebuild(dom, leaves), leaves)
            structure = lay_out(space)
            if read:  # loops are laid out for what they did at the sizes that were met
                return None
            if k == unit or structure.rows * structure.columns <= DENSE_LIMIT:
                return space, structure
            k = max(unit, k // 2)
    return None


# -- prices


def _cheapest(structure: Structure, request: Request, known: Sequence[Runnable]) -> Runnable:
    """The cheapest of some choices for other sizes, a basis, and multiplying from one end, at a size."""
    factors, request = factors_of(structure), request.at(structure)
    choices = {made.text: made for made in known}.values()
    tried = [again(made, structure, request) for made in choices]
    n = len(factors.parts)
    basis = written(structure_of(as_they_stand(factors))[0], request.model)
    trees = [] if basis is None else [((brackets.ALL, basis.how),)]
    tried += [_traced(factors, tree, request, PAIRS) for tree in (*trees, brackets.forward(n), brackets.reverse(n))]
    found = [priced for priced in tried if priced is not None]
    if not found:
        return cache.of_structure(structure, request)
    made = min(found, key=lambda priced: (priced.is_larger, priced.value)).make()
    return replace(cache.no_larger_than_dense(made, structure, factors, request), stopped="" if made.exact else STOPPED)


def _priced(value: float, result: Structure, request: Request, make: Callable[[], Runnable]) -> Priced | None:
    if request.explicit and result.is_lazy:
        return None
    if request.result == "array":
        last = array_of(result, request.model)
        return Priced(value + (0.0 if last is None else last.value), make, False)
    return Priced(value + use_of(result, request.model), make, is_larger(result))


def again(made: Runnable, subject: Structure | Factors, request: Request) -> Priced | None:
    """The choice of a plan for other sizes, at those of a structure or a list of factors; None where it is no choice there."""
    factors = subject if isinstance(subject, Factors) else factors_of(subject)
    request = request if isinstance(subject, Factors) else request.at(subject)
    if isinstance(made, EliminationOrder):
        graph = graph_at(None if isinstance(subject, Factors) else subject, factors)
        if graph.inner != made.graph.inner:
            return None
        traced = follow(graph, made.entries, request.model, request.explicit)
        return _priced(
            traced.value,
            result_of(graph, traced.after)[0],
            request,
            lambda: replace(by_hand(graph, factors, request, made.entries), mode="auto"),
        )
    if not isinstance(made, Bracketing) or len(made.chain.parts) != len(factors.parts):
        return None
    return _traced(factors, made.tree, request, allowed(factors))


def _traced(factors: Factors, tree: brackets.Tree, request: Request, pairs: int) -> Priced | None:
    try:
        traced: Traced = end(factors, tree, request.model, request.explicit, budget=pairs)
    except OutOfWork:
        return None
    last = traced.joins[-1].state if traced.joins else leaf(factors.parts[0])

    def make() -> Runnable:
        return Bracketing(chain=factors, execution=execute(factors, traced), tree=traced.tree, exact=not traced.tree)

    return _priced(traced.value, structure_of(last)[0], request, make)
