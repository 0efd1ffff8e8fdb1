"""Factorisations and systems within compiled programs: no Python runs, numbers are those of the array code, errors have names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import catad as ct
from catad.linear.solving import blocked

from .whole_support import Ran, ran

__all__ = ["ran"]

rng = np.random.default_rng(0)
STACKS = ((1, ()), (3, (2, 5)), (8, ()), (9, (3,)), (70, ()))  # in registers up to 8 rows; from 65 on matrices are halved


def matrices(n: int, leading: tuple[int, ...] = (), dtype: Any = np.float64) -> Any:
    return (rng.normal(size=(*leading, n, n)) + 3 * np.sqrt(n) * np.eye(n)).astype(dtype)


def positive(a: Any) -> Any:
    return a @ np.swapaxes(a, -1, -2) / a.shape[-1] + np.eye(a.shape[-1], dtype=a.dtype)


def rolled(a: Any) -> Any:
    """Rows in another order, so that pivots are looked for."""
    return np.roll(a, 1, axis=-2)


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "solve": lambda a, b: np.sin(np.linalg.solve(rolled(a), b)),
    "one right-hand side": lambda a, b: np.sin(np.linalg.solve(rolled(a), b[..., :1])),
    "solve, positive": lambda a, b: np.sin(ct.linalg.solve("pos")(positive(a), b)),
    "solve, lower": lambda a, b: np.sin(ct.linalg.solve("lower triangular")(a, b)),
    "solve, upper": lambda a, b: np.sin(ct.linalg.solve("upper triangular")(a, b)),
    "inverse": lambda a, b: np.sin(np.linalg.inv(rolled(a))),
    "cholesky": lambda a, b: np.sin(np.linalg.cholesky(positive(a))),
    "slogdet": lambda a, b: np.linalg.slogdet(rolled(a))[1] + np.linalg.slogdet(-a)[0],
    "det": lambda a, b: np.linalg.det(rolled(a) / a.shape[-1]),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients_are_those_of_the_array_code(name: str, dtype: Any) -> None:
    f = ct.value_and_grad(lambda a, b: np.sum(FUNCTIONS[name](a, b)), argnums=(0, 1))
    for n, leading in STACKS:
        args = matrices(n, leading, dtype), rng.normal(size=(*leading, n, 4)).astype(dtype)
        with ct.use_engine("reference"):
            want, slopes = f(*args)
        with ct.use_engine("cpu"):
            got, found = f(*args)
        tol = 1e-11 if dtype is np.float64 else 2e-4
        np.testing.assert_allclose(got, want, rtol=tol, atol=tol)
        for one, other in zip(found, slopes, strict=True):
            np.testing.assert_allclose(one, other, rtol=tol, atol=tol * max(1.0, np.abs(other).max()))


def filtered(A: Any, R: Any, ys: Any) -> Any:
    """Minus the logarithm of the likelihood under a Kalman filter, by factors of the covariance of each step."""
    n = len(A)
    x, P, total = np.zeros(n), np.eye(n), 0.0
    for t in range(len(ys)):
        x, P = A @ x, A @ P @ A.T + np.eye(n)
        S, r = P + R, ys[t] - x
        L = np.linalg.cholesky(S)
        total += 0.5 * r @ np.linalg.solve(S, r) + 0.5 * np.linalg.slogdet(S)[1] + np.sum(np.log(np.diag(L)))
        K = np.linalg.solve(S, P).T
        x, P = x + K @ r, P - K @ P
    return total


@pytest.mark.numpy_only
@pytest.mark.parametrize("n", [3, 12])
def test_no_python_runs_in_a_loop(n: int, ran: Ran) -> None:
    args = 0.5 * np.eye(n) + 0.1 * rng.normal(size=(n, n)), positive(matrices(n)), rng.normal(size=(30, n))
    f = ct.value_and_grad(filtered, argnums=(0, 1))
    with ct.use_engine("cpu"):
        f(*args)
        value, slopes = f(*args)
    assert ran.compiled and not ran.instead
    assert not any(one.outsiders for one in ran.programs)
    assert any("%x_dgetrf" in one.printed for one in ran.programs) == (n > 8)
    np.testing.assert_allclose(value, filtered(*args), rtol=1e-12)
    h = 1e-6
    for k in range(2):
        way = rng.normal(size=(n, n))
        way = way + way.T  # covariances are symmetric
        ends = [filtered(*[a + s * h * way if j == k else a for j, a in enumerate(args)]) for s in (1, -1)]
        np.testing.assert_allclose(np.sum(slopes[k] * way), (ends[0] - ends[1]) / (2 * h), rtol=1e-5, atol=1e-5)


def stepped(a: Any, b: Any) -> Any:
    """Systems with matrices of a stack, one a step."""
    total = 0.0
    for k in range(len(a)):
        total += np.sum(np.linalg.solve(a[k], b))
    return total


@pytest.mark.parametrize("n", [2, 12])
def test_what_cannot_be_solved_has_its_error(n: int) -> None:
    stack = matrices(n, (20,))
    stack[7, 0] = 0.0  # the first pivot alone
    b = np.ones(n)
    with ct.use_engine("cpu"):
        for f, args in ((stepped, (stack, b)), (np.linalg.solve, (stack, b)), (np.linalg.inv, (stack,))):
            with pytest.raises(ct.SolveError, match="pivot 0"):
                ct.function(f)(*args)
        with pytest.raises(ct.SolveError, match=r"matrix \[7\] of \(20,\)"):
            ct.linalg.inv(stack)
        with pytest.raises(ct.SolveError, match=rf"pivot {n - 1} of[^~]*matrix \[3\] of \(20,\)"):
            ct.linalg.cholesky()(np.where(np.arange(20)[:, None, None] == 3, np.diag([1.0] * (n - 1) + [-1.0]), np.eye(n)))
        with pytest.raises(ct.SolveError, match="pivot"):
            ct.linalg.solve("lower triangular")(stack[7], b)
        assert ct.linalg.slogdet(stack)[0][7] == 0.0 and ct.linalg.slogdet(stack)[1][7] == -np.inf
        assert ct.linalg.det(stack)[7] == 0.0


@pytest.mark.parametrize("n", [2, 5, 8, 12])
def test_a_strange_matrix_is_alone(n: int) -> None:
    stack, b, others = matrices(n, (40,)), rng.normal(size=(40, n, 2)), np.arange(40) != 11
    S = positive(stack)
    for bad in (np.nan, np.inf):
        strange, odd = stack.copy(), S.copy()
        strange[11, n - 1, 0] = odd[11, n - 1, 0] = bad
        with ct.use_engine("cpu"):
            for f, args in ((ct.linalg.solve(), (b,)), (ct.linalg.inv, ()), (ct.linalg.det, ())):
                assert np.array_equal(f(stack, *args)[others], f(strange, *args)[others])
                assert not np.isfinite(f(strange, *args)[11]).all() or bad == np.inf
            if np.isnan(bad):
                clean, spoilt = ct.linalg.cholesky()(S), ct.linalg.cholesky()(odd)
                assert np.array_equal(clean[others], spoilt[others]) and np.isnan(spoilt[11, n - 1, n - 1])


@pytest.mark.parametrize("n", [3, 12, 70])
def test_nothing_but_nan_is_no_error(n: int) -> None:
    nan = np.full((2, n, n), np.nan)
    with ct.use_engine("cpu"):
        for f in (np.linalg.inv, lambda a: np.linalg.solve(a, np.ones((n, 2))), lambda a: np.linalg.slogdet(a)[1]):
            assert np.isnan(ct.function(f)(nan)).all() and np.isnan(ct.grad(lambda a: np.sum(f(a)))(nan)).all()  # noqa: B023


def test_sizes_of_nothing() -> None:
    with ct.use_engine("cpu"):
        assert ct.linalg.solve()(np.zeros((0, 3, 3)), np.zeros((0, 3, 1))).shape == (0, 3, 1)
        assert ct.linalg.solve()(np.eye(3), np.zeros((3, 0))).shape == (3, 0)
        assert ct.linalg.slogdet(np.zeros((0, 0))) == (1.0, 0.0) and ct.linalg.inv(np.zeros((0, 0))).shape == (0, 0)


@pytest.mark.numpy_only
def test_pivots_are_those_of_lapack() -> None:
    """Rows are exchanged as in LAPACK, also where several entries are largest."""
    for n in (2, 3, 8, 12):
        stack = np.round(2 * rng.normal(size=(50, n, n)))
        stack[:, range(n), range(n)] += rng.normal(size=(50, n))
        with ct.use_engine("cpu"):
            got = ct.linalg.solve()(stack, np.ones((50, n, 1)))
        np.testing.assert_allclose(got, np.linalg.solve(stack, np.ones((50, n, 1))), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("n", [9, 64, 65, 200])
def test_algorithms_by_halves(n: int) -> None:
    a, g = matrices(n), rng.normal(size=(n, n))
    packed, pivots = scipy.linalg.lu_factor(a.T)
    np.testing.assert_allclose(blocked.inverses(packed.T.copy(), pivots), np.linalg.inv(a), rtol=1e-9, atol=1e-12)
    low = np.linalg.cholesky(positive(a))
    made = np.tril(low.T @ np.tril(g))
    made[range(n), range(n)] /= 2
    inverse = np.linalg.inv(low)
    want = inverse.T @ made @ inverse
    np.testing.assert_allclose(blocked.pulled_back(low, g), (want + want.T) / 2, rtol=1e-9, atol=1e-12)
