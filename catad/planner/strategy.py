"""The strategy of a plan: which steps it takes, what they cost, and how they are read, edited and drawn.

A bracketing of a program's stages and an order of elimination of its linear graph are strategies, and so are those of problems
that are known by their sizes alone. `ct.Plan` runs a strategy; reports and JSON text are made of what every strategy says.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

from catad import errors
from catad.drawing.graph import Graph
from catad.linear.apply import applying
from catad.linear.products import cost_of_wiring
from catad.linear.structure import Structure
from catad.planner.chains.execute import Execution, as_they_stand
from catad.planner.chains.factors import Factors, structure_of
from catad.planner.costs.cost import Cost
from catad.planner.request import Request

REJECTED = 8  # vertices that `why` lists


class Step(Protocol):
    """One step of a plan: what is done, in one line, and the operations that it adds."""

    @property
    def operations(self) -> int: ...

    @property
    def line(self) -> str: ...


class Records(NamedTuple):
    """The parts of what is planned, as JSON text lists them, so that a text is known to be for the same."""

    name: str  # of the list: "factors", "vertices"
    parts: list[dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Strategy(ABC):
    """See the module.

    `exact` says that no other is cheaper, with the reservations `but`; `bound` what every one costs at least (0: unknown);
    `stopped` why it is not known to be the best, where a search ended early or none took place.
    """

    kind: ClassVar[Literal["bracketing", "order", "steps"]]  # what is chosen: the field of the JSON text
    unit: ClassVar[str] = "operations"
    columns: ClassVar[tuple[str, ...]] = ("bytes", "peak")  # what a table shows of costs beside operations
    nothing: ClassVar[str] = "nothing to eliminate"  # the only line where there is no step
    mode: str = "auto"
    exact: bool = False
    but: tuple[str, ...] = ()
    bound: float = 0
    stopped: str = ""

    @property
    @abstractmethod
    def cost(self) -> Cost:
        """The cost of all steps."""

    @property
    @abstractmethod
    def steps(self) -> Sequence[Step]:
        """The steps in order."""

    @property
    @abstractmethod
    def subject(self) -> str:
        """The name of what is planned, with which the headline begins."""

    @property
    @abstractmethod
    def choice(self) -> Any:
        """The choice, as `edited` takes it: a bracketing, an order."""

    @property
    def text(self) -> str:
        """The choice as JSON text."""
        return json.dumps(self.choice)

    def compared(self, request: Request) -> tuple[str, ...]:
        """The rivals that the headline names."""
        return "reverse", "forward"

    def rivals(self) -> Mapping[str, Cost] | None:
        """The rivals that the table shows beside the strategy; None where these are the modes "forward" and "reverse"."""
        return None

    def lines(self) -> list[str]:
        """One line for each step."""
        return [f"step {k}: {step.line}" for k, step in enumerate(self.steps)] or [self.nothing]

    def ending(self) -> list[str]:
        """The lines that follow the steps."""
        return []

    @abstractmethod
    def records(self) -> Records:
        """The parts of what is planned."""

    @abstractmethod
    def read(self, choice: Any) -> Any:
        """A choice of a JSON text, checked; raises `PlanError` naming the place."""

    @abstractmethod
    def edited(self, choice: Any, request: Request) -> Strategy | None:
        """The strategy with another choice of its own kind, by hand; None where it takes planning anew."""

    @abstractmethod
    def why(self, step: int, request: Request) -> str:
        """The choice at a step, and what was rejected."""

    def drawn(self, moving: bool = False) -> Graph:
        """What a picture shows, or an animation of the steps; raises `PlanError` where there is none."""
        raise errors.PlanError(errors.no_picture(self.subject))


@dataclass(frozen=True, kw_only=True)
class Runnable(Strategy):
    """A strategy for the stages of a program, or the factors of a chain: it can run."""

    chain: Factors
    execution: Execution

    @property
    def cost(self) -> Cost:
        return self.execution.cost

    @property
    def steps(self) -> Sequence[Step]:
        return self.execution.steps

    @property
    def factors(self) -> tuple[Structure, ...]:
        """The structures of the factors, the first applied first."""
        return tuple([part.structure for part in self.chain.parts])

    @property
    def ends(self) -> str:
        """The spaces between which the maps go: `R^403 -> R^329`."""
        return f"R^{self.factors[0].columns} -> R^{self.factors[-1].rows}"

    def by_columns_and_rows(self) -> tuple[int, int]:
        """See `ct.Plan.by_columns_and_rows`."""
        structure, _ = structure_of(as_they_stand(self.chain))
        pushed, pulled = [cost_of_wiring(applying(s)[0]) for s in (structure, structure.T)]
        return structure.columns * pushed, structure.rows * pulled

    def ending(self) -> list[str]:
        """The cost of applying all factors to a basis, one after the other."""
        pushed, pulled = self.by_columns_and_rows()
        columns, rows = self.factors[0].columns, self.factors[-1].rows
        return [f"applied one by one: {columns:,} columns pushed {pushed:,}, {rows:,} rows pulled {pulled:,} operations"]


def with_peak(strategy: Runnable, peak: int) -> Runnable:
    """The strategy with another peak of its cost: what was counted on the program that runs it."""
    execution = strategy.execution
    return replace(strategy, execution=replace(execution, cost=execution.cost._replace(peak=peak)))


def times(n: int, what: str) -> str:
    """`1 product`, `2 products`."""
    return f"{n} {'vertices' if what == 'vertex' else what + 's'}" if n != 1 else f"1 {what}"
