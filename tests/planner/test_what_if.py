"""What a plan costs at other sizes: equal to plans made there; the sizes where the best order changes, by trying each; errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.planner.chains import cache


def layer(m: int, n: int) -> ct.D:
    weights = np.random.default_rng(m + n).standard_normal((m, n))
    return ct.fork(ct.const(weights), ct.id) >> ct.einsum("ij,j->i")


def mixed(a, b, c, x):  # type: ignore[no-untyped-def]
    """Rows a x b, then b x c, then c x d: which end is the narrow one depends on the sizes."""
    return a @ np.tanh(b @ np.tanh(c @ x))


MIXED = ct.function(mixed)
SHAPES = [(6, 9), (9, 5), (5, 7), (7,)]


def spaces(**sizes: int) -> list[ct.Space]:
    at = {"a": 6, "b": 9, "c": 5, "d": 7, **sizes}
    return [ct.Tensor([at[c] for c in axes], "float64") for axes in ("ab", "bc", "cd", "d")]


def test_costs_are_those_of_plans_at_the_sizes() -> None:
    plan = ct.plan(MIXED, *spaces(), cost="operations")
    found = plan.what_if("ab,bc,cd,d", c=[2, 5, 11], d=3)
    assert list(found) == [(2, 3), (5, 3), (11, 3)] and found.names == ("c", "d")
    for (c, d), row in found.items():
        there = ct.plan(MIXED, *spaces(c=c, d=d), cost="operations")
        assert row.best == there.cost and row.choice == there.strategy.choice
        assert row.own == there.edited(plan.strategy.choice).cost
        assert row.same == (row.own.value <= row.best.value)


def test_a_program_of_arrays_is_read_again_at_each_size() -> None:
    """A function that is called with arrays, and one that takes a dict: the program at another size is another one."""

    def f(p):  # type: ignore[no-untyped-def]
        for _ in range(3):
            p = {"x": np.tanh(p["x"] * p["y"]), "y": p["y"]}
        return np.cumsum(p["x"]) + len(p["x"])

    plan = ct.plan(f, {"x": np.ones(4), "y": np.ones(4)}, cost="operations")
    assert plan.sizes == {"n": 4}
    there = ct.plan(f, {"x": np.ones(9), "y": np.ones(9)}, cost="operations")
    assert plan.what_if(n=9)[9].best == there.cost
    hessian = ct.plan(lambda x: np.sum(np.sin(x) * x), np.ones(4), want="hessian", cost="operations")
    again = ct.plan(lambda x: np.sum(np.sin(x) * x), np.ones(6), want="hessian", cost="operations")
    assert hessian.what_if(n=6)[6].best == again.cost


def test_sizes_where_the_order_changes_are_found() -> None:
    """A chain of matrices: the best bracketing at each size, one by one, beside those that were found by halving."""
    sizes = [(30, 12), (9, 30), (25, 9), (4, 25), (40, 4)]
    plan = ct.plan(sizes)
    assert plan.sizes == {"n": 12, "m": 30, "k": 9, "l": 25, "p": 4, "q": 40}
    for name, at in (("k", 2), ("p", 4), ("m", 1), ("q", 5)):
        ns = list(range(2, 80))

        def made(n: int, at: int = at) -> ct.Plan:
            lengths = [12, 30, 9, 25, 4, 40]
            lengths[at] = n
            return ct.plan(list(zip(lengths[1:], lengths, strict=False)))

        expected: list[int] = []
        best = made(2).alternatives()[0][0]
        for n in ns:
            first, cost = made(n).alternatives()[0]
            if made(n).edited(best).cost.operations > cost.operations:
                expected.append(n)
                best = first
        found = plan.what_if(**{name: [2, 79]})  # type: ignore[arg-type]
        assert len(found.changes) == len(expected)
        for change, n in zip(found.changes, expected, strict=True):
            assert abs(change - n) <= 1  # at a tie either may be named
        text = repr(found)
        assert ("one order is the best" in text) == (not expected)
        assert all(f"from {name} = {change} on" in text for change in found.changes)


def test_what_prints() -> None:
    plan = ct.plan(MIXED, *spaces(), cost="operations")
    lines = repr(plan.what_if("ab,bc,cd,_", c=[2, 50])).splitlines()
    assert lines[0].split() == ["c", "this", "plan", "best"] and len(lines) >= 4
    timed = ct.plan(ct.sin, ct.f64[100]).what_if(n=[10, 10_000])
    assert "10,000" in repr(timed) and "one order is the best" in repr(timed)


LENGTHS = [-1, float("nan"), float("inf"), 2.5, True, "many", None, [3, -2], [[3]], np.array([2.0, np.nan])]


@pytest.mark.parametrize("length", LENGTHS, ids=str)
def test_what_is_no_length(length: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = ct.plan(MIXED, *spaces())
    monkeypatch.setattr(cache, "of_structure", None)  # nothing is planned
    with pytest.raises(ct.PlanError, match=r"size is not valid(.|\n)*n="):
        plan.what_if(n=length)


def test_sizes_that_the_program_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = ct.plan(MIXED, *spaces(), cost="operations")
    fixed = ct.plan(layer(3, 4) >> ct.tanh, ct.f64[4], cost="operations")
    scalar = ct.plan(ct.sin, ct.f64[()], cost="operations")
    monkeypatch.setattr(cache, "of_structure", None)  # nothing is planned
    with pytest.raises(ct.PlanError, match=r"no such size(.|\n)*given: *q(.|\n)*one of n \(now 6\), m \(now 9\)"):
        plan.what_if(q=3)
    with pytest.raises(ct.PlanError, match=r"does not exist at this size(.|\n)*n=5"):
        fixed.what_if(n=[4, 5])
    with pytest.raises(ct.PlanError, match="no argument has an axis"):
        scalar.what_if(n=3)
    with pytest.raises(ct.PlanError, match="needs a size"):
        plan.what_if()
    with pytest.raises(ct.PlanError, match="differ in length"):
        plan.what_if(n=[1, 2], m=[1, 2, 3])
    with pytest.raises(ct.PlanError, match="differ in length"):
        plan.what_if(n=[])
    with pytest.raises(ct.PlanError, match="does not exist"):
        plan.what_if(n=1 << 62)


@pytest.mark.parametrize("axes", ["ab", "ab,bc,cd,e,f", "ab,bc,cd,1", 3, "aa,aa,aa,a", "ab,bc,cd,"])
def test_axes_that_cannot_be_named_so(axes: Any) -> None:
    with pytest.raises(ct.PlanError, match=r"cannot be named so|one name stands for two lengths"):
        ct.plan(MIXED, *spaces()).what_if(axes, a=3)


def test_plans_of_one_size_only() -> None:
    f = layer(3, 4)
    _, L = ct.linearize(f, np.ones(4))
    for plan in (ct.plan(L), ct.plan([L]), ct.plan_chain([(2, 3, 1), (3, 2, 1)])):
        with pytest.raises(ct.PlanError, match=r"one size only|no maps"):
            plan.what_if(n=3)
    step = ct.sin >> ct.scan(lambda a, b: a + b, 0.0) >> ct.map(lambda x: 0.001 * x)
    deep = ct.compose(*[step] * 12) >> ct.sum()
    most = ct.plan(deep, ct.f64[1000], memory=10**9, cost="operations").cost.peak
    with pytest.raises(ct.PlanError, match="one size only"):
        ct.plan(deep, ct.f64[1000], memory=most // 2, cost="operations").what_if(n=10)
