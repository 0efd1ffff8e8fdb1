"""What tests do to the tasks of programs in this process: a worker of a cluster runs these functions by `client.run`."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from catad import errors
from catad.chunks.worker import RunRegion

_call = RunRegion.__call__


def _each(before: Callable[[], None]) -> None:
    def run(self: RunRegion, *args: Any) -> Any:
        before()
        return _call(self, *args)

    RunRegion.__call__ = run  # type: ignore[method-assign]


def slow(seconds: float) -> None:
    """Each task pauses first."""
    _each(lambda: time.sleep(seconds))


def failing_once(folder: str) -> None:
    """Each task fails where nobody has tried it before: the folder says which were tried."""
    from distributed import get_worker

    def before() -> None:
        mark = Path(folder) / hashlib.sha256(repr(get_worker().get_current_task()).encode()).hexdigest()
        if not mark.exists():
            mark.touch()
            raise errors.IndexRangeError("a disk was away for a moment")

    _each(before)


def as_they_are() -> None:
    """Tasks run as they do without tests."""
    RunRegion.__call__ = _call  # type: ignore[method-assign]
