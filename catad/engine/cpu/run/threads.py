"""A plain pool of threads for calls that release the interpreter's lock, as compiled code called through `ctypes` does.

The caller is one of the threads. It puts a *job*, a row of calls, into a queue, once for each helper that it would like to
have, runs the first call itself, and goes on with whatever call nobody has taken. Then it closes the job and waits for the
helpers that are inside. So nothing waits for a thread that has not woken up yet, and a job whose helpers are all
busy elsewhere (callers in other threads, nested calls) is run by its caller only: there is nothing to deadlock on.

Threads are daemons, started when they are first needed. A forked child starts its own.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from queue import SimpleQueue

from catad import errors
from catad.engine.notices import notice

Call = Callable[[], object]
ALIGNMENT = 64  # elements: pieces of an array of any dtype then start on a cache line where the array does


class _Job:
    """A row of calls that several threads take from. Only helpers count themselves, as no signal interrupts them."""

    __slots__ = ("calls", "closed", "failures", "inside", "last_left", "lock")

    def __init__(self, calls: Sequence[Call]) -> None:
        self.calls = deque(enumerate(calls))
        self.failures: list[tuple[int, BaseException]] = []
        self.lock = threading.Lock()
        self.inside = 0
        self.closed = False
        self.last_left = threading.Lock()
        self.last_left.acquire()

    def work(self) -> None:
        """Run calls until none is left. What they raise is kept, with their places in the row."""
        while True:
            try:
                k, call = self.calls.popleft()
            except IndexError:
                return
            self.attempt(k, call)

    def attempt(self, k: int, call: Call) -> None:
        try:
            call()
        except Exception as error:
            self.failures.append((k, error))
        except BaseException as error:  # Ctrl-C in a call: before all errors, and no further call is begun
            self.calls.clear()
            self.failures.append((-1, error))

    def help(self) -> None:
        with self.lock:
            if self.closed:
                return
            self.inside += 1
        self.work()
        with self.lock:
            self.inside -= 1
            if self.closed and not self.inside:
                self.last_left.release()

    def close(self) -> None:
        """Let no more helpers in, and wait for those inside. Interrupted, it can be called again."""
        with self.lock:
            self.closed = True
            alone = not self.inside
        if not alone:
            self.last_left.acquire()


class _Pool:
    """A queue of jobs and the threads that read it."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[_Job] = SimpleQueue()
        self.size = 0
        self.growing = threading.Lock()

    def grow(self, size: int) -> None:
        with self.growing:
            while self.size < size:
                try:
                    threading.Thread(target=_serve, args=(self.jobs,), name=f"catad-{self.size + 1}", daemon=True).start()
                except RuntimeError:  # no more threads from the system, or the interpreter is shutting down
                    return
                self.size += 1


def _serve(jobs: SimpleQueue[_Job]) -> None:
    while True:
        job = jobs.get()
        job.help()
        del job  # an idle thread keeps nobody's arrays alive


_pool = _Pool()
_aside = _Pool()  # one thread, for what the main thread waits for
_default: int | None = None  # for threads that have chosen none


class _Choice(threading.local):
    """The number that one thread has chosen, if any."""

    count: int | None = None


_chosen = _Choice()


def _after_fork() -> None:
    global _pool, _aside
    _pool, _aside = _Pool(), _Pool()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def run(calls: Sequence[Call], count: int | None = None) -> None:
    """Run all the calls on `count` threads (default: `get_num_threads()`), the first in this one, and return when they are done.

    Calls run at the same time where they release the interpreter's lock. They run without the context variables of the
    caller. Of what they raise, the first in the order of the calls is raised again, when all have ended. After Ctrl-C no
    further call is begun, those that run are waited for, and then `KeyboardInterrupt` is raised.

    >>> squares = {}
    >>> run([lambda k=k: squares.update({k: k * k}) for k in range(3)])
    >>> sorted(squares.items())
    [(0, 0), (1, 1), (2, 4)]
    """
    # When the interpreter ends, daemon threads do not wake up again: nobody may wait for them.
    helpers = 0 if sys.is_finalizing() else min(count or get_num_threads(), len(calls)) - 1
    job = _Job(calls)
    interrupt: BaseException | None = None
    try:
        first = job.calls.popleft()[1] if calls else None
        if helpers > _pool.size:
            _pool.grow(helpers)
        for _ in range(helpers):
            _pool.jobs.put(job)
        if first is not None:
            job.attempt(0, first)
        job.work()
    except BaseException as error:  # an interrupt between two calls
        interrupt = error
        job.calls.clear()
    while True:
        try:
            job.close()
            break
        except BaseException as error:  # an interrupt while waiting: the helpers still read and write the caller's arrays
            interrupt = error
            job.calls.clear()
    if interrupt is None and job.failures:
        interrupt = min(job.failures, key=lambda failure: failure[0])[1]
    if interrupt is not None:
        try:
            raise interrupt
        finally:
            del interrupt, job  # no cycle of traceback, frame and error


