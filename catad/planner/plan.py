"""`ct.plan`, and `ct.Plan`: in which order the linear maps of a program or of a chain are multiplied, and what that costs.

Forward mode multiplies from the input end, reverse mode from the output end; a plan may do anything between. It is made on
structures alone, kept, and run as one program. Its strategy (`catad.planner.strategy`) has the steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from catad import errors, upward
from catad.category.cache import cached
from catad.category.spaces import Space, Value
from catad.category.terms import D, MorphismLike, morphism
from catad.category.wiring import Wiring
from catad.derivative.grad import grad
from catad.errors.traceback_filtering import boundary
from catad.linear.map import LinearMap, linear_map
from catad.linear.structure import Structure
from catad.planner.chains import cache
from catad.planner.chains.bracketing import Bracketing
from catad.planner.chains.factors import Factors, difference, factors_of
from catad.planner.costs.cost import Cost, least_of
from catad.planner.costs.sizes import LaidOut, Sizes
from catad.planner.memory.memory_limit import Counted, gradient_map, is_limited, within
from catad.planner.memory.recompute import fitting, with_checkpoints
from catad.planner.memory.schedule import Runs
from catad.planner.memory.stages import staged
from catad.planner.planned_program import Origin, derivative, factors_of_list, factors_of_maps, origin_of, subject_at
from catad.planner.reports import exchange
from catad.planner.reports.of_plan import Reports
from catad.planner.request import WANTS, CostGiven, Mode, Nested, Request, Result, Want, checked
from catad.planner.strategy import Runnable, Step, Strategy, with_peak
from catad.support.lru import remembered
from catad.support.progress import watched
from catad.values.arrays import common_module
from catad.vector.loops.snapshots import Rooms


class PlannedMorphism(NamedTuple):
    """The morphism that a plan is for."""

    term: D  # whose derivative is planned: `source` with the boxes of `recomputed` as checkpoints, and its loops in `rooms`
    dom: Space
    source: D  # what was given, for a Hessian its gradient
    want: Want
    recomputed: Runs = ()
    rooms: Rooms = ()  # of its loops, where they were planned


@dataclass(frozen=True, repr=False)
class Plan(Reports):
    """The steps that give a Jacobian, with their cost; made by `ct.plan`, `ct.plan_graph` and `ct.plan_chain`.

    `strategy` has the steps: it brackets a chain of maps, or eliminates the vertices of a graph in an order (`kind` is
    "bracketing", "order" or "steps"). `request` has the arguments of `ct.plan`.

    >>> import catad as ct
    >>> plan = ct.plan([(80, 100), (50, 80), (3, 50), (10, 3), (2, 10)])
    >>> plan.cost.operations, plan.bracketing
    (24360, (0, (1, (2, (3, 4)))))

    >>> import numpy as np
    >>> matrix = lambda m, n: ct.fork(ct.const(np.ones((m, n))), ct.id) >> ct.einsum("ij,j->i")
    >>> f = ct.cross(matrix(9, 2) >> ct.tanh >> matrix(8, 9), matrix(7, 6) >> ct.tanh >> matrix(2, 7))
    >>> plan = ct.plan(f, ct.f64[2], ct.f64[6], cost="operations")
    >>> plan.order
    (2, 3, 5, 4)
    >>> [plan.edited(other).cost.operations for other in (plan.order, "auto", "forward", "reverse")]
    [260, 288, 288, 314]
    """

    strategy: Strategy
    request: Request
    structure: Structure | None = None  # what was planned, where it was one linear map
    program: PlannedMorphism | None = None
    origin: Origin | None = field(default=None, compare=False)

    # -- what is done

    @property
    def recomputes(self) -> bool:
        """True where parts of the program compute their coefficients again instead of keeping them."""
        own = self.program
        return own is not None and bool(own.recomputed or any(room is not None for room in own.rooms))

    @property
    def runs_alone(self) -> bool:
        """True where the plan runs a program of its own: it recomputes, or is a gradient within a limit of memory."""
        return self.recomputes or self._is_gradient

    @property
    def kind(self) -> Literal["bracketing", "order", "steps"]:
        """The kind of strategy: a bracketing of a chain, an order of vertices of a graph, or a way for each part of a chain."""
        return self.strategy.kind

    @property
    def mode(self) -> str:
        """The way in which the strategy was chosen: "auto", "forward", "reverse", "elimination" or "by hand"."""
        return self.strategy.mode

    @property
    def exact(self) -> bool:
        """True where the plan is known to be the cheapest; `reservations` has what is not known then."""
        return self.strategy.exact

    @property
    def reservations(self) -> tuple[str, ...]:
        """What an exact plan is not known to beat: products are counted once each though some are equal, or other bracketings.

        >>> import catad as ct
        >>> ct.plan([(80, 100), (50, 80), (3, 50)]).reservations
        ()
        """
        return self.strategy.but if self.exact else ()

    @property
    def bound(self) -> float:
        """A lower bound on the cost of all orders; 0 where nothing is known."""
        return self.strategy.bound

    @property
    def gap(self) -> float:
        """The part of the cost by which another plan could be cheaper at most; 1 where nothing is known."""
        return 0.0 if self.exact or not self.cost.value else 1 - self.bound / self.cost.value

    @property
    def cost(self) -> Cost:
        """Operations, bytes read and written, peak bytes of slots alive, and what was made small."""
        return self.strategy.cost

    @property
    def steps(self) -> Sequence[Step]:
        """The steps, in order; each step has its `operations` and a `line` of text."""
        return self.strategy.steps

    @property
    def rows(self) -> Mapping[str, Cost]:
        """The costs of the plan and of its rivals, forward and reverse mode among them.

        >>> import catad as ct
        >>> {name: cost.operations for name, cost in ct.plan([(80, 100), (50, 80), (3, 50)]).rows.items()}
        {'planned': 36000, 'forward': 415000, 'reverse': 36000}
        """
        rivals = self.strategy.rivals()
        if rivals is None:
            rivals = {mode: self.edited(mode).cost for mode in ("forward", "reverse")}
        return {"planned": self.cost, **rivals}

    @property
    def bracketing(self) -> Any:
        """Nested pairs of factor numbers; factor 0 is applied first; `("push", k)` is factor k written out."""
        return self._choice("bracketing")

    @property
    def order(self) -> tuple[Any, ...]:
        """The vertices in the order in which they go; `("push", p, s)` is the map from p to s written out."""
        found: tuple[Any, ...] = self._choice("order")
        return found

    def _choice(self, kind: str) -> Any:
        if self.kind != kind:
            raise errors.PlanError(errors.other_kind_of_plan(kind, self.kind))
        return self.strategy.choice

    @property
    def _multiplied(self) -> Runnable:
        """The strategy, where it is one that can run."""
        if not isinstance(self.strategy, Runnable):
            raise errors.PlanError(errors.plan_of_sizes(self.strategy.subject))
        return self.strategy

    @property
    def chain(self) -> Factors:
        """The factors with the numbers of their arrays."""
        return self._multiplied.chain

    @property
    def factors(self) -> tuple[Structure, ...]:
        """The structures of the factors, the first applied first."""
        return self._multiplied.factors

    @property
    def wiring(self) -> Wiring:
        """The boxes that multiply as planned, from the arrays of the chain to those of the product."""
        return self._multiplied.execution.wiring

    @property
    def result(self) -> Structure:
        """The structure of the product."""
        return self._multiplied.execution.result

    # -- running

    def multiply(self, linear: LinearMap | Sequence[LinearMap]) -> LinearMap:
        """The linear map (or list of factors) multiplied out as planned, by one program.

        Raises `PlanError` where its structure is not the one that was planned.
        """
        if isinstance(linear, LinearMap):
            if self.structure is None or linear.structure != self.structure:
                self._check(factors_of(linear.structure))
            return self.run_on(linear.dom, linear.cod, linear.slots)
        found, slots = factors_of_maps(linear)
        self._check(found)
        return self.run_on(linear[0].dom, linear[-1].cod, slots)

    def _check(self, found: Factors) -> None:
        if found != self.chain:
            raise errors.PlanError(errors.other_program(difference(self.chain, found)))

    def run_on(self, dom: Space, cod: Space, slots: Sequence[Any]) -> LinearMap:
        """The product between two spaces, from the arrays of the chain's slots, in the order of `chain.slots`."""
        execution = self._multiplied.execution
        wiring = execution.wiring
        used = [slots[k] for k in range(len(self.chain.slots))] if slots else []
        if not wiring.outputs:
            return linear_map(dom, cod, execution.result, ())
        if not wiring.boxes:
            at = dict(zip(wiring.inputs, used, strict=True))
            return linear_map(dom, cod, execution.result, [at[k] for k in wiring.outputs])
        return linear_map(dom, cod, execution.result, execution.program.inside(common_module(used), used))

    def run(self, *primals: Value) -> LinearMap:
        """The derivative at a point of the morphism that was planned, multiplied out as planned."""
        if self.program is None:
            raise errors.PlanError(errors.plan_without_morphism())
        if self._is_gradient:
            return gradient_map(self.program.term, primals)
        _, linear = upward.linearize(self.program.term, *primals)
        return self.multiply(linear)

    @property
    def _is_gradient(self) -> bool:
        own = self.program
        return own is not None and own.want == "jacobian" and is_limited(own.source, own.dom, self.request)

    def run_as(self, f: D, *primals: Value) -> LinearMap:
        """Runs as `run`, for a plan that runs alone: its program must be `f` but for checkpoints."""
        at = subject_at(f, primals)
        if self.program is None or self.program.source not in (f, at[0], staged(*at)):
            raise errors.PlanError(errors.other_program("it recomputes parts of another program"))
        return self.run(*primals)

    # -- editing

    def edited(self, choice: Any) -> Plan:
        """The plan with another choice, or the name of a mode; limits are not asked for again.

        A bracketing is nested pairs of factor numbers, `[[0, 1], 2]`; `["push", 1]` in place of 1 writes factor 1 out by pushing
        a basis through it, `["pull", 1]` by pulling one back. An order is a flat list that names every inner vertex once;
        `["push", p, s]` between vertices writes out the map from p to s. Raises `PlanError` naming the place of what is neither.
        """
        request = replace(self.request.at(self.structure), mode=choice, memory=None)
        found = self.strategy.edited(choice, request)
        if found is None and isinstance(choice, str) and choice == "elimination":
            found = cache.order_of(self.structure, self.chain, request)
        if found is None:
            found = cache.of_factors(self.chain, request.for_chain(len(self.factors)))
        known = replace(found, exact=False) if self.recomputes else found
        return replace(self, strategy=known, request=replace(self.request, mode="auto", memory=None))

    def to_json(self) -> str:
        """The plan as JSON text; its "bracketing", or its "order", may be edited and given back to `Plan.from_json`."""
        return exchange.to_json(self)

    @staticmethod
    def from_json(text: str, program: Any, *primals_or_spaces: Any, cost: CostGiven | None = None) -> Plan:
        """A plan from JSON text, checked against what it is for.

        `program` is another plan for it, or what was planned: a morphism (with values or spaces of the point), a linear map, a
        list of factors, a `ct.Graph`, the sizes of `ct.plan_chain`. The text says what else was asked for: the derivative,
        limits, parts that are recomputed, and the cost. `cost` takes the place of the cost in the text; it is needed where that
        is a profile or a function, unless `program` is a plan by such a cost. Raises `PlanError`, naming the place, where the
        text is no plan or is for something else.

        >>> import catad as ct
        >>> f = ct.exp >> ct.sum()
        >>> text = ct.plan(f, ct.f64[5], want="hessian", cost="operations").to_json()
        >>> ct.Plan.from_json(text, f, ct.f64[5])
        <plan R^5 -> R^5, 2 factors: 5 operations, optimal>
        """
        from catad.planner.from_text import plan_of

        return plan_of(text, program, primals_or_spaces, cost)

    # -- reports

    def why(self, step: int) -> str:
        """The choices that step `step` (counted from 0) rejected, with the cost of each."""
        if isinstance(step, bool) or not isinstance(step, int) or not 0 <= step < len(self.steps):
            raise errors.PlanError(errors.no_such_step(step, len(self.steps)))
        return self.strategy.why(step, self.request.at(self.structure))

    def alternatives(self) -> list[tuple[Any, Cost]]:
        """Every bracketing with its cost, cheapest first; there are Catalan(n - 1), so for at most 10 factors."""
        if not isinstance(self.strategy, Bracketing):
            raise errors.PlanError(errors.other_kind_of_plan("bracketing", self.kind))
        return self.strategy.alternatives(self.request.at(self.structure).model)


