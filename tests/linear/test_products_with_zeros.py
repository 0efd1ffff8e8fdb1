"""Large products of matrices with a factor of zeros: as NumPy has them, without multiplying."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.linear.families import contract

M, K, P = 300, 250, 240


def factors(dtype: Any) -> tuple[Any, Any]:
    rng = np.random.default_rng(2)
    return rng.normal(size=(M, K)).astype(dtype), rng.normal(size=(K, P)).astype(dtype)


@pytest.fixture
def multiplied(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often matrices are multiplied."""
    found, original = list[int](), contract._matmul

    def counted(xp: Any, x: Any, y: Any) -> Any:
        found.append(1)
        return original(xp, x, y)

    monkeypatch.setattr(contract, "_matmul", counted)
    return found


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("zero", [0.0, -0.0])
@pytest.mark.parametrize("which", [0, 1])
def test_a_factor_of_zeros(dtype: Any, zero: float, which: int, multiplied: list[int]) -> None:
    x = [*factors(dtype)]
    x[which] = np.full_like(x[which], zero)
    got = ct.primitive.Contract(((0, 1), (1, 2)), (0, 2), (M, K, P)).kernel(())(np, *x)
    want = x[0] @ x[1]
    assert not multiplied and got.dtype == want.dtype and got.tobytes() == want.tobytes()
    assert got.flags.writeable and got.flags.owndata


@pytest.mark.parametrize("other", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("which", [0, 1])
def test_zero_times_infinity_is_nan(other: float, which: int) -> None:
    x = [*factors(np.float64)]
    x[which][:] = 0.0
    x[1 - which][3, 5] = other
    with np.errstate(invalid="ignore"):
        want = x[0] @ x[1]
    got = ct.matmul(*x)
    assert np.array_equal(got, want, equal_nan=True) and np.isnan(got).any()


@pytest.mark.parametrize("place", [(0, 0), (M - 1, K - 1), (7, 3)])
def test_one_number_beside_zeros(place: tuple[int, int]) -> None:
    x, y = factors(np.float64)
    x[:] = 0.0
    x[place] = 2.0
    assert np.array_equal(ct.matmul(x, y), x @ y) and ct.matmul(x, y).any()


def test_batches_without_matrices() -> None:
    assert ct.einsum("bij,bjk->bik")(np.zeros((0, M, K)), np.zeros((0, K, P))).shape == (0, M, P)
    got = ct.einsum("bij,bjk->bik")(np.zeros((2, M, K)), np.ones((2, K, P)))
    assert got.shape == (2, M, P) and not got.any()
