"""Plans are cached: by the chain (structures, shapes, which arrays are shared) and by all that was asked for.

A chain of the same kinds in other shapes first tries the bracketing that was best for the last one. Its cost is computed
again, which takes a product for each step instead of a search. It is kept where this cost is at most 15% above a lower bound
on all bracketings.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache

from catad import errors
from catad.linear.as_matrix import DENSE_LIMIT
from catad.linear.structure import Structure
from catad.planner import brackets
from catad.planner.basis import BOTH, Basis, is_larger, use_of, written
from catad.planner.bound import bound
from catad.planner.bracketing import Bracketing
from catad.planner.brackets import PULL, PUSH
from catad.planner.chain import allowed, best, end, through_all
from catad.planner.cost import least_of, short_of_memory
from catad.planner.cost_profile import CostProfile
from catad.planner.execute import Execution, OverBudget, Traced, as_they_stand, execute, trace
from catad.planner.factors import Factors, Part, factors_of, structure_of, terms
from catad.planner.network.linear_graph import LinearGraph, graph_of, has_forks
from catad.planner.network.order import MARGIN, EliminationOrder, cheaper, cheapest, eliminated
from catad.planner.network.search import OPERATION, USES
from catad.planner.pushes import is_compressed
from catad.planner.request import Request
from catad.planner.strategy import Runnable

SLACK = 1.15  # times the bound: what a bracketing of other shapes may cost
FEW = 20  # terms of a result that is written out after it was multiplied
STRUCTURED = 0.5  # of the seconds of a plan whose result stores less: those of a basis that is taken instead
SHORTEST, LONGEST = 0.02, 0.1  # seconds of a search that has no budget
LARGER = "what costs less stores more than the dense form"
KEPT = 1024  # strategies, and bracketings by kinds

_bracketings: OrderedDict[Hashable, brackets.Tree] = OrderedDict()


@lru_cache(maxsize=KEPT)
def of_structure(structure: Structure, request: Request) -> Runnable:
    """The plan for a structure: a chain, a network (by its stages, or its graph), or a single map, which has no step."""
    factors = factors_of(structure)
    if request.result == "sparse":
        _check_pattern(factors)
    if request.mode == "elimination":
        return _by_elimination(structure, factors, request)
    made = _cheaper(structure, factors, request) if request.mode == "auto" else _of_factors(factors, request)
    _check_allowed(made, request)
    return no_larger_than_dense(made, structure, factors, request)


def _by_elimination(structure: Structure, factors: Factors, request: Request) -> Runnable:
    """The best order of elimination; a basis through the whole map where there are too many terms to look at any order."""
    graph = _graph(structure, factors)
    found = cheapest(graph, factors, request)
    if found is not None:
        return replace(found, mode="elimination")
    basis = None if request.budget is not None else written(structure_of(as_they_stand(factors))[0], request.model)
    instead = None if basis is None else through_basis(factors, request, basis.how)
    return eliminated(graph, factors, request) if instead is None else replace(instead, mode="elimination")


def order_of(structure: Structure | None, factors: Factors, request: Request) -> EliminationOrder:
    """The best order of elimination of what has these factors, whatever it takes to look at one."""
    if structure is None:
        return _order_of_factors(factors, request)
    return eliminated(_graph(structure, factors), factors, request)


def _graph(structure: Structure, factors: Factors) -> LinearGraph:
    return graph_of((Part(structure, tuple(range(len(structure.slots)))),), factors.slots)


def _cheaper(structure: Structure, factors: Factors, request: Request) -> Runnable:
    """The best of all bracketings, orders of elimination, and a basis through the whole map, each with one use of the result."""
    bracketed: Runnable | None = None
    error = None
    basis = written(structure_of(as_they_stand(factors))[0], request.model)
    graph = _graph(structure, factors) if has_forks(structure) else None
    forks = graph is not None and not graph.is_path
    asked = replace(request, effort=effort(basis, request)) if forks else request
    try:
        bracketed = _of_factors(factors, asked)
    except errors.PlanError as found:
        if least_of(found) is None or not forks:
            raise
        error = found
    made = bracketed
    if graph is not None and forks:
        most = math.inf if basis is None else basis.value + basis.use
        made = cheaper(graph, factors, asked, bracketed, error, most)
    assert made is not None
    if request.result == "array":
        return _cheaper_array(made, basis, factors, request)
    if basis is None or made.cost.value <= basis.value or made.execution.result.is_lazy:
        return made
    spent = made.cost.value + use_of(made.execution.result, request.model)
    if isinstance(request.model, CostProfile):
        spent *= MARGIN if basis.stored <= made.execution.result.stored else STRUCTURED
    through = through_basis(factors, request, basis.how) if basis.value + basis.use < spent else None
    if through is None:
        return made
    return replace(through, exact=made.exact and basis.value <= made.cost.value, but=made.but, stopped=made.stopped)


def effort(basis: Basis | None, request: Request) -> float | None:
    """The seconds that each search of a program with forks may take, counted as work: what `USES` uses of a basis would take.

    None leaves it to the budget, which was given, or counts in a unit of the user's.
    """
    model = request.model
    if request.budget is not None or (model is not None and not isinstance(model, CostProfile)):
        return None
    if basis is None:
        return LONGEST
    return min(LONGEST, max(SHORTEST, USES * basis.value * (OPERATION if model is None else 1.0)))


def _cheaper_array(made: Runnable, basis: Basis | None, factors: Factors, request: Request) -> Runnable:
    """The cheaper of a plan and a basis through the whole map, where an array is asked for: its result is written out then."""
    result = made.execution.result
    last = None if result.is_full else written(result, request.model)
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
    """The plan `made`; the best one with a dense result where the result of `made` stores more numbers than its dense form."""
    if made.mode == "by hand" or not is_larger(made.execution.result):
        return made
    hows = {"forward": (PUSH,), "reverse": (PULL,)}.get(made.mode, BOTH)
    basis = written(structure_of(as_they_stand(factors))[0], request.model, hows)
    tried: list[Runnable | None] = [] if basis is None else [through_basis(factors, request, basis.how)]
    if isinstance(made, Bracketing) and made.tree and terms(made.execution.result) <= FEW:
        last = len(factors.parts) + len(made.tree) - 1
        tried += [_of_tree(factors, request, (*made.tree, (last, how))) for how in hows]
    if request.mode == "auto":
        for mode in ("forward", "reverse"):
            with suppress(errors.PlanError):  # it does not fit the memory
                tried.append(of_structure(structure, replace(request, mode=mode)))
    fitting = [other for other in tried if other is not None and not is_larger(other.execution.result)]
    if not fitting:
        return made
    found = min(fitting, key=lambda other: (other.cost.value, other.cost.peak))
    return replace(found, mode=made.mode, stopped=found.stopped or LARGER)


def of_factors(factors: Factors, request: Request) -> Runnable:
    """The plan that is found for a chain of factors: a bracketing, unless "elimination" is asked for.

    A bracketing that is asked for is a tree: see `Request.for_chain`.
    """
    if request.mode == "elimination":
        return _order_of_factors(factors, request)
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


@lru_cache(maxsize=KEPT)
def _order_of_factors(factors: Factors, request: Request) -> EliminationOrder:
    return eliminated(graph_of(factors.parts, factors.slots), factors, request)


@lru_cache(maxsize=KEPT)
def _of_factors(factors: Factors, request: Request) -> Bracketing:
    n = len(factors.parts)
    model, memory, mode, exact = request.model, request.memory, request.mode, False
    if mode == "auto":
        traced, exact = _cheapest(factors, request)
    elif mode in ("forward", "reverse"):
        tree, how = (brackets.forward(n), PUSH) if mode == "forward" else (brackets.reverse(n), PULL)
        traced = _from_one_end(factors, tree, how, request)
    elif isinstance(mode, str):
        raise errors.PlanError(errors.unknown_mode(mode))
    else:
        traced, mode = trace(factors, mode, model), "by hand"
    if memory is not None and traced.peak > memory:
        raise short_of_memory(memory, traced.peak, False)
    if mode == "auto" and model is None and _shares(factors):
        traced, execution, cheapest = _sharing(factors, traced, request)
        exact = exact and cheapest
    else:
        execution = execute(factors, traced)
    exact, stopped = exact or not traced.tree, request.ended if mode == "auto" and not exact else ""
    return Bracketing(chain=factors, execution=execution, tree=traced.tree, mode=mode, exact=exact, stopped=stopped)


def _from_one_end(factors: Factors, tree: brackets.Tree, how: int, request: Request) -> Traced:
    """Forward or reverse; products of too many terms give way to a basis from the same end."""
    try:
        return end(factors, tree, request.model, request.explicit, (how,), allowed(factors))
    except OverBudget:
        basis = through_all(factors, request.model, (how,))
        return basis or end(factors, tree, request.model, request.explicit, (how,))


def _cheapest(factors: Factors, request: Request) -> tuple[Traced, bool]:
    """The best bracketing: that of a chain of the same kinds where it is good enough, else what the search finds."""
    key = (tuple([part.structure.kind for part in factors.parts]), request)
    known = _bracketings.get(key)
    least = bound(factors, request.model)
    if known is not None and least > 0 and request.memory is None and request.effort is None:
        traced = trace(factors, known, request.model)
        if traced.value <= SLACK * least:
            return traced, traced.value <= least
    traced, exact = best(factors, request.model, request.memory, request.budget, request.explicit, request.effort)
    _bracketings[key] = traced.tree
    _bracketings.move_to_end(key)
    while len(_bracketings) > KEPT:
        _bracketings.popitem(last=False)
    return traced, exact or traced.value <= least


def forget() -> None:
    """Forget all that is kept here."""
    of_structure.cache_clear()
    _order_of_factors.cache_clear()
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
