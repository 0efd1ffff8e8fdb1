"""Plans are cached: by the chain (structures, shapes, which arrays are shared) and by all that was asked for.

A chain of more than five factors, of the same kinds in other shapes, first tries the bracketing that was best for the last
one. Its cost is computed again, which takes a product for each step instead of a search. It is kept where this cost is at most
15% above a lower bound on all bracketings, unless forward or reverse costs less.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import replace

from catad import errors
from catad.linear.matrix.as_matrix import DENSE_LIMIT
from catad.linear.structure import Structure
from catad.planner.chains import brackets
from catad.planner.chains.basis import BOTH, Basis, array_of, is_larger, use_of, written
from catad.planner.chains.bound import bound
from catad.planner.chains.bracketing import Bracketing
from catad.planner.chains.brackets import PULL, PUSH
from catad.planner.chains.execute import Execution, Traced, as_they_stand, execute, trace
from catad.planner.chains.factors import Factors, factors_of, lazy, structure_of, terms
from catad.planner.chains.pushes import is_compressed
from catad.planner.chains.search import allowed, best, end, through_all
from catad.planner.costs.cost import Model, least_of, preference, short_of_memory
from catad.planner.costs.cost_profile import CostProfile
from catad.planner.heuristics import OutOfWork
from catad.planner.network.linear_graph import LinearGraph, graph_at, has_forks
from catad.planner.network.order import MARGIN, SUMS, EliminationOrder, cheaper, cheapest, eliminated
from catad.planner.network.search import OPERATION, USES
from catad.planner.network.thin import thinner
from catad.planner.request import Request
from catad.planner.strategy import Runnable
from catad.support.lru import Recent, remembered

SLACK = 1.15  # times the bound: what a bracketing of other shapes may cost
SHORT = 5  # factors, up to which no chain takes the bracketing of others
TAKEN = "it takes over the order of a chain of other sizes"
FEW = 20  # terms of a result that is written out after it was multiplied
STRUCTURED = 0.5  # of the seconds of a plan whose result stores much less: those of a basis that is taken instead
SPARSER = 2  # times as many numbers: what a basis stores then
LEAST, EACH_MAP, LONGEST = 4e-3, 3e-4, 0.1  # seconds of the searches without a budget: at least, for each map more; at most
FEW_VERTICES, PROVEN = 15, 5  # vertices of which the best order is likely to be found, and times as much work for that
COUNTED = 0.08  # seconds of it where operations are counted
BY_COUNT = 0.04  # at least where operations are counted
WORTH = 2e-3  # seconds of work that may find something
AFRESH = 2 * LONGEST  # the effort of a search that takes nothing from other sizes
THIN = 1 << 15  # numbers of a result up to which, by time, no thinner one is worth the search
LARGER = "what costs less stores more than the dense form"

# by kinds, with the structures for which a search has proven it
_bracketings: Recent[Hashable, tuple[brackets.Tree, tuple[Structure, ...]]] = Recent(512)


@remembered
def of_structure(structure: Structure, request: Request) -> Runnable:
    """The plan for a structure: a chain, a network (by its stages, or its graph), or a single map, which has no step."""
    factors, request = factors_of(structure), request.at(structure)
    if request.result == "sparse":
        _check_pattern(factors)
    if request.mode == "elimination":
        return _by_elimination(structure, factors, request)
    made = _cheaper(structure, factors, request) if request.mode == "auto" else _of_factors(factors, request)
    _check_allowed(made, request)
    made = no_larger_than_dense(made, structure, factors, request)
    if request.mode != "auto" or request.result != "structured" or request.memory is not None or request.explicit:
        return made
    asked = request.model is None or isinstance(request.model, CostProfile)
    return _thinner(made, structure, factors, request) if asked and has_forks(structure) else made


def _thinner(made: Runnable, structure: Structure, factors: Factors, request: Request) -> Runnable:
    """The plan `made`, or one that keeps thin vertices; by time these are looked for where they may save what that takes."""
    if request.model is not None and made.execution.result.stored <= THIN:
        return made
    graph, basis = graph_at(structure, factors), written(structure_of(as_they_stand(factors))[0], request.model)
    work, least = effort(basis, request, len(graph.edges)), floor(request.model, len(graph.edges))
    if work is not None and request.model is not None and basis is not None and PROVEN * USES * basis.compiled <= least:
        return made
    return thinner(made, graph, factors, replace(request, effort=work))


def _by_elimination(structure: Structure, factors: Factors, request: Request) -> Runnable:
    """The best order of elimination; a basis through the whole map where there are too many terms to look at any order."""
    graph = graph_at(structure, factors)
    found = cheapest(graph, factors, request).order
    if found is not None:
        return replace(found, mode="elimination")
    basis = None if request.budget is not None else written(structure_of(as_they_stand(factors))[0], request.model)
    instead = None if basis is None else through_basis(factors, request, basis.how)
    return eliminated(graph, factors, request) if instead is None else replace(instead, mode="elimination")


@remembered
def order_of(structure: Structure | None, factors: Factors, request: Request) -> EliminationOrder:
    """The best order of elimination of what has these factors, whatever it takes to look at one."""
    return eliminated(graph_at(structure, factors), factors, request)


def _cheaper(structure: Structure, factors: Factors, request: Request) -> Runnable:
    """The best of a basis through the whole map, orders of elimination and bracketings, with one use of the result each.

    The basis is priced first: it bounds what the searches look at, and how long.
    """
    basis = written(structure_of(as_they_stand(factors))[0], request.model)
    graph = graph_at(structure, factors) if has_forks(structure) else None
    size = len(factors.parts) if graph is None else len(graph.edges)
    asked = request if request.effort is not None else replace(request, effort=effort(basis, request, size))
    made: Runnable | None
    proof: tuple[str, ...] = ()
    if graph is None or graph.is_path or not graph.inner:
        made = _of_factors(factors, asked)
    else:
        made, proof = _of_graph(graph, factors, asked, basis)
    if made is None:
        assert basis is not None
        found = through_basis(factors, request, basis.how)
        return replace(found, exact=bool(proof), but=proof) if found is not None else _of_factors(factors, request)
    if request.result == "array":
        return _cheaper_array(made, basis, factors, request)
    if basis is None or made.execution.result.is_lazy:
        return made
    spent = made.cost.value + use_of(made.execution.result, request.model)
    if isinstance(request.model, CostProfile):
        spent *= MARGIN if basis.stored <= SPARSER * made.execution.result.stored else STRUCTURED
    through = through_basis(factors, request, basis.how) if basis.value + basis.use < spent else None
    if through is None:
        return made
    return replace(through, exact=made.exact and basis.value <= made.cost.value, but=made.but, stopped=made.stopped)


def _of_graph(
    graph: LinearGraph, factors: Factors, request: Request, basis: Basis | None
) -> tuple[Runnable | None, tuple[str, ...]]:
    """The cheaper of the best order and the best bracketing; None where both are found to be no better than the basis.

    Beside it, where there is none: among what the basis is known to be the best. Bracketings are looked at where the search for
    an order did not end, with the work that it left. Where it found nothing, they must be worth the work.
    """
    order: EliminationOrder | None = None
    error: errors.PlanError | None = None
    most = math.inf if basis is None else basis.value + basis.use
    left, least = request.effort, floor(request.model, len(graph.edges))
    try:
        share = None if left is None else left / 2 if request.model is None else max(least, left / 2)
        if basis is not None and share is not None and len(graph.inner) <= FEW_VERTICES:
            proven = COUNTED if request.model is None else min(LONGEST, PROVEN * USES * basis.compiled)
            share, left = max(share, proven), max(left or 0.0, proven if request.model is not None else LONGEST)
        order, rest, proof = cheapest(graph, factors, replace(request, effort=share), most)
        if proof:
            return None, proof
        left = None if left is None or share is None or rest is None else left - share + rest
    except errors.PlanError as found:
        if least_of(found) is None:
            raise
        error = found
    if left is not None and error is None:
        free = any(lazy(edge.state) for edge in graph.edges)  # bracketings may leave more of what is matrix-free as it is
        # by time, all orders were looked at with sums added as they come: bracketings take longer than they are likely to save
        ended = order is not None and (order.exact or (request.model is not None and order.stopped == SUMS))
        if order is not None and (ended or left < WORTH) and not free:
            return order, ()
        if order is None and basis is not None and left < (WORTH if request.model is None else least):
            return None, ()
    try:
        bound_of_both = most if order is None else min(most, order.cost.value)
        bracketed = _bracketing(factors, replace(request, effort=left), math.inf if left is None else bound_of_both)
    except errors.PlanError as found:
        needed = least_of(found)
        if needed is None or (order is None and (error is None or needed < (least_of(error) or 0))):
            raise
        if order is None:
            assert error is not None
            raise error from None
        return replace(order, exact=False), ()
    if bracketed is None:
        return order, ()
    return cheaper(order, bracketed, request), ()


def effort(basis: Basis | None, request: Request, size: int) -> float | None:
    """The seconds that both searches may take together, counted as work: what `USES` uses of a basis would take.

    They may take about what linearizing takes in any case, by the `size` of the program: its maps; by operations, which are no
    time, more. None leaves it to the budget, which was given, or counts in a unit of the user's.
    """
    model = request.model
    if request.budget is not None or (model is not None and not isinstance(model, CostProfile)):
        return None
    if basis is None:
        return LONGEST
    return min(LONGEST, max(floor(model, size), USES * basis.compiled * (OPERATION if model is None else 1.0)))


def floor(model: Model, size: int) -> float:
    """The seconds that the searches may take in any case."""
    return BY_COUNT if model is None else LEAST + EACH_MAP * size


def _cheaper_array(made: Runnable, basis: Basis | None, factors: Factors, request: Request) -> Runnable:
    """The cheaper of a plan and a basis through the whole map, where an array is asked for: its result is written out then."""
    result = made.execution.result
    last = array_of(result, request.model)
    spent = made.cost.value + (0.0 if last is None else last.value)
    return (basis is not None and basis.value < spent and through_basis(factors, request, basis.how)) or made


def through_basis(factors: Factors, request: Request, how: int) -> Bracketing | None:
    """The bracketing that pushes or pulls a basis through all factors as they stand; None where that does not fit the memory."""
    return _of_tree(factors, request, ((brackets.ALL, how),))


def _of_tree(factors: Factors, request: Request, tree: brackets.Tree) -> Bracketing | None:
    traced = trace(factors, tree, request.model)
    if request.memory is not None and traced.peak > request.memory:
        return None
    return Bracketing(chain=factors, execution=execute(factors, traced), tree=traced.tree)


def no_larger_than_dense(made: Runnable, structure: Structure, factors: Factors, request: Request) -> Runnable:
    """The plan `made`; the best one with a dense result where the result of `made` stores more numbers than its dense form.

    This is a basis through all factors; by operations, and where that does not fit, others are looked at, too.
    """
    if made.mode == "by hand" or not is_larger(made.execution.result):
        return made
    hows = {"forward": (PUSH,), "reverse": (PULL,)}.get(made.mode, BOTH)
    basis = written(structure_of(as_they_stand(factors))[0], request.model, hows)
    found: list[Runnable | None] = [] if basis is None else [through_basis(factors, request, basis.how)]
    timed = isinstance(request.model, CostProfile)
    if found in ([], [None]) or (not timed and basis is not None and basis.value > made.cost.value):
        if isinstance(made, Bracketing) and made.tree and terms(made.execution.result) <= FEW:
            last = len(factors.parts) + len(made.tree) - 1
            found += [_of_tree(factors, request, (*made.tree, (last, how))) for how in hows]
        if request.mode == "auto":
            for mode in ("forward", "reverse"):
                with suppress(errors.PlanError):  # it does not fit the memory
                    found.append(of_structure(structure, replace(request, mode=mode)))
    fitting = [other for other in found if other is not None and not is_larger(other.execution.result)]
    if not fitting:
        return made
    least = min(fitting, key=lambda other: preference(other.cost))
    return replace(least, mode=made.mode, stopped=least.stopped or LARGER)


def of_factors(factors: Factors, request: Request) -> Runnable:
    """The plan that is found for a chain of factors: a bracketing, unless "elimination" is asked for.

    A bracketing that is asked for is a tree: see `Request.for_chain`.
    """
    if request.mode == "elimination":
        return order_of(None, factors, request)
    made = _of_factors(factors, request)
    _check_allowed(made, request)
    return made


def _check_pattern(factors: Factors) -> None:
    """Refuse a large map that is known by its application only, and of which every entry can differ from zero."""
    whole = structure_of(as_they_stand(factors))[0]
    if whole.is_lazy and whole.rows * whole.columns > DENSE_LIMIT and not is_compressed(whole):
        raise errors.DenseLimitError(errors.no_finite_pattern(whole.kind, whole.rows, whole.columns, DENSE_LIMIT))


def _check_allowed(made: Runnable, request: Request) -> None:
    """Refuse a search whose best plan has a product that the cost forbids: then all plans have one."""
    if request.mode == "auto" and made.cost.value == math.inf:
        raise errors.PlanError(errors.every_plan_is_forbidden())


@remembered
def _of_factors(factors: Factors, request: Request) -> Bracketing:
    found = _bracketing(factors, request, math.inf)
    assert found is not None
    return found


def _bracketing(factors: Factors, request: Request, most: float) -> Bracketing | None:
    """The bracketing that is found; None where the search finds none that costs no more than `most`."""
    n = len(factors.parts)
    model, memory, mode, exact, stopped = request.model, request.memory, request.mode, False, ""
    if mode == "auto":
        cheapest = _cheapest(factors, request, most)
        if cheapest is None:
            return None
        traced, exact, stopped = cheapest
    elif mode in ("forward", "reverse"):
        traced = _from_one_end(factors, *_usual(n)[mode == "reverse"], request)
    elif isinstance(mode, str):
        raise errors.PlanError(errors.unknown_mode(mode))
    else:
        traced, mode = trace(factors, mode, model), "by hand"
    if memory is not None and traced.peak > memory:
        raise short_of_memory(memory, traced.peak, False)
    if mode == "auto" and model is None and _shares(factors):
        traced, execution, all_add_up = _sharing(factors, traced, request)
        exact = exact and all_add_up
    else:
        execution = execute(factors, traced)
    exact = exact or not traced.tree
    stopped = "" if exact else stopped
    return Bracketing(chain=factors, execution=execution, tree=traced.tree, mode=mode, exact=exact, stopped=stopped)


def _usual(n: int) -> tuple[tuple[brackets.Tree, int], tuple[brackets.Tree, int]]:
    """Forward and reverse, each with the end at which a basis enters."""
    return (brackets.forward(n), PUSH), (brackets.reverse(n), PULL)


def _from_one_end(factors: Factors, tree: brackets.Tree, how: int, request: Request) -> Traced:
    """Forward or reverse; products of too many terms give way to a basis from the same end."""
    try:
        return end(factors, tree, request.model, request.explicit, (how,), allowed(factors))
    except OutOfWork:
        basis = through_all(factors, request.model, (how,))
        return basis or end(factors, tree, request.model, request.explicit, (how,))


def _cheapest(factors: Factors, request: Request, most: float) -> tuple[Traced, bool, str] | None:
    """The best bracketing: that of a chain of the same kinds where it is good enough, else what the search finds below `most`.

    It comes with whether it is proven, and why it may not be. Short chains are searched, which takes as long as a trace.
    """
    key = (tuple([part.structure.kind for part in factors.parts]), request)
    known, own = _bracketings.get(key), tuple([part.structure for part in factors.parts])
    least = bound(factors, request.model)
    if known is not None and len(own) > SHORT and least > 0 and request.memory is None and request.effort != AFRESH:
        traced = trace(factors, known[0], request.model)
        if traced.value <= SLACK * least:
            if known[1] == own or traced.value <= least:
                return traced, True, ""
            usual = [_from_one_end(factors, *way, request) for way in _usual(len(own))]
            traced = min([traced, *usual], key=lambda one: one.value)
            return traced, traced.value <= least, TAKEN
    found = best(factors, request.model, request.memory, request.budget, request.explicit, request.effort, most)
    if found is None:
        return None
    traced, exact = found
    _bracketings[key] = traced.tree, own if exact else ()
    return traced, exact or traced.value <= least, request.ended


def forget() -> None:
    """Forget all that is kept here."""
    of_structure.cache_clear()
    order_of.cache_clear()
    _of_factors.cache_clear()
    _bracketings.clear()


def _shares(factors: Factors) -> bool:
    """True where some array stands in two factors, so that products of both may be equal and then are computed once."""
    used = [k for part in factors.parts for k in set(part.ids)]
    return len(used) > len(set(used))


def _sharing(factors: Factors, chosen: Traced, request: Request) -> tuple[Traced, Execution, bool]:
    """The least by operations really executed, of the chosen one and the usual rivals; the search counts each step alone."""
    n = len(factors.parts)
    makers = (brackets.forward, brackets.reverse, brackets.balanced)
    traced = [chosen, *[end(factors, make(n), None, request.explicit) for make in makers]]
    fitting = [chosen, *[t for t in traced[1:] if request.memory is None or t.peak <= request.memory]]
    executed = [(t, execute(factors, t)) for t in fitting]
    least = min(executed, key=lambda pair: (pair[1].cost.operations, pair[1].cost.peak))
    return *least, all(execution.additive for _, execution in executed)
