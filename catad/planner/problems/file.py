"""Reading published planning problems: what each section of a file holds, checked before anything is solved.

A file is a JSON object with some of these sections; a problem's name is its path in the file.

    elimination_graphs/NAME              n_inputs, n_vertices, outputs, edges [source, target, type, four sizes]
    jacobian_chains/.../NAME             chain (or chain_m_n_edges): [rows, columns, edges], the factor applied first first
    vector_dags/graphs/NAME              size, inputs, outputs, edges {src, dst, c_tan, c_adj, has_model}
    checkpointing/cases/NUMBER           [steps, checkpoints, ...]
    matrix_chain_textbook                dims
    alphagrad_tables                     what products of typed edges cost: contraction_map, mul, add, offset
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from catad import errors
from catad.planner.graph import Graph
from catad.planner.problems.chain_plan import checked_chain
from catad.planner.problems.faces import Edge
from catad.planner.problems.solutions import (
    ChainProblem,
    CheckpointProblem,
    MatrixProblem,
    Problem,
    ScalarProblem,
    VectorProblem,
)
from catad.planner.problems.typed import COPY, Scalar, Tables, TypedEdge, TypedGraph

CHAIN_KEYS = ("chain", "chain_m_n_edges")
SIZE_KEYS = ("type", "out_d0", "out_d1", "in_d0", "in_d1")


def load(path: str, prefix: str = "") -> list[tuple[str, Problem]]:
    """The problems of a file whose names start with `prefix`; raises `PlanError`, naming the place, for what cannot be read."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise errors.PlanError(errors.unreadable_file(path, str(error))) from None
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise errors.PlanError(
            errors.malformed_problems(error.msg, f"{path}, line {error.lineno}, column {error.colno}")
        ) from None
    except RecursionError:
        raise errors.PlanError(errors.malformed_problems("brackets nested too deep", path)) from None
    if not isinstance(content, dict) or not any(section in content for section in SECTIONS):
        raise errors.PlanError(errors.no_problems(path, tuple(SECTIONS)))
    found: list[tuple[str, Problem]] = []
    names: list[str] = []
    for section, (named, made) in SECTIONS.items():
        if section in content:
            for name, problem in named(section, content[section]):
                names.append(name)
                if name.startswith(prefix):
                    found.append((name, made(name, problem, content)))
    if not found:
        raise errors.PlanError(errors.no_such_problem(prefix, names))
    return found


Named = Iterator[tuple[str, Any]]


def _field(name: str, problem: Any, key: str, expected: str, fits: Callable[[Any], bool]) -> Any:
    if not isinstance(problem, dict):
        raise errors.PlanError(errors.no_problem(name, problem))
    if key not in problem:
        raise errors.PlanError(errors.missing_problem_field(name, key, expected))
    if not fits(problem[key]):
        raise errors.PlanError(errors.bad_field(f"{name}/{key}", problem[key], expected))
    return problem[key]


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _wholes(value: Any) -> bool:
    return isinstance(value, list) and all(_whole(v) for v in value)


def _located(name: str, make: Callable[[], Any]) -> Any:
    """The problem that is made, or the error with the name of the problem."""
    try:
        return make()
    except errors.PlanError as error:
        raise errors.PlanError(errors.in_problem(error.message, name)) from None


def _graph(name: str, problem: Any, content: dict[str, Any]) -> Problem:
    inputs = _field(name, problem, "n_inputs", "a whole number", _whole)
    vertices = _field(name, problem, "n_vertices", "a whole number", _whole)
    outputs = _field(name, problem, "outputs", "a list of vertices", lambda v: isinstance(v, list))
    rows = _field(name, problem, "edges", "a list of edges", lambda v: isinstance(v, list))
    for k, row in enumerate(rows):
        if not isinstance(row, list) or len(row) not in (2, 3, 7) or not all(isinstance(x, int) for x in row[2:]):
            raise errors.PlanError(
                errors.bad_field(f"{name}/edges/{k}", row, f"[src, dst] or [src, dst, {', '.join(SIZE_KEYS)}]")
            )
    pairs = [(row[0], row[1]) for row in rows]
    graph = _located(name, lambda: Graph(pairs, range(inputs), outputs, vertices=inputs + vertices))
    typed = {(row[0], row[1]): TypedEdge(row[2], (row[3], row[4]), (row[5], row[6])) for row in rows if len(row) == 7}
    typed |= {(row[0], row[1]): TypedEdge(row[2], (1, 1), (1, 1)) for row in rows if len(row) == 3}
    plain = TypedEdge(1, (1, 1), (1, 1))
    if all(edge == plain for edge in typed.values()):
        return ScalarProblem(graph, None)
    copies = all(edge._replace(kind=1) == plain and edge.kind in (1, COPY) for edge in typed.values())
    rule = Scalar() if copies else _tables(name, content, {edge.kind for edge in typed.values()})
    edges = {pair: typed.get(pair, plain) for pair in pairs}
    return ScalarProblem(graph, TypedGraph(inputs + vertices, edges, rule))


