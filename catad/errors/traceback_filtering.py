"""Tracebacks of users' mistakes show the user's code alone; an error that catad did not expect keeps all its frames."""

from __future__ import annotations

import os
from collections.abc import Callable
from dis import opname
from functools import wraps
from itertools import groupby, zip_longest
from types import TracebackType
from typing import ParamSpec, TypeVar

from catad.errors.base import CatadError, CatadNotice
from catad.errors.places import is_generated, is_of_library, is_of_python, is_ours, of_package

P = ParamSpec("P")
R = TypeVar("R")


def filter_traceback(error: BaseException) -> None:
    """Take the frames of this package out of the traceback of an error, of those it came from, and of those in its group.

    A function that users call does it in a handler of its own, before a bare `raise`, which adds no frame. The environment
    variable `CATAD_TRACEBACK_FILTERING=off` leaves the frames where they are.
    """
    if os.environ.get("CATAD_TRACEBACK_FILTERING", "").lower() in ("off", "0", "no", "false"):
        return
    said = _is_reported(error)  # those that it came from arose while the same function was traced
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()  # `raise error from error` makes a ring
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        steps = _steps(each)
        if not _is_defect(each, steps, said or _is_reported(each)):
            _filter(each, steps)
            if each.__cause__ is None and _caught_inside(each.__context__) and _is_reported(each):
                each.__suppress_context__ = True
        waiting.append(each.__cause__ or (None if each.__suppress_context__ else each.__context__))
        waiting += each.exceptions if isinstance(each, BaseExceptionGroup) else ()


def boundary(function: Callable[P, R]) -> Callable[P, R]:
    """Decorates a function that users call: the traceback of its errors is filtered."""

    @wraps(function)
    def filtered(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            filter_traceback(error)
            raise

    return filtered


def _steps(error: BaseException) -> list[TracebackType]:
    steps: list[TracebackType] = []
    step = error.__traceback__
    while step is not None:
        steps.append(step)
        step = step.tb_next
    return steps


def _filter(error: BaseException, steps: list[TracebackType]) -> None:
    kept: list[TracebackType] = []
    inside = False
    for ours, run in groupby(steps, lambda step: is_ours(_file(step)) or _of_package(step)):
        group = list(run)
        before, inside = inside, ours and any(map(_of_package, group))
        if not inside:  # what Python's own functions do for this package goes with it
            kept += [step for step in group if not (before and is_of_python(_file(step)))]
    for step, after in zip_longest(kept, kept[1:]):
        step.tb_next = after
    error.with_traceback(kept[0] if kept else None)  # an assignment fails where the class is a frozen dataclass


def _is_defect(error: BaseException, steps: list[TracebackType], said: bool) -> bool:
    """True for an error that arose in this package, or in a library below it, and is no word of theirs to the user.

    While a function of the user is traced, this package raises errors as NumPy does, or asks NumPy, which raises them. They are
    words to the user, and the first one that is met is `said` to be so by its note. What an expression of this package raises,
    such as an attribute that is not there, is a defect.
    """
    if isinstance(error, (CatadError, CatadNotice, RuntimeWarning)):
        return False
    count = len(steps)
    while count and _inside(steps[count - 1]) and not _of_package(steps[count - 1]):
        count -= 1
    if not count or not _of_package(steps[count - 1]):
        return False
    if isinstance(error, RecursionError):  # the user's function calls itself, unless most frames are below its last one
        below = next((k for k, step in enumerate(reversed(steps)) if not _inside(step)), len(steps))
        return 2 * below > len(steps)
    if not said:
        return True
    if count < len(steps):
        return is_of_python(_file(steps[count]))
    name = opname[steps[-1].tb_frame.f_code.co_code[steps[-1].tb_lasti]]
    return name != "RAISE_VARARGS" and not ("CALL" in name and isinstance(error, (ValueError, OverflowError)))


def _file(step: TracebackType) -> str:
    return step.tb_frame.f_code.co_filename


def _of_package(step: TracebackType) -> bool:
    return of_package(_file(step)) or is_generated(step.tb_frame)


def _inside(step: TracebackType) -> bool:
    """True for a frame of this package or of a library."""
    return _of_package(step) or is_ours(_file(step)) or is_of_library(_file(step))


def _caught_inside(error: BaseException | None) -> bool:
    """True for an error that a function of this package caught, to try something else."""
    step = None if error is None else error.__traceback__
    return step is not None and of_package(_file(step))


def _is_reported(error: BaseException) -> bool:
    """True for an error or a notice of catad, and for an error of Python or NumPy that says where in the user's code it arose."""
    if isinstance(error, (CatadError, Warning)):
        return True
    said = getattr(error, "__notes__", None)
    return isinstance(said, list) and any(isinstance(note, str) and note.startswith("  where:") for note in said)
