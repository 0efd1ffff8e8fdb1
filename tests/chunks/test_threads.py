"""Threads of Dask run, compile and call programs at the same time: the bits are those of one thread."""

from __future__ import annotations

import itertools
import sys
import threading

import numpy as np
import pytest

import catad as ct
from catad.values.trees import tree_leaves

dask = pytest.importorskip("dask", reason="pip install 'catad[dask]'")
da = pytest.importorskip("dask.array")

CHUNKS = 40
N = 3 * CHUNKS
RNG = np.random.default_rng(8)
X, A, W = RNG.normal(size=(3, N))
BINS = RNG.integers(-1, 9, N)
ROWS = RNG.normal(size=(N, 3))
NEW = itertools.count(2)


def cut(array, size=3):
    return da.from_array(array, chunks=(size, *array.shape[1:]))


def programs(c):
    """Arrays of many programs, which nobody has compiled for this number."""
    made = [
        ct.value_and_grad(lambda x: np.sum(np.sin(x * c) ** 2))(cut(X)),
        ct.vjp(ct.recurrence, cut(A * c), cut(X))[1](cut(W)),
        ct.vjp(ct.histogram(ct.mul, 1.0, 8), cut(BINS), cut(X * c))[1](np.arange(8.0) + c),
        ct.function(lambda x: np.cumsum(x * c)[3:] * x[:-3] + c)(cut(X)),
        ct.value_and_grad(lambda v, rows: np.mean(np.tanh(rows @ v + c) ** 2))(np.arange(3.0), cut(ROWS)),
        ct.linearize(lambda x: np.exp(c * x) / np.sum(np.exp(c * x)), cut(X))[1].T(cut(W)),
    ]
    return [leaf for one in made for leaf in tree_leaves(one) if isinstance(leaf, da.Array)]


def bits(arrays, **options):
    return [np.asarray(array).tobytes() for array in dask.compute(*arrays, **options)]


@pytest.fixture
def often():
    """Python changes threads often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-5)
    yield
    sys.setswitchinterval(before)


def test_first_calls_in_eight_threads(often):
    c = float(next(NEW))
    found = bits(programs(c), scheduler="threads", num_workers=8)
    assert found == bits(programs(c), scheduler="sync")


def test_callers_at_once(often):
    """Two threads make and compute the same programs, two others other ones."""
    numbers = [float(next(NEW)), float(next(NEW))]
    found, failed = {}, []

    def call(k):
        try:
            found[k] = bits(programs(numbers[k % 2]), scheduler="threads", num_workers=4)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=call, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failed, failed
    for k, c in enumerate(numbers):
        assert found[k] == found[k + 2] == bits(programs(c), scheduler="sync")


def test_two_threads_compute_one_array(often):
    y = ct.function(lambda x: np.cumsum(np.sin(x)) / np.sum(x * x))(cut(X, 1))
    found = []
    threads = [threading.Thread(target=lambda: found.append(y.compute(scheduler="threads", num_workers=8))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    expected = y.compute(scheduler="sync")
    assert len(found) == 2 and all(one.tobytes() == expected.tobytes() for one in found)


def test_200_chunks_of_one_row(often):
    rows = RNG.normal(size=(200, 3))
    f = ct.value_and_grad(lambda v, rows: np.mean(np.logaddexp(0, rows @ v)))
    results = f(np.arange(3.0), cut(rows, 1))
    assert bits(results, scheduler="threads", num_workers=8) == bits(results, scheduler="sync")
    for found, expected in zip(dask.compute(*results), f(np.arange(3.0), rows), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_callers_choose_engines(often):
    """A program on arrays in chunks runs on the engine of its caller."""
    from catad.chunks.worker import RegionProgram

    engines = []
    program = RegionProgram.program

    def noted(self, xp):
        engines.append(self.engine)
        return program(self, xp)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RegionProgram, "program", noted)
        f = ct.function(lambda x: np.sum(np.sqrt(x * x + 3.0)))
        arrays = []
        for name in ("reference", "cpu", "reference"):
            with ct.use_engine(name):
                arrays.append(f(cut(X)))
            arrays[-1].compute(scheduler="sync")
            assert {*engines} == {name}
            engines.clear()
        dask.compute(*arrays[:2], scheduler="sync")
        assert {*engines} == {"reference", "cpu"}
