"""Bars: when they are shown, what they count, and that they leave results as they are."""

from __future__ import annotations

import contextlib
import io
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.errors.notices import forget
from catad.support import progress

SECONDS = 10.0  # to wait for the thread that draws


class Bar:
    """What stands for tqdm's bar, and keeps what it was told."""

    made: list[Bar]

    def __init__(self, **given: Any) -> None:
        self.given, self.n, self.start_t, self.counts, self.is_closed = given, 0, time.time(), list[int](), False
        Bar.made.append(self)

    def refresh(self) -> None:
        self.counts.append(self.n)

    def clear(self) -> None:
        pass

    def close(self) -> None:
        self.is_closed = True


def eventually(holds: Callable[[], bool]) -> bool:
    begun = time.monotonic()
    while not holds() and time.monotonic() - begun < SECONDS:
        time.sleep(0.01)
    return holds()


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Bar]]:
    tqdm = pytest.importorskip("tqdm")
    assert eventually(lambda: not progress._watcher)
    monkeypatch.setattr(tqdm, "tqdm", Bar)
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    monkeypatch.setattr(progress, "PAUSE", 0.01)
    Bar.made = []
    yield Bar.made
    assert eventually(lambda: not progress._watcher), "the thread ends when nothing is left to show"


def slow(x: np.ndarray) -> np.ndarray:
    time.sleep(0.02)
    return x * 0.5 + 1.0


SLOW = ct.primitive.function(slow, lambda a: a)


def test_short_work_shows_nothing(bars: list[Bar]) -> None:
    with ct.progress(True), progress.watched("short"):
        pass
    assert eventually(lambda: not progress._watcher) and not bars


def test_long_work_shows_a_bar_that_goes_away(bars: list[Bar]) -> None:
    done = [0.25]
    with ct.progress(True), progress.watched("planning", lambda: (done[0], 1.0)):
        assert eventually(lambda: bool(bars and bars[0].counts))
        done[0] = 0.75
        assert eventually(lambda: bars[0].counts[-1] == 0.75 * progress.DONE)
    assert eventually(lambda: bars[0].is_closed) and "planning" in bars[0].given["desc"]


def test_many_short_works_in_a_row_are_long(bars: list[Bar]) -> None:
    with ct.progress(True):
        for _ in range(100):
            with progress.watched("a part"):
                time.sleep(0.01)
    assert bars and eventually(lambda: all(bar.is_closed for bar in bars))


@pytest.mark.parametrize("off", ["no terminal", "environment", "option", "thread"])
def test_where_nothing_is_shown(off: str, bars: list[Bar], monkeypatch: pytest.MonkeyPatch) -> None:
    def shown() -> list[bool]:
        with progress.watched("long"):
            return [bool(progress._going)]

    monkeypatch.setattr(sys.stderr, "isatty", lambda: off != "no terminal", raising=False)
    monkeypatch.setenv("CATAD_PROGRESS", "off" if off == "environment" else "1")
    found: list[bool] = []
    with ct.progress(off != "option") if off in ("option", "thread") else threading.Lock():
        work = threading.Thread(target=lambda: found.extend(shown()))
        if off == "thread":
            work.start()
            work.join(SECONDS)
        else:
            found += shown()
    assert found == [False]


