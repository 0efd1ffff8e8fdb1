"""`Plan`: in which order the linear maps of a chain are multiplied, and what that costs.

Forward mode multiplies from the input end, reverse mode from the output end; a plan may do anything between. It is made on
structures alone, kept, and run as one program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from catad import errors
from catad.arrays import common_module
from catad.engine.program import Program
from catad.linear.map import LinearMap, linear_map
from catad.linear.structure import Structure
from catad.planner import brackets
from catad.planner.brackets import Tree
from catad.planner.cost import Cost
from catad.planner.execute import Execution, Step
from catad.planner.factors import Factors, factors_of
from catad.planner.request import Request
from catad.spaces import Space, Value
from catad.terms import D, above

if TYPE_CHECKING:
    from catad.planner.network.plan import EliminationPlan


@dataclass(frozen=True)
class Program_:
    """The morphism that a plan is for."""

    term: D
    dom: Space


@dataclass(frozen=True, repr=False)
class Plan:
    """A bracketing of a chain of linear maps, with its cost; made by `ct.plan`, `plan_structure` or `Plan.from_json`.

    `mode` is "auto", "forward", "reverse" or "by hand"; `exact` says whether the plan is known to be the cheapest; `request` is
    what was asked for.

    >>> import catad as ct
    >>> plan = ct.plan([(80, 100), (50, 80), (3, 50), (10, 3), (2, 10)])
    >>> plan.cost.operations, plan.bracketing
    (24360, (0, (1, (2, (3, 4)))))
    """

    chain: Factors
    mode: str
    execution: Execution
    exact: bool
    request: Request
    structure: Structure | None = None  # what was planned, where it was one linear map
    program: Program_ | None = None
    recomputes: bool = False  # `program` is not the one that was given: parts of it are checkpoints
    _made: dict[str, Any] = field(default_factory=dict, compare=False, hash=False)

    @property
    def bracketing(self) -> Any:
        """Nested pairs of factor numbers; factor 0 is applied first; `("push", k)` is factor k written out."""
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

    def __getstate__(self) -> dict[str, Any]:
        """What pickle keeps: all but the program, which is made again."""
        return {**vars(self), "_made": {}}

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
        return self.run_on(linear.dom, linear.cod, linear.slots)

    def _multiply_all(self, maps: Sequence[LinearMap]) -> LinearMap:
        found, slots = factors_of_maps(maps)
        if found != self.chain:
            raise errors.PlanError(errors.other_program(_mismatch(self.chain, found)))
        return self.run_on(maps[0].dom, maps[-1].cod, slots)

    def run_on(self, dom: Space, cod: Space, slots: Sequence[Any]) -> LinearMap:
        """The product between two spaces, from the arrays of the chain's slots, in the order of `chain.slots`."""
        wiring = self.execution.wiring
        used = [slots[k] for k in range(len(self.chain.slots))] if slots else []
        if not wiring.outputs:
            return linear_map(dom, cod, self.result, ())
        if not wiring.boxes:
            at = dict(zip(wiring.inputs, used, strict=True))
            return linear_map(dom, cod, self.result, [at[k] for k in wiring.outputs])
        program = self._made.get("program")
        if program is None:
            program = self._made["program"] = Program(wiring)
        return linear_map(dom, cod, self.result, program.inside(common_module(used), used))

    def run(self, *primals: Value) -> LinearMap:
        """The derivative at a point of the morphism that was planned, multiplied out as planned."""
        if self.program is None:
            raise errors.PlanError(errors.plan_without_morphism())
        _, linear = above().linearize(self.program.term, *primals)
        return self.multiply(linear)

    def run_as(self, f: D, *primals: Value) -> LinearMap:
        """As `run`, for a plan that recomputes: its program must be `f` but for checkpoints."""
        from catad.planner.recompute import without_checkpoints

        if self.program is None or without_checkpoints(self.program.term) != f:
            raise errors.PlanError(errors.other_program("it recomputes parts of another program"))
        return self.run(*primals)

    def edited(self, bracketing: Any) -> Plan:
        """The plan with another bracketing: nested pairs of factor numbers, `[[0, 1], 2]`, or the name of a mode.

        `["push", 1]` in place of 1 writes factor 1 out by pushing a basis through it, `["pull", 1]` by pulling one back.
        """
        from catad.planner.keep import plan_factors

        if isinstance(bracketing, str) and bracketing == "elimination":
            return self.as_elimination()
        made = plan_factors(self.chain, replace(self.request, mode=bracketing, memory=None))
        return made.made_for(self.structure, self.program)

    def as_elimination(self) -> EliminationPlan:
        """The best order of elimination of the linear graph of what was planned, whether or not a bracketing is cheaper."""
        from catad.planner.keep import eliminated_structure, plan_factors
        from catad.planner.network.plan import EliminationPlan

        request = replace(self.request, mode="elimination", memory=None)
        if self.structure is None:
            found = plan_factors(self.chain, request)
        else:
            found = eliminated_structure(self.structure, self.chain, request)
        assert isinstance(found, EliminationPlan)
        return replace(found, structure=self.structure, program=self.program, recomputes=self.recomputes)

    def made_for(self, structure: Structure | None, program: Program_ | None) -> Plan:
        """The plan, for a linear map of a given structure or for a morphism; its program is shared."""
        return replace(self, structure=structure, program=program, _made=self._made)

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

    def by_columns_and_rows(self) -> tuple[int, int]:
        """The operations of the same map by pushing every column of a basis through all factors, and by pulling every row.

        That is forward and reverse mode without structure: as many applications as the map has columns, or rows.

        >>> import catad as ct
        >>> ct.plan(ct.sin, ct.f64[1000]).by_columns_and_rows()
        (1000000, 1000000)
        """
        from catad.planner.report import by_columns_and_rows

        (_, pushed), (_, pulled) = by_columns_and_rows(self)
        return pushed, pulled

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
