"""Drawn Python functions have NumPy's values and slopes on every engine or are refused; planted bugs are found and made short."""

from __future__ import annotations

import operator
import re
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from time import monotonic
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.testing.drawn import draw_function, functions, phrases, run_functions, sources
from catad.testing.drawn.functions import DrawnFunction, examined, shares, smaller
from catad.testing.drawn.running import Failure, TimeIsUp, within
from catad.testing.drawn.shorter import shortened
from catad.testing.drawn.slopes import slopes
from catad.traced.arrays import indexing
from catad.traced.arrays.stand_in import Traced
from catad.traced.control.loop import Loop
from catad.traced.trace import Driver

COUNT = 24
TEXT = "def f(s, t, v, w, m, k):\n    w = w * 2\n    if s > 0:\n        w = w + 1\n    v[1:] = w[:2]\n    return s, v, m\n"


@pytest.mark.quick(6)
@pytest.mark.parametrize("number", range(COUNT))
def test_drawn_functions_have_the_values_and_the_slopes_of_numpy(number: int) -> None:
    failures, _ = examined(draw_function(5, number))
    assert not failures, failures[0].report()


@pytest.mark.slow
def test_many_drawn_functions() -> None:
    tally = run_functions(6, programs=300)
    assert not tally.failures, "\n\n".join(failure.report() for failure in tally.failures)


# -- what is drawn


def test_a_function_of_a_seed_is_the_same_whenever_it_is_drawn() -> None:
    assert draw_function(1, 2) == draw_function(1, 2) != draw_function(1, 3)
    assert draw_function(1, 2).load() is not draw_function(1, 2).load()
    a, b = draw_function(1, 2).arguments(), draw_function(1, 2).arguments()
    assert all(np.array_equal(x, y) and type(x) is type(y) for x, y in zip(a, b, strict=True))


def test_all_constructs_are_drawn() -> None:
    kinds = {"dead states", "else of a loop", "write through a view", "break", "continue", "return"}
    phrased = [phrases.WRITES, phrases.SWAPS, phrases.CONDITIONS, phrases.NEVER, phrases.NOT_REACHED, phrases.DEAD, phrases.KEYED]
    missing = kinds.union(sources.SIMPLE, sources.NESTED, ["jump"], *phrased)
    missing = missing.union(*phrases.EXPRESSIONS.values(), *phrases.VIEWS.values())
    counts: Counter[str] = Counter()
    for number in range(1000):
        counts.update(draw_function(3, number).said)
    assert not missing - counts.keys()
    assert min(counts[kind] for kind in kinds.union(sources.SIMPLE, sources.NESTED)) > 60


def test_few_drawn_functions_are_refused_and_what_no_result_needs_is_not_returned() -> None:
    said: Counter[str] = Counter()
    for number in range(40):
        drawn = draw_function(4, number)
        said.update(examined(drawn, only="nothing")[1])
        assert not re.search(r"return [^#\n]*\b[de]\d", drawn.text)
    words = shares(said)
    assert sum(count for word, count in said.items() if word.startswith("refused")) <= 5, words
    assert said["equal"] >= 30, words


# -- slopes of differences


def test_slopes_are_known_where_a_function_is_smooth() -> None:
    def f(x: Any, n: Any, y: Any) -> Any:
        return n, np.sin(x) * np.exp(y), abs(x) + np.where(y > 0, y, 3 * y) + np.floor(y + 0.5)

    found = slopes(f, (0.25, 3, np.array([0.5, -2.0, 0.0])), ((), np.array([1.0, 2.0, 0.0]), np.ones(3)))
    (x, y), (x_known, y_known) = found
    assert x_known.all() and abs(x - (np.cos(0.25) * (np.exp(0.5) + 2 * np.exp(-2.0)) + 3)) < 1e-9
    assert y_known.tolist() == [False, True, False]  # a jump and a kink
    assert abs(y[1] - (2 * np.sin(0.25) * np.exp(-2.0) + 3)) < 1e-9


@pytest.mark.parametrize("apart", [1e-9, 1e-6, 1e-4, 1e-3, 0.02])
def test_a_kink_near_by_gives_no_wrong_slope(apart: float) -> None:
    found = slopes(lambda x: (np.abs(x - apart) + x * x,), (np.array([0.0]),), (1.0,))
    assert not found.known[0][0] or abs(found.value[0][0] + 1.0) < 1e-6


