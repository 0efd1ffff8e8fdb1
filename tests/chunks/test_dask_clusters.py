"""Graphs on clusters: the same bits on one to three workers, with a worker killed in mid-run, after a task that failed once."""

from __future__ import annotations

import os

import numpy as np
import pytest

from .cluster import bounded, kill_one, processes, running, wait_until
from .numpy_program import FailsOnce, Slow

dask = pytest.importorskip("dask", reason="pip install 'dask[array]' distributed")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

from .test_dask_graph import bits, lazy  # noqa: E402


@pytest.mark.cluster(workers=1)
def test_bits_do_not_depend_on_workers(cluster):
    want = bits(lazy(), scheduler="sync")
    for workers in (1, 2, 3):
        cluster.scale(workers)
        distributed.get_client().wait_for_workers(workers, timeout=30)
        assert bits(lazy(salt=str(workers))) == want


def test_a_killed_worker_changes_no_bits(cluster):
    x = da.from_array(np.random.default_rng(3).normal(size=60), chunks=2, name="numbers")
    want = bits(lazy(x), scheduler="sync")
    arrays = dask.persist(*lazy(x, product=Slow(0.05)))
    sums = distributed.futures_of(arrays[1])
    client = distributed.get_client()
    wait_until(lambda: min(len(keys) for keys in client.has_what().values()) >= 4)  # some are lost, whoever dies
    assert not any(future.done() for future in sums)
    victim = kill_one(cluster)
    assert bits(arrays) == want
    wait_until(lambda: len(processes(cluster)) == 2)
    assert victim not in processes(cluster)


def test_a_task_that_failed_once_runs_again(cluster, tmp_path):
    from catad import errors

    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    x = da.arange(1.0, 13.0, chunks=4)
    with pytest.raises(errors.IndexRangeError, match="given:    7"):
        dask.compute(*lazy(x, product=FailsOnce(tmp_path / "one")))
    got = bits(lazy(x, product=FailsOnce(tmp_path / "two"), salt="two"), retries=1)
    assert got == bits(lazy(x), scheduler="sync")


def test_a_cluster_ends_with_its_block(tmp_path):
    """Also where that raises while tasks run."""
    with pytest.raises(TimeoutError), running(1, tmp_path) as cluster:
        seen = processes(cluster)
        array = lazy(product=Slow(1000.0))[0]
        with bounded(0.5):
            array.compute()
    for process in seen:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
