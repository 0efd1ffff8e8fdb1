"""The published problems and their counts; what no plan may miss. Skipped where CATAD_OUTSIDE_DATA names no data."""

from __future__ import annotations

import json
from typing import Any

import pytest

import catad as ct
from catad.planner.problems.file import load
from catad.planner.problems.solutions import Options, solve
from catad.planner.problems.tool import main

from .graphs import problem_path, problems


def answers(prefix: str, options: Options | None = None) -> dict[str, dict[str, Any]]:
    found = load(str(problem_path()), prefix)
    return {name: solve(name, problem, options or Options()) for name, problem in found}


def published(name: str) -> Any:
    at: Any = problems()
    for part in name.split("/", 1):
        at = at[part]
    return at


def test_scalar_graphs() -> None:
    found = answers("elimination_graphs")
    scalar = {name: answer for name, answer in found.items() if published(name)["scalar"]}
    assert scalar
    for name, answer in scalar.items():
        given = published(name)["published"]
        assert {key: answer[key] for key in ("forward", "reverse", "markowitz")} == {
            key: given[key] for key in ("forward", "reverse", "markowitz")
        }, name
        assert answer["lower_bound"] <= published(name)["best_known"] and answer["planned"] >= answer["lower_bound"]
        assert answer["optimal"] == (answer["planned"] == answer["lower_bound"])


@pytest.mark.parametrize(
    ("name", "most", "optimal"),
    [("HumanHeartDipole", 148, True), ("PropaneCombustion", 88, True), ("RoeFlux_1d", 340, False)],
)
def test_plans_of_the_default_budget(name: str, most: int, optimal: bool) -> None:
    for seed in range(4):
        answer = answers(f"elimination_graphs/{name}", Options(seed=seed))[f"elimination_graphs/{name}"]
        assert answer["planned"] <= most and answer["optimal"] >= optimal


@pytest.mark.slow
def test_a_long_search() -> None:
    (answer,) = answers("elimination_graphs/RoeFlux_1d", Options(budget=10)).values()
    assert answer["planned"] <= 299


def test_published_orders_cost_what_is_published() -> None:
    for name, given in problems()["elimination_graphs"].items():
        ((_, problem),) = load(str(problem_path()), f"elimination_graphs/{name}")
        orders = {key: [given["n_inputs"] + k - 1 for k in order] for key, order in given["orders"].items()}
        for key, order in orders.items():
            expected = given["published"][key.removesuffix("_published")]
            if problem.typed is not None:
                assert problem.typed.costs(order) == expected
            else:
                assert ct.plan_graph(problem.graph, budget=1e-6).edited(order).cost.operations == expected


def test_typed_graphs() -> None:
    for name, answer in answers("elimination_graphs").items():
        given = published(name)
        if not given["scalar"]:
            assert (answer["forward"], answer["reverse"]) == (given["published"]["forward"], given["published"]["reverse"])
            assert answer["planned"] <= given["published"]["alphagrad"]


def test_the_chains() -> None:
    lengths = problems()["jacobian_chains"]["acda25"]
    found = answers("jacobian_chains/acda25/")
    assert len(found) == sum(len(rows) for rows in lengths.values()) >= 800
    for length, rows in lengths.items():
        for k, row in enumerate(rows):
            assert found[f"jacobian_chains/acda25/{length}/{k}"]["planned"] == row["dp"][0]


def test_chains_with_memory_limits() -> None:
    given = problems()["jacobian_chains"]
    dense = answers("jacobian_chains/admission_dense/")
    for name, row in given["admission_dense"].items():
        answer = dense[f"jacobian_chains/admission_dense/{name}"]
        assert answer["planned_by_memory"] == row["optimum_by_adjoint_tape_limit"]
        assert (answer["planned"], answer["tangent"], answer["adjoint"]) == (row["optimum"], row["tangent"], row["adjoint"])
        assert (answer["matrix_chain"], answer["accumulated"]) == (row["matrix_chain"], row["preaccumulate_then_multiply"])
    for name, row in given["acda25_figure_chains"].items():
        (answer,) = answers(f"jacobian_chains/acda25_figure_chains/{name}").values()
        assert (answer["planned"], answer["tangent"], answer["adjoint"]) == (
            row["optimum_1thread"],
            row["tangent"],
            row["adjoint"],
        )
        assert answer["accumulated"] == row["matmul_only"]


def test_vector_graphs() -> None:
    found = answers("vector_dags")
    for name, row in problems()["vector_dags"]["graphs"].items():
        answer = found[f"vector_dags/graphs/{name}"]
        assert answer["planned"] == row["vertex_elimination_optimum"] and answer["optimal"]
        assert (answer["tangent"], answer["adjoint"]) == (row["global_tangent"], row["global_adjoint"])
        assert answer["accumulation"] == row["preaccumulation"]
        if "published_matrix_free_optimum" in row:
            assert answer["matrix_free"] == row["published_matrix_free_optimum"] and answer["matrix_free_optimal"]


def test_checkpoints_and_the_textbook(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(problem_path()), "--name", "checkpointing"]) == 0
    counts = [json.loads(line)["planned"] for line in capsys.readouterr().out.splitlines()]
    assert counts == [case[2] for case in problems()["checkpointing"]["cases"]]
    (answer,) = answers("matrix_chain_textbook").values()
    assert answer["planned"] == problems()["matrix_chain_textbook"]["optimum"]
