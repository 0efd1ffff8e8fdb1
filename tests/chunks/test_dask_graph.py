"""Tasks as a graph of dask: values and bits on every scheduler, keys, names, layers, and what runs how often."""

from __future__ import annotations

import pickle
import subprocess
import sys
import weakref
from collections import Counter

import numpy as np
import pytest

from . import numpy_program
from .declared import misdeclared
from .numpy_program import program

dask = pytest.importorskip("dask", reason="pip install 'dask[array]' distributed")
da = pytest.importorskip("dask.array")

from dask.utils import key_split  # noqa: E402

from catad.dask.graph import DaskGraph  # noqa: E402

SIZES = (5, 3, 0, 4, 1, 7)
SCALE = np.array(1.5)


def numbers():
    return np.random.default_rng(3).normal(size=sum(SIZES))


def lazy(x=None, scale=SCALE, salt="", **options):
    x = da.from_array(numbers(), chunks=(SIZES,), name="numbers") if x is None else x
    return program(DaskGraph(f"running sum {salt}", [x], [scale]), x, scale, **options)


def bits(arrays, **options):
    return [np.asarray(array).tobytes() for array in dask.compute(*arrays, **options)]


def words(arrays):
    """How many tasks of each name there are in a graph of several arrays."""
    graph = {key: node for array in arrays for key, node in dict(array.__dask_graph__()).items()}
    return Counter(key_split(key) for key in graph)


class Counted:
    def __init__(self):
        self.calls = 0

    def __call__(self, *args):
        self.calls += 1
        return numpy_program.product(*args)


