"""Diagonals, traces, entries and bands by structure, against those of dense matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import catad as ct
from catad import linear
from catad.linear.families.block import Block, Chain
from catad.linear.families.delta import delta
from catad.linear.matrix import as_matrix, columns, entries
from catad.testing import linear_maps

from .cases import block_cases, square_cases

CASES = {**square_cases(5), **{f"block {name}": case for name, case in block_cases(3).items()}}
F64 = np.dtype(np.float64)


def matrix(L: ct.LinearMap) -> Any:
    return L.todense().reshape(L.shape)


def assert_reads(L: ct.LinearMap, want: Any) -> None:
    m, n = want.shape
    same = np.testing.assert_array_equal
    for k in range(-m - 1, n + 2):
        found = L.diagonal(k)
        inside = -m < k < n
        same(found, np.diagonal(want, k) if inside else np.zeros(0))
        assert found.dtype == np.result_type(*[leaf.dtype for leaf in L.cod.leaves] or [F64]) and found.flags.writeable
        same(L.trace(k), np.trace(want, k) if inside else 0.0)
    rows, cols, values = L.structure.entries(np, L.slots)
    made = np.zeros(want.shape, want.dtype)
    np.add.at(made, (rows, cols), values)
    same(made, want)
    lower, upper = L.structure.bandwidths
    at = np.argwhere(want)
    assert all(-upper <= r - c <= lower for r, c in at)


@pytest.mark.parametrize("name", CASES)
def test_of_each_family(name: str) -> None:
    L, want = CASES[name]
    assert_reads(L, want)
    assert_reads(L.T, want.T)
    assert_reads(2 * L, 2 * want)


def test_of_a_chain_of_one_factor_whose_entries_share_slots() -> None:
    """It is no chain in a chain without end."""
    number = delta((), (), (), (), F64, F64, F64, 2.0)
    row = Block((((number, (0,)), (number, (1,))),), number.dom * 2, number.cod, number.slots * 2)
    shared = Chain(((row, (0, 0)),), number.slots)
    L = ct.LinearMap(ct.f64[()] * ct.f64[()], ct.f64[()], shared, [np.array(3.0)])
    np.testing.assert_array_equal(matrix(L), [[6.0, 6.0]])
    both = Block((((number, (0,)), None), (None, (number, (1,)))), number.dom * 2, number.cod * 2, number.slots * 2)
    square = Chain(((both, (0, 0)),), number.slots)
    scaled = ct.LinearMap(ct.f64[()] * ct.f64[()], ct.f64[()] * ct.f64[()], square, [np.array(3.0)])
    assert_reads(scaled, matrix(scaled))
    assert [float(x) for x in scaled.solve((6.0, 12.0))] == [1.0, 2.0]
    assert_reads(L, matrix(L))


@given(linear_maps(small_integers=True))
def test_of_drawn_maps(L: ct.LinearMap) -> None:
    want = L.todense(force=True).reshape(L.shape)
    assert_reads(L, want)


def test_of_a_network_whose_paths_are_more_than_its_entries() -> None:
    """From one number to one over two wide layers: the products of all paths would be more than the array has numbers."""
    weights = np.arange(1.0, 6).reshape(5, 1)
    wide, thin = [ct.fork(ct.const(w), ct.id) >> ct.einsum("ij,j->i") for w in (weights, weights.T)]
    for n in (1, 3):
        f = ct.fork(wide >> ct.square >> thin, wide >> thin) >> ct.mul
        f = f if n == 1 else ct.fork(ct.sum() >> ct.reshape((1,)) >> f, ct.slice(0, 1)) >> ct.mul
        L = ct.linearize(f, np.ones(n))[1]
        assert L.structure.graph is not None
        assert n > 1 or (L.structure.entry_count or 0) > 1
        assert_reads(L, matrix(L))


@given(linear_maps(small_integers=True, depth=1), st.integers(1, 3))
def test_of_drawn_maps_by_probing(L: ct.LinearMap, block: int) -> None:
    """The way of families that say nothing of themselves, in blocks of few columns."""
    want = L.todense(force=True).reshape(L.shape)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "BLOCK", block * max(1, *L.shape))
        for k in range(1 - L.shape[0], L.shape[1]):
            np.testing.assert_array_equal(entries._probed(L.structure, np, L.slots, k), np.diagonal(want, k))


@pytest.mark.parametrize("sizes", [(2, 3, 4), (1, 3, 1), (3, 0, 2), (2, 2, 2)])
@pytest.mark.parametrize(
    ("out", "ins", "slot"),
    [
        ((0, 1), (0, 1), (0, 1)), ((0, 1), (1, 0), (0,)), ((0, 1), (0, 2), (1, 2)), ((0, 1), (0, 2), (0, 1, 2)),
        ((0, 0), (0,), (0,)),
        ((0, 1), (2,), (2, 1)), ((0, 1), (0, 1), (2,)), ((0, 1), (0, 1), (0, 2)), ((1, 0), (0, 1), None), ((0, 0), (1, 0), None),
        ((), (0, 1), (1,)), ((0, 1, 2), (2, 1, 0), (1, 1)), ((0,), (), None),
    ],
)  # fmt: skip
def test_of_labelled_axes(out: tuple, ins: tuple, slot: tuple | None, sizes: tuple) -> None:
    structure = delta(out, ins, slot, sizes, F64, F64, None if slot is None else F64, -2.0)
    slots = [np.arange(1.0, 1 + s.size).reshape(s.shape) for s in structure.slots]
    L = ct.LinearMap(structure.dom[0], structure.cod[0], structure, slots)
    assert_reads(L, matrix(L))


@pytest.mark.parametrize(
    "f", [ct.reshape((6,)), ct.transpose(), ct.flip(), ct.slice(None, None, -2), ct.pad(1, 2), ct.pad(1, -1)]
)
def test_of_moves(f: ct.D) -> None:
    L = ct.linearize(f, np.zeros((2, 3)))[1]
    assert_reads(L, matrix(L))


def test_scaled_rows_and_columns_make_nothing_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 100_000
    d, e = np.arange(1.0, 1 + n), np.arange(n) % 7 + 1.0
    monkeypatch.setattr(entries, "_probed", None)
    monkeypatch.setattr(as_matrix, "todense", None)
    for between, diagonal in [
        (linear.recurrence(np.full(n, 0.5)), np.ones(n)),
        (linear.cumulative_sum(ct.f64[n]).T, np.ones(n)),
        (linear.gather(np.arange(n) // 2, ct.f64[n]), (np.arange(n) == 0) * 1.0),
        (linear.identity(ct.f64[n]) + linear.zero(ct.f64[n], ct.f64[n]), np.ones(n)),
    ]:
        L = ct.scale(e) >> between >> ct.scale(d)
        np.testing.assert_array_equal(L.diagonal(), d * e * diagonal)
        np.testing.assert_array_equal(linear.cross(L, L).trace(), 2 * (d * e * diagonal).sum())


def test_a_band_takes_as_many_products_as_it_has_diagonals(monkeypatch: pytest.MonkeyPatch) -> None:
    scipy_sparse = pytest.importorskip("scipy.sparse")
    n = 1000
    band = scipy_sparse.diags([np.arange(1.0, n), np.arange(1.0, n + 1), np.ones(n - 1)], [-1, 0, 1], format="dia")
    L = linear.sparse(band)
    assert L.structure.bandwidths == (1, 1) and (L @ L).structure.bandwidths == (2, 2)
    free = linear.recurrence(np.full(n, 0.5)) >> linear.recurrence(np.full(n, 0.5), reverse=True)
    asked = []
    apply = entries.images
    monkeypatch.setattr(entries, "images", lambda *args: asked.append(args[-1]) or apply(*args))
    monkeypatch.setattr(entries, "BLOCK", 0)
    np.testing.assert_array_equal((L @ L).diagonal(1), (band @ band).diagonal(1))
    assert sum(asked) <= 5
    f = ct.map(ct.D(lambda x: (x * x, ct.scale(2.0 * x))))
    assert_reads(ct.linearize(f, np.arange(4.0))[1], np.diag(2 * np.arange(4.0)))
    np.testing.assert_allclose(free.diagonal(), np.asarray(free.todense()).diagonal())


def test_of_sparse_matrices() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(0)
    for shape in [(300, 300), (50, 200), (200, 50)]:
        S = sparse.random(*shape, density=0.05, random_state=rng)
        L = linear.sparse(S)
        for k in (0, 3, -7):
            np.testing.assert_allclose(L.diagonal(k), S.diagonal(k), rtol=1e-15)
        np.testing.assert_allclose((L.T @ L).diagonal(), (S.T @ S).diagonal(), rtol=1e-14, atol=1e-15)
        np.testing.assert_allclose(L.trace(), S.trace(), rtol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtypes_numbers_and_mistakes(dtype: Any) -> None:
    L = ct.scale(np.array([1.0, np.nan, np.inf], dtype))
    np.testing.assert_array_equal(L.diagonal(), [1.0, np.nan, np.inf])
    assert L.diagonal().dtype == dtype and type(L.trace()) is dtype
    assert ct.scale(3.0).diagonal().tolist() == [3.0] and linear.identity(ct.Unit).diagonal().shape == (0,)
    assert linear.identity(ct.f32[2]).trace() == 2.0 and linear.zero(ct.f64[0], ct.f64[2]).trace() == 0.0
    with pytest.raises(TypeError):
        L.diagonal(0.5)  # type: ignore[arg-type]
    fresh = L.diagonal()
    fresh[:] = 0.0
    assert L.slots[0][0] == 1.0


def test_entries_that_meet_in_too_many_pairs_are_not_written_out() -> None:
    n, zeros = 3000, np.zeros(3000, np.int64)
    L = ct.scale(np.arange(1.0, 1 + n)) >> linear.scatter_add(zeros, ct.f64[n]) >> linear.gather(zeros, ct.f64[n])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entries, "BLOCK", 1000)
        with pytest.raises(entries.Crowded):
            L.structure.entries(np, L.slots)
        np.testing.assert_array_equal(L.diagonal(), np.arange(1.0, 1 + n))
        with pytest.raises(ct.SolveError):
            (L + L).solve(np.arange(3000.0))


def test_networks_become_sparse_or_dense_matrices_by_their_entries() -> None:
    pytest.importorskip("scipy.sparse")
    n = 5000  # too large for a dense array
    f = ct.fork(ct.sin, ct.flip()) >> ct.mul
    x = np.linspace(0.1, 1.0, n)
    S = ct.linearize(f, x)[1].tocsr()
    assert S.nnz <= 2 * n
    np.testing.assert_allclose(S @ np.ones(n), ct.linearize(f, x)[1](np.ones(n)))
    A = np.arange(36.0).reshape(6, 6)
    crowded = ct.fork(ct.id, ct.flip()) >> ct.add >> ct.fork(ct.lift(A), ct.lift(A.T)) >> ct.add >> ct.lift(A)
    L = ct.linearize(crowded, np.ones(6))[1]
    assert L.structure.entry_count > 36 >= len(L.structure.entries(np, L.slots).values)  # those of the array
    assert_reads(L, L.toarray())
    np.testing.assert_array_equal(L.tocsr().toarray(), L.toarray())
    np.testing.assert_array_equal(L.diagonal(1), np.diagonal(L.toarray(), 1))


def test_identities_within_a_product_do_not_hide_its_diagonal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "_probed", None)
    n = 1000
    one, space = linear.recurrence(np.full(n, 0.5)), ct.f64[n]
    parts = [(linear.identity(space).structure, ()), (one.structure, (0,)), (linear.identity(space).structure, ())]
    L = ct.LinearMap(space, space, Chain(tuple(parts), one.structure.slots), one.slots)
    np.testing.assert_array_equal(L.diagonal(), np.ones(n))
