"""Launches of kernels on arrays in chunks, and boxes that wait for others or choose between two."""

import numpy as np
import pytest

import catad as ct
from catad.testing import check_chunks, in_chunks
from tests.chunks.plans import plans, ran_whole, rows
from tests.simt.kernels import blur

RNG = np.random.default_rng(4)
X = np.linspace(0.1, 1.0, 29)
KEYS = RNG.integers(0, 5, 29)


@ct.kernel
def wave(x, a, y):
    i = ct.simt.grid(1)
    if i < len(x):
        y[i] = a * np.sin(x[i])


@ct.kernel
def row_sums(a, o):
    i = ct.simt.grid(1)
    if i < a.shape[0]:
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j]
        o[i] = s


@ct.kernel
def sums_by_key(x, k, h):
    i = ct.simt.grid(1)
    if i < len(x):
        ct.simt.atomic.add(h, k[i], x[i])


@ct.kernel
def placed(x, k, o):
    i = ct.simt.grid(1)
    if i < len(x):
        o[k[i]] = x[i]


@ct.kernel
def roots(x, o):
    i = ct.simt.grid(1)
    if i < len(x):
        y = x[i]
        while abs(y * y - x[i]) > 1e-9:
            y = 0.5 * (y + x[i] / y)
        o[i] = y


LAUNCHES = {
    "a map": (wave[4, 8].returning("y", like="x"), [X, 2.0], set()),
    "a stencil in shared memory": (blur[4, 8].returning("o", like="x"), [X, np.array([0.25, 0.5, 0.25])], set()),
    "rows": (row_sums[4, 8], [RNG.normal(size=(29, 4)), np.zeros(29)], set()),
    "atomics": (sums_by_key[4, 8], [X, KEYS, np.zeros(5)], {"Unraced"}),
    "stores at data": (placed[4, 8], [X, RNG.permutation(29), np.zeros(29)], {"Unraced", "OneWriter"}),
    "loops of data": (roots[4, 8].returning("o", like="x"), [X], {"Unraced", "Counted"}),
}


@pytest.mark.parametrize("name", LAUNCHES)
def test_launches(name):
    f, args, whole = LAUNCHES[name]
    with ct.use_engine("reference"), plans() as found:
        for seed in range(2):
            check_chunks(f, *args, seed=seed)
    assert ran_whole(found) <= whole


def test_threads_that_race_are_found():
    f = placed[4, 8]
    with pytest.raises(ct.ScalarError, match="race"):
        f(in_chunks(X, 10), in_chunks(np.minimum(np.arange(29), 27), 10), np.zeros(29))


def test_choices():
    either = ct.choose(ct.sum() >> ct.map(lambda s: s > 0.0), ct.square, ct.sin)
    many = np.outer(X - 0.5, X)
    with ct.use_engine("reference"):
        for x in (X, -X):
            check_chunks(either, x, seed=1)
        check_chunks(ct.map(either), many, seed=2)
        with plans() as found:
            y = ct.map(either)(rows(many))
        assert not ran_whole(found) and np.array_equal(y.numpy(), ct.map(either)(many))
        with plans() as found:
            y = either(rows(X))
        assert not ran_whole(found) and np.array_equal(y.numpy(), X**2)
