"""`Plan`: in which order the linear maps of a chain are multiplied, and what that costs.

Forward mode multiplies from the input end, reverse mode from the output end; a plan may do anything between. It is made on
structures alone, kept, and run as one program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from catad import errors
from catad.engine.program import Program
from catad.linear.map import LinearMap
from catad.linear.structure import Structure
from catad.planner import brackets
from catad.planner.brackets import Tree
from catad.planner.chain import best
from catad.planner.cost import Cost, CostFunction
from catad.planner.execute import Execution, Step, Traced, execute, trace
from catad.planner.factors import Factors, factors_of
from catad.spaces import Space, Value, common_module
from catad.terms import D, above

MODES = ("auto", "forward", "reverse")


@dataclass(frozen=True)
class Program_:
    """The morphism that a plan is for."""

    term: D
    dom: Space


@dataclass(frozen=True, repr=False)
class Plan:
    """A bracketing of a chain of linear maps, with its cost; made by `ct.plan`, `plan_structure` or `Plan.from_json`.

    `mode` is "auto", "forward", "reverse" or "by hand"; `exact` says whether the plan is known to be the cheapest.

    >>> import catad as ct
    >>> plan = ct.plan([(80, 100), (50, 80), (3, 50), (10, 3), (2, 10)])
    >>> plan.cost.operations, plan.bracketing
    (24360, (0, (1, (2, (3, 4)))))
    """

    chain: Factors
    mode: str
    execution: Execution
    exact: bool
    structure: Structure | None = None  # what was planned, where it was one linear map
    program: Program_ | None = None
    function: CostFunction | None = None
    _made: dict[str, Any] = field(default_factory=dict, compare=False, hash=False)

    @property
    def bracketing(self) -> Any:
        """Nested pairs of factor numbers; factor 0 is applied first."""
        return brackets.nested(len(self.chain.parts), self.tree)

    @property
    def tree(self) -> Tree:
        """The bracketing kept flat, in the order of execution: see `catad.planner.brackets`."""
        return self.execution.tree

    @property
    def cost(self) -> Cost:
        """Operations, bytes read and written, and peak bytes of slots alive."""
        return self.execution.cost

    @property
    def factors(self) -> tuple[Structure, ...]:
        """The structures of the factors, the first applied first."""
        return tuple([part.structure for part in self.chain.parts])

    @property
    def result(self) -> Structure:
        """The structure of the product."""
        return self.execution.result

    @property
    def steps(self) -> tuple[Step, ...]:
        """The products in the order in which they are carried out."""
        return self.execution.steps

    # -- running

    def multiply(self, linear: LinearMap | Sequence[LinearMap]) -> LinearMap:
        """The linear map (or list of factors) multiplied out as planned, by one program.

        Raises `PlanError` where its structure is not the one that was planned.
        """
        if not isinstance(linear, LinearMap):
            return self._multiply_all(linear)
        if self.structure is None or linear.structure != self.structure:
            found = factors_of(linear.structure)
            if found != self.chain:
                raise errors.PlanError(errors.other_program(_mismatch(self.chain, found)))
        return self._run(linear.dom, linear.cod, linear.slots)

    def _multiply_all(self, maps: Sequence[LinearMap]) -> LinearMap:
        found, slots = factors_of_maps(maps)
        if found != self.chain:
            raise errors.PlanError(errors.other_program(_mismatch(self.chain, found)))
        return self._run(maps[0].dom, maps[-1].cod, slots)

    def _run(self, dom: Space, cod: Space, slots: Sequence[Any]) -> LinearMap:
        wiring = self.execution.wiring
        used = [slots[k] for k in range(len(self.chain.slots))] if slots else []
        if not wiring.outputs:
            return LinearMap(dom, cod, self.result, ())
        if not wiring.boxes:
            at = dict(zip(wiring.inputs, used, strict=True))
            return LinearMap(dom, cod, self.result, [at[k] for k in wiring.outputs])
        program = self._made.get("program")
        if program is None:
            program = self._made["program"] = Program(wiring)
        return LinearMap(dom, cod, self.result, program(common_module(used), used))

    def run(self, *primals: Value) -> LinearMap:
        """The derivative at a point of the morphism that was planned, multiplied out as planned."""
        if self.program is None:
            raise errors.PlanError(errors.plan_without_morphism())
        _, linear = above().linearize(self.program.term, *primals)
        return self.multiply(linear)

    def edited(self, bracketing: Any) -> Plan:
        """The plan with another bracketing: nested pairs of factor numbers, `[[0, 1], 2]`, or the name of a mode."""
        made = plan_factors(self.chain, bracketing, self.function)
        return _for(made, self.structure, self.program)

    # -- reports

    def table(self) -> str:
        """The plan beside forward and reverse: operations, bytes, peak; then one line for each step."""
        from catad.planner.report import table

        return table(self)

    def explain(self) -> str:
        """One line on the plan and its rivals, then the steps."""
        from catad.planner.report import explain

        return explain(self)

    def why(self, step: int) -> str:
        """The splits that step `step` (counted from 0) rejected, with what they would have cost."""
        from catad.planner.why import why

        return why(self, step)

    def alternatives(self) -> list[tuple[Any, Cost]]:
        """Every bracketing with its cost, cheapest first; there are Catalan(n - 1), so for at most 10 factors."""
        from catad.planner.why import alternatives

        return alternatives(self)

    def draw(self) -> str:
        """The bracketing as a tree, SVG text."""
        from catad.planner.drawing import draw

        return draw(self)

    def _repr_svg_(self) -> str:
        return self.draw()

    def __repr__(self) -> str:
        from catad.planner.report import headline

        return f"<plan {headline(self)}>"

    def to_json(self) -> str:
        """The plan as JSON text; its "bracketing" may be edited and given back to `Plan.from_json`."""
        from catad.planner.exchange import to_json

        return to_json(self)

    @staticmethod
    def from_json(text: str, program: Any, *primals_or_spaces: Any) -> Plan:
        """A plan from JSON text, checked against the program it is for.

        `program` is another plan for it, or what `ct.plan` takes: a morphism (with values or spaces of the point), a linear
        map, a list of factors. Raises `PlanError`, naming the place, where the text is no plan or is for something else.
        """
        from catad.planner.exchange import from_json

        return from_json(text, program, *primals_or_spaces)


def plan_structure(structure: Structure, mode: Any = "auto") -> Plan:
    """The plan for a structure: a chain, a network (by its stages), or a single map, whose plan has no step.

    `mode` is "auto", "forward", "reverse" or a bracketing. Kept by structure and mode.
    """
    if not isinstance(mode, str):
        mode = brackets.read(mode, len(factors_of(structure).parts))
    return _plan_structure(structure, mode)


@lru_cache(maxsize=1024)
def _plan_structure(structure: Structure, mode: str | Tree) -> Plan:
    return _for(_plan_factors(factors_of(structure), mode, None, None, None), structure, None)


def plan_factors(
    factors: Factors,
    mode: Any = "auto",
    function: CostFunction | None = None,
    memory: float | None = None,
    budget: int | None = None,
) -> Plan:
    """The plan for a chain of factors, kept by all that it depends on."""
    if not isinstance(mode, str):
        mode = brackets.read(mode, len(factors.parts))
    return _plan_factors(factors, mode, function, memory, budget)


@lru_cache(maxsize=1024)
def _plan_factors(
    factors: Factors, mode: str | Tree, function: CostFunction | None, memory: float | None, budget: int | None
) -> Plan:
    n = len(factors.parts)
    exact = False
    if mode == "auto":
        traced, exact = best(factors, function, memory, budget)
    elif mode in ("forward", "reverse"):
        traced = trace(factors, brackets.forward(n) if mode == "forward" else brackets.reverse(n), function)
    elif isinstance(mode, str):
        raise errors.PlanError(errors.unknown_mode(mode))
    else:
        traced, mode = trace(factors, mode, function), "by hand"
    if memory is not None and traced.peak > memory:
        raise errors.PlanError(errors.too_little_memory(memory, traced.peak, False))
    execution = execute(factors, traced)
    if mode == "auto" and function is None and _shares(factors):
        execution, cheapest = _sharing(factors, execution, memory)
        exact = exact and cheapest
    return Plan(factors, mode, execution, exact or n <= 2, None, None, function)


def _shares(factors: Factors) -> bool:
    """Whether some array stands in two factors, so that products of both may be equal and then are computed once."""
    used = [k for part in factors.parts for k in set(part.ids)]
    return len(used) > len(set(used))


def _sharing(factors: Factors, chosen: Execution, memory: float | None) -> tuple[Execution, bool]:
    """The least by operations really executed, of the chosen one and the usual rivals; the search counts each step alone."""
    n = len(factors.parts)
    traced: list[Traced] = [trace(factors, make(n)) for make in (brackets.forward, brackets.reverse, brackets.balanced)]
    rivals = [execute(factors, t) for t in traced if memory is None or t.peak <= memory]
    least = min([chosen, *rivals], key=lambda e: (e.cost.operations, e.cost.peak))
    return least, all(e.additive for e in (chosen, *rivals))


def _for(plan: Plan, structure: Structure | None, program: Program_ | None) -> Plan:
    """The plan, for a linear map of a given structure or for a morphism; its program is shared."""
    from dataclasses import replace

    return replace(plan, structure=structure, program=program, _made=plan._made)


def factors_of_maps(maps: Sequence[LinearMap]) -> tuple[Factors, list[Any]]:
    """A list of linear maps as factors, the first applied first, and the arrays of their slots, equal ones once."""
    from catad.planner.entry import chained

    arrays: list[Any] = []
    number: dict[int, int] = {}
    placed = []
    for linear in maps:
        ids = []
        for slot in linear.slots:
            if id(slot) not in number:
                number[id(slot)] = len(arrays)
                arrays.append(slot)
            ids.append(number[id(slot)])
        placed.append((linear.structure, tuple(ids)))
    return chained(placed), arrays


def _mismatch(planned: Factors, found: Factors) -> str:
    """Where two chains differ, for a message."""
    if len(planned.parts) != len(found.parts):
        return f"it has {len(found.parts)} factors, the plan {len(planned.parts)}"
    for k, (a, c) in enumerate(zip(planned.parts, found.parts, strict=True)):
        if a.structure != c.structure:
            return f"factor {k} is {described(c.structure)}, in the plan {described(a.structure)}"
    return "its factors share arrays in another way"


def described(structure: Structure) -> str:
    """Kind and spaces of a factor."""
    return f"{errors.abbreviated(_Name(structure.kind), 60)} {spaces_text(structure.dom)} -> {spaces_text(structure.cod)}"


class _Name(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def spaces_text(leaves: Sequence[Any]) -> str:
    """The spaces of some leaves, briefly."""
    text = " * ".join([repr(leaf).replace("ct.", "") for leaf in leaves])
    return text if len(text) <= 60 else f"{len(leaves)} arrays, {sum(leaf.size for leaf in leaves)} numbers"
