"""NumPy's functions that read, write, count and sort at indices: programs on arrays in blocks as on whole ones."""

import numpy as np
import pytest

import catad as ct
from catad.testing import check_chunks
from tests.chunks.plans import plans, ran_whole

RNG = np.random.default_rng(11)
X = np.linspace(0.1, 2.0, 23)
V = RNG.normal(size=23)
TIES = np.round(2 * RNG.normal(size=23))
M = RNG.normal(size=(13, 5))
BINS = RNG.integers(-1, 6, 23)
LABELS = RNG.integers(0, 5, 23)
ROWS = RNG.integers(0, 13, 12)
EDGES = np.linspace(-2, 2, 9)


def residuals(x, y):
    return np.histogram(y - 3 * x, bins=10, range=(-4.0, 4.0))[0]


def put(x, i, v):
    x = x.copy()
    np.put_along_axis(x, i, v, axis=1)
    return x


def rows(a, i, v):
    a = a.copy()
    a[i] = v
    return np.sum(np.tanh(a) ** 2)


def columns(a, i, v):
    a = a.copy()
    a[:, i] = v
    return a


def pairs(a, i, j, v):
    a = a.copy()
    np.add.at(a, (i, j), v)
    return a


def most(a, i, v):
    a = a.copy()
    np.maximum.at(a, i, v)
    return a


def one_by_one(a, i):
    a = a.copy()
    for k in range(4):
        a[i[k]] += a[k]
    return np.sum(a**2)


def means(i, v):
    return np.bincount(i, v, minlength=5) / np.maximum(np.bincount(i, minlength=5), 1)


def cross_entropy(z, labels):
    z = z - np.log(np.sum(np.exp(z), 1, keepdims=True))
    return -np.mean(np.take_along_axis(z, labels[:, None], 1))


def winners(i, a):
    later = ct.histogram(lambda x, y: y if y[0] > x[0] else x, (-np.inf, -1), 5)
    return later(i, (a, np.arange(23)))[1]


def narrow(x):
    return x.astype(np.float32)


PROGRAMS = {
    "residuals": (residuals, [X, V]),
    "weights": (lambda x, w: np.histogram(x, bins=EDGES, weights=w)[0], [V, X]),
    "density": (lambda x: np.histogram(x, bins=EDGES, density=True)[0], [V]),
    "digitize": (lambda x: np.digitize(x, EDGES), [V]),
    "interp": (lambda x: np.interp(x, EDGES, EDGES**2), [V]),
    "rows": (rows, [M, ROWS[:3], 2 * M[:3]]),
    "rows twice": (rows, [M, ROWS, np.ones((12, 5))]),
    "columns": (columns, [M, np.array([3, 0]), 2 * M[:, :2]]),
    "pairs": (pairs, [M, LABELS, LABELS[::-1].copy(), V]),
    "maximum.at": (most, [V[:5], LABELS, X]),
    "one by one": (one_by_one, [V, BINS[:4]]),
    "put along": (put, [M, LABELS[:13, None], M[:, :1]]),
    "take": (lambda x, i: np.take(x, i, axis=1), [M, LABELS]),
    "segment means": (means, [LABELS, V]),
    "reduceat": (lambda x: np.add.reduceat(x, [0, 4, 9]), [V]),
    "cross entropy": (cross_entropy, [M, LABELS[:13]]),
    "percentile": (lambda x: np.percentile(x, [10, 50, 90], axis=0), [M]),
    "nanmedian": (np.nanmedian, [V]),
    "argpartition": (lambda x: np.sort(np.argpartition(x, 5)[:5]), [V]),
    "lexsort": (lambda x, y: np.lexsort((x, y)), [V, TIES]),
    "ranks": (lambda x: np.argsort(np.argsort(x)), [TIES]),
    "trimmed": (lambda x: np.sum(np.sort(x)[3:-3] ** 2), [V]),
    "sorted sums": (lambda x: np.cumsum(np.sort(x)) ** 2, [V]),
    "top": (lambda x: -np.sort(-x)[:4], [V]),
    "onto": (ct.reduce_by_index(np.logaddexp, -np.inf), [V[:5], BINS, X]),
    "winners": (winners, [BINS, TIES]),
    "lanes": (ct.vmap(ct.gather), [M[:4], ROWS.reshape(4, 3) % 5]),
    "f32 sums": (ct.histogram(ct.add, 0.0, 5), [BINS, narrow(V)]),
    "f32 products": (ct.histogram(ct.mul, 1.0, 5), [BINS, narrow(V)]),
    "f32 logs": (ct.histogram(np.logaddexp, -np.inf, 5), [BINS, narrow(V)]),
    "f32 sort": (np.sort, [narrow(TIES)]),
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, seed):
    f, args = PROGRAMS[name]
    with ct.use_engine("reference"), plans() as made:
        check_chunks(f, *args, seed=seed)
    assert ran_whole(made) == set()
