"""`python3 -m catad.planner` as people run it, the public functions around it, and what each says to bad input."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.planner.graph import members
from catad.planner.problems.file import load
from catad.planner.problems.solutions import Options, solve
from catad.planner.problems.tool import main

from .graphs import Case, eliminated

LION = [(0, 1), (1, 2), (1, 5), (2, 3), (2, 4), (2, 5)]

PROBLEMS: dict[str, Any] = {
    "about": {"purpose": "problems of the tests' own"},
    "elimination_graphs": {
        "kite": {
            "n_inputs": 2,
            "n_vertices": 5,
            "outputs": [5, 6],
            "edges": [[a, b, 1, 1, 1, 1, 1] for a, b in [(0, 2), (1, 2), (2, 3), (2, 4), (3, 4), (4, 5), (4, 6), (3, 6)]],
            "scalar": True,
        },
        "copied": {"n_inputs": 1, "n_vertices": 3, "outputs": [3], "edges": [[0, 1, -1], [1, 2, 1], [2, 3, 1]]},
    },
    "jacobian_chains": {
        "fields": ["m", "n", "edges"],
        "short": {"2": [{"chain": [[2, 3, 10], [4, 2, 20]], "optimum_by_adjoint_tape_limit": {"0": 80, "5": 90}}]},
    },
    "vector_dags": {
        "graphs": {
            "lion": {
                "size": [2, 1, 1, 2, 1, 1],
                "inputs": [0],
                "outputs": [3, 4, 5],
                "edges": [{"src": a, "dst": b, "c_tan": 3, "c_adj": 3, "has_model": True} for a, b in LION],
            }
        }
    },
    "checkpointing": {"cases": [[10, 3, 15], [7, 7]]},
    "matrix_chain_textbook": {"dims": [10, 100, 5, 50]},
}


def run(*given: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "catad.planner", *given], capture_output=True, text=True, check=False, timeout=600
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "problems.json"
    path.write_text(json.dumps(PROBLEMS))
    return path


def test_one_object_for_each_problem(file: Path) -> None:
    done = run(str(file), "--orders")
    assert done.returncode == 0 and done.stderr == ""
    answers = {answer["name"]: answer for answer in map(json.loads, done.stdout.splitlines())}
    assert list(answers) == [
        "elimination_graphs/kite",
        "elimination_graphs/copied",
        "jacobian_chains/short/2/0",
        "vector_dags/graphs/lion",
        "checkpointing/cases/0",
        "checkpointing/cases/1",
        "matrix_chain_textbook",
    ]
    common = {"name", "kind", "forward", "reverse", "markowitz", "planned", "lower_bound", "optimal", "seconds"}
    for answer in answers.values():
        assert common <= set(answer) and answer["lower_bound"] <= answer["planned"] and answer["seconds"] >= 0
    kite = answers["elimination_graphs/kite"]
    assert (kite["forward"], kite["reverse"]) == (4 + 4 + 4, 4 + 2 + 4)
    assert (kite["planned"], kite["optimal"]) == (2 + 2 + 4, True)  # 3, then 4, then 2
    assert sorted(kite["order"]) == [2, 3, 4]
    assert answers["elimination_graphs/copied"]["planned"] == 1
    chain = answers["jacobian_chains/short/2/0"]
    assert (chain["tangent"], chain["adjoint"], chain["planned"]) == (90, 120, 80)
    assert chain["planned_by_memory"] == {"0": 80, "5": 90}
    lion = answers["vector_dags/graphs/lion"]
    assert (lion["planned"], lion["optimal"], lion["tangent"], lion["adjoint"]) == (12, True, 36, 72)
    assert lion["matrix_free"] <= 36 and lion["matrix_free_optimal"]
    assert answers["checkpointing/cases/0"]["planned"] == 15 and answers["checkpointing/cases/1"]["planned"] == 6
    assert answers["matrix_chain_textbook"]["planned"] == 10 * 100 * 5 + 10 * 5 * 50


def test_names_memory_budget_and_seed(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = run(str(file), "--name", "jacobian_chains/short", "--memory", "5", "--cost", "operations")
    (answer,) = map(json.loads, done.stdout.splitlines())
    assert answer["planned"] == 90 and answer["planned_by_memory"]["5"] == 90
    objects = []
    for _ in range(2):
        assert main([str(file), "--name", "elim", "--seed", "4", "--budget", "0.01", "--orders"]) == 0
        objects.append([json.loads(line) | {"seconds": 0} for line in capsys.readouterr().out.splitlines()])
    assert objects[0] == objects[1] and len(objects[0]) == 2


def test_memory_of_zero_is_no_limit(file: Path) -> None:
    ((name, problem),) = load(str(file), "jacobian_chains")
    assert solve(name, problem, Options(memory=0))["planned"] == 80
    assert solve(name, problem, Options(memory=5))["planned"] == 90


def changed(**paths: Any) -> dict[str, Any]:
    """The problems with some values changed; `a__b` is the path a/b, `...` takes a value out."""
    problems = copy.deepcopy(PROBLEMS)
    for path, value in paths.items():
        *folders, last = path.split("__")
        at: Any = problems
        for folder in folders:
            at = at[int(folder)] if isinstance(at, list) else at[folder]
        key: Any = int(last) if isinstance(at, list) else last
        if value is ...:
            del at[key]
        else:
            at[key] = value
    return problems


KITE = "elimination_graphs__kite__"
SHORT = "jacobian_chains__short__2__0__"
VECTOR = "vector_dags__graphs__lion__"


@pytest.mark.parametrize(
    ("path", "value", "parts"),
    [
        (KITE + "edges", [[0, 2], [2, 3], [3, 2]], ["cycle", "2 -> 3 -> 2", "elimination_graphs/kite"]),
        (KITE + "edges", [[0, 2], [2, 99]], ["99", "0 to 6", "edge 1", "elimination_graphs/kite"]),
        (KITE + "edges", [[0]], ["[0]", "elimination_graphs/kite/edges/0"]),
        (KITE + "edges", [[0, 2, 5]], ["alphagrad_tables", "elimination_graphs/kite"]),
        (KITE + "edges", ..., ['no "edges"', "elimination_graphs/kite"]),
        (KITE + "outputs", [17], ["17", "outputs", "elimination_graphs/kite"]),
        (KITE + "n_inputs", -1, ["-1", "elimination_graphs/kite/n_inputs"]),
        ("elimination_graphs__kite", 3, ["3", "elimination_graphs/kite"]),
        ("elimination_graphs", [], ["an object of problems"]),
        (
            SHORT + "chain",
            [[2, 3, 1], [4, 5, 1]],
            ["R^2", "R^5", "between factor 0 and factor 1", "jacobian_chains/short/2/0"],
        ),
        (SHORT + "chain", [[2, 3]], ["factor 0", "jacobian_chains/short/2/0"]),
        (SHORT + "chain", 5, ["jacobian_chains/short/2/0/chain"]),
        ("jacobian_chains__short__2__0", {"n": 3}, ['no "chain"', "jacobian_chains/short/2/0"]),
        (VECTOR + "size", [2, 1, 1, 2, 1], ["5", "0 to 4", "vector_dags/graphs/lion"]),
        (VECTOR + "size", [2, 1, 0, 2, 1, 1], ["vertex 2", "at least 1"]),
        (VECTOR + "edges__0__c_tan", ..., ['no "c_tan"', "vector_dags/graphs/lion/edges/0"]),
        ("checkpointing__cases", [[3, 0]], ["no plan fits", "at least 1", "checkpointing/cases/0"]),
        ("checkpointing__cases", [[3]], ["checkpointing/cases/0"]),
        ("matrix_chain_textbook__dims", [4], ["matrix_chain_textbook/dims"]),
    ],
)
def test_bad_problems(tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str, value: Any, parts: list[str]) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(changed(**{path: value})))
    assert main([str(bad)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    for part in parts:
        assert part in said.err, said.err


def test_a_bad_problem_that_is_not_asked_for_does_not_matter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(changed(**{KITE + "edges": [[0, 99]]})))
    assert main([str(bad), "--name", "checkpointing"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        (["--budget", "0"], ["budget=0", "more than 0"]),
        (["--budget", "-1"], ["budget=-1"]),
        (["--budget", "nan"], ["budget=nan"]),
        (["--budget", "soon"], ["budget='soon'"]),
        (["--seed", "x"], ["seed='x'", "whole number"]),
        (["--memory", "-3"], ["memory='-3'", "at least 0"]),
        (["--name", "nothing"], ["'nothing'", "elimination_graphs/kite"]),
    ],
)
def test_bad_options(file: Path, capsys: pytest.CaptureFixture[str], given: list[str], parts: list[str]) -> None:
    assert main([str(file), *given]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    for part in parts:
        assert part in said.err


def test_another_cost_is_refused_without_a_traceback(file: Path) -> None:
    done = run(str(file), "--cost", "time")
    assert done.returncode == 2 and done.stdout == "" and "--cost" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("{", ["is not JSON", "line 1, column 2"]),
        ("[]", ["has no problems"]),
        ('{"a": 1}', ["elimination_graphs"]),
        ("", ["is not JSON"]),
    ],
)
def test_bad_files(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, parts: list[str]) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    assert main([str(path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    for part in [*parts, "bad.json"]:
        assert part in said.err


def test_no_file(tmp_path: Path) -> None:
    done = run(str(tmp_path / "none.json"))
    assert done.returncode == 2 and "none.json" in done.stderr and "Traceback" not in done.stderr


# -- the same from Python


def test_graphs_of_arrays() -> None:
    graph = ct.Graph(np.array(LION), np.array([0]), np.array([3, 4, 5]), np.array([2, 1, 1, 2, 1, 1]))
    assert graph == ct.Graph(LION, [0], [3, 4, 5], [2, 1, 1, 2, 1, 1])
    long = ct.Graph(np.array([(k, k + 1) for k in range(100)]), [0], np.array([100]))
    assert ct.plan_graph(long).cost.operations == 99 and type(long.preds[100]) is int


def test_a_plan_of_the_lion() -> None:
    plan = ct.plan_graph(ct.Graph(LION, [0], [3, 4, 5], sizes=[2, 1, 1, 2, 1, 1]))
    line = "1 input, 3 outputs, 2 vertices: 12 multiplications (reverse 12, forward 12, Markowitz 12), optimal"
    assert plan.explain().splitlines() == [line, *plan.table().splitlines()[-2:]] and repr(plan) == f"<plan {line}>"
    assert [row.split() for row in plan.table().splitlines()[:2]] == [["operations"], ["planned", "12"]]
    assert plan.why(0).startswith(f"step 0: vertex {plan.order[0]}, ")
    assert f"vertex {plan.order[1]} would have cost" in plan.why(0)
    picture = plan.draw()
    assert picture.startswith("<svg") and picture.count("<circle") == 6 and "stroke-dasharray" in picture
    assert plan._repr_svg_() == picture


def test_the_graph_of_a_program() -> None:
    """Two results of a pair: one of both, one of the second; what is zero by structure is no edge."""
    f = ct.cross(ct.flip(), ct.scan(lambda a, b: a + b, 0.0)) >> ct.fork(ct.exr >> ct.flip(), ct.matmul)
    graph = ct.Graph.of(f, ct.f64[4], ct.f64[4])
    assert (graph.inputs.bit_count(), graph.outputs.bit_count(), graph.inner.bit_count()) == (2, 2, 2)
    assert sorted(graph.sizes) == [1, 4, 4, 4, 4, 4]
    plan = ct.plan_graph(graph)
    reached = eliminated_edges(graph, plan.order)
    assert len(reached) == 3  # the first argument does not reach the first result
    with pytest.raises(ct.PlanError, match="a morphism, and"):
        ct.Graph.of(3)  # type: ignore[arg-type]


def eliminated_edges(graph: ct.Graph, order: tuple[int, ...]) -> set[tuple[int, int]]:
    case = Case(set(graph.edges()), members(graph.inputs), members(graph.outputs), list(graph.sizes))
    return eliminated(case, order)[1]


def test_plans_are_data() -> None:
    plan = ct.plan_graph(ct.Graph(LION, [0], [3, 4, 5]))
    text = plan.to_json()
    assert ct.Plan.from_json(text, plan) == plan
    turned = plan.edited(plan.order[::-1])
    assert turned.cost.operations >= plan.cost.operations and turned.order == plan.order[::-1]
    for order, part in [
        ([1], "skips a vertex"),
        ([1, 1], "step 1"),
        ([1, 2, 3], "neither an input nor an output"),
        ([1, 2.0], "2.0"),
        ("12", "list"),
    ]:
        with pytest.raises(ct.PlanError) as caught:
            plan.edited(order)
        assert part in str(caught.value)
    for broken, part in [("{", "line 1, column 2"), ("[]", "JSON object"), ('{"order": [2]}', '"vertices"')]:
        with pytest.raises(ct.PlanError) as caught:
            ct.Plan.from_json(broken, plan)
        assert part in str(caught.value)
    with pytest.raises(ct.PlanError, match="0 to 1"):
        plan.why(2)


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda: ct.Graph([(0, 1), (1, 2), (2, 1)], [0], [2]), "1 -> 2 -> 1"),
        (lambda: ct.Graph([(1, 1)], [0], []), "1 -> 1"),
        (lambda: ct.Graph([(0, 3)], [0], [2], vertices=3), "edge 0, 0 -> 3"),
        (lambda: ct.Graph([(0, 1)], [0], [5], vertices=2), "outputs"),
        (lambda: ct.Graph([(0, -1)], [0], [1]), "-1"),
        (lambda: ct.Graph([(0, 1.0)], [0], [1]), "1.0"),
        (lambda: ct.Graph([(0, 1, 2)], [0], [1]), "(0, 1, 2)"),
        (lambda: ct.Graph([(0, 1)], [0], [1], sizes=[1, 0]), "vertex 1"),
        (lambda: ct.plan_graph(ct.Graph([(0, 1)], [0], [1]), budget=0), "budget=0"),
        (lambda: ct.plan_graph(ct.Graph([(0, 1)], [0], [1]), budget=float("inf")), "budget=inf"),
        (lambda: ct.plan_graph(ct.Graph([(0, 1)], [0], [1]), seed=0.5), "seed=0.5"),
    ],
)
def test_bad_graphs(make: Any, part: str) -> None:
    with pytest.raises(ct.PlanError) as caught:
        make()
    assert part in str(caught.value)
