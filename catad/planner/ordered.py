"""Orders in which the inner vertices of a graph go, as strategies: what those of sizes and those of maps have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from catad import errors
from catad.drawing.graph import Graph as Drawn
from catad.planner.graph import Graph, members
from catad.planner.reports.drawing import elimination
from catad.planner.strategy import REJECTED, Records, Strategy

WAYS = ("push", "pull")


@dataclass(frozen=True, kw_only=True)
class Ordered(Strategy):
    """A strategy that eliminates the inner vertices of a graph one after the other."""

    kind = "order"
    has_maps: ClassVar[bool] = False  # which may be written out, and vertices may stay

    @property
    @abstractmethod
    def sized(self) -> Graph:
        """The graph with the sizes of its vertices alone."""

    @property
    @abstractmethod
    def spaces(self) -> Sequence[tuple[str, Any]]:
        """What the text says of each vertex: its space, or its size."""

    def records(self) -> Records:
        """What each vertex is, its space, and the vertices from which there are edges to it."""
        graph = self.sized
        stay = {v: what for what, ends in (("input", graph.inputs), ("output", graph.outputs)) for v in members(ends)}
        return Records(
            "vertices",
            [
                {"vertex": v, "is": stay.get(v, "inner"), name: space, "from": members(before)}
                for v, ((name, space), before) in enumerate(zip(self.spaces, graph.preds, strict=True))
            ],
        )

    def read(self, choice: Any) -> tuple[Any, ...]:
        """An order that names every inner vertex once; raises `PlanError` naming the place."""
        if not isinstance(choice, Sequence) or isinstance(choice, (str, bytes)):
            raise errors.PlanError(errors.no_order(choice))
        graph, seen, found = self.sized, set[int](), list[Any]()
        inner = set(members(graph.inner))
        for k, entry in enumerate(choice):
            if self.has_maps and is_write(entry):
                for v in entry[1:]:
                    if isinstance(v, bool) or not isinstance(v, int) or not 0 <= v < len(graph.preds):
                        raise errors.PlanError(errors.missing_vertex(v, len(graph.preds), f"step {k}"))
                found.append(tuple(entry))
                continue
            keeps = self.has_maps and is_keep(entry)
            v = entry[1] if keeps else entry
            if isinstance(v, bool) or not isinstance(v, int) or v not in inner:
                raise errors.PlanError(errors.not_eliminable(v, k))
            if v in seen:
                raise errors.PlanError(errors.eliminated_twice(v, k))
            seen.add(v)
            found.append(("keep", v) if keeps else v)
        skipped = sorted(inner - seen)
        if skipped:
            raise errors.PlanError(errors.skipped_vertices(skipped, len(found)))
        return tuple(found)

    def drawn(self, moving: bool = False) -> Drawn:
        going = [entry if isinstance(entry, int) else None for entry in self.choice]
        lines = [(v, step.line) for v, step in zip(going, self.steps, strict=True)]
        return elimination(self.sized, [v for v in going if v is not None], lines, moving)


def is_write(value: Any) -> bool:
    """True where a value is `("push", p, s)` or `("pull", p, s)`."""
    return isinstance(value, (list, tuple)) and len(value) == 3 and value[0] in WAYS


def is_keep(value: Any) -> bool:
    """True where a value is `("keep", v)`."""
    return isinstance(value, (list, tuple)) and len(value) == 2 and value[0] == "keep"


def rejected(step: int, line: str, left: Sequence[tuple[float, int]], shown: Callable[[float], str]) -> str:
    """The line of a step of an order, and what the vertices that are left would have cost there, cheapest first."""
    values = sorted(left)
    lines = [f"step {step}: {line}", *[f"  vertex {v} would have cost {shown(value)} here" for value, v in values[:REJECTED]]]
    if len(values) > REJECTED:
        lines.append(f"  and {len(values) - REJECTED} others, up to {shown(values[-1][0])}")
    return "\n".join(lines)
