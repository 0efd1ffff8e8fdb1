"""Products within whole programs: tiles of registers against NumPy, and what is transposed on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category.wiring import Wiring
from catad.engine.cpu.whole import contraction, tiles
from catad.engine.cpu.whole.run import steps
from catad.engine.cpu.whole.transposed import transposed
from catad.engine.program import program_of
from catad.linear.families.contract import Contract

from .whole_support import Ran, ran

pytestmark = pytest.mark.full_code

__all__ = ["ran"]

SIZES = [1, 2, 3, 5, 7, 8, 9, 12, 13, 16, 17, 31, 33]
PRODUCTS = [
    ("ik,kj->ij", lambda m, n, k: ((m, k), (k, n))),
    ("ki,kj->ij", lambda m, n, k: ((k, m), (k, n))),
    ("ik,jk->ij", lambda m, n, k: ((m, k), (n, k))),
    ("ki,jk->ij", lambda m, n, k: ((k, m), (n, k))),
    ("ik,kj->ji", lambda m, n, k: ((m, k), (k, n))),
    ("ik,k->i", lambda m, n, k: ((m, k), (k,))),
    ("ki,k->i", lambda m, n, k: ((k, m), (k,))),
    ("k,k->", lambda m, n, k: ((k,), (k,))),
    ("bik,bkj->bij", lambda m, n, k: ((3, m, k), (3, k, n))),
    ("bik,kj->bij", lambda m, n, k: ((3, m, k), (k, n))),
    ("ik,bkj->bij", lambda m, n, k: ((m, k), (3, k, n))),
    ("bij,pbj->pi", lambda m, n, k: ((3, m, k), (n, 3, k))),
    ("cbij,pbj->cpi", lambda m, n, k: ((2, 3, m, k), (n, 3, k))),
    ("abik,kabj->abij", lambda m, n, k: ((2, 3, m, k), (k, 2, 3, n))),
]


def numbers(shape: tuple[int, ...], dtype: Any, seed: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def whole(f: ct.D, *x: Any) -> Any:
    with ct.use_engine("cpu"):
        return f(*x)


@pytest.mark.quick(14)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("subscripts, shapes", PRODUCTS, ids=[name for name, _ in PRODUCTS])
def test_products_are_those_of_numpy(ran: Ran, subscripts: str, shapes: Any, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    f = ct.einsum(subscripts)
    for _ in range(6):
        m, n, k = (int(rng.choice(SIZES)) for _ in range(3))
        a, b = (numbers(shape, dtype, seed) for seed, shape in enumerate(shapes(m, n, k)))
        exact = np.einsum(subscripts, a.astype(np.longdouble), b.astype(np.longdouble))
        size = np.einsum(subscripts, abs(a), abs(b)) + 1e-30
        error = abs(whole(f, a, b) - exact) / size
        assert error.max() <= 8 * np.finfo(dtype).eps, (m, n, k)
    assert ran.compiled == 6 and not ran.instead


@pytest.mark.parametrize("shape", [((0, 3), (3, 2)), ((2, 0), (0, 3)), ((2, 3), (3, 0))])
def test_empty_products(shape: Any) -> None:
    a, b = (np.ones(one) for one in shape)
    assert np.array_equal(whole(ct.matmul, a, b), a @ b)


@pytest.mark.parametrize("subscripts, shapes", PRODUCTS, ids=[name for name, _ in PRODUCTS])
def test_what_is_no_number_stays_in_its_rows(subscripts: str, shapes: Any) -> None:
    """Vectors that are filled up with zeros, or that overlap, spread no NaN and no infinity."""
    a, b = (numbers(shape, np.float64, seed) for seed, shape in enumerate(shapes(5, 11, 13)))
    a.reshape(-1)[-1], b.reshape(-1)[0] = np.inf, np.nan
    found, expected = whole(ct.einsum(subscripts), a, b), np.einsum(subscripts, a, b)
    assert np.array_equal(np.isnan(found), np.isnan(expected)) and np.array_equal(np.isinf(found), np.isinf(expected))
    there = np.isfinite(expected)
    assert np.allclose(found[there], expected[there])


def test_a_tile_is_left_where_no_cache_holds_an_operand(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = np.ones((40, 50)), np.ones((50, 60))
    whole(ct.matmul, a, b)
    assert "fmul contract <" in ran.programs[-1].printed and "gemm" not in ran.programs[-1].printed
    monkeypatch.setattr(contraction, "NEAR", 1000)
    f = ct.matmul >> ct.neg
    assert np.array_equal(whole(f, a, b), -(a @ b)) and "gemm" in ran.programs[-1].printed


@pytest.mark.parametrize("width", [(32, 12), (64, 28), (16, 12)])
def test_tiles_of_any_width(ran: Ran, monkeypatch: pytest.MonkeyPatch, width: tuple[int, int]) -> None:
    monkeypatch.setattr(tiles, "registers", lambda: width)
    a, b = numbers((2, 9, 7), np.float64, 0), numbers((7, 21), np.float64, 1)
    assert np.allclose(whole(ct.einsum("bik,kj->bij"), a, b), a @ b)
    assert f"<{width[0] // 8} x double>" in ran.programs[-1].printed


# -- transpositions


def moved(wiring: Wiring) -> int:
    """The numbers that boxes only move."""
    boxes = [box for box in wiring.boxes if isinstance(box.primitive, Contract) and len(box.primitive.operands) == 1]
    return sum([wiring.wires[box.outs[0]].size for box in boxes])


def wired(f: ct.D, *x: Any) -> Wiring:
    return program_of(f, ct.space_of(x if len(x) > 1 else x[0]))[0].wiring


A, B = numbers((40, 9), np.float64, 0), numbers((9, 50), np.float64, 1)
SUMS = ct.sum(axis=1, keepdims=True)
TURNED = ct.transpose((1, 0))


def test_a_transposition_after_products_is_made_in_its_place() -> None:
    f = ct.fork(ct.matmul, ct.cross(ct.sin, ct.cos) >> ct.matmul) >> ct.add >> TURNED
    before = wired(f, A, B)
    assert moved(before) == 40 * 50 and moved(transposed(before)) == 2 * 40 * 9  # the left factors, which are read 50 times
    assert np.allclose(whole(f, A, B), (A @ B + np.sin(A) @ np.cos(B)).T, rtol=1e-14)


@pytest.mark.parametrize(
    "f, expected",
    [
        (ct.matmul >> ct.fork(TURNED, ct.sin), lambda a, b: ((a @ b).T, np.sin(a @ b))),
        (ct.matmul >> ct.fork(TURNED, ct.id), lambda a, b: ((a @ b).T, a @ b)),
        (ct.fork(ct.matmul, ct.const(np.arange(50.0))) >> ct.add >> TURNED, lambda a, b: (a @ b + np.arange(50.0)).T),
        (ct.fork(ct.matmul, ct.exl >> SUMS) >> ct.add >> TURNED, lambda a, b: (a @ b + a.sum(1)[:, None]).T),
        (ct.matmul >> TURNED >> TURNED, lambda a, b: a @ b),
        (ct.matmul >> ct.dup >> ct.mul >> TURNED, lambda a, b: ((a @ b) ** 2).T),
    ],
    ids=["read by others", "a result", "broadcast", "no product", "twice", "the same twice"],
)
def test_other_transpositions_are_right(f: ct.D, expected: Any) -> None:
    found, right = whole(f, A, B), expected(A, B)
    pairs = zip(found, right, strict=True) if isinstance(right, tuple) else [(found, right)]
    for own, other in pairs:
        assert own.shape == other.shape and np.allclose(own, other, rtol=1e-14)


def test_an_operand_along_no_row_of_the_result_is_transposed_first() -> None:
    f = ct.einsum("cbij,pbj->pic")
    x = numbers((6, 4, 3, 3), np.float64, 0), numbers((30, 4, 3), np.float64, 1)
    before = wired(f, *x)
    assert moved(before) == 0 and moved(transposed(before)) == x[0].size
    assert np.allclose(whole(f, *x), np.einsum("cbij,pbj->pic", *x), rtol=1e-13)


def test_a_transposition_stays_where_operands_are_larger() -> None:
    f = ct.matmul >> TURNED
    x = numbers((5, 60), np.float64, 0), numbers((60, 5), np.float64, 1)
    assert moved(transposed(wired(f, *x))) == 25
    assert np.allclose(whole(f, *x), (x[0] @ x[1]).T, rtol=1e-13)


# -- folds by bin and sorts


def test_prefixes_by_bin_and_sorts_have_code_within_a_function() -> None:
    """Outside of loops, too, as long as they are of few elements."""
    keys, x = np.arange(30) % 4, np.linspace(0.5, 1.5, 30)
    by_bin = ct.reverse_differential(ct.histogram(lambda a, b: a * b + a + b, 0.0, 4))
    wiring = wired(by_bin, (keys, x), np.ones(4))
    assert any(type(box.primitive).__name__ == "PrefixByBin" for box in wiring.boxes)
    assert steps(wiring) is not None and steps(wired(ct.sort() >> ct.sin, x)) is not None
    with ct.use_engine("reference"):
        expected = by_bin((keys, x), np.ones(4))
    found = whole(by_bin, (keys, x), np.ones(4))
    assert np.allclose(found[1], expected[1], rtol=1e-13)
