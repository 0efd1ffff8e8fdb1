"""Eigenvalues and eigenvectors of general matrices: NumPy's numbers, lengths and phases, and their derivatives."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.linalg as sl
from numpy import linalg as la

import catad as ct
from catad.testing import check_grads, check_laws

from .complex_parts import cut, drawn, of_parts

Z = drawn(2, 3, 3)
R = Z.real.copy()
TURN = np.array([[1.0, -2.0, 0.5], [2.0, 1.0, 0.0], [0.3, 0.0, 4.0]])  # a pair of complex eigenvalues, and a real one


@pytest.mark.parametrize("a", [Z, R, TURN, R + R.swapaxes(1, 2), np.triu(TURN), Z[:0], R[:, :0, :0], Z[:, :1, :1]])
def test_results_are_numpys_and_complex(a: Any) -> None:
    for given in (a, a.astype(np.complex64 if np.iscomplexobj(a) else np.float32), np.asfortranarray(a)):
        found, own = ct.function(lambda a: la.eig(a))(given), la.eig(given)
        assert type(found) is type(own)
        for x, y in zip((*found, ct.function(la.eigvals)(given)), (*own, la.eigvals(given)), strict=True):
            assert x.dtype == np.result_type(y.dtype, np.complex64) and x.shape == y.shape
            np.testing.assert_allclose(x, y, rtol=1e-4 if x.dtype == np.complex64 else 1e-12, atol=1e-5)


@pytest.mark.parametrize("a", [Z, R])
def test_eigenvalues_alone(a: Any) -> None:
    f = ct.function(lambda a: np.sum(abs(np.linalg.eig(a)[0]) ** 2))
    np.testing.assert_allclose(f(a), np.sum(abs(la.eigvals(a)) ** 2), rtol=1e-12)
    np.testing.assert_allclose(ct.grad(f)(a), ct.grad(lambda a: np.sum(abs(np.linalg.eigvals(a)) ** 2))(a), rtol=1e-8)


def test_integers_and_scipy() -> None:
    f = ct.function(lambda a: (sl.eig(a), sl.eig(a, right=False), sl.eigvals(a)))
    (w, v), first, second = f(np.array([[1, 2], [3, 4]]))
    own = sl.eig(np.array([[1, 2], [3, 4]]))
    assert v.dtype == w.dtype == np.complex128
    for x, y in ((w, own[0]), (v, own[1]), (first, own[0]), (second, own[0])):
        np.testing.assert_allclose(x, y, rtol=1e-12)


@pytest.mark.parametrize("a", [Z, R, TURN, drawn(1, 1)], ids=["complex", "real", "a pair", "one"])
def test_derivatives(a: Any) -> None:
    check_grads(of_parts(lambda a: tuple(la.eig(a)), a), *cut(a), order=2)
    check_grads(of_parts(la.eigvals, a), *cut(a), order=2)
    check_laws(ct.linalg.eigvals, *cut(a), order=1)


def test_beside_fifty_digits() -> None:
    a = np.array([[1.0, 2.0, 0.0], [-3.0, 1.0, 1.0], [0.5, 0.0, 4.0]])
    with mpmath.workdps(50):
        w, left, right = mpmath.eig(mpmath.matrix(a.tolist()), left=True, right=True)
        k = max(range(3), key=lambda j: float(mpmath.im(w[j])))
        weight = sum(left[k, i] * right[i, k] for i in range(3))
        slope = [[complex(left[k, i] * right[j, k] / weight) for j in range(3)] for i in range(3)]
        value = complex(w[k])
    place = int(np.argmax(la.eigvals(a).imag))
    found = [ct.value_and_grad(lambda a, part=part: getattr(np.linalg.eigvals(a)[place], part))(a) for part in ("real", "imag")]
    np.testing.assert_allclose(found[0][0] + 1j * found[1][0], value, rtol=1e-13)
    np.testing.assert_allclose(found[0][1] + 1j * found[1][1], slope, rtol=1e-11, atol=1e-13)


def test_programs_with_eigenvalues() -> None:
    """Stability of a linear system, and a power of a matrix by its eigenvectors."""

    def growth(gain: Any) -> Any:
        a = np.array([[0.0, 1.0], [-2.0, -0.3]]) - gain * np.array([[0.0, 0.0], [1.0, 0.5]])
        return np.max(np.linalg.eigvals(a).real)

    h = 1e-6
    assert abs(ct.grad(growth)(0.2) - (growth(0.2 + h) - growth(0.2 - h)) / (2 * h)) < 1e-7

    @ct.function
    def cube(a: Any) -> Any:
        w, v = np.linalg.eig(a)
        return ((v * w**3) @ np.linalg.inv(v)).real

    np.testing.assert_allclose(cube(TURN), TURN @ TURN @ TURN, rtol=1e-10, atol=1e-10)
    direct = ct.jacobian(lambda a: a @ a @ a)(TURN).todense()
    np.testing.assert_allclose(ct.jacobian(cube)(TURN).todense(), direct, rtol=1e-9, atol=1e-9)


def test_equal_eigenvalues() -> None:
    slope = ct.grad(lambda a: np.sum(np.linalg.eig(a)[0].real ** 2))(2 * np.eye(3))
    assert np.array_equal(slope, 4 * np.eye(3))
    turned = np.zeros((2, 2))
    turned[0, 1] = 1.0
    assert not np.isfinite(ct.jvp(ct.linalg.eig, (np.eye(2),), (turned,))[1][1][0]).all()
    jordan = np.array([[1.0, 1.0], [0.0, 1.0]])
    assert np.array_equal(ct.function(la.eigvals)(jordan), [1.0, 1.0])
    with pytest.raises(ct.SolveError, match=r"2 independent(.|\n)*") as found:
        ct.grad(lambda a: np.sum(np.linalg.eigvals(a).real))(np.stack([TURN[:2, :2], jordan]))
    assert "matrix [1] of (2,)" in str(found.value)


def test_nan_stays_in_its_matrix() -> None:
    for a in (R, Z):
        bad = a.copy()
        bad[1, 2, 1] = np.nan
        f = ct.function(lambda a: tuple(la.eig(a)))
        for x, y in zip(f(a), f(bad), strict=True):
            assert np.array_equal(x[0], y[0]) and np.isnan(y[1]).all()


def test_what_is_refused() -> None:
    with pytest.raises(ct.SpaceError, match="square"):
        ct.linalg.eig(np.ones((2, 3)))
    with pytest.raises(np.linalg.LinAlgError, match="square"):
        ct.function(la.eig)(np.ones((2, 3)))
    with pytest.raises(ct.TraceError, match="left"):
        ct.function(lambda a: sl.eig(a, left=True))(TURN)
    for name in ("sqrtm", "logm", "schur"):
        with pytest.raises(ct.TraceError, match=name):
            ct.function(lambda a, name=name: getattr(sl, name)(a))(TURN)
    assert eval(repr(ct.linalg.eig), {"ct": ct}) == ct.linalg.eig
