"""Long searches as two processes: two streams of random numbers, each with all the work; the better order of each part stays.

There are always two streams, whatever the machine has, so the plan does not depend on it. The second runs in a process of its
own, a fresh interpreter that reads its task and writes its answer; where none can be started it runs here, after the first.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence

from catad.planner.elimination.solve import Solution, improve_all

COMMAND = "from catad.planner.elimination.streams import serve; serve()"


def in_streams(solutions: Sequence[Solution], units: float, seed: int) -> None:
    """Better solutions in place, by two streams."""
    task = pickle.dumps((list(solutions), units, f"{seed} second"))
    other = _started(task)
    try:
        improve_all(solutions, units, f"{seed} first")
        answer = _answer(other)
    except BaseException:
        if other is not None:
            other.kill()
        raise
    found: list[Solution] = pickle.loads(answer if answer else solved(task))
    for known, second in zip(solutions, found, strict=True):
        known.offer(second.order, second.value)
        known.bound = max(known.bound, second.bound)


def solved(task: bytes) -> bytes:
    """The solutions of a task, bettered."""
    solutions, units, seed = pickle.loads(task)
    improve_all(solutions, units, seed)
    return pickle.dumps(solutions)


def serve() -> None:
    """Answer the task on the standard input."""
    sys.stdout.buffer.write(solved(sys.stdin.buffer.read()))


def _started(task: bytes) -> subprocess.Popen[bytes] | None:
    where = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", COMMAND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=where,
        )
    except (OSError, ValueError):
        return None
    assert process.stdin is not None
    try:
        process.stdin.write(task)
        process.stdin.close()
    except OSError:
        process.kill()
    return process


def _answer(process: subprocess.Popen[bytes] | None) -> bytes:
    if process is None or process.stdout is None:
        return b""
    with process.stdout:
        answer = process.stdout.read()
    return answer if process.wait() == 0 else b""
