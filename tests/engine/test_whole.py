"""Whole programs as one compiled function: drawn ones, arguments as they may lie, bad input, and planted bugs."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category.wiring import Wiring
from catad.engine.cpu.whole import nested
from catad.engine.cpu.whole.program import _Program
from catad.engine.cpu.whole.text import Buffer, Text
from catad.engine.program import Program, program_of
from catad.testing.drawn import checks, draw_program

from .cpu_support import bits
from .test_whole_loops import HALVE, STEP, TERMS, WRITTEN, random
from .whole_support import Ran, anew, at_once, compare, leaves, ran

__all__ = ["ran"]


def written(name: str) -> tuple[ct.D, Any]:
    """A program of NumPy with a loop as a term, and its point."""
    fn, x = WRITTEN[name]
    x = tuple([np.asarray(part) for part in x])
    return ct.function(fn).at(ct.space_of(x[0] if len(x) == 1 else x)), x


# -- the words of the library, in drawn programs


@pytest.mark.parametrize("check", checks.CHECKS)
def test_drawn_programs(check: str, ran: Ran) -> None:
    for number in range(3):
        checks.CHECKS[check](draw_program(11, number, sizes=(0, 1, 2, 7)))
    assert ran.compiled


# -- arguments and results


@pytest.mark.parametrize("name", ["elements", "two states swapped", "rows", "before and after"])
def test_arguments_in_any_layout(name: str, ran: Ran) -> None:
    f, x = written(name)
    with ct.use_engine("reference"):
        want = leaves(f(*x))
    wide = [np.repeat(a, 2, axis=-1)[..., ::2] for a in x]
    turned = [np.ascontiguousarray(a[::-1])[::-1] for a in x]
    columns = [np.asfortranarray(a) for a in x]
    bytes_ = [np.frombuffer(b"." + a.tobytes(), np.uint8)[1:].view(a.dtype).reshape(a.shape) for a in x]
    swapped = [a.astype(a.dtype.newbyteorder()) for a in x]
    for point in (wide, turned, columns, bytes_, swapped):
        with ct.use_engine("cpu"):
            got = leaves(f(*point))
        assert all(bits(a, b) for a, b in zip(got, want, strict=True))
        assert all(np.array_equal(a, b) for a, b in zip(point, x, strict=True))
    assert ran.compiled and not ran.instead


def test_results_are_the_callers(ran: Ran) -> None:
    """Results may be written into: no argument, no constant and no later result changes."""
    constant = random(19)
    filled = ct.fork(ct.const(constant), ct.id) >> ct.at[2].set
    cases: list[tuple[ct.D, Any]] = [(ct.iterate(ct.id, 20), (random(3),)), written("two states swapped"), (filled, (1.5,))]
    with ct.use_engine("cpu"):
        for f, x in cases:
            before, first = [a.copy() for a in leaves(x)], leaves(f(*x))
            want = [a.copy() for a in first]
            for a in first:
                a[...] = 7.0
            again = leaves(f(*x))
            assert all(bits(a, b) for a, b in zip(again, want, strict=True))
            assert all(bits(a, b) for a, b in zip(leaves(x), before, strict=True))
    assert constant[2] != 1.5


def test_one_argument_given_twice(ran: Ran) -> None:
    f, (a, _) = written("each read by the other")
    with ct.use_engine("reference"):
        want = leaves(f(a, a))
    before = a.copy()
    with ct.use_engine("cpu"):
        got = leaves(f(a, a))
    assert all(bits(p, q) for p, q in zip(got, want, strict=True)) and bits(a, before)


def test_threads_call_one_program(ran: Ran) -> None:
    f, (x,) = written("large, before and after")
    points = [x * k for k in range(8)]
    with ct.use_engine("reference"):
        want = [leaves(f(p)) for p in points]

    def call(p: Any) -> list[Any]:
        with ct.use_engine("cpu"):
            return [leaves(f(p)) for _ in range(5)][-1]

    with ThreadPoolExecutor(4) as pool:
        got = list(pool.map(call, points))
    assert all(bits(a, b) for one, other in zip(got, want, strict=True) for a, b in zip(one, other, strict=True))


def test_a_call_after_one_that_failed(ran: Ran) -> None:
    """The place for the error of a call is not used again where there was one."""
    f = ct.function(lambda x, i: np.sum(x[i] * 2.0))
    x, good, bad = random(5), np.array([0, 4]), np.array([0, 5])
    with ct.use_engine("cpu"):
        for _ in range(3):
            assert f(x, good) == pytest.approx(2.0 * (x[0] + x[4]), rel=1e-15)
            with pytest.raises(IndexError):
                f(x, bad)
    assert ran.compiled


def test_auto_goes_on_as_it_has_begun_and_a_named_engine_runs_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    f, x = ct.function(lambda x: np.sum(np.sin(x) * x)), random(20)
    program = program_of(f.at(ct.space_of(x)), ct.space_of(x))[0]
    taken: list[str] = []
    at_once(monkeypatch)
    given = Program.on
    monkeypatch.setattr(Program, "on", lambda self, engine: taken.append(engine.name) or given(self, engine))
    for _ in range(3):
        with ct.use_engine("auto"):
            made = program(np, [x])[0]
        with ct.use_engine("reference"):
            assert program(np, [x])[0] == pytest.approx(made, rel=1e-14)
    assert taken == ["cpu", "reference", "reference", "reference"]  # "auto" asks no more


def test_not_a_number_reaches_no_other_lane(ran: Ran) -> None:
    step = ct.map(lambda s: s * 0.9 + 0.1)
    x = random(6, 4)
    marked = x.copy()
    marked[2] = np.nan
    marked[4, 0] = -np.inf
    others = [0, 1, 3, 5]
    rows = [ct.iterate(step, 20), ct.map(HALVE), ct.fork(ct.id, ct.sum()) >> ct.add, ct.scan(ct.add, 0.0)]
    with ct.use_engine("cpu"):
        for f in map(ct.map, rows):
            clean = total(f)
            assert bits(f(marked)[others], f(x)[others])
            assert bits(ct.grad(clean)(marked)[others], ct.grad(clean)(x)[others])
    assert ran.compiled


def total(f: ct.D) -> ct.D:
    return f >> ct.map(lambda v: v * v) >> ct.sum()


# -- bad input


def picked(x, k):
    s = 0.0
    for i in range(len(k)):
        s = s * 0.5 + x[k[i]]
    return s


def put(x, k):
    y = np.zeros(len(x))
    for i in range(len(k)):
        y[k[i]] = y[k[i]] + x[i % 3]
    return y


@pytest.mark.parametrize("fn", [picked, put])
@pytest.mark.parametrize("bad", [5, -6, 2**62, -(2**63)])
def test_an_index_out_of_range_in_a_loop(fn: Any, bad: int, ran: Ran) -> None:
    x, k = random(5), np.arange(20) % 10 - 5
    f = ct.function(fn)
    with ct.use_engine("cpu"):
        want = fn(x, k)
        assert np.allclose(f(x, k), want, rtol=1e-14)
        wrong = k.copy()
        wrong[7] = bad
        start = ran.compiled
        for g in (f, ct.grad(f >> ct.sum()) if fn is put else ct.grad(f)):
            with pytest.raises(ct.IndexRangeError) as caught:
                g(x, wrong)
            assert str(bad) in str(caught.value)
        assert np.allclose(f(x, k), want, rtol=1e-14)
        assert ran.compiled > start and ran.instead


def test_a_loop_that_does_not_end(ran: Ran) -> None:
    loop = ct.while_loop(ct.map(lambda x: x > 0.0), ct.map(lambda x: x + 1.0), max_steps=100)
    with ct.use_engine("cpu"):
        for f in (loop, ct.grad(loop), ct.map(loop) >> ct.sum()):
            with pytest.raises(ct.ArgumentError, match="has not ended after 100 steps"):
                f(np.array([1.0, -1.0]) if "sum" in repr(f) else 1.0)
        assert loop(-1.0) == -1.0


def test_while_loops_change_their_number_of_steps(ran: Ran) -> None:
    x = [0.5, 77.0, 3.0, 1e6, 77.0, 0.1]
    with ct.use_engine("reference"):
        want = [(HALVE(t), ct.grad(HALVE)(t), ct.map(ct.grad(HALVE))(np.array([t, 2 * t, 5.0])).tolist()) for t in x]
    with ct.use_engine("cpu"):
        got = [(HALVE(t), ct.grad(HALVE)(t), ct.map(ct.grad(HALVE))(np.array([t, 2 * t, 5.0])).tolist()) for t in x]
    assert got == want and ran.compiled


ENDLESS = """
import faulthandler, os, signal, threading
import numpy as np, catad as ct
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may tell its children to ignore it
faulthandler.dump_traceback_later(90, exit=True)  # a loop that nobody ends would keep its process for ever
step = ct.map(lambda x: x * 0.5 + 1.0)
loop = {loop}
with ct.use_engine("cpu"):
    ct.iterate(step, 20)(1.0)
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        loop(1.0)
    except KeyboardInterrupt:
        print("ended")
    print(ct.iterate(step, 100)(1.0) == 2.0)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(
    "loop",
    [
        "ct.while_loop(ct.map(lambda x: x > 0.0), step, max_steps=10**15)",
        "ct.iterate(step, 10**12)",
        "ct.iterate(ct.iterate(ct.iterate(step, 10**4), 10**4), 10**4)",
        "lambda x: ct.reverse_differential(ct.iterate(step, 10**8, memory=3))(x, x)",
    ],
)
def test_ctrl_c_ends_a_loop(loop: str) -> None:
    root = os.path.dirname(os.path.dirname(ct.__file__))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}
    program = ENDLESS.format(loop=loop)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env=env)
    assert done.stdout.split() == ["ended", "True"], done.stdout + done.stderr


