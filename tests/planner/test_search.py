"""The search against brute force, results against NumPy, predictions against what is executed."""

from __future__ import annotations

import time

import numpy as np
import pytest

import catad as ct
from catad.planner import Plan, plan, plan_structure
from catad.planner.chains.brackets import text
from catad.planner.request import Request

from .chains import bracketings, cost, dense_product, random_blocks, random_chain, with_bases


def matrix(linear: ct.LinearMap) -> np.ndarray:
    return np.asarray(linear.todense()).reshape(linear.cod.size, linear.dom.size)


def executed(planned: Plan) -> int:
    """The operations of the boxes of the program that runs the plan."""
    wiring = planned.strategy.execution.wiring
    return sum(p.cost(wiring.spaces(ins), wiring.spaces(outs)) for p, ins, outs in wiring.boxes)


@pytest.mark.quick(20)
@pytest.mark.parametrize("seed", range(120))
def test_every_bracketing_of_a_random_chain(seed: int) -> None:
    maps = random_chain(seed, 2 + seed % 4)
    every = [b for plain in bracketings(0, len(maps) - 1) for b in with_bases(plain, maps)]
    expected = dense_product(maps)
    costs = []
    for bracketing in every[:: 1 + len(every) // 100]:
        planned = plan(maps, mode=bracketing)
        np.testing.assert_array_equal(matrix(planned.multiply(maps)), expected)
        assert planned.cost.operations == executed(planned) == sum(step.operations for step in planned.steps)
        costs.append(planned.cost)
    counted = [cost(b, maps)[0] for b in every]
    if not any(m.structure.is_zero for m in maps):
        assert [c.value for c in costs] == counted[:: 1 + len(every) // 100]
    best = plan(maps)
    assert best.exact
    assert best.cost.value == min(counted)
    assert best.cost.peak == min(c.peak for c in costs if c.value == best.cost.value)
    np.testing.assert_array_equal(matrix(best.multiply(maps)), expected)


@pytest.mark.quick(6)
@pytest.mark.parametrize("seed", range(40))
def test_every_bracketing_of_random_blocks(seed: int) -> None:
    maps = random_blocks(seed, 2 + seed % 3)
    expected = dense_product(maps)
    costs = []
    for bracketing in bracketings(0, len(maps) - 1):
        planned = plan(maps, mode=bracketing)
        np.testing.assert_array_equal(matrix(planned.multiply(maps)), expected)
        assert planned.cost.operations == executed(planned)
        costs.append(planned.cost.value)
    assert plan(maps).cost.value == min(costs)


@pytest.mark.quick(7)
@pytest.mark.parametrize("seed", range(20))
def test_larger_chains_of_one_linear_map(seed: int) -> None:
    maps = random_chain(1000 + seed, 12)
    whole = maps[0]
    for m in maps[1:]:
        whole = whole >> m
    expected = dense_product(maps)
    least = None
    for mode in ("auto", "forward", "reverse"):
        planned = plan_structure(whole.structure, Request(mode))
        assert planned is plan_structure(whole.structure, Request(mode))
        product = planned.multiply(whole)
        assert (product.dom, product.cod) == (whole.dom, whole.cod)
        np.testing.assert_array_equal(matrix(product), expected)
        assert planned.cost.operations == executed(planned)
        least = planned.cost.operations if least is None else least
        assert planned.cost.operations >= least


def test_the_state_includes_the_structure() -> None:
    """Diagonals first, since they stay diagonal: a plan that looked at sizes alone could not know."""
    rng = np.random.default_rng(0)
    diagonals = [ct.scale(rng.standard_normal(50)) for _ in range(3)]
    maps = [ct.linear.dense(rng.standard_normal((50, 50))), *diagonals]
    planned = plan(maps)
    assert planned.cost.operations == 50 + 50 + 2500
    assert plan(maps, mode="forward").cost.operations == 3 * 2500
    assert planned.result.kind == "dense"


def test_no_rule_stays_a_chain_and_what_has_one_never_does() -> None:
    rng = np.random.default_rng(0)
    d, r = ct.scale(rng.standard_normal(4)), ct.linear.recurrence(rng.standard_normal(4))
    m = ct.linear.dense(rng.standard_normal((4, 4)))
    assert plan([r, d, r]).result.kind.startswith("chain of ")
    assert plan([r, d, r]).steps[0].lazy
    for bracketing in bracketings(0, 2):
        assert plan([d, r, m], mode=bracketing).result.kind == "dense"


def test_arrays_that_stand_in_two_factors_are_one_array() -> None:
    a = ct.linear.dense(np.arange(9.0).reshape(3, 3))
    power = plan([a, a, a, a])
    assert power.cost.operations == 2 * 27 == executed(power)  # a square, and its square
    assert not power.exact  # the search counts each product by itself, and says so
    np.testing.assert_array_equal(power.multiply([a, a, a, a]).todense(), np.linalg.matrix_power(a.todense(), 4))
    index = ct.linear.gather(np.array([2, 0, 2]), ct.f64[3])
    assert plan([index, index.T]).result.kind == "diagonal"
    np.testing.assert_array_equal(plan([index, index.T]).multiply([index, index.T]).todense(), np.diag([1.0, 0.0, 2.0]))


def test_zero_absorbs_the_rest() -> None:
    maps = [ct.linear.dense(np.ones((3, 3))), ct.linear.zero(ct.f64[3], ct.f64[2]), ct.linear.dense(np.ones((4, 2)))]
    for mode in ("auto", "forward", "reverse"):
        planned = plan(maps, mode=mode)
        assert planned.result.is_zero and planned.cost.operations == 0 == executed(planned)
        np.testing.assert_array_equal(planned.multiply(maps).todense(), np.zeros((4, 3)))


def test_one_factor_and_identities() -> None:
    d = ct.scale(np.arange(3.0))
    planned = plan([d])
    assert planned.steps == () and planned.cost.operations == 0 and planned.exact
    assert planned.multiply(d).slots[0] is d.slots[0]
    assert "nothing to multiply" in planned.table()
    same = ct.linear.identity(ct.f64[3])
    assert plan([same, d, same]).multiply([same, d, same]).kind == "diagonal"
    assert plan([same, same]).multiply([same, same]).kind == "identity"


def test_memory_limits_the_peak() -> None:
    sizes = [(60, 10), (2, 60), (60, 2), (10, 60), (10, 10)]
    free = plan(sizes)
    fronts = sorted({(c.peak, c.operations) for _, c in free.alternatives()})
    for limit, _ in fronts:
        under = plan(sizes, memory=limit)
        assert under.cost.peak <= limit
        assert under.cost.operations == min(o for p, o in fronts if p <= limit)
    with pytest.raises(ct.PlanError, match=f"at least {fronts[0][0]}"):
        plan(sizes, memory=fronts[0][0] - 1)


def test_memory_under_a_random_chain() -> None:
    for seed in range(10):
        maps = random_chain(seed, 5)
        trees = [b for plain in bracketings(0, len(maps) - 1) for b in with_bases(plain, maps)]
        every = [plan(maps, mode=b).cost for b in trees[:2000]]
        assert next(c for _, c in plan(maps).alternatives()) in every
        for limit in {c.peak for c in every}:
            assert plan(maps, memory=limit).cost.value == min(c.value for c in every if c.peak <= limit)


def test_a_cost_function() -> None:
    sizes = [(2, 3), (4, 2), (5, 4)]
    sweet = plan(sizes, cost=lambda a, c: 1.0 if 4 in (a.rows, c.rows) and a.columns == 3 else 2.0)
    assert sweet.bracketing == ((0, 1), 2) and sweet.cost.value == 2.0
    never = plan(sizes, cost=lambda a, c: float("inf") if a.rows == 2 and c.rows == 4 else 1)
    assert never.bracketing == (0, (1, 2)) and never.cost.value == 2
    assert never.cost.operations == plan(sizes, mode=[0, [1, 2]]).cost.operations


def test_a_long_chain_is_quick() -> None:
    rng = np.random.default_rng(1)
    dims = [int(n) for n in rng.integers(2, 50, 1001)]
    sizes = list(zip(dims[1:], dims[:-1], strict=True))
    start = time.perf_counter()
    planned = plan(sizes)
    assert time.perf_counter() - start < 10  # about half a second; slow machines are forgiven
    assert not planned.exact and "not known to be optimal" in planned.explain()
    rivals = [plan(sizes, mode=mode).cost.operations for mode in ("forward", "reverse")]
    assert planned.cost.operations <= min(rivals)
    assert len(planned.steps) == 999
    again = Plan.from_json(planned.to_json(), planned)
    assert text(1000, again.strategy.tree) == text(1000, planned.strategy.tree)
    assert len(planned.table().splitlines()) < 60


def test_a_long_chain_without_products() -> None:
    rng = np.random.default_rng(2)
    maps = [ct.scale(rng.standard_normal(3)) if k % 2 else ct.linear.recurrence(rng.standard_normal(3)) for k in range(400)]
    planned = plan(maps)
    assert planned.cost.operations == 0 and planned.result.kind.startswith("chain of")
    longer = plan([*maps, ct.linear.dense(np.eye(3))])
    assert longer.result.kind == "dense"


def test_a_long_chain_merges_what_costs_nothing() -> None:
    rng = np.random.default_rng(3)
    maps = [ct.scale(rng.standard_normal(30)) for _ in range(200)] + [ct.linear.dense(rng.standard_normal((30, 30)))]
    planned = plan(maps)
    assert planned.cost.operations == 199 * 30 + 900
    product = np.prod([np.asarray(m.slots[0]) for m in maps[:-1]], axis=0)
    np.testing.assert_allclose(planned.multiply(maps).todense(), maps[-1].todense() * product, rtol=1e-12)


def test_the_budget_bounds_the_search() -> None:
    sizes = [(4, 9), (8, 4), (3, 8), (9, 3), (2, 9), (7, 2), (7, 7), (3, 7), (8, 3), (5, 8)]
    assert plan(sizes).exact
    assert not plan(sizes, budget=20).exact
    assert plan([(5, 5)] * 10, budget=20).exact  # no bracketing is below the bound, which this one reaches


def test_nothing_stays_a_chain_inside_a_block_either() -> None:
    rng = np.random.default_rng(0)
    space = ct.f64[4] * ct.f64[4]
    none = ct.linear.zero(ct.f64[4], ct.f64[4])
    kinds = [
        ct.scale(rng.standard_normal(4)),
        ct.linear.recurrence(rng.standard_normal(4)),
        ct.linear.dense(rng.standard_normal((4, 4))),
    ]
    maps = [ct.linear.block([[a, none], [none, a]], space, space) for a in kinds]
    for mode in ("forward", "reverse", "auto"):
        planned = plan(maps, mode=mode)
        cells = [part[0].kind for line in planned.result.grid for part in line if part]  # type: ignore[attr-defined]
        assert cells == ["dense", "dense"]
        np.testing.assert_allclose(matrix(planned.multiply(maps)), dense_product(maps), rtol=1e-12)


def test_sizes_of_one_take_no_more_looking_than_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of dense matrices are laid out where they are chosen only, whatever their sizes are."""
    from catad.planner.chains import search as search

    joined: list[int] = []
    real = search.join
    monkeypatch.setattr(search, "join", lambda *given: (joined.append(1), real(*given))[1])
    sizes = [(k * 7919 + 13) % 60 + 1 for k in range(41)]
    for k in (0, 9, 20, 33, 40):
        sizes[k] = 1
    made = ct.plan([(sizes[k + 1], sizes[k]) for k in range(40)])
    assert made.exact and len(joined) < 100