def aside(calls: Sequence[Call], interrupted: Call) -> None:
    """Runs calls as `run` does, in another thread, while this one waits where signals are heard. For the main thread only.

    Where a signal handler raises, `interrupted` is called at once; what it raised is raised again when the calls have ended.

    >>> seen = []
    >>> aside([lambda: seen.append(threading.current_thread() is threading.main_thread())], lambda: None)
    >>> seen
    [False]
    """
    if not sys.is_finalizing():
        _aside.grow(1)
    if sys.is_finalizing() or not _aside.size:
        run(calls)
        return
    ended, count = threading.Event(), get_num_threads()

    def all_of_them() -> None:
        try:
            run(calls, count)
        finally:
            ended.set()

    job = _Job([all_of_them])
    _aside.jobs.put(job)
    interrupt: BaseException | None = None
    while not ended.is_set():
        try:
            ended.wait()
        except BaseException as error:
            interrupt = error
            interrupted()
    if interrupt is None and job.failures:
        interrupt = job.failures[0][1]
    if interrupt is not None:
        try:
            raise interrupt
        finally:
            del interrupt, job


def set_num_threads(n: int | None) -> None:
    """Use at most `n` threads for one call of a compiled program from the calling thread.

    `n` is a whole number, at least 1; None follows the default of all threads (`ct.set_default_num_threads`) again. Other threads
    keep their numbers, and a new thread begins with the default. Results do not depend on it. With `threadpoolctl` installed, its
    `threadpool_limits` sets the number of the calling thread, too, under the API "catad".
    Raises `ArgumentError` where `n` is no whole number >= 1.

    >>> import catad as ct
    >>> ct.set_num_threads(1)
    >>> ct.get_num_threads()
    1
    >>> ct.set_num_threads(None)
    """
    _chosen.count = _checked(n)


def set_default_num_threads(n: int | None) -> None:
    """Use at most `n` threads for one call of a compiled program from any thread that has chosen no number of its own.

    `n` is a whole number, at least 1; None takes the default from the environment again: what `CATAD_NUM_THREADS` says, or else
    `OMP_NUM_THREADS` (the first number of its list), or else the number of processors that this process may run on.
    Raises `ArgumentError` where `n` is no whole number >= 1.

    >>> import catad as ct
    >>> ct.set_default_num_threads(2)
    >>> ct.get_num_threads()
    2
    >>> ct.set_default_num_threads(None)
    """
    global _default
    _default = _checked(n)


class num_threads:
    """`with ct.num_threads(n):` uses at most `n` threads for calls inside, from the calling thread.

    It sets the number as `ct.set_num_threads` does, and afterwards the number that held before.
    Raises `ArgumentError` where `n` is no whole number >= 1.

    >>> import catad as ct
    >>> with ct.num_threads(1):
    ...     ct.get_num_threads()
    1
    """

    def __init__(self, n: int) -> None:
        if n is None:
            raise errors.ArgumentError(errors.bad_thread_count(n))
        self.count = _checked(n)
        self._before: list[int | None] = []

    def __enter__(self) -> None:
        self._before.append(_chosen.count)
        _chosen.count = self.count

    def __exit__(self, *_: object) -> None:
        _chosen.count = self._before.pop()


def get_num_threads() -> int:
    """The number of threads (dimensionless, at least 1) that a call of a compiled program from the calling thread uses at most.

    It is that of `ct.set_num_threads` where the thread has chosen one, else that of `ct.set_default_num_threads`.

    >>> import catad as ct
    >>> ct.get_num_threads() >= 1
    True
    """
    global _default
    if _chosen.count is not None:
        return _chosen.count
    if _default is None:
        _default = _of_the_environment()
    return _default


def _checked(n: int | None) -> int | None:
    if n is None:
        return None
    if isinstance(n, bool) or not hasattr(n, "__index__") or n.__index__() < 1:
        raise errors.ArgumentError(errors.bad_thread_count(n))
    return n.__index__()


def _of_the_environment() -> int:
    said = os.environ.get("CATAD_NUM_THREADS", "").strip()
    if said.isdecimal() and int(said) >= 1:
        return int(said)
    if said:
        notice("CATAD_NUM_THREADS", errors.bad_thread_variable(said), stacklevel=4)
    outer = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()  # of nested levels: the outermost
    if outer.isdecimal() and int(outer) >= 1:
        return int(outer)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def chunks(n: int, least: int, multiple: int = ALIGNMENT) -> list[tuple[int, int]]:
    """Cut `range(n)` into at most as many pieces (start, stop) as there are threads, none smaller than `least`.

    Boundaries are multiples of `multiple`. The pieces are as equal as that allows; there is one where `n` is small, and none
    where it is 0.

    >>> with num_threads(3):
    ...     chunks(1000, 100), chunks(1000, 600), chunks(10, 1, 1), chunks(0, 1)
    ([(0, 320), (320, 640), (640, 1000)], [(0, 1000)], [(0, 4), (4, 7), (7, 10)], [])
    """
    if n <= 0:
        return []
    units = n // multiple  # whole ones; what is left over goes to the last piece
    pieces = max(1, min(get_num_threads(), units, n // max(least, 1)))
    while pieces > 1 and (units // pieces) * multiple < least:
        pieces -= 1
    bounds = [multiple * -(-units * k // pieces) for k in range(pieces)]
    return list(zip(bounds, [*bounds[1:], n], strict=True))
