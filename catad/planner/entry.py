"""`ct.plan`: a plan for a morphism, a linear map, or a list of factors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal

from catad import errors
from catad.kept import keep
from catad.linear.map import LinearMap
from catad.linear.structure import Placed, Structure
from catad.planner.cost import least_of, matrix
from catad.planner.factors import Factors, Part
from catad.planner.keep import plan_factors, plan_structure
from catad.planner.plan import Plan, Program_, factors_of_maps, spaces_text
from catad.planner.profile import Profile
from catad.planner.recompute import fitting
from catad.planner.request import Bracketing, Mode, Request, checked
from catad.spaces import Product, Space, Tensor, space_of
from catad.terms import D, morphism
from catad.wiring import Builder


def plan(
    f_or_chain: D | LinearMap | Sequence[LinearMap | Structure | tuple[int, int]],
    *primals_or_spaces: Any,
    want: Literal["jacobian", "hessian"] = "jacobian",
    mode: Mode | Bracketing = "auto",
    memory: float | None = None,
    budget: int | None = None,
    cost: Literal["operations", "time"] | Profile | Callable[[Structure, Structure], float] | None = None,
    explicit: bool = False,
) -> Plan:
    """In which order to multiply the linear maps of a program or of a chain.

    The first argument is a morphism (the values or the spaces of its arguments follow), a linear map, or a list of
    factors, the first applied first: linear maps, structures, or the sizes (rows, columns) of dense matrices. `want` is
    "jacobian" or "hessian"; `mode` "auto", "forward", "reverse", a bracketing such as `[[0, 1], 2]`, or "elimination". A program
    with forks is a chain of stages to be bracketed, or a linear graph whose vertices are to be eliminated; "auto" takes what is
    cheaper, "elimination" the cheapest order that is found. `memory` limits the peak, in bytes (where nothing fits, parts of a
    program recompute their coefficients instead of keeping them); `budget` the number of products that each of both searches may
    look at, beyond which a good plan is taken that need not be the best. What is known only by its application stays unmultiplied
    where nothing dense meets it; with `explicit` it is written out, by pushing or pulling a basis, compressed where the pattern
    of its entries is known.

    `cost` says what is made small: "operations" (multiply-adds, the same everywhere); "time", seconds by the profile of the
    engine in force, which is measured once and kept in the user's cache folder; a `Profile`; or a function from two structures
    to the cost of their product, a number at least 0. By default it is "time" for what can be run, a morphism or a linear map,
    and "operations" for a list of factors. Nothing is computed on data. Plans are kept by all of this. Raises `PlanError` where
    a size, a cost, a limit or the bracketing cannot be used, or no plan fits the memory.

    Source of the example: "automatic differentiation for accelerate" (Google Summer of Code 2018).

    >>> import catad as ct
    >>> sizes = [(80, 100), (50, 80), (3, 50), (10, 3), (2, 10)]
    >>> [ct.plan(sizes, mode=mode).cost.operations for mode in ("forward", "reverse", "auto")]
    [420000, 24360, 24360]
    >>> ct.plan(ct.sin >> ct.exp, ct.f64[3]).result.kind
    'diagonal'
    """
    runs = isinstance(f_or_chain, (D, LinearMap))
    if callable(f_or_chain) and not runs:
        morphism(f_or_chain, "ct.plan")
    request = checked(mode, cost if cost is not None else "time" if runs else "operations", memory, budget, explicit)
    if want not in ("jacobian", "hessian"):
        raise errors.PlanError(errors.unknown_want(want))
    if isinstance(f_or_chain, D):
        return _of_program(f_or_chain, primals_or_spaces, want, request)
    if primals_or_spaces or want != "jacobian":
        raise errors.PlanError(errors.not_for_a_chain(f_or_chain))
    if isinstance(f_or_chain, (LinearMap, Structure)):
        structure = f_or_chain.structure if isinstance(f_or_chain, LinearMap) else f_or_chain
        return plan_structure(structure, request=request)
    return plan_factors(_factors(f_or_chain), request)


def _of_program(f: D, primals_or_spaces: Sequence[Any], want: str, request: Request) -> Plan:
    """The plan for a morphism at a space, kept with it."""
    dom = _domain(f, primals_or_spaces)

    def made() -> Plan:
        term = f if want == "jacobian" else _gradient(f)
        try:
            return _planned(term, dom, request)
        except errors.PlanError as error:
            if least_of(error) is None or request.mode != "auto":
                raise
            return fitting(term, dom, request, lambda other: _planned(other, dom, request, exact=False), error)

    key = ("plan", dom, want, request)
    try:
        hash(key)
    except TypeError:  # a bracketing as lists
        return made()
    return keep(f, key, made)


def _planned(term: D, dom: Space, request: Request, exact: bool = True) -> Plan:
    """The plan for the derivative of a term; one that is not the program itself is not known to be the best."""
    structure = _derivative(term, dom)
    made = plan_structure(structure, request=request).made_for(structure, Program_(term, dom))
    return made if exact else replace(made, exact=False, recomputes=True)


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
    if type(chain[0]) is tuple:
        try:
            return _of_sizes(tuple(chain))  # of which equal ones are known
        except TypeError:  # not hashable
            return _of_any(chain)
    if all(isinstance(part, LinearMap) for part in chain):
        return factors_of_maps(chain)[0]
    return _of_any(chain)


@lru_cache(maxsize=1024)
def _of_sizes(chain: tuple[Any, ...]) -> Factors:
    return _of_any(chain)


def _of_any(chain: Sequence[Any]) -> Factors:
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
