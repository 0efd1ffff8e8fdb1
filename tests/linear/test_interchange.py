"""Linear maps, pullbacks and Jacobians in other hands: NumPy's conversion, SciPy's solvers, pickles, matrices as morphisms."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catad as ct

X = np.array([0.5, 2.0, -1.0])
POLYNOMIAL = ct.map(lambda x: (x - 1.0) ** 2 * (x + 2.0) ** 2) >> ct.sum()
SQUARES = ct.map(lambda x: x * x - 2.0)
PROGRAMS: dict[str, tuple[ct.D, Any]] = {
    "diagonal": (ct.sin, X),
    "recurrence": (ct.scan(lambda a, b: a * b, 1.0) >> ct.sin, X),
    "network": (ct.fork(ct.sin, ct.flip()) >> ct.mul >> ct.fork(ct.id, ct.exp) >> ct.concatenate(), X),
    "loop": (ct.iterate(ct.fork(ct.tanh, ct.flip()) >> ct.add, 3), X),
    "checkpoint": (ct.checkpoint(ct.fork(ct.sin, ct.flip()) >> ct.mul), X),
    "gather": (ct.fork(ct.id, ct.const(np.array([2, 0]))) >> ct.gather, X),
    "float32": (ct.exp, X.astype(np.float32)),
}


# -- NumPy


@pytest.mark.parametrize("name", PROGRAMS)
def test_asarray_is_the_dense_array(name: str) -> None:
    f, x = PROGRAMS[name]
    for L in (ct.jacobian(f)(x), ct.linearize(f, x)[1]):
        found = np.asarray(L)
        np.testing.assert_array_equal(found, L.todense())
        assert found.dtype == x.dtype and found.shape == L.cod.shape + L.dom.shape  # type: ignore[attr-defined]
        assert np.asarray(L, dtype=np.float32).dtype == np.float32
    np.testing.assert_array_equal(np.linalg.norm(ct.jacobian(ct.sin)(X)), np.linalg.norm(np.cos(X)))


def test_asarray_of_maps_between_products_and_numbers() -> None:
    assert np.asarray(ct.jacobian(ct.sin)(0.0)).shape == ()
    assert np.asarray(ct.jacobian(ct.mul)(2.0, 3.0)).tolist() == [[3.0, 2.0]]


def test_asarray_refuses_what_is_too_large_as_todense_does() -> None:
    L = ct.jacobian(ct.sin)(np.zeros(100_000))
    with pytest.raises(ct.DenseLimitError):
        np.asarray(L)


# -- SciPy


def test_hessians_and_jacobians_go_to_minimize() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    start, gradient = X + 0.1, ct.grad(POLYNOMIAL)
    for method in ("trust-constr", "Newton-CG", "trust-exact", "trust-ncg", "trust-krylov"):
        found = optimize.minimize(POLYNOMIAL, start, jac=gradient, hess=ct.hessian(POLYNOMIAL), method=method)
        np.testing.assert_allclose(gradient(found.x), 0.0, atol=1e-3)
    found = optimize.minimize(POLYNOMIAL, start, jac=ct.jacobian(POLYNOMIAL), method="BFGS")
    np.testing.assert_allclose(gradient(found.x), 0.0, atol=1e-3)


def test_jacobians_go_to_solvers_of_equations() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    J, start, expected = ct.jacobian(SQUARES), X + 2.0, np.full(3, np.sqrt(2.0))
    for method in ("trf", "lm", "dogbox"):
        np.testing.assert_allclose(optimize.least_squares(SQUARES, start, jac=J, method=method).x, expected, rtol=1e-6)
    for method in ("hybr", "lm"):
        np.testing.assert_allclose(optimize.root(SQUARES, start, jac=J, method=method).x, expected, rtol=1e-6)
    np.testing.assert_allclose(optimize.fsolve(SQUARES, start, fprime=J), expected, rtol=1e-6)


def test_jacobians_of_constraints() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    circle, far = (
        ct.square >> ct.sum(),
        ct.fork(ct.id, ct.const(np.array([2.0, 1.0, 0.0]))) >> ct.sub >> ct.square >> ct.sum(),
    )
    expected = np.array([2.0, 1.0, 0.0]) / np.sqrt(5.0)
    one = optimize.NonlinearConstraint(circle, 1.0, 1.0, jac=ct.jacobian(circle))
    found = optimize.minimize(far, X, jac=ct.grad(far), hess=ct.hessian(far), method="trust-constr", constraints=one)
    np.testing.assert_allclose(found.x, expected, atol=1e-4)
    equal = {"type": "eq", "fun": lambda x: circle(x) - 1.0, "jac": ct.jacobian(circle)}
    found = optimize.minimize(far, X, jac=ct.grad(far), method="SLSQP", constraints=equal)
    np.testing.assert_allclose(found.x, expected, atol=1e-4)


# -- pickles

FRESH = """
import pickle, sys
import numpy as np
with open(sys.argv[1], "rb") as file:
    found = pickle.load(file)
