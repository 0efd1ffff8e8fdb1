"""What no plan can be made of: each a named error that says what was given, and nothing is planned or run."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.planner.chains import cache
from catad.planner.plan import forget

NAN, INF = float("nan"), float("inf")
SIZES = [(3, 4), (5, 3), (2, 5)]
SCAN = ct.sin >> ct.scan(lambda a, b: a * b, 1.0)


def layer(m: int, n: int) -> ct.D:
    return ct.fork(ct.const(np.ones((m, n))), ct.id) >> ct.einsum("ij,j->i")


FORKED = ct.fork(layer(3, 4) >> ct.tanh, layer(3, 4)) >> ct.add >> layer(2, 3)
PLANNED: list[Callable[..., ct.Plan]] = [
    lambda **asked: ct.plan(SIZES, **asked),
    lambda **asked: ct.plan(FORKED, ct.f64[4], **asked),
    lambda **asked: ct.plan(FORKED >> ct.sum(), ct.f64[4], **asked),
]


@pytest.fixture
def unplanned(monkeypatch: pytest.MonkeyPatch) -> None:
    """No search begins."""
    forget()
    for name in ("_cheaper", "_of_factors", "_by_elimination", "through_basis"):
        monkeypatch.setattr(cache, name, None)


@pytest.mark.parametrize("size", [(-3, 4), (3, NAN), (INF, 2), (2.5, 3), ("a", 2), (True, 2), (3,), None, 5, "34"])
def test_sizes(size: Any, unplanned: None) -> None:
    with pytest.raises(ct.PlanError, match=r"size of a matrix is not valid|not a factor"):
        ct.plan([(3, 4), size])


@pytest.mark.parametrize("limit", [-1, NAN, "x", True, -INF, []])
@pytest.mark.parametrize("planned", PLANNED)
def test_limits(limit: Any, planned: Callable[..., ct.Plan], unplanned: None) -> None:
    for name in ("memory", "budget"):
        with pytest.raises(ct.PlanError, match=rf"limit is not valid(.|\n)*{name}="):
            planned(**{name: limit})


@pytest.mark.parametrize("planned", PLANNED)
def test_limits_that_are_too_small_for_any_plan(planned: Callable[..., ct.Plan]) -> None:
    with pytest.raises(ct.PlanError, match=r"no plan fits into the memory(.|\n)*at least \d+"):
        planned(memory=1)


def broken(first: Any, second: Any) -> float:
    raise KeyError("rate")


def counting() -> Callable[[Any, Any], float]:
    numbers = itertools.count()
    return lambda first, second: float(next(numbers))


COSTS: dict[str, tuple[Callable[[], Any], str]] = {
    "raises": (lambda: broken, "raised an error"),
    "takes one argument": (lambda: lambda a: 1.0, "raised an error"),
    "contradicts itself": (lambda: counting(), "contradicts itself"),
    "negative": (lambda: lambda a, b: -1, "no valid cost"),
    "NaN": (lambda: lambda a, b: NAN, "no valid cost"),
    "None": (lambda: lambda a, b: None, "no valid cost"),
    "text": (lambda: lambda a, b: "3", "no valid cost"),
    "complex": (lambda: lambda a, b: 1j, "no valid cost"),
    "an array": (lambda: lambda a, b: np.ones(2), "no valid cost"),
    "forbids all": (lambda: lambda a, b: INF, "forbids every plan"),
}


@pytest.mark.parametrize("name", COSTS)
@pytest.mark.parametrize("planned", PLANNED[:2])
def test_costs(name: str, planned: Callable[..., ct.Plan]) -> None:
    made, message = COSTS[name]
    cost = made()
    for _ in range(2):  # nothing is kept of the first attempt
        with pytest.raises(ct.PlanError, match=message):
            planned(cost=cost)


class Unhashed:
    __hash__ = None  # type: ignore[assignment]

    def __call__(self, first: Any, second: Any) -> float:
        return 1.0


@pytest.mark.parametrize("cost", [Unhashed(), 3, "love", [1.0]])
def test_what_is_no_cost(cost: Any, unplanned: None) -> None:
    with pytest.raises(ct.PlanError, match=r"needs a hash|no such cost"):
        ct.plan(SIZES, cost=cost)


RATES = [
    (("others", (NAN, 0, 0)),), (("others", (-1, 0, 0)),), (("others", (INF, 0, 0)),), (("matmul", (1, 1, 1)),), (),
    (("others", (1, 2)),), (("others", ("a", 0, 0)),), (("others", [1, 0, 0]),), (("others", (True, 0, 0)),), None, 3,
]  # fmt: skip


@pytest.mark.parametrize("rates", RATES, ids=str)
def test_rates_of_profiles(rates: Any) -> None:
    with pytest.raises(ct.PlanError, match=r"rates of a profile are not valid(.|\n)*others"):
        ct.CostProfile("example", rates)


EDITS = [[[0, 1]], [[0, 1], 3], [0, [1, 1]], "x", 3, None, [0], [], [[0, 1], NAN], ["push", 9], {"a": 1}, [[2, 1], 0]]


@pytest.mark.parametrize("choice", EDITS, ids=str)
def test_edits_of_a_bracketing(choice: Any) -> None:
    with pytest.raises(ct.PlanError):
        ct.plan(SIZES).edited(choice)


@pytest.mark.parametrize("choice", [[1], [1, 1, 2], [99], [0], ["push"], [("push", 0, 99)], NAN, [1.0, 2], [NAN], "x"], ids=str)
def test_edits_of_an_order(choice: Any) -> None:
    plan = ct.plan(FORKED, ct.f64[4], mode="elimination", cost="operations")
    assert plan.kind == "order"
    with pytest.raises(ct.PlanError):
        plan.edited(choice)


def test_a_plan_for_another_program() -> None:
    plan = ct.plan(FORKED, ct.f64[4])
    with pytest.raises(ct.PlanError, match="another program"):
        ct.jacobian(ct.sin, mode=plan)(np.ones(4))


@pytest.mark.parametrize("explicit", [None, "no", 1, NAN, np.ones(2), []], ids=str)
@pytest.mark.parametrize("planned", PLANNED)
def test_explicit_is_a_truth_value(explicit: Any, planned: Callable[..., ct.Plan], unplanned: None) -> None:
    with pytest.raises(ct.PlanError, match=r"explicit is a truth value(.|\n)*explicit="):
        planned(explicit=explicit)


@pytest.mark.parametrize("thing", [None, 3, "ab", np.ones((2, 4)), [np.ones((2, 4))], {}, [None]], ids=str)
def test_what_is_no_linear_map_is_not_multiplied(thing: Any) -> None:
    for plan in (ct.plan(FORKED, ct.f64[4]), ct.plan([ct.linear.dense(np.ones((2, 4)))])):
        with pytest.raises(ct.PlanError, match="a plan multiplies linear maps"):
            plan.multiply(thing)


def test_other_maps_are_not_multiplied() -> None:
    plan = ct.plan([ct.linear.dense(np.ones((3, 3))), ct.scale(np.ones(3))])
    single = ct.linear.dense(np.ones((3, 3), np.float32)), ct.scale(np.ones(3, np.float32))
    for maps in ([], [ct.scale(np.ones(3)), ct.linear.dense(np.ones((3, 3)))], [ct.scale(np.ones(3))], single):
        with pytest.raises(ct.PlanError, match="another program"):
            plan.multiply(maps)


def test_a_plan_that_recomputes_is_not_measured() -> None:
    with pytest.raises(ct.PlanError, match=r"no plan that recomputes is measured(.|\n)*mode=plan"):
        ct.plan(FORKED >> ct.sum(), ct.f64[4], memory=10**6).measure(np.ones(4))


@pytest.mark.parametrize("form", ["structured", "array", "sparse"])
def test_no_argument_is_nothing_to_differentiate(form: Any) -> None:
    """With one argument, too, which is not meant by an empty list."""
    for f, at in ((FORKED, (np.ones(4),)), (ct.mul, (np.ones(2), np.ones(2)))):
        with pytest.raises(ct.DerivativeError, match="nothing to differentiate"):
            ct.jacobian(f, argnums=[], result=form)(*at)


def test_a_sparse_form_of_a_map_without_a_pattern(unplanned: None) -> None:
    for asked in (
        lambda: ct.plan(SCAN, ct.f64[100_000], result="sparse"),
        lambda: ct.jacobian(SCAN, result="sparse")(np.ones(100_000)),
    ):
        with pytest.raises(ct.DenseLimitError, match=r"no sparse form(.|\n)*100000 x 100000(.|\n)*structured"):
            asked()


def test_a_small_map_without_a_pattern_has_a_sparse_form() -> None:
    x = np.linspace(0.5, 1.5, 20)
    np.testing.assert_allclose(ct.jacobian(SCAN, result="sparse")(x).toarray(), ct.jacfwd(SCAN)(x), rtol=1e-12)


def test_costs_that_are_invalid_at_another_size_only() -> None:
    """The plan stands; asking for the other size is an error, and nothing of it is kept."""

    def cost(first: Any, second: Any) -> float:
        return NAN if first.columns > 20 else 1.0

    plan = ct.plan(ct.function(lambda u, x: u @ np.tanh(x)), ct.f64[3, 4], ct.f64[4], cost=cost)
    for _ in range(2):
        with pytest.raises(ct.PlanError, match="no valid cost"):
            plan.what_if("nm,m", m=[4, 8])
        assert plan.what_if("nm,m", m=4)[4].best.value == plan.cost.value


def test_what_stops_early_says_why() -> None:
    few = ct.plan(FORKED, ct.f64[4], budget=1, cost="operations")
    assert not few.exact and "the search ended with its budget of 1 products" in few.explain()
    sizes = np.random.default_rng(0).integers(2, 9, 81).tolist()
    long = ct.plan([(m, n) for n, m in itertools.pairwise(sizes)])
    assert not long.exact and "not known to be optimal: the search ended" in repr(long)
