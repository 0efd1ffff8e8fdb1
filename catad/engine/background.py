"""Compiling while array code serves: one thread takes what has cost most so far, and programs fetch what it has made.

The environment variable CATAD_COMPILE says how the engine "auto" compiles: in the "background" (the default), "now", which means
in the thread that calls, or "never". The thread ends when nothing waits, and no process waits for it to end.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Any, Generic, TypeVar, cast

from catad import errors
from catad.category import trip_counts
from catad.errors import notices

T = TypeVar("T")
BACKGROUND, NOW, NEVER = MODES = ("background", "now", "never")


def mode() -> str:
    """How the engine "auto" compiles; raises `EngineError` where the environment says another word."""
    said = os.environ.get("CATAD_COMPILE", BACKGROUND)
    if said not in MODES:
        raise errors.EngineError(errors.unknown_setting("CATAD_COMPILE", said, MODES))
    return said


class Job(Generic[T]):
    """Something that a thread makes. `cost` is what not having it has cost so far, in seconds; callers raise it.

    `ready` says whether it is made, or has failed; `lost` that a fork has left the thread behind in another process.
    """

    __slots__ = ("_context", "_error", "_made", "_make", "_notices", "_numbers", "cost", "lost", "ready")

    def __init__(self, make: Callable[[], T], cost: float) -> None:
        self._make, self._context, self.cost = make, copy_context(), cost
        own = trip_counts.own()
        self._numbers = None if own is None else dict(own)  # as they are now: the caller may find out others meanwhile
        self._made: T | None = None
        self._error: BaseException | None = None
        self._notices: list[Callable[[], Any]] = []
        self.ready = self.lost = False

    def run(self) -> None:
        """Make it, in the context of the caller who asked for it, for the numbers of steps of loops that the caller assumed."""

        def made() -> T:
            with notices.held(self._notices), trip_counts.assuming(self._numbers):
                return self._make()

        try:
            self._made = self._context.run(made)
        except BaseException as error:  # raised where it is fetched
            self._error = error
            if not isinstance(error, Exception):  # Ctrl-C ends this thread, too
                raise
        finally:
            with _condition:
                self.ready = True
                _condition.notify_all()

    def result(self) -> T:
        """What was made. The caller waits for the thread, or makes it where the thread has not begun.

        Notices that came up are given here, and an error that there was is raised.
        """
        with _condition:
            own = self in _waiting
            if own:
                _waiting.remove(self)
            else:
                _condition.wait_for(lambda: self.ready)
        if own:
            self.run()
        for give in self._notices:
            give()
        if self._error is not None:
            raise self._error
        return cast(T, self._made)


_condition = threading.Condition()
_waiting: list[Job[Any]] = []
_running: list[Job[Any]] = []  # at most one


def submit(make: Callable[[], T], cost: float) -> Job[T]:
    """Let the thread make something, when nothing has cost more."""
    job = Job(make, cost)
    with _condition:
        _waiting.append(job)
        if len(_waiting) == 1 and not _running:
            threading.Thread(target=_work, name="catad compiles", daemon=True).start()
    return job


def wait(seconds: float | None = None) -> bool:
    """Wait until nothing is left to compile, at most so many seconds; whether nothing is left."""
    with _condition:
        return _condition.wait_for(lambda: not _waiting and not _running, seconds)


def _work() -> None:
    while True:
        with _condition:
            _running.clear()
            if not _waiting:
                _condition.notify_all()
                return
            k = max(range(len(_waiting)), key=lambda k: _waiting[k].cost)
            _running.append(_waiting.pop(k))
        _running[0].run()


def _after_fork() -> None:
    """In a child, which has no such thread: programs ask again."""
    global _condition
    _condition = threading.Condition()
    for job in (*_waiting, *_running):
        job.lost = True
    _waiting.clear()
    _running.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


_served: ContextVar[bool] = ContextVar("served", default=False)


def is_served() -> bool:
    """True within a call that array code serves for the time being: what is within it is compiled with it."""
    return _served.get()


@contextmanager
def serving() -> Any:
    """A call that array code serves for the time being."""
    token = _served.set(True)
    try:
        yield
    finally:
        _served.reset(token)