@boundary
def plan(
    f_or_chain: MorphismLike | LinearMap | Structure | Sequence[LinearMap | Structure | tuple[int, int]],
    *primals_or_spaces: Any,
    want: Want = "jacobian",
    mode: Mode | Nested = "auto",
    memory: float | None = None,
    budget: int | None = None,
    cost: CostGiven | None = None,
    explicit: bool = False,
    result: Result = "structured",
) -> Plan:
    """The order in which to multiply the linear maps of a program or of a chain.

    The first argument is a morphism (the values or the spaces of its arguments follow), a linear map, or a list of factors,
    the first applied first: linear maps, structures, or the sizes (rows, columns) of dense matrices. `want` is "jacobian" or
    "hessian"; `mode` "auto", "forward", "reverse", a bracketing such as `[[0, 1], 2]`, or "elimination". A program with
    forks is either a chain of stages with a bracketing, or a linear graph whose vertices are eliminated; "auto" takes the
    cheaper plan, "elimination" the cheapest order. `memory` limits the peak, in bytes; where no plan fits, parts of a
    program recompute their coefficients instead of keeping them. `budget` limits the number of products that each of both
    searches may examine; beyond it the plan is good, but need not be the best. A matrix-free map stays a factor where no
    dense map meets it. With `explicit` the plan writes it out, by pushing or pulling a basis, compressed where the pattern
    of its entries is known. `result` is the form in which the map is wanted, as for `ct.jacobian`: for "array", the plan counts
    what writing the array out takes; for "sparse", it leaves no matrix-free map.

    The plan minimises `cost`: "operations" (multiply-adds, the same everywhere); "time", seconds by the cost profile of the
    engine in force, which is measured once and kept in the user's cache folder; a `CostProfile`; or a function from two
    structures to the cost of their product, a number at least 0. The default is "time" for a morphism or a linear map, and
    "operations" for a list of factors. Planning computes nothing on data. Plans are cached by all arguments. Raises
    `PlanError` where a size, a cost, a limit or the bracketing cannot be used, or no plan fits the memory.

    Source of the example: "automatic differentiation for accelerate" (Google Summer of Code 2018).

    >>> import catad as ct
    >>> sizes = [(80, 100), (50, 80), (3, 50), (10, 3), (2, 10)]
    >>> [ct.plan(sizes, mode=mode).cost.operations for mode in ("forward", "reverse", "auto")]
    [420000, 24360, 24360]
    >>> ct.plan(ct.sin >> ct.exp, ct.f64[3]).result.kind
    'diagonal'
    """
    if callable(f_or_chain) and not isinstance(f_or_chain, LinearMap):
        f_or_chain = morphism(f_or_chain, "ct.plan")
    runs = isinstance(f_or_chain, (D, LinearMap))
    minimised: CostGiven = cost if cost is not None else "time" if runs else "operations"
    request = checked(mode, minimised, memory, budget, explicit, result=result)
    if want not in WANTS:
        raise errors.PlanError(errors.unknown_want(want))
    if isinstance(f_or_chain, D):
        with watched("planning"):
            return _of_program(f_or_chain, primals_or_spaces, want, request)
    if primals_or_spaces or want != "jacobian":
        raise errors.PlanError(errors.not_for_a_chain(f_or_chain))
    if isinstance(f_or_chain, (LinearMap, Structure)):
        structure = f_or_chain.structure if isinstance(f_or_chain, LinearMap) else f_or_chain
        with watched("planning"):
            return plan_structure(structure, request)
    factors = factors_of_list(f_or_chain)
    with watched("planning"):
        return plan_factors(factors, request.for_chain(len(factors.parts)))


