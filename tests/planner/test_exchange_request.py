"""Plans as JSON: what the text says of the request is what the loaded plan is, and equal plans are equal."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.planner.plan import forget

X = ct.f64[4]
CHAIN = ct.sin >> ct.exp >> ct.lift(np.ones((3, 4)))
FORKS = ct.fork(ct.sin >> ct.exp, ct.cos) >> ct.mul >> ct.exp
SIZES = [(80, 100), (50, 80), (3, 50)]
GRAPH = ct.Graph([(0, 1), (1, 2), (1, 5), (2, 3), (2, 4), (2, 5)], [0], [3, 4, 5], sizes=[2, 1, 1, 2, 1, 1])
SWEPT = [(2, 3, 10), (4, 2, 20)]
PROFILE = ct.CostProfile("example", (("others", (1e-6, 1e-9, 1e-9)),))

CASES: dict[str, tuple[Callable[..., ct.Plan], tuple[Any, ...], dict[str, Any]]] = {
    "by time": (ct.plan, (CHAIN, X), {}),
    "by operations": (ct.plan, (CHAIN, X), {"cost": "operations"}),
    "recomputing": (ct.plan, (CHAIN, X), {"memory": 100}),
    "hessian": (ct.plan, (ct.exp >> ct.sum(), X), {"want": "hessian", "cost": "operations"}),
    "with limits": (ct.plan, (CHAIN, X), {"memory": np.int64(1000), "budget": 100, "explicit": True, "mode": "reverse"}),
    "elimination": (ct.plan, (FORKS, X), {"mode": "elimination", "cost": "operations"}),
    "sizes": (ct.plan, (SIZES,), {}),
    "graph": (ct.plan_graph, (GRAPH,), {}),
    "sizes of a chain": (ct.plan_chain, (SWEPT,), {"memory": 15}),
}
each_case = pytest.mark.parametrize(("make", "subject", "options"), CASES.values(), ids=CASES)


@each_case
def test_equal_plans_are_equal(make: Any, subject: Any, options: Any) -> None:
    made = make(*subject, **options)
    forget()
    for other in (pickle.loads(pickle.dumps(made)), make(*subject, **options)):
        assert other == made and hash(other) == hash(made) and other.strategy == made.strategy


def test_other_plans_are_not_equal() -> None:
    first = ct.plan(SIZES)
    assert first != first.edited("forward") != ct.plan(SIZES, mode="forward", explicit=True)
    assert ct.plan(CHAIN, X, memory=100) != ct.plan(CHAIN, X)
    order = ct.plan(FORKS, X, mode="elimination", cost="operations")
    assert order != ct.plan(FORKS, ct.f64[5], mode="elimination", cost="operations")


@each_case
def test_a_text_is_for_what_was_planned(make: Any, subject: Any, options: Any) -> None:
    made = make(*subject, **options)
    text = made.to_json()
    assert ct.Plan.from_json(text, made) is made
    again = ct.Plan.from_json(text, *subject)
    assert again == made and again.to_json() == text


def test_a_loaded_plan_recomputes() -> None:
    x = np.linspace(0.1, 0.4, 4)
    small = ct.plan(CHAIN, X, memory=100)
    assert small.recomputes and json.loads(small.to_json())["request"]["recomputed"] == [[0, 3]]
    free = ct.plan(CHAIN, X)
    for base in ((CHAIN, X), (small,), (free,), (small.edited("auto"),)):
        again = ct.Plan.from_json(small.to_json(), *base)
        assert again == small
        np.testing.assert_allclose(ct.jacobian(CHAIN, mode=again)(x).todense(), free.run(x).todense())
    assert ct.Plan.from_json(free.to_json(), small) == free
    edited = small.edited("auto")
    assert edited.recomputes and ct.Plan.from_json(edited.to_json(), CHAIN, X) == edited
    linear = ct.linearize(CHAIN, x)[1]
    for other in (linear, ct.plan(linear)):
        with pytest.raises(ct.PlanError, match=r"recomputes parts of a program\n.*this program"):
            ct.Plan.from_json(small.to_json(), other)
    with pytest.raises(ct.PlanError, match=r"request.want"):
        ct.Plan.from_json(ct.plan(ct.exp >> ct.sum(), X, want="hessian").to_json(), ct.plan(ct.exp >> ct.sum(), X))


def test_a_loaded_plan_is_priced_as_its_text_says() -> None:
    counted, timed = ct.plan(CHAIN, X, cost="operations"), ct.plan(CHAIN, X)
    assert counted.cost.value != timed.cost.value
    assert ct.Plan.from_json(counted.to_json(), timed) == counted and ct.Plan.from_json(timed.to_json(), counted) == timed
    assert ct.Plan.from_json(timed.to_json(), CHAIN, X, cost="operations") == counted
    assert ct.Plan.from_json(timed.to_json(), timed, cost="operations") == counted


def test_a_bracketing_is_read_where_an_order_is_best() -> None:
    order = ct.plan(FORKS, X, mode="elimination", cost="operations")
    bracketed = order.edited("reverse")
    assert (order.kind, bracketed.kind) == ("order", "bracketing")
    again = ct.Plan.from_json(bracketed.to_json().replace('"mode": "reverse"', '"mode": "by hand"'), order)
    assert (again.kind, again.mode, again.bracketing) == ("bracketing", "by hand", bracketed.bracketing)


def area(first: Any, second: Any) -> float:
    return float(first.columns * second.rows)


@pytest.mark.parametrize(("cost", "name"), [(area, "a function"), (PROFILE, "a cost profile")])
def test_a_cost_that_no_text_tells(cost: Any, name: str) -> None:
    made = ct.plan(CHAIN, X, cost=cost)
    text = made.to_json()
    assert json.loads(text)["request"]["cost"] == name
    assert ct.Plan.from_json(text, CHAIN, X, cost=cost) == made and ct.Plan.from_json(text, made) is made
    for base in ((CHAIN, X), (ct.plan(CHAIN, X),)):
        with pytest.raises(ct.PlanError, match=rf'cannot tell its cost\n.*"{name}"(.|\n)*cost='):
            ct.Plan.from_json(text, *base)


def test_sizes_have_one_cost() -> None:
    for made, subject in ((ct.plan_graph(GRAPH), GRAPH), (ct.plan_chain(SWEPT), SWEPT)):
        for base in (made, subject):
            assert ct.Plan.from_json(made.to_json(), base, cost="operations") == made
            with pytest.raises(ct.PlanError, match="sizes has one cost only"):
                ct.Plan.from_json(made.to_json(), base, cost="time")
    with pytest.raises(ct.PlanError, match=r'no "order"|no "vertices"'):
        ct.Plan.from_json(ct.plan(SIZES).to_json(), GRAPH)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("plan", 2),
        ("plan", "1"),
        ("plan", True),
        ("mode", ["auto"]),
        ("cost", 3),
        ("request", []),
        ("request", {"colour": 1}),
        ("request.cost", "love"),
        ("request.cost", None),
        ("request.cost", ["time"]),
        ("request.want", "money"),
        ("request.explicit", 1),
        ("request.memory", "100"),
        ("request.memory", -1),
        ("request.budget", 0),
        ("request.budget", True),
        ("request.recomputed", None),
        ("request.recomputed", [[0, 99]]),
        ("request.recomputed", [[2, 2]]),
        ("request.recomputed", [[0, 2], [1, 3]]),
        ("request.recomputed", [[0, 1.5]]),
        ("request.recomputed", [0]),
    ],
)
def test_fields_that_cannot_be_read(key: str, value: Any) -> None:
    made = ct.plan(CHAIN, X)
    data = json.loads(made.to_json())
    *outer, last = key.split(".")
    (data["request"] if outer else data)[last] = value
    for base in ((CHAIN, X), (made,)):
        with pytest.raises(ct.PlanError, match=rf"where: +{key}"):
            ct.Plan.from_json(json.dumps(data), *base)


def test_a_text_may_leave_out_its_request() -> None:
    made = ct.plan(CHAIN, X, cost="operations", memory=1000)
    data = json.loads(made.to_json())
    del data["request"]
    assert ct.Plan.from_json(json.dumps(data), made) is made
    assert ct.Plan.from_json(json.dumps(data), CHAIN, X) == ct.plan(CHAIN, X)


def test_the_form_that_is_asked_for_is_kept() -> None:
    """`result=` of a plan in its text; and a plan for an array counts writing it out."""
    f = ct.fork(ct.sin, ct.cos) >> ct.mul
    for result in ("structured", "array", "sparse"):
        made = ct.plan(f, ct.f64[5], cost="operations", result=result)  # type: ignore[arg-type]
        again = ct.Plan.from_json(made.to_json(), f, ct.f64[5])
        assert again == made and again.request.result == made.request.result
    array = ct.plan(f, ct.f64[5], cost="operations", result="array")
    assert '"result": "array"' in array.to_json() and "written out as an array" in array.explain()
    text = array.to_json()
    without = ct.Plan.from_json(text.replace('"result": "array", ', ""), f, ct.f64[5])
    assert without.request.result == "structured"
    with pytest.raises(ct.PlanError, match=r"cannot be read(.|\n)*request.result"):
        ct.Plan.from_json(text.replace('"result": "array"', '"result": "table"'), f, ct.f64[5])
    with pytest.raises(ct.PlanError, match="no such form"):
        ct.plan(f, ct.f64[5], result="table")  # type: ignore[arg-type]
