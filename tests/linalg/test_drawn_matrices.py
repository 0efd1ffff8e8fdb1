"""Laws of systems, inverses and decompositions on drawn matrices of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import catad as ct
from catad.testing import check_laws, check_linear_map, matrices, points
from catad.testing.matrices import MATRICES, NEARLY

KINDS = sorted(MATRICES)
SYMMETRIC = ("symmetric", "positive definite", "nearly equal eigenvalues")
ASSUMED = {
    "positive definite": "pos", "symmetric": "sym",
    "lower triangular": "lower triangular", "upper triangular": "upper triangular",
}  # fmt: skip
BANDS = {"lower triangular": (3, 0), "upper triangular": (0, 3), "tridiagonal": (1, 1), "banded": (1, 2)}
drawn = st.sampled_from(KINDS).flatmap(lambda kind: st.tuples(st.just(kind), matrices(kind)))


def near(one: Any, other: Any, rtol: float = 1e-10) -> None:
    np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol * max(1.0, np.abs(other).max(initial=0.0)))


@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
def test_kinds_are_what_they_say(kind: str, data: Any) -> None:
    a = data.draw(matrices(kind, n=4, batch=(2,)))
    assert a.shape == (2, 4, 4) and np.linalg.cond(a).max() < 70
    t = np.swapaxes(a, -1, -2)
    if kind in SYMMETRIC:
        near(a, t, 1e-14)
    if kind == "positive definite":
        assert np.linalg.eigvalsh(a).min() > 0.99
    if kind == "orthogonal":
        near(a @ t, np.broadcast_to(np.eye(4), a.shape), 1e-13)
    if kind == "nearly equal eigenvalues":
        assert np.allclose(np.diff(np.linalg.eigvalsh(a))[:, 0], NEARLY, atol=1e-12)
    below, above = BANDS.get(kind, (3, 3))
    assert np.array_equal(a, np.triu(np.tril(a, above), -below))


@given(drawn, st.data())
def test_solutions_solve(case: Any, data: Any) -> None:
    kind, a = case
    b = data.draw(points(ct.f64[len(a), 2]))
    for assumed in {"gen", ASSUMED.get(kind, "gen")}:
        f = ct.linalg.solve(assumed)
        near(a @ f(a, b), b)
        near(f(a, f(a, b)), np.linalg.inv(a) @ np.linalg.inv(a) @ b)
        halved = ct.function(lambda a, b, f=f: f((a + a.T) / 2, b))  # one half is read of those that are symmetric
        check_laws(halved if kind in SYMMETRIC else f, (a, b), order=1)
    near(ct.linalg.solve()(a.astype(np.float32), b.astype(np.float32)), np.linalg.solve(a, b), 1e-4)


@given(drawn, st.data())
def test_inverses_of_maps(case: Any, data: Any) -> None:
    _, a = case
    n = len(a)
    links = 0.25 * data.draw(points(ct.f64[n]))
    L, M = ct.linear.dense(a), ct.linear.dense(data.draw(matrices(n=n))) >> ct.linear.recurrence(links)
    x = data.draw(points(ct.f64[n]))
    for one in (L, M, L >> M, M.T >> L):
        back = ct.linear.inverse(one)
        near(back(one(x)), x)
        near(back.T(x), ct.linear.inverse(one.T)(x))
        near(back(x), one.solve(x))
        check_linear_map(back)
    near(ct.linear.inverse(L >> M)(x), (ct.linear.inverse(M) >> ct.linear.inverse(L))(x))


@given(drawn)
def test_determinants(case: Any) -> None:
    _, a = case
    sign, log = ct.linalg.slogdet(a)
    near(sign * np.exp(log), ct.linalg.det(a))
    near(ct.linalg.det(a @ a), ct.linalg.det(a) ** 2)
    near(ct.grad(ct.linalg.slogdet >> ct.exr)(a), np.linalg.inv(a).T)
    check_laws(ct.linalg.det, a, order=1)


@given(st.sampled_from(SYMMETRIC).flatmap(lambda kind: matrices(kind)))
def test_functions_of_symmetric_matrices(a: Any) -> None:
    """V w^2 V' is a product, also where eigenvalues are nearly equal and derivatives of V are large."""
    assume((np.diff(np.linalg.eigvalsh(a)) > NEARLY / 2).all())

    def squared(a: Any) -> Any:
        w, v = np.linalg.eigh((a + a.T) / 2)
        return (v * w**2) @ v.T

    f = ct.function(squared)
    near(f(a), a @ a)
    t = np.arange(float(a.size)).reshape(a.shape)
    t = t + t.T
    near(ct.jvp(f, a, t)[1], a @ t + t @ a, 1e-8)  # rounding of the vectors over the distance of the eigenvalues


@given(matrices("positive definite", batch=(2,)))
def test_a_lane_is_a_matrix_alone(a: Any) -> None:
    for f in (ct.linalg.cholesky(), ct.linalg.inv, ct.linalg.det, ct.linalg.eigvalsh(), ct.linalg.svdvals, ct.linalg.expm):
        both, (gradient,) = f(a), [ct.vjp(f, a)[1](np.ones_like(f(a)))]
        gradient = gradient[0] if isinstance(gradient, tuple) else gradient
        for k in range(2):
            near(both[k], f(a[k]))
            alone = ct.vjp(f, a[k])[1](np.ones_like(f(a[k])))
            near(gradient[k], alone[0] if isinstance(alone, tuple) else alone, 1e-8)
