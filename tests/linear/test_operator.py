"""Linear maps as operators: the names and meanings that SciPy and NumPy have for matrices, against dense matrices."""

from __future__ import annotations

import copy
import operator
import pickle
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad import linear
from catad.category.spaces import flatten, rebuild
from catad.linear.matrix import columns

from .cases import block_cases, square_cases

SQUARE, OTHER, BLOCKS = square_cases(4), square_cases(4, seed=1), block_cases(3)
CASES = {**SQUARE, **{f"block {name}": case for name, case in BLOCKS.items()}}
GRID = ct.scale(np.arange(1.0, 7.0).reshape(2, 3)) >> linear.dense(np.arange(24.0).reshape(4, 2, 3), ct.f64[2, 3])


def matrix(L: ct.LinearMap) -> np.ndarray:
    return L.toarray().reshape(L.shape)


def columns_for(n: int, k: int = 3) -> np.ndarray:
    return np.arange(1.0, 1 + n * k).reshape(n, k) % 5 - 2


# -- products with arrays


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("name", CASES)
def test_products_with_arrays_are_those_of_the_matrix(name: str, engine: str) -> None:
    L, want = CASES[name]
    m, n = want.shape
    B, C = columns_for(n), columns_for(m)
    with ct.use_engine(engine):
        np.testing.assert_array_equal(L.matmat(B), want @ B)
        np.testing.assert_array_equal(L.rmatmat(C), want.T @ C)
        np.testing.assert_array_equal(L @ B, want @ B)
        np.testing.assert_array_equal(C.T @ L, C.T @ want)
        np.testing.assert_array_equal(L.matvec(B[:, :1]), want @ B[:, :1])
        if not isinstance(L.dom, ct.Product) and not isinstance(L.cod, ct.Product):
            np.testing.assert_array_equal(L @ B[:, 0], want @ B[:, 0])
            np.testing.assert_array_equal(L.dot(B[:, 0]), want @ B[:, 0])
            np.testing.assert_array_equal(C[:, 0] @ L, C[:, 0] @ want)
        else:
            np.testing.assert_array_equal(np.concatenate(flatten(L(_value(L.dom, B[:, 0])))), want @ B[:, 0])


def _value(space: Any, flat: np.ndarray) -> Any:
    leaves = [leaf[0] for leaf in columns.taken_apart(flat[None], space.leaves)]
    return rebuild(space, leaves)


def test_an_array_of_the_domains_shape_is_a_value_and_others_are_flattened() -> None:
    x = np.arange(6.0)
    assert (GRID @ x.reshape(2, 3)).shape == (4,) and (GRID @ x).shape == (4,)
    np.testing.assert_array_equal(GRID @ x, GRID(x.reshape(2, 3)))
    np.testing.assert_array_equal(GRID @ columns_for(6, 2), matrix(GRID) @ columns_for(6, 2))
    assert (np.ones(4) @ GRID).shape == (2, 3)  # of the codomain's shape: a value
    np.testing.assert_array_equal(GRID.T @ np.ones(4), np.ones(4) @ GRID)
    np.testing.assert_array_equal(np.ones((2, 4)) @ GRID, np.ones((2, 4)) @ matrix(GRID))


