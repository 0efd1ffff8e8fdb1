"""Streams of a GPU that are captured in a graph: nothing runs yet, so the host cannot read a number."""

from __future__ import annotations

from typing import Any

from catad import errors


def check_not_captured(xp: Any, what: str) -> None:
    """Raises `EngineError` where the current stream of an array library is being captured; `what` says what the host reads."""
    if hasattr(xp, "cuda") and xp.cuda.get_current_stream().is_capturing():
        raise errors.EngineError(errors.waits_while_captured(what))
