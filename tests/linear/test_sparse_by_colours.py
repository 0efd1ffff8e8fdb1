"""Sparse matrices and arrays that are nearly all zeros, from entries by colours; oracles are the images of unit vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import catad as ct
from catad.linear.matrix import compressed, sparsity
from catad.linear.matrix.as_matrix import LARGE, may_be_spread
from catad.linear.matrix.entries import Crowded
from catad.linear.matrix.sparsity import colours_of, places_of
from tests.planner.forks import APPLIED, MULTIPLIED, random_program

sparse = pytest.importorskip("scipy.sparse")
RNG = np.random.default_rng(0)
N = 160  # N * N numbers are a large array


@pytest.fixture(autouse=True)
def forgotten() -> None:
    compressed._kept.clear()


def columns(L: ct.LinearMap) -> Any:
    """The matrix by unit vectors, one at a time."""
    return np.array([L.matvec(e) for e in np.eye(L.shape[1], dtype=L.dtype)]).reshape(L.shape[1], L.shape[0]).T


def seen(cameras: int, points: int) -> Any:
    by = RNG.integers(0, cameras, points)

    def residuals(c: Any, p: Any) -> Any:
        own = c[by]
        u, v = p[:, 0] * own[:, 0] + own[:, 2], p[:, 1] * own[:, 1] - own[:, 2] * p[:, 0]
        return np.stack([u * v, u + v])

    return ct.function(residuals), (RNG.standard_normal((cameras, 3)), RNG.standard_normal((points, 2)))


def picked(x: Any, at: Any) -> Any:
    return x[at] * x[:-1]


CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "band": (ct.iterate(ct.stencil(lambda a, b, c: b + 0.1 * (a - c) * b, (-1, 0, 1)), 2), (RNG.standard_normal(N),)),
    "bundle": seen(7, 90),
    "blocks": (ct.function(lambda x: np.tanh(x @ np.arange(16.0).reshape(4, 4))), (RNG.standard_normal((50, 4)),)),
    "pulled": (ct.function(lambda x: np.sum(x * x, axis=1)), (RNG.standard_normal((40, 30)),)),
    "grid": (ct.function(lambda x: x[1:, :] * x[:-1, :] + x[1:, ::-1]), (RNG.standard_normal((14, 13)),)),
    "many": (ct.fork(ct.square, ct.sum() >> ct.square, ct.flip()), (RNG.standard_normal(N),)),
    "arrow": (ct.function(lambda x: x * x[0] + np.concatenate([[np.sum(x)], x[1:]])), (RNG.standard_normal(N),)),
    "scan": (ct.scan(lambda a, b: a * b, 1.0), (RNG.uniform(0.9, 1.1, N),)),
    "sort": (ct.function(lambda x: np.sort(x) * x), (RNG.standard_normal(N),)),
    "zero": (ct.const(np.ones(N)), (RNG.standard_normal(N),)),
    "empty": (ct.exp, (np.zeros(0),)),
    "one": (ct.exp, (np.ones(1),)),
    "number": (ct.sin, (0.5,)),
    "narrow": (ct.function(lambda x: x[1:] * x[:-1]), (RNG.standard_normal(N).astype(np.float32),)),
}


@pytest.mark.parametrize("name", CASES)
def test_matrices_are_those_of_unit_vectors(name: str) -> None:
    f, point = CASES[name]
    for L in (ct.linearize(f, *point)[1], ct.jacobian(f)(*point)):
        expected, near = columns(L), 1e-6 if L.dtype == np.float32 else 1e-13
        for _ in range(2):  # the second one by the kept program
            for one in (L, L.T):
                matrix = one.tocsr()
                want = expected if one is L else expected.T
                assert matrix.dtype == one.dtype and matrix.shape == one.shape and matrix.has_canonical_format
                assert np.allclose(matrix.toarray(), want, rtol=near, atol=near)
                assert np.all(matrix.data != 0)
                assert np.allclose(one.todense().reshape(one.shape), want, rtol=near, atol=near)
    by_array, by_sparse = [ct.jacobian(f, result=form)(*point) for form in ("array", "sparse")]
    assert np.allclose(np.asarray(by_array).reshape(L.shape), expected, rtol=near, atol=near)
    assert np.allclose(by_sparse.toarray(), expected, rtol=near, atol=near)


def test_few_vectors_are_pushed() -> None:
    """Each part has its own colours: three for the cameras, two for the points."""
    f, point = CASES["bundle"]
    L = ct.linearize(f, *point)[1]
    found = places_of(L.structure, L.slots)
    own = compressed._by_leaf(L.structure.dom, found.rows, found.columns)
    assert [int(colours_of(*part, leaf.size).max()) + 1 for part, leaf in zip(own, L.structure.dom, strict=True)] == [3, 2]
    assert len(found) == 90 * 2 * 5


def test_indices_are_those_of_the_call() -> None:
    """Places depend on indices: each set has its own program, and after many sets that were others there is none."""
    f = ct.function(picked)
    x = RNG.standard_normal(N)
    for k in range(2 * compressed.TRIES):
        at = RNG.integers(0, N, N - 1)
        for _ in range(1 + (k % 3 == 0)):
            L = ct.linearize(f, x, at)[1]
            assert np.allclose(L.tocsr().toarray(), columns(L)) and np.allclose(L.todense(), columns(L))
    kept = compressed._kept.get(L.structure)
    assert kept is not None and kept.at(L.slots, 10) is None


def test_what_is_not_finite_stays_where_it_is() -> None:
    f = ct.function(lambda x: x[1:] * np.sqrt(x[:-1]))
    x = np.linspace(1.0, 2.0, N)
    x[3] = 0.0
    L = ct.linearize(f, x)[1]
    matrix = L.tocsr().toarray()
    at = [tuple(map(int, place)) for place in np.argwhere(~np.isfinite(matrix))]
    assert at == [(3, 3)]
    with np.errstate(all="ignore"):
        assert np.isnan(L.todense()).sum() + np.isinf(L.todense()).sum() >= 1


def test_a_matrix_is_the_takers() -> None:
    f, point = CASES["band"]
    L = ct.linearize(f, *point)[1]
    first = L.tocsr()
    kept = first.toarray()
    first.data[:] = 7.0
    first.indices[:] = 0
    first.indptr[1:] = 0
    assert np.array_equal(L.tocsr().toarray(), kept)


def test_numbers_that_cancel_are_not_stored() -> None:
    f = ct.function(lambda x: x[1:] * x[:-1] - x[1:])
    L = ct.linearize(f, np.ones(N))[1]
    assert L.tocsr().nnz == N - 1  # the derivative by x[1:] is zero at ones


def test_only_large_arrays_of_few_entries_are_spread() -> None:
    assert may_be_spread(ct.linearize(CASES["band"][0], *CASES["band"][1])[1].structure)
    assert not may_be_spread(ct.linearize(CASES["scan"][0], *CASES["scan"][1])[1].structure)
    assert not may_be_spread(ct.linearize(ct.square, np.ones(10))[1].structure)
    assert N * N >= LARGE


@pytest.mark.parametrize("seed", range(60))
def test_drawn_programs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 2:  # by colours, small and full as they are
        monkeypatch.setattr(compressed, "SMALL_PART", -1)
        monkeypatch.setattr(compressed, "FULL", 0)
    f, point = random_program(seed, 8, (*MULTIPLIED, *APPLIED))
    L = ct.linearize(f, *point)[1]
    expected = columns(L)
    size = np.abs(expected).max(initial=1.0)
    assert np.allclose(L.tocsr().toarray(), expected, rtol=1e-12, atol=1e-12 * size)
    assert np.allclose(ct.jacobian(f, result="sparse")(*point).toarray(), expected, rtol=1e-12, atol=1e-12 * size)
    try:
        found = places_of(L.structure, L.slots)
    except Crowded:
        return
    there = np.zeros(L.shape, bool)
    there[found.rows, found.columns] = True
    assert not np.any(expected[~there]), "an entry where no place is"


@given(st.data())
def test_no_row_sees_a_colour_twice(data: st.DataObject) -> None:
    rows, count = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 9))
    there = np.array(data.draw(st.lists(st.lists(st.booleans(), min_size=count, max_size=count), min_size=rows, max_size=rows)))
    r, c = np.nonzero(there)
    for made in (colours_of(r, c, count), sparsity._greedy(r, c, count) if len(r) else np.zeros(count, int)):
        assert made is not None and len(made) == count
        assert len(set(zip(r.tolist(), made[c].tolist(), strict=True))) == len(r)


@pytest.mark.parametrize("bug", ["one colour for all", "places of a product forgotten", "numbers of another call"])
def test_planted_bugs_are_caught(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if bug == "one colour for all":
        monkeypatch.setattr(compressed, "colours_of", lambda rows, columns, count: np.zeros(count, int))
    elif bug == "places of a product forgotten":
        plain = sparsity._product

        def forgetful(*given: Any) -> Any:
            found = plain(*given)
            return sparsity.Places(found.rows[1:], found.columns[1:])

        monkeypatch.setattr(sparsity, "_product", forgetful)
    else:
        monkeypatch.setattr(compressed, "fixing", lambda structure: ())
    with pytest.raises(AssertionError):
        test_matrices_are_those_of_unit_vectors("blocks")
        test_indices_are_those_of_the_call()