made = {}
for name, (L, pullback, J, x, w) in found.items():
    made[name] = (L(x), L.T(w), L.todense(), pullback(w), J(x).todense(), L.structure in {J.f and L.structure})
with open(sys.argv[1], "wb") as file:
    pickle.dump(made, file)
"""


@pytest.mark.numpy_only  # the other process runs on NumPy, whose last bits differ
def test_maps_pullbacks_and_jacobians_go_to_another_process(tmp_path: Path) -> None:
    kept, expected = {}, {}
    for name, (f, x) in PROGRAMS.items():
        y, pullback = ct.vjp(f, x)
        L, J, w = ct.linearize(f, x)[1], ct.jacobian(f), np.ones_like(y)
        kept[name] = (L, pullback, J, x, w)
        expected[name] = (L(x), L.T(w), L.todense(), pullback(w), J(x).todense())
    file = tmp_path / "maps"
    file.write_bytes(pickle.dumps(kept))
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": str(Path(ct.__file__).parents[1])}
    subprocess.run([sys.executable, "-c", FRESH, str(file)], check=True, env=environment, cwd=tmp_path, timeout=120)
    for name, found in pickle.loads(file.read_bytes()).items():
        for one, other in zip(found, expected[name], strict=False):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", PROGRAMS)
def test_copies_are_equal(name: str) -> None:
    f, x = PROGRAMS[name]
    L = ct.linearize(f, x)[1]
    for again in (pickle.loads(pickle.dumps(L)), copy.deepcopy(L)):
        assert again.structure == L.structure and hash(again.structure) == hash(L.structure)
        assert (again.dom, again.cod, repr(again)) == (L.dom, L.cod, repr(L))
        np.testing.assert_array_equal(again(x), L(x))


def test_plans_are_copied_whether_or_not_they_ran() -> None:
    f, x = PROGRAMS["network"]
    plan = ct.plan(f, x)
    for made in (plan, plan.edited("forward"), plan.edited("elimination"), plan.edited(["push", "all"])):
        for _ in range(2):
            again = pickle.loads(pickle.dumps(made))
            assert (again.cost, again.kind) == (made.cost, made.kind)
            J = pickle.loads(pickle.dumps(ct.jacobian(f, made)))
            np.testing.assert_array_equal(J(x).todense(), made.run(x).todense())


# -- matrices as morphisms


def test_matrices_are_lifted() -> None:
    A = np.arange(6.0).reshape(2, 3)
    f = ct.lift(A)
    assert np.array_equal(f(X), A @ X) and np.array_equal(ct.vjp(f, X)[1](np.ones(2))[0], A.T @ np.ones(2))
    sparse = pytest.importorskip("scipy.sparse")
    for make in (sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix, sparse.dia_matrix):
        g = ct.lift(make(A))
        np.testing.assert_array_equal(g(X), A @ X)
        np.testing.assert_array_equal(ct.jacobian(g)(X).todense(), A)
        np.testing.assert_array_equal(ct.vjp(g, X)[1](np.ones(2))[0], A.T @ np.ones(2))
    assert ct.linear.sparse(sparse.csr_matrix((3, 5))).todense().shape == (3, 5)
    twice = sparse.coo_matrix((np.array([1.0, 2.0]), (np.array([0, 0]), np.array([1, 1]))), (2, 3))
    np.testing.assert_array_equal(ct.linear.sparse(twice).todense(), twice.toarray())


@pytest.mark.parametrize("thing", [np.eye(2, dtype=int), np.ones(3), np.ones((2, 2, 2)), [[1.0]], "matrix", ct.sin])
def test_what_is_no_matrix_is_refused(thing: Any) -> None:
    with pytest.raises(ct.SpaceError, match="a linear map is expected") as caught:
        ct.lift(thing)
    assert "2-D floating array or a sparse matrix" in str(caught.value)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_matrix_products_by_hand(engine: str) -> None:
    M = np.arange(6.0).reshape(2, 3)
    right = ct.D(lambda v: (v @ M, ct.linear.dense(M.T)))
    left = ct.D(lambda v: (M @ v, ct.linear.dense(M)))
    both = ct.D(lambda v: (np.matmul(M, v) @ M, ct.linear.dense(M.T @ M)))
    with ct.use_engine(engine):
        for f, A in ((right, M.T), (left, M), (both, M.T @ M)):
            x = X[: A.shape[1]]
            np.testing.assert_allclose(f(x), A @ x)
            np.testing.assert_allclose(ct.jacobian(f)(x).todense(), A)
