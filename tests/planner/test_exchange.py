"""Plans as JSON: the round trip, plans edited by hand, and every way in which an edit can go wrong."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.planner import Plan, plan

SIZES = [(80, 100), (50, 80), (3, 50), (10, 3), (2, 10)]


def with_bracketing(planned: Plan, bracketing: Any) -> str:
    data = json.loads(planned.to_json())
    data["bracketing"] = bracketing
    return json.dumps(data, indent=1)


def test_round_trip() -> None:
    for mode in ("auto", "forward", "reverse", [[[0, [1, 2]], 3], 4]):
        planned = plan(SIZES, mode=mode)
        assert Plan.from_json(planned.to_json(), planned) == planned
        again = Plan.from_json(planned.to_json(), SIZES)
        assert (again.mode, again.bracketing, again.cost) == (planned.mode, planned.bracketing, planned.cost)


def test_an_edited_plan_runs_as_edited() -> None:
    planned = plan(SIZES)
    edited = Plan.from_json(with_bracketing(planned, [[0, 1], [[2, 3], 4]]), planned)
    assert edited.mode == "by hand" and edited.bracketing == ((0, 1), ((2, 3), 4))
    assert edited.cost.operations == 50 * 80 * 100 + 10 * 3 * 50 + 2 * 10 * 50 + 2 * 50 * 100
    wiring = edited.strategy.execution.wiring
    boxes = [box.primitive.cost(wiring.spaces(box.ins), ()) for box in wiring.boxes]
    assert sum(boxes) == edited.cost.operations and max(boxes) == 400_000
    rng = np.random.default_rng(0)
    maps = [ct.linear.dense(rng.integers(-2, 3, size).astype(float)) for size in SIZES]
    np.testing.assert_array_equal(edited.multiply(maps).todense(), planned.multiply(maps).todense())


def matrix(array: Any) -> ct.D:
    return ct.fork(ct.const(array), ct.id) >> ct.einsum("ij,j->i")


def program(seed: int = 0) -> ct.D:
    rng = np.random.default_rng(seed)
    return matrix(rng.standard_normal((4, 3))) >> ct.tanh >> matrix(rng.standard_normal((5, 4))) >> ct.sin


def test_an_edited_plan_of_a_program() -> None:
    f, x = program(), np.array([0.1, 0.2, 0.3])
    planned = plan(f, x)
    n = len(planned.factors)
    assert n == 4
    edited = Plan.from_json(with_bracketing(planned, [[0, 1], [2, 3]]), f, ct.f64[3])
    assert edited.bracketing == ((0, 1), (2, 3)) != planned.bracketing
    expected = ct.jacobian(f)(x).todense()
    for found in (edited.run(x), ct.jacobian(f, mode=edited)(x), planned.edited([0, [1, [2, 3]]]).run(x)):
        np.testing.assert_allclose(found.todense(), expected, rtol=1e-13)
    with pytest.raises(ct.PlanError, match="for another program"):
        ct.jacobian(f >> ct.exp >> matrix(np.ones((2, 5))), mode=edited)(x)
    with pytest.raises(ct.PlanError, match="factor 0 is dense"):
        edited.multiply(ct.linearize(matrix(np.ones((4, 2))) >> ct.tanh >> matrix(np.ones((5, 4))) >> ct.sin, x[:2])[1])


@pytest.mark.parametrize(
    ("bracketing", "message"),
    [
        ([0, [1, [3, 4]]], r"leaves out a factor\n.*factor 2 here(.|\n)*bracketing\[1\]\[1\]\[0\]"),
        ([[0, 1], [2, 3]], r"leaves out a factor(.|\n)*factor 4 here(.|\n)*at the end"),
        ([0, [1, [1, [2, [3, 4]]]]], r"twice, or out of order(.|\n)*factor 1\n(.|\n)*bracketing\[1\]\[1\]\[0\]"),
        ([1, [0, [2, [3, 4]]]], r"factor 0 here(.|\n)*bracketing\[0\]"),
        ([0, [1, [2, [3, 7]]]], r"does not exist(.|\n)*factor 7(.|\n)*0 to 4"),
        ([0, [1, [2, [3, -1]]]], r"does not exist(.|\n)*factor -1"),
        ([0, [1, 2, [3, 4]]], r"made of pairs(.|\n)*bracketing\[1\]"),
        ([0, [1, [2, [3, "4"]]]], r"named by its number(.|\n)*'4'"),
        ([0, [1, [2, [3, 4.0]]]], r"named by its number"),
        ([0, [1, [2, [3, True]]]], r"named by its number"),
        ([0, [1, [2, [3, None]]]], r"named by its number"),
        ([], r"made of pairs"),
        (3, r"factor 0 here"),
        ("reverse", r"named by its number"),
        (None, r"named by its number"),
        ({"a": 1}, r"named by its number"),
    ],
)
def test_edits_that_do_not_fit(bracketing: Any, message: str) -> None:
    planned = plan(SIZES)
    with pytest.raises(ct.PlanError, match=message):
        Plan.from_json(with_bracketing(planned, bracketing), planned)
    if not isinstance(bracketing, str):
        with pytest.raises(ct.PlanError, match=message):
            plan(SIZES, mode=bracketing)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"bracketing": [0,', '"bracketing": [0', "line 4, column"),
        ("[3, 4]", "[3, 4", "line 5"),  # where the text goes on though a bracket is open
        ("[3, 4]", "[3, 4,]", "line 4"),
        ("[3, 4]", "[3,, 4]", "a comma too many"),
        ("[3, 4]", "[3, ?]", "factor number is missing"),
        ('"plan": 1,', '"plan": 1', "line 3, column 3"),
        ('"bracketing"', '"brackets"', 'no "bracketing"'),
        ('"factors": [', '"others": [', 'no "factors"'),
        ('"mode": "auto"', '"mode": "sideways"', "no such mode"),
        ('"dom": "f64[100]"', '"dom": "f64[99]"', r"factors\[0\].dom is 'f64\[99\]'"),
        ('{"factor": 1, "kind": "dense"', '{"factor": 1, "kind": "diagonal"', r"factors\[1\].kind is 'diagonal'"),
    ],
)
def test_text_that_is_no_plan(old: str, new: str, message: str) -> None:
    planned = plan(SIZES)
    text = planned.to_json()
    assert old in text
    with pytest.raises(ct.PlanError, match=message):
        Plan.from_json(text.replace(old, new), planned)


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "{", '{"bracketing": 0, "factors": 3}', '{"bracketing": 0, "factors": [1]}']
)
def test_other_text(text: str) -> None:
    with pytest.raises(ct.PlanError):
        Plan.from_json(text, SIZES)
    with pytest.raises(ct.PlanError):
        Plan.from_json(text, [(2, 2)])


def test_a_plan_for_something_else() -> None:
    planned = plan(SIZES)
    with pytest.raises(ct.PlanError, match="4 factors, the text lists 5"):
        Plan.from_json(planned.to_json(), SIZES[:4])
    with pytest.raises(ct.PlanError, match="read from JSON text"):
        Plan.from_json(None, planned)  # type: ignore[arg-type]
    maps = [ct.linear.dense(np.ones(size)) for size in SIZES]
    with pytest.raises(ct.PlanError, match="it has 4 factors, the plan 5"):
        planned.multiply(maps[:4])
    with pytest.raises(ct.PlanError, match="factor 0 is diagonal"):
        planned.multiply([ct.scale(np.ones(80)), *maps[1:]])
    with pytest.raises(ct.PlanError, match="not made for a morphism"):
        planned.run(1.0)


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("size", [(NAN, 2), (-1, 2), (2, -3), (2.5, 2), (INF, 2), (True, 2), ("2", 2), (2,), (1, 2, 3), ()])
def test_bad_sizes(size: Any) -> None:
    with pytest.raises(ct.PlanError, match=r"size of a matrix is not valid(.|\n)*factor 1"):
        plan([(2, 3), size])


@pytest.mark.parametrize("value", [NAN, -1, -0.5, "3", None, True, 1j])
def test_bad_costs(value: Any) -> None:
    with pytest.raises(ct.PlanError, match=r"returned no valid cost(.|\n)*product dense \(80 x 100\) >> dense \("):
        plan(SIZES, cost=lambda a, c: value)


@pytest.mark.parametrize("value", [NAN, -1, "3", True])
def test_bad_limits(value: Any) -> None:
    with pytest.raises(ct.PlanError, match="memory="):
        plan(SIZES, memory=value)
    with pytest.raises(ct.PlanError, match="budget="):
        plan(SIZES, budget=value)


def test_other_bad_input() -> None:
    with pytest.raises(ct.PlanError, match=r"do not meet(.|\n)*factor 0 gives f64\[2\], factor 1 takes f64\[3\]"):
        plan([(2, 10), (10, 3)])
    for mode in ("sideways", "by hand", ""):
        with pytest.raises(ct.PlanError, match="no such mode"):
            plan(SIZES, mode=mode)
    with pytest.raises(ct.PlanError, match="no such cost"):
        plan(SIZES, cost="love")
    with pytest.raises(ct.PlanError, match="derivatives only"):
        plan(ct.sin, ct.f64[()], want="money")
    with pytest.raises(ct.PlanError, match="needs its domain"):
        plan(ct.sin)
    with pytest.raises(ct.PlanError, match="go with a morphism only"):
        plan(SIZES, ct.f64[3])
    things: list[Any] = [[], 3, "abc", {1: 2}, None]
    for thing in things:
        with pytest.raises(ct.PlanError, match="this cannot be planned"):
            plan(thing)
    with pytest.raises(ct.PlanError, match=r"not a factor(.|\n)*factor 1"):
        plan([(2, 3), 4])
    with pytest.raises(ct.PlanError, match="0 to 3"):
        plan(SIZES).why(4)
    with pytest.raises(ct.PlanError, match="at most 10"):
        plan([(2, 2)] * 11).alternatives()
