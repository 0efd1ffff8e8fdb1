"""Jacobians through thin vertices: what they store, that they are right, and that others stay as they were."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import catad as ct

N, RANK, BLOCKS = 400, 3, 4


def blocks(n: int = N, rank: int = RANK, count: int = BLOCKS) -> tuple[ct.D, Any]:
    """x + U tanh(V x), some times, and a point."""
    rng = np.random.default_rng(0)
    f: ct.D = ct.id
    for _ in range(count):
        v, u = ct.const(rng.standard_normal((rank, n)) / n), ct.const(rng.standard_normal((n, rank)))
        inner = ct.fork(v, ct.id) >> ct.einsum("ij,j->i") >> ct.tanh
        f = f >> ct.fork(ct.id, ct.fork(u, inner) >> ct.einsum("ij,j->i")) >> ct.add
    return f, rng.standard_normal(n)


def test_four_blocks_store_their_factors() -> None:
    f, x = blocks()
    J = ct.jacobian(f)(x)
    _, L = ct.linearize(f, x)
    dense = L.todense()
    assert J.stored <= 12_000 and J.stored >= 2 * BLOCKS * RANK * N
    assert np.allclose(J.todense(), dense, rtol=0, atol=1e-13)
    v = np.random.default_rng(1).standard_normal((N, 5))
    assert np.allclose(J @ v, dense @ v) and np.allclose(J.T @ v, dense.T @ v) and np.allclose(J(v[:, 0]), dense @ v[:, 0])
    assert J.T.stored == J.stored and np.allclose(J.tocsr().toarray(), dense) and np.allclose(J.diagonal(), np.diag(dense))
    assert np.allclose(J.solve(v[:, 0]), np.linalg.solve(dense, v[:, 0]))


def test_they_are_those_of_differences_and_of_jax() -> None:
    f, x = blocks()
    J = ct.jacobian(f)(x)
    direction, h = np.random.default_rng(2).standard_normal(N), 1e-5
    assert np.allclose(J(direction), (f(x + h * direction) - f(x - h * direction)) / (2 * h), atol=1e-7)
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    rng = np.random.default_rng(0)
    pairs = [(rng.standard_normal((RANK, N)) / N, rng.standard_normal((N, RANK))) for _ in range(BLOCKS)]

    def same(x: Any) -> Any:
        for v, u in pairs:
            x = x + u @ jax.numpy.tanh(v @ x)
        return x

    assert np.allclose(J.todense(), jax.jacfwd(same)(x), rtol=0, atol=1e-12)


def test_making_and_using_it_takes_few_operations() -> None:
    f, x = blocks()
    plan = ct.plan(f, ct.f64[N], cost="operations")
    L = ct.linearize(f, x)[1]
    with ct.count() as making:
        J = plan.multiply(L)
    with ct.count() as using:
        J(x)
    ways = plan.compare()
    assert making.operations == plan.cost.operations <= 30_000 and ways["elimination"].operations > 50 * making.operations
    assert using.operations <= 12_000 and ways["planned"].stored <= 12_000 and ways["elimination"].use == N * N


def test_it_says_what_is_known() -> None:
    """The best plan of one map is known for two blocks; which vertices stay is a rule. A chain gives one map."""
    f, _ = blocks(200, 2, 2)
    plan = ct.plan(f, ct.f64[200], cost="operations")
    assert plan.result.stored < 2000 and plan.exact and "vertices that stay chosen by minimal fill" in plan.reservations
    v, u = ct.const(np.ones((2, 200))), ct.const(np.ones((200, 2)))
    inner = ct.fork(v, ct.id) >> ct.einsum("ij,j->i") >> ct.tanh
    chain = ct.plan(ct.fork(u, inner) >> ct.einsum("ij,j->i"), ct.f64[200], cost="operations")
    assert chain.kind == "bracketing" and chain.result.stored == 200 * 200


def test_an_array_is_written_out() -> None:
    f, x = blocks(100, 2, 2)
    array = ct.jacobian(f, result="array")(x)
    assert isinstance(array, np.ndarray) and np.allclose(array, ct.linearize(f, x)[1].todense(), rtol=0, atol=1e-13)
    made = ct.plan(f, ct.f64[100], cost="operations").multiply(ct.linearize(f, x)[1])
    assert made.stored < 1000 and np.allclose(made.todense(), array, rtol=0, atol=1e-13)


@pytest.mark.parametrize("rank", [60, 100, 300])
def test_wide_blocks_are_dense(rank: int) -> None:
    f, _ = blocks(100, rank, 3)
    assert ct.plan(f, ct.f64[100], cost="operations").result.stored == 100 * 100


def test_the_plan_says_what_stays_and_is_saved() -> None:
    f, x = blocks()
    plan = ct.plan(f, ct.f64[N], cost="operations")
    text = plan.explain()
    assert "7 vertices eliminated, 4 kept" in text and text.count("kept, since the result is smaller with it") == 4
    assert "vertex" in plan.why(len(plan.steps) - 1) and plan.draw()
    again = ct.Plan.from_json(plan.to_json(), f, ct.f64[N])
    assert again == plan and again.result == plan.result
    order = json.loads(plan.to_json())["order"]
    J = ct.jacobian(f)(x)
    every = plan.edited([entry if isinstance(entry, int) else entry[1] for entry in order])
    assert every.result.stored == N * N
    assert np.allclose(ct.jacobian(f, mode=every)(x).todense(), J.todense(), rtol=0, atol=1e-13)
    one = plan.edited([*order[:-1], order[-1][1]])
    assert np.allclose(ct.jacobian(f, mode=one)(x).todense(), J.todense(), rtol=0, atol=1e-13)


@pytest.mark.parametrize("end", [["keep", 0], ["keep", 12], ["keep", 2], ["keep", True], ["hold", 2], ["keep", 1.0]])
def test_an_order_that_keeps_what_it_cannot_is_refused(end: Any) -> None:
    f, _ = blocks()
    plan = ct.plan(f, ct.f64[N], cost="operations")
    order = json.loads(plan.to_json())["order"]
    with pytest.raises(ct.PlanError):
        plan.edited([*order[:-1], end])


def test_several_inputs_and_outputs() -> None:
    rng = np.random.default_rng(3)
    v, u = rng.standard_normal((2, 150)) / 150, rng.standard_normal((150, 2))

    def f(x: Any, y: Any) -> Any:
        t = np.tanh(v @ x) * np.sin(v @ y)
        return x + u @ t, y * 2.0 - u @ (t * t)

    x, y = rng.standard_normal(150), rng.standard_normal(150)
    plan = ct.plan(ct.function(f), x, y, cost="operations")
    L = ct.linearize(ct.function(f), x, y)[1]
    J, dense = plan.multiply(L), L.todense()
    assert J.stored < 150 * 150 / 10 and np.allclose(J.todense(), dense, rtol=0, atol=1e-13)
    assert np.allclose(J.T.todense(), dense.T, rtol=0, atol=1e-13)
    assert np.allclose(J.blocks()[1][0].todense(), dense[150:, :150], rtol=0, atol=1e-13)


def test_memory_and_budgets_are_kept() -> None:
    """Under a limit of memory, with a small budget, and where an explicit map is asked for, one map is made as before."""
    f, _ = blocks(100, 2, 2)
    free = ct.plan(f, ct.f64[100], cost="operations")
    assert free.result.stored < 1000
    for asked in ({"memory": 10**9}, {"budget": 1000}, {"explicit": True}):
        assert ct.plan(f, ct.f64[100], cost="operations", **asked).result.stored == 100 * 100  # type: ignore[arg-type]
