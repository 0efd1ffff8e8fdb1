"""What programs on arrays of Dask say of bad input: at the call where spaces show it, else in the task, which names the chunk."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import catad as ct
from catad.chunks import libraries, worker
from catad.engine.cpu.run import target
from catad.errors.notices import forget
from tests.fake_cupy import fake

dask = pytest.importorskip("dask", reason="pip install 'catad[dask]'")
da = pytest.importorskip("dask.array")

LARGE = 9 * 2**20  # numbers: 72 MiB
FLAGS = np.array([1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0])
BINS = np.array([0, 1, 2, 3, 4, 5, 6, 99, 2, 3, 1, 1])


def numbers(chunks=4):
    return da.arange(12.0, chunks=chunks)


def at_once(*args):
    raise AssertionError("a chunk was computed")


def untouched():
    """An array whose chunks nobody may compute."""
    return da.map_blocks(at_once, numbers(), dtype=float, meta=np.empty(0))


def said(raised):
    """The message but for the places, which name this file, and the chunk."""
    error = raised.value
    assert error.called is not None and error.called.startswith(__file__), error.called
    assert error.calling is not None and "^" in error.calling
    return error.message, error.chunk


# -- at the call


def test_unknown_sizes_of_chunks():
    x = untouched()
    with pytest.raises(ct.SpaceError) as raised:
        ct.sin(x[x > 3])
    assert said(raised) == (
        "the sizes of the chunks of a Dask array are not known\n"
        "  given:    an array with 1 axis, whose chunks have unknown sizes along axis 0\n"
        "  expected: chunks of known sizes: spaces, derivatives and plans are made before numbers are computed\n"
        "  do:       call compute_chunk_sizes() on the array first",
        None,
    )
    y = numbers()
    y = y[y > 3]
    y.compute_chunk_sizes()
    np.testing.assert_allclose(ct.sin(y), np.sin(np.arange(4.0, 12.0)))


@pytest.mark.parametrize("first", [True, False])
def test_arrays_of_cupy_beside_chunks(first):
    pair = [untouched(), fake.asarray(np.ones(12))]
    with pytest.raises(ct.DeviceError) as raised:
        ct.add(*(pair if first else pair[::-1]))
    names = ["dask.array", "cupy"] if first else ["cupy", "dask.array"]
    assert said(raised)[0] == (
        "arrays of two array libraries met in one call\n"
        f"  given:    leaf 0 is a {names[0]} array, leaf 1 a {names[1]} array\n"
        "  expected: all arrays from one library\n"
        "  do:       da.from_array(x, chunks=...) of what is not in chunks; the chunks of one call are arrays of one library"
    )


def test_a_large_array_of_numpy_beside_chunks():
    large = np.ones(LARGE)
    x = da.ones(LARGE, chunks=2**20)
    expected = (
        "an array of NumPy beside arrays in chunks goes to every worker, and this one is large\n"
        "  given:    float64 [9437184], 75497472 bytes\n"
        "  expected: at most 67108864 bytes (64 MiB)\n"
        "  do:       da.from_array(x, chunks=...), in chunks as the arrays beside it",
        None,
    )
    with pytest.raises(ct.SpaceError) as raised:
        ct.add(x, large)
    assert said(raised) == expected
    _, pullback = ct.vjp(ct.sin, x)
    with pytest.raises(ct.SpaceError) as raised:
        pullback(large)
    assert said(raised) == expected
    assert ct.add(x, large[: 2**20].reshape(1, -1)[:, :1]).shape == (1, LARGE)


def test_what_catad_makes_beside_large_chunks_is_not_of_numpy():
    x = da.ones(LARGE, chunks=2**20)
    counts = da.ones(LARGE, chunks=2**20, dtype=int)
    f = ct.function(lambda x, k, w: np.sum(np.sin(x) * k * w))
    ct.grad(f, argnums=(0, 2))(x, counts, x)
    ct.jvp(f, (x, counts, x), (x, (), x))
    ct.hvp(f, (x, counts, x), (x, (), x))
    ct.linearize(f, x, counts, x)[1].T(1.0)
    ct.vjp(f, x, counts, x)[1].many(np.ones(3))


def test_a_large_constant():
    with pytest.raises(ct.EngineError) as raised:
        (ct.fork(ct.id, ct.const(np.arange(float(LARGE)))) >> ct.add)(da.ones(LARGE, chunks=2**20))
    assert said(raised) == (
        "a program on arrays in chunks holds a large constant, which each worker would be sent\n"
        "  given:    72 MiB\n"
        "  expected: at most 64 MiB\n"
        "  do:       give it as an argument, in chunks: da.from_array(x, chunks=...); where it is part of a Jacobian that is "
        "written out, as by ct.jacfwd, take products with it: y, L = ct.linearize(f, x), then L(dx) and L.T(w)",
        None,
    )
    with pytest.raises(ct.EngineError, match=r"ct\.linearize"):
        ct.jacfwd(ct.function(np.cumsum))(da.ones(20_000, chunks=5000))


def test_objects():
    with pytest.raises(ct.SpaceError) as raised:
        ct.sin(untouched().map_blocks(at_once, dtype=object, meta=np.empty(0, object)))
    assert said(raised) == (
        "a space holds float32, float64, bool or integers\n"
        "  given:    object\n"
        "  do:       convert the array, e.g. x.astype(np.float64)",
        None,
    )


@pytest.mark.parametrize("cotangent", [np.ones(11), da.ones(11, chunks=4)], ids=["NumPy", "Dask"])
def test_a_cotangent_of_another_shape(cotangent):
    _, pullback = ct.vjp(ct.sin, untouched())
    with pytest.raises(ct.SpaceError) as raised:
        pullback(cotangent)
    assert said(raised) == (
        "the cotangent does not lie in the tangent space\n"
        "  given:    ct.f64[11]\n"
        "  expected: ct.f64[12]\n"
        "  do:       match shape and dtype of the primal; for integers and booleans give (), None or zeros",
        None,
    )


def test_a_cotangent_in_other_chunks():
    _, pullback = ct.vjp(ct.sin, numbers())
    np.testing.assert_allclose(pullback(da.ones(12, chunks=5))[0], np.cos(np.arange(12.0)))


def test_a_loop_that_waits_where_waiting_is_forbidden():
    """The derivative needs the number of steps; the value does not."""
    halve = ct.function(lambda x: _halved(x))
    with ct.no_waiting():
        np.testing.assert_allclose(halve(numbers()), _halved(np.arange(12.0)))
        with pytest.raises(ct.EngineError) as raised:
            ct.vjp(halve, untouched())
    assert said(raised) == (
        "this call must compute the number of steps of a while loop before it returns, and waiting is forbidden\n"
        "  given:    a call within ct.no_waiting()\n"
        "  do:       call it outside; or ct.iterate with a known number of steps",
        None,
    )


def _halved(x):
    while np.max(x) > 1.0:
        x = x * 0.5
    return x


def test_an_old_dask(monkeypatch):
    monkeypatch.setattr(dask, "__version__", "2024.12.1")
    libraries._of_dask.cache_clear()
    with pytest.raises(ct.EngineError) as raised:
        ct.sin(untouched())
    libraries._of_dask.cache_clear()
    assert said(raised) == (
        "this version of Dask is too old for catad\n"
        "  given:    Dask 2024.12.1\n"
        "  expected: Dask 2025.1 or newer\n"
        "  do:       pip install -U 'catad[dask]'",
        None,
    )


def test_labelled_arrays():
    """They are rejected; their arrays are taken, and xarray itself keeps the labels."""
    xr = pytest.importorskip("xarray")
    x = xr.DataArray(numbers(), dims="time", coords={"time": np.arange(12)}, name="x")
    with pytest.raises(ct.SpaceError) as raised:
        ct.sin(x)
    message, _ = said(raised)
    assert message.startswith("a value is an array, a number or a tuple of values\n  given:    <xarray.DataArray 'x'")
    advice = 'x.data; coordinates are then not aligned. xr.apply_ufunc(f, x, dask="allowed") keeps them'
    assert message.endswith(f"\n  do:       {advice}")
    with pytest.raises(ct.SpaceError, match=r"one of its arrays, x\[name\]\.data"):
        ct.sin(x.to_dataset())
    assert isinstance(ct.sin(x.data), da.Array)
    y = xr.apply_ufunc(ct.function(lambda x: np.cumsum(np.sin(x))), x, dask="allowed")
    assert y.dims == ("time",) and isinstance(y.data, da.Array)
    np.testing.assert_allclose(y, np.cumsum(np.sin(np.arange(12.0))))
    wrong = xr.apply_ufunc(ct.gather, x, xr.DataArray(da.asarray(BINS), dims="time"), dask="allowed")
    with pytest.raises(ct.IndexRangeError) as raised:
        wrong.compute()
    assert said(raised)[0].startswith("an index is out of range")


# -- in tasks

TOO_FAR = np.where(BINS == 99, -20, BINS)
TASKS = {
    "index": (lambda x, k: ct.gather(x, k), [BINS], ct.IndexRangeError, "1, in"),
    "index of a function": (ct.function(lambda x, k: np.sum(x[k])), [TOO_FAR], ct.IndexRangeError, "1, in"),
    "neutral element": (lambda x: ct.fold(lambda a, b: a * b, 0.0)(x + 1), [], ct.MonoidError, "0, in"),
    "neutral element of a scan": (lambda x: ct.scan(lambda a, b: a * b, 2.0)(x + 1), [], ct.MonoidError, "0, in"),
    "neutral element of bins": (lambda x, k: ct.histogram(ct.mul, 0.0, 3)(k, x), [BINS], ct.MonoidError, "0, in"),
    "flags": (lambda x, k: ct.segmented_scan(ct.add, 0.0)(k, x), [FLAGS], ct.ArgumentError, "1, in"),
    "flags of segments": (lambda x, k: ct.segmented_fold(ct.add, 0.0, segments=3)(k, x), [FLAGS], ct.ArgumentError, "1, in"),
    "integers": (lambda x, k: ct.astype("int8", casting="same_value")(100 * k), [FLAGS], ct.NumberRangeError, "1, in"),
}


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
@pytest.mark.parametrize("name", TASKS)
def test_errors_of_tasks_are_those_of_whole_arrays(name, scheduler):
    """But for the chunk."""
    f, more, kind, chunk = TASKS[name]
    with pytest.raises(kind) as whole:
        f(np.arange(12.0), *more)
    lazy = f(numbers(), *[da.from_array(array, chunks=4) for array in more])
    with pytest.raises(kind) as raised:
        lazy.compute(scheduler=scheduler)
    message, where = said(raised)
    assert message == whole.value.message and where.startswith(chunk)
    again = pickle.loads(pickle.dumps(raised.value))
    assert str(again) == str(raised.value) and f"  chunk:    {chunk} the task" in str(again)


def test_an_empty_first_chunk_hides_no_wrong_neutral_element():
    x = da.ones(6, chunks=((0, 0, 2, 4),))
    with pytest.raises(ct.MonoidError) as raised:
        ct.fold(lambda a, b: a * b, 0.0)(x).compute()
    assert said(raised)[1].startswith("2, in")


def test_chunks_of_another_dtype():
    x = numbers().map_blocks(lambda block: block.astype("f4") if block[0] == 4 else block, dtype=float, meta=np.empty(0))
    y = ct.sin(x)
    with pytest.raises(ct.SpaceError) as raised:
        y.compute()
    assert said(raised) == (
        "a chunk is not what its array says\n"
        "  given:    an array of float32 [4]\n"
        "  expected: ct.f64[4]\n"
        "  do:       make the function that loads the chunks return arrays of the dtype and the chunk sizes that the array was "
        "given",
        '1, in the task "map"',
    )


def test_chunks_of_another_shape():
    x = numbers().map_blocks(lambda block: block[:-1] if block[0] == 8 else block, dtype=float, meta=np.empty(0))
    with pytest.raises(ct.SpaceError) as raised:
        (ct.square >> ct.sum())(x).compute()
    message, chunk = said(raised)
    assert "  given:    an array of float64 [3]\n  expected: ct.f64[4]\n" in message and chunk.startswith("2, in")


PARTS = {
    "shift": lambda x: x[2:],
    "flip": lambda x: x[::-1],
    "stride": lambda x: x[::2],
    "reshape": lambda x: x.reshape(2, 6),
    "differences": lambda x: x[1:] - x[:-1],
    "sort": np.sort,
}


@pytest.mark.parametrize("name", PARTS)
def test_chunks_of_another_shape_of_which_tasks_read_parts(name):
    long = numbers().map_blocks(lambda block: np.append(block, 99) if block[0] == 4 else block, dtype=float, meta=np.empty(0))
    y = ct.function(PARTS[name])(long)
    with pytest.raises(ct.SpaceError) as raised:
        y.compute()
    assert "  given:    an array of float64 [5]\n  expected: ct.f64[4]\n" in said(raised)[0]


def test_edges_of_large_chunks_of_another_shape():
    n = 2**18
    long = da.zeros(3 * n, chunks=n).map_blocks(
        lambda block, block_id: block[block_id[0] % 2 :], dtype=float, meta=np.empty(0), chunks=((n, n, n),)
    )
    differences = ct.function(lambda x: x[1:] - x[:-1])(long)
    assert "edges" in {key[0].rpartition("-")[0] for key in differences.__dask_graph__()}
    with pytest.raises(ct.SpaceError) as raised:
        differences.blocks[2].compute()
    message, chunk = said(raised)
    assert f"  given:    an array of float64 [{n - 1}]\n" in message and chunk == '1, in the task "edges"'


def test_chunks_that_are_no_arrays():
    x = numbers().map_blocks(lambda block: block.tolist(), dtype=float, meta=np.empty(0))
    with pytest.raises(ct.SpaceError, match=r"given: +a list\n"):
        ct.sin(x).compute()


# -- lazy results


def test_lazy_results_compute_where_python_asks():
    """As arrays of Dask do; a linear map is an object as others, and true."""
    y, linear = ct.linearize(ct.sin, numbers())
    np.testing.assert_allclose(np.asarray(y), np.sin(np.arange(12.0)))
    assert float(ct.sum()(numbers())) == 66.0 and bool(ct.max()(numbers()) > 3)
    assert bool(ct.linearize(ct.sin, untouched())[1]) and bool(linear)
    with pytest.raises(AssertionError, match="a chunk was computed"):
        np.asarray(ct.sin(untouched()))


# -- workers


def test_a_worker_without_llvm_runs_array_code(monkeypatch):
    def broken():
        raise OSError("libllvmlite.so: cannot open shared object file")

    with ct.use_engine("cpu"):
        y = ct.function(lambda x: np.cumsum(np.sin(x)) * 1.375)(numbers(1))
        monkeypatch.setattr(target, "host", broken)
        target.missing.cache_clear()
        try:
            with pytest.warns(ct.CatadNotice, match=r"(?s)reference engine runs instead.*cannot open shared") as seen:
                found = y.compute(scheduler="threads", num_workers=8)
        finally:
            target.missing.cache_clear()
            forget("no llvm")
    assert len([one for one in seen if one.category is ct.CatadNotice]) == 1
    np.testing.assert_allclose(found, np.cumsum(np.sin(np.arange(12.0))) * 1.375)


def other_version():
    worker.__version__ = "0.0.7"


VERSIONS = (
    "a worker has another version of catad than the process that made its tasks\n"
    f"  given:    tasks of catad {ct.__version__}, on a worker with catad 0.0.7\n"
    "  expected: one version everywhere: results are the same on every machine\n"
    "  do:       install the same version on all workers"
)


def test_a_program_of_another_version(monkeypatch):
    """It is not opened before its task runs, so that the error is that of the task."""
    y = ct.sin(numbers())
    node = next(node for key, node in dict(y.__dask_graph__()).items() if key[0].startswith("map-"))
    run, program, *args = pickle.loads(pickle.dumps((node.func, *node.args[:3], np.ones(4))))
    np.testing.assert_allclose(run(program, *args), np.sin(np.ones(4)))
    monkeypatch.setattr(worker, "__version__", "0.0.7")
    with pytest.raises(ct.EngineError) as raised:
        run(pickle.loads(pickle.dumps(program)), *args)
    assert said(raised) == (VERSIONS, None)


@pytest.mark.cluster(workers=1)
def test_a_worker_of_another_version(cluster):
    from distributed import get_client

    get_client().run(other_version)
    with pytest.raises(ct.EngineError) as raised:
        ct.sin(numbers()).compute()
    assert said(raised) == (VERSIONS, None)
