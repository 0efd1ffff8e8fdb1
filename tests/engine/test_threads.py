"""Numbers of threads, how work is cut for them, and threads at the end of a process and after a fork."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

import catad as ct
from catad.engine.cpu.run import threads
from catad.errors.notices import forget

pytestmark = pytest.mark.full_code


@pytest.fixture(autouse=True)
def four_threads():
    with ct.num_threads(4):
        yield


def test_numbers_of_threads() -> None:
    ct.set_num_threads(3)
    assert ct.get_num_threads() == 3
    for wrong in (0, -1, 1.5, "2", True):
        for take in (ct.set_num_threads, ct.set_default_num_threads, ct.num_threads):
            with pytest.raises(ct.ArgumentError, match="the number of threads is not valid"):
                take(wrong)
    with pytest.raises(ct.ArgumentError, match="the number of threads is not valid"):
        ct.num_threads(None)
    assert ct.get_num_threads() == 3


def in_a_new_thread(call):
    """What a call returns in a thread of its own."""
    found = []
    other = threading.Thread(target=lambda: found.append(call()))
    other.start()
    other.join(60)
    return found[0]


def test_a_number_holds_for_the_thread_that_sets_it_and_the_default_for_the_others() -> None:
    def inside() -> tuple[int, int, int]:
        started = ct.get_num_threads()
        ct.set_num_threads(6)
        chosen = ct.get_num_threads()
        ct.set_num_threads(None)
        return started, chosen, ct.get_num_threads()

    try:
        ct.set_default_num_threads(5)
        assert in_a_new_thread(inside) == (5, 6, 5)
        assert ct.get_num_threads() == 4
        ct.set_num_threads(None)
        assert ct.get_num_threads() == 5
    finally:
        ct.set_default_num_threads(None)
    assert in_a_new_thread(ct.get_num_threads) == threads._of_the_environment()


def test_a_number_for_a_while() -> None:
    limited = ct.num_threads(2)
    with limited:
        assert ct.get_num_threads() == 2
        with ct.num_threads(3), limited:
            assert ct.get_num_threads() == 2
        assert ct.get_num_threads() == 2
        assert in_a_new_thread(ct.get_num_threads) == threads._of_the_environment()
    assert ct.get_num_threads() == 4
    with pytest.raises(ZeroDivisionError), limited:
        raise ZeroDivisionError
    assert ct.get_num_threads() == 4


def test_the_environment_says_how_many(monkeypatch) -> None:
    monkeypatch.setenv("CATAD_NUM_THREADS", "7")
    assert threads._of_the_environment() == 7
    monkeypatch.setenv("CATAD_NUM_THREADS", "many")
    try:
        with pytest.warns(ct.CatadNotice, match="CATAD_NUM_THREADS"):
            assert threads._of_the_environment() >= 1
    finally:
        forget("CATAD_NUM_THREADS")
    monkeypatch.delenv("CATAD_NUM_THREADS")
    for said, count in (("3", 3), ("5,2", 5), (" 4 ", 4)):
        monkeypatch.setenv("OMP_NUM_THREADS", said)
        assert threads._of_the_environment() == count
        monkeypatch.setenv("CATAD_NUM_THREADS", "2")
        assert threads._of_the_environment() == 2
        monkeypatch.delenv("CATAD_NUM_THREADS")
    monkeypatch.setenv("OMP_NUM_THREADS", "0")  # nothing that OpenMP takes
    assert threads._of_the_environment() >= 1
    monkeypatch.delenv("OMP_NUM_THREADS")
    if hasattr(os, "sched_getaffinity"):
        assert threads._of_the_environment() == len(os.sched_getaffinity(0))


@given(st.integers(0, 10**7), st.integers(0, 10**6), st.sampled_from([1, 8, 64]), st.integers(1, 9))
def test_chunks_cover_the_range(n: int, least: int, multiple: int, count: int) -> None:
    with ct.num_threads(count):
        pieces = threads.chunks(n, least, multiple)
    assert len(pieces) <= count and (not n) == (not pieces)
    assert [k for piece in pieces for k in piece][1:-1:2] == [k for piece in pieces for k in piece][2::2]
    if pieces:
        assert pieces[0][0] == 0 and pieces[-1][1] == n
        assert all(start % multiple == 0 and start < stop for start, stop in pieces)
        assert len(pieces) == 1 or min(stop - start for start, stop in pieces) >= least
        sizes = [stop - start for start, stop in pieces[:-1]]
        assert not sizes or max(sizes) - min(sizes) <= multiple


def script(text: str) -> str:
    """What a program prints."""
    return subprocess.run([sys.executable, "-u", "-c", text], stdout=subprocess.PIPE, text=True, timeout=120, check=True).stdout


PASSES = """
import atexit, os, sys, threading
import numpy as np
import catad as ct
from catad.engine.cpu.run.pool import POOL
ct.set_default_num_threads(3)
x = np.linspace(0.0, 1.0, 300_000)
f = ct.map(lambda x: np.sin(x) * x) >> ct.fork(ct.sum(), ct.scan(ct.add, 0.0) >> ct.sum())
def run():
    with ct.use_engine("cpu"):
        return f(x)
"""


def test_at_the_end_of_the_interpreter() -> None:
    """Calls at exit and in the last moments of modules, with helpers still busy: the process ends by itself."""
    said = script(
        PASSES
        + """
want = run()
class Last:
    def __del__(self, run=run, want=want, print=print):
        print("last", run() == want, flush=True)
last = Last()
atexit.register(lambda: print("at exit", run() == want))
def busy():
    while True:
        run()
threading.Thread(target=busy, daemon=True).start()
print("end", POOL.helpers)
"""
    )
    assert said.splitlines()[:2] == ["end 2", "at exit True"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_starts_its_own_threads() -> None:
    said = script(
        PASSES
        + """
want = run()
child = os.fork()
if child == 0:
    print("child", run() == want, POOL.helpers)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print("parent", run() == want)
"""
    )
    assert said.splitlines() == ["child True 2", "parent True"]


def test_importing_starts_no_thread() -> None:
    assert script("import threading, catad; print(threading.active_count())").strip() == "1"


def test_threadpoolctl_limits_the_threads():
    limits = pytest.importorskip("threadpoolctl").threadpool_limits
    before = ct.get_num_threads()
    with limits(1):
        assert ct.get_num_threads() == 1
    assert ct.get_num_threads() == before
    with limits(before + 1, user_api="blas"):
        assert ct.get_num_threads() == before
    with limits({"catad": before + 1}):
        assert ct.get_num_threads() == before + 1
    assert ct.get_num_threads() == before
