"""Races that only later data make: found at each call and on each engine, and on no data on which real threads meet nowhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category.spaces import flatten
from catad.simt import grid, shared, syncthreads, threadIdx
from catad.simt.kernel import Launch
from catad.support import current_engine
from catad.testing.threads import recorded

ENGINES = ("reference", "cpu", "auto")
x8, own, p = np.arange(1.0, 9.0), np.arange(8), np.array([3, 1, 0, 2, 4, 5, 7, 6])


@ct.kernel
def scattered(x, at, o):
    i = grid(1)
    if i < len(x):
        o[at[i]] = x[i]


@ct.kernel
def columns(x, at, o):
    i, j = grid(2)
    o[at[2 * i + j], threadIdx.y] = x[i]


@ct.kernel
def constant(x, at, o):
    i = grid(1)
    if x[i] > 0.0:
        o[at[i] + 1] = 5.0


@ct.kernel
def one_cell(x, at, o):
    i = grid(1)
    if at[i] == i:
        o[0] = x[i]


@ct.kernel
def updated(x, at, o):
    i = grid(1)
    o[at[i]] = o[at[i]] + x[i]


@ct.kernel
def improved(x, at, o):
    i = grid(1)
    if o[at[i]] < x[i]:
        o[at[i]] = x[i]


@ct.kernel
def read_before(x, at, o, q):
    i = grid(1)
    q[i] = o[i]
    o[at[i] + 8] = x[i]


@ct.kernel
def read_behind(x, at, o, q):
    i = grid(1)
    o[at[i]] = x[i]
    q[i] = o[at[i]] + o[8 + at[i] % 2]


@ct.kernel
def twice(x, at, to, o):
    i = grid(1)
    o[at[i]] = x[i]
    o[to[i]] = -x[i]


@ct.kernel
def in_shared(x, at, o):
    s = shared.array(4, np.float64)
    i, t = grid(1), threadIdx.x
    s[at[i] % 4] = x[i]
    syncthreads()
    o[i] = s[t]
    syncthreads()
    s[3 - t] = 2.0


@ct.kernel
def with_the_step_of_the_grid(x, at, o):
    for i in range(grid(1), len(x), 4):
        o[at[i]] = x[i]


@ct.kernel
def trip_after_trip(x, at, o):
    i, s = grid(1), 0.0
    for k in range(9):
        s = 0.5 * s + x[i]
        o[at[i], k] = s


twos, half = p // 2, np.zeros(16)
CASES: dict[str, tuple[Launch, tuple[Any, ...], tuple[Any, ...]]] = {
    "scattered": (scattered[2, 4], (x8, p, half), (x8, twos, half)),
    "in two dimensions": (columns[(2, 1), (2, 2)], (x8, p, half.reshape(8, 2)), (x8, own // 4, half.reshape(8, 2))),
    "behind the end": (scattered[3, 4], (x8, p, half), (x8, twos, half)),
    "dropped": (scattered[2, 4], (x8, np.where(own > 2, -1, own), half), (x8, np.where(own > 2, -1, 1), half)),
    "equal values": (constant[2, 4], (x8, p, half), (x8, twos, half)),
    "by a path": (one_cell[2, 4], (x8, np.where(own == 5, own, 8), half), (x8, np.where(own > 5, own, 8), half)),
    "updated": (updated[2, 4], (x8, p, half), (x8, twos, half)),
    "improved": (improved[2, 4], (x8, p, half), (x8, twos, np.where(np.arange(16) == 1, 2.0, 9.0))),
    "read before": (read_before[2, 4], (x8, p, half, np.zeros(8)), (x8, p - 4, half, np.zeros(8))),
    "read behind": (read_behind[2, 4], (x8, p, half, np.zeros(8)), (x8, p + 5, np.zeros(17), np.zeros(8))),
    "twice": (twice[2, 4], (x8, p, p, half), (x8, p, own, half)),
    "in shared memory": (in_shared[2, 4], (x8, p, np.zeros(8)), (x8, np.array([3, 1, 0, 2, 4, 5, 7, 7]), np.zeros(8))),
    "trips of a thread": (with_the_step_of_the_grid[1, 4], (x8, np.tile([1, 0, 3, 2], 2), half), (x8, p, half)),
    "trip after trip": (trip_after_trip[2, 4], (x8, p, np.zeros((8, 9))), (x8, twos, np.zeros((8, 9)))),
}
CASES["trips of a thread"] = (*CASES["trips of a thread"][:2], (x8, np.array([1, 0, 3, 2, 0, 5, 6, 7]), half))


def meets(launch: Launch, args: tuple[Any, ...]) -> bool:
    """Whether real threads touch a cell that another one writes, between two barriers or in another block."""
    accesses = recorded(launch, *args)[1]
    for k, a in enumerate(accesses):
        for b in accesses[:k]:
            meet = a.array == b.array and a.cell == b.cell and a.thread != b.thread and "write" in (a.kind, b.kind)
            if meet and (a.phase == b.phase if a.thread[0] == b.thread[0] else a.array in launch.kernel.names):
                return True
    return False


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CASES)
def test_a_later_call_is_checked_as_the_first_one(name: str, engine: str) -> None:
    launch, good, bad = CASES[name]
    assert meets(launch, bad) and not meets(launch, good)
    with ct.use_engine(engine):
        for _ in range(2):
            for ours, theirs in zip(flatten(launch(*good)), flatten(ct.testing.threads(launch, *good)), strict=True):
                np.testing.assert_array_equal(ours, theirs)
        for f in (launch, ct.grad(launch >> (ct.exl >> ct.sum() if len(launch.written(*good)) > 1 else ct.sum()))):
            f(*good)
            with pytest.raises(ct.ScalarError, match=r"a race at cell (?s:.*)test_races_at_every_call.py:\d+"):
                f(*bad)
            f(*good)


DRAWN = ("scattered", "updated", "improved", "read before", "read behind", "in shared memory", "trips of a thread")


@pytest.mark.parametrize("name", DRAWN)
def test_what_is_found_is_what_threads_do(name: str) -> None:
    launch, good, _ = CASES[name]
    rng, seen = np.random.default_rng(4), set()
    with ct.use_engine("cpu"):
        launch(*good)
        for k in range(24):
            at = good[1].copy()
            at[rng.integers(0, 8, k % 3)] = rng.integers(0, 8, k % 3)
            args = (good[0], at, *good[2:])
            seen.add(race := meets(launch, args))
            try:
                launch(*args)
            except ct.ScalarError:
                assert race, at
            else:
                assert not race, at
    assert seen == {True, False}


def test_lanes_of_vmap_do_not_meet_each_other() -> None:
    f = ct.vmap(twice[2, 4], (None, 0, 0, None))
    at = np.stack([p, p[::-1]])
    assert np.array_equal(f(x8, at, at, half)[1], twice[2, 4](x8, p[::-1], p[::-1], half))
    with pytest.raises(ct.ScalarError, match="a race"):
        f(x8, at, at[::-1].copy(), half)


@pytest.mark.parametrize("engine", ENGINES)
def test_checks_may_be_left_to_the_first_call_or_left_out(engine: str) -> None:
    launch, good, bad = CASES["scattered"]
    factor = 3.0 + ENGINES.index(engine)  # so that the program is a new one
    fresh, last = launch >> ct.map(lambda v: v * factor), np.zeros(16)
    last[bad[1]] = factor * x8
    for word, fails in (("first", True), ("off", False)):
        with ct.use_engine(engine, checks=word):
            if fails:
                with pytest.raises(ct.ScalarError, match="a race"):
                    fresh(*bad)
                fresh(*good)
            assert np.array_equal(fresh(*bad), last)  # of threads that meet the last one wins
    with ct.use_engine(engine), pytest.raises(ct.ScalarError, match="a race"):
        fresh(*bad)
    assert current_engine.every_call()


@pytest.mark.numpy_only
def test_both_threads_are_named() -> None:
    scattered[2, 4](x8, p, half)
    with pytest.raises(ct.ScalarError) as caught:
        scattered[2, 4](x8, np.array([3, 1, 0, 2, 4, 1, 7, 6]), half)
    said = str(caught.value)
    assert "a race at cell (1,) of o" in said
    assert "thread (1, 0, 0) of block (0, 0, 0)" in said and "thread (1, 0, 0) of block (1, 0, 0)" in said


@pytest.mark.numpy_only
def test_a_thread_may_store_into_its_cell_many_times() -> None:
    launch, good, bad = CASES["trips of a thread"]
    for engine in ENGINES:
        with ct.use_engine(engine):
            launch(*good)
            with pytest.raises(ct.ScalarError, match="in trip 1"):
                launch(*bad)
