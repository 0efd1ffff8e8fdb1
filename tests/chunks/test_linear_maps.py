"""Linear maps and pullbacks in chunks: held, computed, pickled, and what is refused until they are computed."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import catad as ct
from catad.testing import in_chunks

X = np.linspace(1.0, 1.2, 8)
PRODUCTS = ct.scan(ct.mul, 1.0)
NEEDS_NUMBERS = {
    "solve": lambda L: L.solve(np.ones(8)),
    "solver": lambda L: L.solver,
    "todense": lambda L: L.todense(),
    "tocsr": lambda L: L.tocsr(),
    "trace": lambda L: L.trace(),
    "diagonal": lambda L: L.diagonal(),
    "operator": lambda L: L.as_linear_operator(),
}


def loaded(counts):
    """An array of Dask that counts how often its chunks are loaded."""
    da = pytest.importorskip("dask.array")

    def load(block_info=None):
        ((start, stop),) = block_info[None]["array-location"]
        counts.append(start)
        return X[start:stop]

    return da.map_blocks(load, chunks=((3, 3, 2),), dtype=float, meta=np.empty(0))


@pytest.mark.parametrize("name", NEEDS_NUMBERS)
def test_what_needs_numbers_is_an_error_that_says_what_to_do(name):
    L = ct.linearize(PRODUCTS, in_chunks(X, 3))[1]
    with pytest.raises(ct.EngineError, match=r"(?s)at once.*L.compute\(\) has"):
        NEEDS_NUMBERS[name](L)
    expected = NEEDS_NUMBERS[name](ct.linearize(PRODUCTS, X)[1])
    found = NEEDS_NUMBERS[name](L.compute())
    if isinstance(expected, (np.ndarray, float)):
        np.testing.assert_allclose(found, expected)


def test_maps_and_pullbacks_that_are_held_load_nothing():
    counts: list[int] = []
    x = loaded(counts)
    L, pullback = ct.linearize(PRODUCTS, x)[1], ct.vjp(PRODUCTS, x)[1]
    assert not counts
    L, pullback = L.persist(), pullback.persist()
    assert counts
    counts.clear()
    expected = ct.vjp(PRODUCTS, X)[1](X)[0]
    for _ in range(2):
        np.testing.assert_allclose(L.T(X).compute(scheduler="sync"), expected)
        np.testing.assert_allclose(pullback(X)[0].compute(scheduler="sync"), expected)
    assert not counts


def test_of_other_arrays_they_are_themselves():
    L, pullback = ct.linearize(PRODUCTS, X)[1], ct.vjp(PRODUCTS, X)[1]
    assert L.persist() is L and L.compute() is L and pullback.persist() is pullback


def test_trees_stay():
    J = ct.jacobian(ct.function(lambda d: {"y": np.cumsum(d["a"])}))({"a": in_chunks(X, 3)})
    for L in (J.persist(), J.compute()):
        np.testing.assert_allclose(L.blocks()["y"]["a"].compute().todense(), np.tri(8))


@pytest.mark.parametrize("cut", [lambda x: in_chunks(x, 3), lambda x: pytest.importorskip("dask.array").from_array(x, chunks=3)])
@pytest.mark.parametrize("f", [PRODUCTS, ct.sum()], ids=["products", "sum"])
def test_pickled(cut, f):
    _, pullback = ct.vjp(f, cut(X))
    again = pickle.loads(pickle.dumps(pullback))
    w = np.ones(np.shape(f(X)))
    found = again(w)[0]
    found = found.compute(scheduler="sync") if hasattr(found, "compute") else found.numpy()
    np.testing.assert_allclose(found, ct.vjp(f, X)[1](w)[0])


def test_what_is_pulled_back_has_the_chunks_of_its_primal():
    x, y = in_chunks(X, 3), in_chunks(X, 5)
    for f in (np.sum, lambda x: np.sum(x * 2.0)):
        assert ct.vjp(f, x)[1](1.0)[0].parts == ((3, 3, 2),)
    by_x, by_y = ct.vjp(lambda x, y: np.sum(x) + 3 * np.sum(y), x, y)[1](1.0)
    assert (by_x.parts, by_y.parts) == (((3, 3, 2),), ((5, 3),))
    assert pickle.loads(pickle.dumps(ct.vjp(np.sum, x)[1]))(1.0)[0].parts == ((3, 3, 2),)


def test_dask_holds_and_computes_maps_and_pullbacks():
    """They are collections of Dask, where they hold arrays of Dask."""
    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="synchronous"):
        counts: list[int] = []
        x = loaded(counts)
        (_, L), (_, pullback) = ct.linearize(PRODUCTS, x), ct.vjp(PRODUCTS, x)
        held, pulling, z = dask.persist(L, pullback, x + 1)
        count = len(counts)
        assert count and type(z) is type(x)
        whole = ct.linearize(PRODUCTS, X)[1]
        for _ in range(2):
            np.testing.assert_allclose(held(np.ones(8)).compute(), whole(np.ones(8)))
            np.testing.assert_allclose(pulling(np.ones(8))[0].compute(), whole.T(np.ones(8)))
        assert len(counts) == count
        computed, one = dask.compute(L, x[0])
        np.testing.assert_allclose(computed.solve(whole(np.ones(8))), np.ones(8))
        assert one == X[0]
        assert dask.is_dask_collection(L) and dask.is_dask_collection(pullback)
        assert not dask.is_dask_collection(whole) and dask.persist(whole)[0] is whole
