"""Compiling in the background: array code serves until compiled code is there, whatever happens meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category.trip_counts import TripCount, assuming, trip_count
from catad.engine import background
from catad.engine import program as engine_program
from catad.engine.cpu.engine import CPU
from catad.engine.cpu.run import target
from catad.engine.program import CALLS, LAST, Program, program_of

from .compiling import cache, script, unload
from .whole_support import anew

__all__ = ["cache"]

pytestmark = [
    pytest.mark.skipif(not target.available(), reason="no llvmlite here"),
    pytest.mark.numpy_only,
    pytest.mark.usefixtures("cache"),
    pytest.mark.full_code,
]
X = np.linspace(0.1, 1.0, 50)


@pytest.fixture(autouse=True)
def in_background(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The mode that users have; nothing is compiled yet."""
    monkeypatch.setenv("CATAD_COMPILE", "background")
    monkeypatch.setattr(engine_program, "NUMBER", 1e-9)
    anew(monkeypatch)
    unload()
    assert background.wait(60)
    yield
    assert background.wait(60)


def wave() -> ct.D:
    return ct.sin >> ct.exp >> ct.map(lambda x: x * 1.25 + 0.5) >> ct.sum()


def program(f: ct.D) -> Program:
    return program_of(f, ct.f64[X.shape])[0]


def is_compiled(f: ct.D) -> bool:
    return program(f)._settled is not None


def test_array_code_serves_the_first_calls_and_a_thread_compiles_meanwhile() -> None:
    f = wave()
    with ct.use_engine("reference"):
        want = f(X)
    got = [f(X) for _ in range(CALLS - 1)]
    assert program(f)._job is None and got == [want] * len(got)
    f(X)
    assert background.wait(60) and program(f)._job.ready
    assert f(X) == want and not is_compiled(f)
    for _ in range(LAST - CALLS - 1):
        f(X)
    assert not is_compiled(f)
    assert np.isclose(f(X), want, rtol=1e-15) and is_compiled(f)
    assert program(f)._settled.run is program(f).on(CPU)


@pytest.mark.parametrize("pause", [0.0, 0.3])
def test_which_call_runs_compiled_code_first_does_not_depend_on_time(pause: float) -> None:
    f, served = wave(), list[bool]()
    for k in range(LAST + 3):
        f(X)
        served.append(is_compiled(f))
        time.sleep(pause if k == CALLS else 0.0)
    assert served == [False] * LAST + [True] * 3


def test_a_program_whose_calls_cost_much_is_compiled_after_fewer_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_program, "NUMBER", 1e-5)
    f = wave()
    call, compiling = program(f).cost
    for _ in range(int(compiling / call)):
        f(X)
        assert not is_compiled(f)
    f(X)
    assert is_compiled(f) and program(f)._calls < LAST


def test_the_last_call_of_array_code_waits_for_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    f, begun, going, threads = wave(), threading.Event(), threading.Event(), list[threading.Thread]()
    prepared = Program._prepared

    def held(self: Program, *given: Any) -> Any:
        threads.append(threading.current_thread())
        begun.set()
        assert going.wait(60)
        return prepared(self, *given)

    monkeypatch.setattr(Program, "_prepared", held)
    with ct.use_engine("reference"):
        want = f(X)
    assert [f(X) for _ in range(CALLS)] == [want] * CALLS and begun.wait(60)
    assert [f(X) for _ in range(LAST - CALLS)] == [want] * (LAST - CALLS)
    threading.Timer(0.2, going.set).start()
    assert np.isclose(f(X), want, rtol=1e-15) and going.is_set() and is_compiled(f)
    assert len(threads) == 1 and threads[0] is not threading.main_thread() and threads[0].daemon


def test_a_caller_does_not_wait_for_other_programs_to_be_compiled() -> None:
    f, going = wave(), threading.Event()
    background.submit(lambda: going.wait(60), 1.0)
    for _ in range(LAST + 1):
        f(X)
    assert is_compiled(f) and not going.is_set()
    going.set()


def test_a_small_program_has_full_code_at_once() -> None:
    f = wave()
    for _ in range(LAST + 1):
        f(X)
    assert not program(f).on(CPU).alone.code.left


def test_quick_code_of_a_large_program_runs_until_the_thread_has_full_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_program, "AT_ONCE", 0.0)
    f, going = wave(), threading.Event()
    job = background.submit(lambda: going.wait(60), 1.0)
    quick = [f(X) for _ in range(LAST + 1)][-1]
    code = program(f).on(CPU).alone.code
    assert code.left
    going.set()
    assert job.result() and background.wait(60)
    assert not code.left and f(X) == quick


def test_what_has_cost_most_is_compiled_first() -> None:
    going, order = threading.Event(), list[str]()
    background.submit(lambda: going.wait(60), 1.0)
    for cost, name in ((1.0, "cheap"), (9.0, "dear"), (3.0, "between")):
        job = background.submit(lambda name=name: order.append(name), cost)
    job.cost = 20.0  # as calls go on
    going.set()
    assert background.wait(60) and order == ["between", "dear", "cheap"]


def test_an_interrupt_in_the_call_that_makes_a_job_leaves_nobody_waiting() -> None:
    going = threading.Event()
    background.submit(lambda: going.wait(60), 1.0)

    def interrupted() -> None:
        raise KeyboardInterrupt

    job = background.submit(interrupted, 0.0)
    for _ in range(2):  # who makes it, and who asks then
        with pytest.raises(KeyboardInterrupt):
            job.result()
        assert job.ready
    going.set()


