"""Decompositions and their derivatives against mpmath at 50 digits, by differences that are exact to 20 of them."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

import catad as ct

A = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -0.25], [0.5, -0.25, 2.0]])
G = np.array([[1.0, 2.0, -0.5], [0.25, -1.0, 3.0], [2.0, 0.5, 0.75]])
T = np.vstack([G, [1.0, -1.0, 0.5]])
S = T[::-1]


def of_columns(columns):
    """Columns whose signs do not matter: their outer squares, one after the other."""
    n = columns.cols
    return [columns[i, k] * columns[j, k] for k in range(n) for i in range(columns.rows) for j in range(columns.rows)]


def outer_squares(columns):
    return np.concatenate([np.outer(columns[:, k], columns[:, k]).ravel() for k in range(columns.shape[1])])


def normal(m):
    return m.T * m


CASES = {
    "eigenvalues": (lambda a: np.linalg.eigvalsh(a), lambda m: list(mp.eigsy(m, eigvals_only=True)), A, A @ A),
    "eigenvectors": (lambda a: outer_squares(np.linalg.eigh(a)[1]), lambda m: of_columns(mp.eigsy(m)[1]), A, A @ A),
    "singular values": (lambda a: np.linalg.svdvals(a), lambda m: list(mp.svd_r(m, compute_uv=False)), T, S),
    "left singular vectors": (lambda a: outer_squares(np.linalg.svd(a, False)[0]), lambda m: of_columns(mp.svd_r(m)[0]), T, S),
    "right singular vectors": (lambda a: outer_squares(np.linalg.svd(a)[2].T), lambda m: of_columns(mp.svd_r(m)[2].T), T, S),
    "Q": (lambda a: outer_squares(np.linalg.qr(a)[0]), lambda m: of_columns(mp.qr(m, mode="skinny")[0]), T, S),
    "R": (lambda a: outer_squares(np.linalg.qr(a)[1].T), lambda m: of_columns(mp.qr(m, mode="skinny")[1].T), T, S),
    "pseudo-inverse": (lambda a: np.linalg.pinv(a).ravel(), lambda m: list(mp.inverse(normal(m)) * m.T), T, S),
    "least squares": (lambda a: np.linalg.lstsq(a, T[:, 1])[0], lambda m: list(mp.lu_solve(m, mp.matrix(list(T[:, 1])))), T, S),
    "exponential": (lambda a: ct.linalg.expm(a).ravel(), lambda m: list(mp.expm(m)), G, G.T),
    "spectral norm": (lambda a: np.linalg.norm(a, 2), lambda m: [mp.svd_r(m, compute_uv=False)[0]], G, G.T),
}


@pytest.mark.parametrize("name", CASES)
def test_value_and_derivative(name):
    f, exact, a, direction = CASES[name]
    value, slope = ct.jvp(ct.function(f), (a,), (direction,))
    with mp.workdps(50):
        m, d, h = mp.matrix(a.tolist()), mp.matrix(direction.tolist()), mp.mpf(10) ** -15
        want = [float(x) for x in exact(m)]
        slopes = [float((x - y) / (2 * h)) for x, y in zip(exact(m + h * d), exact(m - h * d), strict=True)]
    assert np.allclose(np.ravel(value), want, rtol=1e-12, atol=1e-13)
    assert np.allclose(np.ravel(slope), slopes, rtol=1e-10, atol=1e-11)
