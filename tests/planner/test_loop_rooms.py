"""Gradients within a limit of memory whose loops have rooms: bits, peaks that are measured, prices that are counted, texts."""

from __future__ import annotations

import json
from itertools import pairwise, product
from math import comb
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad import upward
from catad.derivative.grad import grad
from catad.linear.products import cost_of_wiring
from catad.planner.memory.liveness import peak_of
from catad.planner.memory.loop_snapshots import again, ladder
from catad.planner.memory.schedule import Stage, least, price, schedule
from catad.values import buffers
from catad.vector.loops.snapshots import loops_of
from tests.planner.test_limited import _measured
from tests.planner.test_schedule import Simulated, drawn, every

STEP = ct.map(lambda x: x + 0.01 * np.sin(x))
OTHER = ct.map(lambda x: x + 0.01 * np.cos(x) * x)
CELL = ct.fork(
    ct.fork(ct.fork(ct.proj(0), ct.proj(1)) >> ct.mul, ct.proj(2)) >> ct.add >> ct.tanh, ct.proj(0) >> ct.square >> ct.sum()
)
GROWS = ct.while_loop(ct.max() >> ct.map(lambda s: s < 40.0), ct.map(lambda x: x * 1.02 + 0.01 * np.sin(x)))


@ct.function
def traced(x: Any) -> Any:
    h, total = x, 0.0
    for i in range(120):
        h = h + 0.001 * np.sin(np.cumsum(h) * 0.01) + 0.0001 * i * x
        total = total + np.sum(h * h)
    return total


def program(name: str, n: int) -> tuple[ct.D, tuple[Any, ...]]:
    """A program to a number, and a point."""
    x, k = np.linspace(0.1, 0.9, n), np.linspace(0.5, 0.7, n)
    if name == "iterate":
        return ct.iterate(STEP, 200) >> ct.sum(), (x,)
    if name == "sweep":
        inputs = 0.1 * np.sin(np.arange(60 * n)).reshape(60, n)
        return ct.sweep(CELL, 60) >> ct.cross(ct.sum(), ct.sum()) >> ct.add, (x, k, inputs)
    if name == "while":
        return GROWS >> ct.sum(), (x,)
    if name == "function":
        return traced, (x,)
    if name == "nested":
        return ct.iterate(ct.iterate(STEP, 15) >> ct.map(lambda x: 0.99 * x), 20) >> ct.sum(), (x,)
    return ct.iterate(STEP, 120) >> ct.map(lambda x: np.cos(x)) >> ct.iterate(OTHER, 60) >> ct.sum(), (x,)


NAMES = ["iterate", "sweep", "while", "function", "nested", "two"]


def planned(name: str, n: int, memory: float) -> ct.Plan:
    f, x = program(name, n)
    return ct.plan(f, *[ct.space_of(one) for one in x], memory=memory, cost="operations")


def least_of(name: str, n: int) -> int:
    """What the error says is enough."""
    with pytest.raises(ct.PlanError, match="no plan fits") as error:
        planned(name, n, 1)
    return int(str(error.value).split("at least ")[1].split(":")[0])


def gradient_of(plan: ct.Plan, x: Any) -> np.ndarray:
    return np.ravel(plan.run(*x).todense())


