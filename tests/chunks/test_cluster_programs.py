"""Programs have the same bits, chunk by chunk, whoever runs their tasks, and whatever happens to these meanwhile."""

from __future__ import annotations

import hashlib
from itertools import pairwise, product

import numpy as np
import pytest

import catad as ct
from catad.values.trees import tree_leaves

from . import workers
from .cluster import kill_one, wait_until

dask = pytest.importorskip("dask", reason="pip install 'dask[array]' distributed")
da = pytest.importorskip("dask.array")

SIZES = (6, 0, 6, 1, 6, 6, 1, 6, 6, 6)
N = sum(SIZES)
RNG = np.random.default_rng(5)
A, B, W = RNG.normal(size=(3, N))
BINS = RNG.integers(-1, 5, N)
ROWS = RNG.normal(size=(N, 3))


def cut(array):
    return da.from_array(array, chunks=(SIZES, *array.shape[1:]))


def logistic(w, rows, labels):
    z = rows @ w
    return np.mean(np.logaddexp(0, z) - labels * z) + 0.1 * np.sum(w * w)


def _vjp(f, *args, w):
    y, pullback = ct.vjp(f, *args)
    return y, pullback(w)


PROGRAMS = {
    "recurrence": lambda: _vjp(ct.recurrence, cut(A), cut(B), w=cut(W)),
    "histogram": lambda: _vjp(ct.histogram(ct.mul, 1.0, 4), cut(BINS), cut(B), w=np.arange(1.0, 5.0)),
    "logistic regression": lambda: ct.value_and_grad(logistic)(np.arange(3.0), cut(ROWS), cut((A > 0) * 1.0)),
    "scan": lambda: _vjp(ct.scan(ct.mul, 1.0), cut(A), w=cut(W)),
}


def lazy(name):
    """The arrays that a program gives."""
    return [leaf for leaf in tree_leaves(PROGRAMS[name]()) if isinstance(leaf, da.Array)]


def every():
    """The arrays that all programs give."""
    return [array for name in PROGRAMS for array in lazy(name)]


def hashes(arrays, **options):
    """A hash of each chunk, by its array and its place."""
    found = {}
    for k, (array, values) in enumerate(zip(arrays, dask.compute(*arrays, **options), strict=True)):
        edges = [list(pairwise(np.cumsum([0, *sizes]))) for sizes in array.chunks]
        for place in product(*[range(len(own)) for own in edges]):
            chunk = np.asarray(values)[tuple([slice(*own[c]) for own, c in zip(edges, place, strict=True)])]
            found[k, place] = hashlib.sha256(chunk.tobytes()).hexdigest()
    return found


@pytest.fixture(scope="module")
def expected():
    """The hashes of the synchronous scheduler."""
    return {name: hashes(lazy(name), scheduler="sync") for name in PROGRAMS}


@pytest.mark.parametrize("name", PROGRAMS)
def test_bits_do_not_depend_on_threads(name, expected):
    assert len(expected[name]) >= 2
    for threads in (1, 2, 8):
        assert hashes(lazy(name), scheduler="threads", num_workers=threads) == expected[name]


@pytest.mark.cluster(workers=1)
def test_bits_do_not_depend_on_workers(cluster):
    from distributed import get_client

    for count in (1, 2, 3):
        cluster.scale(count)
        get_client().wait_for_workers(count, timeout=30)
        assert hashes(every()) == hashes(every(), scheduler="sync")


@pytest.mark.parametrize("name", ["recurrence", "histogram"])
def test_a_worker_that_is_killed_changes_no_bits(name, expected, cluster):
    from distributed import futures_of, get_client

    client = get_client()
    client.run(workers.slow, 0.05)
    arrays = dask.persist(*lazy(name))
    last = [future for array in arrays[1:] for future in futures_of(array)]
    wait_until(lambda: min(len(keys) for keys in client.has_what().values()) >= 6)  # some are lost, whoever dies
    assert not all(future.done() for future in last)
    kill_one(cluster)
    assert hashes(arrays) == expected[name]


def test_tasks_that_failed_once_run_again(cluster, tmp_path):
    from distributed import get_client

    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    get_client().run(workers.failing_once, str(tmp_path / "one"))
    with pytest.raises(ct.IndexRangeError, match="a disk was away"):
        dask.compute(*every())
    get_client().run(workers.failing_once, str(tmp_path / "two"))
    assert hashes(every(), retries=1) == hashes(every(), scheduler="sync")
    assert len(list((tmp_path / "two").iterdir())) > 4 * len(SIZES)
