"""Large products in compiled programs: what is zero and what is symmetric takes less work, and changes no result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cpu.whole import large_products

from .whole_support import Ran, ran  # noqa: F401

SIZES = (70, 90, 80)  # rows, terms, columns: more than one block of half a matrix, and a part of one
PRODUCTS = {"ik,kj->ij": "both straight", "ki,kj->ij": "left turned", "ik,jk->ij": "right turned", "ki,jk->ij": "both turned"}


@pytest.fixture(autouse=True)
def small_ones_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    from catad.engine.cpu.whole import contraction

    monkeypatch.setattr(contraction, "NEAR", 1000)
    monkeypatch.setattr(large_products, "MANY", 1000)


def whole(f: Any, *arrays: Any) -> Any:
    with ct.use_engine("cpu"):
        return f(arrays if len(arrays) > 1 else arrays[0])


def factors(subscripts: str, m: int, k: int, n: int, dtype: Any = np.float64) -> tuple[Any, Any]:
    rng, size = np.random.default_rng(m), {"i": m, "k": k, "j": n}
    left, right = subscripts.partition("->")[0].split(",")
    return tuple(rng.standard_normal([size[label] for label in one]).astype(dtype) for one in (left, right))  # type: ignore[return-value]


def agrees(found: Any, subscripts: str, a: Any, b: Any) -> None:
    """The same numbers as sums in extended precision, and NaN and infinities where IEEE 754 has them."""
    with np.errstate(all="ignore"):
        want = np.einsum(subscripts, a.astype(np.longdouble), b.astype(np.longdouble))
        size = np.einsum(subscripts, np.nan_to_num(abs(a), posinf=1.0), np.nan_to_num(abs(b), posinf=1.0)) + 1e-30
    assert np.array_equal(np.isnan(found), np.isnan(want)) and np.array_equal(np.isinf(found), np.isinf(want))
    there = np.isfinite(want)
    assert np.all(abs(found[there] - want[there]) <= 8 * np.finfo(a.dtype).eps * size[there])


@pytest.mark.parametrize("subscripts", PRODUCTS, ids=PRODUCTS.get)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_any_numbers(ran: Ran, subscripts: str, dtype: Any) -> None:  # noqa: F811
    f, (a, b) = ct.einsum(subscripts), factors(subscripts, *SIZES, dtype)
    agrees(whole(f, a, b), subscripts, a, b)
    assert all(name in ran.programs[-1].printed for name in ("gemm", "asum")) and not ran.instead


@pytest.mark.parametrize("subscripts", PRODUCTS, ids=PRODUCTS.get)
@pytest.mark.parametrize("which", [0, 1])
def test_a_factor_of_zeros(subscripts: str, which: int) -> None:
    """The product is zero where the other factor is finite, and NaN in the rows or columns where it is not."""
    f, both = ct.einsum(subscripts), list(factors(subscripts, *SIZES))
    both[which] = np.zeros_like(both[which])
    found = whole(f, *both)
    assert not found.any() and not np.signbit(found).any()
    for value in (np.inf, -np.inf, np.nan):
        both[1 - which].reshape(-1)[-1] = value
        agrees(whole(f, *both), subscripts, *both)


@pytest.mark.parametrize("value", [1.0, 5e-324, np.nan, np.inf])
@pytest.mark.parametrize("which", [0, 1])
def test_one_number_that_is_not_zero_at_the_end(which: int, value: float) -> None:
    both = list(factors("ik,kj->ij", *SIZES))
    both[which] = np.zeros_like(both[which])
    both[which][-1, -1] = value
    agrees(whole(ct.einsum("ik,kj->ij"), *both), "ik,kj->ij", *both)


@pytest.mark.parametrize("subscripts", ["ki,kj->ij", "ik,jk->ij"])
@pytest.mark.parametrize("m", [33, 64, 70])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_matrix_by_itself(ran: Ran, subscripts: str, m: int, dtype: Any) -> None:  # noqa: F811
    a, _ = factors(subscripts, m, 90, m, dtype)
    f = ct.einsum(subscripts)
    found = whole(ct.dup >> f, a)
    agrees(found, subscripts, a, a)
    assert np.array_equal(found, found.T)
    assert "syrk" in ran.programs[-1].printed and "gemm" not in ran.programs[-1].printed


@pytest.mark.parametrize("subscripts", ["ki,kj->ij", "ik,jk->ij"])
def test_two_arrays_of_the_same_numbers(subscripts: str) -> None:
    a, _ = factors(subscripts, 70, 90, 70)
    found = whole(ct.einsum(subscripts), a, a.copy())
    agrees(found, subscripts, a, a)
    assert np.array_equal(found, found.T)


@pytest.mark.parametrize("subscripts", ["ki,kj->ij", "ik,jk->ij"])
@pytest.mark.parametrize("place", [0, 45, -1])
@pytest.mark.parametrize("value", [3.0, np.nan, np.inf])
def test_two_arrays_that_differ_in_one_number(subscripts: str, place: int, value: float) -> None:
    """What is not symmetric is not taken for it: one half would repeat the other."""
    a, _ = factors(subscripts, 70, 90, 70)
    b = a.copy()
    b.reshape(-1)[place] = value
    agrees(whole(ct.einsum(subscripts), a, b), subscripts, a, b)
    agrees(whole(ct.einsum(subscripts), b, a), subscripts, b, a)


def test_what_is_not_square_is_no_square() -> None:
    a, _ = factors("ik,jk->ij", 70, 90, 40)
    agrees(whole(ct.einsum("ik,jk->ij"), a, a[:40].copy()), "ik,jk->ij", a, a[:40])


def test_a_wide_sum_of_large_factors() -> None:
    """Zeros are looked for line by line, whichever axis is contiguous."""
    a, b = factors("ik,kj->ij", 40, 600, 50)
    a[1:] = 0.0
    agrees(whole(ct.einsum("ik,kj->ij"), a, b), "ik,kj->ij", a, b)
    a[0], b[:, -1] = 0.0, np.inf
    agrees(whole(ct.einsum("ik,kj->ij"), a, b), "ik,kj->ij", a, b)
