"""Products of every pair of families against the dense product, and the structure that they keep."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import catad as ct
from catad import linear
from catad.linear import products
from catad.linear.families import table
from catad.linear.families.delta import Delta
from catad.linear.families.gather import Gather, ScatterAdd
from catad.linear.structure import Structure

from .cases import block_cases, square_cases

N = 5
SQUARE = square_cases(N)
OTHER = square_cases(N, seed=1)
BLOCKS = block_cases(4)


def matrix(linear_map: ct.LinearMap) -> np.ndarray:
    return linear_map.todense().reshape(linear_map.shape)


@pytest.mark.parametrize("name", [*SQUARE, *BLOCKS])
def test_a_map_is_its_matrix(name: str) -> None:
    L, want = {**SQUARE, **BLOCKS}[name]
    assert np.array_equal(matrix(L), want)
    assert np.array_equal(matrix(L.T), want.T)
    assert np.array_equal(L.tocsr().toarray(), want)
    v = np.arange(1.0, 1 + want.shape[1])
    w = np.arange(1.0, 1 + want.shape[0])
    assert np.array_equal(L.matvec(v), want @ v)
    assert np.array_equal(L.rmatvec(w), want.T @ w)
    operator = L.as_linear_operator()
    assert np.array_equal(operator @ v, want @ v) and np.array_equal(operator.T @ w, want.T @ w)
    assert L.nnz >= np.count_nonzero(want)


@pytest.mark.parametrize("first", SQUARE)
def test_product_of_every_pair_is_the_dense_product(first: str) -> None:
    L, a = SQUARE[first]
    for second, (M, b) in OTHER.items():
        for product in (L >> M, M @ L, M.multiply(L), (L.T.multiply(M.T)).T):
            assert np.array_equal(matrix(product), b @ a), (second, product)
        assert np.array_equal(matrix((L >> M).T), (b @ a).T), second
        assert np.array_equal(matrix(L + M), a + b), second


@pytest.mark.parametrize(
    ("first", "second"),
    [(f, g) for f, g in itertools.product(BLOCKS, BLOCKS) if BLOCKS[f][0].cod == BLOCKS[g][0].dom],
)
def test_products_of_blocks(first: str, second: str) -> None:
    (L, a), (M, b) = BLOCKS[first], BLOCKS[second]
    for product in (L >> M, M.multiply(L)):
        assert np.array_equal(matrix(product), b @ a)


def test_the_table_has_one_rule_for_every_pair() -> None:
    assert set(table.TABLE) == set(itertools.product(table.FAMILIES, repeat=2))


def test_an_ambiguous_table_is_refused() -> None:
    class A(Structure): ...

    class B(Structure): ...

    def nothing(first: Structure, second: Structure, shared: products.Shared) -> None:
        return None

    with pytest.raises(TypeError, match="ambiguous product rules for A and B"):
        products.table([A, B], {(A, Structure): nothing, (Structure, B): nothing, (Structure, Structure): nothing})
    with pytest.raises(TypeError, match="two product rules"):
        products.rule(Delta, Delta)(nothing)


# -- products that stay structured (design 5): the family, and how many numbers are kept


def diagonal(n: int = N) -> ct.LinearMap:
    return ct.scale(np.arange(1.0, n + 1))


def test_diagonal_times_diagonal_is_diagonal() -> None:
    product = diagonal().multiply(diagonal())
    assert (product.kind, product.stored) == ("diagonal", N)


def test_dense_times_diagonal_is_dense() -> None:
    product = linear.dense(np.ones((3, N))).multiply(diagonal())
    assert (product.kind, product.stored) == ("dense", 3 * N)


@pytest.mark.parametrize("name", ["flip", "shift"])
def test_a_diagonal_passes_through_a_reindex(name: str) -> None:
    product = SQUARE[name][0].multiply(diagonal())
    assert product.kind.startswith("chain of") and product.kind.endswith("diagonal") and product.stored == N
    again = diagonal().multiply(product)  # and joins the next one
    assert again.stored == N


def test_a_diagonal_is_absorbed_by_gather_and_scatter_add() -> None:
    index = np.array([0, 2, 2])
    before = linear.gather(index, ct.f64[N]).multiply(diagonal())
    after = diagonal(3).multiply(linear.gather(index, ct.f64[N]))
    for product in (before, after):
        assert isinstance(product.structure, Gather) and product.stored == 3 + 3
    into = linear.scatter_add(index, ct.f64[N]).multiply(diagonal(3))
    out_of = diagonal().multiply(linear.scatter_add(index, ct.f64[N]))
    for product in (into, out_of):
        assert isinstance(product.structure, ScatterAdd) and product.stored == 3 + 3
    assert np.array_equal(matrix(before), matrix(linear.gather(index, ct.f64[N])) @ np.diag(np.arange(1.0, N + 1)))


def test_gather_of_gather_is_a_gather() -> None:
    first, second = linear.gather(np.array([4, -1, 2, 9]), ct.f64[N]), linear.gather(np.array([3, 0, 7, 1]), ct.f64[4])
    product = second.multiply(first)
    assert isinstance(product.structure, Gather) and product.stored == 4
    assert np.array_equal(matrix(product), matrix(second) @ matrix(first))
    backwards = first.T.multiply(second.T)
    assert isinstance(backwards.structure, ScatterAdd)
    assert np.array_equal(matrix(backwards), matrix(product).T)


def test_gather_then_scatter_add_by_the_same_indices_is_diagonal() -> None:
    gather = linear.gather(np.array([0, 2, 2, 7]), ct.f64[N])
    product = gather.T.multiply(gather)
    assert (product.kind, product.stored) == ("diagonal", N)
    assert np.array_equal(matrix(product), np.diag([1.0, 0, 2, 0, 0]))
    other = linear.gather(np.array([0, 2, 2, 7]), ct.f64[N])  # equal indices, but not known to be
    assert other.T.multiply(gather).kind.startswith("chain")


def test_outer_products_stay_rank_one() -> None:
    u, v = np.arange(1.0, 4), np.arange(1.0, 5)
    outer = linear.outer(u, v)
    assert outer.stored == 7
    after = diagonal(3).multiply(outer)
    before = outer.multiply(diagonal(4))
    assert after.stored == 7 and before.stored == 7
    assert linear.dense(np.ones((6, 3))).multiply(outer).stored == 6 + 4
    assert np.array_equal(matrix(after), np.diag(np.arange(1.0, 4)) @ np.outer(u, v))


def test_reindex_of_reindex_is_a_reindex() -> None:
    _y, L = ct.linearize(ct.slice(1, None, 3) >> ct.flip() >> ct.slice(0, 2) >> ct.pad(1, 2), np.zeros(11))
    plan = ct.jacobian(ct.slice(1, None, 3) >> ct.flip() >> ct.slice(0, 2) >> ct.pad(1, 2))(np.zeros(11))
    assert plan.stored == 0 and not plan.kind.startswith("chain")
    assert np.array_equal(plan.todense(), L.todense())


def test_blocks_multiply_blockwise() -> None:
    a = linear.cross(diagonal(), diagonal())
    product = a.multiply(a)
    assert product.kind == "block 2x2" and product.stored == 2 * N


def test_recurrence_times_recurrence_stays_a_chain() -> None:
    r = linear.recurrence(np.ones(N))
    assert r.multiply(r).kind == "chain of recurrence >> recurrence"


def test_a_product_that_costs_something_is_not_made_by_composing() -> None:
    assert (linear.dense(np.ones((3, N))) @ diagonal()).kind.startswith("chain")
    transposition = ct.linearize(ct.transpose(), np.zeros((2, 3)))[1]
    assert (transposition >> transposition.T).kind == "identity"
    assert (diagonal() >> linear.zero(ct.f64[N], ct.f64[2])).kind == "zero"


# -- maps between ranks


@pytest.mark.parametrize(
    ("term", "shape"),
    [
        (ct.sum(axis=1), (3, 4)),
        (ct.replicate(3), (4,)),
        (ct.map(lambda x: x * x) >> ct.sum(axis=0), (3, 4)),
        (ct.fork(ct.id, ct.sum(axis=0)) >> ct.mul, (3, 4)),
        (ct.fork(ct.sum(axis=1), ct.sum(axis=0)) >> ct.einsum("i,j->ij"), (3, 4)),
        (ct.fork(ct.id, ct.sum()) >> ct.cross(ct.sum(axis=0), ct.replicate(2)) >> ct.concatenate(), (3, 4)),
    ],
)
def test_maps_between_ranks_and_tuples_of_unequal_ranks(term: ct.D, shape: tuple[int, ...]) -> None:
    x = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
    L = ct.jacobian(term)(x)
    columns = [ct.jvp(term, (x,), (e.reshape(shape),))[1].reshape(-1) for e in np.eye(x.size)]
    assert np.array_equal(matrix(L), np.stack(columns, axis=1))
    assert L.todense().shape == (*term.spaces(ct.space_of(x)).shape, *shape)