def test_slopes_that_rounding_hides_are_not_known() -> None:
    found = slopes(lambda x: (np.float32(x[0]) * np.float32(1.1),), (np.array([0.3]),), (1.0,))
    assert not found.known[0].any()


# -- planted bugs


def found_within(count: int, only: str) -> Failure:
    """The first drawn function of which a check fails."""
    for number in range(count):
        failures, _ = examined(draw_function(8, number), only)
        if failures:
            return failures[0]
    raise AssertionError(f"{count} functions hide the bug")


def test_swapped_states_of_a_loop_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Loop.finish

    def swapped(self: Loop, changed: Any, steady: Any, finals: Any) -> None:
        alike = [k for k, var in enumerate(finals) if var.space == finals[0].space]
        if len(alike) > 1:
            finals[alike[0]], finals[alike[1]] = finals[alike[1]], finals[alike[0]]
        right(self, changed, steady, finals)

    monkeypatch.setattr(Loop, "finish", swapped)
    assert found_within(60, "value on reference").check == "value on reference"


def test_an_alias_that_does_not_see_a_write_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Driver, "aug", lambda self, op, thing, value: getattr(operator, op)(thing, value))
    assert found_within(60, "value on reference").check == "value on reference"


def test_a_gradient_that_is_slightly_wrong_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = ct.vjp

    def wrong(f: Any, *args: Any) -> Any:
        value, pullback = right(f, *args)
        return value, lambda w: (*pullback(w)[:4], 1.0001 * pullback(w)[4], ())

    monkeypatch.setattr(ct, "vjp", wrong)
    assert "differences" in str(found_within(10, "gradient on cpu").error)


def test_a_planted_bug_is_made_short_and_printed_as_a_script(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    drawn = DrawnFunction(0, 0, sources.HELPERS + TEXT, "float64", 16)
    assert examined(drawn)[0] == []

    def forgets(x: Any, key: Any, value: Any) -> None:
        if not isinstance(key, slice):
            indexing.setitem(x, key, value)

    monkeypatch.setattr(Traced, "__setitem__", forgets)
    monkeypatch.setattr(functions, "REDUCING", 20.0)
    failures, count = examined(drawn)
    assert count["failed"] == 1 and failures[0].check == "value on reference"
    assert {f"value on {engine}" for engine in functions.ENGINES} <= {failure.check for failure in failures}
    short = smaller(replace(failures[0], beside=("value on cpu",)))
    assert re.fullmatch(r"def f\(s, t, v, w, m, k\):\n    v\[.*:.*\] = .*\n    return .*\n", short.program.text)
    report = short.report()
    assert "fails: value on reference, value on cpu" in report and "--functions --seed 0 --program 0" in report
    script = tmp_path / "script.py"
    script.write_text(short.program.script("value on cpu"))
    command = [sys.executable, "-c", f"import runpy; runpy.run_path({str(script)!r})"]  # where catad is found as here
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.count("array(") >= 3, done.stderr
    assert [line.split(":")[0] for line in done.stdout.splitlines() if ":" in line] == ["NumPy", "catad", "gradient"]


def test_texts_are_shortened_as_long_as_something_holds() -> None:
    loop = "    for i in range(20):\n        if i > 3:\n            z = y * 2\n            y = x\n"
    text = f"def f(x):\n    y = x + 37\n{loop}    return z\n"
    *_, last = shortened(text, lambda shorter: "z = " in shorter)
    assert last == "def f(x):\n    z = y\n    return z\n"


# -- the time


@pytest.mark.parametrize("handler", [signal.default_int_handler, signal.SIG_IGN])
@pytest.mark.usefixtures("process_settings")
def test_checks_end_in_time(handler: Any) -> None:
    signal.signal(signal.SIGINT, handler)
    start = monotonic()
    with pytest.raises(TimeIsUp), within(0.05):
        while monotonic() - start < 60:
            pass
    with within(60):
        pass
    assert signal.getsignal(signal.SIGINT) is handler
    tally = run_functions(1, seconds=0.0)
    assert tally.programs == 0 and not tally.failures


def test_a_function_that_once_failed_on_whole_programs() -> None:
    failures, _ = examined(draw_function(11, 415), only="gradient on whole")
    assert not failures, failures[0].report()
