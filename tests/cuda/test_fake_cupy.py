"""Whole programs on arrays of a fake CuPy: what goes in comes out, kernels run, nothing waits, and nothing leaks."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category.spaces import flatten
from catad.engine.cuda.device import GPU
from catad.errors import notices

from ..engine.cpu_support import assert_same
from ..fake_cupy import FakeArray, fake
from .test_lanes import LINES
from .test_maps import GATHERED, MAPS

RNG = np.random.default_rng(5)


def norm(x: Any) -> Any:
    m = np.mean(x, axis=1, keepdims=True)
    return (x - m) / np.sqrt(np.mean((x - m) ** 2, axis=1, keepdims=True) + 1e-5)


X = RNG.normal(size=(13, 40)).astype(np.float32)


@pytest.fixture(autouse=True)
def _cupy(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setitem(sys.modules, "cupy", fake)
    fake.reset(1)
    notices.forget()
    yield
    GPU._looks.clear()
    fake.reset()
    notices.forget()


def there(x: Any) -> Any:
    return tuple(map(there, x)) if isinstance(x, tuple) else fake.asarray(np.asarray(x))


def here(y: Any) -> list[Any]:
    leaves = flatten(y)
    assert all(type(leaf) is FakeArray for leaf in leaves)
    return [leaf._data for leaf in leaves]


@pytest.mark.parametrize("name", MAPS)
def test_maps_have_the_bits_of_the_cpu_and_make_nobody_wait(name: str) -> None:
    f, x = MAPS[name]
    given = there(x)
    fake.reads.clear()
    got = f(*given)
    assert not fake.reads and (fake.launches or name == "nothing")
    with ct.use_engine("cpu"):
        assert_same(here(got), [np.asarray(leaf) for leaf in flatten(f(*x))], name)


PROGRAMS: dict[str, ct.D] = {
    "a sum": ct.map(np.exp) >> ct.sum(),
    "folds of an axis": ct.fork(ct.sum(axis=0), ct.max(axis=1)),
    "a scan": ct.scan(lambda a, b: a + b, 0.0, axis=1) >> ct.map(np.tanh),
    "a product": ct.fork(ct.id, ct.transpose()) >> ct.matmul >> ct.sum(),
    "softmax": ct.map(np.exp) >> ct.fork(ct.id, ct.sum()) >> ct.map(lambda a, s: a / s),
    "softmax of rows": ct.softmax(axis=1),
    "softmax of columns": ct.softmax(axis=0),
    "layer norm": ct.function(norm),
}


@pytest.mark.filterwarnings("ignore::catad.CatadNotice")
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients(name: str) -> None:
    f = PROGRAMS[name]
    y, pullback = ct.vjp(f, X)
    ones = tuple(map(np.ones_like, y)) if isinstance(y, tuple) else np.ones_like(y)
    given, given_ones = there(X), there(ones)
    ct.vjp(f, given)[1](given_ones)  # the first call looks at some numbers, for the laws of operators
    fake.reads.clear()
    got, back = ct.vjp(f, given)
    moved = back(given_ones)
    assert not fake.reads
    want = [*flatten(y), *flatten(pullback(ones))]
    for a, b in zip([*here(got), *here(moved)], want, strict=True):
        assert np.allclose(a, b, rtol=2e-4, atol=1e-5)


def test_stages_that_share_rows_are_one_launch() -> None:
    for f in (ct.softmax(axis=1), ct.grad(ct.softmax(axis=1) >> ct.square >> ct.sum()), ct.function(norm)):
        for x in (X, np.asarray(fake.asarray(np.tile(X, (1, 20)))._data), np.append(X, X)[1:521].reshape(X.shape)):
            f(there(x))
            fake.launches.clear()
            got = here(f(there(x)))
            assert [name for name, _ in fake.launches] == ["RowsKernel"]
            with ct.use_engine("reference"):
                want = [np.asarray(leaf) for leaf in flatten(f(x))]
            assert all(np.allclose(a, b, rtol=2e-4, atol=1e-6) for a, b in zip(got, want, strict=True))


def test_the_current_stream_runs_kernels() -> None:
    x, f = there(X), ct.map(lambda x: x * x)
    stream = fake.cuda.Stream()
    f(x)
    with stream:
        f(x)
    assert [where for _, where in fake.launches] == [0, stream.ptr]


CAPTURED: dict[str, ct.D] = {
    "a map": ct.map(lambda x: np.sin(x) * x),
    "a fold in tiles": ct.reshape((13 * 40 * 10,)) >> ct.sum(),
    "a scan": ct.reshape((13 * 40 * 10,)) >> ct.scan(lambda a, b: a + b, 0.0),
    "softmax of rows": ct.softmax(axis=1),
    "a gradient": ct.grad(ct.map(lambda x: np.exp(x) * x) >> ct.sum()),
}


@pytest.mark.parametrize("name", CAPTURED)
def test_a_program_is_captured_in_a_graph(name: str) -> None:
    f, x = CAPTURED[name], there(np.tile(X, (10, 1)) if "grad" not in name and name != "a map" else X)
    f = ct.reshape(x.shape) >> f
    f(x)
    stream = fake.cuda.Stream()
    with stream:
        stream.begin_capture()
        got = f(x)
        graph = stream.end_capture()
    for scale in (1.0, -0.5):
        x._data[...] *= np.float32(scale)
        graph.launch()
        replayed = [leaf.copy() for leaf in here(got)]
        assert_same(replayed, here(f(x)), (name, scale))


def test_a_loop_that_asks_its_arrays_is_not_captured() -> None:
    x, f = there(np.array([5.0, 3.0])), ct.while_loop(ct.map(lambda x: x > 1.0) >> ct.any(), ct.map(lambda x: x * 0.5), 50)
    assert here(f(x))[0].tolist() == [0.625, 0.375]
    assert fake.reads
    stream = fake.cuda.Stream()
    with stream:
        stream.begin_capture()
        with pytest.raises(ct.EngineError, match="the condition of a while loop, which the host reads"):
            f(x)
        with pytest.raises(ct.EngineError, match="cannot wait for the GPU while a stream is captured"):
            ct.synchronize()
        with pytest.raises(ct.EngineError, match="a first call checks the laws of an operator"):
            ct.fold(lambda a, b: a + b + 0.5 * a * b, 0.0)(x)
        stream.end_capture()
    assert here(f(x))[0].tolist() == [0.625, 0.375]


def test_numpy_mixed_with_cupy() -> None:
    with pytest.raises(ct.DeviceError, match="arrays of two array libraries"):
        ct.add(there(X), X)


def test_arrays_on_two_devices() -> None:
    x = there(X)
    with fake.cuda.Device(1):
        y = there(X)
    with pytest.raises(ct.DeviceError, match="leaf 0 is on device 0, leaf 1 on device 1"):
        ct.add(x, y)
    with pytest.raises(ct.DeviceError, match="an array on device 1, while device 0 is current"):
        ct.map(lambda x: x + 2.5)(y)
    with fake.cuda.Device(1):
        assert np.array_equal(here(ct.map(lambda x: x + 2.5)(y))[0], X + np.float32(2.5))


def test_out_of_memory_leaks_nothing() -> None:
    x, f = there(X), ct.map(lambda x: (x * 2.0, x * 3.0)) >> ct.cross(ct.sort(), ct.sort())
    f(x)
    gc.collect()
    before = fake.used
    fake.limit = before + int(1.5 * x.nbytes)
    with pytest.raises(ct.OutOfMemoryError, match="Out of memory allocating") as caught:
        f(x)
    assert fake.used == before  # though the error is still held
    assert "allocated so far" in str(caught.value)
    fake.limit = np.inf
    assert np.array_equal(here(f(x))[0], np.sort(X * np.float32(2.0)))


def test_a_bad_index_is_told_late() -> None:
    x, index = there(RNG.normal(size=10)), there(np.array([3, 12, 1]))
    fake.late = True
    GATHERED(index, x)
    assert not fake.reads
    fake.late, GPU._looks[0][0].done = False, True
    with pytest.raises(ct.IndexRangeError, match="index 12"):
        GATHERED(there(np.array([1])), x)
    assert here(GATHERED(there(np.array([1])), x))[0][0] == x._data[1]


BAD = np.array([3, 12, 1])


def test_synchronize_tells_a_bad_index() -> None:
    x = there(RNG.normal(size=10))
    ct.synchronize()
    fake.late = True
    GATHERED(there(BAD), x)
    with pytest.raises(ct.IndexRangeError, match="index 12"):
        ct.synchronize()
    ct.synchronize()  # it is told once
    fake.late = False


def test_checks_that_raise_in_place() -> None:
    x = there(RNG.normal(size=10))
    fake.late = True
    with ct.use_engine("cuda", checks="now"):
        with pytest.raises(ct.IndexRangeError, match="index 12"):
            GATHERED(there(BAD), x)
        with ct.use_engine("auto"), pytest.raises(ct.IndexRangeError):  # as it is in force outside
            GATHERED(there(BAD), x)
        with ct.use_engine("cuda", checks="late"):
            GATHERED(there(BAD), x)
            GPU._looks.clear()
    GATHERED(there(BAD), x)  # late again
    assert len(GPU._looks) == 1
    GPU._looks.clear()
    fake.late = False
    with pytest.raises(ct.EngineError, match="no such time for checks"):
        ct.use_engine("cuda", checks="soon")


def test_views_and_odd_arrays() -> None:
    f = ct.map(lambda x: x * 2.0 + 1.0)
    for a in (X[::-1], X.T, X[:, ::3], X[:0], np.float32(3.0), np.broadcast_to(X[0], (4, 40))):
        got = here(f(FakeArray(np.asarray(a))))[0]
        assert np.array_equal(got, np.asarray(a) * np.float32(2.0) + np.float32(1.0))


def test_some_scans_and_recurrences_of_the_suite() -> None:
    x = np.linspace(0.5, 1.5, 300)
    names = [name for name in LINES if name != "products of matrices"][:8]
    for name in names:
        f = LINES[name]
        try:
            want = f(x)
        except ct.SpaceError:
            continue
        for a, b in zip(here(f(there(x))), flatten(want), strict=True):
            assert np.allclose(a, b, rtol=1e-9, atol=1e-9), name
