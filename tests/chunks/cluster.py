"""Clusters of dask for tests: a scheduler and workers on this machine alone, all of which end with the test.

This file imports no dask before it is asked for a cluster.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def running(workers: int, folder: Path, **options: Any) -> Iterator[Any]:
    """A cluster of processes with one thread each, whose client is dask's scheduler inside; none of them is left behind."""
    import dask
    from distributed import Client, LocalCluster

    others = set(multiprocessing.active_children())
    environment = dict(os.environ)  # dask sets variables for its workers, and leaves them to this process
    quiet = {"distributed.worker.multiprocessing-method": "spawn", "distributed.admin.tick.limit": "1h"}
    here = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "local_directory": str(folder)}
    settings = {"threads_per_worker": 1, "memory_limit": 0, "silence_logs": 50} | here | options
    try:
        with (
            dask.config.set(quiet),
            LocalCluster(n_workers=workers, processes=True, **settings) as cluster,
            Client(cluster) as client,
        ):
            client.wait_for_workers(workers, timeout=40)
            yield cluster
    finally:
        for process in set(multiprocessing.active_children()) - others:
            process.kill()
            process.join(5)
        for name in [name for name in os.environ if not name.startswith("PYTEST_")]:
            del os.environ[name]
        os.environ.update({name: value for name, value in environment.items() if not name.startswith("PYTEST_")})


@contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """Raises TimeoutError where the block takes longer, also while it waits; for the main thread."""

    def ended(number: int, frame: Any) -> None:
        raise TimeoutError(f"the test took more than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, ended)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def processes(cluster: Any) -> list[int]:
    """The ids of the processes of the workers, as they are now."""
    return [nanny.pid for nanny in cluster.workers.values() if nanny.pid is not None]


def kill_one(cluster: Any) -> int:
    """Kills the process of one worker, which has no time to say goodbye, and gives its id; dask starts another in its place."""
    victim = processes(cluster)[-1]
    os.kill(victim, signal.SIGKILL)
    return victim


def wait_until(is_so: Callable[[], bool], seconds: float = 30.0) -> None:
    """Waits for something that other processes do."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)
