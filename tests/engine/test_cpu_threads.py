"""One answer, whatever the number of threads, run after run, among concurrent callers, after fork and after Ctrl-C."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import catad as ct
from catad.engine.cpu.rows import ByRows
from catad.engine.cpu.run import pool

from .cpu_support import assert_near, assert_same, on, small_blocks, small_thresholds
from .test_cpu_programs import PROGRAMS, random

pytestmark = pytest.mark.full_code

ROUNDED = ct.map(lambda x: np.exp(x) * np.sin(3.0 * x))
ONE_LINE = ("scan of products", "affine scan", "affine fold", "transposed", "recurrence")  # one pass, step after step


def gathered(monkeypatch):
    """The number of pieces of each call that threads share."""
    seen = []
    lists = [(pool, "listed", pool.listed), (ByRows, "listed", ByRows.listed)]
    for owner, name, given in lists:

        def counted(parts, given=given):
            made = given(parts)
            seen.extend([int(made[0])] * int(made[0] > 1))
            return made

        monkeypatch.setattr(owner, name, counted)
    return seen


@pytest.mark.quick(7)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("shape", [(1237,), (41, 331)])
def test_bitwise_the_same_for_any_number_of_threads_and_run_after_run(monkeypatch, name, shape):
    small_blocks(monkeypatch)
    small_thresholds(monkeypatch)
    f = ROUNDED >> PROGRAMS[name]
    rng = np.random.default_rng(0)
    x = rng.uniform(-1.0, 1.0, shape)
    w = random(rng, f.spaces(ct.space_of(x)))
    both = ct.fork(ct.exl >> f, ct.reverse_differential(f))
    seen = gathered(monkeypatch)
    with ct.num_threads(1):
        want = on("cpu", both, (x, w))
    assert not seen
    for n in (2, 3, 7, 2):
        with ct.num_threads(n):
            assert_same(on("cpu", both, (x, w)), want, (name, n))
    if len(shape) == 2 or name not in ONE_LINE:
        assert seen and max(seen) <= 7, "threads have shared something"


def test_bitwise_the_same_at_the_real_thresholds(monkeypatch):
    seen = gathered(monkeypatch)
    x = np.random.default_rng(1).uniform(-1e-3, 1e-3, 300_001)
    f = ROUNDED >> ct.fork(ct.sum(), ct.fold(ct.maximum, -np.inf), ct.fold(lambda a, b: a * b + a + b, 0.0))
    with ct.num_threads(1):
        want = on("cpu", f, x)
    for n in (2, 3, 7):
        with ct.num_threads(n):
            assert_same(on("cpu", f, x), want, n)
    assert set(seen) >= {2, 3, 7}


def test_a_sum_does_not_depend_on_what_else_shares_its_pass():
    x = np.random.default_rng(1).uniform(-1.0, 1.0, 100_001)
    (alone,) = on("cpu", ct.sum(), x)
    again = on("cpu", ct.fork(ct.sum(), ct.map(lambda x: x * x) >> ct.sum()), x)
    assert_same(again[:1], [alone])


def test_concurrent_callers_of_one_program_and_of_many(monkeypatch):
    small_thresholds(monkeypatch)
    shared = ct.grad(ROUNDED >> ct.scan(ct.add, 0.0) >> ct.map(lambda x: x * x) >> ct.sum())
    rng = np.random.default_rng(2)
    points = [rng.uniform(-1.0, 1.0, 700) for _ in range(12)]
    with ct.use_engine("reference"):
        want = [shared(x) for x in points]

    def work(k):
        own = ct.map(lambda x, c=float(k % 5): x * c) >> ct.sum()
        with ct.use_engine("cpu"):
            return [(np.asarray(shared(x)), own(x)) for x in points]

    with ThreadPoolExecutor(6, initializer=ct.set_num_threads, initargs=(3,)) as callers:
        for k, got in enumerate(callers.map(work, range(18))):
            for x, (a, b), c in zip(points, got, want, strict=True):
                assert_near([a], [c], eps=4096)
                assert abs(b - x.sum() * (k % 5)) < 1e-10


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_computes_with_what_is_compiled_and_compiles_more(monkeypatch):
    small_thresholds(monkeypatch)
    f = ROUNDED >> ct.sum()
    x = np.linspace(-1.0, 1.0, 5000)
    with ct.num_threads(3), ct.use_engine("cpu"):
        want = f(x)
        child = os.fork()
        if child == 0:
            ok = f(x) == want and abs((ct.map(lambda x: x * 5.0) >> ct.sum())(x)) < 1e-9
            os._exit(0 if ok else 1)
        deadline = time.monotonic() + 60
        while (done := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        if done[0] == 0:
            os.kill(child, signal.SIGKILL)
        assert done == (child, 0)
        assert f(x) == want


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals arrive in the main thread")
def test_after_ctrl_c_in_a_call_the_library_works_on(interruptible):
    """The interrupt arrives while compiled code runs on this thread and on helpers; it is raised when all of them are done."""

    def slow(x):
        for _ in range(2000):
            x = x * 0.999 + 0.001
        return x

    f = ct.map(slow)
    x = np.linspace(0.0, 2.0, 200_000)
    with ct.num_threads(2), ct.use_engine("cpu"):
        want = f(x)
        main = threading.main_thread().ident
        stop = threading.Timer(0.05, signal.pthread_kill, (main, signal.SIGINT))
        stop.start()
        deadline = time.monotonic() + 60
        with pytest.raises(KeyboardInterrupt):
            while time.monotonic() < deadline:
                f(x)
        stop.join(60)
        gc.collect()
        assert_same([f(x)], [want])


def test_results_do_not_share_memory_that_is_used_again():
    """Memory of large results goes back when nobody holds it, and never before."""
    f = ct.map(lambda x, y: x + y)
    x = np.zeros(300_000)
    with ct.use_engine("cpu"):
        kept = [f(x, np.full(300_000, float(k))) for k in range(4)]
        views = [array[::2] for array in kept[:2]]
        del kept[:2]
        gc.collect()
        more = [f(x, np.full(300_000, 9.0)) for _ in range(4)]
    assert all(np.all(view == k) for k, view in enumerate(views))
    assert all(np.all(array == k + 2) for k, array in enumerate(kept)) and all(np.all(array == 9.0) for array in more)
