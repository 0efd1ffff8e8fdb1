"""What a test must leave as it found it, since else those after it would pass or fail by the order of files."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import numpy as np


def state() -> dict[str, Any]:
    """What tests share within a process, by name; not what pytest says there, nor scikit-learn when it is imported."""
    found: dict[str, Any] = {
        "the environment": {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "KMP_"))},
        "the working directory": os.getcwd(),
        "sys.path": list(sys.path),
        "the handler of SIGINT": signal.getsignal(signal.SIGINT),
        "NumPy's treatment of floating-point errors": np.geterr(),
        "NumPy's print options": np.get_printoptions(),
        "the recursion limit": sys.getrecursionlimit(),
    }
    if "catad" in sys.modules:
        from catad.engine import choice, in_force
        from catad.engine.cpu.run import threads

        found |= {
            "the engine in force": choice.chosen(),
            "the checks in force": in_force.checks.get(),
            "the number of threads": threads.get_num_threads(),
        }
    return found


def changed(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """A line for each thing that is not as it was."""
    left = [(name, was, after[name]) for name, was in before.items() if after[name] != was]
    return [f"{name} is {_new(was, now)!r}, and was {_new(now, was)!r}" for name, was, now in left]


def _new(was: Any, now: Any) -> Any:
    """Of a dictionary what was not there, or had another value."""
    return {k: v for k, v in now.items() if k not in was or was[k] != v} if isinstance(now, dict) else now