def test_no_columns_many_blocks_and_empty_spaces(monkeypatch: pytest.MonkeyPatch) -> None:
    assert GRID.matmat(np.zeros((6, 0))).shape == (4, 0) and (np.zeros((0, 4)) @ GRID).shape == (0, 6)
    B = columns_for(6, 7)
    want = matrix(GRID) @ B
    monkeypatch.setattr(columns, "BLOCK", 12)  # two columns at once, and one in the end
    np.testing.assert_array_equal(GRID @ B, want)
    none = linear.identity(ct.Unit)
    for L in (linear.identity(ct.f64[0]), linear.zero(ct.f64[0], ct.f64[2]), none, ct.scale(np.zeros((0, 3)))):
        m, n = L.shape
        assert L.matmat(np.zeros((n, 2))).shape == (m, 2) and L.matvec(np.zeros(n)).shape == (m,)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_keep_the_dtype(dtype: Any) -> None:
    L = linear.dense(np.ones((2, 3), dtype))
    assert L.matvec(np.ones(3, dtype)).dtype == dtype and (L @ np.ones((3, 2), dtype)).dtype == dtype
    assert (np.ones((2, 2), dtype) @ L).dtype == dtype and (L / 2).toarray().dtype == dtype and (L * 3).dtype == dtype
    assert L.matvec(np.ones(3, np.int8)).dtype == dtype


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda: GRID @ np.ones(5), "shape (5,)"),
        (lambda: GRID @ np.ones((5, 2)), "columns of shape (6, k)"),
        (lambda: GRID.matvec(np.ones((2, 3))), "shape (2, 3)"),
        (lambda: GRID.matmat(np.ones(6)), "shape (6,)"),
        (lambda: GRID.rmatvec(np.ones(6)), "shape (6,)"),
        (lambda: np.ones((2, 5)) @ GRID, "shape (5, 2)"),
        (lambda: GRID @ np.ones((6, 1, 1)), "does not lie in the domain"),
        (lambda: GRID @ np.ones(6, complex), "complex128"),
        (lambda: GRID @ [1.0] * 6, "np.asarray"),
        (lambda: [1.0] * 4 @ GRID, "np.asarray"),
        (lambda: ct.scale(np.ones(2, np.float32)).matvec(np.ones(2)), "x.astype('float32')"),
        (lambda: ct.scale(np.ones(2, np.float32)) @ np.ones((2, 2)), "x.astype('float32')"),
        (lambda: GRID**2, "from a space to itself"),
        (lambda: ct.scale(np.ones(2)) ** -1, "L.solve(b)"),
        (lambda: GRID / 0, "without a finite reciprocal"),
        (lambda: GRID / 1e-320, "without a finite reciprocal"),
    ],
)
def test_what_does_not_meet_a_map_is_refused(use: Any, words: str) -> None:
    with pytest.raises(ct.CatadError) as caught:
        use()
    assert words in str(caught.value)


@pytest.mark.numpy_only
@pytest.mark.filterwarnings("ignore::catad.errors.CatadNotice")
def test_matrices_of_wires_make_code_that_is_not_traced() -> None:
    for dense in (lambda L: L.toarray(), lambda L: L.matmat(np.eye(2)), lambda L: np.eye(2) @ L):
        f = ct.D(lambda x, dense=dense: (x * x, ct.linear.dense(dense(ct.scale(2.0 * x)))))
        np.testing.assert_array_equal(ct.jacobian(f)(np.array([1.0, 2.0])).toarray(), np.diag([2.0, 4.0]))


@pytest.mark.parametrize("other", [np.ones((4, 4)), "L", True, 2j, None])
def test_sums_and_multiples_are_of_maps_and_numbers(other: Any) -> None:
    L = SQUARE["dense"][0]
    for combine in (operator.add, operator.sub, operator.mul, operator.truediv):
        with pytest.raises(TypeError):
            combine(L, other)


# -- algebra


@pytest.mark.parametrize("name", CASES)
def test_algebra_is_that_of_matrices(name: str) -> None:
    L, want = CASES[name]
    for made, expected in [
        (2 * L, 2 * want), (L * 2, 2 * want), (L / 2, want / 2), (-L, -want), (L - L, want - want), (L + L, want + want),
        (L - 2 * L, -want), (sum([L, L]), 2 * want), (np.float32(2) * L, 2 * want), (L.H, want.T), (L.adjoint(), want.T),
        (L.transpose(), want.T),
    ]:  # fmt: skip
        np.testing.assert_array_equal(matrix(made), expected)
        assert made.dtype == L.dtype
    if L.dom == L.cod:
        for power in (0, 1, 3):
            np.testing.assert_array_equal(matrix(L**power), np.linalg.matrix_power(want, power))
    assert L.ndim == 2 and L.shape == want.shape


@pytest.mark.parametrize("name", SQUARE)
def test_composition_is_the_product_of_arrays(name: str) -> None:
    (L, a), (M, _) = SQUARE[name], OTHER["recurrence"]
    np.testing.assert_array_equal((L @ M).toarray(), L.toarray() @ M.toarray())
    np.testing.assert_array_equal((M @ L).toarray(), M.toarray() @ L.toarray())
    assert (L @ M).dom == M.dom and np.array_equal(a, L.toarray())


def test_multiples_of_python_numbers_stay_weak() -> None:
    for L in (2 * ct.scale(3.0), ct.scale(3.0) * 2, ct.scale(12.0) / 2, -ct.scale(-6.0)):
        made = L(np.float32(2.0))
        assert made == 12.0 and made.dtype == np.float32
        assert L(2.0) == 12.0