def _of_program(given: D, primals_or_spaces: Sequence[Any], want: Want, request: Request) -> Plan:
    """The plan for a morphism at a space, kept with it."""
    f, dom = subject_at(given, primals_or_spaces)

    def made() -> Plan:
        source = source_of(f, dom, want, request)
        if want == "jacobian" and is_limited(source, dom, request):
            return planned_gradient(source, dom, request, within(source, dom, request.memory or 0, request.model))
        try:
            found = planned(source, dom, want, request)
        except errors.PlanError as error:
            if least_of(error) is None or request.mode != "auto":
                raise
            return fitting(source, dom, request, lambda runs: planned(source, dom, want, request, runs), error)
        assert found.structure is not None
        own = given if want == "jacobian" else grad(given)
        sizes_of(own, None, request).note(dom, found.structure, request, found._multiplied)
        return replace(found, origin=origin)

    origin = origin_of(given, primals_or_spaces, dom, want == "hessian")
    key = ("plan", origin.form, dom, want, request)
    try:
        hash(key)
    except TypeError:  # a bracketing as lists
        return made()
    return cached(given, key, made)


def source_of(f: D, dom: Space, want: Want, request: Request) -> D:
    """The program whose derivative is planned; for a limit of memory in parts, of which some may be computed again."""
    source = f if want == "jacobian" else grad(f)
    return source if request.memory is None else staged(source, dom)


