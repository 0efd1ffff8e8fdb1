"""Repeating checks up to a number of programs or of seconds; the end comes in time, also in the middle of a check."""

from __future__ import annotations

import _thread
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic, sleep
from typing import Any


@dataclass
class Tally:
    """The count of what has been run."""

    programs: int = 0
    failures: list[Any] = field(default_factory=list)
    words: Counter[str] = field(default_factory=Counter)


class TimeIsUp(BaseException):
    """The seconds are over; no check can catch it by `Exception`."""


@contextmanager
def _interruptible() -> Iterator[None]:
    """What is inside can be interrupted, also where a shell has told the process to ignore Ctrl-C, as in its background."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


AGAIN = 5.0  # seconds after which what has not ended is interrupted once more


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """Raises `TimeIsUp` in the main thread where what is inside takes longer; a call outside of Python ends first."""
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    over = threading.Event()
    lock = threading.Lock()
    inside = True

    def end() -> None:
        while True:  # again, since an interruption that arrives in a callback of the garbage collector is lost
            with lock:
                if not inside:
                    return
                over.set()
                _thread.interrupt_main()
            sleep(AGAIN)

    timer = threading.Timer(max(seconds, 0.0), end)
    timer.daemon = True
    try:
        with _interruptible():
            try:
                timer.start()
                yield
            finally:
                with lock:
                    inside = False
                timer.cancel()
                for _ in range(100):  # an interruption that is on its way arrives here, and not behind
                    if not over.is_set():
                        break
                    sleep(0.001)
    except KeyboardInterrupt:
        if over.is_set():
            raise TimeIsUp from None
        raise


def repeated(
    one: Callable[[int, Tally], None], programs: int | None, seconds: float | None, seen: Callable[[Tally], None]
) -> Tally:
    """Run `one(number, tally)` for 0, 1, 2, ...; a check that is not done in time counts as not run."""
    tally, start = Tally(), monotonic()
    try:
        with within(seconds):
            while (programs is None or tally.programs < programs) and (seconds is None or monotonic() - start < seconds):
                one(tally.programs, tally)
                tally.programs += 1
                seen(tally)
    except TimeIsUp:
        pass
    return tally
