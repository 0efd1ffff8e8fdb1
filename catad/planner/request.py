"""The arguments of the planner beside the chain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from catad import errors
from catad.linear.structure import Structure
from catad.planner.chains import brackets
from catad.planner.chains.brackets import Tree
from catad.planner.costs.calibrate import stored
from catad.planner.costs.cost import Model, checked_limit
from catad.planner.costs.cost_profile import CostProfile
from catad.support.lru import hashed_once
from catad.values.arrays import in_blocks

Want = Literal["jacobian", "hessian"]
WANTS: tuple[Want, ...] = get_args(Want)
CostGiven: TypeAlias = 'Literal["operations", "time"] | CostProfile | Callable[[Structure, Structure], float]'
Mode = Literal["auto", "forward", "reverse", "elimination"]
MODES: tuple[str, ...] = get_args(Mode)
Nested: TypeAlias = "int | Sequence[Nested]"  # `[[0, 1], 2]`: which factors are multiplied first
COSTS = ("operations", "time")
Result = Literal["structured", "array", "sparse"]
RESULTS: tuple[str, ...] = get_args(Result)
UNWRITTEN = ("a cost profile", "a function")
AS_ONE = 1 << 16  # numbers of the largest array of a map whose array one compiled function makes


@hashed_once
@dataclass(frozen=True)
class Request:
    """The request for a plan of a chain: all that the plan depends on beside the chain.

    `mode` is "auto", "forward", "reverse", "elimination" or a bracketing; `model` what is made small (None: operations);
    `memory` the limit in bytes; `budget` the number of products that the search may look at; `explicit` that nothing may stay
    unmultiplied; `result` the form that is asked for, and making it is part of the plan: "structured", "array" or "sparse".
    """

    mode: Any = "auto"
    model: Model = None
    memory: float | None = None
    budget: int | None = None
    explicit: bool = False
    result: str = "structured"
    effort: float | None = None  # the seconds that a search without a budget may take, counted as work

    def for_chain(self, n: int) -> Request:
        """The same with a bracketing read as a tree over n factors."""
        if isinstance(self.mode, str):
            return self
        return replace(self, mode=brackets.read(self.mode, n))

    def at(self, structure: Structure | None) -> Request:
        """The same for a map: without launches where it is small and wanted as an array, since one function makes that."""
        if structure is None:
            return self
        size = max([structure.rows * structure.columns, *[slot.size for slot in structure.slots]], default=0)
        if self.result != "array" or size > AS_ONE or not isinstance(self.model, CostProfile):
            return self
        return replace(self, model=self.model.within)

    @property
    def ended(self) -> str:
        """The reason why a search ended early, for people."""
        if self.budget is not None:
            return f"the search ended with its budget of {self.budget:,} products"
        work = "" if self.effort is None else f", about {self.effort * 1e3:.0f} ms"
        return f"the search ended with the work that it may do{work}"

    @property
    def tree(self) -> Tree | None:
        """The bracketing that was given, if one was."""
        return None if isinstance(self.mode, str) else self.mode


def checked(
    mode: Any,
    cost: str | CostProfile | Callable[[Structure, Structure], float],
    memory: Any = None,
    budget: Any = None,
    explicit: Any = False,
    xp: Any = np,
    result: str = "structured",
) -> Request:
    """A request of what a user gives, for arrays of a library; raises `PlanError` for invalid arguments."""
    checked_limit(memory, "memory")
    checked_limit(budget, "budget", positive=True)
    if isinstance(mode, str) and mode not in MODES:
        raise errors.PlanError(errors.unknown_mode(mode))
    if result not in RESULTS:
        raise errors.PlanError(errors.unknown_result(result, RESULTS))
    if not isinstance(explicit, (bool, np.bool_)):
        raise errors.PlanError(errors.not_a_truth_value("explicit", explicit))
    return Request(mode, model_of(cost, xp), memory, budget, bool(explicit) or result == "sparse", result)


def model_of(cost: str | CostProfile | Callable[[Structure, Structure], float], xp: Any = np) -> Model:
    """The model of the cost that a plan minimises: "operations"; "time", by the profile of the engine of these arrays; a
    cost profile; a function."""
    if isinstance(cost, str):
        if cost not in COSTS:
            raise errors.PlanError(errors.unknown_cost(cost))
        return None if cost == "operations" or in_blocks(xp) else stored(xp)  # tasks on blocks have no profile
    if isinstance(cost, CostProfile) or callable(cost):
        try:
            hash(cost)
        except TypeError as error:
            raise errors.PlanError(errors.cost_without_hash(cost)) from error
        return cost
    raise errors.PlanError(errors.unknown_cost(cost))


def name_of(model: Model) -> str:
    """The name of a cost model: one of `COSTS`, or of `UNWRITTEN` for one that a text cannot tell."""
    if isinstance(model, CostProfile):
        return "time" if model.measured else UNWRITTEN[0]
    return "operations" if model is None else UNWRITTEN[1]
