"""Persistent schedules of chains of stages within a limit of memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest

import catad as ct
from catad.planner.memory.schedule import Runs, Stage, least, price, schedule


def drawn(n: int, seed: int) -> list[Stage]:
    """Stages of unequal sizes; what is alive in each is the sum of its parts."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 40, n + 1)
    made = []
    for k in range(n):
        a, z = int(sizes[k]), int(sizes[k + 1])
        own, reads = int(rng.integers(0, 3)) * max(a, z), bool(rng.integers(0, 2))
        tape, seconds = own + a * reads, float(rng.integers(1, 10))
        made.append(Stage(a, z, tape, a + z, a + z + own, tape + a + z, tape + a * (not reads) + 2 * z + a, seconds, 3 * seconds))
    return made


def every(s: int, t: int) -> Iterator[Runs]:
    """All persistent schedules of stages s to t."""
    if s > t:
        yield ()
        return
    yield from every(s + 1, t)
    for k in range(s + 1, t + 1):
        for right in every(k, t):
            for left in every(s, k - 1):
                yield tuple(sorted(((s, k), *left, *right), key=lambda run: (run[0], -run[1])))


@dataclass
class Simulated:
    """A schedule carried out step by step, with a table of what is alive."""

    stages: list[Stage]
    alive: dict[object, int] = field(default_factory=dict)
    peak: int = 0
    seconds: float = 0.0

    def note(self, more: int = 0) -> None:
        self.peak = max(self.peak, sum(self.alive.values()) + more)

    def reverse(self, runs: list[tuple[int, int]], s: int, t: int) -> None:
        """Reverse stages s to t, with the argument of s and the cotangent of the result of t given, outside of `alive`."""
        given = self.stages[t].cotangent
        run = next((run for run in runs if run[0] == s and run[1] <= t), None)
        own = self.stages[s]
        if run is None and s == t:
            self.note(own.alone)
            self.seconds += own.reversing
        elif run is None:
            self.note(own.taped + given)
            self.alive[s, t] = own.tape
            self.reverse([other for other in runs if other[0] > s], s + 1, t)
            del self.alive[s, t]
            self.note(own.backward)
            self.seconds += own.reversing
        else:
            k = run[1]
            for i in range(s, k):
                self.note(given + self.stages[i].forward + (own.input if i > s else 0))
                self.seconds += self.stages[i].seconds
            self.alive[s, t] = own.input
            self.reverse([other for other in runs if other[0] >= k], k, t)
            del self.alive[s, t]
            self.reverse([other for other in runs if other[1] <= k and other != run], s, k - 1)


@pytest.mark.parametrize("seed", range(12))
def test_a_schedule_fits_wherever_one_does_and_is_the_fastest(seed: int) -> None:
    stages = drawn(2 + seed % 6, seed)
    found = [price(stages, runs) for runs in set(every(0, len(stages) - 1))]
    for one in found[:: max(1, len(found) // 200)]:
        run = Simulated(stages)
        run.reverse(list(one.runs), 0, len(stages) - 1)
        assert (run.peak, run.seconds) == (one.peak, one.seconds)
    lowest = min(one.peak for one in found)
    assert least(stages).peak == lowest
    full = price(stages, ()).peak
    for limit in (lowest, *[part * full for part in (1.0, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2)]):
        fitting = [one for one in found if one.peak <= limit]
        if not fitting:
            with pytest.raises(ct.PlanError, match=f"at least {lowest}: this is enough"):
                schedule(stages, limit)
            continue
        got = schedule(stages, limit)
        assert got == price(stages, got.runs) and got.peak <= limit
        assert got.seconds <= 1.05 * min(one.seconds for one in fitting)


def test_a_tape_counts_its_input() -> None:
    """A tape without its input would let one more stage be kept than fits."""
    stages = [Stage(8, 8, 16, 16, 24, 32, 40)] * 6
    wrong = [stage._replace(tape=8) for stage in stages]
    limit = price(stages, ()).peak - 1
    assert price(wrong, ()).peak <= limit
    assert schedule(wrong, limit).runs == () and price(stages, ()).peak > limit
    got = schedule(stages, limit)
    run = Simulated(stages)
    run.reverse(list(got.runs), 0, 5)
    assert got.runs and run.peak <= limit


@pytest.mark.parametrize(("n", "parts"), [(20, (0.5, 0.25, 0.15)), (50, (0.5, 0.25, 0.15, 0.1))])
def test_long_chains_take_few_seconds_more_than_with_finer_parts(n: int, parts: tuple[float, ...]) -> None:
    stages = [Stage(10, 10, 20, 20, 30, 40, 50, 1.0, 3.0)] * n
    unequal = drawn(n, 5)
    met = 0
    for chain in (stages, unequal):
        full = price(chain, ())
        for part in parts:
            limit = part * full.peak
            if least(chain).peak > limit:
                with pytest.raises(ct.PlanError, match="no plan fits"):
                    schedule(chain, limit)
                continue
            got = schedule(chain, limit)
            assert got.peak <= limit
            assert got.seconds <= 1.05 * schedule(chain, limit, 400).seconds
            met += 1
    assert met >= 4


@pytest.mark.parametrize("value", [-1, math.nan, math.inf])
@pytest.mark.parametrize("name", Stage._fields[:-1])
def test_sizes_of_stages_are_checked(name: str, value: float) -> None:
    stages = [Stage(8, 8, 8, 16, 16, 24, 32)] * 2
    stages[1] = stages[1]._replace(**{name: value})
    for call in (lambda: schedule(stages, 100), lambda: price(stages, ())):
        with pytest.raises(ct.PlanError, match=f"(?s)size of a stage.*{name}=.*stage 1"):
            call()


def test_no_stage_takes_nothing() -> None:
    assert schedule([], 0) == ((), 0.0, 0, ())
