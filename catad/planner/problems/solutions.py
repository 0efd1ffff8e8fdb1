"""Published problems of each kind, and what the tool says of one: its cost by mode, the cost of the plan, and the bound."""

from __future__ import annotations

import random
from time import perf_counter
from typing import Any, NamedTuple

from catad.planner.graph import Graph, members
from catad.planner.heuristics import Work
from catad.planner.plan import Plan
from catad.planner.problems.by_sizes import BUDGET, SPEED
from catad.planner.problems.chain_plan import matrix_chain, plan_chain
from catad.planner.problems.faces import Edge, Faces, matrix_free
from catad.planner.problems.graph_plan import plan_graph
from catad.planner.problems.typed import TypedGraph, plan_typed
from catad.vector.loops.revolve import revolve

FACES = 20_000  # steps that the matrix-free search may look at, whatever the budget: it is for small graphs
FACE = 10  # work for each of them

Answer = tuple[str, dict[str, Any]]  # the kind of a problem, and what is known of it


class Options(NamedTuple):
    """The wishes of a user: seconds, a seed, a limit on tapes (None: none), and whether orders are printed."""

    budget: float = BUDGET
    seed: int = 0
    memory: int | None = None
    orders: bool = False


class ScalarProblem(NamedTuple):
    """A graph to eliminate; where its edges have types, also what these cost."""

    graph: Graph
    typed: TypedGraph | None

    def solved(self, options: Options) -> Answer:
        if self.typed is None:
            return "scalar graph", _eliminated(plan_graph(self.graph, options.budget, options.seed))
        inner = [v for v in self.graph.topological() if self.graph.inner >> v & 1]
        made = plan_typed(self.typed, inner, Work(SPEED * options.budget), random.Random(f"typed {options.seed}"))
        found = {"forward": made.forward, "reverse": made.reverse, "markowitz": made.markowitz, "planned": made.cost}
        # types have no bound below what they cost but 0
        gap = 1.0 if made.cost else 0.0
        return "typed graph", found | {"lower_bound": 0, "optimal": made.cost == 0, "gap": gap, "order": list(made.order)}


class VectorProblem(NamedTuple):
    """A vector graph, and what tangents and adjoints through its edges cost."""

    graph: Graph
    edges: tuple[Edge, ...]

    def solved(self, options: Options) -> Answer:
        graph, edges = self
        made = plan_graph(graph, options.budget, options.seed)
        columns, rows = (sum([graph.sizes[v] for v in members(ends)]) for ends in (graph.inputs, graph.outputs))
        tangent, adjoint = columns * sum([edge.tangent for edge in edges]), rows * sum([edge.adjoint for edge in edges])
        faces = Faces(graph.sizes, edges, graph.inputs | graph.outputs)
        accumulation = sum([faces.accumulation(edge) for edge in edges if edge.program])
        known = [accumulation + made.cost.operations]
        if all(edge.program for edge in edges):
            known += [tangent, adjoint]
        free = matrix_free(faces, Work(max(FACES, SPEED * options.budget / FACE)), min(known))
        return "vector graph", _eliminated(made) | {
            "tangent": tangent,
            "adjoint": adjoint,
            "accumulation": accumulation,
            "matrix_free": free.cost,
            "matrix_free_optimal": free.optimal,
        }


class ChainProblem(NamedTuple):
    """A bare chain and the memory limits that its file asks about (0 is none, as on the command line)."""

    factors: tuple[tuple[int, int, int], ...]
    limits: tuple[int, ...]

    def solved(self, options: Options) -> Answer:
        made = plan_chain(self.factors, options.memory or None)
        limits = dict.fromkeys([*self.limits, *([] if options.memory is None else [options.memory])])
        spent = {name: cost.operations for name, cost in made.rows.items()}
        return "chain", {
            "forward": spent["forward"],
            "reverse": spent["reverse"],
            "planned": spent["planned"],
            "lower_bound": spent["planned"],
            "optimal": True,
            "tangent": spent["forward"],
            "adjoint": spent["reverse"],
            "accumulated": spent["products"],
            "matrix_chain": matrix_chain([factor[:2] for factor in self.factors]),
            "planned_by_memory": {
                str(limit): plan_chain(self.factors, limit or None).cost.operations for limit in limits
            },
            "order": [
                {"how": how, "first": first, "last": last, "cost": step.operations, "split": split}
                for (how, first, last, split), step in zip(made.strategy.choice, made.steps, strict=True)
            ],
        }


class CheckpointProblem(NamedTuple):
    """A chain of steps, and how many states are kept: which steps are taken again is counted."""

    steps: int
    kept: int

    def solved(self, options: Options) -> Answer:
        count = revolve(self.steps, self.kept)[0]
        return "checkpointing", {"planned": count, "lower_bound": count, "optimal": True}


class MatrixProblem(NamedTuple):
    """The sizes (rows, columns) of matrices, the one applied first first."""

    sizes: tuple[tuple[int, int], ...]

    def solved(self, options: Options) -> Answer:
        sizes = self.sizes
        forward = sizes[0][1] * sum([rows * columns for rows, columns in sizes[1:]])
        reverse = sizes[-1][0] * sum([rows * columns for rows, columns in sizes[:-1]])
        value = matrix_chain(sizes)
        return "matrix chain", {"forward": forward, "reverse": reverse, "planned": value, "lower_bound": value, "optimal": True}


Problem = ScalarProblem | ChainProblem | VectorProblem | CheckpointProblem | MatrixProblem


def solve(name: str, problem: Problem, options: Options) -> dict[str, Any]:
    """The JSON object of one problem."""
    start = perf_counter()
    kind, found = problem.solved(options)
    head = {"name": name, "kind": kind, "forward": None, "reverse": None, "markowitz": None}
    answer = head | {key: value for key, value in found.items() if key != "order"}
    answer["seconds"] = round(perf_counter() - start, 6)
    if options.orders and "order" in found:
        answer["order"] = found["order"]
    return answer


def _eliminated(made: Plan) -> dict[str, Any]:
    spent = {name: cost.operations for name, cost in made.rows.items()}
    return {
        "forward": spent["forward"],
        "reverse": spent["reverse"],
        "markowitz": spent["Markowitz"],
        "planned": spent["planned"],
        "lower_bound": spent["bound"],
        "optimal": made.exact,
        "gap": round(made.gap, 4),
        "order": list(made.order),
    }
