"""Programs that are no chain, cut at places where little passes: the same program, and gradients within a limit of memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category.wiring import wire
from catad.derivative.grad import grad
from catad.planner.memory import stages as staged
from catad.planner.memory.liveness import peak_of
from catad.planner.memory.memory_limit import counted, stages_of, within
from catad.planner.memory.schedule import Runs, every, least, price, schedule
from catad.planner.planned_program import subject_at
from tests.planner import forks
from tests.planner.test_limited import _measured

N = 400
WEIGHTS = np.random.default_rng(0).standard_normal((8, N)) / N


@ct.function
def repeated(x: Any) -> Any:
    """One array from step to step, beside the argument."""
    h = x
    for _ in range(8):
        a = np.cumsum(np.sin(h))
        h = 0.001 * np.cumsum(np.exp(0.001 * a) * a) + 0.1 * x
    return np.sum(h)


@ct.function
def two(x: Any) -> Any:
    """Two arrays from step to step, and constants; they never meet before the end."""
    h, v = x, np.cos(x)
    for k in range(6):
        h = h + 0.1 * np.cumsum(np.tanh(h * WEIGHTS[k]))
        v = 0.01 * np.cumsum(np.sin(v)) * WEIGHTS[k]
    return np.sum(h * v)


@ct.function
def layers(x: Any) -> Any:
    """Wide and narrow by turns, with skips inside the blocks."""
    h = x
    for k in range(6):
        narrow = np.tanh(WEIGHTS @ h + k)
        wide = np.sin(WEIGHTS.T @ (narrow * narrow + narrow))
        h = np.cumsum(wide * np.exp(-wide)) * 0.01 + wide
    return np.sum(h * h)


PROGRAMS = {"one array": repeated, "two arrays": two, "layers": layers}


def chain_of(f: ct.D, *spaces: Any) -> tuple[ct.D, ct.D, Any]:
    term, dom = subject_at(f, spaces)
    return term, staged.staged(term, dom), dom


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_chain_of_parts_is_the_same_program(name: str) -> None:
    f, x = PROGRAMS[name], np.linspace(0.1, 1.0, N)
    term, chain, dom = chain_of(f, ct.f64[N])
    assert len(term) == 1 and 6 <= len(chain) <= staged.MOST
    assert "ct." in repr(chain)
    with ct.use_engine("reference"):
        assert chain(x) == f(x)
        np.testing.assert_array_equal(ct.grad(chain)(x), ct.grad(f)(x))
    assert len(stages_of(chain, dom, None)[0]) >= 6


@pytest.mark.parametrize("seed", range(25))
def test_random_programs(seed: int) -> None:
    """With several arguments and results, and arrays that are results and read again."""
    f, point = forks.random_program(seed, 6 + seed % 9)
    wiring = wire(f, ct.space_of(point if len(point) > 1 else point[0]))
    chain = staged._staged(f, wiring.dom)
    assert wire(chain, wiring.dom).cod == wiring.cod
    with ct.use_engine("reference"):
        np.testing.assert_array_equal(forks.flat(chain(*point)), forks.flat(f(*point)))
        np.testing.assert_allclose(
            forks.pushed(ct.linearize(chain, *point)[1], point), forks.pushed(ct.linearize(f, *point)[1], point)
        )


@pytest.mark.parametrize("part", [0.6, 0.4])
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_fit_where_one_stage_does_not(name: str, part: float) -> None:
    f, x = PROGRAMS[name], np.linspace(0.1, 1.0, N)
    term, _, dom = chain_of(f, ct.f64[N])
    free = counted(term, dom, ()).peak
    assert len(stages_of(term, dom, None)[0]) == 1
    planned = ct.plan(f, ct.f64[N], memory=part * free, cost="operations")
    assert planned.recomputes and planned.cost.peak <= part * free
    assert planned.program is not None
    assert planned.cost.peak == peak_of(grad(planned.program.term), dom)
    with ct.use_engine("reference"):
        expected = ct.grad(f)(x)
        np.testing.assert_allclose(planned.run(x).todense(), expected, rtol=1e-12)
        np.testing.assert_allclose(ct.jacobian(f, planned)(x).todense(), expected, rtol=1e-12)
    assert ct.Plan.from_json(planned.to_json(), f, ct.f64[N]) == planned


def test_a_limit_that_nothing_meets_is_an_error() -> None:
    with pytest.raises(ct.PlanError, match="no plan fits"):
        ct.plan(repeated, ct.f64[N], memory=3 * 8 * N)


def test_what_has_no_place_stays_as_it_is() -> None:
    few = ct.function(lambda x: np.sum(np.sin(x)))
    assert chain_of(few, ct.f64[N])[1] is few
    chain = ct.sin >> ct.exp
    assert staged.staged(chain, ct.f64[N]) is chain


def test_a_plan_of_another_program_is_refused() -> None:
    planned = ct.plan(repeated, ct.f64[N], memory=10 * 8 * N)
    assert planned.recomputes
    with pytest.raises(ct.PlanError, match="another program"):
        ct.jacobian(layers, planned)(np.ones(N))


def test_places_are_where_least_passes() -> None:
    """One wire between two steps that both read the argument: it and the argument pass, nothing else."""
    _, chain, dom = chain_of(repeated, ct.f64[N])
    for k in range(1, len(chain)):
        assert chain[:k].spaces(dom).size <= 3 * N


def test_dtypes_stay() -> None:
    """Constants that took the dtype of what they met keep it in their part."""
    term, chain, _ = chain_of(repeated, ct.f32[N])
    x = np.linspace(0.1, 1.0, N, dtype=np.float32)
    assert len(chain) > 6
    with ct.use_engine("reference"):
        assert chain(x).dtype == np.float32 and chain(x) == term(x)
        np.testing.assert_array_equal(ct.grad(chain)(x), ct.grad(term)(x))


def test_the_measured_peak_is_within_the_limit() -> None:
    n = 12_000  # arrays that NumPy gives, so that tracemalloc sees each
    term, _, dom = chain_of(repeated, ct.f64[n])
    free = counted(term, dom, ()).peak
    planned = ct.plan(repeated, ct.f64[n], memory=0.4 * free)
    x = np.linspace(0.1, 1.0, n)
    with ct.use_engine("cpu"):
        np.testing.assert_allclose(planned.run(x).todense(), ct.grad(repeated)(x), rtol=1e-9)
        measured = min([_measured(lambda: planned.run(x)) for _ in range(3)]) + x.nbytes
    assert measured <= 0.4 * free + 40_000  # beside arrays: Python's own objects


def drawn(seed: int) -> ct.D:
    """Two or three steps that read the argument, the array before, or weights."""
    rng = np.random.default_rng(seed)
    kinds, weights = rng.integers(0, 5, 2 + seed % 2), rng.standard_normal((3, N)) / N

    @ct.function
    def f(x: Any) -> Any:
        h = x
        for k, kind in enumerate(kinds.tolist()):
            if kind == 0:
                h = np.cumsum(np.sin(h)) * 0.01
            elif kind == 1:
                h = np.cumsum(h * x) * 0.01
            elif kind == 2:
                h = np.cumsum(np.exp(0.01 * h) * h) * 0.01
            elif kind == 3:
                half = np.cumsum(h)[::2] * 0.01
                h = np.concatenate([half, half])
            else:
                h = np.cumsum(np.tanh(h * weights[k])) + 0.1 * h
        return np.sum(h * h)

    return f


@pytest.mark.quick(5)
@pytest.mark.parametrize("seed", range(24))
def test_drawn_programs_beside_all_schedules(seed: int) -> None:
    """Up to eight stages: a plan fits wherever a schedule does, each counted, and takes no more than that by 400 slots."""
    term, chain, dom = chain_of(drawn(seed), ct.f64[N])
    stages, starts, _ = stages_of(chain, dom, None)
    if not 2 < len(stages) <= 8:
        pytest.skip("one stage, or too many")
    known = [price(stages, runs) for runs in set(every(0, len(stages) - 1))]
    known.sort(key=lambda one: (one.peak, one.seconds))

    def of_boxes(runs: Runs) -> Runs:
        return tuple([(starts[a], starts[z]) for a, z in runs])

    peaks = {one.runs: counted(chain, dom, of_boxes(one.runs)).peak for one in known[:100]}
    low, free = min(peaks.values()), counted(chain, dom, ()).peak
    for limit in sorted({low, *[int(part * free) for part in (0.9, 0.8, 0.7, 0.6)]}):
        if limit < low:
            continue
        found = within(chain, dom, limit, "operations")
        assert found.peak <= limit and found.peak == counted(chain, dom, found.runs).peak
        seconds = price(stages, tuple([(starts.index(a), starts.index(z)) for a, z in found.runs])).seconds
        fitting = [one.seconds for one in known[:100] if peaks[one.runs] <= limit]
        assert seconds <= 1.25 * min(fitting)
        if least(stages).peak <= limit:
            by_slots = schedule(stages, limit, 400)
            assert counted(chain, dom, of_boxes(by_slots.runs)).peak > limit or seconds <= 1.05 * by_slots.seconds
    x = np.linspace(0.1, 1.0, N)
    with ct.use_engine("reference"):
        small = ct.plan(drawn(seed), ct.f64[N], memory=low, cost="operations")
        assert small.cost.peak <= low
        np.testing.assert_allclose(small.run(x).todense(), ct.grad(term)(x), rtol=1e-10)