def _tables(name: str, content: dict[str, Any], kinds: set[int]) -> Tables:
    """The tables of the file, which every type of a graph must be in."""
    key = "alphagrad_tables"
    if key not in content:
        raise errors.PlanError(errors.missing_problem_field(name, key, "tables of products, for edges that have types"))
    tables = content[key]
    offset = _field(key, tables, "offset", "a whole number", _whole)

    def square(rows: Any, count: int | None = None) -> bool:
        n = len(rows) if isinstance(rows, list) and count is None else count
        return isinstance(rows, list) and len(rows) == n and all(isinstance(r, list) and len(r) == n for r in rows)

    mul = _field(key, tables, "mul", "a square table", square)
    add = _field(key, tables, "add", f"a square table of {len(mul)} rows", lambda rows: square(rows, len(mul)))
    active = _field(
        key,
        tables,
        "contraction_map",
        f"6 square tables of {len(mul)} rows",
        lambda maps: isinstance(maps, list) and len(maps) == 6 and all(square(rows, len(mul)) for rows in maps),
    )
    unknown = sorted(kind for kind in kinds if not 0 <= kind + offset < len(mul))
    if unknown:
        raise errors.PlanError(errors.unknown_edge_type(name, unknown[0], -offset, len(mul) - 1 - offset))
    return Tables(tuple(tuple(map(tuple, rows)) for rows in active), tuple(map(tuple, mul)), tuple(map(tuple, add)), offset)


def _chains(section: str, chains: Any) -> Named:
    stack = [(section, chains)]
    while stack:
        name, node = stack.pop()
        if isinstance(node, dict) and any(key in node for key in CHAIN_KEYS):
            yield name, node
            continue
        if isinstance(node, dict) and not any(isinstance(value, (dict, list)) for value in node.values()):
            raise errors.PlanError(errors.missing_problem_field(name, "chain", "a list of [rows, columns, edges]"))
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        stack += [(f"{name}/{key}", value) for key, value in reversed(list(items)) if isinstance(value, (dict, list))]


def _chain(name: str, problem: dict[str, Any], _: dict[str, Any]) -> Problem:
    key = next(key for key in CHAIN_KEYS if key in problem)
    chain = _field(name, problem, key, "a list of [rows, columns, edges]", lambda v: isinstance(v, list))
    limits = problem.get("optimum_by_adjoint_tape_limit", {})
    if not isinstance(limits, dict) or not all(limit.isdigit() for limit in limits):
        raise errors.PlanError(
            errors.bad_field(f"{name}/optimum_by_adjoint_tape_limit", limits, "an object with limits as keys")
        )
    return ChainProblem(_located(name, lambda: checked_chain(chain)), tuple(int(limit) for limit in limits))


def _vectors(section: str, vectors: Any) -> Named:
    graphs = _field(section, vectors, "graphs", "an object of graphs", lambda v: isinstance(v, dict))
    return _items(f"{section}/graphs", graphs)


def _vector(name: str, problem: Any, _: dict[str, Any]) -> Problem:
    sizes = _field(name, problem, "size", "a list of whole numbers", lambda v: isinstance(v, list))
    inputs = _field(name, problem, "inputs", "a list of vertices", _wholes)
    outputs = _field(name, problem, "outputs", "a list of vertices", _wholes)
    rows = _field(name, problem, "edges", "a list of edges", lambda v: isinstance(v, list))
    edges: list[Edge] = []
    for k, row in enumerate(rows):
        at = f"{name}/edges/{k}"
        source, target, tangent, adjoint = [
            _field(at, row, key, "a whole number", _whole) for key in ("src", "dst", "c_tan", "c_adj")
        ]
        edges.append(Edge(source, target, tangent, adjoint, bool(row.get("has_model", True))))
    graph = _located(name, lambda: Graph([edge[:2] for edge in edges], inputs, outputs, sizes))
    return VectorProblem(graph, tuple(edges))


def _checkpoints(section: str, content: Any) -> Named:
    cases = _field(section, content, "cases", "a list of [steps, checkpoints, ...]", lambda v: isinstance(v, list))
    yield from [(f"{section}/cases/{k}", case) for k, case in enumerate(cases)]


def _checkpoint(name: str, case: Any, _: dict[str, Any]) -> Problem:
    if not isinstance(case, list) or len(case) < 2:
        raise errors.PlanError(errors.bad_field(name, case, "[steps, checkpoints, ...]"))
    for what, value in zip(("steps", "checkpoints"), case, strict=False):
        if not _whole(value):
            raise errors.PlanError(errors.in_problem(errors.bad_count(what, value), name))
    if case[0] and not case[1]:
        raise errors.PlanError(errors.in_problem(errors.no_checkpoint(case[0]), name))
    return CheckpointProblem(case[0], case[1])


def _matrices(section: str, problem: Any, _: dict[str, Any]) -> Problem:
    def fits(value: Any) -> bool:
        return _wholes(value) and len(value) > 1

    dims = _field(section, problem, "dims", "a list of at least two sizes", fits)
    return MatrixProblem(tuple(pairwise(dims))[::-1])


def _items(section: str, problems: Any) -> Named:
    if not isinstance(problems, dict):
        raise errors.PlanError(errors.bad_field(section, problems, "an object of problems"))
    yield from [(f"{section}/{key}", problem) for key, problem in problems.items()]


# a section -> its problems by name, and how one is read
SECTIONS: dict[str, tuple[Callable[[str, Any], Named], Callable[[str, Any, dict[str, Any]], Problem]]] = {
    "elimination_graphs": (_items, _graph),
    "jacobian_chains": (_chains, _chain),
    "vector_dags": (_vectors, _vector),
    "checkpointing": (_checkpoints, _checkpoint),
    "matrix_chain_textbook": (lambda section, problem: iter([(section, problem)]), _matrices),
}
