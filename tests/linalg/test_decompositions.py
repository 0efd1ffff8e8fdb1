"""`eigh`, `svd`, `qr` and their kind: NumPy's values, derivatives by differences, matrices at which they have none."""

from __future__ import annotations

import numpy as np
import pytest

import catad as ct
from catad.testing import check_grads, check_laws

SHAPES = [(3, 3), (4, 2), (2, 4), (1, 1)]
symmetric = ct.fork(ct.id, ct.transpose((0, 2, 1))) >> ct.add


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape)


def of_basis(f, k, axis=-1):
    """The projection to what is beyond the first k columns, which no rotation of them changes."""

    @ct.function
    def projection(a):
        n = np.swapaxes(f(a), -1, axis)[..., k:]
        return n @ np.swapaxes(n, -1, -2)

    return projection


@pytest.mark.numpy_only  # other libraries choose other signs of vectors
@pytest.mark.parametrize("UPLO", ["L", "U"])
def test_eigh_is_numpys_and_reads_one_half(UPLO):
    a = drawn(3, 4, 4)
    for one in (a, a.astype(np.float32), np.asfortranarray(a), a[:, ::-1], (9 * a).astype(int), a[:0], a[:, :0, :0]):
        w, v = ct.linalg.eigh(UPLO)(one)
        expected = np.linalg.eigh(one, UPLO)
        assert w.dtype == expected[0].dtype and v.shape == expected[1].shape
        assert np.array_equal(w, expected[0]) and np.array_equal(v, expected[1])
        assert np.allclose(ct.linalg.eigvalsh(UPLO)(one), expected[0], atol=1e-5)


def test_eigh_derivatives():
    a = drawn(2, 4, 4)
    check_grads(symmetric >> ct.linalg.eigh(), a, order=2)
    check_grads(symmetric >> ct.linalg.eigvalsh(), a, order=2)
    check_laws(symmetric >> ct.linalg.eigh("U"), a, order=1)


@pytest.mark.numpy_only  # other libraries choose other signs of vectors
@pytest.mark.parametrize(("m", "n"), SHAPES)
def test_svd_is_numpys(m, n):
    a = drawn(3, m, n)
    for full in (True, False):
        for one in (a, a.astype(np.float32), np.asfortranarray(a), a[:0]):
            found, expected = ct.linalg.svd(full)(one), np.linalg.svd(one, full)
            for x, y in zip(found, expected, strict=True):
                assert x.dtype == y.dtype and x.shape == y.shape and np.allclose(x, y, atol=1e-5)
    assert np.allclose(ct.linalg.svdvals(a), np.linalg.svd(a, compute_uv=False))


@pytest.mark.parametrize(("m", "n"), SHAPES)
def test_svd_derivatives(m, n):
    a = drawn(2, m, n)
    check_grads(ct.linalg.svdvals, a, order=2)
    check_grads(ct.linalg.svd(False), a, order=2)
    if m > n:
        check_grads(of_basis(lambda a: ct.linalg.svd()(a)[0], n), a, order=2)
    if n > m:
        check_grads(of_basis(lambda a: ct.linalg.svd()(a)[2], m, -2), a, order=2)


@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
@pytest.mark.parametrize(("m", "n"), SHAPES)
def test_qr_is_numpys(m, n, mode):
    a = drawn(3, m, n)
    for one in (a, a.astype(np.float32), np.asfortranarray(a), a[:0]):
        found, expected = ct.linalg.qr(mode)(one), np.linalg.qr(one, mode)
        for x, y in zip(*[(z,) if mode == "r" else z for z in (found, expected)], strict=True):
            assert x.dtype == y.dtype and x.shape == y.shape and np.allclose(x, y, atol=1e-5)


@pytest.mark.parametrize(("m", "n"), SHAPES)
def test_qr_derivatives(m, n):
    a = drawn(2, m, n)
    check_grads(ct.linalg.qr(), a, order=2)
    check_grads(ct.linalg.qr("r"), a, order=1)
    if m > n:
        check_grads(of_basis(lambda a: ct.linalg.qr("complete")(a)[0], n), a, order=2)


