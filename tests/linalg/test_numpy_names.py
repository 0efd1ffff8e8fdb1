"""What `numpy.linalg` has of decompositions, in traced functions: NumPy's results, dtypes, result types and errors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy import linalg as la

import catad as ct
from catad.testing import check_grads

rng = np.random.default_rng(3)
A, T, S, R = (rng.normal(size=shape) for shape in ((2, 3, 3), (2, 4, 2), (6, 6), (2, 3)))
b = rng.normal(size=4)
ORDERS = (2, -2, "nuc")

CASES = {
    "eigh": (lambda a: (la.eigh(a), la.eigh(a, "u")), A),
    "eigvalsh": (lambda a: (la.eigvalsh(a), la.eigvalsh(a, UPLO="U")), A),
    "svd": (lambda a: (la.svd(a), la.svd(a, False), la.svd(a, compute_uv=False)), T),
    "hermitian": (lambda a: (la.svd(a, hermitian=True), la.svd(a, compute_uv=False, hermitian=True)), A),
    "svdvals": (lambda a: la.svdvals(a), T),
    "qr": (lambda a: (la.qr(a), la.qr(a, "complete"), la.qr(a, mode="r")), T),
    "pinv": (lambda a: (la.pinv(a), la.pinv(a, 1e-3), la.pinv(a, rtol=0.5)), T),
    "pinv of symmetric": (lambda a: la.pinv(a, hermitian=True), A),
    "lstsq": (lambda a: (la.lstsq(a[0], b), la.lstsq(a[1].T, b[:2], rcond=None), la.lstsq(a[0], a[1], -1)), T),
    "matrix_rank": (lambda a: (la.matrix_rank(a), la.matrix_rank(a, 0.5), la.matrix_rank(a, rtol=np.array([0.1, 0.9]))), T),
    "rank of symmetric": (lambda a: (la.matrix_rank(a, hermitian=True), la.matrix_rank(a[0, 0])), A),
    "cond": (lambda a: [la.cond(a, p) for p in (None, 2, -2, 1, -1, "fro", "nuc", np.inf, -np.inf)], A),
    "cond of a tall matrix": (lambda a: la.cond(a), T),
    "norm": (lambda a: [la.norm(a, p, axis=(1, 0)) for p in ORDERS] + [la.norm(a[0], p, keepdims=True) for p in ORDERS], T),
    "matrix_norm": (lambda a: [la.matrix_norm(a, ord=p) for p in ORDERS], T),
    "matrix_power": (lambda a: (la.matrix_power(a, -3), la.matrix_power(a, -1)), A),
    "tensorinv": (lambda a: la.tensorinv(a.reshape(2, 3, 6), 2), S),
    "tensorsolve": (
        lambda a: (la.tensorsolve(a.reshape(2, 3, 6), R), la.tensorsolve(a.reshape(2, 6, 3), R, axes=(1,))),
        S,
    ),
}
# other libraries choose other signs of vectors
VALUES = [pytest.param(name, marks=pytest.mark.numpy_only if name in ("eigh", "svd", "hermitian") else ()) for name in CASES]
WRONG = {
    "not square": (lambda a: la.eigh(a), T),
    "no half": (lambda a: la.eigh(a, "X"), A),
    "a vector": (lambda a: la.svd(a[0, 0]), T),
    "no mode": (lambda a: la.qr(a, "zzz"), T),
    "cond of what is not square": (lambda a: la.cond(a, 1), T),
    "no order": (lambda a: la.cond(a, "x"), A),
    "empty": (lambda a: la.cond(a[:, :0]), A),
    "a stack": (lambda a: la.lstsq(a, b), T),
    "other rows": (lambda a: la.lstsq(a[0], b[:3]), T),
    "no least": (lambda a: la.norm(a[0, :0], -2), A),
    "nuclear norm of a vector": (lambda a: la.norm(a[0, 0], "nuc"), A),
    "both tolerances": (lambda a: la.matrix_rank(a, 1, rtol=1), A),
    "both tolerances, pinv": (lambda a: la.pinv(a, 1, rtol=1), A),
    "no index": (lambda a: la.tensorinv(a, 0), A),
    "power": (lambda a: la.matrix_power(a, -1), T),
}


def flat(value):
    return [leaf for part in value for leaf in flat(part)] if isinstance(value, (tuple, list)) else [np.asarray(value)]


def types(value):
    return (type(value), *map(types, value)) if isinstance(value, (tuple, list)) else None


@pytest.mark.parametrize("name", VALUES)
def test_results(name):
    f, x = CASES[name]
    for given in (x, x.astype(np.float32), np.asfortranarray(x), (4 * x).astype(int)):
        found, expected = ct.function(f)(given), f(given)
        assert types(found) == types(expected)
        for one, own in zip(flat(found), flat(expected), strict=True):
            assert one.dtype == own.dtype and one.shape == own.shape
            assert np.allclose(one, own, rtol=1e-3 if given.dtype == np.float32 else 1e-9, atol=1e-5)


@pytest.mark.parametrize("name", ["svdvals", "qr", "pinv", "matrix_norm", "matrix_power", "tensorinv", "tensorsolve", "cond"])
def test_derivatives(name):
    f, x = CASES[name]
    if name == "qr":
        check_grads(ct.function(lambda a: tuple(la.qr(a))), x, order=2)
    elif name == "pinv":
        check_grads(ct.function(lambda a: la.pinv(a)), x, order=2)
    else:
        g = (lambda a: tuple(f(a))) if isinstance(f(x), list) else f
        check_grads(ct.function(g), x + 3 * np.eye(*x.shape[-2:]), order=1)


def test_derivatives_by_symmetric_matrices():
    """Singular values and pseudo-inverses of symmetric matrices, by their lower halves."""

    @ct.function
    def f(a):
        s = a + np.swapaxes(a, -1, -2)
        u, d, v = la.svd(s, hermitian=True)
        return (u * d[..., None, :]) @ v, la.pinv(s, hermitian=True), la.eigvalsh(s)

    check_grads(f, A, order=2)


@pytest.mark.parametrize("name", WRONG)
def test_errors_are_numpys(name):
    f, x = WRONG[name]
    with pytest.raises(Exception) as own:
        f(x)
    with pytest.raises(type(own.value)) as found:
        ct.function(f)(x)
    assert str(found.value) == str(own.value)


def test_programs_in_loops_and_batches():
    """PCA and ridge as people write them."""

    @ct.function
    def explained(x):
        centred = x - np.mean(x, axis=0)
        _, s, vh = np.linalg.svd(centred, full_matrices=False)
        return s**2 / np.sum(s**2), vh.T @ vh

    x = rng.normal(size=(6, 3))
    check_grads(explained, x, order=1)
    many = np.stack([x, 2 * x + 1])
    found = ct.map(explained)(many)
    assert np.allclose(found[0][1], explained(many[1])[0])

    @ct.function
    def powers(a):
        for _ in range(3):
            q, r = np.linalg.qr(a)
            a = r @ q
        return np.sort(np.diag(a))

    a = A[0] @ A[0].T + np.diag([1.0, 5.0, 20.0])
    check_grads(powers, a, order=1)
