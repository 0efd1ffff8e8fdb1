"""`L.solve(b)` by structure, against dense and banded solutions of NumPy and SciPy."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import catad as ct
from catad import linear
from catad.category.spaces import flatten, rebuild
from catad.linear.families.delta import delta
from catad.linear.matrix import as_matrix
from catad.linear.solving import general
from catad.linear.solving.solver import Solver
from catad.linear.structure import Structure, family
from catad.testing import linear_maps

from .cases import block_cases, square_cases

F64 = np.dtype(np.float64)


def numbers(*shape: int, seed: int = 0) -> Any:
    """Numbers between 1 and 2 of either sign, so that a diagonal of them is far from singular."""
    rng = np.random.default_rng(seed)
    return rng.uniform(1.0, 2.0, shape) * rng.choice([-1.0, 1.0], shape)


def matrix(L: ct.LinearMap) -> Any:
    return L.todense(force=True).reshape(L.shape)


def strong(n: int, seed: int = 0) -> Any:
    """A matrix whose diagonal outweighs its rows."""
    return numbers(n, n, seed=seed) + 3 * n * np.eye(n)


def value(space: Any, seed: int = 1) -> Any:
    leaves = [np.asarray(numbers(*leaf.shape, seed=seed), leaf.dtype) for leaf in space.leaves]
    return rebuild(space, leaves)


def flat(x: Any) -> Any:
    return np.concatenate([np.asarray(leaf).reshape(-1) for leaf in flatten(x)])


def tridiagonal(n: int) -> ct.LinearMap:
    sparse = pytest.importorskip("scipy.sparse")
    return linear.sparse(sparse.diags([numbers(n - 1), 5 + numbers(n), numbers(n - 1)], [-1, 0, 1], format="dia"))


def laplacian(n: int) -> Any:
    sparse = pytest.importorskip("scipy.sparse")
    line = sparse.diags([-np.ones(n - 1), np.full(n, 2.5), -np.ones(n - 1)], [-1, 0, 1])
    return (sparse.kron(line, sparse.eye(n)) + sparse.kron(sparse.eye(n), line)).tocsr()


AFFINE = ct.scan(lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1]), (1.0, 0.0))
SEGMENTED = ct.segmented_scan(lambda a, b: a * b, 1.0)
FLAGS = np.array([1, 0, 1, 0, 0, 1], bool)
MAPS: dict[str, tuple[Any, str]] = {
    "identity": (lambda: linear.identity(ct.f64[4]), "identity"),
    "multiple": (lambda: -2 * linear.identity(ct.f64[2, 3]), "diagonal"),
    "diagonal": (lambda: ct.scale(numbers(2, 3)), "diagonal"),
    "number": (lambda: ct.scale(np.array(3.0)), "diagonal"),
    "transposition": (lambda: ct.linearize(ct.transpose(), np.zeros((2, 3)))[1], "permutation"),
    "flip": (lambda: ct.linearize(ct.flip(), np.zeros((3, 2)))[1], "permutation"),
    "reshape": (lambda: ct.linearize(ct.reshape((6,)), np.zeros((3, 2)))[1], "identity"),
    "gather": (lambda: linear.gather(np.array([2, 0, 3, 1]), ct.f64[4, 2]), "permutation"),
    "weighted gather": (
        lambda: ct.scale(numbers(4)).multiply(linear.gather(np.array([2, 0, 3, 1]), ct.f64[4])), "permutation"
    ),
    "weighted scatter-add": (
        lambda: ct.scale(numbers(4)).multiply(linear.gather(np.array([2, 0, 3, 1]), ct.f64[4])).T, "permutation"
    ),
    "scatter-add": (lambda: linear.scatter_add(np.array([2, 0, 3, 1]), ct.f64[4]), "permutation"),
    "recurrence": (lambda: linear.recurrence(numbers(6)), "recurrence"),
    "recurrence of rows": (lambda: linear.recurrence(numbers(6, 2)), "recurrence"),
    "recurrence backwards": (lambda: linear.recurrence(numbers(6), reverse=True), "recurrence"),
    "recurrence transposed": (lambda: linear.recurrence(numbers(6, 2)).T, "recurrence"),
    "cumulative sum": (lambda: linear.cumulative_sum(ct.f64[5, 2]), "recurrence"),
    "affine scan": (lambda: ct.linearize(AFFINE, (numbers(5), numbers(5, seed=3)))[1], "chain"),
    "segmented scan": (lambda: ct.linearize(SEGMENTED, (FLAGS, numbers(6)))[1], "chain"),
    "dense": (lambda: linear.dense(strong(5)), "dense"),
    "dense between grids": (lambda: linear.dense(strong(6).reshape(2, 3, 3, 2), ct.f64[3, 2]), "dense"),
    "lower": (lambda: linear.dense(np.tril(strong(150))), "triangular"),
    "upper": (lambda: linear.dense(np.triu(strong(150))), "triangular"),
    "one by one": (lambda: linear.dense(np.array([[4.0]])), "diagonal"),
    "chain": (lambda: ct.scale(numbers(5)) >> linear.recurrence(numbers(5)) >> linear.dense(strong(5)), "chain"),
    "through a larger space": (
        lambda: linear.dense(np.vstack([np.eye(3), numbers(4, 3)])) >> linear.dense(numbers(3, 7)), "dense"
    ),
    "cross": (lambda: linear.cross(linear.recurrence(numbers(3)), linear.dense(strong(2))), "blocks"),
    "triangular blocks": (
        lambda: linear.block(
            [[linear.dense(numbers(2, 3)), ct.scale(numbers(2))], [linear.dense(strong(3)), linear.zero(ct.f64[2], ct.f64[3])]],
            ct.f64[3] * ct.f64[2], ct.f64[2] * ct.f64[3],
        ), "blocks",
    ),
    "coupled blocks": (
        lambda: linear.block(
            [[ct.scale(5 + numbers(4)), ct.scale(numbers(4))], [ct.scale(numbers(4, seed=2)), ct.scale(5 + numbers(4))]],
            ct.f64[4] * ct.f64[4], ct.f64[4] * ct.f64[4],
        ), "dense",
    ),
    "nested": (
        lambda: linear.cross(linear.cross(ct.scale(numbers(2)), ct.scale(numbers(3))), linear.identity(ct.f64[()])), "blocks"
    ),
    "sum of diagonals": (lambda: ct.scale(numbers(400)) + 7 * linear.identity(ct.f64[400]), "diagonal"),
    "shifted dense": (lambda: linear.dense(numbers(300, 300)) + 900 * linear.identity(ct.f64[300]), "dense"),
    "band": (lambda: tridiagonal(7), "band"),
    "band of a product": (lambda: tridiagonal(60) @ tridiagonal(60), "chain"),
    "sparse": (lambda: linear.sparse(laplacian(20)), "sparse"),
    "small sparse": (lambda: linear.sparse(laplacian(3)), "dense"),
    "low rank": (lambda: 2 * linear.identity(ct.f64[300]) + linear.outer(numbers(300), numbers(300) / 100), "iterative"),
    "matrix-free": (
        lambda: linear.matrix_free(ct.exr >> 3.0 * ct.id, ct.exr >> 3.0 * ct.id, ct.f64[300], ct.f64[300]), "iterative"
    ),
    "small matrix-free": (
        lambda: linear.matrix_free(ct.exr >> 3.0 * ct.id, ct.exr >> 3.0 * ct.id, ct.f64[3], ct.f64[3]), "triangular"
    ),
    "network": (lambda: ct.linearize(ct.fork(ct.sin, ct.flip() >> (0.1 * ct.id)) >> ct.add, np.full(4, 0.2))[1], "dense"),
    "network in a row": (lambda: ct.linearize(ct.exp >> ct.scan(lambda a, b: a + b, 0.0) >> ct.flip(), numbers(5))[1], "chain"),
    "batched diagonals": (
        lambda: ct.linearize(ct.map(ct.D(lambda x: (x * x, ct.scale(2.0 * x)))), numbers(3, 2))[1], "diagonal"
    ),
    "batched": (
        lambda: ct.linearize(ct.map(ct.D(lambda x: (2.0 * x, ct.linear.recurrence(x)))), numbers(3, 4))[1], "batch"
    ),
    "batch of one map": (
        lambda: ct.linearize(ct.map(ct.D(lambda x: (2.0 * x, ct.linear.cumulative_sum(ct.f64[4])))), numbers(3, 4))[1], "batch"
    ),
    "loop": (lambda: ct.linearize(ct.iterate(ct.fork(ct.tanh, ct.id) >> ct.add, 3), numbers(4))[1], "triangular"),
}  # fmt: skip


COMPILED = ("recurrence", "recurrence transposed", "chain", "triangular blocks", "gather", "band", "low rank")


@pytest.mark.quick(25)
@pytest.mark.parametrize(("name", "engine"), [*[(k, "reference") for k in MAPS], *[(k, "cpu") for k in COMPILED]])
def test_solutions_by_structure_are_those_of_the_matrix(name: str, engine: str) -> None:
    make, method = MAPS[name]
    with ct.use_engine(engine):
        L = make()
        assert not method or L.solver.method == method, L.solver
        A, x = matrix(L), value(L.dom)
        b = L(x)
        found = L.solve(b)
        assert ct.space_of(found) == L.dom
        np.testing.assert_allclose(flat(found), np.linalg.solve(A, flat(b)), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(flat(found), flat(x), rtol=1e-9, atol=1e-9)
        B = numbers(L.shape[0], 3, seed=5)
        np.testing.assert_allclose(L.solve(B), np.linalg.solve(A, B), rtol=1e-8, atol=1e-9)
        vector = numbers(L.shape[0], seed=6)
        if not isinstance(L.cod, ct.Tensor) or L.cod.shape != vector.shape:
            np.testing.assert_allclose(L.solve(vector), np.linalg.solve(A, vector), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", ["diagonal", "recurrence", "dense", "lower", "chain", "gather", "low rank", "band", "sparse"])
def test_single_precision_stays(name: str) -> None:
    L = MAPS[name][0]()
    float32 = np.dtype(np.float32)
    narrow = _narrow(L)
    b = numbers(L.shape[0]).astype(float32)
    b = b.reshape(L.cod.shape)
    found = narrow.solve(b)
    assert found.dtype == float32 and narrow.solve(b.reshape(-1, 1)).dtype == float32
    np.testing.assert_allclose(found, L.solve(b.astype(float)), rtol=2e-3, atol=2e-3)


def _narrow(L: ct.LinearMap) -> ct.LinearMap:
    """The same map with numbers in single precision, through its sparse matrix, or by hand where that is another family."""
    made = {
        "diagonal": lambda: ct.scale(L.slots[0].astype(np.float32)),
        "recurrence": lambda: linear.recurrence(L.slots[0].astype(np.float32)),
        "gather": lambda: linear.gather(L.slots[0], ct.f32[L.dom.shape]),
        "dense": lambda: linear.dense(matrix(L).astype(np.float32)),
    }
    if L.kind in made:
        return made[L.kind]()
    if L.shape[0] == 300:
        return 2 * linear.identity(ct.f32[300]) + linear.outer(numbers(300).astype("f4"), (numbers(300) / 100).astype("f4"))
    sparse = pytest.importorskip("scipy.sparse")
    form = sparse.csr_matrix if L.shape[0] > 7 else sparse.dia_matrix
    return linear.sparse(form(matrix(L).astype(np.float32)))


# -- against SciPy


def test_bands_and_triangles_are_those_of_scipy() -> None:
    lapack = pytest.importorskip("scipy.linalg")
    n = 5000
    L, b = tridiagonal(n), numbers(n)
    band = np.zeros((3, n))
    band[0, 1:], band[1], band[2, :-1] = L.diagonal(1), L.diagonal(), L.diagonal(-1)
    np.testing.assert_allclose(L.solve(b), lapack.solve_banded((1, 1), band, b), rtol=1e-13)
    assert repr(L.solver) == "solver: band, O(n w^2), w = 3"
    T = np.tril(numbers(300, 300)) + 300 * np.eye(300)
    B = numbers(300, 4)
    np.testing.assert_allclose(linear.dense(T).solve(B), lapack.solve_triangular(T, B, lower=True), rtol=1e-12)
    np.testing.assert_allclose(linear.dense(T).T.solve(B), lapack.solve_triangular(T.T, B), rtol=1e-12)


def test_a_recurrence_is_solved_in_one_pass_and_makes_nothing_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 1_000_000
    links = np.full(n, 0.5)
    for name in ("probes", "matrix_of", "images", "gmres"):
        monkeypatch.setattr(general, name, None)
    monkeypatch.setattr(as_matrix, "todense", None)
    L = ct.scale(numbers(n)) >> linear.recurrence(links) >> linear.recurrence(numbers(n), reverse=True).T
    x = numbers(n, seed=4)
    assert repr(linear.recurrence(links).solver) == "solver: recurrence, O(n)"
    one = linear.recurrence(links)
    np.testing.assert_allclose(one.solve(one(x)), x, rtol=1e-12)
    y = numbers(n)
    np.testing.assert_array_equal(one.solve(y)[1:], y[1:] - 0.5 * y[:-1])
    assert L.solver.method == "chain"


def test_a_large_map_is_solved_without_its_array(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 200_000
    monkeypatch.setattr(general, "matrix_of", None)
    u = numbers(n) / n
    L = ct.scale(3 + numbers(n) / 10) + linear.outer(u, numbers(n))
    b = numbers(n, seed=8)
    x = L.solve(b)
    assert np.linalg.norm(L(x) - b) <= 1e-10 * np.linalg.norm(b)
    D, v = 3 + numbers(n) / 10, numbers(n)  # Sherman and Morrison
    want = b / D - (u / D) * (v @ (b / D)) / (1 + v @ (u / D))
    np.testing.assert_allclose(x, want, rtol=1e-8, atol=1e-9)
    S = laplacian(60)
    spsolve = pytest.importorskip("scipy.sparse.linalg").spsolve
    c = numbers(3600)
    np.testing.assert_allclose(linear.sparse(S).solve(c), spsolve(S.tocsc(), c), rtol=1e-10, atol=1e-12)


# -- drawn maps


@given(linear_maps(depth=1), st.integers(0, 3))
def test_drawn_maps_are_solved_or_refused(L: ct.LinearMap, seed: int) -> None:
    A = L.todense(force=True).reshape(L.shape)
    x = value(L.dom, seed)
    square = A.shape[0] == A.shape[1]
    sound = square and (A.size == 0 or (np.isfinite(A).all() and np.linalg.cond(A.astype(float)) < 1e4))
    try:
        found = L.solve(L(x))
    except ct.SolveError:
        assert not sound
        return
    assert square
    scale = 1 + np.abs(A).max(initial=0.0) * np.abs(flat(x) if A.size else 0.0).max()
    tolerance = 1e-6 if all(leaf.dtype == F64 for leaf in (*L.dom.leaves, *L.cod.leaves)) else 3e-2
    if A.size:
        np.testing.assert_allclose(A @ flat(found), A @ flat(x), atol=tolerance * scale, rtol=tolerance)
        if sound:
            np.testing.assert_allclose(flat(found), flat(x), atol=tolerance, rtol=tolerance)


SIZES = [(2, 3, 3), (1, 2, 2), (2, 1, 1), (3, 2, 2), (1, 1, 1)]


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(
    ("out", "ins", "slot"),
    [
        ((0, 1), (0, 2), (0, 1, 2)), ((1, 0), (2, 0), (1, 2)), ((0, 1), (2, 0), (2, 0, 1)), ((0, 1), (1, 0), (0,)),
        ((1,), (2,), (1, 2, 0)), ((0, 1), (0, 1), (1,)), ((1, 0), (0, 2), (2, 1)),
    ],
)  # fmt: skip
def test_of_labelled_axes(out: tuple, ins: tuple, slot: tuple, sizes: tuple) -> None:
    structure = delta(out, ins, slot, sizes, F64, F64, F64, 0.5)
    slots = [numbers(*s.shape) for s in structure.slots]
    L = ct.LinearMap(structure.dom[0], structure.cod[0], structure, slots)
    B = numbers(L.shape[0], 2)
    np.testing.assert_allclose(L.solve(B), np.linalg.solve(matrix(L), B), rtol=1e-9, atol=1e-12)


# -- forms of the right-hand side


def test_a_right_side_is_a_value_a_flattened_vector_or_columns() -> None:
    L = ct.scale(np.array([[1.0, 2.0], [4.0, 5.0]]))
    for shape in [(2, 2), (4,), (4, 3), (4, 1)]:
        assert L.solve(np.ones(shape)).shape == shape
    assert L.solve(np.ones((4, 0))).shape == (4, 0) and L.solve(np.ones(4, int)).dtype == np.float64
    assert ct.scale(4.0).solve(2.0) == 0.5 and ct.scale(4.0).solve(np.float32(2.0)).dtype == np.float32
    assert type(ct.scale(np.array(4.0)).solve(2.0)) is np.float64
    pair = linear.cross(ct.scale(2.0), linear.cross(linear.identity(ct.f64[2]), linear.identity(ct.Unit)))
    found = pair.solve((3.0, (np.ones(2), ())))
    assert found[0] == 1.5 and found[1][1] == () and pair.solve(np.ones(3)).tolist() == [0.5, 1.0, 1.0]
    assert linear.identity(ct.Unit).solve(()) == () and linear.identity(ct.f64[0]).solve(np.zeros(0)).shape == (0,)
    for way in (linear.identity(ct.f64[2]), ct.linearize(ct.flip(), np.zeros(2))[1]):
        b = np.ones(2)
        x = way.solve(b)
        x[:] = 7.0
        assert b[0] == 1.0 and x.flags.writeable


CLOSE = np.array([[1.0, 1.0], [1.0, 1.0 + 2.0**-52]])


@pytest.mark.parametrize(
    ("use", "error", "words"),
    [
        (lambda: linear.dense(np.ones((2, 3))).solve(np.ones(2)), ct.SolveError, "2 equations for 3 unknowns"),
        (lambda: linear.dense(np.ones((2, 3))).solver, ct.SolveError, "of one size"),
        (lambda: linear.dense(np.ones((2, 2))).solve(np.ones(2)), ct.SolveError, "singular"),
        (lambda: linear.dense(numbers(20, 3) @ numbers(3, 20)).solve(numbers(20)), ct.SolveError, "is singular"),
        (lambda: linear.dense(CLOSE).solve(np.array([1.0, 2.0])), ct.SolveError, "singular to working precision"),
        (lambda: linear.dense(np.tril(np.ones((3, 3)), -1)).solve(np.ones(3)), ct.SolveError, "the first is number 0"),
        (lambda: ct.scale(np.array([1.0, 0.0])).solve(np.ones(2)), ct.SolveError, "number 1"),
        (lambda: ct.scale(np.array([1.0, np.nan])).solve(np.ones(2)), ct.SolveError, "NaN or infinity"),
        (lambda: ct.scale(np.array([1.0, np.inf])).solve(np.ones(2)), ct.SolveError, "a diagonal has NaN"),
        (lambda: ct.scale(np.ones(2)).solve(np.array([1.0, np.nan])), ct.SolveError, "the right-hand side has NaN"),
        (lambda: linear.dense(np.array([[1.0, np.nan], [0.0, 1.0]])).solve(np.ones(2)), ct.SolveError, "a matrix has NaN"),
        (lambda: linear.recurrence(np.array([1.0, np.inf])).solve(np.ones(2)), ct.SolveError, "the solution has NaN"),
        (lambda: linear.zero(ct.f64[2], ct.f64[2]).solve(np.ones(2)), ct.SolveError, "zero by structure"),
        (lambda: ct.linearize(ct.pad(1, -1), np.zeros(3))[1].solve(np.ones(3)), ct.SolveError, "rows are zero by structure"),
        (lambda: linear.gather(np.array([0, 0]), ct.f64[2]).solve(np.ones(2)), ct.SolveError, "1 more than once"),
        (lambda: linear.gather(np.array([0, 5]), ct.f64[2]).solve(np.ones(2)), ct.SolveError, "1 numbers are read never"),
        (lambda: linear.outer(np.ones(2), np.ones(2)).solve(np.ones(2)), ct.SolveError, "singular"),
        (lambda: linear.outer(np.ones(300), np.ones(300)).solve(numbers(300)), ct.ConvergenceError, "did not converge"),
        (lambda: linear.sparse(laplacian(20) * 0.0).solve(np.ones(400)), ct.SolveError, "singular"),
        (lambda: (tridiagonal(9) - tridiagonal(9)).solve(np.ones(9)), ct.SolveError, "singular"),
        (lambda: ct.scale(np.ones(2)).solve(np.ones(3)), ct.SpaceError, "shape (3,)"),
        (lambda: ct.scale(np.ones(2)).solve((np.ones(2), 1.0)), ct.SpaceError, "the right-hand side does not lie"),
        (lambda: ct.scale(np.ones(2)).solve([1.0, 2.0]), ct.SpaceError, "np.asarray"),
        (lambda: ct.scale(np.ones(2, np.float32)).solve(np.ones(2)), ct.SpaceError, "f32[2]"),
        (lambda: ct.scale(np.ones(2, np.float32)).solve(np.ones((2, 2))), ct.SpaceError, "x.astype('float32')"),
        (lambda: ct.scale(np.ones(2)).solve(np.ones(2), rtol=2.0), ct.ArgumentError, "between 0 and 1"),
        (lambda: ct.scale(np.ones(2)).solve(np.ones(2), rtol="a"), ct.ArgumentError, "between 0 and 1"),
    ],
)
def test_what_cannot_be_solved_is_refused(use: Any, error: Any, words: str) -> None:
    with pytest.raises(error) as caught:
        use()
    assert words in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)


def test_errors_are_those_of_numpy_and_tell_the_residual() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        linear.dense(np.ones((2, 2))).solve(np.ones(2))
    n = 500
    rough = ct.scale(np.geomspace(1e-9, 1.0, n)) + linear.outer(np.ones(n), np.ones(n))
    with pytest.raises(ct.ConvergenceError) as caught:
        rough.solve(numbers(n), rtol=1e-12)
    assert 1e-12 < caught.value.residual <= 1.0
    x = rough.solve(numbers(n), rtol=0.9)
    assert np.linalg.norm(rough(x) - numbers(n)) <= 0.9 * np.linalg.norm(numbers(n))


def test_badly_scaled_maps_are_not_singular() -> None:
    d = np.array([1e-200, 1.0, 1e200])
    b = np.array([1e-200, 3.0, 2e200])
    for L in (ct.scale(d), linear.dense(np.diag(d)), linear.dense(np.diag(d) + np.triu(np.full((3, 3), 1e-210), 1))):
        np.testing.assert_allclose(L.solve(b), [1.0, 3.0, 2.0], rtol=1e-9)
    rows = np.array([[1.0, 2.0], [3e-20, 4e-20]])
    np.testing.assert_allclose(linear.dense(rows).solve(np.array([3.0, 7e-20])), [1.0, 1.0])
    big = 2 * linear.identity(ct.f32[300]) + linear.outer(np.full(300, 1e-3, np.float32), np.ones(300, np.float32))
    np.testing.assert_allclose(big.solve(np.full(300, 1e30, np.float32)), np.full(300, 1e30 / 2.3), rtol=1e-4)


def test_cuts_stop_what_is_not_finite() -> None:
    L = MAPS["segmented scan"][0]()
    x = numbers(6)
    np.testing.assert_allclose(L.T.solve(L.T(x)), x, rtol=1e-12)


@pytest.mark.numpy_only
@pytest.mark.filterwarnings("ignore::catad.errors.CatadNotice")
def test_solving_within_a_derivative_by_hand_is_code_that_is_not_traced() -> None:
    f = ct.D(lambda x: (x * x, ct.linear.dense(np.diag(ct.scale(1.0 / (2.0 * x)).solve(np.ones(2))))))
    np.testing.assert_allclose(ct.jacobian(f)(np.array([1.0, 2.0])).toarray(), np.diag([2.0, 4.0]))


def test_newton_steps_by_the_jacobian() -> None:
    f = ct.fork(ct.map(lambda x: x * x * x), ct.flip()) >> ct.map(lambda c, r: c + 0.1 * r - 2.0)
    x = np.linspace(1.0, 2.0, 6)
    for _ in range(8):
        x = x - ct.jacobian(f)(x).solve(f(x))
    np.testing.assert_allclose(f(x), 0.0, atol=1e-12)


@pytest.mark.parametrize("name", [*square_cases(4), *block_cases(3)])
def test_each_case_is_solved_as_numpy_solves_it(name: str) -> None:
    L, want = {**square_cases(4), **block_cases(3)}[name]
    b = np.arange(1.0, 1 + L.shape[0])
    try:
        expected = np.linalg.solve(want, b)
    except np.linalg.LinAlgError:
        with pytest.raises(ct.SolveError):
            L.solve(b[:, None])
        return
    np.testing.assert_allclose(L.solve(b[:, None])[:, 0], expected, rtol=1e-9, atol=1e-9)


# -- families from outside


@family
class Twice(Structure):
    """A family that says only what it must."""

    space: ct.Tensor
    slots = ()

    @property
    def dom(self) -> tuple[ct.Tensor, ...]:
        return (self.space,)

    @property
    def cod(self) -> tuple[ct.Tensor, ...]:
        return (self.space,)

    @property
    def T(self) -> Structure:
        return self

    def apply(self, b: Any, slots: Any, xs: Any) -> Any:
        return [None if x is None else x + x for x in xs]

    @property
    def kind(self) -> str:
        return "twice"

    @property
    def nnz(self) -> int:
        return self.space.size


@family
class Doubled(Twice):
    """One that says more."""

    def diagonal(self, xp: Any, slots: Any, k: int = 0) -> Any:
        return xp.full(max(0, self.rows - abs(k)), 2.0 if k == 0 else 0.0)

    def solver(self, xp: Any, slots: Any, rtol: float | None = None) -> Solver:
        return Solver("halving", "O(n)", lambda ys: [ys[0] / 2])


OUTSIDE = [(Twice, 4, "triangular"), (Twice, 400, "iterative"), (Doubled, 400, "halving")]


@pytest.mark.parametrize(("kind", "n", "method"), OUTSIDE)
def test_a_family_from_outside_is_read_and_solved(kind: type, n: int, method: str) -> None:
    L = ct.LinearMap(ct.f64[n], ct.f64[n], kind(ct.f64[n]), ())
    assert L.solver.method == method and L.trace() == 2 * n and L.diagonal(1).sum() == 0
    both = linear.cross(L, ct.scale(np.array([4.0])))
    np.testing.assert_allclose(both.solve(np.ones(n + 1)), np.append(np.full(n, 0.5), 0.25), rtol=1e-12)
    assert both.solver.parts[0].method == method and both.trace() == 2 * n + 4
