"""Gradients within a limit of memory: all that is alive is counted, and measured."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

import catad as ct
from catad.category.wiring import wire
from catad.derivative.grad import grad
from catad.planner import plan
from catad.planner.memory.liveness import peak_of, peak_of_wiring
from catad.planner.memory.memory_limit import counted, stages_of
from catad.planner.memory.recompute import with_checkpoints
from catad.planner.memory.schedule import every

N = 500
SUMS = ct.scan(lambda a, b: a + b, 0.0)
MEAN = ct.map(lambda x: 0.01 * x)


def dense(m: int, n: int, seed: int) -> ct.D:
    weights = np.random.default_rng(seed).standard_normal((m, n)) / n
    return ct.fork(ct.const(weights), ct.id) >> ct.einsum("ij,j->i") >> ct.tanh


def unequal(count: int, seed: int, n: int = N) -> ct.D:
    """Stages of unequal sizes and costs, to a number."""
    rng = np.random.default_rng(seed)
    parts, size = [], n
    for k in range(count):
        kind = int(rng.integers(0, 4))
        if kind == 0:
            parts.append(ct.sin >> SUMS)
        elif kind == 1:
            parts.append(ct.fork(ct.exp, ct.cos) >> ct.mul >> SUMS >> MEAN)
        elif kind == 2:
            parts.append(ct.tanh >> ct.scan(lambda a, b: a * b, 1.0))
        else:
            made = int(rng.integers(n // 5, 2 * n))
            parts.append(dense(made, size, k))
            size = made
    return ct.compose(*parts, ct.sum())


@pytest.mark.parametrize("seed", range(4))
def test_a_plan_fits_wherever_a_schedule_does(seed: int) -> None:
    f, dom = unequal(4, seed), ct.f64[N]
    _, starts, _ = stages_of(f, dom, None)
    schedules = [tuple([(starts[a], starts[z]) for a, z in runs]) for runs in every(0, len(starts) - 2)]
    drawn = np.random.default_rng(seed).permutation(len(schedules))[:80]
    peaks = [counted(f, dom, schedules[k]).peak for k in drawn]
    x = np.random.default_rng(seed).standard_normal(N)
    expected = ct.grad(f)(x)
    for limit in (min(peaks), int(np.median(peaks))):
        small = plan(f, dom, memory=limit, cost="operations")
        assert small.cost.peak <= limit
        assert small.program is not None
        assert small.cost.peak == peak_of(grad(small.program.term), dom)
        np.testing.assert_allclose(small.run(x).todense(), expected, rtol=1e-9, atol=1e-12)


def _measured(call: Callable[[], object]) -> int:
    """The most bytes that a call had allocated at a time."""
    gc.collect()
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("part", [0.5, 0.25])
def test_the_measured_peak_is_within_the_limit(part: float) -> None:
    n = 12_000  # arrays that NumPy gives, so that tracemalloc sees each
    f = ct.compose(*[ct.sin >> SUMS >> MEAN for _ in range(24)]) >> ct.sum()
    free = counted(f, ct.f64[n], ()).peak
    small = plan(f, ct.f64[n], memory=part * free)
    assert small.recomputes and small.cost.peak <= part * free < free
    x = np.random.default_rng(0).standard_normal(n)
    with ct.use_engine("cpu"):
        expected = ct.grad(f)(x)
        for _ in range(2):
            np.testing.assert_allclose(small.run(x).todense(), expected, rtol=1e-9)
        measured = min([_measured(lambda: small.run(x)) for _ in range(3)]) + x.nbytes
    assert measured <= part * free + 40_000  # beside arrays: Python's own objects


def test_a_tape_has_the_argument_that_a_pullback_reads() -> None:
    square, sums = ct.map(lambda x: x * x), SUMS
    (first, second, *_), _, _ = stages_of(sums >> square >> sums >> ct.sum(), ct.f64[N], None)
    assert first.input == first.tape == 8 * N  # a sum reads nothing; the argument of the first stage is the caller's
    assert second.tape == second.input == 8 * N


def test_what_is_alive_is_counted() -> None:
    assert peak_of(ct.sin, ct.f64[100]) == 1600
    assert peak_of(SUMS >> SUMS >> SUMS, ct.f64[100]) == 2400
    assert peak_of_wiring(wire(SUMS >> SUMS >> SUMS, ct.f64[100]), ()) == 1600
    constant = ct.fork(ct.const(np.ones((100, 100))), ct.id) >> ct.einsum("ij,j->i")
    assert peak_of(constant, ct.f64[100]) == 1600
    assert peak_of(ct.checkpoint(SUMS >> SUMS) >> SUMS, ct.f64[100]) == 2400
    step, one = ct.map(lambda s, g, u: s * g + u) >> ct.fork(ct.id, ct.id), ct.f64[100]
    inside = peak_of(step, ct.Product((one, one, one)))  # beside a step there is all that the steps give
    assert peak_of(ct.sweep(step, 7), ct.Product((one, one, ct.f64[7, 100]))) == 800 + 800 + 5600 + inside + 5600


def test_a_checkpoint_frees_what_it_was_given() -> None:
    n, deep = 12_000, 12
    f = ct.sin >> SUMS
    for _ in range(deep):
        f = ct.checkpoint(f) >> (ct.sin >> SUMS >> MEAN)
    f = f >> ct.sum()
    gradient, x = ct.grad(f), np.linspace(0.0, 1.0, n)
    with ct.use_engine("cpu"):
        gradient(x)
        measured = min([_measured(lambda: gradient(x)) for _ in range(3)])
    assert measured < 6 * x.nbytes  # not one more for each checkpoint within another


def test_loops_in_bounded_memory_are_counted_and_measured() -> None:
    n = 3000  # a state; what a loop without a limit keeps comes from a pool that tracemalloc does not see
    step = ct.map(lambda x: x + 0.01 * np.sin(x)) >> SUMS >> ct.map(lambda x: 0.001 * x)
    x = np.linspace(0.0, 1.0, n)
    counts = []
    for memory in (20, 8, 3):
        gradient = ct.grad(ct.iterate(step, 40, memory=memory) >> ct.sum())
        counts.append(peak_of(gradient, ct.f64[n]))
        with ct.use_engine("cpu"):
            expected = ct.grad(ct.iterate(step, 40) >> ct.sum())(x)
            np.testing.assert_allclose(gradient(x), expected, rtol=1e-12)
            measured = min([_measured(lambda: gradient(x)) for _ in range(3)]) + x.nbytes  # noqa: B023
        with ct.use_engine("cpu"):
            np.testing.assert_allclose(gradient(x), expected, rtol=1e-12)
        assert measured <= counts[-1] + 20_000  # beside arrays: Python's own objects
        assert counts[-1] <= (memory + 7) * (x.nbytes + 8)
    assert counts == sorted(counts, reverse=True)


def test_several_arguments_and_texts() -> None:
    f = ct.mul >> ct.compose(*[ct.sin >> SUMS >> MEAN for _ in range(8)]) >> ct.sum()
    dom = (ct.f64[N], ct.f64[N])
    rng = np.random.default_rng(3)
    point = rng.standard_normal(N), rng.standard_normal(N)
    free = counted(f, ct.Product(dom), ()).peak
    small = plan(f, *dom, memory=0.7 * free, cost="operations")
    assert small.recomputes and small.runs_alone
    J = ct.jacobian(f, mode=small)(*point)
    for block, expected in zip(J.blocks(), ct.grad(f)(*point), strict=True):
        np.testing.assert_allclose(block.todense(), expected, rtol=1e-9)
    again = ct.Plan.from_json(small.to_json(), f, *dom)
    assert again.program == small.program and again.cost == small.cost
    with pytest.raises(ct.PlanError, match="no plan fits"):
        ct.Plan.from_json(small.to_json().replace(f'"memory": {0.7 * free}', '"memory": 100'), f, *dom)
    nested = with_checkpoints(f, ((0, 6), (0, 3), (7, 9)))
    np.testing.assert_allclose(ct.grad(nested)(*point), ct.grad(f)(*point), rtol=1e-9)


def test_the_error_says_what_would_be_enough() -> None:
    f = ct.compose(*[ct.sin >> SUMS for _ in range(6)]) >> ct.sum()
    with pytest.raises(ct.PlanError, match="at least") as error:
        plan(f, ct.f64[N], memory=10, cost="operations")
    least = int(str(error.value).split("at least ")[1].split(":")[0])
    assert plan(f, ct.f64[N], memory=least, cost="operations").cost.peak <= least
