"""The fold of `logaddexp`: value, derivatives of two orders, infinities and NaN, against SciPy and the operator itself."""

from __future__ import annotations

import numpy as np
import pytest

import catad as ct
from catad.testing import check_laws

special = pytest.importorskip("scipy.special")

INF = np.inf
SOFT = ct.fold(ct.logaddexp, -INF)
ENGINES = pytest.mark.parametrize("engine", ["reference", "cpu"])


@ENGINES
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("axis", [0, 1])
def test_value_gradient_and_second_derivative(engine, dtype, axis):
    x = 3.0 * np.random.default_rng(0).normal(size=(70, 5)).astype(dtype)
    v = np.random.default_rng(1).normal(size=x.shape).astype(dtype)
    f, eps = ct.fold(lambda a, b: np.logaddexp(b, a), -INF, axis=axis), 64 * np.finfo(dtype).eps
    p = special.softmax(x.astype(float), axis=axis)
    with ct.use_engine(engine):
        y, g, h = f(x), ct.grad(f >> ct.sum())(x), ct.hvp(f >> ct.sum(), x, v)
        jvp = ct.jvp(f, x, v)[1]
    assert y.dtype == g.dtype == h.dtype == dtype
    np.testing.assert_allclose(y, special.logsumexp(x.astype(float), axis=axis), rtol=eps)
    np.testing.assert_allclose(g, p, rtol=eps)
    np.testing.assert_allclose(jvp, (p * v).sum(axis), atol=eps)
    np.testing.assert_allclose(h, p * (v - (p * v).sum(axis, keepdims=True)), atol=8 * eps)


POINTS = [
    [1.0, 2.0, INF], [INF, 0.0, INF], [-INF, -INF], [-INF, 0.0, -INF], [np.nan, 0.0], [np.nan, INF], [-INF], [5.0], [1e9, 1e9],
    [-1e308, 3.0], [1e308, 1e308, -1e308], [0.0, -0.0],
]  # fmt: skip


@ENGINES
@pytest.mark.parametrize("x", POINTS, ids=str)
def test_infinities_and_nan_are_those_of_the_operator(engine, x):
    x = np.array(x)
    with ct.use_engine(engine), np.errstate(all="ignore"):
        np.testing.assert_allclose(SOFT(x), np.logaddexp.reduce(x), rtol=1e-15)
        weights = np.where(x == x.max(), 1.0 / (x == x.max()).sum(), 0.0)  # all other numbers are far below
        near = len(x) > 1 and not np.isinf(x).any() and not (np.abs(x) > 1e8).any()
        if not near:
            want = weights if not np.isnan(x).any() else np.full(len(x), np.nan)
            np.testing.assert_allclose(ct.grad(SOFT)(x), want, rtol=1e-15)


@ENGINES
def test_nothing_to_fold(engine):
    with ct.use_engine(engine):
        assert SOFT(np.zeros(0)) == -INF
        assert ct.grad(SOFT)(np.zeros(0)).shape == (0,)
        assert np.array_equal(ct.fold(ct.logaddexp, -INF, axis=1)(np.zeros((2, 0))), [-INF, -INF])


def test_laws_and_batches():
    check_laws(SOFT, np.array([0.5, -1.0, 2.0]))
    rows = np.arange(6.0).reshape(2, 3)
    first = ct.jacobian(ct.fold(ct.logaddexp, -INF, axis=1))(rows).todense()[0]
    np.testing.assert_allclose(first, [special.softmax(rows[0]), np.zeros(3)])


def test_a_wrong_neutral_element_is_an_error():
    with pytest.raises(ct.MonoidError, match="neutral element is wrong"):
        ct.fold(ct.logaddexp, 0.0)


def test_it_takes_three_passes_and_no_joins():
    with ct.use_engine("cpu"):
        text = ct.grad(SOFT).source("steps", ct.f32[100_000])
    assert len(text.splitlines()) <= 4 and "Scan" not in text
