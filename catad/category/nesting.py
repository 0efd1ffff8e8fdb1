"""Nested things are made without recursion: a wiring that contains a wiring, a structure that contains a structure, ...

Making one calls for the next, on Python's stack, which is short. So a thing that is needed `DEEP` levels down is deferred:
the attempt ends, the outermost level makes the thing, and a second attempt finds it. Only the levels between begin again,
once for each thing that they deferred, and the stack stays short.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, ExitStack
from typing import Any, NamedTuple, TypeVar

from catad import errors
from catad.category import trip_counts
from catad.category.trip_counts import TripCount

T = TypeVar("T")

DEEP = 12  # levels, each of about 20 frames of Python's stack, which has 1,000


class _Task(NamedTuple):
    """Something to make: its name among all, the numbers of steps of loops that are assumed for it, and what else holds there."""

    name: Hashable
    make: Callable[[], Any]
    numbers: dict[Hashable, TripCount] | None
    surroundings: tuple[Callable[[], AbstractContextManager[None]], ...]


surroundings: list[Callable[[], Callable[[], AbstractContextManager[None]]]] = []  # each says how what holds now holds again


class _PutOff(BaseException):  # no `except Exception` of a user's function that is being traced may catch it
    """Something has to be made before what calls for it."""

    def __init__(self, task: _Task) -> None:
        super().__init__("something within has to be made first")
        self.task = task


class _Thread(threading.local):
    """`depth`: how many things are being made, each for the one before; `done`: results, or errors, of what was put off."""

    depth = 0
    done: dict[Hashable, tuple[Any, Exception | None]] | None = None


_here = _Thread()


def made(name: Hashable, make: Callable[[], T]) -> T:
    """The result of `make`. Within one outermost thing, equal names mean equal results."""
    depth = _here.depth
    if depth == DEEP:
        return _found(name, make)  # type: ignore[no-any-return]
    _here.depth = depth + 1
    try:
        return make() if depth else _outermost(make)
    finally:
        _here.depth = depth


def _found(name: Hashable, make: Callable[[], Any]) -> Any:
    """A deferred thing that has been made meanwhile."""
    numbers = trip_counts.own()
    key = (name, None if numbers is None else frozenset(numbers.items()))
    assert _here.done is not None
    outcome = _here.done.get(key)
    if outcome is None:
        raise _PutOff(_Task(key, make, numbers, tuple([now() for now in surroundings])))
    value, error = outcome
    if error is not None:
        raise error
    return value


def _outermost(make: Callable[[], T]) -> T:
    """The result of `make`, after all that is deferred meanwhile, on an explicit stack."""
    done = _here.done = {}
    stack = [_Task(None, make, trip_counts.own(), ())]
    try:
        while True:
            task = stack[-1]
            value, failed = None, None
            try:
                with trip_counts.assuming(task.numbers), ExitStack() as around:
                    for again in task.surroundings:
                        around.enter_context(again())
                    value = task.make()
            except _PutOff as later:
                stack.append(later.task)
                continue
            except Exception as error:
                if len(stack) == 1:
                    raise
                failed = error  # what calls for it is told, since it may know what to do
            stack.pop()
            if not stack:
                return value  # type: ignore[return-value]
            done[task.name] = value, failed
    except RecursionError as error:
        raise errors.DepthError(errors.too_deep("laid out")) from error
    finally:
        _here.done = None
