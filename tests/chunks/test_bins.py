"""Boxes that read and write at indices, fold by bin, and sort: on arrays in blocks as on whole ones."""

import pickle

import numpy as np
import pytest

import catad as ct
from catad.chunks.here import blocked
from catad.chunks.rules import indexing, sorting
from catad.testing import check_chunks
from tests.chunks.plans import plans, ran_whole

X = np.linspace(0.1, 2.0, 23)
RNG = np.random.default_rng(7)
V = RNG.normal(size=23)
TIES = np.round(2 * RNG.normal(size=23))
M = RNG.normal(size=(13, 5))
BINS = RNG.integers(-1, 6, 23)  # some out of range
LABELS = RNG.integers(0, 5, 23)
MANY = RNG.normal(size=40)
SPOTS = RNG.integers(0, 40, 23)
APART = RNG.permutation(40)[:23]
ROWS = RNG.integers(0, 13, (4, 3))


def k_means(centres, points):
    distance = np.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=2)
    own = np.argmin(distance, axis=1)
    counts = np.bincount(own, minlength=3)
    sums = np.zeros((3, 5))
    np.add.at(sums, own, points)
    return sums / np.maximum(counts, 1)[:, None]


@ct.function
def stores(a, i, v):
    a = a.copy()
    a[i] = v
    return np.sum(a * a)


@ct.function
def adds(a, i, v):
    a = a.copy()
    np.add.at(a, i, v)
    return np.sin(a)


OPS = {
    "times": ct.histogram(ct.mul, 1.0, 5),
    "greatest": ct.histogram(ct.maximum, -np.inf, 5),
    "log": ct.histogram(np.logaddexp, -np.inf, 5),
    "affine": ct.histogram(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (1.0, 0.0), 5),
    "free": ct.histogram(lambda a, b, t: t * np.logaddexp(a / t, b / t), -np.inf, 5, params=1),
    "inverse": ct.histogram(ct.monoid(lambda a, b: a + b + a * b, 0.0, inverse=lambda t, x: (t - x) / (1 + x)), bins=5),
}

PROGRAMS = {
    "bincount": (lambda i: np.bincount(i, minlength=7), [LABELS]),
    "weights": (lambda i, w: np.bincount(i, weights=w, minlength=7), [LABELS, V]),
    "histogram": (ct.histogram(ct.add, 0.0, 5), [BINS, V]),
    "rows": (ct.histogram(ct.add, 0.0, 5), [BINS[:13], M]),
    "times": (OPS["times"], [BINS, V]),
    "a zero": (OPS["times"], [BINS, V * (np.arange(23) != 4)]),
    "huge": (OPS["times"], [BINS, V * np.where(np.arange(23) % 2, 1e50, 1e-50)]),
    "tiny": (OPS["times"], [BINS, V * 1e-150]),
    "greatest": (OPS["greatest"], [BINS, TIES]),
    "greatest rows": (OPS["greatest"], [BINS[:13], np.round(M)]),
    "log": (OPS["log"], [BINS, V]),
    "affine": (lambda i, a, c: OPS["affine"](i, (a, c)), [BINS, V, X]),
    "free": (OPS["free"], [BINS, V, 0.7]),
    "inverse": (OPS["inverse"], [BINS, X]),
    "k-means": (k_means, [M[:3], M]),
    "embedding": (lambda table, i: np.sum(np.tanh(table[i]) ** 2), [M, ROWS]),
    "one hot": (lambda i, w: np.eye(5)[i] @ w, [LABELS, M[0]]),
    "gather": (ct.gather, [M, ROWS]),
    "scatter": (ct.scatter, [MANY, SPOTS, V]),
    "scatter-add": (ct.scatter_add, [MANY, SPOTS, V]),
    "store": (stores, [MANY, APART, V]),
    "store twice": (stores, [MANY, SPOTS, V]),
    "add": (adds, [MANY, SPOTS, V]),
    "add to few": (adds, [V[:5], LABELS, V]),
    "sort": (np.sort, [V]),
    "sort ties": (np.sort, [TIES]),
    "sort rows": (lambda x: np.sort(x, axis=0), [M]),
    "sort columns": (lambda x: np.sort(x, axis=1), [M]),
    "argsort": (ct.argsort(), [TIES]),
    "argsort rows": (ct.argsort(0), [np.round(M)]),
    "integers": (np.sort, [SPOTS]),
    "median": (np.median, [V]),
    "partition": (lambda x: np.sum(np.partition(x, 5)[:5]), [V]),
    "quantile": (lambda x: np.quantile(x, 0.3), [V]),
    "searchsorted": (lambda s, x: np.searchsorted(s, x), [np.sort(MANY), V]),
    "right": (ct.searchsorted("right"), [np.sort(TIES), np.round(2 * X)]),
    "take along": (lambda x, i: np.take_along_axis(x, i, axis=0), [M, ROWS[:, :1] * np.ones((1, 5), int)]),
    "argmax": (lambda x: (np.argmax(x), np.argmin(x, axis=0)), [np.round(M)]),
    "max": (lambda x: np.sum(np.max(x, axis=0) ** 2), [np.round(M)]),
    "negative": (lambda x, i: x[i], [V, BINS]),
    "pairs": (lambda x, i, j: x[i, j] ** 2, [M, LABELS, LABELS[::-1] % 5]),
    "slices": (lambda x, i: x[i, 1:4] ** 2, [M, LABELS]),
    "fourth": (ct.histogram(ct.add, 0, 5), [BINS, np.arange(23)]),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, seed):
    f, args = PROGRAMS[name]
    with ct.use_engine("reference"), plans() as made:
        check_chunks(f, *args, seed=seed)
    assert ran_whole(made) == set()


