"""Drawn Python functions obey all laws or are refused; a planted bug is found and made short; the time is kept."""

from __future__ import annotations

import signal
from time import monotonic
from typing import Any

import pytest

from catad.testing.drawn import draw_function, functions, run_functions
from catad.testing.drawn.functions import DrawnFunction, FunctionFailure, examined, smaller
from catad.testing.drawn.running import TimeIsUp, within
from catad.traced import indexing
from catad.traced.stand_in import Traced

COUNT = 6


@pytest.mark.quick(3)
@pytest.mark.parametrize("number", range(COUNT))
def test_drawn_functions_obey_all_laws(number: int) -> None:
    failures, _ = examined(draw_function(5, number))
    assert not failures, failures[0].report()


@pytest.mark.slow
def test_many_drawn_functions() -> None:
    tally = run_functions(6, programs=300)
    assert not tally.failures, "\n\n".join(failure.report() for failure in tally.failures)


def test_a_function_of_a_seed_is_the_same_whenever_it_is_drawn() -> None:
    assert draw_function(1, 2) == draw_function(1, 2) != draw_function(1, 3)
    assert draw_function(1, 2).load() is not draw_function(1, 2).load()


def test_a_planted_bug_is_found_and_made_short(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def f(s, t, v, w, m):\n    w = w * 2\n    if s > 0:\n        w = w + 1\n    v[1:] = w[:2]\n    return s, v, m\n"
    drawn = DrawnFunction(0, 0, text, "float64", 16)
    assert examined(drawn) == ([], "equal")

    def forgets(x: Any, key: Any, value: Any) -> None:
        if not isinstance(key, slice):
            indexing.setitem(x, key, value)

    monkeypatch.setattr(Traced, "__setitem__", forgets)
    monkeypatch.setattr(functions, "REDUCING", 5.0)
    (failure,), said = examined(drawn)
    assert said == "failed" and failure.check == "value" and "--functions --seed 0 --program 0" in failure.report()
    short = smaller(failure)
    assert isinstance(short, FunctionFailure) and len(short.program.text) < len(text) and "v[1:]" in short.program.text


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
