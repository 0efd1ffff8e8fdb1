"""What a test must leave as it found it, since else those after it would pass or fail by the order of files."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import numpy as np

NOT_OURS = ("PYTEST_", "KMP_", "TF_", "TPU_")  # variables that pytest sets for each test, scikit-learn and JAX when imported


def state() -> dict[str, Any]:
    """What tests share within a process, by name."""
    found: dict[str, Any] = {
        "the environment": {name: value for name, value in os.environ.items() if not name.startswith(NOT_OURS)},
        "the working directory": os.getcwd(),
        "sys.path": list(sys.path),
        "the handler of SIGINT": signal.getsignal(signal.SIGINT),
        "NumPy's treatment of floating-point errors": np.geterr(),
        "NumPy's print options": np.get_printoptions(),
        "the recursion limit": sys.getrecursionlimit(),
    }
    if "catad" in sys.modules:
        from catad.engine import choice
        from catad.engine.cpu.run import threads
        from catad.support import current_engine

        found |= {
            "the engine in force": choice.chosen(),
            "the checks in force": current_engine.checks.get(),
            "the number of threads": threads.get_num_threads(),
        }
    return found


def changed(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """A line for each thing that is not as it was."""
    left = [(name, was, after[name]) for name, was in before.items() if after[name] != was]
    return [f"{name} is {_new(was, now)!r}, and was {_new(now, was)!r}" for name, was, now in left]


def put_back(before: dict[str, Any]) -> None:
    """Makes all of it what it was."""
    for name in os.environ.keys() - before["the environment"].keys():
        if not name.startswith(NOT_OURS):
            del os.environ[name]
    os.environ.update(before["the environment"])
    os.chdir(before["the working directory"])
    sys.path[:] = before["sys.path"]
    signal.signal(signal.SIGINT, before["the handler of SIGINT"])
    np.seterr(**before["NumPy's treatment of floating-point errors"])
    np.set_printoptions(**before["NumPy's print options"])
    sys.setrecursionlimit(before["the recursion limit"])
    if "the engine in force" in before:
        from catad.engine.cpu.run import threads
        from catad.support import current_engine

        current_engine.chosen.set(before["the engine in force"])
        current_engine.checks.set(before["the checks in force"])
        if threads.get_num_threads() != before["the number of threads"]:
            threads.set_num_threads(before["the number of threads"])


def _new(was: Any, now: Any) -> Any:
    """Of a dictionary what was not there, or had another value."""
    return {k: v for k, v in now.items() if k not in was or was[k] != v} if isinstance(now, dict) else now
