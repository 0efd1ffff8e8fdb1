"""Bars for work that takes more than two seconds: plans, compilations, loops with `progress=`, drawn tests.

Work tells what it is and, where it knows, how much of it is done; a thread looks at it a few times in a second and draws with
tqdm. So work pays for entering and leaving a list, and nothing at all where no bar can be shown: without tqdm, where the standard
error is neither a terminal nor that of a notebook, in threads other than the main one, and where the user has switched bars off.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from catad.support.options import truth_value

PATIENCE = 2.0  # seconds of work before a bar is shown
PAUSE = 0.2  # seconds between two looks at the work
LOST = 25  # times as long as a step takes, or a pause: a loop that has not counted for so long is gone
DONE = 10_000  # what a bar calls all of the work, where work says its share
OFF, ON = ("0", "off", "no", "false"), ("1", "on", "yes", "true")

Share = Callable[[], tuple[float, float]]  # what is done, and all there is

_asked: ContextVar[bool | None] = ContextVar("progress", default=None)


@contextmanager
def progress(shown: bool) -> Iterator[None]:
    """`with ct.progress(False):` shows no bars; `with ct.progress(True):` shows them where there is no terminal, too.

    Work of more than two seconds shows a bar on the standard error: plans, compilations, loops with `progress=True` and drawn
    tests. tqdm draws it, where it is installed. Without this, bars are shown in terminals and in notebooks, unless the
    environment variable CATAD_PROGRESS is "0" ("off", "no", "false"). It holds in this thread. Raises `ArgumentError` where
    `shown` is no truth value.

    >>> import catad as ct, numpy as np
    >>> with ct.progress(False):
    ...     ct.iterate(ct.cos, 1000, progress=True)(1.0).round(6)
    np.float64(0.739085)
    """
    token = _asked.set(truth_value(shown, "shown"))
    try:
        yield
    finally:
        _asked.reset(token)


def is_shown() -> bool:
    """Whether work in this thread shows bars."""
    asked = _asked.get()
    if asked is False or not _has_tqdm() or threading.current_thread() is not threading.main_thread():
        return False
    return asked is True or (_by_environment() and _is_seen())


def _by_environment() -> bool:
    said = os.environ.get("CATAD_PROGRESS", "").strip().lower()
    if said and said not in (*OFF, *ON):
        from catad import errors
        from catad.errors.notices import notice

        notice("CATAD_PROGRESS", errors.unknown_setting("CATAD_PROGRESS", said, (*ON, *OFF)))
    return said not in OFF


def _is_seen() -> bool:
    """Whether somebody reads the standard error: in a terminal, or in a notebook."""
    return sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)


@cache
def _has_tqdm() -> bool:
    return importlib.util.find_spec("tqdm") is not None


class _Work:
    """Some work that goes on: its name, how much of it is done, where that is known, and in which unit; when it began."""

    __slots__ = ("begun", "share", "unit", "what")

    def __init__(self, what: str, share: Share | None, unit: str) -> None:
        self.what, self.share, self.unit, self.begun = what, share, unit, time.monotonic()

    @property
    def is_stale(self) -> bool:
        """Whether it was left without a word, as a loop that an error ends."""
        return False


class Steps(_Work):
    """Steps of a loop, `total` of them where that is known: code that is compiled tells of each. Steps that are taken again after
    the last do not count."""

    __slots__ = ("done", "last", "total")

    def __init__(self, what: str, total: int) -> None:
        super().__init__(what, lambda: (self.done, self.total), "steps")
        self.done, self.total, self.last = 0, total, self.begun

    @property
    def is_stale(self) -> bool:
        """No step has ended for long, where steps so far took `each` seconds."""
        now = time.monotonic()
        each = (self.last - self.begun) / max(1, self.done)
        return self.done > 0 and now - self.last > LOST * max(PAUSE, each)

    def begin(self) -> None:
        """The loop begins."""
        end(self)
        self.done, self.begun = 0, time.monotonic()
        self.last = self.begun
        if is_shown():
            begin(self)

    def step(self) -> None:
        """A step has ended."""
        self.done += 1
        self.last = time.monotonic()
        if self.done == self.total:
            end(self)

    def end(self) -> None:
        """The loop has ended."""
        end(self)


@contextmanager
def watched(what: str, share: Share | None = None, unit: str = "") -> Iterator[None]:
    """Work that may take long. `share` gives what is done and all there is, in units or as parts of one.

    >>> with watched("waiting"):
    ...     pass
    """
    if not is_shown():
        yield
        return
    work = _Work(what, share, unit)
    begin(work)
    try:
        yield
    finally:
        end(work)


def begin(work: _Work) -> None:
    """Enter some work; `end` leaves it."""
    with _lock:
        _entered[0] += 1
        _going.append(work)
        if not _watcher:
            _watcher.append(threading.Thread(target=_watch, name="catad shows progress", daemon=True))
            _watcher[0].start()


def end(work: _Work) -> None:
    """Leave some work, and what was entered after it and never left. What is printed next finds no bar in its line."""
    with _lock:
        if work in _going:
            del _going[_going.index(work) :]
            if not _going:
                _close_all()


def cleared() -> None:
    """Take the bar away for a line that is printed; it comes again at the next look."""
    with _lock:
        for bar in _bars:
            bar.clear()


_lock = threading.RLock()
_going: list[_Work] = []  # the outermost first
_entered = [0]  # how often work was entered
_watcher: list[threading.Thread] = []
_bars: list[Any] = []


def _watch() -> None:
    """Look at the work until there is none, and draw it once it has taken long; short pauses between two works do not count."""
    begun, seen = time.monotonic(), -1
    shown: _Work | None = None
    while True:
        time.sleep(PAUSE)
        with _lock:
            _going[:] = [one for one in _going if not one.is_stale]
            idle, seen = not _going and _entered[0] == seen, _entered[0]
            work = _going[-1] if _going else None
            if work is not shown:
                _close_all()
            if idle:
                _watcher.clear()
                return
            if work is None or time.monotonic() - begun < PATIENCE:
                continue
            if not _bars:
                shown = work
                _bar(work, begun)
            _drawn(_bars[0], work)


def _bar(work: _Work, begun: float) -> None:
    """Add a bar of tqdm for some work, which counts its seconds from when it began."""
    made = importlib.import_module("tqdm").tqdm
    total = DONE if work.share is not None and not work.unit else work.share()[1] if work.share is not None else None
    line = "{desc}: {percentage:3.0f}% |{bar}| {elapsed}" if total == DONE and not work.unit else None
    line = "{desc}: {elapsed}" if work.share is None else line
    more = {"unit": work.unit or "it", "bar_format": line, "leave": False, "file": sys.stderr, "dynamic_ncols": True}
    bar = made(desc=f"catad: {work.what}", total=total or None, delay=PAUSE, **more)  # it is drawn once its start is set
    bar.start_t -= time.monotonic() - (work.begun if work.unit else begun)
    _bars.append(bar)


def _drawn(bar: Any, work: _Work) -> None:
    if work.share is not None:
        done, all_ = work.share()
        bar.n = done if work.unit else int(DONE * min(1.0, done / all_ if all_ else 0.0))
    bar.refresh()


def _close_all() -> None:
    for bar in _bars:
        bar.close()
    _bars.clear()


def _after_fork() -> None:
    """In a child, which has no such thread."""
    global _lock
    _lock = threading.RLock()
    for left in (_going, _watcher, _bars):
        left.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
