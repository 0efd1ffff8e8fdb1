"""Complex matrices: NumPy's and SciPy's values in both dtypes, derivatives, dtypes, sizes, NaN in a stack, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.linalg as sl
from numpy import linalg as la

import catad as ct
from catad.linear.families.inverse import Factor
from catad.testing import check_grads

from .complex_parts import cut, drawn, of_parts

A, T, S = drawn(2, 3, 3), drawn(2, 4, 2), drawn(6, 6)
B, b, right = A[0], drawn(4), drawn(2, 3)
H = B @ B.conj().T + np.eye(3)
NORMS = (None, 2, -2, 1, -1, "fro", "nuc", np.inf, -np.inf)


def adjoint(a: Any) -> Any:
    return np.conj(np.swapaxes(a, -1, -2))


def positive(a: Any) -> Any:
    return a @ adjoint(a) + np.eye(a.shape[-1])


CASES: dict[str, tuple[Callable[..., Any], Any]] = {
    "solve": (lambda a: (la.solve(a, a[0, 0]), la.solve(a, a), la.solve(a[0].real, a[0]), la.solve(a[0], a[0].real)), A),
    "small ones side by side": (lambda a: (la.solve(a, a[..., :1]), la.cholesky(positive(a))), drawn(40, 3, 3)),
    "inv, det": (lambda a: (la.inv(a), la.det(a), la.slogdet(a)), A),
    "cholesky": (lambda a: (la.cholesky(positive(a)), la.cholesky(positive(a), upper=True)), A),
    "eigh": (lambda a: (la.eigh(a), la.eigh(a, "u"), la.eigvalsh(a), la.eigvalsh(a, UPLO="U")), A),
    "svd": (lambda a: (la.svd(a), la.svd(a, False), la.svd(a, compute_uv=False), la.svdvals(a)), T),
    "svd of Hermitian": (lambda a: (la.svd(a, hermitian=True), la.svd(a, compute_uv=False, hermitian=True)), A),
    "qr": (lambda a: (la.qr(a), la.qr(a, "complete"), la.qr(a, mode="r"), la.qr(np.swapaxes(a, 1, 2))), T),
    "pinv": (lambda a: (la.pinv(a), la.pinv(a, 1e-3), la.pinv(a, rtol=0.5), la.pinv(a[:, :2], hermitian=True)), T),
    "lstsq": (lambda a: (la.lstsq(a[0], b), la.lstsq(a[1].T, b[:2], rcond=None), la.lstsq(a[0].real, a[1])), T),
    "ranks": (lambda a: (la.matrix_rank(a), la.matrix_rank(a, 0.5), la.matrix_rank(a[:, :2], hermitian=True)), T),
    "cond": (lambda a: [la.cond(a, p) for p in NORMS], A),
    "norm": (lambda a: [la.norm(a, p, axis=(1, 0)) for p in NORMS] + [la.norm(a[0], p, keepdims=True) for p in NORMS], T),
    "matrix_norm": (lambda a: ([la.matrix_norm(a, ord=p) for p in NORMS[1:]], la.vector_norm(a, axis=1), la.norm(a[0, 0], 2)), T),
    "matrix_power": (lambda a: [la.matrix_power(a, n) for n in (-3, -1, 0, 1, 4)] + [la.multi_dot([a[0], a[1], a[0]])], A),
    "tensors": (lambda a: (la.tensorinv(a.reshape(2, 3, 6), 2), la.tensorsolve(a.reshape(2, 3, 6), right)), S),
    "scipy.linalg.solve": (
        lambda a: (
            [sl.solve(a, a[0], assume_a=kind, lower=low) for kind in (None, "sym", "her") for low in (True, False)],
            sl.solve(H + 0 * a, a, assume_a="pos"), sl.solve(a, a[0], assume_a="lower triangular"), sl.inv(a), sl.det(a),
        ), B,
    ),
    "solve_triangular": (
        lambda a: [sl.solve_triangular(a, a, t, k > 1, unit_diagonal=k % 2) for t in (0, 1, 2, "C") for k in range(4)], B,
    ),
    "cho_solve": (
        lambda a: [
            (sl.cholesky(H + 0 * a, low), half(sl.cho_factor(H + 0 * a, low)[0]), sl.cho_solve(sl.cho_factor(H + 0 * a, low), a))
            for low, half in ((True, np.tril), (False, np.triu))
        ], B,
    ),
    "lu_solve": (lambda a: (sl.lu_factor(a), [sl.lu_solve(sl.lu_factor(a), y, t) for t in (0, 1, 2) for y in (a, a[0])]), B),
    "scipy.linalg.eigh": (
        lambda a: (
            sl.eigh(a), sl.eigh(a, lower=False), sl.eigvalsh(a), sl.eigh(a, subset_by_index=[0, 1])[0],
            [sl.eigh(a, H, type=t, eigvals_only=True, lower=low) for t in (1, 2, 3) for low in (True, False)],
        ), B,
    ),
    "scipy's others": (
        lambda a: (sl.expm(a), sl.pinvh(a), sl.pinvh(a, lower=False), sl.norm(a), sl.norm(a, 1), sl.norm(a[0])), B,
    ),
    "scipy's decompositions": (
        lambda a: (sl.svd(a), sl.svdvals(a), sl.qr(a, mode="economic"), sl.qr(a), sl.lstsq(a, b), sl.pinv(a)), T[0],
    ),
    "lu, cosm": (
        lambda a: (sl.lu(a), sl.lu(a[:2]), sl.lu(a[:, :2], permute_l=True), sl.qr(a, pivoting=True), sl.cosm(a / 3)),
        B,
    ),
    "special matrices": (
        lambda a: (sl.block_diag(a, a[0], np.eye(2)), sl.toeplitz(a[0]), sl.toeplitz(a[0], a[1]), sl.circulant(a[0])), B,
    ),
}  # fmt: skip


def flat(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in flat(part)] if isinstance(value, (tuple, list)) else [np.asarray(value)]


def types(value: Any) -> Any:
    return (type(value), *map(types, value)) if isinstance(value, (tuple, list)) else None


# other libraries choose other phases of vectors
PHASES = ("eigh", "svd", "svd of Hermitian", "scipy.linalg.eigh", "scipy's decompositions")


@pytest.mark.parametrize("name", [pytest.param(k, marks=pytest.mark.numpy_only if k in PHASES else ()) for k in CASES])
def test_results(name: str) -> None:
    f, x = CASES[name]
    for given in (x, x.astype(np.complex64), np.asfortranarray(x)):
        found, expected = ct.function(f)(given), f(given)
        assert types(found) == types(expected)
        near = {"rtol": 2e-3, "atol": 1e-4} if given.dtype == np.complex64 else {"rtol": 1e-9, "atol": 1e-12}
        for one, own in zip(flat(found), flat(expected), strict=True):
            assert one.dtype == own.dtype and one.shape == own.shape
            np.testing.assert_allclose(one, own, **near)


def of_vectors(w: Any, v: Any) -> Any:
    """What phases do not change."""
    return w, (v * np.sin(w)[..., None, :]) @ adjoint(v)


def beyond(q: Any, k: int) -> Any:
    return q[..., k:] @ adjoint(q[..., k:])


def of_svd(a: Any) -> Any:
    u, s, vh = la.svd(a, False)
    return s, (u * np.sin(s)[..., None, :]) @ vh


DERIVATIVES: dict[str, tuple[Callable[..., Any], Any]] = {
    "solve": (lambda a: la.solve(a, a[0, 0]), A),
    "a real matrix": (lambda a: la.solve(a[0].real, a[0]), A),
    "inv": (la.inv, A),
    "det": (la.det, A),
    "slogdet": (lambda a: tuple(la.slogdet(a)), A),
    "cholesky": (lambda a: la.cholesky(positive(a)), A),
    "eigh": (lambda a: of_vectors(*la.eigh(a + adjoint(a))), A),
    "eigvalsh": (lambda a: la.eigvalsh(a + adjoint(a), "U"), A),
    "svd": (of_svd, T),
    "svd of a wide matrix": (of_svd, np.swapaxes(T, 1, 2).copy()),
    "full svd": (lambda a: beyond(la.svd(a)[0], 2), T),
    "qr": (lambda a: tuple(la.qr(a)), T),
    "qr of a wide matrix": (lambda a: tuple(la.qr(a)), np.swapaxes(T, 1, 2).copy()),
    "complete qr": (lambda a: beyond(la.qr(a, "complete")[0], 2), T),
    "pinv": (la.pinv, T),
    "lstsq": (lambda a: la.lstsq(a[0], b)[:2], T),
    "pinv of Hermitian": (lambda a: la.pinv(a + adjoint(a), hermitian=True), A),
    "matrix_power": (lambda a: la.matrix_power(a, -3), A),
    "norms": (lambda a: [la.norm(a, p, axis=(1, 2)) for p in NORMS[:3]], T),
    "scipy.linalg.solve": (
        lambda a: (sl.solve(a, a, assume_a="sym"), sl.solve(a, a, assume_a="her"), sl.solve(positive(a), a, assume_a="pos")),
        B + 4 * np.eye(3),
    ),
    "triangles": (lambda a: [sl.solve_triangular(a, a[0], t, low) for t in (1, 2) for low in (True, False)], B),
    "lu_factor": (lambda a: sl.lu_factor(a)[0], B),
    "lu_solve": (lambda a: [sl.lu_solve(sl.lu_factor(a), a[0], t) for t in (0, 1, 2)], B),
    "cho_solve": (lambda a: sl.cho_solve(sl.cho_factor(positive(a)), a[0]), B),
    "lu": (lambda a: (sl.lu(a)[1:], sl.lu(a[:2])[1:], sl.lu(a[:, :2])[1:]), B),
    "generalised eigh": (lambda a: [sl.eigh(a, positive(a), type=t, eigvals_only=True) for t in (1, 2)], B),
    "expm": (sl.expm, B),
}  # fmt: skip


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives(name: str) -> None:
    f, x = DERIVATIVES[name]
    check_grads(of_parts(f), *cut(x), order=2)


def test_gradients_point_upwards() -> None:
    """dL/dre + i dL/dim, by hand: of |x|^2 with a x = y it is -2 a^-H x x^H."""
    x = la.solve(B, b[:3])
    slope = ct.grad(lambda a: np.sum(abs(np.linalg.solve(a, b[:3])) ** 2))(B)
    np.testing.assert_allclose(slope, -2 * np.outer(la.solve(B.conj().T, x), x.conj()), rtol=1e-10)
    np.testing.assert_allclose(ct.grad(lambda a: np.linalg.slogdet(a)[1])(B), la.inv(B).conj().T, rtol=1e-10)


def test_beside_fifty_digits() -> None:
    rng = np.random.default_rng(1)
    a = rng.integers(-9, 9, (3, 3)) + 1j * rng.integers(-9, 9, (3, 3)) + 12.0 * np.eye(3)
    y = drawn(3)
    with mpmath.workdps(50):
        exact = mpmath.matrix(a.tolist())
        x = mpmath.lu_solve(exact, mpmath.matrix(y.tolist()))
        inverse = exact**-1
        slope = [[complex(mpmath.conj(-x[j] * sum(inverse[k, i] for k in range(3)))) for j in range(3)] for i in range(3)]
        det = mpmath.det(exact)
        h = exact + exact.H
        w, v = mpmath.eighe(h)
        dw = [[complex(2 * mpmath.conj(v[i, 0]) * v[j, 0]) for i in range(3)] for j in range(3)]
    np.testing.assert_allclose(ct.function(la.solve)(a, y), [complex(one) for one in x], rtol=1e-13)
    found = ct.grad(lambda a, y: np.linalg.solve(a, y).sum().real)(a, y)
    np.testing.assert_allclose(found, slope, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(ct.function(la.det)(a), complex(det), rtol=1e-13)
    np.testing.assert_allclose(ct.function(la.eigvalsh)(a + a.conj().T), [float(one) for one in w], rtol=1e-13)
    found = ct.grad(lambda a: np.linalg.eigvalsh(a + np.conj(a.T))[0])(a)
    np.testing.assert_allclose(found, dw, rtol=1e-11, atol=1e-13)


@pytest.mark.numpy_only  # other libraries choose other phases of vectors
@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (0, 3, 3), (2, 0, 0)], ids=str)
def test_sizes(shape: tuple[int, ...]) -> None:
    a = drawn(*shape)
    more = [lambda a: la.cholesky(positive(a)), lambda a: la.solve(a, a), lambda a: la.matrix_power(a, 2)]
    for f in (la.inv, la.det, la.slogdet, la.eigh, la.svd, la.qr, la.pinv, *more):
        for one, own in zip(flat(ct.function(f)(a)), flat(f(a)), strict=True):
            assert one.shape == own.shape and one.dtype == own.dtype
            np.testing.assert_allclose(one, own, rtol=1e-12)


def test_nan_stays_in_its_matrix() -> None:
    a = drawn(3, 4, 4)
    a = a + adjoint(a) + 20 * np.eye(4)
    bad = a.copy()
    bad[1, 2, 1] = bad[1, 1, 2] = np.nan
    for f in (la.inv, la.det, la.cholesky, la.eigh, la.eigvalsh, la.svd, la.svdvals, la.qr, la.pinv, lambda a: la.solve(a, a[0])):
        for x, y in zip(flat(ct.function(f)(a)), flat(ct.function(f)(bad)), strict=True):
            assert np.array_equal(x[[0, 2]], y[[0, 2]]) and np.isnan(y[1]).any()


def test_determinants_of_singular_matrices() -> None:
    nearly, exactly = drawn(4, 4), drawn(4, 4)
    nearly[3] = (1 + 2j) * nearly[0] - 1j * nearly[1]
    exactly[:, 2] = 0
    for s in (nearly, exactly, np.stack([exactly, drawn(4, 4)])):
        check_grads(of_parts(la.det), *cut(s), order=1)
    sign, log = ct.function(lambda a: tuple(la.slogdet(a)))(np.zeros((2, 2), complex))
    assert sign == 0 and log == -np.inf


def test_one_factorisation_serves_every_derivative() -> None:
    @ct.function
    def loss(re: Any, im: Any) -> Any:
        a = re + 1j * im
        return np.sum(abs(np.linalg.solve(a, b[:3])) ** 2) + np.linalg.slogdet(a)[1]

    slope = ct.grad(loss, argnums=(0, 1))
    both = ct.function(lambda re, im, v: (loss(re, im), slope(re, im), ct.jvp(slope, (re, im), (v, v))[1]))
    wiring = ct.wire(both, ct.space_of((*cut(B), B.real.copy())))
    assert [type(box.primitive) for box in wiring.boxes].count(Factor) == 1


REFUSED = {
    "singular": (lambda: ct.function(la.inv)(np.stack([B, 0 * B])), ct.SolveError, r"pivot 0(.|\n)*matrix \[1\] of \(2,\)"),
    "not positive": (lambda: ct.function(la.cholesky)(np.stack([H, -H])), ct.SolveError, r"matrix \[1\] of \(2,\)"),
    "no slope": (lambda: ct.grad(lambda a: np.linalg.slogdet(a)[1])(0 * B), ct.SolveError, "pivot 0"),
    "not square": (lambda: ct.linalg.inv(np.ones((2, 3)), np.ones((2, 3))), ct.SpaceError, "square"),
    "parts of two shapes": (lambda: ct.linalg.inv(np.ones((2, 2)), np.ones((3, 3))), ct.SpaceError, r"\(re, im\) of one shape"),
    "sides that do not fit": (lambda: ct.linalg.solve()(cut(B), cut(b)), ct.SpaceError, "do not fit"),
    "NumPy's own": (lambda: ct.function(la.inv)(drawn(2, 3)), np.linalg.LinAlgError, "square"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    call, kind, words = REFUSED[name]
    with pytest.raises(kind, match=words):
        call()


def test_equal_eigenvalues() -> None:
    def projection(degenerate: Any) -> Any:
        @ct.function
        def f(re: Any, im: Any) -> Any:
            _, (vr, vi) = ct.linalg.eigh(degenerate=degenerate)(re, im)
            return np.sum((vr[:, 1:] @ vr[:, 1:].T + vi[:, 1:] @ vi[:, 1:].T) * np.arange(9.0).reshape(3, 3))

        return f

    u = la.qr(B)[0]
    h = u @ np.diag([1.0, 2.0, 2.0]) @ u.conj().T
    found = ct.grad(projection("zero"), argnums=(0, 1))(*cut(h))
    v = drawn(3, 3) + drawn(3, 3).conj().T
    up, down = (projection(None)(*cut(h + step * v)) for step in (1e-6, -1e-6))
    assert abs((up - down) / 2e-6 - np.sum(found[0] * v.real) - np.sum(found[1] * v.imag)) < 1e-6


def test_batches() -> None:
    many = ct.vmap(la.solve)(A, right)
    np.testing.assert_allclose(many, [la.solve(*one) for one in zip(A, right, strict=True)], rtol=1e-10)
    np.testing.assert_allclose(ct.vmap(la.solve, in_axes=(None, 0))(B, right), la.solve(B, right.T).T, rtol=1e-10)
    slopes = ct.vmap(ct.grad(lambda a: np.linalg.slogdet(a)[1]))(A)
    np.testing.assert_allclose(slopes, adjoint(la.inv(A)), rtol=1e-10)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_programs(engine: Any) -> None:
    """A contour of resolvents, self energies and a Hamiltonian, as people write them."""

    def contour(h: Any, centre: Any) -> Any:
        n, total = h.shape[0], np.zeros(h.shape, np.complex128)
        for k in range(12):
            z = centre + 3 * np.exp(2j * np.pi * (k + 0.5) / 12)
            total += np.linalg.solve(z * np.eye(n) - h, np.eye(n)) * (z - centre) / 12
        return np.trace(total).real, np.linalg.norm(total)

    def energies(g: Any, d: Any) -> Any:
        sigma = np.zeros((2, 3, 3), np.complex128)
        for k in range(2):
            for w in range(2):
                dh = np.zeros((3, 3), np.complex128)
                for i in range(2):
                    for j in range(2):
                        dh += d[w, i, j] * g[(k + i) % 2] @ g[(k + j) % 2].conj()
                sigma[k] += 0.25j * dh @ np.linalg.inv(np.eye(3) + dh)
        return np.sum(abs(sigma) ** 2)

    def ground(potential: Any, momentum: Any) -> Any:
        n = len(potential)
        hop = np.exp(1j * momentum) * np.eye(n, k=1)
        w, v = np.linalg.eigh(np.diag(potential) - hop - hop.conj().T)
        return w[0] + np.sum(np.abs(v[:, 0]) ** 4)

    d = np.random.default_rng(3).normal(size=(2, 2, 2))
    with ct.use_engine(engine):
        for f, args in ((contour, (B, 0.3)), (energies, (A, d)), (ground, (np.array([0.3, -0.2, 0.8, 0.1]), 0.4))):
            np.testing.assert_allclose(flat(ct.function(f)(*args)), flat(f(*args)), rtol=1e-10)
            check_grads(of_parts(f, *args), *[leaf for one in args for leaf in cut(one)], order=1)


@pytest.mark.parametrize(("lower", "upper"), [(1, 1), (0, 0), (2, 1), (0, 2)])
def test_banded_systems(lower: int, upper: int) -> None:
    ab = drawn(lower + upper + 1, 5)
    ab[upper] += 4

    def f(ab: Any, y: Any) -> Any:
        return sl.solve_banded((lower, upper), ab, y)

    for args in ((ab, drawn(5)), (ab, drawn(5, 2)), (ab, np.ones(5)), (ab.real.copy(), drawn(5))):
        np.testing.assert_allclose(ct.function(f)(*args), f(*args), rtol=1e-10)
        check_grads(of_parts(f, *args), *[leaf for one in args for leaf in cut(one)], order=2)


@pytest.mark.parametrize("low", [True, False])
@pytest.mark.parametrize("width", [1, 2, 3])
def test_hermitian_banded_systems(low: bool, width: int) -> None:
    ab = drawn(width, 5)
    ab[0 if low else -1] += 6  # its imaginary part is not read

    def f(ab: Any, y: Any) -> Any:
        return sl.solveh_banded(ab, y, lower=low)

    for args in ((ab, drawn(5)), (ab, drawn(5, 2))):
        np.testing.assert_allclose(ct.function(f)(*args), f(*args), rtol=1e-10)
        check_grads(of_parts(f, *args), *[leaf for one in args for leaf in cut(one)], order=2)


def test_toeplitz_systems() -> None:
    c, r = drawn(4), drawn(4) + 1
    c[0] = r[0] = 5
    for f in (lambda c, y: sl.solve_toeplitz(c, y), lambda c, y: sl.solve_toeplitz((c, r), y)):
        np.testing.assert_allclose(ct.function(f)(c, drawn(4, 3)), f(c, drawn(4, 3)), rtol=1e-10)
        check_grads(of_parts(f, c, 1j), *cut(c), *cut(drawn(4)), order=2)