@pytest.mark.parametrize("name", ["weights", "greatest", "log", "k-means", "embedding", "store twice", "sort ties", "median"])
def test_on_the_compiled_engine(name):
    f, args = PROGRAMS[name]
    check_chunks(f, *args, seed=5)


@pytest.mark.parametrize("name", ["weights", "log", "affine", "k-means", "gather", "store", "add", "sort", "max", "one hot"])
def test_large_tables(name, monkeypatch):
    """Tables that are large are cut where they are indexed."""
    monkeypatch.setattr(indexing, "TABLE", 64)
    monkeypatch.setattr(indexing, "BLOCKS", 2)
    monkeypatch.setattr(sorting, "TABLE", 64)
    f, args = PROGRAMS[name]
    with ct.use_engine("reference"), plans() as made:
        check_chunks(f, *args, seed=9)
    assert ran_whole(made) == set()


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_an_index_out_of_range_names_its_chunk(engine):
    """The error is that of whole arrays, in the chunk that has the index."""
    x, i = M[:, 0].copy(), np.array([1, 2, 0, 3, 12, 13, 1])
    with pytest.raises(ct.IndexRangeError) as whole:
        ct.gather(x, i)
    with ct.use_engine(engine), pytest.raises(ct.IndexRangeError) as found:
        ct.gather(blocked(x, ((6, 7),)), blocked(i, ((2, 2, 3),)))
    assert found.value.message == whole.value.message
    assert found.value.chunk.startswith("2, in the task ")
    assert "chunk:    2, in" in str(found.value)
    assert pickle.loads(pickle.dumps(found.value)).chunk == found.value.chunk


def test_an_index_out_of_range_in_a_grid_names_its_chunk():
    """The chunk is numbered by the axes of the array, however many blocks they have."""
    i = np.zeros((4, 6), int)
    i[3, 1] = -14
    with pytest.raises(ct.IndexRangeError) as whole:
        ct.index[ct.arg](M, i)
    with pytest.raises(ct.IndexRangeError) as found:
        ct.index[ct.arg](M, blocked(i, ((1, 1, 2), (1, 5))))
    assert found.value.message == whole.value.message
    assert found.value.chunk.startswith("(2, 1), in the task ")


def test_a_number_that_does_not_fit_names_its_chunk():
    narrow = ct.astype("int8", casting="same_value")
    with pytest.raises(ct.NumberRangeError, match=r"given: +300") as found:
        narrow(blocked(np.array([1, 2, 300, 4]), ((2, 2),)))
    assert found.value.chunk.startswith("1, in the task ")


def test_errors_on_whole_arrays_name_no_chunk():
    with pytest.raises(ct.IndexRangeError) as found:
        ct.gather(V, np.array([23]))
    assert found.value.chunk is None and "chunk:" not in str(found.value)


@pytest.mark.parametrize("name", ["times", "log", "greatest", "add", "embedding", "sort", "store twice", "median"])
def test_programs_do_not_grow_with_the_number_of_chunks(name):
    """Forty equal chunks need the programs of twenty: a tree has as many levels."""
    f, args = PROGRAMS[name]

    def count(blocks):
        x = [np.resize(arg, (120, *arg.shape[1:])) if np.ndim(arg) else arg for arg in args]
        cut = [blocked(arg, ((120 // blocks,) * blocks, *[(n,) for n in arg.shape[1:]])) for arg in x]
        with ct.use_engine("reference"), plans() as made:
            y, pull = ct.vjp(f, *cut)
            pull(y)
        return sum([len(one.programs) for one in made])

    assert count(20) == count(40)


def test_prefixes_of_many_chunks():
    """Beyond 64 chunks the tables before each are found in two levels."""
    f, i = OPS["log"], np.arange(150) % 7 - 1
    v = RNG.normal(size=150)
    cut = [blocked(x, ((1, 2) * 50,)) for x in (i, v)]
    w = RNG.normal(size=5)
    with ct.use_engine("reference"):
        np.testing.assert_allclose(ct.vjp(f, *cut)[1](w)[1].numpy(), ct.vjp(f, i, v)[1](w)[1], rtol=1e-12)


def test_products_that_leave_the_range_of_floats():
    """A product may be too large where those without one of its factors are not: each is a gradient."""
    f, i, v = OPS["times"], np.array([0, 1, 0, 1, 0, 1, 2, 4, 2]), np.array([1.0, 2, 3, 4, 5, 0.5, 0, 7, 3]) * 1e120
    w = np.arange(1.0, 6)
    expected = ct.vjp(f, i, v)[1](w)[1]
    assert np.isfinite(expected).all() and not np.isfinite(f(i, v)).all()
    for sizes in [(4, 5), (1, 2, 3, 3), (1,) * 9]:
        found = ct.vjp(f, blocked(i, (sizes,)), blocked(v, (sizes,)))[1](w)[1].numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-14)
