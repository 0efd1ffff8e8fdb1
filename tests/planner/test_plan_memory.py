"""Plans under a memory limit that recompute instead of keep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.planner import plan
from catad.planner.memory.recompute import recomputing, with_checkpoints


def layer(m: int, n: int, seed: int) -> ct.D:
    weights = np.random.default_rng(seed).standard_normal((m, n)) / n
    return ct.fork(ct.const(weights), ct.id) >> ct.einsum("ij,j->i")


def deep(n: int = 5, times: int = 2) -> ct.D:
    products = ct.scan(lambda a, b: a * b, 1.0)
    return ct.compose(*[ct.exp >> ct.tanh >> products for _ in range(times)]) >> layer(2, n, 0)


X = np.random.default_rng(1).standard_normal(5) / 10


@pytest.mark.quick(1)
@pytest.mark.parametrize("explicit", [True, False])
def test_less_memory_is_more_work_and_the_same_numbers(explicit: bool) -> None:
    f = deep()
    free = plan(f, X, explicit=explicit, cost="operations")
    expected = free.run(X).todense()
    assert not free.recomputes
    limit, met = free.cost.peak - 1, []
    while True:
        try:
            small = plan(f, X, explicit=explicit, memory=limit, cost="operations")
        except ct.PlanError as error:
            assert "at least" in str(error)
            break
        assert small.cost.peak <= limit
        if small.recomputes:
            assert small.program is not None and small.program.source == f and not small.exact
            assert small.program.term == with_checkpoints(f, small.program.recomputed) != f
        np.testing.assert_allclose(small.run(X).todense(), expected, rtol=1e-12)
        np.testing.assert_allclose(ct.jacobian(f, mode=small)(X).todense(), expected, rtol=1e-12)
        met.append(small)
        limit = small.cost.peak - 1
    assert sum(small.recomputes for small in met) >= 3
    assert met[-1].cost.peak == 8 * (5 + (2 * 5 if explicit else 0))  # the argument, and the result where it is written out
    if explicit:
        assert met[-1].cost.operations > free.cost.operations


def test_the_error_says_the_least_that_would_do() -> None:
    f = deep()
    with pytest.raises(ct.PlanError, match="at least") as error:
        plan(f, X, memory=1)
    least = int(str(error.value).split("at least ")[1].split(":")[0])
    assert plan(f, X, memory=least).cost.peak == least
    with pytest.raises(ct.PlanError, match=f"at least {least}"):
        plan(f, X, memory=least - 1)


def test_one_box_is_recomputed_as_a_whole() -> None:
    f = ct.fork(ct.sin, ct.cos) >> ct.mul
    single = ct.D(lambda x: (x * x * x, ct.scale(3.0 * x * x)))
    for g in (f, single):
        first, *_ = recomputing(g)
        assert first == ((0, max(len(g), 1)),) and with_checkpoints(g, first) == ct.checkpoint(g)


def test_runs_of_boxes_become_checkpoints() -> None:
    f = ct.sin >> ct.checkpoint(ct.exp) >> ct.tanh >> ct.cos
    assert with_checkpoints(f, ((1, 3),)) == ct.sin >> ct.checkpoint(ct.checkpoint(ct.exp) >> ct.tanh) >> ct.cos
    assert with_checkpoints(f, ((0, 1), (1, 2))) == ct.checkpoint(ct.sin) >> ct.checkpoint(f[1:2]) >> ct.tanh >> ct.cos
    assert with_checkpoints(f, ()) == f
    y = np.linspace(0.1, 0.4, 4)
    small = plan(f, y, memory=64)
    assert small.recomputes
    np.testing.assert_allclose(ct.jacobian(f, mode=small)(y).todense(), ct.jacobian(f)(y).todense())


def test_a_plan_that_recomputes_is_for_its_program() -> None:
    f = deep()
    small = plan(f, X, memory=plan(f, X).cost.peak // 4)
    assert small.recomputes and any(kind.kind == "matrix-free" for kind in small.factors)
    for other in (f >> ct.sin, ct.sin >> f):
        with pytest.raises(ct.PlanError, match="another program"):
            ct.jacobian(other, mode=small)(X)


@pytest.mark.parametrize("mode", ["forward", "reverse", [[0, 1], 2]])
def test_a_bracketing_that_was_asked_for_is_not_exchanged(mode: Any) -> None:
    f = layer(20, 5, 0) >> ct.tanh >> layer(20, 20, 1)
    assert len(plan(f, X).factors) == 3
    with pytest.raises(ct.PlanError, match="no plan fits"):
        plan(f, X, mode=mode, memory=100)
