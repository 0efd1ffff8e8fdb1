"""Products of two slices of traced length are NumPy's, bit by bit: the sum is over their own length, in NumPy's order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.linear.families.dot_within import DotWithin
from tests.traced.test_ragged import durbin

N = 200
rng = np.random.default_rng(5)


def heads(x: Any, y: Any) -> Any:
    out = np.zeros(len(x), x.dtype)
    for k in range(len(x)):
        out[k] = x[:k] @ y[:k]
    return out


def tails(x: Any, y: Any) -> Any:
    out = np.zeros(len(x), x.dtype)
    for k in range(len(x)):
        out[k] = np.dot(x[k:], y[k:])
    return out


def backwards(x: Any, y: Any) -> Any:
    out = np.zeros(len(x), x.dtype)
    for k in range(len(x)):
        out[k] = np.dot(np.flip(x[:k]), y[:k])
    return out


DOTS = [heads, tails, backwards]


@pytest.mark.numpy_only
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("engine", ["reference", "auto", "cpu"])
@pytest.mark.parametrize("fn", DOTS, ids=lambda fn: fn.__name__)
def test_every_length_is_summed_as_numpy_does(fn: Any, engine: Any, dtype: str) -> None:
    x, y = (rng.standard_normal(N).astype(dtype) for _ in range(2))
    with ct.use_engine(engine):
        f = ct.function(fn)
        assert len(f.at(x, y).lines) < 8, "it was unrolled"
        np.testing.assert_array_equal(f(x, y), fn(x, y))


@pytest.mark.parametrize("fn", DOTS, ids=lambda fn: fn.__name__)
def test_products_of_slices_have_derivatives_of_two_orders_and_lanes(fn: Any) -> None:
    ct.testing.check_function(fn, *(rng.standard_normal(50) for _ in range(2)), order=2)


@pytest.mark.numpy_only
def test_an_ill_conditioned_recursion_is_numpys_to_the_last_bit() -> None:
    r = np.arange(400.0, 0.0, -1.0)  # a change of r in the last digit changes the result in the tenth
    np.testing.assert_array_equal(ct.function(durbin)(r), durbin(r))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_entries_outside_are_not_read(value: float) -> None:
    x, y = np.ones(30), np.ones(30)
    x[20:], y[25:] = value, value

    def fn(x: Any, y: Any) -> Any:
        total = 0.0
        for k in range(20):
            total = total + x[:k] @ y[:k]
        return total

    f = ct.function(fn)
    assert f(x, y) == fn(x, y) == 190.0
    for bar in ct.vjp(f, x, y)[1](1.0):
        np.testing.assert_array_equal(bar, [*range(19, -1, -1), *[0.0] * 10])


def test_the_box_sums_what_is_within() -> None:
    x, y = np.zeros(9), np.zeros(9)
    x[2:5], y[2:5] = [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]
    dot = DotWithin(9)
    assert dot(np.int64(2), np.int64(5), x, y) == 32.0
    assert dot(np.int64(3), np.int64(3), x * 0, y * 0) == 0.0
    assert dot(np.int64(0), np.int64(-1), x * 0, y * 0) == 0.0  # of a step of 2 that takes none
