"""Linear maps of arrays in chunks: products, arrays of all entries, and what needs the numbers."""

import numpy as np
import pytest

import catad as ct

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
X, Y = np.linspace(0.5, 1.5, 11), np.cos(np.arange(11.0))


@pytest.fixture(autouse=True)
def _synchronous():
    with dask.config.set(scheduler="synchronous"), ct.use_engine("reference"):
        yield


def _lazy(array):
    return da.from_array(array, chunks=4)


def _maps():
    f, g = ct.function(lambda x: np.cumsum(np.sin(x)) * x), ct.function(lambda x: x[::-1] * x)
    both = []
    for x in (_lazy(X), X):
        first, second = ct.linearize(f, x)[1], ct.linearize(g, x)[1]
        both.append([first, second, first.T, first >> second, first + second, 3 * first, (first >> second).T])
    return list(zip(*both, strict=True))


def test_applied_and_written_out():
    for lazy, plain in _maps():
        for v in (_lazy(Y), Y):
            assert np.allclose(lazy(v).compute(), plain(Y))
            assert np.allclose(lazy.matvec(v).compute(), plain.matvec(Y))
            assert np.allclose(lazy.rmatvec(v).compute(), plain.rmatvec(Y))
        columns = np.stack([X, Y, X * Y], 1)
        assert np.allclose(lazy.matmat(columns).compute(), plain.matmat(columns))
        written = lazy.todense()
        assert isinstance(written, da.Array)
        assert written.dtype == np.float64
        assert np.allclose(written.compute(), plain.todense())


def test_written_out_between_products():
    f = ct.function(lambda x, y: (x * np.sum(y), np.cumsum(x)[:7], y[0]))
    lazy, plain = ct.linearize(f, _lazy(X), _lazy(X[:5]))[1], ct.linearize(f, X, X[:5])[1]
    assert np.allclose(lazy.todense().compute(), plain.todense())


def test_jacobians_and_hessians():
    f = ct.function(lambda x: np.cumsum(x**2))
    loss = ct.function(lambda x: np.sum(x**2 * x[::-1]))
    assert np.allclose(np.asarray(ct.jacobian(f)(_lazy(X))), ct.jacobian(f)(X).todense())
    assert np.allclose(np.asarray(ct.hessian(loss)(_lazy(X))), ct.hessian(loss)(X).todense())


def test_maps_are_collections_of_dask():
    for lazy, plain in _maps():
        held, computed = dask.persist(lazy)[0], dask.compute(lazy)[0]
        assert all(isinstance(slot, da.Array) and not slot.dask.layers.keys() - {slot.name} for slot in held.slots)
        assert all(type(slot) is np.ndarray for slot in computed.slots)
        assert np.allclose(held(_lazy(Y)).compute(), plain(Y))
        assert np.allclose(computed(Y), plain(Y))
        assert np.allclose(computed.diagonal(), plain.diagonal())
    lazy = _maps()[0][0]
    map_and_array = dask.compute({"map": lazy, "image": lazy(Y)})[0]
    assert np.allclose(map_and_array["map"](Y), map_and_array["image"])


def test_maps_of_numpy_are_no_collections():
    plain = _maps()[0][1]
    assert not dask.is_dask_collection(plain)
    assert dask.compute(plain)[0] is plain


@pytest.mark.parametrize("name", ["diagonal", "trace", "tocsr", "as_linear_operator", "solver", "solve"])
def test_what_needs_numbers_says_so(name):
    lazy = _maps()[0][0]
    for linear in (lazy, ct.linearize(ct.function(np.cumsum), _lazy(X))[1]):
        if not linear.slots and name != "solve":
            continue
        with pytest.raises(ct.EngineError, match=r"dask\.compute"):
            if name == "solver":
                _ = linear.solver
            else:
                getattr(linear, name)(*([_lazy(Y)] if name == "solve" else []))


def test_solved_in_chunks():
    linear = ct.linearize(ct.function(lambda x: x**3), _lazy(X))[1]
    assert np.allclose(ct.linear.inverse(linear)(_lazy(Y)).compute(), Y / (3 * X**2))
