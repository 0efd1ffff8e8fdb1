"""Norms, condition numbers, ranks, powers, exponentials of matrices: NumPy's and SciPy's values, derivatives by differences."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import catad as ct
from catad.testing import check_grads, check_laws

ORDERS = [2, -2, "nuc", "fro", 1, -1, np.inf, -np.inf]


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape)


@pytest.mark.parametrize("order", ORDERS)
def test_norms_and_condition_numbers(order):
    a = drawn(2, 3, 3)
    for axes in ((1, 2), (0, 2), (-1, 0)):
        for keepdims in (False, True):
            assert np.allclose(ct.linalg.norm(order, axes, keepdims)(a), np.linalg.norm(a, order, axes, keepdims))
    assert np.allclose(ct.linalg.cond(order)(a), np.linalg.cond(a, order))
    check_grads(ct.linalg.norm(order, (1, 2)), a, order=2)
    check_grads(ct.linalg.cond(order), a, order=2)
    assert ct.linalg.norm(order)(a[0].astype(np.float32)).dtype == np.float32


def test_edges():
    singular = np.diag([1.0, 0.0])
    assert ct.linalg.cond()(singular) == np.inf == ct.linalg.cond()(np.zeros((2, 2))) and ct.linalg.cond(-2)(singular) == 0
    strange = np.stack([np.eye(2), np.full((2, 2), np.nan)])
    assert np.array_equal(ct.linalg.cond()(strange), [1.0, np.nan], equal_nan=True)
    assert ct.linalg.norm(2)(np.zeros((0, 3))) == 0 == ct.linalg.norm("nuc")(np.zeros((0, 3)))
    with pytest.raises(ct.SpaceError, match="least singular value"):
        ct.linalg.norm(-2)(np.zeros((0, 3)))
    with pytest.raises(ct.SpaceError, match="cond is not defined"):
        ct.linalg.cond()(np.zeros((0, 3)))
    assert ct.linalg.cond(1)(singular) == np.inf
    with pytest.raises(ct.ArgumentError):
        ct.linalg.norm("two")
    assert ct.linalg.norm(2)(np.array([3, 4])) == 5 and ct.linalg.norm()(drawn(2, 2)) == np.linalg.norm(drawn(2, 2))


def test_ranks():
    a = np.stack([np.ones((3, 2)), drawn(3, 2), np.zeros((3, 2))])
    assert np.array_equal(ct.linalg.matrix_rank()(a), np.linalg.matrix_rank(a)) and ct.linalg.matrix_rank()(a).dtype == np.int64
    s = np.diag([-2.0, 1e-9, 0.0])
    for rtol in (None, 1e-8, 0.5):
        assert ct.linalg.matrix_rank(rtol, True)(s) == np.linalg.matrix_rank(s, hermitian=True, rtol=rtol)
    assert ct.linalg.matrix_rank()(np.zeros((0, 3))) == 0 == ct.linalg.matrix_rank()(np.zeros((3, 0)))


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 5])
def test_powers(n):
    a = drawn(2, 3, 3)
    assert np.allclose(ct.linalg.matrix_power(n)(a), np.linalg.matrix_power(a, n))
    check_grads(ct.linalg.matrix_power(n), a, order=2)


def test_expm():
    a = drawn(2, 3, 3)
    for one in (a, a.astype(np.float32), 100 * a, 1e-9 * a, a[:0], a[:, :0, :0], np.asfortranarray(a)):
        found, expected = ct.linalg.expm(one), scipy.linalg.expm(one)
        assert found.dtype == expected.dtype and np.allclose(found, expected, rtol=1e-4)
    check_grads(ct.linalg.expm, a, order=2)
    check_laws(ct.linalg.expm, a, order=2)
    for size in (1e-6, 1.0, 30.0):
        found = ct.jvp(ct.linalg.expm, (size * a[0],), (a[1],))[1]
        assert np.allclose(found, scipy.linalg.expm_frechet(size * a[0], a[1], compute_expm=False), rtol=1e-9)
    strange = a.copy()
    strange[1, 0, 0] = np.nan
    assert np.isnan(ct.linalg.expm(strange)[1]).all() and np.array_equal(ct.linalg.expm(strange)[0], ct.linalg.expm(a)[0])


@pytest.mark.parametrize("p", [1, -1, np.inf, "fro"])
def test_singular_matrices_have_infinite_condition_numbers(p) -> None:
    """As in NumPy, and those beside them have their own."""
    a = np.stack([np.eye(3) + np.arange(9.0).reshape(3, 3), np.ones((3, 3)), np.diag([1.0, np.nan, 2.0])])
    np.testing.assert_allclose(ct.linalg.cond(p)(a), np.linalg.cond(a, p))
    np.testing.assert_array_equal(ct.grad(ct.linalg.cond(p) >> ct.slice(0, 1) >> ct.sum())(a)[1], 0.0)
    check_grads(ct.linalg.cond(p), a[:1], order=2)
