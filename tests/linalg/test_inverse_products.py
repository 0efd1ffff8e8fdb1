"""Products with inverses: dense by one solution with many right-hand sides, else chains; and what they are priced at."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category.wiring import wire
from catad.linear.families.inverse import Factor, Inverse, Solved, SolvedForMany, stacked
from catad.linear.families.patterned import Bands, PatternProduct, patterned
from catad.linear.products import operations
from catad.testing import check_grads

from .test_inverse_maps import MAPS, RNG, matrix, rebuilt

ONE_LEAF = [name for name, L in MAPS.items() if len(L.dom.leaves) == 1]


@pytest.mark.parametrize("name", ONE_LEAF)
def test_products_with_dense_maps(name: str) -> None:
    M = ct.linear.inverse(MAPS[name])
    inverse, n = matrix(M), M.shape[0]
    before = ct.linear.dense(RNG.normal(size=(*M.dom.shape, 5)), ct.f64[5])
    after = ct.linear.dense(RNG.normal(size=(5, *M.cod.shape)), M.cod)
    first, second = M.multiply(before), after.multiply(M)
    np.testing.assert_allclose(matrix(first), inverse @ matrix(before), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(matrix(second), matrix(after) @ inverse, rtol=1e-9, atol=1e-12)
    if "sum" not in M.kind:
        assert (first.kind, second.kind) == ("dense", "dense") and max(first.stored, second.stored) == 5 * n


def test_inverses_and_diagonals_stay_chains() -> None:
    M = ct.linear.inverse(MAPS["dense"])
    D = ct.scale(np.arange(1.0, 6.0))
    for product in (M.multiply(M), M.multiply(D), D.multiply(M)):
        assert product.kind.startswith("chain of") and "inverse" in product.kind
        assert product.stored <= 2 * M.stored


@pytest.mark.parametrize("name", ["three diagonals", "four diagonals", "recurrence", "dense", "triangular grid", "thin change"])
def test_many_right_hand_sides_at_once(name: str) -> None:
    L = MAPS[name]
    build, numbers = rebuilt(L)
    parts = tuple([RNG.normal(size=(3, *leaf.shape)) for leaf in L.cod.leaves])
    many = parts[0] if len(parts) == 1 else parts

    @ct.function
    def f(numbers: Any, many: Any) -> Any:
        return ct.vmap(lambda b: build(numbers).solve(b))(many)

    made = f(numbers, many)
    for k in range(3):
        one = L.solve(parts[0][k] if len(parts) == 1 else tuple([part[k] for part in parts]))
        for got, want in zip(made if len(parts) > 1 else (made,), one if len(parts) > 1 else (one,), strict=True):
            np.testing.assert_allclose(got[k], want, rtol=1e-9)
    check_grads(f, numbers, many, order=2)


def test_one_factorisation_for_a_jacobian() -> None:
    """Its columns are one solution."""
    L = MAPS["four diagonals"]
    build, numbers = rebuilt(L)
    f = ct.function(lambda numbers, many: ct.vmap(lambda b: build(numbers).solve(b))(many))
    space = ct.product(ct.space_of(numbers), ct.f64[4, 32])
    found = Counter(type(box.primitive) for box in wire(f, space).boxes)
    assert found[Factor] == found[SolvedForMany] == 1 and not found[Solved]


def test_prices() -> None:
    """n^2 k of a dense solution, n k of a band, n m k of blocks."""

    def price(of: Any, kind: str) -> int:
        inverse = Inverse(of, kind)
        primitive = Solved(of, kind)
        return primitive.cost((*inverse.slots, *inverse.dom), of.dom)

    n, k, m = 100, 3, 4
    assert price(stacked(ct.f64[n, n], (k,)), "general") == n * n * k
    assert price(stacked(ct.f64[n // m, m, m], (k,)), "general") == n * m * k
    assert price(patterned(Bands(1, 1), ct.f64[3, n], k=k), "tridiagonal") == 4 * n * k
    assert price(patterned(Bands(2, 1), ct.f64[4, n], k=k), "band 2 1") == 6 * n * k
    assert Factor("band 2 1").cost((ct.f64[4, n],), ()) == 5 * 4 * n
    assert Factor("general").cost((ct.f64[n, n],), ()) == n**3 // 3
    product = PatternProduct(Bands(1, 1), "v")
    assert product.cost((ct.f64[3, n], ct.f64[n, k]), (ct.f64[n, k],)) == (3 * n - 2) * k
    dense = ct.linear.dense(np.ones((n, 1, 7)), ct.f64[7]).structure
    assert operations(dense, Inverse(patterned(Bands(1, 1), ct.f64[3, n]), "tridiagonal")) == 4 * n * 7
