"""`with` in traced code: what catches exceptions, such as `contextlib.suppress`, catches none that NumPy does not raise."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from catad import errors
from catad.traced.recorder import Restart


class Managed:
    """A context manager that lets errors of tracing pass."""

    __slots__ = ("manager",)

    def __init__(self, manager: Any) -> None:
        self.manager = manager

    def __enter__(self) -> Any:
        return self.manager.__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        caught = self.manager.__exit__(kind, error, trace)
        return bool(caught) and not isinstance(error, (Restart, errors.TraceError))


def managed(manager: Any) -> Any:
    """What stands in a `with` statement for a context manager."""
    return Managed(manager) if hasattr(type(manager), "__enter__") and hasattr(type(manager), "__exit__") else manager
