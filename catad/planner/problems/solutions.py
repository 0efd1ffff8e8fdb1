"""The output of the tool for a problem: its cost by mode, the cost of the plan, and the bound."""

from __future__ import annotations

import random
from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

from catad.planner.graph import members
from catad.planner.heuristics import Work
from catad.planner.plan import Plan
from catad.planner.problems.by_sizes import BUDGET, SPEED
from catad.planner.problems.chain_plan import matrix_chain, plan_chain
from catad.planner.problems.checkpoints import repeated_steps
from catad.planner.problems.faces import Faces, matrix_free
from catad.planner.problems.file import ChainProblem, CheckpointProblem, MatrixProblem, Problem, ScalarProblem, VectorProblem
from catad.planner.problems.graph_plan import plan_graph
from catad.planner.problems.typed import plan_typed

FACES = 20_000  # steps that the matrix-free search may look at, whatever the budget: it is for small graphs
FACE = 10  # work for each of them


class Options(NamedTuple):
    """The wishes of a user: seconds, a seed, a limit on tapes (None: none), and whether orders are printed."""

    budget: float = BUDGET
    seed: int = 0
    memory: int | None = None
    orders: bool = False


def solve(name: str, problem: Problem, options: Options) -> dict[str, Any]:
    """The JSON object of one problem."""
    start = perf_counter()
    kind, found = SOLVERS[type(problem)](problem, options)
    head = {"name": name, "kind": kind, "forward": None, "reverse": None, "markowitz": None}
    answer = head | {key: value for key, value in found.items() if key != "order"}
    answer["seconds"] = round(perf_counter() - start, 6)
    if options.orders and "order" in found:
        answer["order"] = found["order"]
    return answer


def _graph(problem: ScalarProblem, options: Options) -> tuple[str, dict[str, Any]]:
    if problem.typed is not None:
        return _typed(problem, options)
    made = plan_graph(problem.graph, options.budget, options.seed)
    return "scalar graph", _eliminated(made)


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


def _typed(problem: ScalarProblem, options: Options) -> tuple[str, dict[str, Any]]:
    """Types have no bound below what they cost but 0."""
    assert problem.typed is not None
    inner = [v for v in problem.graph.topological() if problem.graph.inner >> v & 1]
    made = plan_typed(problem.typed, inner, Work(SPEED * options.budget), random.Random(f"typed {options.seed}"))
    found = {"forward": made.forward, "reverse": made.reverse, "markowitz": made.markowitz, "planned": made.cost}
    gap = 1.0 if made.cost else 0.0
    return "typed graph", found | {"lower_bound": 0, "optimal": made.cost == 0, "gap": gap, "order": list(made.order)}


def _vector(problem: VectorProblem, options: Options) -> tuple[str, dict[str, Any]]:
    graph, edges = problem
    made = plan_graph(graph, options.budget, options.seed)
    columns, rows = (sum([graph.sizes[v] for v in members(ends)]) for ends in (graph.inputs, graph.outputs))
    tangent, adjoint = columns * sum([edge.tangent for edge in edges]), rows * sum([edge.adjoint for edge in edges])
    faces = Faces(graph.sizes, edges, graph.inputs | graph.outputs)
    accumulation = sum([faces.accumulation(edge)[0] for edge in edges if edge.program])
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


def _chain(problem: ChainProblem, options: Options) -> tuple[str, dict[str, Any]]:
    """The plan of a chain. In a file and on the command line, a limit of 0 means no limit."""
    made = plan_chain(problem.factors, options.memory or None)
    limits = dict.fromkeys([*problem.limits, *([] if options.memory is None else [options.memory])])
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
        "matrix_chain": matrix_chain([factor[:2] for factor in problem.factors]),
        "planned_by_memory": {
            str(limit): plan_chain(problem.factors, limit or None).cost.operations for limit in limits
        },
        "order": [
            {"how": how, "first": first, "last": last, "cost": step.operations, "split": split}
            for (how, first, last, split), step in zip(made.strategy.choice, made.steps, strict=True)
        ],
    }


def _checkpoint(problem: CheckpointProblem, options: Options) -> tuple[str, dict[str, Any]]:
    count = repeated_steps(problem.steps, problem.kept)
    return "checkpointing", {"planned": count, "lower_bound": count, "optimal": True}


def _matrices(problem: MatrixProblem, options: Options) -> tuple[str, dict[str, Any]]:
    sizes = problem.sizes
    forward = sizes[0][1] * sum([rows * columns for rows, columns in sizes[1:]])
    reverse = sizes[-1][0] * sum([rows * columns for rows, columns in sizes[:-1]])
    value = matrix_chain(sizes)
    return "matrix chain", {"forward": forward, "reverse": reverse, "planned": value, "lower_bound": value, "optimal": True}


SOLVERS: dict[type[Any], Callable[[Any, Options], tuple[str, dict[str, Any]]]] = {
    ScalarProblem: _graph,
    VectorProblem: _vector,
    ChainProblem: _chain,
    CheckpointProblem: _checkpoint,
    MatrixProblem: _matrices,
}