# -- SciPy


def test_scipys_functions_take_maps_as_they_are() -> None:
    solvers = pytest.importorskip("scipy.sparse.linalg")
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 6))
    A = A @ A.T + 6 * np.eye(6)
    L, b = linear.dense(A), rng.normal(size=6)
    want = np.linalg.solve(A, b)
    for made in (solvers.gmres(L, b, rtol=1e-12), solvers.cg(L, b, rtol=1e-12), solvers.lsqr(L, b, atol=1e-14, btol=1e-14)):
        np.testing.assert_allclose(made[0], want, rtol=1e-6)
    np.testing.assert_allclose(solvers.eigsh(L, 2)[0], np.linalg.eigvalsh(A)[-2:])
    both = solvers.aslinearoperator(L) @ np.eye(6)
    np.testing.assert_allclose(both, A)


def test_linear_operators_convert_and_pickle() -> None:
    pytest.importorskip("scipy.sparse.linalg")
    L = linear.dense(np.arange(6, dtype=np.float32).reshape(2, 3))
    made = L.as_linear_operator()
    for op in (made, pickle.loads(pickle.dumps(made)), copy.copy(made)):
        np.testing.assert_array_equal(op @ np.ones(3), [3.0, 12.0])
        np.testing.assert_array_equal(op @ np.eye(3), L.toarray())
        np.testing.assert_array_equal(op.H @ np.eye(2), L.toarray().T)
        np.testing.assert_array_equal(op.rmatmat(np.eye(2)), L.toarray().T)
    with pytest.raises(ct.SpaceError, match="complex"):
        made @ np.ones(3, complex)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dia", "bsr", "lil", "dok"])
@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 2), (0, 3)])
def test_sparse_matrices_are_maps(form: str, kind: str, shape: tuple[int, int]) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    A = np.where(np.arange(shape[0] * shape[1]).reshape(shape) % 3 == 0, 0.0, np.arange(shape[0] * shape[1]).reshape(shape))
    for dtype in (np.float32, np.float64):
        S = getattr(sparse, f"{form}_{kind}")(A.astype(dtype))
        L = linear.sparse(S)
        np.testing.assert_array_equal(L.toarray(), A)
        np.testing.assert_array_equal(L.tocsr().toarray(), A)
        assert L.dtype == dtype
        M = linear.identity(L.cod)
        np.testing.assert_array_equal((M @ S).toarray(), A)
        assert isinstance(M @ S, ct.LinearMap)


def test_diagonals_are_kept_as_diagonals() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    band = sparse.diags([np.ones(4), np.arange(1.0, 6.0), np.full(4, -1.0)], [-1, 0, 1], format="dia")
    L = linear.sparse(band)
    assert L.kind == "sum of 3 maps" and L.stored == 15
    np.testing.assert_array_equal(L.toarray(), band.toarray())
    junk = sparse.dia_matrix((np.array([[np.nan, 2.0, 3.0]]), [1]), (3, 3))  # the first lies outside
    np.testing.assert_array_equal(linear.sparse(junk).toarray(), np.diag([2.0, 3.0], 1))
    short = sparse.dia_matrix((np.array([[1.0, 2.0]]), [0]), (3, 4))
    np.testing.assert_array_equal(linear.sparse(short).toarray(), short.toarray())
    far = sparse.dia_matrix((np.array([[1.0, 2.0], [4.0, 5.0]]), [0, 7]), (2, 2))
    np.testing.assert_array_equal(linear.sparse(far).toarray(), np.diag([1.0, 2.0]))


def test_a_transpose_is_made_once_and_is_not_pickled() -> None:
    _, linear = ct.linearize(ct.matmul, np.ones((2, 3)), np.ones((3, 2)))
    structure = linear.structure
    assert structure.T is structure.T and structure == structure.T.T
    again = pickle.loads(pickle.dumps(structure))
    assert again == structure and "_transpose" not in vars(again)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_a_weighted_gather_adds_back_by_its_weights(engine: str) -> None:
    x, i, w = np.arange(1.0, 6.0), np.array([2, 0, 0, 1]), np.array([1.0, -2.0, 3.0, 0.5])
    with ct.use_engine(engine):
        J = ct.jacobian(lambda x: (x * x)[i])(x)
        assert J.kind == "weighted gather"
        np.testing.assert_array_equal(J.T(w), [2.0, 2.0, 6.0, 0.0, 0.0])