def test_equal_eigenvalues():
    """Nothing that is 0 becomes NaN, and what is not 0 becomes no number."""
    a, weight = np.diag([2.0, 1.0, 1.0]), np.arange(9.0).reshape(3, 3)

    def by_vectors(degenerate, of_values, columns):
        @ct.function
        def f(a):
            w, v = ct.linalg.eigh(degenerate=degenerate)(a)
            return np.sum(((v * of_values(w)) @ v.T)[:, columns] * weight[:, columns])

        return ct.grad(f)(a)

    def projected(w):
        return np.where(w < 1.5, 1.0, 0.0)

    every = slice(None)
    found = by_vectors("zero", projected, every)
    middle = a - np.eye(3)  # the projection to the other space; dP = -(P0 dA P1 + P1 dA P0) / (2 - 1)
    expected = -(middle @ weight @ (np.eye(3) - middle) + (np.eye(3) - middle) @ weight @ middle)
    assert np.allclose(found, (expected + expected.T) / 2)
    assert not np.isfinite(by_vectors(None, lambda w: w**3, every)).all()  # 3 w^2 is not found there, nor is another number
    w, v = ct.jvp(ct.linalg.eigh(), (a,), (np.diag([1.0, 2.0, 3.0]),))[1]
    assert np.array_equal(w, [2.0, 3.0, 1.0]) and np.array_equal(v, np.zeros((3, 3)))
    turned = np.zeros((3, 3))
    turned[1, 2] = turned[2, 1] = 1.0
    assert np.isinf(ct.jvp(ct.linalg.eigh(), (a,), (turned,))[1][1]).any()
    assert not ct.jvp(ct.linalg.eigh(degenerate="zero"), (a,), (turned,))[1][1].any()


def test_equal_singular_values_and_zeros():
    a = np.zeros((4, 3))
    a[0, 0] = a[1, 1] = 2.0
    assert np.array_equal(ct.jvp(ct.linalg.svdvals, (a,), (a,))[1], [2.0, 2.0, 0.0])
    for made in ct.jvp(ct.linalg.svd(False), (a,), (a,))[1]:
        assert not np.isnan(made).any()
    for made in ct.jvp(ct.linalg.svd(False, "zero"), (a,), (np.ones((4, 3)),))[1]:
        assert np.isfinite(made).all()


def test_nan_stays_in_its_matrix():
    a = drawn(3, 4, 3)
    bad = a.copy()
    bad[1, 2, 1] = np.nan
    s = symmetric(a[:, :3])
    worse = s.copy()
    worse[1, 2, 1] = np.inf
    cases = [(ct.linalg.svd(), a, bad), (ct.linalg.svdvals, a, bad), (ct.linalg.qr(), a, bad)]
    cases += [(ct.linalg.eigh(), s, worse), (ct.linalg.eigvalsh(), s, worse)]
    for f, good, strange in cases:
        for x, y in zip(*[z if isinstance(z, tuple) else (z,) for z in (f(good), f(strange))], strict=True):
            assert np.array_equal(x[[0, 2]], y[[0, 2]]) and np.isnan(y[1]).any()


def test_errors():
    with pytest.raises(ct.SolveError, match=r"matrix \[1\] of \(2,\)"):
        ct.jvp(ct.linalg.qr(), (np.stack([np.eye(3), np.zeros((3, 3))]),), (np.ones((2, 3, 3)),))
    with pytest.raises(ct.SpaceError, match="square"):
        ct.linalg.eigh()(np.ones((2, 3)))
    with pytest.raises(ct.SpaceError, match="matrices are expected"):
        ct.linalg.svd()(np.ones(3))
    for wrong in (lambda: ct.linalg.eigh("X"), lambda: ct.linalg.svd(degenerate=1), lambda: ct.linalg.qr("raw")):
        with pytest.raises(ct.ArgumentError):
            wrong()


def test_values_alone():
    a = symmetric(drawn(1, 4, 4))[0]
    f = ct.function(lambda a: np.sum(ct.linalg.eigh()(a)[0]) + np.sum(ct.linalg.svd()(a)[1]))
    w, v = np.linalg.eigh(a)
    assert np.allclose(f(a), np.trace(a) + abs(w).sum())
    assert np.allclose(ct.grad(f)(a), np.eye(4) + (v * np.sign(w)) @ v.T)
