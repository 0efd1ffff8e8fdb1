"""Systems of few diagonals and of Toeplitz matrices: SciPy's numbers, derivatives by differences, batches, bad input."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.linalg

import catad as ct
from catad.testing import check_grads, check_laws

RNG = np.random.default_rng(5)
SIZES = [(1, 1, 6), (1, 1, 3), (1, 1, 2), (1, 1, 1), (2, 1, 7), (0, 2, 5), (2, 0, 5), (0, 0, 3), (3, 3, 3), (4, 1, 2)]


def bands(lower: int, upper: int, n: int, *leading: int) -> Any:
    made = RNG.normal(size=(*leading, lower + upper + 1, n))
    made[..., upper, :] += 6.0
    return made


def half(width: int, n: int, lower: bool, *leading: int) -> Any:
    made = 0.3 * RNG.normal(size=(*leading, width, n))
    made[..., 0 if lower else -1, :] += 4.0
    return made


def full(ab: Any, lower: int, upper: int) -> Any:
    """The matrix, entry by entry."""
    n = ab.shape[-1]
    made = np.zeros((n, n), ab.dtype)
    for i in range(n):
        for j in range(n):
            if -lower <= j - i <= upper:
                made[i, j] = ab[upper + i - j, j]
    return made


@pytest.mark.parametrize(("lower", "upper", "n"), SIZES)
def test_banded(lower: int, upper: int, n: int) -> None:
    f, ab = ct.linalg.solve_banded((lower, upper)), bands(lower, upper, n)
    for b in (RNG.normal(size=n), RNG.normal(size=(n, 2)), RNG.normal(size=(2, n, 3))):
        x = f(ab, b)
        assert x.shape == b.shape
        np.testing.assert_allclose(np.matmul(full(ab, lower, upper), x), b, rtol=1e-11, atol=1e-11)
        check_grads(f, ab, b, order=2)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize(("width", "n"), [(2, 6), (2, 3), (2, 2), (2, 1), (3, 6), (1, 4), (4, 2)])
def test_positive_definite_bands(width: int, n: int, lower: bool) -> None:
    f, ab = ct.linalg.solveh_banded(lower), half(width, n, lower)
    own = full(ab, width - 1, 0) if lower else full(ab, 0, width - 1)
    a = own + own.T - np.diag(np.diag(own))
    for b in (RNG.normal(size=n), RNG.normal(size=(n, 2))):
        np.testing.assert_allclose(a @ f(ab, b), b, rtol=1e-12, atol=1e-12)
        check_grads(f, ab, b, order=2)


def test_the_transpose_solves_with_the_transposed_matrix() -> None:
    for lower, upper, n in ((1, 1, 6), (2, 1, 7)):
        ab, b, w = bands(lower, upper, n), RNG.normal(size=n), RNG.normal(size=n)
        _, pullback = ct.vjp(ct.linalg.solve_banded((lower, upper)), ab, b)
        by_ab, by_b = pullback(w)
        a = full(ab, lower, upper)
        u = np.linalg.solve(a.T, w)
        np.testing.assert_allclose(by_b, u, rtol=1e-12)
        outer = -np.outer(u, np.linalg.solve(a, b))
        np.testing.assert_allclose(full(by_ab, lower, upper), np.where(a != 0, outer, 0.0), rtol=1e-11)
        outside = np.ones_like(ab, dtype=bool)
        for i, j in np.argwhere(a != 0):
            outside[upper + i - j, j] = False
        assert not by_ab[outside].any() and outside.any()


def test_what_lies_outside_the_matrix_is_not_read() -> None:
    ab, b = bands(2, 1, 6), RNG.normal(size=6)
    wild = ab.copy()
    wild[0, 0] = wild[2, -1] = np.nan
    wild[3, -2:] = np.inf
    f = ct.value_and_grad(ct.linalg.solve_banded((2, 1)) >> ct.square >> ct.sum())
    (x, (by_ab, by_b)), (y, (wild_by_ab, wild_by_b)) = f(ab, b), f(wild, b)
    assert x == y and np.array_equal(by_ab, wild_by_ab) and np.array_equal(by_b, wild_by_b)


@pytest.mark.parametrize(("lower", "upper", "n"), [(1, 1, 5), (2, 1, 5), (1, 1, 2)])
def test_each_of_a_stack_has_its_own_factors(lower: int, upper: int, n: int) -> None:
    """Small pivots, so that rows are interchanged in one way in each."""
    f, ab, b = ct.linalg.solve_banded((lower, upper)), RNG.normal(size=(12, lower + upper + 1, n)), RNG.normal(size=(12, n, 2))
    ab[::3, upper] *= 1e-3
    x = f(ab, b)
    for k in range(12):
        assert np.array_equal(x[k], f(ab[k], b[k]))
        np.testing.assert_allclose(x[k], scipy.linalg.solve_banded((lower, upper), ab[k], b[k]), rtol=1e-9)
    assert np.array_equal(x, ct.map(f)(ab, b))
    one_matrix = ct.vmap(f, in_axes=(None, 0))(ab[1], b)
    np.testing.assert_allclose(one_matrix[4], f(ab[1], b[4]), rtol=1e-12)
    check_laws(f, bands(lower, upper, n, 2), b[:2])
    check_laws(ct.map(f), bands(lower, upper, n, 3), b[:3], order=1)


def test_nan_in_one_matrix_stays_there() -> None:
    for f, ab in (
        (ct.linalg.solve_banded((1, 1)), bands(1, 1, 5, 3)),
        (ct.linalg.solve_banded((2, 0)), bands(2, 0, 5, 3)),
        (ct.linalg.solveh_banded(True), half(2, 5, True, 3)),
        (ct.linalg.solveh_banded(False), half(3, 5, False, 3)),
    ):
        b = RNG.normal(size=(3, 5, 1))
        x = f(ab, b)
        for strange in (np.nan, np.inf):
            wrong = ab.copy()
            wrong[1, 1, 2] = strange
            y = f(wrong, b)
            assert np.array_equal(y[[0, 2]], x[[0, 2]])
            if np.isnan(strange):
                assert np.isnan(y[1]).any()


def test_tridiagonal() -> None:
    f = ct.linalg.solve_tridiagonal
    for n in (0, 1, 2, 3, 6):
        below, own, above, b = [RNG.normal(size=k) for k in (max(0, n - 1), n, max(0, n - 1), n)]
        own += 5.0
        a = np.diag(own) + np.diag(below, -1) + np.diag(above, 1) if n else np.zeros((0, 0))
        np.testing.assert_allclose(a @ f(below, own, above, b), b, atol=1e-12)
        check_grads(f, below, own, above, b, order=2)
    check_grads(f, RNG.normal(size=(2, 3)), 5 + RNG.normal(size=(2, 4)), RNG.normal(size=(2, 3)), RNG.normal(size=(4, 2)))


def test_toeplitz() -> None:
    f = ct.linalg.solve_toeplitz
    for n in (0, 1, 2, 5):
        c, r = RNG.normal(size=n), RNG.normal(size=n)
        c[:1] = r[:1] = 5.0
        for b in (RNG.normal(size=n), RNG.normal(size=(n, 2))):
            np.testing.assert_allclose(scipy.linalg.toeplitz(c, r) @ f((c, r), b), b, atol=1e-12)
            np.testing.assert_allclose(scipy.linalg.toeplitz(c) @ f(c, b), b, atol=1e-12)
            if n:
                check_grads(f, (c, r), b, order=2)
                check_grads(f, c, b, order=2)
    c, b = np.array([[4.0, 1.0, 2.0], [5.0, 0.5, 1.0]]), RNG.normal(size=(2, 3, 2))
    np.testing.assert_allclose(f(c, b)[1], scipy.linalg.solve_toeplitz(c[1], b[1]), rtol=1e-12)
    with pytest.raises(ct.SolveError, match="Levinson"):
        f(np.array([0.0, 1.0]), np.ones(2))


def test_the_hessian_of_a_tridiagonal_system_at_fifty_digits() -> None:
    """d^2 x_0 / d a_11 d b_2 = -(a^-1)_01 (a^-1)_12."""
    mpmath.mp.dps = 50
    ab = np.array([[0.0, 1.0, -2.0, 0.5], [4.0, 3.0, 5.0, 4.0], [1.0, 0.25, 2.0, 0.0]])
    a = mpmath.matrix(full(ab, 1, 1).tolist())
    inverse = a**-1
    f = ct.function(lambda d, b: ct.linalg.solve_banded((1, 1))(np.stack([ab[0], d, ab[2]]), b)[0])
    H = ct.hessian(f)(ab[1], np.array([1.0, 2.0, -1.0, 0.5])).todense()
    assert abs(H[1, 4 + 2] - float(-inverse[0, 1] * inverse[1, 2])) <= 1e-15


@pytest.mark.parametrize(
    "dtypes", [(np.float32, np.float32), (np.float32, np.float64), (np.int64, np.float32), (np.int8, np.int64)]
)
def test_dtypes(dtypes: tuple[Any, Any]) -> None:
    ab, b = (4 * bands(1, 1, 5)).astype(dtypes[0]), np.arange(5).astype(dtypes[1])
    c = np.array([9, 2, 1, 0, 1]).astype(dtypes[0])

    @ct.function
    def three(ab: Any, b: Any, c: Any) -> Any:
        return (
            scipy.linalg.solve_banded((1, 1), ab, b),
            scipy.linalg.solveh_banded(np.abs(ab[1:]), b, lower=True),
            scipy.linalg.solve_toeplitz(c, b),
            scipy.linalg.solve_toeplitz((c, c), b),
        )

    for got, want in zip(three(ab, b, c), three.__wrapped__(ab, b, c), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=2e-5 if want.dtype == np.float32 else 1e-12)


def test_arrays_that_lie_otherwise_in_memory() -> None:
    ab, b = np.asfortranarray(bands(1, 1, 6))[:, ::-1], RNG.normal(size=(2, 6)).T
    want = scipy.linalg.solve_banded((1, 1), ab, b)
    np.testing.assert_allclose(ct.linalg.solve_banded((1, 1))(ab, b), want, rtol=1e-12)


def test_empty_and_no_batch() -> None:
    f = ct.linalg.solve_banded((1, 1))
    assert f(np.ones((3, 0)), np.ones(0)).shape == (0,)
    assert f(np.ones((3, 4)), np.ones((4, 0))).shape == (4, 0)
    assert f(np.ones((0, 3, 4)), np.ones((0, 4, 2))).shape == (0, 4, 2)
    assert ct.linalg.solveh_banded()(np.ones((2, 0)), np.ones(0)).shape == (0,)
    assert ct.linalg.solveh_banded()(np.ones((0, 2, 4)), np.ones((4, 1))).shape == (0, 4, 1)


def test_errors() -> None:
    with pytest.raises(ct.SolveError, match=r"a tridiagonal matrix is singular(.|\n)*matrix \[1\] of \(2,\)"):
        ct.linalg.solve_banded((1, 1))(bands(1, 1, 4, 2) * np.array([1.0, 0.0])[:, None, None], np.ones(4))
    with pytest.raises(np.linalg.LinAlgError, match="a banded matrix is singular"):
        ct.linalg.solve_banded((2, 1))(np.zeros((4, 4)), np.ones(4))
    for width in (2, 3):
        with pytest.raises(ct.SolveError, match="not positive definite"):
            ct.linalg.solveh_banded()(-np.ones((width, 4)), np.ones(4))
    with pytest.raises(ct.SpaceError, match=r"expected: an array \(\.\.\., 3, n\)"):
        ct.linalg.solve_banded((1, 1))(np.ones((4, 4)), np.ones(4))
    with pytest.raises(ct.SpaceError, match="do not fit"):
        ct.linalg.solve_banded((1, 1))(np.ones((3, 4)), np.ones(3))
    with pytest.raises(ct.SpaceError, match="the diagonals do not fit"):
        ct.linalg.solve_tridiagonal(np.ones(3), np.ones(3), np.ones(2), np.ones(3))
    with pytest.raises(ct.SpaceError, match="Toeplitz"):
        ct.linalg.solve_toeplitz((np.ones(3), np.ones(2)), np.ones(3))
    with pytest.raises(ct.ArgumentError, match="l_and_u"):
        ct.linalg.solve_banded((1, 1, 1))  # type: ignore[arg-type]
    with pytest.raises(ct.ArgumentError, match="a number of diagonals"):
        ct.linalg.solve_banded((1, -1))

    @ct.function
    def f(ab: Any, b: Any) -> Any:
        return scipy.linalg.solve_banded((1, 1), ab, b)

    for bad in ((np.ones((4, 4)), np.ones(4)), (np.ones((3, 4)), np.ones(3))):
        with pytest.raises(ValueError) as own:
            f(*bad)
        with pytest.raises(ValueError) as scipys:
            f.__wrapped__(*bad)
        assert str(own.value).splitlines()[0] == str(scipys.value).splitlines()[0]


def test_a_jacobian_by_the_diagonals_keeps_them() -> None:
    """O(n w) numbers, where a dense one of 2,000 unknowns would have 3 * 2000^2."""
    n = 2000
    J = ct.jacobian(ct.linalg.solve_banded((1, 1)))(bands(1, 1, n), RNG.normal(size=n))
    assert J.stored <= 20 * n
