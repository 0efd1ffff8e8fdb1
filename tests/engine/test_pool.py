"""The pool that compiled code shares passes with: each part runs once, whoever takes it, and nobody waits for the interpreter."""

from __future__ import annotations

import ctypes
import os
import threading
import time

import numpy as np
import pytest

import catad as ct
from catad.engine.cpu.run import pool, target
from catad.engine.cpu.run.pool import POOL, Pool, listed
from catad.values.buffers import address

from .compiling import unload
from .cpu_support import assert_same, on, small_thresholds
from .whole_support import anew

pytestmark = [
    pytest.mark.skipif(not target.available() or not pool.available(), reason="no LLVM, or no threads of POSIX here"),
    pytest.mark.numpy_only,
    pytest.mark.full_code,
]
KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 4)
SHARE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64)


def shared(own: Pool, kernel, parts, threads: int) -> None:
    """Share parts of a kernel in Python among threads."""
    function, places = KERNEL(kernel), listed(parts)
    share = SHARE(own.code.modules[-1].address("share"))
    share(own.at, ctypes.cast(function, ctypes.c_void_p), 0, address(places), threads)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_each_part_runs_once_with_its_numbers(count: int, threads: int) -> None:
    POOL.grow(threads - 1)
    parts = [(k, k + 1, 10 * k, -k) for k in range(count)]
    for _ in range(20):
        seen: list[tuple[int, ...]] = []
        shared(POOL, lambda table, *numbers, seen=seen: seen.append(numbers), parts, threads)
        assert sorted(seen) == sorted(parts)


def test_helpers_take_parts_while_the_caller_is_busy() -> None:
    POOL.grow(1)
    met = threading.Barrier(2)
    who: list[int] = []

    def kernel(table: int, *numbers: int) -> None:
        who.append(threading.get_ident())
        met.wait(60)  # both parts run at the same time, or this fails

    shared(POOL, kernel, [(0, 1, 0, 0), (1, 2, 0, 0)], 2)
    assert len(set(who)) == 2 and threading.get_ident() in who


def test_no_more_helpers_than_threads_take_part() -> None:
    POOL.grow(3)
    who: set[int] = set()

    def kernel(table: int, *numbers: int) -> None:
        who.add(threading.get_ident())
        time.sleep(0.001)

    shared(POOL, kernel, [(k, k, k, k) for k in range(30)], 2)
    assert len(who) <= 2


def test_who_finds_the_pool_in_use_runs_alone() -> None:
    POOL.grow(1)
    inner: list[int] = []

    def kernel(table: int, *numbers: int) -> None:
        shared(POOL, lambda *_: inner.append(threading.get_ident()), [(0, 0, 0, 0)] * 3, 2)

    shared(POOL, kernel, [(0, 1, 0, 0)], 2)
    assert inner == [threading.get_ident()] * 3


def test_the_code_of_helpers_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """They run it for ever, also when no program does and nothing is kept."""
    POOL.grow(2)
    anew(monkeypatch)
    unload()
    seen: list[int] = []
    for _ in range(50):
        shared(POOL, lambda *_: seen.append(0), [(0, 0, 0, 0)] * 5, 3)
    assert len(seen) == 250


def test_without_helpers_the_caller_runs_all() -> None:
    own, who = Pool(), set[int]()
    shared(own, lambda *_: who.add(threading.get_ident()), [(k, k, k, k) for k in range(5)], 4)
    assert who == {threading.get_ident()}


def test_programs_on_two_and_three_threads_have_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    small_thresholds(monkeypatch)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((37, 411))
    f = ct.value_and_grad(lambda x: np.sum(np.sin(x) * np.exp(-x * x) + np.sum(x, axis=0)))
    want = on("cpu", f, x)
    calls: list[threading.Thread] = []
    found: list[list[np.ndarray]] = []

    def call(count: int) -> None:
        with ct.num_threads(count):
            found.extend([on("cpu", f, x) for _ in range(10)])

    for count in (1, 2, 3, 2, 1):
        calls.append(threading.Thread(target=call, args=(count,)))
    for one in calls:
        one.start()
    for one in calls:
        one.join(120)
    assert len(found) == 50
    for one in found:
        assert_same(one, want)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_shares_passes_anew() -> None:
    x = np.linspace(0.0, 1.0, 200_000)
    f = ct.function(lambda x: np.sin(x) * x)
    with ct.use_engine("cpu"), ct.num_threads(2):
        want = f(x)
        child = os.fork()
        if not child:
            right = False
            try:
                right = all(np.array_equal(f(x), want) for _ in range(3))
                shared(POOL, lambda *_: None, [(0, 0, 0, 0)] * 4, 2)
            finally:
                os._exit(0 if right else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert np.array_equal(f(x), want)
