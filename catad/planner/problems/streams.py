"""Long searches as two processes: two streams of random numbers, each with all the work; the better order of each part stays.

There are always two streams, whatever the machine has, so the plan does not depend on it. The second runs in another
process, a fresh interpreter that reads its task and writes its answer; where none can be started, or it does not answer, it
runs here, after the first. That interpreter is isolated: it imports from where this process does, whatever lies in the
current folder.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
from collections.abc import Sequence

from catad import version
from catad.planner.problems.solve import Solution, improve_all

COMMAND = "import sys; sys.path[:] = sys.argv[1:]; from catad.planner.problems.streams import serve; serve()"


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
    answer = solved(sys.stdin.buffer.read())
    sys.stdout.buffer.write(hashlib.sha256(answer).digest() + answer)


def _places() -> list[str]:
    """The folders from which the other interpreter imports: this one's, but for those that depend on the current folder."""
    places = [place for place in sys.path if os.path.isabs(place)]
    own = os.path.dirname(os.path.dirname(os.path.abspath(version.__file__)))
    return places if own in places else [own, *places]


def _started(task: bytes) -> subprocess.Popen[bytes] | None:
    if not sys.executable:
        return None
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", COMMAND, *_places()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
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
        said = process.stdout.read()
    whole = process.wait() == 0 and said[:32] == hashlib.sha256(said[32:]).digest()
    return said[32:] if whole else b""  # something else may write there, too, such as a `sitecustomize`
