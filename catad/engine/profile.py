"""A profile of the time of a run: what each compiled step cost to compile and to run, beside what moving its bytes must cost.

A stage that is bound by memory can at best run as fast as a copy. So a profile relates the bytes that a stage reads and
writes per second to the same figure of `np.copyto` between buffers larger than the caches, measured in this process.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from functools import cache
from types import TracebackType
from typing import NamedTuple

import numpy as np

from catad import errors, upward
from catad.support.tables import aligned

EVENTS = 20_000  # runs whose times a profile keeps; of more, the first
COPIED = 2**26  # bytes of the buffer whose copying is measured: larger than the caches that one core can fill

_open: tuple[Profile, ...] = ()  # replaced, never changed: reading it needs no lock
_lock = threading.Lock()


class Event(NamedTuple):
    """One run of a stage: its start by `time.perf_counter`, what it took, in seconds, its bytes, and the thread that called it.

    Runs on a GPU, whose clock is another one, have the start that follows from the time at which they were known to have ended.
    """

    name: str
    start: float
    seconds: float
    bytes: int
    thread: str


class Stage:
    """The entry of a profile for the stages of one name.

    `calls`; `compile_seconds`, what their kernels cost to compile, each counted once, whenever that was; `run_seconds` and
    `bytes` (read and written), summed over the calls. `copy` measures what the machine copies in a second.
    """

    __slots__ = ("_compiled", "bytes", "calls", "copy", "name", "run_seconds")

    def __init__(self, name: str, copy: Callable[[], float]) -> None:
        self.name, self.copy = name, copy
        self.calls = 0
        self.run_seconds = 0.0
        self.bytes = 0
        self._compiled: set[float] = set()

    def add(self, compile_seconds: Iterable[float], run_seconds: float, moved: int) -> None:
        self.calls += 1
        self.run_seconds += run_seconds
        self.bytes += moved
        self._compiled.update(compile_seconds)  # a kernel gives the same number at each call: so it counts once

    def __repr__(self) -> str:
        times = f"compile {1e3 * self.compile_seconds:.1f} ms, run {1e3 * self.run_seconds:.3f} ms"
        return f"<stage {self.name}: {self.calls} calls, {times}, {self.bytes / 1e6:.1f} MB>"

    @property
    def compile_seconds(self) -> float:
        return sum(self._compiled)

    @property
    def bandwidth(self) -> float:
        """Bytes read and written per second; 0 where nothing was timed."""
        return self.bytes / self.run_seconds if self.run_seconds > 0 else 0.0

    def as_dict(self) -> dict[str, object]:
        return {
            "stage": self.name,
            "calls": self.calls,
            "compile_ms": 1e3 * self.compile_seconds,
            "run_ms": 1e3 * self.run_seconds,
            "megabytes": self.bytes / 1e6,
            "gigabytes_per_second": self.bandwidth / 1e9,
            "of_copy": self.bandwidth / self.copy(),
        }


class Profile:
    """Records of the compiled stages that ran while it was open. Made by `ct.profile()`.

    `left_out` is how many runs are in the sums of `stages`, but not in `events`.
    """

    def __init__(self) -> None:
        self._stages: dict[str, Stage] = {}
        self._events: list[Event] = []
        self.left_out = 0
        self._lock = threading.Lock()

    def __enter__(self) -> Profile:
        global _open
        with _lock:
            if any(profile is self for profile in _open):
                raise errors.EngineError(errors.profile_in_use())
            _open = (*_open, self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        global _open
        with _lock:
            _open = tuple([profile for profile in _open if profile is not self])

    @property
    def stages(self) -> list[Stage]:
        """One entry for each name, in the order in which they ran first."""
        with self._lock:
            return list(self._stages.values())

    @property
    def events(self) -> list[Event]:
        """One entry for each run, in the order in which they ended; of more than 20,000, the first."""
        with self._lock:
            return list(self._events)

    def add(self, event: Event, compile_seconds: Iterable[float], copy: Callable[[], float]) -> None:
        with self._lock:
            stage = self._stages.get(event.name)
            if stage is None:
                stage = self._stages[event.name] = Stage(event.name, copy)
            stage.add(compile_seconds, event.seconds, event.bytes)
            if len(self._events) < EVENTS:
                self._events.append(event)
            else:
                self.left_out += 1

    def table(self) -> str:
        """The stages as a table of text: calls, compile and run time, bytes moved, and that against a copy."""
        return "\n".join([*aligned(self._rows()), f"copy: {copy_bandwidth() / 1e9:.1f} GB/s read and written, one thread"])

    def to_json(self) -> str:
        """The stages as JSON text: {"copy_gigabytes_per_second": ..., "stages": [{"stage": ..., "calls": ..., ...}]}."""
        import json  # late: profiles are rarely shown so

        stages = [stage.as_dict() for stage in self.stages]
        return json.dumps({"copy_gigabytes_per_second": copy_bandwidth() / 1e9, "stages": stages}, indent=2)

    def chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the runs to a file that `chrome://tracing` and Perfetto open: JSON in the Trace Event format, times in us.

        The first run starts at 0. Of more than 20,000 runs the file has the first, and says how many it leaves out. Raises
        `OSError` where the file cannot be written. Source: N. Duca and D. Sinclair, *Trace Event Format*, 2016.

        >>> import catad as ct, json, numpy as np, os, tempfile
        >>> with ct.use_engine("cpu"), ct.profile() as p:
        ...     y = ct.sin(np.zeros(10))
        >>> path = os.path.join(tempfile.mkdtemp(), "trace.json")
        >>> p.chrome_trace(path)
        >>> [event["name"] for event in json.load(open(path))["traceEvents"] if event["ph"] == "X"]
        ['Map']
        """
        import json  # late, as above

        events = self.events
        first = min([event.start for event in events], default=0.0)
        own, threads = os.getpid(), list(dict.fromkeys([event.thread for event in events]))
        number = {name: k for k, name in enumerate(threads)}
        made: list[dict[str, object]] = [
            {"name": "thread_name", "ph": "M", "pid": own, "tid": k, "args": {"name": name}} for name, k in number.items()
        ]
        for event in events:
            when = {"ts": 1e6 * (event.start - first), "dur": 1e6 * event.seconds, "pid": own, "tid": number[event.thread]}
            made.append({"name": event.name, "cat": "stage", "ph": "X", **when, "args": {"bytes": event.bytes}})
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": made, "displayTimeUnit": "ms", "otherData": {"left out": self.left_out}}, file)

    def timeline(self) -> str:
        """The runs over time, as a picture, SVG text: a row for each stage, and for each thread that ran it.

        >>> import catad as ct, numpy as np
        >>> with ct.use_engine("cpu"), ct.profile() as p:
        ...     y = ct.sin(np.zeros(10))
        >>> p.timeline().count("<rect")
        1
        """
        return upward.runs_over_time(self.events, self.left_out)

    def _repr_html_(self) -> str:
        head, *rows = self._rows()
        return upward.profile_page(repr(self)[1:-1], head, rows, self.events, self.left_out)

    def __repr__(self) -> str:
        stages = self.stages
        calls, compiling = sum(s.calls for s in stages), sum(s.compile_seconds for s in stages)
        running, moved = sum(s.run_seconds for s in stages), sum(s.bytes for s in stages)
        what = f"{len(stages)} stage{'' if len(stages) == 1 else 's'}, {calls} call{'' if calls == 1 else 's'}"
        return f"<profile of {what}: compile {1e3 * compiling:.1f} ms, run {1e3 * running:.3f} ms, {moved / 1e6:.1f} MB>"

    def _rows(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("stage", "calls", "compile ms", "run ms", "MB", "GB/s", "of copy")]
        for stage in self.stages:
            times = (f"{1e3 * stage.compile_seconds:.1f}", f"{1e3 * stage.run_seconds:.3f}")
            share = f"{stage.bandwidth / stage.copy():.0%}"
            rows.append(
                (stage.name, str(stage.calls), *times, f"{stage.bytes / 1e6:.3f}", f"{stage.bandwidth / 1e9:.2f}", share)
            )
        return rows


