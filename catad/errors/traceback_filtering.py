"""Tracebacks of users' mistakes show the user's code alone; an error that catad did not expect keeps all its frames."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from itertools import groupby, zip_longest
from types import TracebackType
from typing import ParamSpec, TypeVar

from catad.errors.base import CatadError
from catad.errors.places import is_generated, is_ours, of_package

P = ParamSpec("P")
R = TypeVar("R")


def filter_traceback(error: BaseException) -> None:
    """Take the frames of this package out of the traceback of an error, and of those it came from.

    A function that users call does it in a handler of its own, before a bare `raise`, which adds no frame. The environment
    variable `CATAD_TRACEBACK_FILTERING=off` leaves the frames where they are.
    """
    if os.environ.get("CATAD_TRACEBACK_FILTERING", "").lower() in ("off", "0", "no", "false"):
        return
    seen: BaseException | None = error
    while seen is not None:
        _filter(seen)
        if seen.__cause__ is None and _caught_inside(seen.__context__) and _is_reported(seen):
            seen.__suppress_context__ = True
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)


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


def _filter(error: BaseException) -> None:
    steps: list[TracebackType] = []
    step = error.__traceback__
    while step is not None:
        steps.append(step)
        step = step.tb_next
    kept: list[TracebackType] = []
    inside = False
    for ours, run in groupby(steps, lambda step: is_ours(step.tb_frame.f_code.co_filename) or is_generated(step.tb_frame)):
        group = list(run)
        inside = ours and any(of_package(each.tb_frame.f_code.co_filename) for each in group)
        kept += [] if inside else group
    if inside and not _is_reported(error):  # an error of catad's own, whose frames say where
        return
    for step, after in zip_longest(kept, kept[1:]):
        step.tb_next = after
    error.__traceback__ = kept[0] if kept else None


def _caught_inside(error: BaseException | None) -> bool:
    """True for an error that a function of this package caught, to try something else."""
    step = None if error is None else error.__traceback__
    return step is not None and of_package(step.tb_frame.f_code.co_filename)


def _is_reported(error: BaseException) -> bool:
    """True for an error or a notice of catad, and for an error of Python or NumPy that says where in the user's code it arose."""
    said = getattr(error, "__notes__", ())
    return isinstance(error, (CatadError, Warning)) or any(note.startswith("  where:") for note in said)
