"""`ct.plan`: a plan for a morphism, a linear map, or a list of factors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from catad import errors
from catad.linear.map import LinearMap
from catad.linear.structure import Placed, Structure
from catad.planner.cost import checked_limit, matrix
from catad.planner.factors import Factors, Part, factors_of
from catad.planner.plan import MODES, Plan, Program_, _for, factors_of_maps, plan_factors, spaces_text
from catad.spaces import Product, Space, Tensor, space_of
from catad.terms import D
from catad.wiring import Builder


def plan(
    f_or_chain: Any,
    *primals_or_spaces: Any,
    want: str = "jacobian",
    mode: Any = "auto",
    memory: float | None = None,
    budget: int | None = None,
    cost: str | Callable[[Structure, Structure], float] = "operations",
) -> Plan:
    """In which order to multiply the linear maps of a program or of a chain.

    The first argument is a morphism (the values or the spaces of its arguments follow), a linear map, or a list of
    factors, the first applied first: linear maps, structures, or the sizes (rows, columns) of dense matrices. `want` is
    "jacobian" or "hessian"; `mode` "auto", "forward", "reverse" or a bracketing such as `[[0, 1], 2]`; `memory` limits the
    peak, in bytes; `budget` the number of products that the exact search may look at, beyond which a good plan is taken that
    need not be the best; `cost` is "operations" or a function from two structures to the cost of their product. Nothing is
    computed on data. Raises `PlanError` where a size, a cost, a limit or the bracketing cannot be used, or no plan fits the
    memory.

    Source of the example: "automatic differentiation for accelerate" (Google Summer of Code 2018).

    >>> import catad as ct
    >>> sizes = [(80, 100), (50, 80), (3, 50), (10, 3), (2, 10)]
    >>> [ct.plan(sizes, mode=mode).cost.operations for mode in ("forward", "reverse", "auto")]
    [420000, 24360, 24360]
    >>> ct.plan(ct.sin >> ct.exp, ct.f64[3]).result.kind
    'diagonal'
    """
    checked_limit(memory, "memory")
    checked_limit(budget, "budget")
    if want not in ("jacobian", "hessian"):
        raise errors.PlanError(errors.unknown_want(want))
    if isinstance(mode, str) and mode not in MODES:
        raise errors.PlanError(errors.unknown_mode(mode))
    if cost != "operations" and not callable(cost):
        raise errors.PlanError(errors.unknown_cost(cost))
    function = cost if callable(cost) else None
    if isinstance(f_or_chain, D):
        term = f_or_chain if want == "jacobian" else _gradient(f_or_chain)
        dom = _domain(term, primals_or_spaces)
        structure = _derivative(term, dom)
        made = plan_factors(factors_of(structure), mode, function, memory, budget)
        return _for(made, structure, Program_(term, dom))
    if primals_or_spaces or want != "jacobian":
        raise errors.PlanError(errors.not_for_a_chain(f_or_chain))
    if isinstance(f_or_chain, (LinearMap, Structure)):
        structure = f_or_chain.structure if isinstance(f_or_chain, LinearMap) else f_or_chain
        return _for(plan_factors(factors_of(structure), mode, function, memory, budget), structure, None)
    return plan_factors(_factors(f_or_chain), mode, function, memory, budget)


def _gradient(term: D) -> D:
    from catad.functors import grad

    return grad(term)


def _domain(term: D, primals_or_spaces: Sequence[Any]) -> Space:
    """The space of the point: given by values, or as it is."""
    if not primals_or_spaces:
        raise errors.PlanError(errors.plan_without_point(term))
    spaces = [p if isinstance(p, Space) else space_of(p) for p in primals_or_spaces]
    return spaces[0] if len(spaces) == 1 else Product(tuple(spaces))


def _derivative(term: D, dom: Space) -> Structure:
    """The structure of the derivative at a space, as `linearize` makes it."""
    from catad.functors import fused, linear_graph, straightened

    b = Builder()
    _, network, _ = linear_graph(b, fused(term, dom), [b.wire(space) for space in dom.leaves])
    if not network.dom or not network.cod:
        raise errors.DerivativeError(errors.integers_alone(dom, term))
    return straightened(network)


def _factors(chain: Any) -> Factors:
    """A list of factors of any of the kinds that `plan` takes."""
    if not isinstance(chain, Sequence) or isinstance(chain, (str, bytes)) or not chain:
        raise errors.PlanError(errors.not_plannable(chain))
    if all(isinstance(part, LinearMap) for part in chain):
        return factors_of_maps(chain)[0]
    placed: list[Placed] = []
    start = 0
    for k, part in enumerate(chain):
        if isinstance(part, LinearMap):
            part = part.structure
        elif isinstance(part, Sequence) and not isinstance(part, (str, bytes)):
            part = matrix(part, k)
        elif not isinstance(part, Structure):
            raise errors.PlanError(errors.bad_factor(part, k))
        placed.append((part, tuple(range(start, start + len(part.slots)))))
        start += len(part.slots)
    return chained(placed)


def chained(placed: Sequence[Placed]) -> Factors:
    """Placed maps as factors; neighbours must meet."""
    spaces: dict[int, Tensor] = {}
    for k, (structure, numbers) in enumerate(placed):
        if k and placed[k - 1][0].cod != structure.dom:
            left, right = spaces_text(placed[k - 1][0].cod), spaces_text(structure.dom)
            raise errors.PlanError(errors.factors_do_not_meet(k - 1, left, k, right))
        spaces.update(zip(numbers, structure.slots, strict=True))
    return Factors(tuple([Part(s, own) for s, own in placed]), tuple([spaces[k] for k in range(len(spaces))]))
