"""What fails of drawn programs and functions; checks repeated up to a number of them or of seconds, in the middle of one, too."""

from __future__ import annotations

import _thread
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic, sleep
from typing import Any

from catad.support.progress import watched


@dataclass
class Tally:
    """The count of what has been run."""

    programs: int = 0
    failures: list[Any] = field(default_factory=list)
    words: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Failure:
    """A program or a function, what does not hold of it, and how; `beside` names what else does not."""

    program: Any
    check: str
    error: Exception
    beside: tuple[str, ...] = ()

    def report(self) -> str:
        """What to read and what to run again."""
        p = self.program
        said = f"{type(self.error).__name__}: {self.error}".splitlines()
        title = f"{p.kind} {p.number} of seed {p.seed} fails: {', '.join([self.check, *self.beside])}"
        return "\n".join([title, *["  " + line for line in (*said, *p.shown(self.check))]])


def failures(program: Any, laws: Iterable[tuple[str, Callable[[], None]]], only: str | None) -> Iterator[Failure]:
    """The laws that do not hold: of all, or of the one that `only` names."""
    for name, law in laws:
        if only in (None, name):
            try:
                law()
            except Exception as error:  # whatever it is, it is a finding
                yield Failure(program, name, error)


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

    def share() -> tuple[float, float]:
        by_count = tally.programs / programs if programs else 0.0
        return max(by_count, (monotonic() - start) / seconds if seconds else 0.0), 1.0

    try:
        with within(seconds), watched("drawn programs", share):
            while (programs is None or tally.programs < programs) and (seconds is None or monotonic() - start < seconds):
                one(tally.programs, tally)
                tally.programs += 1
                seen(tally)
    except TimeIsUp:
        pass
    return tally