def planned(source: D, dom: Space, want: Want, request: Request, runs: Runs = (), rooms: Rooms = ()) -> Plan:
    """The plan for the derivative of a term; one that recomputes something is not known to be the best."""
    term = with_checkpoints(source, runs, dom, rooms) if runs or rooms else source
    made = plan_structure(derivative(term, dom), request)
    made = replace(made, program=PlannedMorphism(term, dom, source, want, runs, rooms))
    return replace(made, strategy=replace(made.strategy, exact=False)) if made.recomputes else made


def planned_gradient(source: D, dom: Space, request: Request, found: Counted) -> Plan:
    """The plan for a gradient within a limit of memory: its peak is that of value and pullback."""
    made = planned(source, dom, "jacobian", replace(request, memory=None), found.runs, found.rooms)
    return replace(made, strategy=with_peak(made._multiplied, found.peak), request=replace(made.request, memory=request.memory))


def sizes_of(f: D, by: tuple[int, ...] | None, request: Request) -> Sizes:
    """What is known of the derivative of a term by the leaves `by` (None: all) at other sizes."""
    return cached(f, ("sizes", by, request), Sizes)


def plan_at(sizes: Sizes, dom: Space, structure: Structure, request: Request, lay_out: LaidOut) -> Plan:
    """The plan for a structure, by what is known of other sizes; see `catad.planner.costs.sizes`."""
    return Plan(sizes.plan_at(dom, structure, request, lay_out), replace(request, mode="auto"), structure)


def plan_structure(structure: Structure, request: Request) -> Plan:
    """The plan for a structure: a chain, a network (by its stages, or its graph), or a single map, whose plan has no step."""
    if not isinstance(request.mode, str):
        request = request.for_chain(len(factors_of(structure).parts))
    return _plan_structure(structure, request)


@remembered
def _plan_structure(structure: Structure, request: Request) -> Plan:
    return Plan(cache.of_structure(structure, request), replace(request, mode="auto"), structure)


@remembered
def plan_factors(factors: Factors, request: Request) -> Plan:
    return Plan(cache.of_factors(factors, request), replace(request, mode="auto"))


def forget() -> None:
    """Forget all plans that are kept."""
    _plan_structure.cache_clear()
    plan_factors.cache_clear()
    cache.forget()