def test_values_chunks_and_types():
    y, sums, total = lazy()
    assert y.chunks == sums.chunks == (SIZES,) and total.chunks == ()
    assert {array.dtype for array in (y, sums, total)} == {np.dtype(np.float64)}
    assert type(y._meta) is np.ndarray and y._meta.shape == (0,) and total._meta.shape == ()
    want = numbers() * 1.5
    np.testing.assert_array_equal(y.compute(scheduler="sync"), want)
    np.testing.assert_allclose(sums.compute(scheduler="sync"), np.cumsum(want), rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(total.compute(scheduler="sync"), want.sum(), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_bits_do_not_depend_on_threads(threads):
    want = bits(lazy(), scheduler="sync")
    assert bits(lazy(), scheduler="threads", num_workers=threads) == want


def test_layers_read_earlier_layers_and_the_arguments():
    for array in lazy():
        array.dask.validate()
        assert array.name in array.dask.layers
        assert array.dask._toposort_layers()[-1] == array.name


def test_progress_bars_show_words():
    shown = words(lazy())
    assert shown["product and total"] == shown["running sum"] == shown["part 0 of product and total"] == len(SIZES)
    assert shown["scan of totals"] == shown["total"] == shown["scale"] == 1


def test_a_result_that_is_a_block_is_not_copied():
    _, sums, total = lazy()
    assert key_split(sums.name) == "running sum" and key_split(total.name) == "total"
    assert len(sums.dask.layers[sums.name]) == len(SIZES)


def test_keys_say_what_a_result_depends_on():
    names = [array.name for array in lazy()]
    assert [array.name for array in lazy()] == names
    other = da.from_array(numbers(), chunks=(SIZES,), name="other")
    for changed in (lazy(other), lazy(scale=np.array(2.5)), lazy(salt="again")):
        assert not set(names) & {array.name for array in changed}


def test_keys_are_those_of_another_process():
    code = "from tests.chunks.test_dask_graph import lazy; print([array.name for array in lazy()])"
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60).stdout
    assert said.strip() == str([array.name for array in lazy()])


@pytest.mark.parametrize(
    "together",
    [
        dask.compute,
        dask.persist,
        lambda *arrays: dask.compute(*dask.optimize(*arrays)),
        lambda y, sums, total: dask.compute(y + sums, y, sums, total),
        lambda y, sums, total: (y[3:] + sums[3:] + total).rechunk(5).compute(),
    ],
    ids=["compute", "persist", "optimize", "sum", "rest"],
)
def test_each_task_runs_once(together):
    """Also where dask optimises one array by itself."""
    product = Counted()
    with dask.config.set(scheduler="sync"):
        together(*lazy(product=product))
    assert product.calls == len(SIZES)


def test_equal_calls_run_once_and_salted_ones_twice():
    first, second, salted = Counted(), Counted(), Counted()
    arrays = [lazy(product=first)[0], lazy(product=second)[0], lazy(product=salted, salt="again")[0]]
    dask.compute(*arrays, scheduler="sync")
    assert first.calls + second.calls == len(SIZES) and salted.calls == len(SIZES)


def test_the_same_name_and_chunk_twice_are_two_tasks():
    x = da.arange(6, chunks=2)
    graph = DaskGraph("twice", [x])
    once = [graph.task("next", (k,), np.add, (block, 1)) for k, block in enumerate(graph.blocks(x))]
    twice = [graph.task("next", (k,), np.add, (block, 1)) for k, block in enumerate(once)]
    thrice = [graph.task("next", (k,), np.add, (one, other)) for k, (one, other) in enumerate(zip(once, twice, strict=True))]
    got = [graph.array(blocks, x.chunks, x.dtype) for blocks in (once, twice, thrice)]
    want = [np.arange(6) + 1, np.arange(6) + 2, 2 * np.arange(6) + 3]
    np.testing.assert_array_equal(dask.compute(*got, scheduler="sync"), want)


def test_tasks_of_one_name_that_come_in_turn_are_in_layers_of_their_own():
    x = da.arange(6, chunks=2)
    graph = DaskGraph("in turn", [x])
    once, twice = [], []
    for k, block in enumerate(graph.blocks(x)):
        once.append(graph.task("next", (k,), np.add, (block, 1)))
        twice.append(graph.task("next", (k,), np.add, (once[-1], 1)))
    arrays = [graph.array(blocks, x.chunks, x.dtype) for blocks in (once, twice)]
    assert sum(len(array.dask.layers[array.name]) for array in arrays) == len(arrays[1].dask.to_dict()) - 3
    np.testing.assert_array_equal(dask.compute(*arrays, scheduler="sync"), [np.arange(6) + 1, np.arange(6) + 2])


def test_layers_of_a_pipeline_never_read_each_other_in_a_circle():
    graph = DaskGraph("pipeline", [])
    state = graph.value("start", 1.0)
    for k in range(5):
        state = graph.task("left", (k,), np.add, (state, 1.0))
        state = graph.task("right", (k,), np.multiply, (state, 2.0))
    array = graph.array([state], (), np.float64)
    array.dask._toposort_layers()
    assert array.compute(scheduler="sync") == 94.0


def test_blocks_of_a_grid():
    x = da.from_array(np.arange(35.0).reshape(5, 7), chunks=((2, 3), (3, 3, 1)))
    graph = DaskGraph("grid", [x])
    places = list(np.ndindex(2, 3))
    made = [graph.task("square", at, np.square, (block,)) for at, block in zip(places, graph.blocks(x), strict=True)]
    got = graph.array(made, x.chunks, x.dtype)
    assert key_split(got.name) == "square"
    np.testing.assert_array_equal(got.compute(scheduler="threads"), np.arange(35.0).reshape(5, 7) ** 2)
    by_row = graph.array([(graph.task("both", (k,), both, (made[3 * k],)), 1) for k in range(2)], ((2, 3), (3,)), x.dtype)
    np.testing.assert_array_equal(by_row.compute(scheduler="threads"), np.arange(35.0).reshape(5, 7)[:, :3] ** 2 + 1)
    turned = graph.array([made[0], made[3]], ((2, 3), (3,)), x.dtype)  # some blocks of a layer: they are handed over
    np.testing.assert_array_equal(turned.compute(scheduler="threads"), np.arange(35.0).reshape(5, 7)[:, :3] ** 2)
    whole = graph.array(graph.blocks(x), x.chunks, x.dtype)
    np.testing.assert_array_equal(whole.compute(scheduler="threads"), x.compute())


def both(x):
    return x, x + 1


def test_one_graph_of_several_arguments_and_of_results():
    x, y = da.arange(6.0, chunks=2), da.ones(6, chunks=2)
    graph = DaskGraph("sum", [x, y, x])
    made = [graph.task("sum", (k,), np.add, pair) for k, pair in enumerate(zip(graph.blocks(x), graph.blocks(y), strict=True))]
    total = graph.array(made, x.chunks, x.dtype)
    _, sums, _ = lazy(total)
    np.testing.assert_array_equal(sums.compute(scheduler="sync"), np.cumsum(1.5 * np.arange(1.0, 7.0)))
    again = dask.persist(total, scheduler="sync")[0]
    np.testing.assert_array_equal(lazy(again)[1].compute(scheduler="sync"), np.cumsum(1.5 * np.arange(1.0, 7.0)))


def test_sources_out_of_core(tmp_path):
    want = bits(lazy(), scheduler="sync")
    stored = np.memmap(tmp_path / "numbers", np.float64, "w+", shape=numbers().shape)
    stored[:] = numbers()
    assert bits(lazy(da.from_array(stored, chunks=(SIZES,))), scheduler="threads") == want


def test_zarr(tmp_path):
    pytest.importorskip("zarr")
    da.from_array(numbers(), chunks=6).to_zarr(str(tmp_path / "numbers.zarr"))
    x = da.from_zarr(str(tmp_path / "numbers.zarr"))
    want = bits(lazy(da.from_array(numbers(), chunks=6)), scheduler="sync")
    assert bits(lazy(x), scheduler="threads") == want


def test_xarray():
    xarray = pytest.importorskip("xarray")
    x = xarray.DataArray(da.from_array(numbers(), chunks=(SIZES,)), dims="time")
    got = xarray.DataArray(lazy(x.data)[1], dims="time")
    assert got.compute(scheduler="threads").values.tobytes() == bits(lazy(), scheduler="sync")[1]


class Store:
    """Numbers that are read chunk by chunk; it counts how many chunks are alive, and how often one was read."""

    dtype, ndim = np.dtype(np.float64), 1

    def __init__(self, count):
        self.shape = (count,)
        self.alive = self.most = self.reads = 0

    def __getitem__(self, key):
        found = np.arange(*key[0].indices(self.shape[0]), dtype=float)
        self.alive, self.reads = self.alive + 1, self.reads + 1
        self.most = max(self.most, self.alive)
        weakref.finalize(found, self._freed)
        return found

    def _freed(self):
        self.alive -= 1


def centred(x, again):
    """An array less its mean, in two passes."""
    graph = DaskGraph("centred", [x])
    sums = [graph.task("sum", (k,), np.sum, (block,)) for k, block in enumerate(graph.blocks(x))]
    mean = graph.task("mean", (), mean_of, (x.size, *sums))
    blocks = graph.blocks_again(x) if again else graph.blocks(x)
    squares = [graph.task("square", (k,), squared, (block, mean)) for k, block in enumerate(blocks)]
    return graph.array([graph.task("total", (), mean_of, (1, *squares))], (), np.float64)


def mean_of(count, *sums):
    return np.asarray(sum(sums) / count)


def squared(x, mean):
    return ((x - mean) ** 2).sum()


class Alive:
    """Makes two arrays and a number for each chunk, and counts how many of the first ones are there at a time."""

    def __init__(self):
        self.now = self.most = 0

    def __call__(self, k):
        found = np.full(10, float(k))
        self.now += 1
        self.most = max(self.most, self.now)
        weakref.finalize(found, self._freed)
        return found, np.ones(10), 1.0

    def _freed(self):
        self.now -= 1


def test_an_entry_is_held_without_the_others():
    graph, alive = DaskGraph("held", []), Alive()
    made = [graph.task("made", (k,), alive, (k,)) for k in range(50)]
    total = graph.task("sum", (), mean_of, (1, *[graph.entry(one, 2) for one in made]))
    later = [graph.task("later", (k,), squared, (graph.entry(one, 1), total)) for k, one in enumerate(made)]
    last = graph.array([graph.task("last", (), mean_of, (1, *later))], (), np.float64)
    first = graph.array([(one, 0) for one in made], ((10,) * 50,), np.float64)
    assert dask.compute(first.sum(), last, scheduler="sync") == (10.0 * sum(range(50)), 50 * 10 * 49.0**2)
    assert alive.most <= 3


@pytest.mark.parametrize("again", [False, True])
def test_a_second_pass_reads_again_rather_than_hold_all(again):
    store = Store(400)
    x = da.from_array(store, chunks=4, name="store", meta=np.empty(0))
    assert centred(x, again).compute(scheduler="sync") == ((np.arange(400) - 199.5) ** 2).sum()
    assert store.reads == (200 if again else 100)
    assert store.most <= 10 if again else store.most == 100


@pytest.mark.parametrize(
    "make",
    [lambda x: x, lambda x: x * 2.0, lambda x: x[3:], lambda x: x[1::2].astype(np.float32)],
    ids=["stored", "pointwise", "slice", "cast"],
)
def test_blocks_of_stored_numbers_can_be_made_again(make):
    array = make(da.from_array(Store(40), chunks=4, name="store", meta=np.empty(0)))
    graph = DaskGraph("both", [array])
    again = graph.blocks_again(array)
    assert not {ref.key for ref in again} & {ref.key for ref in graph.blocks(array)}
    made = [graph.task("sum", (k,), np.add, pair) for k, pair in enumerate(zip(graph.blocks(array), again, strict=True))]
    result = graph.array(made, array.chunks, array.dtype)
    result.dask.validate()
    np.testing.assert_array_equal(result.compute(scheduler="sync"), 2 * array.compute(scheduler="sync"))


def test_blocks_in_memory_are_not_made_again():
    for array in (da.from_array(numbers(), chunks=6), dask.persist(da.arange(30, chunks=6) + 1, scheduler="sync")[0]):
        graph = DaskGraph("again", [array])
        assert graph.blocks_again(array) == graph.blocks(array)


@pytest.mark.parametrize("size", [7, 8])
def test_blocks_made_of_several_are_held(size):
    array = da.from_array(Store(40), chunks=4, meta=np.empty(0)).rechunk(size)
    assert DaskGraph("again", [array]).blocks_again(array) is None


@pytest.mark.parametrize("wrong", [np.float32, np.int64])
def test_a_block_of_another_dtype_is_found(wrong):
    x = da.from_array(numbers(), chunks=(SIZES,))
    graph = DaskGraph("wrong", [x])
    made = [graph.task("cast", (k,), np.asarray, (block, wrong if k == 3 else float)) for k, block in enumerate(graph.blocks(x))]
    assert misdeclared(graph.array(made, x.chunks, x.dtype)) == [f"block (3,) is {np.dtype(wrong)}(4,), declared float64(4,)"]
    assert not any(misdeclared(array) for array in lazy())


def test_a_graph_has_a_large_value_once():
    table = np.arange(100_000.0)
    x = da.arange(40, chunks=1)
    graph = DaskGraph("take", [x], [table])
    shared = graph.value("table", table)
    made = [graph.task("take", (k,), np.take, (shared, block)) for k, block in enumerate(graph.blocks(x))]
    array = graph.array(made, x.chunks, table.dtype)
    assert len(pickle.dumps(dict(array.dask))) < 2 * table.nbytes
    np.testing.assert_array_equal(array.compute(scheduler="threads"), np.arange(40.0))


def test_errors_arrive_as_themselves(tmp_path):
    from catad import errors

    with pytest.raises(errors.IndexRangeError, match="given:    7"):
        dask.compute(*lazy(product=numpy_program.FailsOnce(tmp_path)), scheduler="threads")
