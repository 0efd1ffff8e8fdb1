"""A dense solve written outside the package: public names only, in fifteen lines, with derivatives of every order."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.testing import check_grads, check_laws, check_linear_map

pytestmark = pytest.mark.numpy_only  # the array code is NumPy's


# -- the primitive


def backsubstituted(A: Any, b: Any) -> Any:
    return np.linalg.solve(A, b[..., None])[..., 0]


def spaces(A: Any, b: Any) -> Any:
    return b


def derivative(A: Any, b: Any, x: Any) -> ct.LinearMap:
    """`dx = A^-1 (db - dA x)`: the inverse is applied by solving, with A or its transpose."""
    inverse = ct.linear.matrix_free(solve, ct.cross(ct.transpose(), ct.id) >> solve, b.space, b.space, A)
    return (-ct.linear.einsum("j,ij->i", x, A.space) | ct.linear.identity(b.space)) >> inverse


solve = ct.primitive.function(backsubstituted, spaces, derivative, vectorized=True)


# -- what it does

N = 4
rng = np.random.default_rng(0)
A, B = rng.normal(size=(N, N)) + 3 * np.eye(N), rng.normal(size=N)
ENGINES = pytest.mark.parametrize("engine", ["reference", "cpu"])


@ENGINES
def test_values_laws_and_differences(engine: Any) -> None:
    with ct.use_engine(engine):
        assert np.array_equal(solve(A, B), np.linalg.solve(A, B))
        check_laws(solve, A, B)
        check_grads(solve, A, B, order=2)


@ENGINES
def test_the_first_three_derivatives_along_a_line(engine: Any) -> None:
    """x(t) = (A + t E)^-1 b has the derivatives k! (-A^-1 E)^k x."""
    E = rng.normal(size=(N, N))
    along = ct.map(lambda t, e, a: a + t * e)
    f = ct.fork(ct.fork(ct.id, ct.const(E), ct.const(A)) >> along, ct.const(B)) >> solve
    with ct.use_engine(engine):
        step, expected = -np.linalg.solve(A, E), np.linalg.solve(A, B)
        for k in range(4):
            np.testing.assert_allclose(f(0.0), expected, rtol=1e-10)
            f = ct.fork(ct.id, ct.const(1.0)) >> ct.differential(f)
            expected = (k + 1) * step @ expected


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse", "elimination"])
def test_jacobians_in_all_modes(mode: Any) -> None:
    J = ct.jacobian(solve, mode)(A, B).todense()
    x, inverse = np.linalg.solve(A, B), np.linalg.inv(A)
    by_A = -np.einsum("ki,j->kij", inverse, x).reshape(N, N * N)
    np.testing.assert_allclose(J, np.hstack([by_A, inverse]), rtol=1e-12, atol=1e-14)


def test_a_hessian_is_symmetric_and_that_of_central_differences() -> None:
    f = solve >> ct.square >> ct.sum()
    H = ct.hessian(f)(A, B).todense()
    np.testing.assert_allclose(H, H.T, rtol=1e-10, atol=1e-12)
    g = ct.grad(f)

    def at(v: Any) -> Any:
        return np.concatenate([part.ravel() for part in g(v[: N * N].reshape(N, N), v[N * N :])])

    v, e = np.concatenate([A.ravel(), B]), np.eye(N * N + N)
    expected = [(at(v + 1e-5 * d) - at(v - 1e-5 * d)) / 2e-5 for d in e]
    np.testing.assert_allclose(H, np.array(expected), rtol=1e-6, atol=1e-8)


@ENGINES
def test_batches(engine: Any) -> None:
    many = rng.normal(size=(5, N, N)) + 3 * np.eye(N), rng.normal(size=(5, N))
    f = ct.map(solve)
    with ct.use_engine(engine):
        np.testing.assert_array_equal(f(*many), [np.linalg.solve(a, b) for a, b in zip(*many, strict=True)])
        check_laws(f, *many, order=1)
        L = ct.jacobian(f)(*many)
        check_linear_map(L)
        one = [ct.linearize(solve, a, b)[1] for a, b in zip(*many, strict=True)]
        direction = rng.normal(size=(5, N, N)), rng.normal(size=(5, N))
        np.testing.assert_allclose(L(direction), [M((u, v)) for M, u, v in zip(one, *direction, strict=True)], rtol=1e-10)


def test_one_by_one_gives_what_the_batch_gives() -> None:
    slow = ct.primitive.function(backsubstituted, spaces, derivative)
    many = np.stack([A, A.T, A + np.eye(N)]), rng.normal(size=(3, N))
    assert np.array_equal(ct.map(slow)(*many), ct.map(solve)(*many))
    assert np.array_equal(ct.map(ct.map(slow))(many[0][None], many[1][None])[0], ct.map(solve)(*many))
    check_laws(ct.map(slow), *many, order=1)


def test_it_plans_draws_prints_and_pickles() -> None:
    f = solve >> ct.square
    plan = ct.plan(f, A, B)
    np.testing.assert_allclose(plan.multiply(ct.linearize(f, A, B)[1]).todense(), ct.jacobian(f)(A, B).todense(), rtol=1e-12)
    assert "backsubstituted" in ct.grad(f >> ct.sum()).draw(ct.product(ct.f64[N, N], ct.f64[N]))
    assert eval(repr(f), {"ct": ct, **f.names}) == f
    again = pickle.loads(pickle.dumps(f))
    assert again == f
    y, pullback = ct.vjp(f, A, B)
    both = pullback(y), pickle.loads(pickle.dumps(pullback))(y)
    assert all(np.array_equal(u, v) for u, v in zip(*both, strict=True))


def test_single_precision_stays() -> None:
    a, b = A.astype(np.float32), B.astype(np.float32)
    assert solve(a, b).dtype == np.float32
    assert [part.dtype for part in ct.grad(solve >> ct.sum())(a, b)] == [np.float32] * 2


def test_a_checkpoint_and_a_loop_with_a_solve() -> None:
    step = ct.fork(ct.const(A), ct.id) >> solve
    f = ct.iterate(step, 3) >> ct.sum()
    expected = np.linalg.matrix_power(np.linalg.inv(A).T, 3) @ np.ones(N)
    np.testing.assert_allclose(ct.grad(f)(B), expected, rtol=1e-10)
    np.testing.assert_allclose(ct.grad(ct.checkpoint(f))(B), expected, rtol=1e-10)
