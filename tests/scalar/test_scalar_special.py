"""The functions that NumPy lacks, against high precision."""

import math

import mpmath as mp
import numpy as np
import pytest

from catad.scalar import special

rng = np.random.default_rng(1)


@pytest.fixture(autouse=True)
def high_precision():
    with mp.workdps(50), np.errstate(all="ignore"):
        yield


def agree(found, expected, tolerance, floor=0.0):
    for a, b in zip(found, expected, strict=True):
        assert abs(mp.mpf(float(a)) - b) <= tolerance * abs(b) + floor, (float(a), b)


def test_digamma():
    points = np.concatenate([np.exp(rng.uniform(-20, 20, 300)), np.linspace(1.4, 1.5, 100), np.linspace(0.9, 13, 200)])
    agree(special.digamma(np, points), [mp.digamma(x) for x in points], 2e-15)
    negative = -rng.uniform(0.05, 30, 200)
    agree(special.digamma(np, negative), [mp.digamma(x) for x in negative], 1e-12, 2e-13)


@pytest.mark.parametrize("order", [1, 2, 3, 6])
def test_polygamma(order):
    points = np.concatenate([np.exp(rng.uniform(-3, 12, 100)), np.linspace(0.5, 20, 60)])
    agree(special.polygamma(np, order, points), [mp.polygamma(order, x) for x in points], 5e-14)
    negative = -(np.floor(rng.uniform(0, 5, 50)) + rng.uniform(0.2, 0.8, 50))
    agree(special.polygamma(np, order, negative), [mp.polygamma(order, x) for x in negative], 1e-10, 1e-9)


def test_poles_and_ends():
    x = np.array([0.0, -0.0, -1.0, np.inf, -np.inf, np.nan])
    assert np.array_equal(special.gamma(np, x), [np.inf, -np.inf, np.nan, np.inf, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(special.lgamma(np, x), [np.inf, np.inf, np.inf, np.inf, np.inf, np.nan], equal_nan=True)
    assert np.array_equal(special.digamma(np, x), [-np.inf, np.inf, np.nan, np.inf, np.nan, np.nan], equal_nan=True)
    assert special.gamma(np, np.float64(200.0)) == np.inf
    assert special.gamma(np, np.float64(-5e-324)) == -np.inf
    assert special.polygamma(np, 1, np.float64(np.inf)) == 0


def test_sigmoid_in_both_tails():
    points = rng.uniform(-740, 740, 300)
    agree(special.sigmoid(np, points), [1 / (1 + mp.exp(-mp.mpf(x))) for x in points], 4e-16, mp.mpf(10) ** -307)


def test_remainder_is_exact():
    a, b = rng.normal(0, 10, 2000), rng.normal(0, 3, 2000)
    a = np.concatenate([a, np.arange(-20, 20) / 2, [1e308, 1.7e308, 5e-324, -0.0, 1.0]])
    b = np.concatenate([b, np.ones(40), [1.5e308, 1e308, 3.0, 2.0, np.inf]])
    expected = [math.remainder(x, y) for x, y in zip(a, b, strict=True)]
    found = special.remainder(np, a, b)
    assert np.array_equal(found, expected) and np.array_equal(np.signbit(found), np.signbit(expected))
    assert np.isnan(special.remainder(np, np.array([np.inf, 1.0]), np.array([1.0, 0.0]))).all()


def test_fma_recovers_the_lost_digits():
    a, b = rng.normal(size=500), rng.normal(size=500)
    c = -(a * b)
    exact = [float(mp.mpf(x) * mp.mpf(y) + mp.mpf(z)) for x, y, z in zip(a, b, c, strict=True)]
    assert np.allclose(special.fma(np, a, b, c), exact, rtol=1e-15, atol=0)


def test_fma_in_float32_rounds_constants_first():
    x, z = np.float32([3.0, -7.5, 1e-3]), np.float32([-0.3, 0.75, 1.0])
    exact = x.astype(float) * float(np.float32(0.1)) + z.astype(float)
    assert np.array_equal(special.fma(np, x, 0.1, z), exact.astype(np.float32))
    assert np.signbit(special.fma(np, np.float64(0.0), np.float64(-1.0), np.float64(-0.0)))


def test_dtypes_and_scalars():
    for fn in (special.erf, special.erfc, special.gamma, special.lgamma, special.digamma, special.sigmoid):
        assert fn(np, np.float32(0.5)).dtype == np.float32
        assert fn(np, np.array([0.5, 1.5], np.float32)).dtype == np.float32
        assert np.ndim(fn(np, np.float64(0.5))) == 0
