"""Stacks of matrices and transforms on arrays in blocks."""

import numpy as np
import pytest

import catad as ct
from catad.chunks.here import blocked
from catad.testing import check_chunks
from tests.chunks.plans import gathered, plans, ran_whole, rows

RNG = np.random.default_rng(5)
A = RNG.normal(size=(7, 3, 3)) + 3 * np.eye(3)
S = A @ A.transpose(0, 2, 1)
B = RNG.normal(size=(7, 3, 2))
T = RNG.normal(size=(7, 5, 3))
X = RNG.normal(size=(6, 10))
BANDS = np.stack([np.full(8, 0.5), 4 + RNG.normal(size=8) / 9, np.full(8, -0.4)])


def complex_solve(a, b):
    return np.abs(np.linalg.solve(a + 0.3j * a.transpose(0, 2, 1), b + 0j))


def of_spectra(x):
    return np.sum(np.abs(np.fft.rfft(x, axis=1)) ** 2)


def of_planes(x):
    return np.fft.fft2(x, axes=(1, 2)).imag


def gaussian(s, b):
    low = np.linalg.cholesky(s)
    z = np.linalg.solve(low, b)
    return np.sum(z * z) + np.sum(np.log(np.einsum("kii->ki", low)))


def spectral(s):
    w, v = np.linalg.eigh(s)
    return np.einsum("kij,kj,klj->kil", v, np.sqrt(w), v)


def solution(a, b):
    return np.linalg.lstsq(a, b)[0]


STACKS = {
    "inverses": (ct.linalg.inv, [A]),
    "determinants": (ct.linalg.det, [A]),
    "logarithms of determinants": (lambda a: np.linalg.slogdet(a)[1], [A]),
    "systems": (ct.linalg.solve(), [A, B]),
    "positive systems": (ct.linalg.solve("pos"), [S, B]),
    "complex systems": (complex_solve, [A, B]),
    "complex determinants": (lambda a: np.abs(np.linalg.det(a + 1j)), [A]),
    "Gaussian": (gaussian, [S, B]),
    "QR": (ct.linalg.qr(), [T]),
    "LU": (lambda a: ct.linalg.lu()(a)[1], [A]),
    "singular values": (lambda t: np.linalg.svd(t, compute_uv=False), [T]),
    "singular vectors": (ct.linalg.svd(), [T]),
    "eigenvalues": (ct.linalg.eigvalsh(), [S]),
    "roots": (spectral, [S]),
    "complex eigenvalues": (lambda a: np.linalg.eigvals(a).real, [A]),
    "pseudo-inverses": (ct.linalg.pinv(), [T]),
    "exponentials": (ct.linalg.expm, [A * 0.1]),
    "a least squares problem for each": (ct.vmap(solution), [T, RNG.normal(size=(7, 5))]),
    "planes": (of_planes, [T]),
    "spectra": (of_spectra, [X]),
    "cosines": (ct.fft.dct(axis=1), [X]),
    "sines and back": (ct.fft.dst(axis=1) >> ct.map(ct.square) >> ct.fft.idst(axis=1), [X]),
    "convolutions": (ct.map(ct.fft.fftconvolve("same", local=True)), [X, np.where(X > 2, np.nan, X)[:, :4]]),
    "circulants": (ct.map(ct.linalg.solve_circulant()), [X + 9 * np.eye(1, 10), X]),
}


@pytest.mark.parametrize("name", STACKS)
def test_any_blocks(name):
    f, args = STACKS[name]
    with ct.use_engine("reference"):
        for seed in range(2):
            check_chunks(f, *args, seed=seed)


@pytest.mark.parametrize("name", STACKS)
def test_stacks_cut_along_their_first_axis_run_block_by_block(name):
    f, args = STACKS[name]
    cut = [rows(x) for x in args]
    with ct.use_engine("reference"), plans() as found:
        pulled = ct.vjp(f, *cut)[1]
        pulled(f(*args))
    assert found and not ran_whole(found) and not gathered(found)


SYSTEMS = {
    "a matrix": (ct.linalg.solve(), [A[0], RNG.normal(size=(3, 9))]),
    "bands": (lambda b: ct.linalg.solve_banded((1, 1))(BANDS, b), [RNG.normal(size=8)]),
    "bands that change": (ct.linalg.solve_banded((1, 1)), [BANDS, RNG.normal(size=(8, 3))]),
    "a circulant": (ct.linalg.solve_circulant(), [X[0] + 9 * np.eye(1, 10)[0], X[1]]),
    "least squares": (ct.linalg.lstsq(), [T[0], RNG.normal(size=5)]),
    "a convolution": (ct.fft.fftconvolve(), [X[0], X[1, :4]]),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_systems_in_any_blocks(name):
    f, args = SYSTEMS[name]
    with ct.use_engine("reference"):
        for seed in range(2):
            check_chunks(f, *args, seed=seed)


def test_right_hand_sides_are_cut():
    cut = blocked(B[0] @ np.ones((2, 9)), ((3,), (4, 0, 5)))
    with plans() as found:
        x = ct.linalg.solve()(A[0], cut)
    np.testing.assert_allclose(x.numpy(), np.linalg.solve(A[0], B[0] @ np.ones((2, 9))), rtol=1e-12)
    assert not ran_whole(found) and len(x.blocks) == 3


def test_a_matrix_whose_rows_are_cut_is_gathered_and_the_plan_says_so():
    with plans() as found:
        ct.linalg.inv(blocked(A, ((3, 4), (1, 2), (3,))))
    assert gathered(found) and not ran_whole(found)
    assert max(one.nbytes for planned in found for one in planned.plan.gathered) == 4 * 9 * 8
    with plans() as found:
        ct.linalg.inv(blocked(A[0], ((1, 2), (3,))))
    assert ran_whole(found) == {"Factor", "Solved"}


def test_more_than_the_limit_is_an_error():
    with ct.chunking(whole_limit=100):
        with pytest.raises(ct.EngineError, match="would read all blocks"):
            ct.linalg.inv(blocked(A, ((3, 4), (1, 2), (3,))))
        with pytest.raises(ct.EngineError, match="would run on whole arrays"):
            ct.fft.fft()(blocked(X[0], ((4, 6),)), blocked(X[1], ((4, 6),)))


def test_matrices_that_are_not_finite_and_singular_ones():
    bad = S.copy()
    bad[2, 1, 1] = np.nan
    bad[5, 0, 0] = np.inf
    with ct.use_engine("reference"):
        for f in (ct.linalg.inv, ct.linalg.eigvalsh(), ct.linalg.pinv(), ct.linalg.det):
            whole = f(bad)
            np.testing.assert_allclose(f(rows(bad)).numpy(), whole, rtol=1e-9, equal_nan=True)
        bad[6] = 0.0
        with pytest.raises(ct.SolveError):
            ct.linalg.inv(rows(bad))


def test_float32():
    with ct.use_engine("reference"):
        for f in (ct.linalg.inv, ct.linalg.eigvalsh(), ct.fft.dct(axis=1)):
            check_chunks(f, S.astype(np.float32), seed=3)


def test_the_default_engine():
    check_chunks(gaussian, S, B, seed=1)
    check_chunks(of_spectra, X, seed=2)