# -- planted bugs


def written_while_it_is_read(patch: pytest.MonkeyPatch) -> None:
    """In place although others read the argument later."""

    class Nobody(dict[int, list[int]]):
        def __missing__(self, key: int) -> list[int]:
            return []

    patch.setattr(_Program, "_readers", lambda self: Nobody())


def slots_in_the_wrong_order(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(nested.Loop, "write", _forward)


def _forward(self: nested.Loop, count: str) -> None:
    self.w.loop("0", count, self.step)
    for one in self.carried:
        one.finish()


def one_step_less(patch: pytest.MonkeyPatch) -> None:
    original = Text.length
    patch.setattr(Text, "length", lambda self, n: original(self, n - 1))


def states_that_do_not_swap(patch: pytest.MonkeyPatch) -> None:
    """The next state lies where that of now does."""
    original = nested._Carried.begin

    def begin(self: Any) -> None:
        original(self)
        self.next = self.now

    patch.setattr(nested._Carried, "begin", begin)


def states_that_stay_where_others_belong(patch: pytest.MonkeyPatch) -> None:
    """What is made in the place of another state is not moved out of its way."""
    original = nested._Carried.end

    def end(self: Any, made: Buffer) -> None:
        if made.pointer in (self.now.pointer, self.next.pointer):
            original(self, made)

    patch.setattr(nested._Carried, "end", end)


def sums_of_the_last_step(patch: pytest.MonkeyPatch) -> None:
    original = nested.adding_up

    def adding(wiring: Any, first: int, count: int) -> Any:
        made = original(wiring, first, count)
        return Wiring(made.dom, made.cod, made.wires, made.inputs, made.boxes, wiring.outputs)

    patch.setattr(nested, "adding_up", adding)


def states_written_over_arguments(patch: pytest.MonkeyPatch) -> None:
    """A loop takes the place of what it is given for its own, although others read it."""
    original = Buffer.__init__

    def owned(self: Buffer, pointer: str, nbytes: int, owned: bool = False, place: int = -1) -> None:
        original(self, pointer, nbytes, True, place)

    patch.setattr(Buffer, "__init__", owned)


BUGS = {
    "written while it is read": (written_while_it_is_read, written("before and after")),
    "written while it is read, large": (written_while_it_is_read, written("large, before and after")),
    "slots in the wrong order": (slots_in_the_wrong_order, TERMS["weights"]),
    "a loop in the wrong direction": (slots_in_the_wrong_order, TERMS["weights, backwards"]),
    "one step less": (one_step_less, (ct.iterate(STEP, 20), (random(3),))),
    "states that do not swap": (states_that_do_not_swap, written("two states swapped")),
    "large states that do not swap": (states_that_do_not_swap, written("two large states swapped")),
    "states that stay": (states_that_stay_where_others_belong, written("swapped and changed")),
    "large states that stay": (states_that_stay_where_others_belong, written("large, swapped and changed")),
    "sums of the last step": (sums_of_the_last_step, written("a filter")),
    "written over arguments": (states_written_over_arguments, written("elements")),
}


@pytest.mark.parametrize("name", BUGS)
def test_planted_bugs_are_caught(name: str, ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    bug, (f, x) = BUGS[name]
    x = tuple([np.array(part) if isinstance(part, np.ndarray) else part for part in x])
    anew(monkeypatch)
    bug(monkeypatch)
    with pytest.raises(AssertionError) as found:
        compare(f, x, ran)
    assert "nothing ran compiled" not in str(found.value)
    monkeypatch.undo()
    anew(monkeypatch)
