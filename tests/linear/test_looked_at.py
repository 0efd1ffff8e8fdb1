"""Products of large matrices that leave out blocks of zeros, and half of what is symmetric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.linear.matrix import zero_blocks

N = 160
RNG = np.random.default_rng(0)
DENSE = RNG.integers(-9, 9, (N, N)).astype(float) + (np.arange(N) == 0)  # products of whole numbers are exact
BAND = np.where(np.abs(np.subtract.outer(np.arange(N), np.arange(N))) < 30, DENSE, 0.0)
EMPTY = DENSE * (np.arange(N) < 40)[:, None] * (np.arange(N) > 100)
ONE = np.zeros((N, N))
ONE[N - 1, 0] = 3.0
FACTORS = {
    "dense": DENSE, "upper": np.triu(DENSE), "lower": np.tril(DENSE), "band": BAND, "a corner": EMPTY, "zeros": np.zeros((N, N)),
    "one number": ONE, "one beside the diagonal": np.triu(DENSE, -1), "negative zeros": -np.triu(np.zeros((N, N))),
    "single": np.triu(DENSE).astype(np.float32), "stripes": DENSE * (np.arange(N) % 3 == 0),
}  # fmt: skip


def counted(x: Any, y: Any) -> tuple[Any, int]:
    """The product, and its multiplications."""
    done = [0]

    def multiply(xp: Any, a: Any, b: Any) -> Any:
        m, k, p = a.shape[0], a.shape[1], b.shape[1]
        done[0] += m * k * p // (1 + (m == p and np.shares_memory(a, b)))
        return a @ b

    return zero_blocks.product(multiply, np, x, y), done[0]


@pytest.mark.quick(240)
@pytest.mark.parametrize("order", ["CC", "CF", "FC", "FF"])
@pytest.mark.parametrize("first", FACTORS)
@pytest.mark.parametrize("second", FACTORS)
def test_it_is_the_product(first: str, second: str, order: str) -> None:
    x, y = np.asarray(FACTORS[first][:150], order=order[0]), np.asarray(FACTORS[second][:, :130], order=order[1])  # type: ignore[call-overload]
    made, _ = counted(x, y)
    assert made.dtype == (x @ y).dtype and np.array_equal(made, x @ y)


@pytest.mark.parametrize(
    ("first", "second", "part"),
    [
        ("dense", "upper", 0.57), ("dense", "lower", 0.57), ("upper", "dense", 0.57), ("lower", "dense", 0.57),
        ("dense", "band", 0.6), ("a corner", "dense", 0.15), ("zeros", "dense", 0.0), ("dense", "dense", 1.0),
        ("dense", "stripes", 1.0),
    ],
)  # fmt: skip
def test_what_is_multiplied(first: str, second: str, part: float) -> None:
    _, done = counted(FACTORS[first], FACTORS[second])
    assert done <= part * N**3


def test_equal_numbers_are_one_factor() -> None:
    x = RNG.integers(-9, 9, (90, N)).astype(float)
    for a, b in ((x, x.T.copy()), (np.asfortranarray(x), np.array(x.T)), (x, x.T)):
        made, done = counted(a, b)
        assert done == 90 * 90 * N // 2 and np.array_equal(made, x @ x.T)
    y = x.T.copy()
    y[5, 7] += 0.25
    made, done = counted(x, y)
    assert done == 90 * 90 * N and np.array_equal(made, x @ y)


@pytest.mark.parametrize(("rows", "columns"), [((0, 150), (0, N)), ((10, N), (0, N)), ((0, N), (0, 150)), ((0, N), (10, N))])
@pytest.mark.parametrize("order", "CF")
def test_equal_numbers_are_part_of_a_factor(rows: tuple[int, int], columns: tuple[int, int], order: Any) -> None:
    """A square of the product is symmetric, and the rest is multiplied as ever."""
    whole = RNG.integers(-9, 9, (90, N)).astype(float)
    x, y = np.array(whole[:, slice(*rows)].T, order=order), np.array(whole[:, slice(*columns)], order="C")
    made, done = counted(x, y)
    assert made.flags.c_contiguous
    np.testing.assert_allclose(made, x @ y, rtol=1e-13, atol=1e-13)
    assert done <= 0.6 * 150 * N * 90
    x[3, 4] += 1.0
    assert np.array_equal(counted(x, y)[0], x @ y)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", ["upper", "zeros", "a corner"])
def test_zeros_meet_what_is_not_finite(which: str, bad: float) -> None:
    """Zero times infinity is NaN, in a row that holds one."""
    x, y = DENSE.copy(), FACTORS[which]
    x[3, N - 1] = bad
    with np.errstate(all="ignore"):
        expected = x @ y
        for got, want in ((counted(x, y)[0], expected), (counted(y.T, x.T)[0], expected.T)):
            assert np.array_equal(got, want, equal_nan=True)
        both = x.copy()
        both[4, 4], both[5, 5] = np.inf, -np.inf
        assert np.array_equal(counted(both, y)[0], both @ y, equal_nan=True)
        huge = np.full((N, N), 1e308)  # finite, and the sum is not
        assert np.array_equal(counted(huge, y)[0], huge @ y, equal_nan=True)


@pytest.mark.parametrize("fault", ["_finite", "_zeros"])
def test_planted_faults_are_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look that says yes where it must say no."""
    faults: dict[str, Callable[[Any], bool]] = {"_finite": lambda x: True, "_zeros": lambda x: not x.item(0)}
    monkeypatch.setattr(zero_blocks, fault, faults[fault])
    x, y = DENSE.copy(), np.triu(DENSE) if fault == "_finite" else ONE + np.diag(np.ones(N - 1), 1)
    x[3, N - 1] = np.nan if fault == "_finite" else 1.0
    assert not np.array_equal(counted(x, y)[0], x @ y, equal_nan=True)


@pytest.mark.numpy_only
def test_products_of_programs_look() -> None:
    """Large ones only; stacks of matrices, and what is no product of matrices, as ever."""
    n = 260
    x, y = RNG.standard_normal((n, n)), np.triu(RNG.standard_normal((n, n)))
    assert n**3 >= zero_blocks.MANY
    for engine in ("reference", "cpu"):
        with ct.use_engine(engine):  # type: ignore[arg-type]
            np.testing.assert_allclose(ct.matmul(x, y), x @ y, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(ct.matmul(np.stack([x, y]), np.stack([y, y])), np.stack([x @ y, y @ y]), atol=1e-12)
            (dx, dy) = ct.vjp(ct.matmul, x, y)[1](np.tril(x))
            np.testing.assert_allclose(dx, np.tril(x) @ y.T, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(dy, x.T @ np.tril(x), rtol=1e-12, atol=1e-12)
            gram = ct.grad(lambda a: np.sum(np.exp(0.01 * (a.T @ a))))(x)
            np.testing.assert_allclose(gram, 2 * x @ (0.01 * np.exp(0.01 * x.T @ x)), rtol=1e-10, atol=1e-10)