def profile() -> Profile:
    """Record what the compiled steps cost that run inside `with ct.profile() as p:`, in all threads.

    `p.table()` is a table of text, `p.to_json()` JSON text, `p.stages` the records. Steps on the reference engine are
    not recorded. Profiles may be open inside each other; then each records.

    Seconds and bytes are summed over the calls of a stage. Raises `EngineError` where one profile is opened twice at a time.

    >>> import catad as ct, numpy as np
    >>> with ct.use_engine("cpu"), ct.profile() as p:
    ...     y = ct.sin(np.zeros(10))
    >>> [(stage.name, stage.calls, stage.bytes) for stage in p.stages]
    [('Map', 1, 160)]
    """
    return Profile()


def active() -> bool:
    """True where any profile is open: kernels take the time only then."""
    return bool(_open)


def record(
    stage_name: str,
    compile_seconds: Iterable[float],
    run_seconds: float,
    bytes: int,
    copy: Callable[[], float] | None = None,
    start: float | None = None,
) -> None:
    """Tell the open profiles of one call of a stage.

    `compile_seconds` is what compiling its kernels took, the same numbers at each call; `run_seconds` what this call took;
    `bytes` what it read and wrote; `copy` measures the bytes that its machine copies in a second (NumPy's); `start` is when the
    call began, by `time.perf_counter`; without it, the call has just ended.
    """
    begin = time.perf_counter() - run_seconds if start is None else start
    event = Event(stage_name, begin, run_seconds, bytes, threading.current_thread().name)
    for profile in _open:
        profile.add(event, compile_seconds, copy or copy_bandwidth)


@cache
def copy_bandwidth() -> float:
    """Bytes per second, read and written, of copying a large buffer: measured once, when it is first asked for."""
    source = np.ones(COPIED // 8)
    target = np.zeros_like(source)  # zeros: written by the first copy, which is not counted
    times = []
    for _ in range(8):
        start = time.perf_counter()
        np.copyto(target, source)
        times.append(time.perf_counter() - start)
    return float(2 * source.nbytes / np.median(times[1:]))
