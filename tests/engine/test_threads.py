"""The pool of threads: all calls run, errors arrive, nothing deadlocks, interrupts wait for the helpers."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

import catad as ct
from catad.engine.cpu.run import threads
from catad.engine.notices import forget

pytestmark = pytest.mark.full_code


@pytest.fixture(autouse=True)
def four_threads():
    with ct.num_threads(4):
        yield


def test_every_call_runs_once_and_the_first_in_the_caller() -> None:
    for n in (0, 1, 2, 3, 4, 5, 40):
        ran: list[tuple[int, int]] = []
        threads.run([lambda k=k, ran=ran: ran.append((k, threading.get_ident())) for k in range(n)])
        assert sorted(k for k, _ in ran) == list(range(n))
        assert all(ident == threading.get_ident() for k, ident in ran if k == 0)


def test_calls_run_at_the_same_time() -> None:
    """Each call waits until all have begun: this returns only where there are four threads."""
    together = threading.Barrier(4, timeout=30)
    threads.run([together.wait] * 4)


def test_one_thread_runs_all_in_the_caller() -> None:
    threads.set_num_threads(1)
    idents: list[int] = []
    threads.run([lambda: idents.append(threading.get_ident())] * 5)
    assert idents == [threading.get_ident()] * 5


def test_the_first_error_in_the_order_of_the_calls_is_raised_when_all_have_ended() -> None:
    ended: list[int] = []

    def call(k: int) -> None:
        time.sleep(0.02 if k in (1, 3) else 0.0)
        ended.append(k)
        if k in (1, 2):
            raise ValueError(k)

    with pytest.raises(ValueError, match=r"^1$"):
        threads.run([lambda k=k: call(k) for k in range(4)])
    assert sorted(ended) == [0, 1, 2, 3]
    ran: list[int] = []
    threads.run([lambda k=k: ran.append(k) for k in range(8)])  # and the pool is as good as before
    assert sorted(ran) == list(range(8))


def test_an_error_of_the_first_call_waits_for_the_others() -> None:
    ended = threading.Event()

    def late() -> None:
        time.sleep(0.05)
        ended.set()

    with pytest.raises(ZeroDivisionError):
        threads.run([lambda: 1 // 0, late])
    assert ended.is_set()


def test_nested() -> None:
    ran: list[tuple[int, int]] = []

    def inner(k: int) -> None:
        threads.run([lambda j=j: ran.append((k, j)) for j in range(3)])

    threads.run([lambda k=k: inner(k) for k in range(6)])
    assert sorted(ran) == [(k, j) for k in range(6) for j in range(3)]


def test_many_callers_at_once() -> None:
    ran: list[tuple[int, int, int]] = []

    def caller(c: int) -> None:
        for i in range(50):
            threads.run([lambda k=k, i=i: ran.append((c, i, k)) for k in range(4)])

    callers = [threading.Thread(target=caller, args=(c,)) for c in range(8)]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join(60)
        assert not thread.is_alive()
    assert len(ran) == len(set(ran)) == 8 * 50 * 4


def test_callers_whose_helpers_are_busy_help_themselves() -> None:
    """All helpers sit in calls of one caller, which go on only when another caller has finished."""
    other_done = threading.Event()
    first = threading.Thread(target=lambda: threads.run([lambda: other_done.wait(30)] * 4))
    first.start()
    ran: list[int] = []
    threads.run([lambda k=k: ran.append(k) for k in range(4)])
    other_done.set()
    first.join(30)
    assert sorted(ran) == [0, 1, 2, 3] and not first.is_alive()


def test_no_more_threads_than_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_pool", threads._Pool())
    before = set(threading.enumerate())
    for _ in range(5):
        threads.run([lambda: None] * 50)
    assert len(set(threading.enumerate()) - before) == 3  # and the caller


def test_an_idle_pool_keeps_nothing_alive() -> None:
    """Nor what the frames hold that an error passed through."""
    held = threading.Event()  # something that can be referred to weakly
    ref = weakref.ref(held)

    def fail(held: threading.Event) -> None:
        raise ValueError(held)

    with pytest.raises(ValueError):
        threads.run([lambda held=held: fail(held)] * 4)
    del held
    for _ in range(100):  # a helper that woke up late may still be about to look at the closed job
        gc.collect()
        if ref() is None:
            break
        time.sleep(0.02)
    assert ref() is None


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


def test_two_threads_run_programs_with_their_own_numbers() -> None:
    """Each call meets at a barrier of its own size, which opens only where so many threads run it."""
    met = []

    def meeting(count: int) -> None:
        with ct.num_threads(count):
            together = threading.Barrier(count, timeout=30)
            threads.run([together.wait] * count)
            met.append(count)

    both = [threading.Thread(target=meeting, args=(count,)) for count in (2, 3)]
    for one in both:
        one.start()
    for one in both:
        one.join(60)
    assert sorted(met) == [2, 3]


def test_work_that_is_done_aside_takes_the_number_of_the_thread_that_waits() -> None:
    together = threading.Barrier(4, timeout=30)
    threads.aside([together.wait] * 4, lambda: None)
    assert not together.broken


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


HEARS = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
"""A process that starts in the background ignores Ctrl-C, and so do its children, until they say otherwise."""


def script(text: str, *, interrupt_after: str | None = None) -> str:
    """What a program prints; `interrupt_after`: it gets a Ctrl-C when it has printed this line."""
    text = HEARS + textwrap.dedent(text)
    child = subprocess.Popen([sys.executable, "-u", "-c", text], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    lines = []
    limit = threading.Timer(120, child.kill)
    limit.start()
    try:
        for line in child.stdout:
            lines.append(line)
            if line.strip() == interrupt_after:
                child.send_signal(signal.SIGINT)
        assert child.wait(60) == 0, "".join(lines)
    finally:
        limit.cancel()
        child.kill()
        child.stdout.close()
    return "".join(lines)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_waits_for_the_helpers_and_the_pool_goes_on() -> None:
    said = script(
        """
        import threading, time
        from catad.engine.cpu.run import threads
        threads.set_num_threads(3)
        began, ended = threading.Barrier(3), []
        def helper():
            began.wait(60); time.sleep(0.5); ended.append(1)
        def first():
            began.wait(60); print("began")
        try:
            threads.run([first, helper, helper])
        except KeyboardInterrupt:
            print("interrupted", len(ended))
        ran = []
        threads.run([lambda k=k: ran.append(k) for k in range(9)])
        print(sorted(ran))
        """,
        interrupt_after="began",
    )
    assert said.splitlines() == ["began", "interrupted 2", str(list(range(9)))]


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_after_an_interrupt_no_further_call_is_begun() -> None:
    said = script(
        """
        import threading, time
        from catad.engine.cpu.run import threads
        threads.set_num_threads(2)
        began, ran = threading.Barrier(2), []
        def first():
            began.wait(60); print("began")
            while True: time.sleep(0.01)
        def helper():
            began.wait(60); time.sleep(0.5)
        def later(): ran.append(1); time.sleep(0.5)
        try:
            threads.run([first, helper, *[later] * 50])
        except KeyboardInterrupt:
            print("interrupted", len(ran) < 50)
        """,
        interrupt_after="began",
    )
    assert said.splitlines() == ["began", "interrupted True"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_starts_its_own_threads() -> None:
    said = script(
        """
        import os, threading
        from catad.engine.cpu.run import threads
        threads.set_num_threads(4)
        def meet():
            together = threading.Barrier(4, timeout=30)
            threads.run([together.wait] * 4)
        meet()
        stop = threading.Event()
        busy = threading.Thread(target=lambda: threads.run([lambda: stop.wait(30)] * 4))
        busy.start()
        child = os.fork()
        if child == 0:
            meet()
            print("child")
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        stop.set(); busy.join(60)
        meet()
        print("parent")
        """
    )
    assert said.splitlines() == ["child", "parent"]


def test_at_the_end_of_the_interpreter() -> None:
    """Calls at exit, in the last moments of modules, and with helpers still busy: the process ends by itself."""
    said = script(
        """
        import atexit, threading, time
        from catad.engine.cpu.run import threads
        threads.set_num_threads(3)
        run = threads.run
        class Last:
            def __del__(self):
                run([lambda: None] * 3)
        last = Last()
        atexit.register(lambda: (run([lambda: None] * 3), print("at exit")))
        threading.Thread(target=lambda: run([lambda: time.sleep(30)] * 3), daemon=True).start()
        time.sleep(0.05)
        print("end")
        """
    )
    assert said.splitlines() == ["end", "at exit"]


def test_first_used_when_the_interpreter_is_ending() -> None:
    said = script(
        """
        from catad.engine.cpu.run import threads
        threads.set_num_threads(3)
        class Last:
            def __del__(self, run=threads.run, print=print):
                ran = []
                run([lambda: ran.append(1)] * 3)
                print(len(ran), flush=True)
        last = Last()
        """
    )
    assert said.strip() == "3"


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
