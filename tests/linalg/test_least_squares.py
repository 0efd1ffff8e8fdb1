"""`pinv` and `lstsq`: NumPy's values, derivatives by differences at full rank and at constant rank, errors."""

from __future__ import annotations

import numpy as np
import pytest

import catad as ct
from catad.testing import check_grads, check_laws

SHAPES = [(3, 3), (4, 2), (2, 4), (1, 1)]


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape)


@pytest.mark.parametrize(("m", "n"), SHAPES)
def test_pinv(m, n):
    a = drawn(2, m, n)
    for one in (a, a.astype(np.float32), np.asfortranarray(a), a[:0], a[:, :0], (5 * a).astype(int)):
        found, expected = ct.linalg.pinv()(one), np.linalg.pinv(one, rtol=1e-12)
        assert found.shape == expected.shape and np.allclose(found, expected, atol=1e-4)
        assert found.dtype == expected.dtype or not one.size
    check_grads(ct.linalg.pinv(), a, order=2)
    check_laws(ct.linalg.pinv(), a, order=1)


def test_pinv_keeps_the_rank():
    f = ct.function(lambda x, y: np.linalg.norm(ct.linalg.pinv(1e-10)(x @ y) @ np.arange(12.0).reshape(4, 3)))
    check_grads(f, drawn(4, 2), drawn(2, 4), order=2)
    a = np.diag([2.0, 1.0, 1e-9])
    assert ct.linalg.pinv(1e-6)(a)[2, 2] == 0 and ct.linalg.pinv()(a)[2, 2] > 1e8
    half = np.tril(drawn(3, 3))
    assert np.allclose(ct.linalg.pinv(hermitian=True)(half), np.linalg.pinv(half, hermitian=True))


@pytest.mark.parametrize(("m", "n"), SHAPES)
@pytest.mark.parametrize("k", [None, 2])
def test_lstsq(m, n, k):
    a, b = drawn(m, n), drawn(m, k) if k else drawn(m)
    for x, y in ((a, b), (a.astype(np.float32), b.astype(np.float32)), (np.asfortranarray(a), b[::-1])):
        found, expected = ct.linalg.lstsq()(x, y), np.linalg.lstsq(x, y)
        for one, own in zip(found, expected, strict=True):
            assert np.shape(one) == np.shape(own) and np.allclose(one, own, atol=1e-4)
        assert found[0].dtype == expected[0].dtype
    f = ct.function(lambda a, b: ct.linalg.lstsq()(a, b)[:2])
    check_grads(f, a, b, order=2)
    check_grads(ct.map(f), np.stack([a, -a]), np.stack([b, b]), order=1)


def test_ranks_that_are_lost():
    a = np.ones((3, 2))
    x, _, rank, _ = np.linalg.lstsq(a, np.arange(3.0))
    solved = ct.function(lambda a, b: ct.linalg.lstsq()(a, b)[0])
    assert np.allclose(solved(a, np.arange(3.0)), x)
    assert ct.function(lambda a, b: ct.linalg.lstsq()(a, b)[2])(a, np.arange(3.0)) == rank
    with pytest.raises(ct.SolveError, match=r"^a least squares problem has no derivative .*\n.*singular values 2\.45, "):
        ct.jvp(solved, (a, np.arange(3.0)), (a, np.arange(3.0)))
    with pytest.raises(ct.SolveError, match="rank 1 of 2 columns"):
        ct.linalg.lstsq()(a, np.arange(3.0))
    with pytest.raises(ct.SolveError, match=r"matrix \[1\] of \(2,\)"):
        ct.jvp(ct.map(solved), (np.stack([drawn(3, 2), a]), np.ones((2, 3))), (np.ones((2, 3, 2)), np.ones((2, 3))))
    with pytest.raises(ct.SpaceError, match="do not fit"):
        ct.linalg.lstsq()(a, np.ones(2))


def test_nan():
    a = np.stack([drawn(3, 2), drawn(3, 2)])
    bad = a.copy()
    bad[1, 0, 0] = np.nan
    good, found = ct.linalg.pinv()(a), ct.linalg.pinv()(bad)
    assert np.array_equal(good[0], found[0]) and np.isnan(found[1]).all()
    b = np.array([[1.0, np.nan], [0.0, 1.0], [2.0, 3.0]])
    x = ct.linalg.lstsq()(a[0], b)[0]
    assert np.isnan(x[:, 1]).all() and np.allclose(x[:, 0], np.linalg.lstsq(a[0], b[:, 0])[0])
