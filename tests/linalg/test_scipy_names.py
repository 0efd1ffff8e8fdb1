"""What `scipy.linalg` has of systems, decompositions and special matrices, in traced functions: SciPy's results and errors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as sl

import catad as ct
from catad.testing import check_grads

rng = np.random.default_rng(3)
A, B, T = rng.normal(size=(4, 4)) + 4 * np.eye(4), rng.normal(size=(4, 2)), rng.normal(size=(5, 3))
P, b, S, K = A @ A.T, B[:, 0], np.stack([A, A.T]), A + np.diag([1.0, 2.0, 3.0, 4.0])
LOWER = (False, True)

CASES = {
    "solve": (
        lambda a: (
            sl.solve(a, b),
            sl.solve(a, B, transposed=True),
            sl.solve(a, B, assume_a="upper triangular"),
            sl.solve(a, B, assume_a="lower triangular", transposed=True),
            sl.solve(a, b, assume_a="diagonal"),
            sl.solve(a, b, assume_a="tridiagonal"),
        ),
        A,
    ),
    "solve, symmetric": (lambda a: [sl.solve(a, B, low, assume_a=k) for low in LOWER for k in ("pos", "sym", "her", "gen")], P),
    "solve, halves": (lambda a: [sl.solve(np.tril(a), B, True, assume_a="pos"), sl.solve(np.triu(a), b, assume_a="sym")], P),
    "solve, stack": (lambda a: (sl.solve(a, B), sl.solve(a, b)), S),
    "solve, number": (lambda a: (sl.solve(a[:1, :1], b), sl.solve(a[:1, :1], B)), A),
    "solve_triangular": (
        lambda a: [sl.solve_triangular(a, b, t, low, unit) for t in (0, "T", 2) for low in LOWER for unit in LOWER],
        A,
    ),
    "cholesky": (lambda a: (sl.cholesky(a), sl.cholesky(a, lower=True)), P),
    "cho_factor": (lambda a: [half(sl.cho_factor(a, low)[0]) for low, half in ((True, np.tril), (False, np.triu))], P),
    "cho_solve": (lambda a: [sl.cho_solve(sl.cho_factor(a, low), right) for low in LOWER for right in (b, B)], P),
    "lu_factor": (lambda a: (sl.lu_factor(a), sl.lu_factor(a[::-1])), A),
    "lu_solve": (lambda a: [sl.lu_solve(sl.lu_factor(a[[2, 0, 3, 1]]), right, t) for right in (b, B) for t in (0, 1)], A),
    "eigh": (
        lambda a: (sl.eigvalsh(a), sl.eigvalsh(a, lower=False), sl.eigh(a), sl.eigh(a, lower=False, subset_by_index=[1, 2])),
        K,
    ),
    "eigh, two matrices": (lambda a: [sl.eigh(a, P, type=t, lower=low) for t in (1, 2, 3) for low in LOWER], K),
    "svd": (lambda a: (sl.svd(a), sl.svd(a, False), sl.svdvals(a)), T),
    "qr": (lambda a: (sl.qr(a), sl.qr(a, mode="r"), sl.qr(a, mode="economic")), T),
    "qr, wide": (lambda a: (sl.qr(a.T), sl.qr(a.T, mode="r"), sl.qr(a.T, mode="economic")), T),
    "expm": (lambda a: (sl.expm(a / 4), sl.inv(a), sl.det(a)), A),
    "inv": (lambda a: (sl.inv(a, assume_a="pos"), sl.inv(a)), P),
    "lstsq": (lambda a: (sl.lstsq(a, np.ones(5)), sl.lstsq(a, np.ones((5, 2))), sl.lstsq(a.T, np.ones(3))), T),
    "pinv": (lambda a: (sl.pinv(a), sl.pinv(a, rtol=0.3)), T),
    "pinvh": (lambda a: (sl.pinvh(a), sl.pinvh(a, lower=False)), P),
    "norm": (lambda a: [sl.norm(a, p) for p in (None, 2, "nuc", 1, -2)] + [sl.norm(a[0]), sl.norm(a, axis=0)], T),
    "special": (
        lambda a: (
            sl.block_diag(a, a[:1], [[1, 2], [3, 4]], a[0]),
            sl.toeplitz(a[0]),
            sl.toeplitz(a[0], b[:3]),
            sl.circulant(a[0]),
            sl.circulant(a),
        ),
        A,
    ),
}
# other libraries choose other signs of vectors
VALUES = [
    pytest.param(name, marks=pytest.mark.numpy_only if name.startswith(("eigh", "svd")) else ()) for name in CASES
]
DIFFERENTIABLE = [name for name in CASES if name not in ("svd", "qr", "eigh", "lstsq", "pinv")]

WRONG = {
    "not square": (lambda a: sl.solve(a, np.ones(5)), T),
    "rows": (lambda a: sl.solve(a, np.ones(5)), A),
    "structure": (lambda a: sl.solve(a, b, assume_a="round"), A),
    "mode": (lambda a: sl.qr(a, mode="half"), T),
    "type": (lambda a: sl.eigh(a, P, type=4), K),
    "indices": (lambda a: sl.eigh(a, subset_by_index=[2, 7]), K),
    "singular": (lambda a: sl.solve_triangular(0 * a, b), A),
    "indefinite": (lambda a: sl.cholesky(-a), P),
}


def flat(value):
    return [leaf for part in value for leaf in flat(part)] if isinstance(value, (tuple, list)) else [np.asarray(value)]


@pytest.mark.parametrize("name", VALUES)
def test_results(name):
    f, x = CASES[name]
    for given in (x, x.astype(np.float32), np.asfortranarray(x), np.round(3 * x).astype(int)):
        found, expected = flat(ct.function(f)(given)), flat(f(given))
        for one, own in zip(found, expected, strict=True):
            assert one.dtype == own.dtype and one.shape == own.shape
            assert np.allclose(one, own, rtol=1e-2 if given.dtype == np.float32 else 1e-8, atol=1e-4)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives(name):
    f, x = CASES[name]
    symmetric = ct.function(lambda a: flat_of(f(a + a.T)))
    check_grads(symmetric if x is P else ct.function(lambda a: flat_of(f(a))), x / 2 if x is P else x, order=1)


def flat_of(value):
    return tuple([leaf for part in value for leaf in flat_of(part)]) if isinstance(value, (tuple, list)) else (value,)


@pytest.mark.parametrize("name", WRONG)
def test_errors(name):
    f, x = WRONG[name]
    with pytest.raises((ValueError, np.linalg.LinAlgError)) as own:
        f(x)
    kind = np.linalg.LinAlgError if isinstance(own.value, np.linalg.LinAlgError) else ValueError
    with pytest.raises(kind):
        ct.function(f)(x)


def test_what_is_not_traced():
    for f in (lambda a: sl.qr(a, mode="raw"), lambda a: sl.pinv(a, atol=1.0), lambda a: sl.eigh(a, subset_by_value=[0, 1])):
        with pytest.raises(ct.TraceError, match=r"scipy\.linalg\."):
            ct.function(f)(A)


def test_the_driver_of_eigh_has_the_name_of_no_parameter_of_a_trace():
    spd = A[:3, :3] @ A[:3, :3].T
    found, wanted = ct.function(lambda a: sl.eigh(a, driver="evd"))(spd), sl.eigh(spd, driver="evd")
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-12)
    with pytest.raises(ct.ArgumentError, match="driver"):
        ct.function(lambda a: sl.eigh(a, driver="fast"))(spd)


def test_a_gaussian_process_and_a_lyapunov_equation():
    """Programs as people write them."""
    x, y = np.linspace(0, 1, 6), np.sin(np.arange(6.0))

    @ct.function
    def likelihood(theta):
        k = np.exp(theta[0]) * np.exp(-((x[:, None] - x) ** 2) * np.exp(theta[1])) + np.exp(theta[2]) * np.eye(6)
        factor = sl.cho_factor(k, lower=True)
        return -0.5 * y @ sl.cho_solve(factor, y) - np.sum(np.log(np.diag(factor[0])))

    check_grads(likelihood, np.array([0.1, 1.0, -2.0]), order=2)

    @ct.function
    def lyapunov(a):
        n = a.shape[0]
        big = np.kron(a, np.eye(n)) + np.kron(np.eye(n), a)
        return sl.solve(big, np.eye(n).ravel()).reshape(n, n)

    check_grads(lyapunov, A[:3, :3], order=2)
