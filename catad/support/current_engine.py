"""The engine in force in this thread, and when its checks raise: `engine/choice.py` sets both, and others look."""

from __future__ import annotations

from contextvars import ContextVar

AUTO = "auto"
"""The name that leaves the choice to catad."""

chosen: ContextVar[str | None] = ContextVar("engine", default=None)
"""None until the environment was asked."""

CHECKS = ("late", "now", "first", "off")
checks: ContextVar[str] = ContextVar("checks", default="late")
"""When checks of indices on a GPU raise: when the host next looks at what kernels have noted, or at once ("now").

Races of kernels are looked for at the first call only ("first"), or never ("off"); else at every call.
"""


def every_call() -> bool:
    """Whether every call of a kernel looks for races."""
    return checks.get() not in ("first", "off")
