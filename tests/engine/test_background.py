"""Compiling in the background: array code serves until compiled code is there, whatever happens meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine import background
from catad.engine import program as engine_program
from catad.engine.cpu.engine import CPU
from catad.engine.cpu.run import target
from catad.engine.program import CALLS, Program, program_of

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
    return any(engine is CPU for engine, *_ in program(f)._runs)


def test_array_code_serves_until_a_thread_has_compiled() -> None:
    f = wave()
    with ct.use_engine("reference"):
        want = f(X)
    got = [f(X) for _ in range(CALLS - 1)]
    assert not is_compiled(f) and got == [want] * len(got)
    f(X)
    assert background.wait(60) and is_compiled(f)
    assert np.isclose(f(X), want, rtol=1e-15)
    assert program(f)._settled[1] is program(f).on(CPU)


def test_calls_while_the_thread_compiles_are_served_by_array_code(monkeypatch: pytest.MonkeyPatch) -> None:
    f, going, threads = wave(), threading.Event(), list[threading.Thread]()
    prepare = Program._prepare

    def held(self: Program, engine: Any) -> None:
        threads.append(threading.current_thread())
        assert going.wait(60)
        prepare(self, engine)

    monkeypatch.setattr(Program, "_prepare", held)
    with ct.use_engine("reference"):
        want = f(X)
    assert [f(X) for _ in range(50)] == [want] * 50
    going.set()
    assert background.wait(60)
    assert np.isclose(f(X), want, rtol=1e-15)
    assert len(threads) == 1 and threads[0] is not threading.main_thread() and threads[0].daemon


def test_what_has_cost_most_is_compiled_first() -> None:
    going, order = threading.Event(), list[str]()
    background.submit(lambda: going.wait(60), 1.0, "cpu")
    for cost, name in ((1.0, "cheap"), (9.0, "dear"), (3.0, "between")):
        job = background.submit(lambda name=name: order.append(name), cost, "cpu")
    job.cost = 20.0  # as calls go on
    going.set()
    assert background.wait(60) and order == ["between", "dear", "cheap"]


def test_loops_within_a_call_that_array_code_serves_are_compiled_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[Program]()
    monkeypatch.setattr(Program, "_prepare", lambda self, engine: asked.append(self))
    f = ct.iterate(ct.sin >> ct.cos, 30) >> ct.sum()
    for _ in range(CALLS + 2):
        f(X)
    assert background.wait(60) and asked == [program(f)]


@pytest.mark.filterwarnings("ignore::catad.CatadNotice")
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
    assert is_compiled(f) and not any(given[2] != "cpu" for given in asked)


def test_what_the_compiler_raises_is_raised_by_a_later_call(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: Program, engine: Any) -> None:
        raise ct.EngineError("the compiler is ill")

    monkeypatch.setattr(Program, "_prepare", fails)
    f = wave()
    for _ in range(CALLS):
        f(X)
    assert background.wait(60)
    with pytest.raises(ct.EngineError, match="is ill"):
        f(X)


def test_notices_come_up_in_the_call_that_finds_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    from catad.engine.notices import forget, notice

    monkeypatch.setattr(Program, "_prepare", lambda self, engine: notice("from the thread", "look here"))
    forget("from the thread")
    f = wave()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(CALLS):
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
    background.submit(lambda: going.wait(60), 9.0, "cpu")
    f = wave()
    for _ in range(CALLS + 1):
        f(X)  # waits behind the other one
    child = os.fork()
    if not child:
        done = False
        try:
            f(X)
            done = background.wait(60) and is_compiled(f)
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
        [sys.executable, "-c", ENDS.format("background.submit(lambda: time.sleep(600), 1.0, 'cpu')")], timeout=120, check=True
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
