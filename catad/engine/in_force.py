"""The name of the engine in force in this thread: `choice.py` sets it, and what compiles looks whether the user named one."""

from __future__ import annotations

from contextvars import ContextVar

AUTO = "auto"
"""The name that leaves the choice to catad."""

chosen: ContextVar[str | None] = ContextVar("engine", default=None)
"""None until the environment was asked."""
