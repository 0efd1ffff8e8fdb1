"""Systems, inverses, determinants, Cholesky factors: values, derivatives, dtypes and sizes, strange numbers, what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.linalg

import catad as ct
from catad.linear.families.inverse import Factor
from catad.testing import check_grads

rng = np.random.default_rng(0)
A, A3, A40 = (rng.normal(size=shape) + 5 * np.eye(shape[-1]) for shape in ((4, 4), (3, 4, 4), (40, 3, 3)))
A9 = np.random.default_rng(9).normal(size=(9, 9)) + 5 * np.eye(9)  # LAPACK's
b, B, B3 = rng.normal(size=4), rng.normal(size=(4, 2)), rng.normal(size=(3, 4, 2))


def positive(a: Any) -> Any:
    return a @ np.swapaxes(a, -1, -2) + np.eye(a.shape[-1])


def symmetric(x: Any) -> Any:
    return np.tril(x) + np.swapaxes(np.tril(x, -1), -1, -2)


SYSTEMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a vector": (np.linalg.solve, (A, b)),
    "columns": (np.linalg.solve, (A, B)),
    "a stack": (np.linalg.solve, (A3, B3)),
    "one matrix for a stack": (np.linalg.solve, (A, B3)),
    "one right-hand side for a stack": (np.linalg.solve, (A3, B)),
    "a vector for a stack": (np.linalg.solve, (A3, b)),
    "small ones side by side": (np.linalg.solve, (A40, rng.normal(size=(40, 3, 1)))),
    "leading axes that broadcast": (np.linalg.solve, (A3[:, None], rng.normal(size=(1, 2, 4, 1)))),
    "inverses": (np.linalg.inv, (A3,)),
    "larger inverses": (np.linalg.inv, (A9,)),
    "determinants": (np.linalg.det, (A3,)),
    "logarithms of determinants": (lambda a: np.linalg.slogdet(a)[1], (A3,)),
    "Cholesky factors": (lambda a: np.linalg.cholesky(symmetric(a)), (positive(A3),)),
    "larger Cholesky factors": (lambda a: np.linalg.cholesky(symmetric(a)), (positive(A9),)),
    "upper ones": (lambda a: np.linalg.cholesky(symmetric(a), upper=True), (positive(A),)),
    "small Cholesky factors": (lambda a: np.linalg.cholesky(symmetric(a)), (positive(A40),)),
}


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("name", SYSTEMS)
def test_values_and_derivatives(name: str, engine: str) -> None:
    fn, args = SYSTEMS[name]
    f = ct.function(fn)
    with ct.use_engine(engine):  # type: ignore[arg-type]
        want = fn(*args)
        got = f(*args)
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)
        check_grads(f, *args, order=2 if args[0].size <= 81 else 1)


@pytest.mark.parametrize("assume", ["gen", "sym", "pos", "lower triangular", "upper triangular"])
def test_each_kind_reads_its_half(assume: str) -> None:
    noise = rng.normal(size=(4, 4))
    S = positive(A) if assume == "pos" else symmetric(A) if assume == "sym" else A
    given = np.tril(S) + np.triu(noise, 1) if assume in ("sym", "pos", "lower triangular") else S
    meant = {"lower triangular": np.tril(S), "upper triangular": np.triu(S)}.get(assume, S)
    given = given if assume != "upper triangular" else np.triu(S) + np.tril(noise, -1)
    for right in (b, B):
        np.testing.assert_allclose(ct.linalg.solve(assume)(given, right), np.linalg.solve(meant, right), rtol=1e-9)
        _, pullback = ct.vjp(ct.linalg.solve(assume), meant, right)
        w = rng.normal(size=right.shape)
        np.testing.assert_allclose(pullback(w)[1], np.linalg.solve(meant.T, w), rtol=1e-9)
    check_grads(ct.linalg.solve(assume), meant, b, modes=["rev"], order=1) if assume == "gen" else None


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_beside_fifty_digits(n: int) -> None:
    a, y = rng.integers(-9, 9, (n, n)) + 10.0 * np.eye(n), rng.normal(size=n)
    with mpmath.workdps(50):
        exact = mpmath.matrix(a.tolist())
        x = mpmath.lu_solve(exact, mpmath.matrix(y.tolist()))
        inverse = exact**-1
        slope = [[float(-x[j] * sum(inverse[k, i] for k in range(n))) for j in range(n)] for i in range(n)]
        det = mpmath.det(exact)
        cofactors = [[float(det * inverse[j, i]) for j in range(n)] for i in range(n)]
    np.testing.assert_allclose(ct.linalg.solve()(a, y), [float(one) for one in x], rtol=1e-13)
    np.testing.assert_allclose(ct.grad(lambda a, y: np.linalg.solve(a, y).sum())(a, y), slope, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(ct.linalg.det(a), float(det), rtol=1e-13)
    np.testing.assert_allclose(ct.grad(ct.linalg.det)(a), cofactors, rtol=1e-11, atol=1e-9)


def test_one_factorisation_serves_every_derivative() -> None:
    loss = ct.function(lambda a, y: np.sum(np.linalg.solve(a, y) ** 2) + np.linalg.slogdet(a)[1])
    both = ct.function(lambda a, y, v: (loss(a, y), ct.grad(loss)(a, y), ct.jvp(ct.grad(loss), (a, y), (v, 0 * y))[1]))
    wiring = ct.wire(both, ct.space_of((A, b, A)))
    assert [type(box.primitive) for box in wiring.boxes].count(Factor) == 1


@pytest.mark.parametrize("rank", [0, 2, 3])
def test_singular_matrices_have_cofactors(rank: int) -> None:
    for _ in range(6):  # of both signs
        made = rng.normal(size=(4, rank)) @ rng.normal(size=(rank, 4))
        made[:, 0] = 0.0  # so that a pivot is exactly 0
        parts = [[np.delete(np.delete(made, i, 0), j, 1) for j in range(4)] for i in range(4)]
        minors = [[(-1) ** (i + j) * np.linalg.det(part) for j, part in enumerate(row)] for i, row in enumerate(parts)]
        np.testing.assert_allclose(ct.grad(ct.linalg.det)(made), minors, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.bool_, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (0, 3, 3), (2, 0, 0), (2, 1, 1), (5, 5)])
def test_dtypes_and_sizes_are_numpys(shape: tuple[int, ...], dtype: Any) -> None:
    a = (np.eye(shape[-1]) * 2 + np.zeros(shape)).astype(dtype)
    right = np.ones((*shape[:-1], 2), dtype)
    for fn, args in (
        (np.linalg.solve, (a, right)), (np.linalg.inv, (a,)), (np.linalg.det, (a,)), (np.linalg.cholesky, (a,)),
        (lambda a: tuple(np.linalg.slogdet(a)), (a,)),
    ):  # fmt: skip
        want, got = fn(*args), ct.function(fn)(*args)
        pairs = zip(want, got, strict=True) if isinstance(want, tuple) else [(want, got)]
        for one, other in pairs:
            assert (np.asarray(one).dtype, np.shape(one)) == (np.asarray(other).dtype, np.shape(other))
            np.testing.assert_allclose(other, one, rtol=1e-6)


def test_arrays_in_any_order_of_memory() -> None:
    for a in (np.asfortranarray(A), A[::-1, ::-1], np.repeat(A, 2, axis=1)[:, ::2], A3.transpose(1, 2, 0)[..., 1]):
        np.testing.assert_allclose(ct.linalg.solve()(a, B[:, ::-1]), np.linalg.solve(a, B[:, ::-1]), rtol=1e-10)
        np.testing.assert_allclose(ct.linalg.det(a), np.linalg.det(a), rtol=1e-10)


@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_small_matrices_of_a_stack_exchange_their_own_rows(engine: str) -> None:
    """Each matrix is solved as NumPy solves it alone, in either direction: half of them have no large diagonal."""
    a, y = rng.normal(size=(60, 3, 3)), rng.normal(size=(60, 3, 2))
    a[::2] += 4 * np.eye(3)
    with ct.use_engine(engine):
        x, pullback = ct.vjp(lambda a, y: np.linalg.solve(a, y), a, y)
        by_a, by_y = pullback(y)
        sign, log = ct.linalg.slogdet(a)
    turned = np.swapaxes(a, 1, 2)
    np.testing.assert_allclose(x, np.linalg.solve(a, y), rtol=1e-8)
    np.testing.assert_allclose(by_y, np.linalg.solve(turned, y), rtol=1e-8)
    np.testing.assert_allclose(by_a, -np.linalg.solve(turned, y) @ np.swapaxes(x, 1, 2), rtol=1e-8)
    np.testing.assert_allclose((sign, log), np.linalg.slogdet(a), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("stack", [A3, A40], ids=["LAPACK", "side by side"])
def test_a_strange_number_spoils_its_own_matrix_alone(stack: Any, bad: float) -> None:
    strange = stack.copy()
    strange[1, 0, 0] = bad
    others = np.arange(len(stack)) != 1
    right = np.ones((*stack.shape[:-1], 1))
    with np.errstate(all="ignore"):
        for f, args in ((ct.linalg.solve(), (right,)), (ct.linalg.inv, ()), (ct.linalg.det, ())):
            clean, spoilt = f(stack, *args), f(strange, *args)
            assert np.array_equal(clean[others], spoilt[others])
            assert np.isnan(spoilt[1]).any() or bad == np.inf
        S, T = positive(stack), positive(stack)
        T[1, 0, 0] = np.nan
        clean, spoilt = ct.linalg.cholesky()(S), ct.linalg.cholesky()(T)
        assert np.array_equal(clean[others], spoilt[others]) and np.isnan(spoilt[1][np.tril_indices(stack.shape[-1])]).all()


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "singular": (lambda: ct.linalg.solve()(np.ones((2, 2)), np.ones(2)), ct.SolveError, "pivot 1"),
    "one of a stack": (
        lambda: ct.linalg.solve()(np.array([np.eye(2), np.ones((2, 2))]), np.ones((2, 2, 1))), ct.SolveError,
        r"matrix \[1\] of \(2,\)",
    ),
    "one of many": (
        lambda: ct.linalg.solve()(np.where(np.arange(40)[:, None, None] == 7, 0.0, A40), np.ones((40, 3, 1))), ct.SolveError,
        r"matrix \[7\] of \(40,\)",
    ),
    "singular, and what to do": (
        lambda: ct.grad(lambda a: np.linalg.inv(a).sum())(np.ones((2, 2))), ct.SolveError, r"np\.linalg\.pinv\(A\) @ b",
    ),
    "indefinite": (lambda: ct.linalg.cholesky()(np.diag([1.0, -1.0])), ct.SolveError, "pivot 1"),
    "many indefinite": (lambda: ct.linalg.cholesky()(-positive(A40)), ct.SolveError, r"matrix \[0\] of \(40,\)"),
    "a triangle with a zero": (
        lambda: ct.linalg.solve("lower triangular")(np.diag([1.0, 0.0]), np.ones(2)), ct.SolveError, "pivot 1",
    ),
    "not square": (lambda: ct.linalg.inv(np.ones((2, 3))), ct.SpaceError, "square"),
    "no matrix": (lambda: ct.linalg.det(np.ones(3)), ct.SpaceError, "matrices"),
    "sizes": (lambda: ct.linalg.solve()(np.eye(3), np.ones(2)), ct.SpaceError, "right-hand sides do not fit"),
    "stacks": (lambda: ct.linalg.solve()(A3, np.ones((2, 4, 1))), ct.SpaceError, "right-hand sides do not fit"),
    "no kind": (lambda: ct.linalg.solve("diagonal-ish"), ct.ArgumentError, "lower triangular"),
    "a slope of a singular logarithm": (
        lambda: ct.grad(lambda a: np.linalg.slogdet(a)[1])(np.ones((2, 2))), np.linalg.LinAlgError, "pivot 1",
    ),
    "a power that is no integer": (
        lambda: ct.function(lambda a: np.linalg.matrix_power(a, 0.5))(np.eye(2)), TypeError, "exponent must be an integer",
    ),
    "NumPy's own": (lambda: ct.function(np.linalg.inv)(np.ones((2, 3))), np.linalg.LinAlgError, "square"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    call, kind, words = REFUSED[name]
    with pytest.raises(kind, match=words):
        call()


def test_names_print_as_they_are_written() -> None:
    for f in (ct.linalg.solve("pos"), ct.linalg.det, ct.linalg.cholesky(upper=True), ct.linalg.inv, ct.linalg.slogdet):
        assert eval(repr(f), {"ct": ct}) == f and re.match(r"ct\.linalg\.", repr(f))
    assert "ct.linalg.solve()(a, y)" in str(ct.function(lambda a, y: np.linalg.solve(a, y)).at(A, b))


def test_batches() -> None:
    rows = rng.normal(size=(5, 4))
    by_rows = ct.vmap(np.linalg.solve, in_axes=(None, 0))
    np.testing.assert_allclose(by_rows(A, rows), np.linalg.solve(A, rows.T).T, rtol=1e-10)
    each = [np.linalg.solve(a, y) for a, y in zip(A3, rows[:3], strict=True)]
    np.testing.assert_allclose(ct.vmap(np.linalg.solve)(A3, rows[:3]), each, rtol=1e-10)
    np.testing.assert_allclose(ct.vmap(ct.grad(np.linalg.det))(A3), ct.grad(lambda a: np.linalg.det(a).sum())(A3), rtol=1e-10)
    J = ct.jacobian(lambda y: np.linalg.solve(A, y))(b)
    np.testing.assert_allclose(J.todense(), np.linalg.inv(A), rtol=1e-10)
    np.testing.assert_allclose(J.T @ b, np.linalg.solve(A.T, b), rtol=1e-10)


@pytest.mark.parametrize("kind", ["lower triangular", "upper triangular"])
def test_the_other_half_of_a_triangle_has_no_derivative(kind):
    a = np.random.default_rng(5).normal(size=(2, 3, 3)) + 3 * np.eye(3)
    check_grads(ct.linalg.solve(kind), a, np.ones((2, 3, 1)), order=2)
    half = np.tril if kind[0] == "l" else np.triu
    strange = np.where(half(np.ones((3, 3), bool)), a, np.nan)
    assert np.array_equal(ct.linalg.solve(kind)(strange, np.ones(3)), ct.linalg.solve(kind)(half(a), np.ones(3)))


def test_lu():
    a = np.random.default_rng(6).normal(size=(3, 4, 4))
    lu, piv = ct.linalg.lu_factor(a)
    for k in range(3):
        own = scipy.linalg.lu_factor(a[k])
        assert np.allclose(lu[k], own[0]) and np.array_equal(piv[k], own[1])
    check_grads(ct.function(lambda a: ct.linalg.lu_factor(a)[0]), a, order=2)
    b = np.ones((3, 4, 2))
    for trans in (False, True):
        f = ct.function(lambda a, b: ct.linalg.lu_solve(trans)(ct.linalg.lu_factor(a), b))  # noqa: B023
        assert np.allclose(f(a, b), np.linalg.solve(np.swapaxes(a, 1, 2) if trans else a, b))
        check_grads(f, a, b, order=2)
    assert ct.linalg.lu_factor(np.zeros((0, 2, 2)))[0].shape == (0, 2, 2)
    assert ct.linalg.lu_factor(np.zeros((0, 0)))[1].shape == (0,)