def test_a_word_that_the_variable_does_not_have_is_named(bars: list[Bar], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("CATAD_PROGRESS", "never")
    forget("CATAD_PROGRESS")
    with pytest.warns(ct.CatadNotice, match="CATAD_PROGRESS has an unknown value"):
        assert progress.is_shown()
    for word, shown in (("On", True), ("", True), (" OFF ", False), ("no", False)):
        monkeypatch.setenv("CATAD_PROGRESS", word)
        assert progress.is_shown() is shown


def test_a_terminal_shows_bars(bars: list[Bar], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with progress.watched("long"):
        assert eventually(lambda: bool(bars))


LOOPS = {
    "iterate": (lambda f, **more: ct.iterate(f, 30, **more), 30),
    "iterate in bounded memory": (lambda f, **more: ct.iterate(f, 30, memory=4, **more), 30),
    "while_loop": (lambda f, **more: ct.while_loop(ct.sum() >> ct.map(lambda s: s < 3.99), f, **more), 0),
    "sweep": (lambda f, **more: ct.sweep(ct.fork(ct.proj(0) >> f, ct.proj(2)), 30, **more), 30),
}


def arguments(name: str) -> tuple[Any, ...]:
    return (np.zeros(2), (), np.arange(30.0)) if name == "sweep" else (np.zeros(2),)


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_counts_its_steps(name: str, bars: list[Bar]) -> None:
    loop, total = LOOPS[name]
    with ct.progress(True):
        loop(SLOW, progress=True)(*arguments(name))
    assert eventually(lambda: bool(bars) and all(bar.is_closed for bar in bars))
    counting = [bar for bar in bars if bar.given["unit"] == "steps"]
    assert counting and all(bar.given["total"] == (total or None) for bar in counting)
    counts = [n for bar in counting for n in bar.counts]
    assert counts == sorted(counts) and counts[-1] > counts[0] and counts[-1] <= 30
    assert name.split()[0] in counting[0].given["desc"]


@pytest.mark.parametrize("engine", ["reference", "cpu", "auto"])
@pytest.mark.parametrize("name", LOOPS)
def test_counting_changes_no_result(name: str, engine: str) -> None:
    loop, _ = LOOPS[name]
    step = ct.map(lambda x: x * 0.5 + 1.0)
    plain, counting = loop(step), loop(step, progress=True)
    with ct.use_engine(engine), ct.progress(True):
        for f, g in ((plain, counting), (ct.grad(plain >> TOTAL[name]), ct.grad(counting >> TOTAL[name]))):
            for _ in range(3):
                want, got = f(*arguments(name)), g(*arguments(name))
                assert str(want) == str(got)


TOTAL = {name: ct.exl >> ct.sum() if name == "sweep" else ct.sum() for name in LOOPS}


def test_each_step_is_counted_once_by_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    for stage in ("begin", "step", "end"):
        monkeypatch.setattr(progress.Steps, stage, lambda self, stage=stage: told.append(stage))
    f = ct.iterate(ct.map(lambda x: x * 0.5 + 1.0), 7, progress=True)
    with ct.use_engine("cpu"):
        _, pullback = ct.vjp(f, np.ones(3))
        assert told == ["begin", *["step"] * 7, "end"]
        pullback(np.ones(3))
    assert told == ["begin", *["step"] * 7, "end"]


def test_a_loop_that_an_error_ends_leaves_no_bar(bars: list[Bar], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LOST", 3)
    calls = [0]

    def failing(x: np.ndarray) -> np.ndarray:
        calls[0] += 1
        time.sleep(0.02)
        if calls[0] > 10:
            raise RuntimeError("enough")
        return x + 1.0

    step = ct.primitive.function(failing, lambda a: a)
    with ct.progress(True), pytest.raises(RuntimeError, match="enough"):
        ct.iterate(step, 1000, progress=True)(np.ones(2))
    assert eventually(lambda: not progress._going) and eventually(lambda: all(bar.is_closed for bar in bars))


def test_loops_print_and_compare_with_their_option() -> None:
    step = ct.map(ct.sin)
    for loop in (ct.iterate(step, 3, progress=True), ct.while_loop(ct.sum() >> ct.map(lambda s: s > 1.0), step, progress=True)):
        assert "progress=True" in repr(loop)
    assert eval(repr(ct.iterate(ct.sin, 3, progress=True)), {"ct": ct}) == ct.iterate(ct.sin, 3, progress=True)
    assert ct.iterate(ct.sin, 3, progress=True) != ct.iterate(ct.sin, 3)


def test_a_loop_in_a_traced_function_counts(bars: list[Bar]) -> None:
    def f(x: Any) -> Any:
        y = np.sin(x)
        return ct.iterate(lambda s: s * 0.5 + y, 5, progress=True)(x)

    x = np.array([0.1, 0.2])
    with ct.progress(True):
        got = ct.grad(lambda x: np.sum(f(x)))(x)
    want = ct.grad(lambda x: np.sum(ct.iterate(lambda s: s * 0.5 + np.sin(x), 5)(x)))(x)
    np.testing.assert_array_equal(got, want)


def test_work_that_has_ended_shows_no_bar_any_more(bars: list[Bar]) -> None:
    """What is printed next, as the result of a script or the prompt, must not stand in the line of a bar."""
    with ct.progress(True), progress.watched("long"):
        with progress.watched("a part"):
            assert eventually(lambda: bool(bars))
        assert not bars[0].is_closed or eventually(lambda: len(bars) > 1)
    assert bars and all(bar.is_closed for bar in bars)


def test_a_bar_begins_with_the_seconds_that_have_passed() -> None:
    """tqdm draws a bar when it is made, at 00:00, unless it is told to wait."""
    tqdm = pytest.importorskip("tqdm")
    stream, work = io.StringIO(), progress.Steps("long", 4)
    work.begun -= 3.0
    with contextlib.redirect_stderr(stream):
        progress._bar(work, work.begun)
        progress._drawn(progress._bars[0], work)
        progress._close_all()
    assert tqdm is not None and "00:03" in stream.getvalue() and "00:00" not in stream.getvalue()