def test_loops_within_a_call_that_array_code_serves_are_compiled_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[Program]()
    monkeypatch.setattr(Program, "_prepared", lambda self, *_: asked.append(self))
    f = ct.iterate(ct.sin >> ct.cos, 30) >> ct.sum()
    for _ in range(CALLS + 2):
        f(X)
    assert background.wait(60) and asked == [program(f)]


@pytest.mark.filterwarnings("ignore::catad.CatadNotice")
def test_a_job_finds_the_numbers_of_steps_that_were_assumed_when_it_was_given() -> None:
    numbers = {"loop": TripCount(5, "bound")}
    with assuming(numbers):
        going = threading.Event()
        background.submit(lambda: going.wait(60), 1.0)
        job = background.submit(lambda: trip_count("loop"), 1.0)
        numbers["loop"] = TripCount(7, "bound")  # as another attempt of the call finds
    going.set()
    assert background.wait(60) and job.result() == TripCount(5, "bound")


def test_programs_that_a_function_of_python_calls_often_are_compiled_meanwhile() -> None:
    inner = wave()

    def often(x: Any) -> Any:
        for _ in range(20_000):
            inner(X)
            if is_compiled(inner):
                break
        return np.asarray(x) * 1.0, ct.scale(np.ones(np.shape(x)))

    ct.D(often)(X)
    assert is_compiled(inner)


@pytest.mark.parametrize(("mode", "compiled"), [("never", False), ("now", True)])
def test_other_modes(mode: str, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATAD_COMPILE", mode)
    f = wave()
    f(X)
    assert not is_compiled(f)  # array code has cost less than compiling will
    for _ in range(3000):
        f(X)
    assert is_compiled(f) is compiled and not background._waiting and not background._running


def test_an_unknown_mode_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATAD_COMPILE", "soon")
    with pytest.raises(ct.EngineError, match=r"(?s)'soon'.*'background' or 'now' or 'never'"):
        wave()(X)


def test_a_call_that_would_take_longer_than_compiling_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[Any]()
    monkeypatch.setattr(background, "submit", lambda *given: asked.append(given))
    f = ct.iterate(ct.sin >> ct.cos, 100_000) >> ct.sum()
    f(X)
    assert is_compiled(f) and not asked


def test_what_the_compiler_raises_is_raised_by_the_call_that_fetches_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: Program, *_: Any) -> Any:
        raise ct.EngineError("the compiler is ill")

    monkeypatch.setattr(Program, "_prepared", fails)
    f = wave()
    for _ in range(LAST):
        f(X)
    with pytest.raises(ct.EngineError, match="is ill"):
        f(X)


def test_notices_come_up_in_the_call_that_fetches_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    from catad.errors.notices import forget, notice

    prepared = Program._prepared

    def tells(self: Program, *given: Any) -> Any:
        notice("from the thread", "look here")
        return prepared(self, *given)

    monkeypatch.setattr(Program, "_prepared", tells)
    forget("from the thread")
    f = wave()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(LAST):
            f(X)
        assert background.wait(60) and not seen
        f(X)
    assert [str(one.message) for one in seen] == ["look here"]
    forget("from the thread")


def test_a_program_that_is_compiled_by_name_meanwhile_is_taken_at_once() -> None:
    f = wave()
    ct.compile(f, ct.f64[X.shape])
    f(X)
    assert program(f)._settled is not None


def test_threads_that_call_at_once_get_equal_numbers() -> None:
    f, found = ct.value_and_grad(wave()), list[Any]()
    with ct.use_engine("reference"):
        want = f(X)

    def calls() -> None:
        found.extend([f(X) for _ in range(200)])

    threads = [threading.Thread(target=calls) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert len(found) == 800
    for value, slope in found:
        assert np.isclose(value, want[0], rtol=1e-14) and np.allclose(slope, want[1], rtol=1e-14)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    going = threading.Event()
    background.submit(lambda: going.wait(60), 9.0)
    f = wave()
    for _ in range(LAST):
        f(X)  # its code waits behind the other one
    child = os.fork()
    if not child:
        signal.alarm(60)  # a child that waits for ever ends badly
        done = False
        try:
            f(X)
            done = is_compiled(f)
        finally:
            os._exit(0 if done else 1)
    going.set()
    assert os.waitpid(child, 0)[1] == 0


ENDS = """
import time
import numpy as np
import catad as ct
from catad.engine import background
{}
"""


def test_a_process_does_not_wait_for_the_thread(cache: Any) -> None:
    subprocess.run(
        [sys.executable, "-c", ENDS.format("background.submit(lambda: time.sleep(600), 1.0)")], timeout=120, check=True
    )


@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.03, 0.1])
def test_a_process_that_ends_while_llvm_works_ends_well(seconds: float, cache: Any) -> None:
    calls = f"""
f = ct.grad(ct.compose(*[ct.map(lambda x, k=k: np.sin(x * k) + 0.5) for k in range(40)]) >> ct.sum())
for _ in range(4):
    f(np.ones(100))
while not background._running:
    time.sleep(0.001)
time.sleep({seconds})
print("said")
"""
    assert script(cache, ENDS.format(calls)).strip() == "said"