def limits_of(name: str, n: int) -> list[int]:
    low, high = least_of(name, n), planned(name, n, 1e15).cost.peak
    assert low < high
    return [low, *[limit for limit in (int(1.3 * low), 3 * low, high // 2) if low < limit < high], high]


@pytest.mark.parametrize("name", NAMES)
def test_the_least_is_enough_and_nothing_less_is(name: str) -> None:
    low = least_of(name, 300)
    assert planned(name, 300, low).cost.peak == low
    with pytest.raises(ct.PlanError, match=f"at least {low}"):
        planned(name, 300, low - 1)


@pytest.mark.parametrize("name", NAMES)
def test_the_gradient_has_the_same_bits_and_the_price_is_counted(name: str) -> None:
    """On the reference engine: a step that is taken again gives the same bits. Sums over steps are added in another order."""
    f, x = program(name, 40)
    with ct.use_engine("reference"):
        expected = np.concatenate([np.ravel(part) for part in ((ct.grad(f)(*x),) if len(x) == 1 else ct.grad(f)(*x))])
        costs = []
        for limit in limits_of(name, 40):
            plan = planned(name, 40, limit)
            assert plan.program is not None and plan.cost.peak <= limit and plan.program.rooms
            assert plan.cost.peak == peak_of(grad(plan.program.term), plan.program.dom)
            found = gradient_of(plan, x)
            if name in ("sweep", "function"):
                np.testing.assert_allclose(found, expected, rtol=1e-13)
            else:
                np.testing.assert_array_equal(found, expected)
            with ct.count() as counted:
                gradient_of(plan, x)
            costs.append(counted.operations)
            if name != "while":  # whose number of steps is a guess
                wiring = upward.program_of(grad(plan.program.term), plan.program.dom)[0].wiring
                assert counted.operations == cost_of_wiring(wiring)
    assert all(a >= b for a, b in pairwise(costs)) and costs[0] > costs[-1]


@pytest.mark.quick(4)
@pytest.mark.parametrize(("name", "engine"), list(product(NAMES, ["cpu"])))
def test_the_measured_peak_is_what_the_plan_says(name: str, engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "LARGE", 1 << 60)  # all memory comes from NumPy, so that tracemalloc sees it
    n = 3000
    f, x = program(name, n)
    with ct.use_engine(engine):
        expected = np.concatenate([np.ravel(part) for part in ((ct.grad(f)(*x),) if len(x) == 1 else ct.grad(f)(*x))])
        for limit in limits_of(name, n)[2:-1]:
            plan = planned(name, n, limit)
            for _ in range(2):
                np.testing.assert_allclose(gradient_of(plan, x), expected, rtol=1e-9)
            measured = min([_measured(lambda: plan.run(*x)) for _ in range(2)]) + sum([one.nbytes for one in x])  # noqa: B023
            assert measured <= plan.cost.peak + 20_000  # beside arrays: Python's own objects


def test_while_loops_fit_whatever_the_number_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "LARGE", 1 << 60)
    plan = planned("while", 3000, 3 * least_of("while", 3000))
    with ct.use_engine("cpu"):
        for start in (0.9, 30.0, 0.01, 39.9, 50.0):
            x = np.linspace(0.1 * start, start, 3000)
            np.testing.assert_allclose(gradient_of(plan, (x,)), ct.grad(GROWS >> ct.sum())(x), rtol=1e-13)
            measured = min([_measured(lambda: plan.run(x)) for _ in range(4)]) + x.nbytes  # noqa: B023
            assert measured <= plan.cost.peak + 20_000


def test_the_prices_are_revolves() -> None:
    """With c states, b(c, r) = (c + r)! / (c! r!) steps are reversed where each is taken again r times at most."""
    (loop,) = loops_of(GROWS, ct.f64[3])
    for kept in (2, 3, 5, 9):
        r = next(r for r in range(100) if comb(kept + r, r) >= 1000)
        assert again(loop.sweep, kept) == r * 1000 - comb(kept + r, r - 1)
    (loop,) = loops_of(ct.iterate(STEP, 1000), ct.f64[3])
    rooms = ladder(loop.sweep, 12)
    assert rooms[0] is None and rooms[-1] == 1
    taken = [again(loop.sweep, room) for room in rooms]
    assert taken[:2] == [0, 0] and all(a < b for a, b in pairwise(taken[1:])) and taken[-1] == 1000 * 999 // 2


@pytest.mark.parametrize("seed", range(8))
def test_ways_of_stages_beside_all_schedules(seed: int) -> None:
    """Each stage has up to three ways to be taped: a schedule fits wherever one does, and is nearly the fastest."""
    rng, stages = np.random.default_rng(seed), drawn(2 + seed % 3, seed)
    for k, stage in enumerate(stages):
        others = [
            stage._replace(tape=max(1, stage.tape - less), taped=stage.taped - less // 2, reversing=stage.reversing * (1 + times))
            for times, less in enumerate(sorted(rng.integers(1, 20, int(rng.integers(0, 3))).tolist()), 1)
        ]
        stages[k] = stage._replace(others=tuple(others))
    found = []
    for ways in product(*[range(len(stage.ways)) for stage in stages]):
        chosen: list[Stage] = [stage.ways[way] for stage, way in zip(stages, ways, strict=True)]
        for runs in set(every(0, len(stages) - 1)):
            run = Simulated(chosen)
            run.reverse(list(runs), 0, len(stages) - 1)
            found.append((run.peak, run.seconds))
    lowest = min(peak for peak, _ in found)
    assert least(stages).peak == lowest
    for limit in (lowest, *[part * price(stages, ()).peak for part in (1.0, 0.8, 0.6, 0.5)]):
        if limit >= lowest:
            got = schedule(stages, limit)
            assert got == price(stages, got.runs, got.ways) and got.peak <= limit
            assert got.seconds <= 1.05 * min(seconds for peak, seconds in found if peak <= limit)


# -- texts, and what a plan says


def test_a_plan_says_which_loop_keeps_how_many_states() -> None:
    lines = planned("nested", 300, 40_000).explain().splitlines()
    assert any(line.startswith("value and pullback: at most ") for line in lines)
    (outer, inner) = [line for line in lines if line.startswith("loop ")]
    assert outer.startswith("loop 0, 20 steps: keeps ") and "states of 2,400 bytes, takes " in outer
    assert inner.startswith("loop 1, 15 steps, within 1 loop: keeps ")


@pytest.mark.parametrize("name", NAMES)
def test_texts(name: str) -> None:
    f, x = program(name, 300)
    spaces = [ct.space_of(one) for one in x]
    plan = planned(name, 300, 2 * least_of(name, 300))
    again = ct.Plan.from_json(plan.to_json(), f, *spaces)
    assert again == plan and again.program == plan.program and plan.program is not None
    assert ct.Plan.from_json(plan.to_json(), plan) is plan
    np.testing.assert_allclose(ct.jacobian(f, mode=again)(*x).todense(), plan.run(*x).todense())


def test_rooms_are_edited() -> None:
    f, (x,) = program("iterate", 300)
    plan = planned("iterate", 300, 100_000)
    assert plan.program is not None
    (room,) = plan.program.rooms
    assert room is not None and room > 3

    def edited(other: str, memory: int = 100_000, was: str = f'"states": {room}') -> ct.Plan:
        assert was in plan.to_json()
        text = plan.to_json().replace(was, other).replace("100000", str(memory))
        return ct.Plan.from_json(text, f, ct.f64[300])

    small = edited('"states": 3')
    assert small.program is not None and small.program.rooms == (3,) and small.cost.peak < plan.cost.peak
    with ct.use_engine("reference"):
        np.testing.assert_array_equal(gradient_of(small, (x,)), gradient_of(plan, (x,)))
    assert edited('"states": null', 10**7).program.rooms == (None,)  # type: ignore[union-attr]
    with pytest.raises(ct.PlanError, match="no plan fits"):
        edited('"states": null')
    for wrong in ("0", "1.5", "true", '"3"'):
        with pytest.raises(ct.PlanError, match=r"(?s)a number of states.*request\.loops\[0\]\.states"):
            edited(f'"states": {wrong}')
    for wrong, where in (("3", ""), ("[3]", r"\[0\]"), ('[{"steps": 200}]', r"\[0\]")):
        with pytest.raises(ct.PlanError, match=r"(?s)loops with steps.*request\.loops" + where):
            edited(f'"loops": {wrong}', was='"loops": ' + json.dumps(json.loads(plan.to_json())["request"]["loops"]))
    with pytest.raises(ct.PlanError, match="for another program"):
        edited('"steps": 201', was='"steps": 200')
    with pytest.raises(ct.PlanError, match="for another program"):
        ct.Plan.from_json(plan.to_json(), f, ct.f64[301])
    g, _ = program("while", 300)
    states = planned("while", 300, 100_000)
    assert states.program is not None
    with pytest.raises(ct.PlanError, match=r"(?s)a while loop.*request\.loops\[0\]"):
        text = states.to_json().replace(f'"states": {states.program.rooms[0]}', '"states": null')
        ct.Plan.from_json(text, g, ct.f64[300])
