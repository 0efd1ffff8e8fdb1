"""Chunks of CuPy run on their GPU's engine: here on one in software."""

import sys

import numpy as np
import pytest

import catad as ct
from catad.chunks.here import BlockArray, blocked
from tests.fake_cupy import FakeArray, fake

X = np.linspace(-1.0, 1.0, 12)


@pytest.fixture
def cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", fake)
    fake.reset()
    yield fake
    fake.reset()


def there(cupy, array, parts):
    made = blocked(array, parts)
    return BlockArray([cupy.asarray(block) for block in made.blocks], parts, array.dtype)


def numbers(array):
    return np.concatenate([np.atleast_1d(block._data) for block in array.blocks])


PROGRAMS = {
    "map": ct.function(lambda x: np.sin(x) * 2.0),
    "sum": ct.square >> ct.sum(),
    "running sum": ct.function(np.cumsum),
    "differences": ct.function(lambda x: x[1:] - x[:-1]),
    "positions": ct.function(lambda x: x * np.arange(12)),
    "constant": ct.function(lambda x: x + np.linspace(0, 1, 12)),
    "gradient": ct.grad(ct.function(lambda x: np.sum(np.maximum(x, 0.1) ** 3))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_chunks_stay_where_they_are(cupy, name):
    f = PROGRAMS[name]
    y = f(there(cupy, X, ((5, 7),)))
    assert all(type(block) is FakeArray for block in y.blocks)
    np.testing.assert_allclose(numbers(y), np.atleast_1d(f(X)), rtol=1e-12, atol=1e-14)


def test_arrays_of_numpy_beside_chunks_on_a_gpu_are_refused(cupy):
    x = there(cupy, X, ((5, 7),))
    with pytest.raises(ct.DeviceError, match="chunks of one call"):
        ct.mul(x, X)
    with pytest.raises(ct.DeviceError, match="chunks of one call"):
        ct.mul(x, blocked(X, ((5, 7),)))
    assert np.allclose(numbers(ct.mul(x, 2.0)), 2 * X)
