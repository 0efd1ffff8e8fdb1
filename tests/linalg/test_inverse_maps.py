"""Inverses of linear maps by their structure: numbers, transposes, derivatives in traced functions, rules and ct.D, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import dia_matrix

import catad as ct
from catad.linear.families.inverse import Inverse
from catad.testing import check_grads, check_linear_map

RNG = np.random.default_rng(17)
N = 32
D = RNG.normal(size=N) + 5.0
U, V = RNG.normal(size=(N, 3)), 0.2 * RNG.normal(size=(3, N))


def near(n: int, *leading: int) -> Any:
    return RNG.normal(size=(*leading, n, n)) + 4.0 * np.eye(n)


MAPS = {
    "identity": ct.linear.identity(ct.f64[4]),
    "diagonal": ct.scale(D),
    "number": 2.0 * ct.linear.identity(ct.f64[3]),
    "dense": ct.linear.dense(near(5)),
    "dense of several axes": ct.linear.dense(near(6).reshape(2, 3, 6), ct.f64[6]),
    "blocks": ct.linear.einsum("aij,ajk->aik", near(4, 3), ct.f64[3, 4, 2]),
    "kronecker": ct.linear.einsum("ij,aj->ai", near(4), ct.f64[3, 4]),
    "transposed diagonal": ct.linear.einsum("ab,ab->ba", 1 + RNG.random(size=(4, 3)), ct.f64[4, 3]),
    "recurrence": ct.linear.cumulative_sum(ct.f64[6]),
    "chain": ct.linear.cumulative_sum(ct.f64[6]) >> ct.scale(np.arange(1.0, 7)) >> ct.linear.dense(near(6)),
    "three diagonals": ct.linear.sparse(dia_matrix((np.stack([0.1 * D, D, 0.2 * D]), [-1, 0, 1]), shape=(N, N))),
    "four diagonals": ct.linear.sparse(dia_matrix((np.stack([0.1 * D, D, 0.2 * D, D / 7]), [-1, 0, 1, 2]), shape=(N, N))),
    "thin change": ct.scale(D) + (ct.linear.dense(V) >> ct.linear.dense(U)),
    "rank one": ct.linear.identity(ct.f64[4, 8]) + ct.linear.outer(U[:, 0].reshape(4, 8), V[0].reshape(4, 8)),
    "bands and rank one": ct.linear.sparse(dia_matrix((np.stack([0.1 * D, D, 0.2 * D]), [-1, 0, 1]), shape=(N, N)))
    + ct.linear.outer(U[:, 0], V[0]),
    "grid": ct.linear.cross(ct.scale(D), ct.linear.dense(near(3))),
    "triangular grid": ct.linear.block(
        [[ct.scale(D[:3]), ct.linear.zero(ct.f64[3], ct.f64[3])], [ct.scale(D[3:6]), ct.linear.dense(near(3))]],
        ct.product(ct.f64[3], ct.f64[3]),
        ct.product(ct.f64[3], ct.f64[3]),
    ),
}
KINDS = {
    "identity": "identity",
    "diagonal": "diagonal",
    "number": "scale",
    "transposed diagonal": "diagonal",
    "blocks": "inverse block-diagonal",
    "recurrence": "inverse recurrence",
    "thin change": "sum of 2 maps",
    "grid": "block 2x2",
}


def matrix(L: ct.LinearMap) -> Any:
    return np.stack([L.matvec(e) for e in np.eye(L.shape[1])], axis=1)


@pytest.mark.parametrize("name", MAPS)
def test_an_inverse_and_its_transpose(name: str) -> None:
    L = MAPS[name]
    M, a, one = ct.linear.inverse(L), matrix(L), np.eye(L.shape[0])
    assert M.kind == KINDS.get(name, M.kind) and (M.dom, M.cod) == (L.cod, L.dom)
    np.testing.assert_allclose(matrix(M) @ a, one, atol=1e-12)
    np.testing.assert_allclose(matrix(M.T) @ a.T, one, atol=1e-12)
    check_linear_map(M)


def flat(x: Any) -> Any:
    return np.hstack([np.ravel(part) for part in (x if isinstance(x, tuple) else (x,))])


def rebuilt(L: ct.LinearMap) -> tuple[Any, tuple[Any, ...]]:
    """The map by its numbers, and these."""
    at = [k for k, slot in enumerate(L.slots) if slot.dtype.kind == "f"]

    def build(numbers: Any) -> ct.LinearMap:
        slots = list(L.slots)
        for k, array in zip(at, numbers, strict=True):
            slots[k] = array
        return ct.LinearMap(L.dom, L.cod, L.structure, slots)

    return build, tuple([np.array(L.slots[k]) for k in at])


@pytest.mark.parametrize("name", MAPS)
def test_derivatives_in_traced_functions(name: str) -> None:
    L = MAPS[name]
    build, numbers = rebuilt(L)
    parts = tuple([RNG.normal(size=leaf.shape) for leaf in L.cod.leaves])
    b = parts[0] if len(parts) == 1 else parts

    @ct.function
    def solve(numbers: Any, b: Any) -> Any:
        return build(numbers).solve(b)

    @ct.function
    def both(numbers: Any, b: Any) -> Any:
        M = ct.linear.inverse(build(numbers))
        return M.T(M(b)) if M.dom == M.cod else M(b)

    np.testing.assert_allclose(flat(solve(numbers, b)), flat(L.solve(b)), rtol=1e-9)
    check_grads(solve, numbers, b, order=2)
    check_grads(both, numbers, b, order=2)


def test_in_a_derivative_by_hand() -> None:
    def fn(p: Any) -> Any:
        d, b = p
        x = ct.scale(d).solve(b)
        return x, (-ct.scale(x) | ct.linear.identity(ct.f64[3])) >> ct.linear.inverse(ct.scale(d))

    d, b = np.array([1.0, 2.0, 4.0]), np.array([3.0, -1.0, 2.0])
    np.testing.assert_array_equal(ct.D(fn)(d, b), b / d)
    check_grads(ct.D(fn), d, b, order=2)


def test_maps_with_stand_ins_are_applied() -> None:
    @ct.function
    def f(d: Any, x: Any) -> Any:
        L = ct.scale(d) >> ct.linear.cumulative_sum(ct.f64[3])
        return L(x) + L.T(2.0 * x) + (3.0 * ct.linear.identity(ct.f64[3]))(x)

    d, x = np.array([1.0, 2.0, 4.0]), np.array([3.0, -1.0, 2.0])
    want = np.cumsum(d * x) + d * np.cumsum((2.0 * x)[::-1])[::-1] + 3.0 * x
    np.testing.assert_allclose(f(d, x), want, rtol=1e-14)
    check_grads(f, d, x, order=2)
    with pytest.raises(ct.SpaceError, match="does not lie in the domain"):
        f(d, np.ones(2))


def test_an_inverse_keeps_one_set_of_factors() -> None:
    """The transpose and a product have the arrays of the inverse itself."""
    M = ct.linear.inverse(MAPS["dense"])
    assert all(a is b for a, b in zip(M.slots, M.T.slots, strict=True)) and len(M.slots) == 3


def test_small_dtypes() -> None:
    a = near(4).astype(np.float32)
    for L in (ct.linear.dense(a), ct.scale(a[0]), ct.linear.sparse(dia_matrix((a[:3], [-1, 0, 1]), shape=(4, 4)))):
        x = ct.linear.inverse(L)(np.ones(4, np.float32))
        assert x.dtype == np.float32
        np.testing.assert_allclose(L(x), np.ones(4), rtol=1e-4)


def test_errors() -> None:
    f = ct.function(lambda d, b: ct.scale(d).solve(b))
    with pytest.raises(ct.SolveError, match=r"1 of 3 numbers of a diagonal are 0, the first is number 1"):
        f(np.array([1.0, 0.0, 2.0]), np.ones(3))
    with pytest.raises(ct.SolveError, match="is singular"):
        ct.function(lambda a, b: ct.linear.dense(a).solve(b))(np.ones((3, 3)), np.ones(3))
    with pytest.raises(ct.SpaceError, match="right-hand side"):
        f(np.ones(3), np.ones(4))
    with pytest.raises(ct.SolveError, match="no inverse"):
        ct.linear.inverse(ct.linear.dense(np.ones((2, 3))))
    with pytest.raises(ct.SolveError, match="no inverse"):
        ct.function(lambda a, b: ct.linear.dense(a).solve(b))(np.ones((2, 3)), np.ones(2))
    with pytest.raises(ct.SpaceError, match="a linear map is expected"):
        ct.linear.inverse(np.eye(2))  # type: ignore[arg-type]
    with pytest.raises(ct.ArgumentError, match="rtol"):
        ct.function(lambda d, b: ct.scale(d).solve(b, rtol=2.0))(np.ones(3), np.ones(3))


def test_an_iterated_solution_has_its_bound_and_its_derivative() -> None:
    n = 300
    d, u = 2.0 + RNG.random(n), RNG.normal(size=n) / n

    @ct.function
    def f(d: Any, u: Any, b: Any) -> Any:
        L = ct.linear.matrix_free(forward, forward, ct.f64[n], ct.f64[n], (d, u))
        return L.solve(b, rtol=1e-10)

    def forward_of(p: Any, x: Any) -> Any:
        d, u = p
        return d * x + u * np.sum(u * x)

    forward = ct.function(forward_of)
    b = RNG.normal(size=n)
    want = np.linalg.solve(np.diag(d) + np.outer(u, u), b)
    np.testing.assert_allclose(f(d, u, b), want, rtol=1e-7)
    w = RNG.normal(size=n)
    _, pullback = ct.vjp(f, d, u, b)
    v = np.linalg.solve(np.diag(d) + np.outer(u, u), w)
    by_d, by_u, by_b = pullback(w)
    np.testing.assert_allclose(by_b, v, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(by_d, -v * want, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(by_u, -(v * (u @ want) + want * (u @ v)), rtol=1e-6, atol=1e-9)


def test_structures_print_and_pickle() -> None:
    import pickle

    for name in ("three diagonals", "dense", "thin change"):
        M = ct.linear.inverse(MAPS[name])
        again = pickle.loads(pickle.dumps(M))
        x = RNG.normal(size=M.dom.shape)
        assert again.structure == M.structure and np.array_equal(again(x), M(x))
    assert isinstance(ct.linear.inverse(MAPS["recurrence"]).structure, Inverse)
